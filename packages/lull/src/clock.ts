/**
 * The real time and the real dice. The only file of the library that may name them (a test enforces it):
 * everything else is handed a {@link Clock}, so that tests decide what time it is.
 *
 * @module
 */
import type { Clock } from "./ports.ts";

/** Longer timeouts overflow in JavaScript engines and fire at once. */
const longestTimeoutMs = 2 ** 31 - 1;

export interface SystemClockOptions {
  /** True: a sleep does not keep the process from exiting. Default false. */
  unref?: boolean;
}

/** The machine's clock. */
export function systemClock(options: SystemClockOptions = {}): Clock {
  const unref = options.unref ?? false;
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    random: () => Math.random(),
    id: () => crypto.randomUUID(),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        let leftMs = Math.max(ms || 0, 0);
        let timer: ReturnType<typeof setTimeout> | undefined;
        const wake = () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", wake);
          resolve();
        };
        const wait = () => {
          const pieceMs = Math.min(leftMs, longestTimeoutMs);
          leftMs -= pieceMs;
          timer = setTimeout(leftMs > 0 ? wait : wake, pieceMs);
          if (unref && typeof timer === "object") timer.unref();
        };
        signal?.addEventListener("abort", wake);
        wait();
      }),
  };
}

/**
 * Resolves once the callbacks that are ready in this turn of the event loop have run: what they ask for can
 * then be done together.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === "function") setImmediate(resolve);
    else setTimeout(resolve, 0);
  });
}

/**
 * The reason with which a sleep is ended that nobody needs any more. Without one, `abort()` makes an exception with a
 * stack, which costs as much as a transition of the protocol.
 */
export const enough = "enough";
