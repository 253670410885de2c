/**
 * How a conversation stands, as its visitor is told: a fold over the log that needs no look at the record for each entry.
 * Pure.
 *
 * @module
 */
import type { ConversationView, LogEntry } from "lull";

/** `waiting`: heard, and heard out · `answering`: the bot is at it · `human`: a person will answer. */
export type VisitorState = "resting" | "waiting" | "answering" | "human";

export interface Standing {
  /** The log up to here is in it. */
  seq: number;
  /** The newest version that wants an answer, or did. */
  wanted: number;
  /** Versions up to here have ended. */
  answered: number;
  answering: boolean;
  human: boolean;
}

export function standingOf(view: ConversationView | null): Standing {
  if (view === null) return { seq: 0, wanted: 0, answered: 0, answering: false, human: false };
  const { seq, version, answered, pending } = view;
  return {
    seq,
    wanted: pending > 0 ? version : answered,
    answered,
    answering: view.lease !== null,
    human: view.handoff !== null,
  };
}

export function stateOf({ human, answering, wanted, answered }: Standing): VisitorState {
  if (human) return "human";
  if (answering) return "answering";
  return wanted > answered ? "waiting" : "resting";
}

/** What an entry changes; entries that are in it already change nothing. */
export function after(standing: Standing, entry: LogEntry): Standing {
  if (entry.seq <= standing.seq) return standing;
  return { ...standing, seq: entry.seq, ...changeOf(standing, entry) };
}

function changeOf({ wanted, answered }: Standing, entry: LogEntry): Partial<Standing> {
  switch (entry.kind) {
    case "message":
    case "edit":
    case "retraction":
      return entry.aside === undefined ? { wanted: entry.version } : {};
    case "retry":
      return { wanted: Math.max(wanted, entry.to), answered: Math.min(answered, entry.from) };
    case "attempt":
      return { answering: true };
    case "ended":
      return { answering: false };
    case "closed":
      return { answering: false, answered: entry.outcome === "withdrawn" ? entry.from : Math.max(answered, entry.to) };
    case "settled":
      return { answering: false, answered: Math.max(answered, entry.to) };
    case "handoff":
      return { human: true, answering: false };
    case "resumed":
      return { human: false };
    default:
      return {};
  }
}
