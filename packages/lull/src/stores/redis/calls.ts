/**
 * Calls on their way to the server, each with a time limit: a connection on which nothing comes back any more costs a
 * caller its time limit and never hangs it.
 *
 * @module
 */
import { enough } from "../../clock.ts";
import type { Clock } from "../../ports.ts";
import { tooLate, toStoreError } from "./faults.ts";

export interface Calls {
  /**
   * Waits for `work`, at most `limitMs`; then its signal aborts, and nobody waits any more. Rejects with errors of lull
   * only.
   */
  run<T>(work: (signal: AbortSignal) => Promise<T>, limitMs?: number): Promise<T>;
  /** Resolves when every call is over. */
  idle(): Promise<void>;
}

export function calls(usualLimitMs: number, clock: Clock): Calls {
  const under = new Set<Promise<unknown>>();

  async function within<T>(work: (signal: AbortSignal) => Promise<T>, limitMs: number): Promise<T> {
    const done = new AbortController();
    const over = new AbortController();
    try {
      const working = work(over.signal);
      // Once it is too late nobody hears of its end.
      working.catch(() => {});
      const late = clock.sleep(limitMs, done.signal).then(() => {
        if (done.signal.aborted) return new Promise<never>(() => {});
        const error = tooLate(limitMs);
        over.abort(error);
        throw error;
      });
      return await Promise.race([working, late]);
    } catch (error) {
      throw toStoreError(error);
    } finally {
      done.abort(enough);
    }
  }

  return {
    run(work, limitMs = usualLimitMs) {
      const call = within(work, limitMs);
      under.add(call);
      const forget = () => under.delete(call);
      call.then(forget, forget);
      return call;
    },
    async idle() {
      while (under.size > 0) await Promise.allSettled([...under]);
    },
  };
}
