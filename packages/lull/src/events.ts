/**
 * Events are the log, seen from outside: every transition that matters is an entry, and every entry is
 * one event. So they survive restarts, reach every process and can be resumed by `seq`. A few have no
 * entry (`draft`, `typing`, `window.armed`, `message.duplicate`) and are live only: they carry no `seq`.
 *
 * @module
 */
import type { ConversationId, EntryOf, LogEntry, LogKind, Part } from "./model.ts";

export type EventType =
  | "message.received"
  | "message.edited"
  | "message.retracted"
  | "message.revived"
  | "message.duplicate"
  | "window.armed"
  | "window.flushed"
  | "attempt.started"
  | "attempt.absorbed"
  | "attempt.sealed"
  | "attempt.superseded"
  | "attempt.failed"
  | "attempt.expired"
  | "attempt.ended"
  | "reply.committed"
  | "reply.withdrawn"
  | "reply.closed"
  | "part.added"
  | "part.attempted"
  | "part.sent"
  | "part.failed"
  | "part.unknown"
  | "part.retrying"
  | "part.cancelled"
  | "inputs.settled"
  | "inputs.parked"
  | "effect.recorded"
  | "effect.unknown"
  | "draft.shown"
  | "draft.replaced"
  | "draft.retracted"
  | "draft.left"
  | "usage.recorded"
  | "send.queued"
  | "human.replied"
  | "handoff.started"
  | "handoff.ended"
  | "conversation.tuned"
  | "conversation.reset"
  | "typing"
  | "draft";

export interface LullEvent {
  type: EventType;
  conversation: ConversationId;
  atMs: number;
  /** Place in the conversation's log; absent for live-only events. */
  seq?: number;
  /** The log entry behind the event; absent for live-only events. */
  entry?: LogEntry;
  /** `window.armed` only. */
  startAtMs?: number;
  quietAtMs?: number;
  /** `draft` only. */
  part?: Part;
  /** `typing` only: is the bot shown as typing? */
  on?: boolean;
}

const endings = {
  superseded: "attempt.superseded",
  failed: "attempt.failed",
  expired: "attempt.expired",
  "handed-back": "attempt.ended",
  "handed-off": "attempt.ended",
  "answered-by-human": "attempt.ended",
  reset: "attempt.ended",
} as const satisfies Record<EntryOf<"ended">["outcome"], EventType>;

const receipts = {
  queued: "part.retrying",
  attempting: "part.attempted",
  sent: "part.sent",
  failed: "part.failed",
  unknown: "part.unknown",
  cancelled: "part.cancelled",
} as const satisfies Record<EntryOf<"receipt">["state"], EventType>;

const plain = {
  message: "message.received",
  edit: "message.edited",
  retraction: "message.retracted",
  retry: "message.revived",
  flushed: "window.flushed",
  attempt: "attempt.started",
  absorbed: "attempt.absorbed",
  sealed: "attempt.sealed",
  reply: "reply.committed",
  part: "part.added",
  effect: "effect.recorded",
  "effect-unknown": "effect.unknown",
  usage: "usage.recorded",
  send: "send.queued",
  human: "human.replied",
  handoff: "handoff.started",
  resumed: "handoff.ended",
  tuned: "conversation.tuned",
  reset: "conversation.reset",
} as const satisfies Record<Exclude<LogKind, "ended" | "receipt" | "closed" | "settled" | "draft">, EventType>;

/** The event of a log entry. Pure. */
export function eventOf(conversation: ConversationId, entry: LogEntry): LullEvent {
  return { type: typeOf(entry), conversation, atMs: entry.atMs, seq: entry.seq, entry };
}

function typeOf(entry: LogEntry): EventType {
  switch (entry.kind) {
    case "ended":
      return endings[entry.outcome];
    case "receipt":
      return receipts[entry.state];
    case "closed":
      return entry.outcome === "withdrawn" ? "reply.withdrawn" : "reply.closed";
    case "settled":
      return entry.outcome === "parked" ? "inputs.parked" : "inputs.settled";
    case "draft":
      return `draft.${entry.state}`;
    default:
      return plain[entry.kind];
  }
}
