/** The menu of the status bar item. */
import { commands, QuickPickItemKind, type QuickPickItem, window } from "vscode";
import { type Entry, menuEntries } from "./menu_entries.ts";
import type { Models } from "./models.ts";
import { switches } from "./settings.ts";
import { appearance } from "./status.ts";
import type { StatusItem } from "./status_item.ts";

export async function showMenu(item: StatusItem, models: Models): Promise<void> {
  const state = item.shown.state;
  const fetchable = state === "error" ? await models.missing() : undefined;
  const groups = menuEntries({ state, switches: switches(), fetchable });
  const lines = groups.flatMap((group, index): (QuickPickItem & { entry?: Entry })[] => [
    ...(index > 0 ? [{ label: "", kind: QuickPickItemKind.Separator }] : []),
    ...group.map((entry) => ({ ...entry, entry })),
  ]);
  const chosen = await window.showQuickPick(lines, {
    title: appearance(item.shown).description,
    placeHolder: "What should midtoken do?",
  });
  // The click has taken the focus to the status bar: whoever types goes on in the editor.
  await commands.executeCommand("workbench.action.focusActiveEditorGroup");
  if (chosen?.entry) {
    await commands.executeCommand(chosen.entry.command, ...(chosen.entry.arguments ?? []));
  }
}
