/** How the server is, in the status bar. What is shown depends on the status alone. */

export type State = "starting" | "loading" | "ready" | "busy" | "off" | "error" | "missing";

export interface Status {
  state: State;
  /** One line: what is loaded and where it runs, or what is wrong and what to do. */
  message: string;
  /** While loading: how far it is, where that is known. */
  percent?: number;
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
  off: "$(circle-slash)",
  error: "$(error)",
  missing: "$(warning)",
};

export function appearance({ state, message, percent }: Status): Appearance {
  const backgrounds = {
    error: "statusBarItem.errorBackground",
    missing: "statusBarItem.warningBackground",
  } as const;
  const share = percent === undefined ? "" : ` ${percent} %`;
  return {
    text: `${ICONS[state]} midtoken${share}`,
    description: `midtoken ${state}${share}${message ? `: ${message}` : ""}`,
    background: state === "error" || state === "missing" ? backgrounds[state] : undefined,
  };
}

/** The server's status as it is for a document where midtoken may be off. */
export function statusFor(status: Status, off: string | undefined): Status {
  return off === undefined ? status : { state: "off", message: off };
}

/** Whether the server has a model that can be asked. */
export function hasModel({ state }: Status): boolean {
  return state === "ready" || state === "busy";
}

/** A server's notification as a status; undefined for anything that is none. */
export function statusOf(notice: unknown): Status | undefined {
  const { state, message, percent } = (notice ?? {}) as Partial<Record<string, unknown>>;
  if (typeof state !== "string" || !Object.hasOwn(ICONS, state)) {
    return undefined;
  }
  const status = { state: state as State, message: typeof message === "string" ? message : "" };
  return typeof percent === "number" ? { ...status, percent } : status;
}
