/**
 * The time limits of a store's calls: one alarm for all of them, because a timer and a signal for each call cost more
 * than the rest of it.
 *
 * @module
 */
import { enough } from "../clock.ts";
import type { Clock } from "../ports.ts";

export interface Limit {
  readonly atMs: number;
  readonly late: () => void;
}

export interface Watch {
  /** The monotonic clock. */
  nowMs(): number;
  /** Calls `late` once `ms` have passed, unless it is removed before. */
  add(ms: number, late: () => void): Limit;
  remove(limit: Limit): void;
  /** Ends the alarm; what is still watched is never late. */
  stop(): void;
}

/** A timer may fire a little early. */
const roundingMs = 1;

export function watch(clock: Clock): Watch {
  const limits = new Set<Limit>();
  let alarm: { atMs: number; over: AbortController } | null = null;

  /** Leaves the alarm standing when what it was for is removed: the next call would only set it again. */
  function arm(atMs: number): void {
    if (alarm !== null && alarm.atMs <= atMs) return;
    alarm?.over.abort(enough);
    const set = { atMs, over: new AbortController() };
    alarm = set;
    void clock.sleep(atMs - clock.monotonic(), set.over.signal).then(() => {
      if (alarm !== set) return;
      alarm = null;
      ring();
    });
  }

  function ring(): void {
    const untilMs = clock.monotonic() + roundingMs;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const limit of [...limits]) {
      if (limit.atMs <= untilMs) {
        limits.delete(limit);
        limit.late();
      } else nextMs = Math.min(nextMs, limit.atMs);
    }
    if (nextMs < Number.POSITIVE_INFINITY) arm(nextMs);
  }

  return {
    nowMs: () => clock.monotonic(),
    add(ms, late) {
      const limit = { atMs: clock.monotonic() + ms, late };
      limits.add(limit);
      arm(limit.atMs);
      return limit;
    },
    remove(limit) {
      limits.delete(limit);
    },
    stop() {
      limits.clear();
      alarm?.over.abort(enough);
      alarm = null;
    },
  };
}
