/**
 * An attempt whose answer comes from outside: a webhook that took the turn and comes back later, to any process.
 * What is done for it is an exchange like the holder's own, under the same fence, so nothing can be done for an
 * attempt that has ended. The holder keeps the lease, sees what was written, and delivers it. Pure.
 *
 * @module
 */
import type {
  ConversationId,
  ConversationRecord,
  Fence,
  Held,
  JsonObject,
  Outbox,
  Part,
  ProtocolEvent,
} from "./model.ts";

/** Which attempt is meant: plain JSON, so that it can travel (signed, where others could make one up). */
export interface AttemptRef {
  conversation: ConversationId;
  fence: Fence;
  /** The unanswered range its effects belong to. */
  span: number;
  /** When it was to be given up, as of its beginning. */
  deadlineMs: number;
}

/** The attempt's claim, by the lease or by how it ended; null when the record has forgotten it. */
export function claimOf(r: ConversationRecord, fence: Fence): Held | null {
  const found = r.lease?.fence === fence ? r.lease : r.ended.findLast((attempt) => attempt.fence === fence);
  return found === undefined ? null : { fence, claimId: found.claimId };
}

/** Its attempt runs, or its reply is being delivered. */
export function holds(r: ConversationRecord, fence: Fence): boolean {
  return r.lease?.fence === fence;
}

/** The reply given under this fence, while it is in the outbox. */
export function replyUnder(r: ConversationRecord, fence: Fence): Outbox | null {
  return r.outbox !== null && r.outbox.cause === "turn" && r.outbox.fence === fence ? r.outbox : null;
}

/**
 * The whole answer, or what follows the parts that were said. Null: silence, or nothing further. Its reply is named
 * after the claim, so that the same answer given twice, to two processes, is one.
 */
export function answerEvents(
  r: ConversationRecord,
  fence: Fence,
  answer: { parts: readonly Part[] | null; metadata?: JsonObject },
): ProtocolEvent[] {
  const held = claimOf(r, fence);
  if (held === null) return [];
  const said = replyUnder(r, fence);
  if (said === null || !said.open)
    return [{ type: "commit", replyId: held.claimId, open: false, elsewhere: true, ...answer, ...held }];
  const { replyId, parts } = said;
  const appended = (answer.parts ?? []).map(
    (part, at): ProtocolEvent => ({ type: "append", replyId, index: parts.length + at, part, ...held }),
  );
  return [...appended, { type: "close", replyId, ...held }];
}

/** One part said now. `index`: its place in the reply, which makes the call repeatable; by default the next one. */
export function sayEvents(r: ConversationRecord, fence: Fence, part: Part, index?: number): ProtocolEvent[] {
  const held = claimOf(r, fence);
  if (held === null || !holds(r, fence)) return [];
  const said = replyUnder(r, fence);
  if (said === null)
    return [{ type: "commit", replyId: held.claimId, parts: [part], open: true, elsewhere: true, ...held }];
  return [{ type: "append", replyId: said.replyId, index: index ?? said.parts.length, part, ...held }];
}
