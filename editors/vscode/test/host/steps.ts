/** Steps that tests do in the editor through its own interface. All waiting is for conditions. */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { commands, extensions, Range, Selection, type TextEditor, Uri, window, workspace } from "vscode";
import type { Api } from "../../src/main.ts";
import type { State, Status } from "../../src/status.ts";

/** A model that is loaded on a busy machine; usually a tenth of it. */
export const PATIENCE_MS = 60_000;
const POLL_MS = 50;

/** Look again and again until there is something; that. */
export async function until<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<T>> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const seen = await look();
    if (seen) {
      return seen;
    }
    if (Date.now() > end) {
      throw new Error(`not seen within ${PATIENCE_MS / 1000} s: ${what}`);
    }
    await pause(POLL_MS);
  }
}

/** What the extension tells other ones. */
export async function api(): Promise<Api> {
  const extension = extensions.getExtension<Api>("midtoken.midtoken");
  if (!extension) {
    throw new Error("the extension is not installed");
  }
  return extension.activate();
}

/** Wait for a state of the status bar item; what it says then. */
export async function status(state: State): Promise<Status> {
  const midtoken = await api();
  try {
    return await until(`midtoken ${state}`, () =>
      midtoken.status.state === state ? midtoken.status : undefined);
  } catch (error) {
    throw new Error(`${(error as Error).message}; it is ${JSON.stringify(midtoken.status)}`);
  }
}

/** Everything that the status bar item says while something is done. */
export async function saidDuring(action: () => Promise<unknown>): Promise<Status[]> {
  const said: Status[] = [];
  const listening = (await api()).onDidChangeStatus((status) => said.push(status));
  try {
    await action();
  } finally {
    listening.dispose();
  }
  return said;
}

/** States in the order in which they came, each once in a row. */
export function states(said: Status[]): State[] {
  return said.map(({ state }) => state).filter((state, index, all) => state !== all[index - 1]);
}

/** Set one of the extension's settings for this machine or user; undefined removes it. */
export async function set(name: string, value: unknown): Promise<void> {
  await workspace.getConfiguration("midtoken").update(name, value, true);
}

/** The open folder. */
export function folder(): Uri {
  const [first] = workspace.workspaceFolders ?? [];
  if (!first) {
    throw new Error("no folder is open");
  }
  return first.uri;
}

/**
 * An editor for a new file, with the cursor where the text has a `|`. Above the text are as many
 * empty lines as there are files already: no two cursors are at the same position, which is all
 * that a report tells of where it belongs.
 */
export async function open(name: string, text: string): Promise<TextEditor> {
  const above = "\n".repeat(readdirSync(folder().fsPath).length);
  const [before = "", after = ""] = text.split("|");
  const file = Uri.joinPath(folder(), name);
  await workspace.fs.writeFile(file, new TextEncoder().encode(above + before + after));
  const editor = await window.showTextDocument(await workspace.openTextDocument(file));
  const cursor = editor.document.positionAt(above.length + before.length);
  editor.selection = new Selection(cursor, cursor);
  return editor;
}

/** Press keys, one after the other. */
export async function type(editor: TextEditor, text: string): Promise<void> {
  for (const key of text) {
    await untilChanged(editor, () => commands.executeCommand("type", { text: key }));
  }
}

/** Repeat something until it changes the document: the editor may not have the focus yet, or no ghost. */
export async function untilChanged(editor: TextEditor, action: () => Thenable<unknown>): Promise<void> {
  const { version } = editor.document;
  await until(`a change of ${editor.document.fileName}`, async () => {
    await action();
    return editor.document.version > version;
  });
}

interface Report {
  items: { text: string; range: { start: Point; end: Point } }[];
}

interface Point {
  line: number;
  character: number;
}

export interface Suggestion {
  /** What the server suggests, by its own report. */
  text: string;
  /** The document with it. */
  accepted: string;
}

/** Ask for ghost text at the cursor; what it must be. */
export function suggest(editor: TextEditor): Promise<Suggestion> {
  return until(`a suggestion in ${editor.document.fileName}`, async () => {
    await commands.executeCommand("editor.action.inlineSuggest.trigger");
    return reported(editor);
  });
}

/**
 * What the server says that it has suggested at the cursor: another way to it than the editor's.
 * Positions of a report count code points; they are the editor's where all is ASCII.
 */
export async function reported({ document, selection }: TextEditor): Promise<Suggestion | undefined> {
  const report = await commands.executeCommand<Report | null>("midtoken.showReport");
  const [item] = report?.items ?? [];
  if (!item) {
    return undefined;
  }
  const { start, end } = item.range;
  const range = new Range(start.line, start.character, end.line, end.character);
  if (!range.start.isEqual(selection.active)) {
    return undefined;
  }
  const text = document.getText();
  const rest = text.slice(document.offsetAt(range.end));
  return { text: item.text, accepted: text.slice(0, document.offsetAt(range.start)) + item.text + rest };
}

/** Take the ghost text, or a part of it. */
export function accept(editor: TextEditor, how: "commit" | "acceptNextWord" | "acceptNextLine"): Promise<void> {
  return untilChanged(editor, () => commands.executeCommand(`editor.action.inlineSuggest.${how}`));
}

/** Our language servers: processes that this one has started. */
export function servers(): { pid: number; command: string[] }[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number);
  return pids.flatMap((pid) => {
    try {
      const parent = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[1];
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
      const ours = Number(parent) === process.pid && command.slice(-2).join(" ") === "serve --stdio";
      return ours ? [{ pid, command }] : [];
    } catch {
      return []; // gone meanwhile
    }
  });
}
