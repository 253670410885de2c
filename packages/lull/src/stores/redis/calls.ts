/**
 * Calls on their way to the server, each with a time limit: a connection on which nothing comes back any more costs a
 * caller its time limit and never hangs it.
 *
 * @module
 */
import { newStop, type Stop } from "../../stop.ts";
import type { Watch } from "../watch.ts";
import { tooLate, toStoreError } from "./faults.ts";

export interface Calls {
  /**
   * Waits for `work`, at most `limitMs`; then `over` is aborted, and nobody waits any more. Rejects with errors of lull
   * only.
   */
  run<T>(work: (over: Stop) => Promise<T>, limitMs?: number): Promise<T>;
  /** Resolves when every call is over. */
  idle(): Promise<void>;
}

export function calls(usualLimitMs: number, watch: Watch): Calls {
  let under = 0;
  const waiting: (() => void)[] = [];

  return {
    run<T>(work: (over: Stop) => Promise<T>, limitMs = usualLimitMs) {
      under += 1;
      return new Promise<T>((resolve, reject) => {
        const over = newStop();
        let ended = false;
        /** Once it is too late nobody hears of its end. */
        const end = (tell: () => void) => {
          if (ended) return;
          ended = true;
          watch.remove(limit);
          under -= 1;
          tell();
          if (under === 0) for (const done of waiting.splice(0)) done();
        };
        const limit = watch.add(limitMs, () => {
          const error = tooLate(limitMs);
          over.abort(error);
          end(() => reject(error));
        });
        work(over).then(
          (value) => end(() => resolve(value)),
          (error: unknown) => end(() => reject(toStoreError(error))),
        );
      });
    },
    idle() {
      return under === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve));
    },
  };
}
