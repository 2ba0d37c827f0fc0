/** One server: found or connected to, stopped, and started anew. */
import { type CancellationToken, commands, type ExtensionContext, Uri, window } from "vscode";
import {
  ExecuteCommandRequest,
  type LanguageClient,
  type ServerOptions,
  State as ClientState,
} from "vscode-languageclient/node";
import { createClient } from "./client.ts";
import { overStdio, overTcp } from "./connection.ts";
import { Counting } from "./counting.ts";
import { type Located, locate } from "./locate.ts";
import { selectedPython } from "./python.ts";
import { addressSetting, programSetting, sharesServer } from "./settings.ts";
import type { Status } from "./status.ts";

export class Server {
  readonly log = window.createOutputChannel("midtoken", { log: true });
  /** Full names of all settings. */
  readonly settingNames: string[];
  client: LanguageClient | undefined;
  /** The program that was started last. */
  private program: string | undefined;
  private readonly context: ExtensionContext;
  private readonly onStatus: (status: Status) => void;
  private readonly counting: Counting;
  private changing: Promise<void> = Promise.resolve();
  private nextStart: Promise<void> | undefined;
  private toldMissing = false;

  constructor(context: ExtensionContext, onStatus: (status: Status) => void) {
    this.context = context;
    this.onStatus = onStatus;
    const { properties } = context.extension.packageJSON.contributes.configuration;
    this.settingNames = Object.keys(properties);
    this.counting = new Counting((method, uri, length) => {
      if (this.client?.state === ClientState.Running) {
        void this.client.sendNotification(`midtoken/${method}`, { textDocument: { uri }, length });
      }
    });
    context.subscriptions.push(this.log, this.counting);
  }

  /** Stop the server and start the one that is to be used now. Calls that come meanwhile are one. */
  restart(): Promise<void> {
    this.nextStart ??= this.changing.then(async () => {
      this.nextStart = undefined;
      await this.stopClient();
      await this.start();
    });
    this.changing = this.nextStart;
    return this.changing;
  }

  stop(): Promise<void> {
    this.changing = this.changing.then(() => this.stopClient());
    return this.changing;
  }

  /** Start anew if another program would be found now, as after another environment is selected. */
  async restartIfOther(): Promise<void> {
    if (addressSetting() === "" && (await this.findProgram()) !== this.program) {
      await this.restart();
    }
  }

  /** Load the model anew; without a server, start one. */
  async restartModel(): Promise<void> {
    if (this.client?.state === ClientState.Running) {
      await this.execute("midtoken.restartModel");
    } else {
      await this.restart();
    }
  }

  /** The result of one of the server's commands; undefined without a server. */
  async execute(command: string): Promise<unknown> {
    return this.request(ExecuteCommandRequest.method, { command });
  }

  /** The answer to a request; undefined without a server, and if the request was cancelled. */
  async request<T>(method: string, params: object = {}, token?: CancellationToken): Promise<T | undefined> {
    const client = this.client;
    if (client?.state !== ClientState.Running) {
      return undefined;
    }
    try {
      // An undefined token would be sent, as one more parameter.
      const sent = token ? client.sendRequest<T>(method, params, token) : client.sendRequest<T>(method, params);
      return await sent;
    } catch (error) {
      if (token?.isCancellationRequested) {
        return undefined;
      }
      throw error;
    }
  }

  /** The program, wherever it is found now. */
  async findProgram(): Promise<string | undefined> {
    const located = await this.locate();
    return located.found ? located.program : undefined;
  }

  /** Say that there is no server, and how to get one. */
  async tellMissing(): Promise<void> {
    const how = "How to Install";
    const message = `midtoken: ${missing(programSetting())}.`;
    const chosen = await window.showWarningMessage(message, how, "Open Setting", "Show Log");
    if (chosen === how) {
      await this.showInstallation();
    } else if (chosen === "Open Setting") {
      await commands.executeCommand("workbench.action.openSettings", "midtoken.path");
    } else if (chosen) {
      this.log.show();
    }
  }

  async showInstallation(): Promise<void> {
    const page = Uri.joinPath(this.context.extensionUri, "INSTALL.md");
    await commands.executeCommand("markdown.showPreview", page);
  }

  private async locate(): Promise<Located> {
    const python = await selectedPython().catch((error) => {
      this.log.warn(`the Python extension does not tell its environment: ${error}`);
      return undefined;
    });
    return locate({ setting: programSetting(), python, path: process.env.PATH ?? "" });
  }

  private async start(): Promise<void> {
    this.onStatus({ state: "starting", message: "" });
    this.program = undefined;
    const address = addressSetting();
    if (address) {
      const how = `start one with \`midtoken serve --tcp ${address}\`, or empty midtoken.address`;
      await this.connect(overTcp(address), `there is no server at ${address}: ${how}`);
      return;
    }
    const located = await this.locate();
    if (!located.found) {
      this.log.warn(`no server; tried ${located.tried.join(", ") || "nothing"}`);
      this.onStatus({ state: "missing", message: missing(programSetting()) });
      if (!this.toldMissing) {
        this.toldMissing = true;
        void this.tellMissing(); // whoever activates us need not wait for a click
      }
      return;
    }
    const { program, origin } = located;
    this.program = program;
    this.log.info(`starting ${program}, found by ${origin}`);
    await this.connect(overStdio(program, sharesServer()), `${program} did not start; the log tells why`);
  }

  private async connect(connection: ServerOptions, problem: string): Promise<void> {
    const client: LanguageClient = createClient({
      connection,
      settings: this.settingNames,
      log: this.log,
      counting: this.counting,
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
      this.log.error(`${problem}: ${error}`);
      this.onStatus({ state: "error", message: problem });
    }
  }

  private async stopClient(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    // One that never ran can't be stopped, and needs not to be.
    await client?.dispose().catch((error) => this.log.info(`stopping: ${error}`));
  }
}

/** What is missing, given `midtoken.path`. */
function missing(path: string): string {
  return path
    ? `there is no program at ${path} (the setting midtoken.path)`
    : "the server is not installed, or not where it was looked for";
}
