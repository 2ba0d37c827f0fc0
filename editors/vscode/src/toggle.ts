/** The commands that switch midtoken off and on. */
import { ConfigurationTarget, window, workspace } from "vscode";
import { switches } from "./settings.ts";
import { type Change, flipped, type Where } from "./switches.ts";

const TARGETS: Record<Change["target"], ConfigurationTarget> = {
  user: ConfigurationTarget.Global,
  workspace: ConfigurationTarget.Workspace,
  folder: ConfigurationTarget.WorkspaceFolder,
};

export async function toggle(where: Where): Promise<void> {
  const now = switches();
  if (where === "workspace" && !now.hasWorkspace) {
    void window.showInformationMessage("midtoken: no folder is open whose settings could be changed.");
    return;
  }
  if (where === "language" && now.language === undefined) {
    void window.showInformationMessage("midtoken: no editor is active whose language could be meant.");
    return;
  }
  const configuration = workspace.getConfiguration("midtoken", window.activeTextEditor?.document);
  for (const { key, target, value } of flipped(now, where)) {
    await configuration.update(key, value, TARGETS[target]);
  }
}
