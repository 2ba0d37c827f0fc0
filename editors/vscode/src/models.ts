/** Choosing a model, and fetching one while the person watches. */
import { randomUUID } from "node:crypto";
import { ConfigurationTarget, ProgressLocation, type QuickPickItem, window, workspace } from "vscode";
import { WorkDoneProgress } from "vscode-languageclient/node";
import type { Server } from "./server.ts";

interface Model {
  name: string;
  /** For people; empty if it is not known. */
  size: string;
  here: boolean;
  /** Whether there is a second source of its bytes. */
  mirror: boolean;
  licence: string;
  description: string;
}

interface Listed {
  current: string;
  models: Model[];
}

export class Models {
  private readonly server: Server;

  constructor(server: Server) {
    this.server = server;
  }

  /** The chosen model, if it can be fetched and is not here. */
  async missing(): Promise<Model | undefined> {
    const listed = await this.server.request<Listed>("midtoken/models");
    return listed?.models.find(({ name, here }) => name === listed.current && !here);
  }

  /** Let the person choose; what is not here is fetched first, after a question. */
  async choose(): Promise<void> {
    const listed = await this.list();
    if (!listed) {
      return;
    }
    const lines = listed.models.map((model): QuickPickItem & { model?: Model } => ({
      label: `$(${model.here ? "check" : "cloud-download"}) ${model.name}`,
      description: [model.size, model.name === listed.current ? "in use" : ""].filter(Boolean).join(", "),
      detail: `${model.description} Licence: ${model.licence}.`,
      model,
    }));
    const chosen = await window.showQuickPick([...lines, { label: "$(folder) A GGUF File…" }], {
      title: "midtoken: choose a model",
      placeHolder: listed.current,
      matchOnDetail: true,
    });
    if (chosen && !("model" in chosen)) {
      await this.chooseFile();
    } else if (chosen?.model && (chosen.model.here || (await this.fetch(chosen.model)))) {
      await use(chosen.model.name);
    }
  }

  /** Fetch a model by its name, or one that is asked for, and load it if it is the chosen one. */
  async pull(name?: string): Promise<void> {
    const listed = await this.list();
    const absent = listed?.models.filter((model) => !model.here) ?? [];
    if (listed && absent.length === 0) {
      void window.showInformationMessage("midtoken: all models that it knows by name are here.");
      return;
    }
    const wanted = name ?? (await window.showQuickPick(absent.map((one) => one.name)));
    const model = absent.find((one) => one.name === wanted);
    if (model && (await this.fetch(model)) && model.name === listed?.current) {
      await this.server.restartModel();
    }
  }

  private async list(): Promise<Listed | undefined> {
    const listed = await this.server.request<Listed>("midtoken/models");
    if (!listed) {
      void window.showWarningMessage("midtoken: the server does not run, so it can't tell its models.");
    }
    return listed;
  }

  private async chooseFile(): Promise<void> {
    const found = await window.showOpenDialog({
      title: "midtoken: choose a model",
      filters: { "GGUF models": ["gguf"] },
    });
    if (found?.[0]) {
      await use(found[0].fsPath);
    }
  }

  /** Ask, then fetch; whether the model is here now. */
  private async fetch(model: Model): Promise<boolean> {
    const size = model.size || "its size is not known";
    const question = `midtoken: fetch ${model.name} (${size}, licence ${model.licence})?`;
    const answer = await window.showInformationMessage(question, { modal: true }, "Fetch");
    if (answer !== "Fetch") {
      return false;
    }
    const problem = await this.download(model, false);
    if (problem === "") {
      return true;
    }
    if (problem !== undefined && (await this.offerMirror(model, problem))) {
      const again = await this.download(model, true);
      if (again) {
        void window.showErrorMessage(`midtoken: ${again}`);
      }
      return again === "";
    }
    return false;
  }

  private async offerMirror(model: Model, problem: string): Promise<boolean> {
    const mirror = "Use the Mirror";
    const ways = model.mirror ? [mirror] : [];
    return (await window.showErrorMessage(`midtoken: ${problem}`, ...ways)) === mirror;
  }

  /** Download with a notification that can be cancelled: "" when done, undefined if stopped. */
  private download({ name }: Model, mirror: boolean): Promise<string | undefined> {
    const options = { location: ProgressLocation.Notification, cancellable: true };
    const title = `midtoken: fetching ${name}`;
    const downloaded = window.withProgress({ ...options, title }, async (progress, token) => {
      const workDoneToken = randomUUID();
      let percent = 0;
      const listening = this.server.client?.onProgress(WorkDoneProgress.type, workDoneToken, (told) => {
        if (told.kind === "report") {
          const increment = Math.max(0, (told.percentage ?? 0) - percent);
          percent += increment;
          progress.report({ message: told.message, increment });
        }
      });
      try {
        const params = { name, mirror, workDoneToken };
        const answer = await this.server.request<{ problem?: string }>("midtoken/pullModel", params, token);
        return answer ? answer.problem ?? "" : undefined;
      } finally {
        listening?.dispose();
      }
    });
    return Promise.resolve(downloaded);
  }
}

async function use(name: string): Promise<void> {
  const configuration = workspace.getConfiguration("midtoken");
  await configuration.update("model.name", name, ConfigurationTarget.Global);
}
