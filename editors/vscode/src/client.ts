/** The connection to one server: what it asks of the editor, and what the editor asks of it. */
import { CompletionList, type LogOutputChannel, Uri } from "vscode";
import {
  LanguageClient,
  RevealOutputChannelOn,
  type ServerOptions,
  State as ClientState,
} from "vscode-languageclient/node";
import type { Counting } from "./counting.ts";
import { GhostText } from "./ghost_text.ts";
import { serverSettings, switches, wantsCompletionList } from "./settings.ts";
import { hasModel, type Status, statusOf } from "./status.ts";
import { whyOff } from "./switches.ts";

export interface ClientOptions {
  connection: ServerOptions;
  /** Full names of all settings. */
  settings: string[];
  log: LogOutputChannel;
  counting: Counting;
  onStatus: (status: Status) => void;
}

export function createClient(options: ClientOptions): LanguageClient {
  const { connection, settings, log, counting } = options;
  const ghostText = new GhostText(log);
  const onStatus = (status: Status) => {
    ghostText.modelIs(hasModel(status));
    options.onStatus(status);
  };
  const client: LanguageClient = new LanguageClient("midtoken", "midtoken", connection, {
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
      provideInlineCompletionItems: async (document, position, context, token, next) => {
        if (whyOff(switches(document)) !== undefined) {
          return undefined;
        }
        const found = await ghostText.ask(document, position, context, token, next);
        if (!token.isCancellationRequested) {
          counting.ghostText(document, found);
        }
        return found;
      },
      // A request for the list would take the place of the one for ghost text.
      provideCompletionItem: async (document, position, context, token, next) => {
        if (!wantsCompletionList(document) || whyOff(switches(document)) !== undefined) {
          return undefined;
        }
        const found = await next(document, position, context, token);
        if (found && !token.isCancellationRequested) {
          counting.listEntries(document, found instanceof CompletionList ? found.items : found);
        }
        return found;
      },
    },
  });
  client.onNotification("midtoken/status", (notice: unknown) => {
    const status = statusOf(notice);
    if (status) {
      onStatus(status);
    }
  });
  client.onDidChangeState(({ newState }) => {
    if (newState === ClientState.Starting) {
      onStatus({ state: "starting", message: "" });
    } else if (newState === ClientState.Stopped || newState === ClientState.StartFailed) {
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
