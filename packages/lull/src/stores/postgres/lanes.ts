/**
 * Calls on their way to the server: as many at once as it has connections for, the others in line, each with a time
 * limit. So a connection on which nothing comes back any more costs a caller its time limit and never hangs it, and
 * what waits here knows how long it did.
 *
 * @module
 */
import { enough } from "../../clock.ts";
import type { Clock } from "../../ports.ts";
import { tooLate, toStoreError } from "./faults.ts";

export interface Lanes {
  /**
   * Runs `work` within `limitMs`; `step` inside it takes a lane for one trip to the server. `waitedMs()` is the time
   * since the call.
   */
  call<T>(work: (step: Step) => Promise<T>, limitMs?: number): Promise<T>;
  /** Resolves when every call is over. */
  idle(): Promise<void>;
}

export type Step = <T>(trip: (signal: AbortSignal, waitedMs: () => number) => Promise<T>) => Promise<T>;

export function lanes(concurrency: number, usualLimitMs: number, clock: Clock): Lanes {
  const line: { enter: () => void; signal: AbortSignal }[] = [];
  const calls = new Set<Promise<unknown>>();
  let free = concurrency;

  function leave(): void {
    free += 1;
    while (line.length > 0) {
      const next = line.shift();
      if (next === undefined || next.signal.aborted) continue;
      free -= 1;
      next.enter();
      return;
    }
  }

  async function enter(signal: AbortSignal): Promise<void> {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => line.push({ enter: resolve, signal }));
  }

  async function run<T>(work: (step: Step) => Promise<T>, limitMs: number): Promise<T> {
    const startedAt = clock.monotonic();
    const over = new AbortController();
    const done = new AbortController();
    const late = clock.sleep(limitMs, done.signal).then(() => {
      if (done.signal.aborted) return new Promise<never>(() => {});
      const error = tooLate(limitMs);
      over.abort(error);
      throw error;
    });
    const step: Step = async (trip) => {
      over.signal.throwIfAborted();
      await enter(over.signal);
      let held = true;
      // An abandoned trip gives its lane back at once: it may never end.
      const giveBack = () => {
        if (held) leave();
        held = false;
      };
      over.signal.addEventListener("abort", giveBack);
      try {
        return await trip(over.signal, () => Math.round(clock.monotonic() - startedAt));
      } catch (error) {
        throw toStoreError(error);
      } finally {
        over.signal.removeEventListener("abort", giveBack);
        giveBack();
      }
    };
    try {
      const working = work(step);
      // Once it is too late nobody hears of its end.
      working.catch(() => {});
      return await Promise.race([working, late]);
    } finally {
      done.abort(enough);
    }
  }

  return {
    call(work, limitMs = usualLimitMs) {
      const call = run(work, limitMs);
      calls.add(call);
      const forget = () => calls.delete(call);
      call.then(forget, forget);
      return call;
    },
    async idle() {
      while (calls.size > 0) await Promise.allSettled([...calls]);
    },
  };
}
