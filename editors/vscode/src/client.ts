/** The connection to one server process. */
import { type LogOutputChannel, Uri } from "vscode";
import {
  LanguageClient,
  RevealOutputChannelOn,
  State as ClientState,
} from "vscode-languageclient/node";
import { serverSettings, wantsCompletionList } from "./settings.ts";
import { type Status, statusOf } from "./status.ts";

export interface ClientOptions {
  program: string;
  /** Full names of all settings. */
  settings: string[];
  log: LogOutputChannel;
  onStatus: (status: Status) => void;
}

export function createClient({ program, settings, log, onStatus }: ClientOptions): LanguageClient {
  const client: LanguageClient = new LanguageClient(
    "midtoken",
    "midtoken",
    { command: program, args: ["serve", "--stdio"] },
    {
      documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
      outputChannel: log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      middleware: {
        workspace: {
          configuration: ({ items }) =>
            items.map(({ section, scopeUri }) => {
              const scope = scopeUri === undefined ? undefined : Uri.parse(scopeUri);
              return section === "midtoken" ? serverSettings(settings, scope) : null;
            }),
        },
        // A request for the list would take the place of the one for ghost text.
        provideCompletionItem: (document, position, context, token, next) =>
          wantsCompletionList(document) ? next(document, position, context, token) : undefined,
      },
    },
  );
  client.onNotification("midtoken/status", (notice: unknown) => {
    const status = statusOf(notice);
    if (status) {
      onStatus(status);
    }
  });
  client.onDidChangeState(({ newState }) => {
    if (newState === ClientState.Starting) {
      onStatus({ state: "starting", message: "" });
    } else if (newState === ClientState.Stopped) {
      onStatus({ state: "error", message: "the server has stopped; the log tells why" });
    }
  });
  return client;
}

/** Tell the server that settings have changed; it asks for those it wants. */
export async function sendSettings(client: LanguageClient): Promise<void> {
  if (client.state === ClientState.Running) {
    await client.sendNotification("workspace/didChangeConfiguration", { settings: null });
  }
}
