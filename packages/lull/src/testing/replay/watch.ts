/**
 * Tells whether a bot's own code is at work: then virtual time stands still. Waiting for lull or for virtual time is
 * not work.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { settled } from "../clock.ts";

export interface Watch {
  /** Runs the bot's code. */
  work<T>(code: () => T | PromiseLike<T>): Promise<T>;
  /** The bot's code waits for something that is not its own. */
  wait<T>(promise: Promise<T>): Promise<T>;
  /** No time passes until then. */
  hold(promise: Promise<void>): void;
  /** Resolves when nobody works, or has been at it for too long: then it waits for time to pass. */
  settle(): Promise<void>;
}

/** `realMs`: how long the bot's code may work without a word, in real time. */
export function watch(realMs: number): Watch {
  const clock = systemClock();
  /** Codes at work. Waiting inside of one takes it out. */
  let working = 0;
  let sinceMs = clock.monotonic();
  const held = new Set<Promise<void>>();
  const note = (by: number) => {
    working += by;
    sinceMs = clock.monotonic();
  };

  async function during<T>(by: number, promise: PromiseLike<T>): Promise<T> {
    note(by);
    try {
      return await promise;
    } finally {
      note(-by);
    }
  }

  return {
    work: (code) => during(1, (async () => code())()),
    wait: (promise) => during(-1, promise),
    hold(promise) {
      const done = promise.then(() => void held.delete(done));
      held.add(done);
    },
    async settle() {
      await settled();
      while (held.size > 0) await Promise.all(held);
      while (working > 0 && clock.monotonic() - sinceMs < realMs) {
        await clock.sleep(1);
        await settled();
      }
    },
  };
}
