/**
 * Telling the server which suggestions were shown and accepted; it counts them on this machine.
 *
 * The editor runs an item's command when the item is accepted as a whole, and tells nothing else:
 * that a word of it was accepted, or that it was dismissed, is not known.
 */
import {
  type CompletionItem,
  CompletionItemKind,
  commands,
  type Disposable,
  type InlineCompletionItem,
  type InlineCompletionList,
  Range,
  type TextDocument,
  workspace,
} from "vscode";
import { addedLength, Offers } from "./offers.ts";

const ACCEPTED = "midtoken.accepted";

/** Sends one of the server's notes on suggestions. */
export type Note = (method: "didShow" | "didAccept", uri: string, length?: number) => void;

export class Counting implements Disposable {
  private readonly offers = new Offers();
  private readonly note: Note;
  private readonly disposables: Disposable[];

  constructor(note: Note) {
    this.note = note;
    this.disposables = [
      commands.registerCommand(ACCEPTED, (uri: string, length: number) => {
        this.offers.forget(uri);
        this.note("didAccept", uri, length);
      }),
      workspace.onDidCloseTextDocument(({ uri }) => this.offers.forget(uri.toString())),
    ];
  }

  /** Ghost text is on its way to the editor: have its acceptance told. */
  ghostText(
    document: TextDocument,
    found: InlineCompletionItem[] | InlineCompletionList | null | undefined,
  ): void {
    const items = found ? ("items" in found ? found.items : found) : [];
    for (const item of items) {
      this.countAcceptance(document, item, item.insertText, item.range);
    }
    this.countShown(document, items[0]?.insertText, items[0]?.range);
  }

  /** The same for entries of the completion list, but for known names, which nobody has written. */
  listEntries(document: TextDocument, entries: CompletionItem[]): void {
    const items = entries.filter((entry) => entry.kind === CompletionItemKind.Text);
    for (const item of items) {
      this.countAcceptance(document, item, item.insertText, rangeOf(item));
    }
    this.countShown(document, items[0]?.insertText, items[0] && rangeOf(items[0]));
  }

  dispose(): void {
    this.disposables.forEach((one) => one.dispose());
  }

  private countAcceptance(
    document: TextDocument,
    item: InlineCompletionItem | CompletionItem,
    text: unknown,
    range: Range | undefined,
  ): void {
    const length = addedLength(plain(text), range ? document.getText(range) : "");
    item.command = { title: "", command: ACCEPTED, arguments: [document.uri.toString(), length] };
  }

  private countShown(document: TextDocument, text: unknown, range: Range | undefined): void {
    if (!range) {
      return;
    }
    const before = document.lineAt(range.start.line).text.slice(0, range.start.character);
    const uri = document.uri.toString();
    if (this.offers.isNew(uri, range.start.line, before, plain(text))) {
      this.note("didShow", uri);
    }
  }
}

function rangeOf(item: CompletionItem): Range | undefined {
  return item.range instanceof Range ? item.range : item.range?.replacing;
}

function plain(text: unknown): string {
  return typeof text === "string" ? text : "";
}
