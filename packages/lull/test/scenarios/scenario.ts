// What a scenario is, and the few questions most of them ask.
import assert from "node:assert/strict";
import type { Run, Setting, World } from "./world.ts";

export interface Told {
  /** What lull does, as a sentence. */
  title: string;
  /** Where lull differs from what the row expects, and why. */
  note?: string;
  /** Why the stores may go different ways to the same end; else every step must be the same on each. */
  differs?: string;
  /** What `start` made is checked at the end: all at rest, every input ended once. */
  run(start: (setting?: Setting) => World): Promise<void>;
}

export type Scenario =
  | Told
  /** Belongs to a part that is not built yet. */
  | { later: string }
  | { notApplicable: string };

/** By the row's id. */
export type Scenarios = Readonly<Record<string, Scenario>>;

/** No two runs of one conversation at the same time. A run whose process died ends with it. */
export function neverTwoRuns(runs: readonly Run[], diedAtMs: Readonly<Record<string, number>> = {}): void {
  for (const [at, run] of runs.entries()) {
    const endedAtMs = run.endedAtMs ?? diedAtMs[run.process] ?? Number.POSITIVE_INFINITY;
    const next = runs.slice(at + 1).find(({ conversation }) => conversation === run.conversation);
    if (next !== undefined)
      assert.ok(next.startedAtMs >= endedAtMs, `run ${next.nth} began at ${next.startedAtMs}, during run ${run.nth}`);
  }
}

export function between(value: number | undefined, least: number, most: number): void {
  assert.ok(value !== undefined && value >= least && value <= most, `${value} is not within ${least} and ${most}`);
}

/** A process that looks for what others left behind has found it by then: a scan, jittered, and its grace. */
export const scanMs = 1_500;

/** Something outside that cannot be taken back, and counts how often it was done. */
export function service() {
  const calls: { process: string; key: string }[] = [];
  return {
    calls,
    /** Takes `ms`, whatever becomes of the turn. Its result is its number. */
    async call(run: Run, key: string, ms = 0): Promise<number> {
      calls.push({ process: run.process, key });
      const result = calls.length;
      if (ms > 0) await run.thinkDeaf(ms);
      return result;
    },
  };
}
