/**
 * Calls on their way to the server: as many at once as it has connections for, the others in line, each with a time
 * limit. So a connection on which nothing comes back any more costs a caller its time limit and never hangs it.
 *
 * @module
 */
import type { LullError } from "../../errors.ts";
import type { Watch } from "../watch.ts";
import type { Trip } from "./driver.ts";
import { tooLate, toStoreError } from "./faults.ts";

export interface Lanes {
  /** Runs `work` within `limitMs`. Its trips to the server are rides. */
  call<T>(work: (trip: OwnTrip) => Promise<T>, limitMs?: number): Promise<T>;
  /** Takes a lane for one trip. Rejects with the store's own errors. */
  ride<T>(trip: OwnTrip, go: () => Promise<T>): Promise<T>;
  /** Resolves when every call is over. */
  idle(): Promise<void>;
}

/** A trip as who made it sees it. */
export interface OwnTrip extends Trip {
  over: LullError | null;
  /** Gives back the lane it is on. */
  leave: (() => void) | null;
}

export function newTrip(): OwnTrip {
  return { over: null, onOver: null, leave: null };
}

/** Nobody waits any more. Its lane is free at once: it may never end. */
export function giveUp(trip: OwnTrip, reason: LullError): void {
  if (trip.over !== null) return;
  trip.over = reason;
  trip.leave?.();
  trip.onOver?.();
}

export function lanes(concurrency: number, usualLimitMs: number, watch: Watch): Lanes {
  const line: { enter: () => void; trip: Trip }[] = [];
  let idlers: (() => void)[] = [];
  let calls = 0;
  let free = concurrency;

  function leave(): void {
    free += 1;
    while (line.length > 0) {
      const next = line.shift();
      if (next === undefined || next.trip.over !== null) continue;
      free -= 1;
      next.enter();
      return;
    }
  }

  function end(): void {
    calls -= 1;
    if (calls > 0) return;
    for (const resolve of idlers) resolve();
    idlers = [];
  }

  return {
    call(work, limitMs = usualLimitMs) {
      calls += 1;
      const trip = newTrip();
      return new Promise((resolve, reject) => {
        const limit = watch.add(limitMs, () => {
          const error = tooLate(limitMs);
          reject(error);
          giveUp(trip, error);
          end();
        });
        const finish = () => {
          // Once it is too late nobody hears of its end.
          if (trip.over !== null) return;
          watch.remove(limit);
          end();
        };
        work(trip).then(
          (value) => {
            finish();
            resolve(value);
          },
          (error: unknown) => {
            finish();
            reject(error);
          },
        );
      });
    },

    async ride(trip, go) {
      if (trip.over !== null) throw trip.over;
      if (free > 0) free -= 1;
      else await new Promise<void>((enter) => line.push({ enter, trip }));
      trip.leave = () => {
        trip.leave = null;
        leave();
      };
      try {
        return await go();
      } catch (error) {
        throw toStoreError(error);
      } finally {
        trip.leave?.();
      }
    },

    async idle() {
      if (calls > 0) await new Promise<void>((resolve) => idlers.push(resolve));
    },
  };
}
