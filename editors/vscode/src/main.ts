/** The two hooks that VS Code calls, and the commands. */
import { commands, type ExtensionContext, workspace } from "vscode";
import { sendSettings } from "./client.ts";
import { Reports } from "./report.ts";
import { Server } from "./server.ts";
import { StatusItem } from "./status_item.ts";

let server: Server | undefined;

export async function activate(context: ExtensionContext): Promise<void> {
  const item = new StatusItem();
  const mine = new Server(context, (status) => item.show(status));
  const reports = new Reports(mine);
  server = mine;
  context.subscriptions.push(
    item,
    reports,
    mine.log,
    commands.registerCommand("midtoken.restart", () => mine.restartModel()),
    commands.registerCommand("midtoken.report", () => reports.show()),
    commands.registerCommand("midtoken.log", () => mine.log.show()),
    commands.registerCommand("midtoken.status", () => item.tell(() => mine.tellMissing())),
    workspace.onDidGrantWorkspaceTrust(() => mine.client ?? mine.restart()),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("midtoken.path")) {
        void mine.restart();
      } else if (change.affectsConfiguration("midtoken") && mine.client) {
        void sendSettings(mine.client);
      }
    }),
  );
  await mine.restart();
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
