/** What the menu of the status bar item offers: the remedy first, where something is wrong. */
import type { State } from "./status.ts";
import { isOn, type Switches } from "./switches.ts";

export interface Entry {
  label: string;
  description?: string;
  command: string;
  arguments?: unknown[];
}

export interface View {
  state: State;
  switches: Switches;
  /** The chosen model, if it is one that can be fetched and is not here. */
  fetchable: { name: string; size: string } | undefined;
}

/** Groups of entries, to be shown with a line between them. */
export function menuEntries(view: View): Entry[][] {
  return [remedies(view), switchEntries(view.switches), otherEntries(view)].filter(
    (group) => group.length > 0,
  );
}

function remedies({ state, fetchable }: View): Entry[] {
  if (state === "missing") {
    return [
      { label: "$(book) How to Install the Server", command: "midtoken.install" },
      {
        label: "$(gear) Say Where It Is",
        description: "the setting midtoken.path",
        command: "workbench.action.openSettings",
        arguments: ["midtoken.path"],
      },
      { label: "$(refresh) Look Again", command: "midtoken.restart" },
    ];
  }
  if (state === "error" && fetchable) {
    const { name, size } = fetchable;
    return [
      {
        label: `$(cloud-download) Fetch ${name}`,
        ...(size ? { description: size } : {}),
        command: "midtoken.pullModel",
        arguments: [name],
      },
    ];
  }
  return [];
}

function switchEntries(switches: Switches): Entry[] {
  const verb = (on: boolean) => (on ? "$(circle-slash) Disable" : "$(check) Enable");
  const entries: Entry[] = [];
  if (switches.hasWorkspace) {
    const label = `${verb(isOn(switches, "workspace"))} in This Workspace`;
    entries.push({ label, command: "midtoken.toggleWorkspace" });
  }
  if (switches.language) {
    const label = `${verb(isOn(switches, "language"))} for ${switches.language}`;
    entries.push({ label, command: "midtoken.toggleLanguage" });
  }
  const label = `${verb(isOn(switches, "everywhere"))} Everywhere`;
  return [...entries, { label, command: "midtoken.toggleEverywhere" }];
}

function otherEntries({ state }: View): Entry[] {
  const entries = [
    { label: "$(list-selection) Choose a Model…", command: "midtoken.chooseModel" },
    { label: "$(refresh) Restart", command: "midtoken.restart" },
    { label: "$(pulse) Run Doctor", command: "midtoken.doctor" },
    { label: "$(graph) Show Report of the Last Suggestion", command: "midtoken.report" },
    { label: "$(output) Show Log", command: "midtoken.log" },
    {
      label: "$(gear) Settings",
      command: "workbench.action.openSettings",
      arguments: ["@ext:midtoken.midtoken"],
    },
  ];
  // Without a server there is nothing to choose, to examine or to report.
  return state === "missing" ? entries.slice(-2) : entries;
}
