/**
 * What this process did, minute by minute, for the last day: counts and spreads, in a few megabytes at most.
 *
 * @module
 */
import type { LullEvent } from "lull";
import { attemptWatcher } from "../attempts.ts";
import { Spread } from "./spread.ts";
import { type Waited, waitWatcher } from "./waits.ts";

const counted = [
  "answers",
  "silent",
  "superseded",
  "failed",
  "expired",
  "crossed",
  "duplicates",
  "parked",
  "tokens",
  "wasteTokens",
] as const;
type Counted = (typeof counted)[number];
const measured = ["window", "queue", "model", "delivery", "total"] as const satisfies readonly (keyof Waited)[];
type Pair = [p50: number, p95: number] | null;

/**
 * One stretch of time. `tokens` are those of all attempts, `wasteTokens` of those that came to nothing. `crossed`: answers
 * that the user's next message had crossed (docs/windows.md). `wait`: milliseconds, for answers whose messages this process
 * received. `dueLagMs`: the most by which the oldest timer of the store was overdue; null: nobody looked.
 */
export interface Bucket extends Record<Counted, number> {
  atMs: number;
  wait: Record<keyof Waited, Pair>;
  dueLagMs: number | null;
}

interface Minute {
  counts: Record<Counted, number>;
  wait: Record<keyof Waited, Spread>;
  dueLagMs: number | null;
}

const minuteMs = 60_000;
export const mostMinutes = 1_440;
/** Conversations whose last crossed reply is remembered, so that a repeated attempt does not count it again. */
const mostCrossed = 10_000;

export class Buckets {
  readonly #minutes = new Map<number, Minute>();
  readonly #crossed = new Map<string, string>();
  /** Of the event that is being taken in. */
  #nowMs = 0;
  readonly #watch = [
    attemptWatcher({
      ended: (outcome) => {
        if (outcome === "answered") this.#count("answers");
        else if (outcome === "silent" || outcome === "superseded" || outcome === "failed" || outcome === "expired")
          this.#count(outcome);
      },
      tokens: (outcome, tokens) => {
        this.#count("tokens", tokens);
        if (outcome !== "answered" && outcome !== "silent") this.#count("wasteTokens", tokens);
      },
    }),
    waitWatcher((waited) => {
      const { wait } = this.#minute(this.#nowMs);
      for (const name of measured) wait[name].add(waited[name]);
    }),
  ];

  take(event: LullEvent): void {
    this.#nowMs = event.atMs;
    for (const watch of this.#watch) watch(event);
    const { type, conversation, entry } = event;
    if (type === "message.duplicate") this.#count("duplicates");
    else if (type === "inputs.parked") this.#count("parked");
    else if (entry?.kind === "attempt" && entry.crossed !== undefined) {
      if (this.#crossed.get(conversation) === entry.crossed) return;
      this.#crossed.delete(conversation);
      this.#crossed.set(conversation, entry.crossed);
      if (this.#crossed.size > mostCrossed) this.#crossed.delete(this.#crossed.keys().next().value as string);
      this.#count("crossed");
    }
  }

  /** The oldest timer is overdue by so much. */
  lag(ms: number, nowMs: number): void {
    const minute = this.#minute(nowMs);
    minute.dueLagMs = Math.max(minute.dueLagMs ?? 0, Math.round(ms));
  }

  /** From `fromMs` to `nowMs`, oldest first, each `minutes` long; also those in which nothing happened. */
  between(fromMs: number, nowMs: number, minutes: number): Bucket[] {
    const long = minutes * minuteMs;
    const buckets: Bucket[] = [];
    for (let atMs = Math.floor(fromMs / long) * long; atMs <= nowMs; atMs += long) {
      const sum = blank();
      for (let minute = atMs; minute < atMs + long; minute += minuteMs) {
        const one = this.#minutes.get(minute);
        if (one === undefined) continue;
        for (const name of counted) sum.counts[name] += one.counts[name];
        for (const name of measured) sum.wait[name].addAll(one.wait[name]);
        if (one.dueLagMs !== null) sum.dueLagMs = Math.max(sum.dueLagMs ?? 0, one.dueLagMs);
      }
      const wait = Object.fromEntries(measured.map((name) => [name, sum.wait[name].percentiles()]));
      buckets.push({ atMs, ...sum.counts, wait: wait as Bucket["wait"], dueLagMs: sum.dueLagMs });
    }
    return buckets;
  }

  #count(name: Counted, by = 1): void {
    this.#minute(this.#nowMs).counts[name] += by;
  }

  #minute(nowMs: number): Minute {
    const atMs = Math.floor(nowMs / minuteMs) * minuteMs;
    const known = this.#minutes.get(atMs);
    if (known !== undefined) return known;
    const minute = blank();
    this.#minutes.set(atMs, minute);
    // In the order of their beginnings, but for clocks that are set back.
    if (this.#minutes.size > mostMinutes) this.#minutes.delete(this.#minutes.keys().next().value as number);
    return minute;
  }
}

function blank(): Minute {
  return {
    counts: Object.fromEntries(counted.map((name) => [name, 0])) as Record<Counted, number>,
    wait: Object.fromEntries(measured.map((name) => [name, new Spread()])) as Record<keyof Waited, Spread>,
    dueLagMs: null,
  };
}
