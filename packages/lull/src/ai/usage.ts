/**
 * What was spent, told apart: for answers that people got, and for attempts that were discarded. From the log alone, so it
 * holds across crashes and processes, and for answers that were withdrawn later.
 *
 * @module
 */
import type { JsonObject, LogEntry } from "../model.ts";
import type { CallUsage } from "./meter.ts";

export interface Tokens {
  inputTokens: number;
  outputTokens: number;
  calls: number;
  /** Of these tokens so many are estimates: their calls were aborted or cut. */
  estimatedTokens: number;
}

/** What one attempt cost. */
export interface AttemptUsage extends Tokens {
  conversation: string;
  fence: number;
  attempt: number;
  /** `discarded`: newer input, an error, a lost lease: nobody read the answer. */
  outcome: "committed" | "discarded";
  /** Why, as `turn.ended` says. */
  why: string;
}

export interface Spent {
  committed: Tokens;
  discarded: Tokens;
  /** Attempts that still run, or whose process died before it could say more. */
  open: Tokens;
}

/** What a `usage` entry holds, as {@link detailsOf} writes it. */
export function detailsOf(usage: CallUsage): JsonObject {
  return { ...usage };
}

export function noTokens(): Tokens {
  return { inputTokens: 0, outputTokens: 0, calls: 0, estimatedTokens: 0 };
}

/** One more call. Changes `tokens`. */
export function add(tokens: Tokens, { inputTokens, outputTokens, estimated }: CallUsage): void {
  tokens.inputTokens += inputTokens;
  tokens.outputTokens += outputTokens;
  tokens.calls += 1;
  if (estimated) tokens.estimatedTokens += inputTokens + outputTokens;
}

/** Sums a conversation's `usage` entries by what became of their attempts. */
export function usageOf(log: readonly LogEntry[]): Spent {
  const spent: Spent = { committed: noTokens(), discarded: noTokens(), open: noTokens() };
  const fates = new Map<number, keyof Spent>();
  const replies = new Map<string, number>();
  let answering: number | null = null;
  for (const entry of log) {
    if (entry.kind === "attempt") answering = entry.fence;
    else if (entry.kind === "ended") fates.set(entry.fence, "discarded");
    else if (entry.kind === "reply" && entry.cause === "turn") {
      fates.set(entry.fence, "committed");
      replies.set(entry.replyId, entry.fence);
    } else if (entry.kind === "settled" && entry.outcome === "silent" && answering !== null)
      fates.set(answering, "committed");
    else if (entry.kind === "closed" && entry.outcome === "withdrawn") {
      const fence = replies.get(entry.replyId);
      if (fence !== undefined) fates.set(fence, "discarded");
    }
  }
  for (const entry of log) {
    if (entry.kind !== "usage") continue;
    const {
      inputTokens = 0,
      outputTokens = entry.tokens,
      estimated = false,
    } = (entry.details ?? {}) as Partial<CallUsage>;
    add(spent[fates.get(entry.fence) ?? "open"], { model: "", inputTokens, outputTokens, estimated, outcome: "done" });
  }
  return spent;
}
