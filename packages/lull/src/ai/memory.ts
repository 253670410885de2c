/**
 * For memories that are not lull's log: threads of a framework, conversations kept by a model's provider. They save while
 * the model runs, so what a discarded attempt saved must not be found by the next one.
 *
 * The rule that needs no cleaning up: an attempt reads what the last *committed* answer left, and writes to a place of its
 * own. What was discarded is on a branch nobody follows.
 *
 * @module
 */
import type { JsonObject, LogEntry } from "../model.ts";
import type { Turn } from "../turn.ts";

/** The answer that a turn goes on from. */
export interface LastAnswer {
  replyId: string;
  /** The attempt that gave it: with `conversation`, the name of its branch. */
  fence: number;
  /** What its responder gave along: `return { text, metadata: { responseId } }`. */
  metadata: JsonObject;
  /** People, or the bot of its own accord, have spoken since: a memory that was not told of it does not know. */
  isLatest: boolean;
}

/** The log is read so far back. */
const mostEntries = 2_000;

/**
 * The last answer that was committed and not withdrawn, since the last reset; null when there is none.
 *
 * @example a provider that keeps the conversation
 * const last = await lastAnswer(turn);
 * const result = await generateText({ ...call, providerOptions: { openai: { previousResponseId: last?.metadata.responseId } } });
 * return { text: result.text, metadata: { responseId: result.response.id } };
 */
export async function lastAnswer(turn: Turn): Promise<LastAnswer | null> {
  return lastAnswerIn(await turn.log(mostEntries));
}

/** The same from log entries, oldest first. */
export function lastAnswerIn(log: readonly LogEntry[]): LastAnswer | null {
  const withdrawn = new Set<string>();
  let isLatest = true;
  for (const entry of log.toReversed()) {
    if (entry.kind === "reset" && entry.forget) return null;
    if (entry.kind === "closed" && entry.outcome === "withdrawn") withdrawn.add(entry.replyId);
    if (entry.kind === "human" || entry.kind === "send") isLatest = false;
    if (entry.kind !== "reply") continue;
    if (entry.cause !== "turn") isLatest = false;
    else if (!withdrawn.has(entry.replyId))
      return { replyId: entry.replyId, fence: entry.fence, metadata: entry.metadata ?? {}, isLatest };
  }
  return null;
}

/**
 * Names of memory threads: `from` is the one the last committed answer was made on (null: begin a new one), `to` is this
 * attempt's own. Copy `from` to `to`, run on `to`; nothing has to be removed.
 *
 * @example
 * const { from, to } = await branch(turn);
 * await memory.copyThread(from, to);
 * return agent.stream(turn.text, { threadId: to, abortSignal: turn.signal });
 */
export async function branch(turn: Turn): Promise<{ from: string | null; to: string }> {
  const last = await lastAnswer(turn);
  const name = (fence: number) => `${turn.conversation}#${fence}`;
  return { from: last === null ? null : name(last.fence), to: name(turn.fence) };
}
