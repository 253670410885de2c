/**
 * What attempts to answer came to, from this process's events: how they ended, how long they ran, what they cost.
 *
 * @module
 */
import type { LullEvent } from "lull";

/** `answered` and `silent` were of use; the rest was discarded, or failed. */
export type AttemptOutcome =
  | "answered"
  | "silent"
  | "superseded"
  | "failed"
  | "expired"
  | "handed-back"
  | "handed-off"
  | "answered-by-human"
  | "reset";

export interface AttemptSink {
  /** `seconds` is null for attempts that began in another process. */
  ended(outcome: AttemptOutcome, seconds: number | null): void;
  tokens(outcome: AttemptOutcome, tokens: number): void;
}

interface Attempt {
  fence: number;
  startedAtMs: number | null;
  tokens: number;
  outcome: AttemptOutcome | null;
}

/** Conversations remembered; these only feed counters. */
const mostRemembered = 10_000;

/** Takes in events; tells the sink. Tokens told before an attempt ends are held until it does. */
export function attemptWatcher(sink: AttemptSink): (event: LullEvent) => void {
  const attempts = new Map<string, Attempt>();

  const remember = (conversation: string, attempt: Attempt) => {
    attempts.delete(conversation);
    attempts.set(conversation, attempt);
    if (attempts.size > mostRemembered) attempts.delete(attempts.keys().next().value as string);
  };

  const end = (conversation: string, fence: number, outcome: AttemptOutcome, atMs: number) => {
    const known = attempts.get(conversation);
    const attempt = known?.fence === fence ? known : { fence, startedAtMs: null, tokens: 0, outcome: null };
    if (attempt.outcome !== null) return;
    attempt.outcome = outcome;
    sink.ended(outcome, attempt.startedAtMs === null ? null : Math.max(0, atMs - attempt.startedAtMs) / 1_000);
    if (attempt.tokens > 0) sink.tokens(outcome, attempt.tokens);
    remember(conversation, attempt);
  };

  return ({ conversation, atMs, entry }) => {
    switch (entry?.kind) {
      case "attempt":
        remember(conversation, { fence: entry.fence, startedAtMs: atMs, tokens: 0, outcome: null });
        return;
      case "ended":
        return end(conversation, entry.fence, entry.outcome, atMs);
      case "reply":
        if (entry.cause === "turn") end(conversation, entry.fence, "answered", atMs);
        return;
      case "settled": {
        const running = attempts.get(conversation);
        if (entry.outcome === "silent" && running !== undefined) end(conversation, running.fence, "silent", atMs);
        return;
      }
      case "usage": {
        const attempt = attempts.get(conversation);
        if (attempt?.fence !== entry.fence) return;
        if (attempt.outcome === null) attempt.tokens += entry.tokens;
        else sink.tokens(attempt.outcome, entry.tokens);
        return;
      }
      default:
    }
  };
}
