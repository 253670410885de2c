/**
 * Side effects: the results the log has, and what the record says is under way.
 *
 * @module
 */
import type { Conversation, EntryOf } from "../../shared/shapes.ts";
import { clockTime } from "../words.ts";
import type { Board } from "./board.ts";

/** Longest result that is shown as a fact. */
const mostResult = 200;

export function effectRecorded(board: Board, { key, fence, late, value, seq }: EntryOf<"effect">, at: number): void {
  const result = JSON.stringify(value) ?? "";
  board.mark(
    "effect",
    "effect",
    { at, seq },
    {
      tone: late ? "warn" : "good",
      label: key,
      title: `Effect ${key} was recorded${late ? ", after its turn had ended" : ""}`,
      facts: [
        { name: "Effect", value: key },
        { name: "Fence", value: String(fence) },
        { name: "Result", value: result.length > mostResult ? `${result.slice(0, mostResult - 1)}…` : result },
      ],
    },
  );
}

export function effectInDoubt(board: Board, { key, seq }: EntryOf<"effect-unknown">, at: number): void {
  board.mark(
    "effect",
    "effect-unknown",
    { at, seq },
    {
      tone: "bad",
      label: key,
      title: `Effect ${key} was begun and nobody saw its end`,
      facts: [{ name: "Effect", value: key }],
    },
  );
}

/** What was begun, and has not ended, by the record. `startOf`: when the attempt with a fence began. */
export function effectsUnderWay(
  board: Board,
  conversation: Conversation | null,
  now: number,
  startOf: (fence: number) => number | undefined,
): void {
  for (const [key, effect] of Object.entries(conversation?.record?.effects ?? {})) {
    if (effect.state !== "begun") continue;
    const until = Date.parse(String((effect as { untilAt?: string }).untilAt));
    board.bar(
      "effect",
      `begun-${key}`,
      { at: startOf(effect.fence) ?? now, seq: null },
      {
        end: now,
        tone: until < now ? "bad" : "live",
        label: key,
        title: `Effect ${key} was begun, and has not ended`,
        facts: [
          { name: "Effect", value: key },
          { name: "Counts as running until", value: clockTime(until) },
        ],
      },
    );
  }
}
