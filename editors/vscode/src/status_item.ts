/** The status bar item, and what a click on it says. */
import {
  commands,
  type Disposable,
  MarkdownString,
  StatusBarAlignment,
  ThemeColor,
  window,
} from "vscode";
import { appearance, type Status } from "./status.ts";

export class StatusItem implements Disposable {
  private readonly item = window.createStatusBarItem("status", StatusBarAlignment.Right);
  private status: Status = { state: "starting", message: "" };

  constructor() {
    this.item.name = "midtoken";
    this.item.command = "midtoken.status";
    this.show(this.status);
    this.item.show();
  }

  show(status: Status): void {
    this.status = status;
    const { text, description, background } = appearance(status);
    this.item.text = text;
    this.item.tooltip = new MarkdownString().appendText(description);
    this.item.accessibilityInformation = { label: description };
    this.item.backgroundColor = background && new ThemeColor(background);
  }

  /** Say how the server is, and offer what can be done about it. */
  async tell(tellMissing: () => Promise<void>): Promise<void> {
    if (this.status.state === "missing") {
      return tellMissing();
    }
    const failed = this.status.state === "error";
    const tell = failed ? window.showErrorMessage : window.showInformationMessage;
    const other = failed ? "Restart" : "Show Report";
    const chosen = await tell<string>(appearance(this.status).description, "Show Log", other);
    if (chosen === "Show Log") {
      await commands.executeCommand("midtoken.log");
    } else if (chosen) {
      await commands.executeCommand(failed ? "midtoken.restart" : "midtoken.report");
    }
  }

  dispose(): void {
    this.item.dispose();
  }
}
