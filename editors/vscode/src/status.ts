/** How the server is, in the status bar. What is shown depends on the status alone. */

export type State = "starting" | "loading" | "ready" | "busy" | "error" | "missing";

export interface Status {
  state: State;
  /** One line: what is loaded and where it runs, or what is wrong and what to do. */
  message: string;
}

export interface Appearance {
  text: string;
  /** Shown under the mouse, and read out by screen readers. */
  description: string;
  background: "statusBarItem.errorBackground" | "statusBarItem.warningBackground" | undefined;
}

const ICONS: Record<State, string> = {
  starting: "$(sync~spin)",
  loading: "$(sync~spin)",
  ready: "$(sparkle)",
  busy: "$(loading~spin)",
  error: "$(error)",
  missing: "$(warning)",
};

export function appearance({ state, message }: Status): Appearance {
  const backgrounds = {
    error: "statusBarItem.errorBackground",
    missing: "statusBarItem.warningBackground",
  } as const;
  return {
    text: `${ICONS[state]} midtoken`,
    description: `midtoken ${state}${message ? `: ${message}` : ""}`,
    background: state === "error" || state === "missing" ? backgrounds[state] : undefined,
  };
}

/** A server's notification as a status; undefined for anything that is none. */
export function statusOf(notice: unknown): Status | undefined {
  const { state, message } = (notice ?? {}) as Partial<Record<string, unknown>>;
  return typeof state === "string" && Object.hasOwn(ICONS, state)
    ? { state: state as State, message: typeof message === "string" ? message : "" }
    : undefined;
}
