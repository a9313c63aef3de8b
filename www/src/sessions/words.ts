// How a session stands, in words and signs for the person before the page.
//
// Decides: what each status, verdict and failure is called, which button is the recommended way on, and what comes first
// in the list. Promises: an unknown word of a later version is told as it is. Leaves to others: what the buttons do.
import type { Activity, HmacStatus, SessionState } from "lodger";
import { own } from "../own.ts";
import type { IconName } from "../shell/icons.ts";
import { MAIN } from "./places.ts";

/** What draws attention to a session, before its status does. */
export type Mood = "asks" | "damaged" | "failed" | "unseen" | "works" | "idle" | "benched" | "stopped" | "archived";

/** What comes first in the list comes first here. */
export const MOODS: readonly Mood[] = ["asks", "damaged", "failed", "unseen", "works", "idle", "benched", "stopped", "archived"];

const STATUSES: Record<SessionState["status"], { word: string; icon: IconName }> = {
  starting: { word: "starting", icon: "preparing" },
  running: { word: "ready", icon: "chat" },
  idle: { word: "idle", icon: "chat" },
  stopping: { word: "stopping", icon: "preparing" },
  stopped: { word: "stopped", icon: "stop" },
  failed: { word: "failed", icon: "failed" },
  auth_expired: { word: "key refused", icon: "key" },
  provider_unavailable: { word: "provider unavailable", icon: "alert" },
  sandbox_failed: { word: "sandbox failed", icon: "failed" },
};

/** The word and the icon of how a session stands. */
export function standing(status: SessionState["status"], mood: Mood): { word: string; icon: IconName } {
  if (mood === "asks") return { word: "needs you", icon: "permission" };
  if (mood === "damaged") return { word: "damaged", icon: "alert" };
  if (mood === "works") return { word: "answering", icon: "chat" };
  if (mood === "benched") return { word: "benched", icon: "pause" };
  if (mood === "archived") return { word: "archived", icon: "archive" };
  const known = own(STATUSES, status) ?? { word: String(status), icon: "help" };
  return mood === "unseen" ? { word: `new answer, ${known.word}`, icon: "sparkles" } : known;
}

const ACTIVITIES: Record<Activity, string> = {
  streaming: "Streaming: the model is at work",
  waiting: "Waiting: nothing comes at the moment",
  broken: "Broken: stopped, failed, or lost with its page",
};

/** What goes on, in words. */
export function activityOf(activity: Activity): string {
  return own(ACTIVITIES, activity) ?? String(activity);
}

const ACTIVE = new Set<SessionState["status"]>(["starting", "running", "idle", "stopping"]);

/** Whether a session takes prompts, or soon will. */
export function active({ status }: SessionState): boolean {
  return ACTIVE.has(status);
}

/** What a session is called. */
export function nameOf({ id, display_name }: Pick<SessionState, "id" | "display_name">): string {
  return display_name || (id === MAIN ? "Main conversation" : id);
}

/** Who works on a session; empty: nobody. `here`: this page holds the agent. */
export function holderOf({ pid }: SessionState, here: boolean): string {
  return pid === null ? "" : here ? "held here" : "held by another tab";
}

/** What takes up a session that stands still. */
export type Action = "restart" | "reconnect" | "resume" | "play";

/** A way on for a session that stands still. */
export interface WayOn {
  sign: "pause" | "stop" | "warning";
  /** What happened, in a sentence. */
  what: string;
  /** What the record itself recommends; empty: nothing. */
  recommended: string;
  /** The button. */
  action: Action;
  label: string;
  /** What else can be done, in words. */
  others: readonly [Action, string][];
  /** The settings have to do with it. */
  settings: boolean;
}

const FAILURES: Record<string, { what: string; action: Action; settings?: boolean }> = {
  stale_pid: { what: "The page that worked on it went away.", action: "reconnect" },
  stale_endpoint: { what: "Where it ran cannot be reached any more.", action: "reconnect" },
  auth_expired: { what: "The provider does not take the key any more.", action: "resume", settings: true },
  provider_unavailable: { what: "The provider could not be reached.", action: "resume", settings: true },
  sandbox_failed: { what: "What its tools run in has failed.", action: "resume" },
};
const LABELS = { restart: "Restart", reconnect: "Reconnect", resume: "Resume", play: "Play" } as const;
const BENCHED: WayOn = { sign: "pause", what: "This session is benched: it keeps everything, costs nothing, and takes no message.", recommended: "", action: "play", label: LABELS.play, others: [], settings: false };
const RESUME: [Action, string] = ["resume", "Resume, and leave the answer for later"];
const RESTART: [Action, string] = ["restart", "Restart, with the conversation it had"];

/** Whether a page went away in the middle of its run, and nobody has decided what becomes of it. */
export function left({ status, recovery_metadata }: SessionState): boolean {
  return status === "failed" && recovery_metadata.recovery_reason === "stale_pid";
}

/** What to do about a session that takes no prompts; null where it takes them. */
export function wayOn(state: SessionState): WayOn | null {
  if (state.suspended) return BENCHED;
  if (active(state)) return null;
  const metadata = state.recovery_metadata ?? {};
  const text = (member: string): string => (typeof metadata[member] === "string" ? metadata[member] : "");
  // A session that was stopped keeps what it once failed of.
  const known = state.status === "stopped" ? undefined : (own(FAILURES, text("recovery_reason")) ?? own(FAILURES, state.status));
  const sign = state.status === "stopped" ? "stop" : "warning";
  if (!known) return { sign, what: state.status === "stopped" ? "This session is stopped." : "This session has failed.", recommended: "", action: "restart", label: LABELS.restart, others: [], settings: false };
  return { sign, what: known.what, recommended: text("recommended_action"), action: known.action, label: LABELS[known.action], others: known.action === "resume" ? [RESTART] : [RESUME, RESTART], settings: known.settings ?? false };
}

const VERDICTS: Record<HmacStatus, { word: string; text: string; icon: IconName }> = {
  verified: { word: "Verified", text: "Its record is as this browser has written and signed it.", icon: "verified" },
  tampered: { word: "Not as written", text: "What is stored of it is not what was written: your browser has lost a part of it, or something has changed it.", icon: "tampered" },
  unverified: { word: "Not signed", text: "Its record was written without a signature, so nobody can say whether it was changed.", icon: "unsigned" },
  unverifiable: { word: "Cannot be checked", text: "The key that signed its record is not in this browser: it was imported, or the key is gone.", icon: "unsigned" },
};

/** What the signature of a record says, for a person. */
export function verdictOf(status: HmacStatus): { word: string; text: string; icon: IconName } {
  return own(VERDICTS, status) ?? { word: String(status), text: "", icon: "help" };
}

/** How long ago, short. */
export function ago(at: number, now = Date.now()): string {
  const minutes = Math.floor((now - at) / 60_000);
  if (!Number.isFinite(minutes)) return "";
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h`;
  if (minutes < 7 * 24 * 60) return `${Math.floor(minutes / 1_440)} d`;
  return new Date(at).toLocaleDateString([], { day: "numeric", month: "short" });
}
