/** One server process: found, started, stopped, and started anew. */
import { commands, type ExtensionContext, Uri, window } from "vscode";
import {
  ExecuteCommandRequest,
  LanguageClient,
  State as ClientState,
} from "vscode-languageclient/node";
import { createClient } from "./client.ts";
import { locate } from "./locate.ts";
import { programSetting, selectedPython } from "./settings.ts";
import type { Status } from "./status.ts";

export class Server {
  readonly log = window.createOutputChannel("midtoken", { log: true });
  client: LanguageClient | undefined;
  private readonly context: ExtensionContext;
  private readonly onStatus: (status: Status) => void;
  private changing: Promise<void> = Promise.resolve();
  private toldMissing = false;

  constructor(context: ExtensionContext, onStatus: (status: Status) => void) {
    this.context = context;
    this.onStatus = onStatus;
  }

  /** Stop the process and start the one that is to be used now. One change at a time. */
  restart(): Promise<void> {
    this.changing = this.changing.then(() => this.stopClient()).then(() => this.start());
    return this.changing;
  }

  stop(): Promise<void> {
    this.changing = this.changing.then(() => this.stopClient());
    return this.changing;
  }

  /** Load the model anew; without a process, start one. */
  async restartModel(): Promise<void> {
    if (this.client?.state === ClientState.Running) {
      await this.execute("midtoken.restartModel");
    } else {
      await this.restart();
    }
  }

  /** The result of one of the server's commands; undefined without a server. */
  async execute(command: string): Promise<unknown> {
    if (this.client?.state !== ClientState.Running) {
      return undefined;
    }
    return this.client.sendRequest(ExecuteCommandRequest.type, { command });
  }

  /** Say that there is no server, and how to get one. */
  async tellMissing(): Promise<void> {
    const path = programSetting();
    const message = path
      ? `midtoken: there is no program at ${path} (the setting midtoken.path).`
      : "midtoken: the server is not installed, or not where it was looked for.";
    const how = "How to Install";
    const chosen = await window.showWarningMessage(message, how, "Open Setting", "Show Log");
    if (chosen === how) {
      const page = Uri.joinPath(this.context.extensionUri, "INSTALL.md");
      await commands.executeCommand("markdown.showPreview", page);
    } else if (chosen === "Open Setting") {
      await commands.executeCommand("workbench.action.openSettings", "midtoken.path");
    } else if (chosen) {
      this.log.show();
    }
  }

  private async start(): Promise<void> {
    this.onStatus({ state: "starting", message: "" });
    const python = await selectedPython().catch((error) => {
      this.log.warn(`the Python extension does not tell its environment: ${error}`);
      return undefined;
    });
    const path = process.env.PATH ?? "";
    const located = await locate({ setting: programSetting(), python, path });
    if (!located.found) {
      this.log.warn(`no server; tried ${located.tried.join(", ") || "nothing"}`);
      this.onStatus({ state: "missing", message: "the server was not found; click for help" });
      if (!this.toldMissing) {
        this.toldMissing = true;
        void this.tellMissing(); // whoever activates us need not wait for a click
      }
      return;
    }
    const { program, origin } = located;
    this.log.info(`starting ${program}, found by ${origin}`);
    const client: LanguageClient = createClient({
      program,
      settings: Object.keys(this.context.extension.packageJSON.contributes.configuration.properties),
      log: this.log,
      onStatus: (status) => {
        if (this.client === client) {
          this.onStatus(status);
        }
      },
    });
    this.client = client;
    try {
      await client.start();
    } catch (error) {
      this.log.error(`${program} did not start: ${error}`);
      this.onStatus({ state: "error", message: `${program} did not start; the log tells why` });
    }
  }

  private async stopClient(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    // One that never ran can't be stopped, and needs not to be.
    await client?.dispose().catch((error) => this.log.info(`stopping: ${error}`));
  }
}
