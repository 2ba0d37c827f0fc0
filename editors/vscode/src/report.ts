/** The report of the last suggestion, as a read-only JSON document. */
import { type Disposable, EventEmitter, Uri, window, workspace } from "vscode";
import type { Server } from "./server.ts";

const PAGE = Uri.parse("midtoken:report.json");

export class Reports implements Disposable {
  private readonly changed = new EventEmitter<Uri>();
  private readonly provider: Disposable;

  constructor(server: Server) {
    this.provider = workspace.registerTextDocumentContentProvider(PAGE.scheme, {
      onDidChange: this.changed.event,
      provideTextDocumentContent: async () => {
        const report = await server.execute("midtoken.showReport");
        return `${JSON.stringify(report ?? "There was no suggestion yet.", null, 2)}\n`;
      },
    });
  }

  async show(): Promise<void> {
    this.changed.fire(PAGE); // an open page is written anew
    await window.showTextDocument(await workspace.openTextDocument(PAGE));
  }

  dispose(): void {
    this.provider.dispose();
    this.changed.dispose();
  }
}
