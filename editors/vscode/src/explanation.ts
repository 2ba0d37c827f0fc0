/** The page that shows how a suggestion came about. The server makes it; it runs no script. */
import { type Disposable, ProgressLocation, type TextEditor, ViewColumn, type WebviewPanel, window } from "vscode";
import type { Server } from "./server.ts";

const EXPLAIN = "midtoken/explain";

/** The page, or a line for people that says why there is none. */
interface Answer {
  readonly html?: string;
  readonly problem?: string;
}

export class Explanation implements Disposable {
  private readonly server: Server;
  private panel: WebviewPanel | undefined;

  constructor(server: Server) {
    this.server = server;
  }

  /** Show the page of the last suggestion. */
  async showLast(): Promise<void> {
    await this.show({});
  }

  /** Show the page of what is suggested at an editor's cursor. */
  async showAt(editor: TextEditor | undefined): Promise<void> {
    const convert = this.server.client?.code2ProtocolConverter;
    if (!editor || !convert) {
      void window.showInformationMessage("midtoken: there is no cursor, or no server.");
      return;
    }
    await this.show({
      textDocument: convert.asTextDocumentIdentifier(editor.document),
      position: convert.asPosition(editor.selection.active),
    });
  }

  dispose(): void {
    this.panel?.dispose();
  }

  private async show(params: object): Promise<void> {
    const progress = { location: ProgressLocation.Notification, cancellable: true, title: "midtoken: looking closely…" };
    const answer = await window.withProgress(progress, (_, token) =>
      this.server.request<Answer>(EXPLAIN, params, token),
    );
    if (answer?.html) {
      this.open(answer.html);
    } else if (answer?.problem) {
      void window.showInformationMessage(`midtoken: ${answer.problem}.`);
    }
  }

  /** Show a page where the last one was. */
  private open(html: string): void {
    if (!this.panel) {
      const nothing = { enableScripts: false, enableCommandUris: false, enableForms: false, localResourceRoots: [] };
      this.panel = window.createWebviewPanel("midtoken.report", "How It Came About", ViewColumn.Active, nothing);
      this.panel.onDidDispose(() => {
        this.panel = undefined;
      });
    }
    this.panel.webview.html = html;
    this.panel.reveal();
  }
}
