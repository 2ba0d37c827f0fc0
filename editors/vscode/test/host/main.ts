/**
 * An extension that runs tests where extensions run: beside the packaged one, in its own process.
 *
 * VS Code's own way to start tests (`extensionTestsPath`) makes another editor of it: every folder is
 * trusted there, and dialogs are refused. This one is a person's.
 */
import { readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import Mocha from "mocha";
import { type ExtensionContext, workspace } from "vscode";
import { PATIENCE_MS, set, status } from "./steps.ts";

export function activate({ extensionPath }: ExtensionContext): void {
  const settings = workspace.getConfiguration("midtokenTests");
  const folder = join(extensionPath, settings.get("folder", ""));
  const results = settings.get("results", "");
  const unfinished = `${results}.part`;
  const mocha = new Mocha({
    ui: "tdd",
    // A step that waits in vain fails first, and tells what it saw.
    timeout: 2 * PATIENCE_MS,
    forbidOnly: true,
    forbidPending: true,
    rootHooks: {
      beforeAll: async () => {
        await status("ready");
        // Tests ask when they want to: what else is asked would be in the report that they read.
        await set("trigger.automatic", false);
      },
    },
    reporter: "json",
    reporterOptions: { output: unfinished },
  });
  for (const name of readdirSync(folder).sort()) {
    mocha.addFile(join(folder, name));
  }
  mocha.run(() => renameSync(unfinished, results));
}
