/** The extension's two hooks. */
import {
  commands,
  type ConfigurationChangeEvent,
  type Event,
  type ExtensionContext,
  window,
  workspace,
} from "vscode";
import { sendSettings } from "./client.ts";
import { runDoctor } from "./doctor.ts";
import { Explanation } from "./explanation.ts";
import { showMenu } from "./menu.ts";
import { Models } from "./models.ts";
import { Pages } from "./pages.ts";
import { onPythonChange } from "./python.ts";
import { Server } from "./server.ts";
import type { Status } from "./status.ts";
import { StatusItem } from "./status_item.ts";
import { toggle } from "./toggle.ts";

/** What other extensions can know: what the status bar says. */
export interface Api {
  readonly status: Status;
  readonly onDidChangeStatus: Event<Status>;
}

let server: Server | undefined;

export async function activate(context: ExtensionContext): Promise<Api> {
  const item = new StatusItem();
  const mine = new Server(context, (status) => item.show(status));
  const models = new Models(mine);
  const pages = new Pages();
  const explanation = new Explanation(mine);
  server = mine;
  const actions: Record<string, (argument?: string) => unknown> = {
    menu: () => showMenu(item, models),
    install: () => mine.showInstallation(),
    restart: () => mine.restartModel(),
    toggleWorkspace: () => toggle("workspace"),
    toggleLanguage: () => toggle("language"),
    toggleEverywhere: () => toggle("everywhere"),
    chooseModel: () => models.choose(),
    pullModel: (name) => models.pull(name),
    doctor: () => runDoctor(mine, pages),
    report: () => explanation.showLast(),
    explain: () => explanation.showAt(window.activeTextEditor),
    log: () => mine.log.show(),
  };
  const watchPython = async () => {
    const watching = await onPythonChange(() => void mine.restartIfOther());
    if (watching) {
      context.subscriptions.push(watching);
    }
  };
  context.subscriptions.push(
    item,
    pages,
    explanation,
    ...Object.entries(actions).map(([name, run]) => commands.registerCommand(`midtoken.${name}`, run)),
    window.onDidChangeActiveTextEditor(() => item.refresh()),
    workspace.onDidOpenTextDocument(() => item.refresh()), // also when a language is changed
    workspace.onDidGrantWorkspaceTrust(async () => {
      await watchPython();
      await mine.restartIfOther();
    }),
    workspace.onDidChangeConfiguration((change) => settingsChanged(change, mine, item)),
  );
  void watchPython().catch((error) => mine.log.warn(`the Python extension: ${error}`));
  await mine.restart();
  return {
    get status() {
      return item.shown;
    },
    onDidChangeStatus: item.onDidChange,
  };
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}

function settingsChanged(change: ConfigurationChangeEvent, server: Server, item: StatusItem): void {
  if (change.affectsConfiguration("midtoken")) {
    item.refresh();
  }
  const reaching = ["path", "address", "shared"].map((name) => `midtoken.${name}`);
  if (reaching.some((name) => change.affectsConfiguration(name))) {
    void server.restart();
  } else if (change.affectsConfiguration("midtoken") && server.client) {
    void sendSettings(server.client);
  }
}
