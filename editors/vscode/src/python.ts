/** The Python environment that is selected in the Python extension. */
import { type Disposable, type Event, extensions, type Uri, workspace } from "vscode";

interface PythonApi {
  environments: {
    getActiveEnvironmentPath(): { path: string };
    resolveEnvironment(of: { path: string }): Promise<{ executable: { uri?: Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath: Event<unknown>;
  };
}

/** Undefined without the Python extension, and where the environment may belong to the folder. */
async function environments(): Promise<PythonApi["environments"] | undefined> {
  const python = extensions.getExtension<PythonApi>("ms-python.python");
  return python && workspace.isTrusted ? (await python.activate())?.environments : undefined;
}

/** The selected environment's interpreter, if the Python extension tells and the folder is trusted. */
export async function selectedPython(): Promise<string | undefined> {
  const api = await environments();
  const found = await api?.resolveEnvironment(api.getActiveEnvironmentPath());
  return found?.executable.uri?.fsPath;
}

/** Call a listener whenever another environment is selected. */
export async function onPythonChange(listener: () => void): Promise<Disposable | undefined> {
  return (await environments())?.onDidChangeActiveEnvironmentPath(listener);
}
