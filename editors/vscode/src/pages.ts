/** Read-only documents of ours: what the doctor says. */
import { type Disposable, EventEmitter, Uri, window, workspace } from "vscode";

const SCHEME = "midtoken";

export class Pages implements Disposable {
  private readonly texts = new Map<string, string>();
  private readonly changed = new EventEmitter<Uri>();
  private readonly provider = workspace.registerTextDocumentContentProvider(SCHEME, {
    onDidChange: this.changed.event,
    provideTextDocumentContent: ({ path }) => this.texts.get(path) ?? "",
  });

  /** Show a text under a name, whose ending says what it is; a page of that name is written anew. */
  async show(name: string, text: string): Promise<void> {
    const page = Uri.from({ scheme: SCHEME, path: name });
    this.texts.set(name, text);
    this.changed.fire(page);
    await window.showTextDocument(await workspace.openTextDocument(page));
  }

  dispose(): void {
    this.provider.dispose();
    this.changed.dispose();
  }
}
