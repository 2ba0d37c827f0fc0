/** The settings, as the extension and the server want them. */
import { extensions, type ConfigurationScope, Uri, workspace } from "vscode";

/** Settings of this extension alone; the server does not know them. */
const OWN = ["path", "completionList"];

export function programSetting(): string {
  return workspace.getConfiguration("midtoken").get("path", "").trim();
}

export function wantsCompletionList(scope: ConfigurationScope): boolean {
  return workspace.getConfiguration("midtoken", scope).get("completionList", false);
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

interface PythonApi {
  environments: {
    getActiveEnvironmentPath(): { path: string };
    resolveEnvironment(of: { path: string }): Promise<{ executable: { uri?: Uri } } | undefined>;
  };
}

/** The selected environment's interpreter, if the Python extension tells and the folder is trusted. */
export async function selectedPython(): Promise<string | undefined> {
  const python = extensions.getExtension<PythonApi>("ms-python.python");
  if (!python || !workspace.isTrusted) {
    return undefined;
  }
  const environments = (await python.activate())?.environments;
  const found = await environments?.resolveEnvironment(environments.getActiveEnvironmentPath());
  return found?.executable.uri?.fsPath;
}
