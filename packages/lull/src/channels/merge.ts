/**
 * Two conversations that turn out to be one person's. Built from what the protocol has: the old one is handed off so
 * that nobody answers it, each unanswered message is received in the new one under its own id, and taken back in the old
 * one. Whatever is interrupted, nothing is lost, and the call may be repeated.
 *
 * @module
 */
import { LullError } from "../errors.ts";
import type { Incoming, Received } from "../intake.ts";
import type { ConversationId, ConversationRecord, Input, Json, LogEntry, Seq } from "../model.ts";
import type { Clock } from "../ports.ts";

/** The part of `Lull` that merging needs. */
export interface Merging {
  readonly store: {
    load(
      id: ConversationId,
      options?: { logFrom?: Seq },
    ): Promise<{ record: ConversationRecord | null; log: LogEntry[] }>;
  };
  receive(conversation: string, message: Incoming): Promise<Received>;
  retract(conversation: string, messageId: string, call?: { id?: string }): Promise<unknown>;
  handoff(
    conversation: string,
    call: { id?: string; by?: string; forMs?: number; backlog?: "answer" | "context" },
  ): Promise<void>;
  resume(conversation: string, call: { id?: string; by?: string; backlog?: "answer" | "context" }): Promise<void>;
}

export interface MergeOptions {
  /** What is unanswered, from the log: `inputsOf` of lull. */
  inputsOf(log: readonly LogEntry[], after: number): readonly Input[];
  clock: Pick<Clock, "sleep">;
  /** Should the merge be interrupted, the old conversation is answered on its own after that. Default 60,000. */
  graceMs?: number;
}

/**
 * Moves what is unanswered in `from` to `into`. Map the old id to the new one before (a channel's `alias`), so that
 * nothing new arrives in `from`; what does all the same is moved too, or answered there.
 *
 * A reply on its way in `from` is let out first. Histories are not merged.
 *
 * @returns how many messages were moved
 * @throws LullError `full` when `into` cannot take them: they stay where they were
 */
export async function mergeConversations(
  lull: Merging,
  from: ConversationId,
  into: ConversationId,
  { inputsOf, clock, graceMs = 60_000 }: MergeOptions,
): Promise<{ moved: number }> {
  if (from === into)
    throw new LullError("invalid-argument", "A conversation cannot be merged into itself.", {
      details: { field: "into" },
    });
  let moved = 0;
  if ((await lull.store.load(from)).record === null) return { moved };
  await lull.handoff(from, { by: "merge", forMs: graceMs, backlog: "answer" });
  try {
    for (;;) {
      const { record, log } = await lull.store.load(from, { logFrom: 1 });
      if (record === null) return { moved };
      // A part on its way keeps its lease until it is settled; what it answers is answered.
      if (record.outbox !== null) await clock.sleep(50);
      else {
        const pending = inputsOf(log, record.answered);
        if (pending.length === 0) return { moved };
        for (const input of pending) {
          await receive(lull, into, input, record.address);
          await lull.retract(from, input.id, { id: `moved to ${into}: ${input.id}:${input.version}` });
          moved += 1;
        }
      }
    }
  } finally {
    await lull.resume(from, { by: "merge", backlog: "answer" });
  }
}

async function receive(lull: Merging, into: ConversationId, input: Input, address: Json): Promise<void> {
  const { id, parts, author, replyTo, metadata, trace, quietMs, incomplete } = input;
  const received = await lull.receive(into, {
    id,
    parts,
    sentAt: input.sentAtMs ?? input.receivedAtMs,
    address,
    ...(author !== undefined && { author }),
    ...(replyTo !== undefined && { replyTo }),
    ...(metadata !== undefined && { metadata }),
    ...(trace !== undefined && { trace }),
    ...(quietMs !== undefined && { quietMs }),
    ...(incomplete && { incomplete }),
  });
  if (received.status === "rejected")
    throw new LullError("full", "The conversation to merge into cannot take more messages: repeat the merge later.");
}
