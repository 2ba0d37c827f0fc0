/**
 * Switching midtoken off and on: here, for a language, everywhere.
 *
 * Two settings hold it: `midtoken.enable`, where a folder's value wins over the workspace's and that
 * over the user's, and the list `midtoken.languages.disabled`, where a workspace's list takes the
 * place of the user's.
 */

export interface Switches {
  /** `midtoken.enable` of the user, the workspace and the document's folder, where it is set. */
  everywhere: boolean | undefined;
  workspace: boolean | undefined;
  folder: boolean | undefined;
  /** `midtoken.languages.disabled`. */
  disabledByUser: string[] | undefined;
  disabledByWorkspace: string[] | undefined;
  /** Of the document in the active editor. */
  language: string | undefined;
  /** Whether a folder is open, whose settings can be written. */
  hasWorkspace: boolean;
}

/** A setting to be written; undefined removes it. */
export interface Change {
  key: "enable" | "languages.disabled";
  target: "user" | "workspace" | "folder";
  value: boolean | string[] | undefined;
}

export type Where = "workspace" | "language" | "everywhere";

export function isOn(switches: Switches, where: Where): boolean {
  const { everywhere, workspace, folder, language } = switches;
  if (where === "language") {
    return language === undefined || !disabled(switches).includes(language);
  }
  return (where === "everywhere" ? everywhere : folder ?? workspace ?? everywhere) ?? true;
}

/** Why there are no suggestions in the document; undefined if there are. */
export function whyOff(switches: Switches): string | undefined {
  if (!isOn(switches, "workspace")) {
    return isOn(switches, "everywhere") ? "off in this workspace" : "off";
  }
  return isOn(switches, "language") ? undefined : `off for ${switches.language}`;
}

/** What to write so that the switch is the other way round, whatever else is set. */
export function flipped(switches: Switches, where: Where): Change[] {
  const on = !isOn(switches, where);
  if (where === "language") {
    return [flippedLanguage(switches, on)];
  }
  const changes: Change[] = [];
  if (switches.folder !== undefined) {
    changes.push({ key: "enable", target: "folder", value: undefined });
  }
  if (where === "everywhere") {
    // A workspace that says otherwise would make "everywhere" a lie here.
    if (switches.workspace !== undefined) {
      changes.push({ key: "enable", target: "workspace", value: undefined });
    }
    return [...changes, { key: "enable", target: "user", value: on ? undefined : false }];
  }
  const inherited = switches.everywhere ?? true;
  return [...changes, { key: "enable", target: "workspace", value: on === inherited ? undefined : on }];
}

function flippedLanguage(switches: Switches, on: boolean): Change {
  const language = switches.language ?? "";
  const others = disabled(switches).filter((name) => name !== language);
  return {
    key: "languages.disabled",
    target: switches.disabledByWorkspace === undefined ? "user" : "workspace",
    value: on ? others : [...others, language],
  };
}

function disabled({ disabledByUser, disabledByWorkspace }: Switches): string[] {
  return disabledByWorkspace ?? disabledByUser ?? [];
}
