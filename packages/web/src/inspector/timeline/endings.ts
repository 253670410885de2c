/**
 * How attempts, ranges, parts and replies end, in words.
 *
 * @module
 */
import type { EntryOf } from "../../shared/shapes.ts";
import type { Tone } from "./item.ts";

type Words = [words: string, tone: Tone];

export const endings: Record<EntryOf<"ended">["outcome"], Words> = {
  superseded: ["discarded: newer input came", "warn"],
  failed: ["failed", "bad"],
  expired: ["lost: its process stopped", "bad"],
  "handed-back": ["handed back at shutdown", "warn"],
  "handed-off": ["ended: a human took over", "human"],
  "answered-by-human": ["ended: a human answered", "human"],
  reset: ["ended by a reset", "human"],
};

export const settlings: Record<EntryOf<"settled">["outcome"], Words> = {
  removed: ["taken back by its author", "plain"],
  silent: ["deliberate silence", "plain"],
  human: ["answered by a human", "human"],
  dropped: ["dropped by a command", "warn"],
  context: ["kept as context", "plain"],
  parked: ["parked", "bad"],
};

export const receipts: Record<EntryOf<"receipt">["state"], Words> = {
  queued: ["refused for now", "warn"],
  attempting: ["on its way", "live"],
  sent: ["sent", "good"],
  failed: ["failed for good", "bad"],
  unknown: ["unknown", "bad"],
  cancelled: ["cancelled", "warn"],
};

export const closings: Record<EntryOf<"closed">["outcome"], Words> = {
  delivered: ["delivered", "good"],
  cut: ["cut short", "bad"],
  failed: ["failed", "bad"],
  withdrawn: ["withdrawn", "warn"],
  cancelled: ["cancelled", "warn"],
};
