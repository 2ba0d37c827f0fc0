/** The status bar item: how the server is for the document in the active editor. */
import {
  commands,
  type Disposable,
  EventEmitter,
  MarkdownString,
  StatusBarAlignment,
  ThemeColor,
  window,
} from "vscode";
import { switches } from "./settings.ts";
import { appearance, type Status, statusFor } from "./status.ts";
import { whyOff } from "./switches.ts";

export class StatusItem implements Disposable {
  private readonly item = window.createStatusBarItem("status", StatusBarAlignment.Right);
  private readonly changed = new EventEmitter<Status>();
  /** What is shown is another status now, or has another message. */
  readonly onDidChange = this.changed.event;
  /** What the server has told last. */
  status: Status = { state: "starting", message: "" };

  constructor() {
    this.item.name = "midtoken";
    this.item.command = "midtoken.menu";
    this.refresh();
    this.item.show();
  }

  /** What is shown now. */
  get shown(): Status {
    return statusFor(this.status, whyOff(switches()));
  }

  /** Take over what the server tells. */
  show(status: Status): void {
    this.status = status;
    this.refresh();
    void commands.executeCommand("setContext", "midtoken.state", status.state);
  }

  /** Look again whether midtoken is on: another editor is active, or a setting has changed. */
  refresh(): void {
    const shown = this.shown;
    const { text, description, background } = appearance(shown);
    const isNew = description !== this.item.accessibilityInformation?.label;
    this.item.text = text;
    this.item.tooltip = new MarkdownString().appendText(description);
    this.item.accessibilityInformation = { label: description };
    this.item.backgroundColor = background && new ThemeColor(background);
    if (isNew) {
      this.changed.fire(shown);
    }
  }

  dispose(): void {
    this.item.dispose();
    this.changed.dispose();
  }
}
