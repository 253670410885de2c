/**
 * Drafts and costs in the record, pure: the part of the protocol that decides nothing about answers.
 *
 * A draft is provisional text on the screen. At most one per conversation; the record knows it from before it is shown
 * until it is gone, so that no crash leaves half a message behind. It ends in one of two ways:
 *
 * - **replaced**: the reply that answers the same inputs takes its place;
 * - **retracted** (or `left`, where the channel cannot): newer input stands below it, or no reply came.
 *
 * An attempt that follows a crash goes on in the same draft. One that follows newer input takes the old draft back first.
 *
 * @module
 */
import type {
  ConversationRecord,
  Draft,
  EventOf,
  Lease,
  LogBody,
  Outbox,
  Outcomes,
  ReplyEnding,
  Seq,
  Version,
} from "./model.ts";

type Note = (body: LogBody) => Seq;
type Unfit = { is: "early"; atMs: number } | { is: "superseded" } | null;

/** Shows a draft, goes on with it, or says what must be taken back first. */
export function show(
  r: ConversationRecord,
  { draftId, externalId, fence }: EventOf<"draft">,
  { version }: Lease,
  unfit: Unfit,
  note: Note,
  nowMs: number,
): Outcomes["draft"] {
  if (r.outbox !== null) return { is: "lost" };
  const old = r.draft ?? null;
  if (old?.fence === fence && old.version === version) {
    r.draft = externalId === undefined ? old : { ...old, externalId };
    return { is: "drafted", draft: r.draft };
  }
  if (unfit !== null) return unfit;
  if (old !== null && old.version !== version) return { is: "stale", draft: old };
  if (old === null) {
    const { address } = r;
    const seq = note({ kind: "draft", draftId, state: "shown", fence, version, address });
    r.draft = { id: draftId, seq, fence, version, address, atMs: nowMs };
  } else r.draft = { ...old, fence };
  return { is: "drafted", draft: r.draft };
}

/** It is gone; asked again, there is nothing to do. */
export function end(
  r: ConversationRecord,
  { draftId, ending, error }: Omit<EventOf<"undraft">, "type">,
  note: Note,
): Outcomes["undraft"] {
  if (r.draft?.id !== draftId) return { is: "nothing" };
  r.draft = null;
  note({ kind: "draft", draftId, state: ending, error });
  return { is: "ended" };
}

/** A reply has ended, or a retraction, which is none. */
export function vacated(r: ConversationRecord, outbox: Outbox, outcome: ReplyEnding, note: Note): void {
  const { cause, replyId, from, to, draft, parts } = outbox;
  const state = parts[0]?.state ?? "cancelled";
  if (cause !== "retract") {
    note({ kind: "closed", replyId, from, to, outcome });
    const shown = state === "sent" || state === "unknown";
    if (draft !== undefined && shown) end(r, { draftId: draft, ending: "replaced" }, note);
    // Cancelled: an operator came between, and it is still to be taken back.
  } else if (state !== "cancelled") end(r, { draftId: replyId, ending: state === "sent" ? "retracted" : "left" }, note);
}

/** The draft whose place a reply up to `to` takes: nothing newer stands between them, and it goes to the same place. */
export function place({ draft, address }: ConversationRecord, to: Version): Pick<Outbox, "draft"> {
  if (draft == null || draft.version !== to) return {};
  return JSON.stringify(draft.address) === JSON.stringify(address) ? { draft: draft.id } : {};
}

/** A draft that nobody will go on with: no answer is to come, or a human gives it. */
export function leftOver({ draft, lease, outbox, window, handoff }: ConversationRecord): Draft | null {
  if (draft == null || lease !== null || outbox !== null) return null;
  return window === null || handoff !== null ? draft : null;
}

/** Adds a cost to the running period. Periods of one length begin together, counted from 1970. */
export function spend(
  r: ConversationRecord,
  { fence, tokens, everyMs, details }: EventOf<"spend">,
  note: Note,
  nowMs: number,
): Outcomes["spend"] {
  const sinceMs = nowMs - (nowMs % everyMs);
  const before = r.spent?.sinceMs === sinceMs ? r.spent.tokens : 0;
  if (tokens > 0) {
    r.spent = { sinceMs, tokens: before + tokens };
    note({ kind: "usage", fence, tokens, details });
  }
  return { is: "spent", sinceMs, tokens: before + tokens };
}
