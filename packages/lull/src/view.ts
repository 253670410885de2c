/**
 * A conversation as operators see it, from its record. Pure.
 *
 * @module
 */
import type { ConversationId, ConversationRecord, Limits, PartState, Version } from "./model.ts";
import { capAt, targets, wakeAt } from "./window.ts";

export type ConversationState = "resting" | "waiting" | "answering" | "delivering" | "handed-off" | "parked";

export interface ConversationView {
  id: ConversationId;
  state: ConversationState;
  version: Version;
  /** Inputs up to here have ended. */
  answered: Version;
  seq: number;
  /** Visible unanswered inputs. */
  pending: number;
  startAtMs: number | null;
  quietAtMs: number | null;
  /** The longest wait is over then: nothing holds the answer back any more. */
  capAtMs: number | null;
  /** When somebody looks at it next. */
  wakeAtMs: number | null;
  lease: {
    owner: string;
    fence: number;
    purpose: "respond" | "deliver";
    version: Version;
    expiresAtMs: number;
    sealed: boolean;
  } | null;
  outbox: {
    replyId: string;
    from: Version;
    to: Version;
    parts: { state: PartState; tries: number; nextAtMs: number }[];
  } | null;
  handoff: { sinceMs: number; untilMs: number; by?: string } | null;
  parked: { from: Version; to: Version; atMs: number; reason: string } | null;
  attempts: number;
  restarts: number;
  failures: number;
  /** What its user is heard out for, by the settings of today. */
  waits: { quietMs: number; maxWaitMs: number };
  createdAtMs: number;
  updatedAtMs: number;
  record: ConversationRecord;
}

export function viewOf(record: ConversationRecord, limits: Limits): ConversationView {
  const { lease, outbox, parked, handoff } = record;
  return {
    id: record.id,
    state: stateOf(record),
    version: record.version,
    answered: record.answered,
    seq: record.seq,
    pending: record.window?.count ?? 0,
    ...targets(record, limits),
    capAtMs: record.window === null ? null : capAt(record.window, limits),
    wakeAtMs: wakeAt(record, limits),
    lease: lease && {
      owner: lease.owner,
      fence: lease.fence,
      purpose: lease.purpose,
      version: lease.version,
      expiresAtMs: lease.expiresAtMs,
      sealed: lease.sealed,
    },
    outbox: outbox && {
      replyId: outbox.replyId,
      from: outbox.from,
      to: outbox.to,
      parts: outbox.parts.map(({ state, tries, nextAtMs }) => ({ state, tries, nextAtMs })),
    },
    handoff: handoff && { sinceMs: handoff.sinceMs, untilMs: handoff.untilMs, ...(handoff.by && { by: handoff.by }) },
    parked: parked && { from: parked.from, to: parked.to, atMs: parked.atMs, reason: parked.reason },
    attempts: record.attempts,
    restarts: record.restarts,
    failures: record.failures,
    waits: { quietMs: limits.quietMs, maxWaitMs: limits.maxWaitMs },
    createdAtMs: record.createdAtMs,
    updatedAtMs: record.updatedAtMs,
    record,
  };
}

function stateOf(r: ConversationRecord): ConversationState {
  if (r.outbox !== null) return "delivering";
  if (r.lease !== null) return "answering";
  if (r.handoff !== null) return "handed-off";
  if (r.window !== null || r.sends.length > 0) return "waiting";
  return r.parked === null ? "resting" : "parked";
}
