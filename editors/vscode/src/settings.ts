/** The settings, as the extension and the server want them. */
import { type ConfigurationScope, type Uri, window, workspace } from "vscode";
import type { Switches } from "./switches.ts";

/** Settings of this extension alone; the server does not know them. */
const OWN = ["path", "address", "shared", "enable", "completionList"];

export function programSetting(): string {
  return workspace.getConfiguration("midtoken").get("path", "").trim();
}

export function addressSetting(): string {
  return workspace.getConfiguration("midtoken").get("address", "").trim();
}

export function sharesServer(): boolean {
  return workspace.getConfiguration("midtoken").get("shared", false);
}

export function wantsCompletionList(scope: ConfigurationScope): boolean {
  return workspace.getConfiguration("midtoken", scope).get("completionList", false);
}

/** What is switched on and off, as it counts for a document; without one, for the window. */
export function switches(document = window.activeTextEditor?.document): Switches {
  const configuration = workspace.getConfiguration("midtoken", document);
  const enable = configuration.inspect<boolean>("enable");
  const disabled = configuration.inspect<string[]>("languages.disabled");
  return {
    everywhere: enable?.globalValue,
    workspace: enable?.workspaceValue,
    folder: enable?.workspaceFolderValue,
    disabledByUser: disabled?.globalValue,
    disabledByWorkspace: disabled?.workspaceValue,
    language: document?.languageId,
    hasWorkspace: workspace.workspaceFolders !== undefined,
  };
}

/**
 * What somebody has set, without defaults: a default sent as if it was set would win over the
 * workspace's midtoken.toml.
 *
 * @param names full names of all settings, as `midtoken.model.name`
 */
export function serverSettings(
  names: string[],
  scope: Uri | undefined,
): Record<string, unknown> {
  const configuration = workspace.getConfiguration("midtoken", scope);
  const keys = names.map((name) => name.slice("midtoken.".length));
  const given = keys.filter((key) => {
    const at = configuration.inspect(key);
    const values = [at?.globalValue, at?.workspaceValue, at?.workspaceFolderValue];
    return !OWN.includes(key) && values.some((value) => value !== undefined);
  });
  return Object.fromEntries(given.map((key) => [key, configuration.get(key)]));
}
