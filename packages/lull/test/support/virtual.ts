// Virtual time: a clock whose sleeps end only when the test says so, in order, and dice from a seed.
import type { Clock } from "../../src/ports.ts";

export interface VirtualClock extends Clock {
  /** Lets `ms` pass: every sleep that ends meanwhile ends at its exact time, with everything it causes. */
  advance(ms: number): Promise<void>;
  /** Lets time pass until nothing sleeps any more, or `limitMs` have passed. */
  drain(limitMs: number): Promise<void>;
  /** Sleeps that have not ended: what would keep a process from exiting. */
  sleeping(): number;
  /** Another process's view of the same time, off by `skewMs`. */
  skewed(skewMs: number): Clock;
}

interface Sleeper {
  atMs: number;
  order: number;
  wake(): void;
}

/** mulberry32: small, seeded, good enough for jitter. */
export function dice(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function virtualClock(
  options: { startMs?: number; seed?: number; settle?: () => Promise<void> } = {},
): VirtualClock {
  const random = dice(options.seed ?? 1);
  const settle = options.settle ?? settled;
  let now = options.startMs ?? 1_750_000_000_000;
  let ids = 0;
  let order = 0;
  const sleepers = new Set<Sleeper>();

  function next(): Sleeper | undefined {
    let first: Sleeper | undefined;
    for (const sleeper of sleepers)
      if (
        first === undefined ||
        sleeper.atMs < first.atMs ||
        (sleeper.atMs === first.atMs && sleeper.order < first.order)
      )
        first = sleeper;
    return first;
  }

  const clock: VirtualClock = {
    now: () => now,
    monotonic: () => now,
    random,
    id: () => `id-${options.seed ?? 1}-${++ids}`,
    sleep(ms, signal) {
      return new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const wake = () => {
          sleepers.delete(sleeper);
          signal?.removeEventListener("abort", wake);
          resolve();
        };
        const sleeper: Sleeper = { atMs: now + Math.max(0, ms), order: order++, wake };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", wake);
      });
    },
    async advance(ms) {
      const untilMs = now + ms;
      await settle();
      for (;;) {
        const sleeper = next();
        if (sleeper === undefined || sleeper.atMs > untilMs) break;
        now = Math.max(now, sleeper.atMs);
        sleeper.wake();
        await settle();
      }
      now = untilMs;
      await settle();
    },
    async drain(limitMs) {
      const untilMs = now + limitMs;
      await settle();
      for (;;) {
        const sleeper = next();
        if (sleeper === undefined || sleeper.atMs > untilMs) return;
        now = Math.max(now, sleeper.atMs);
        sleeper.wake();
        await settle();
      }
    },
    sleeping: () => sleepers.size,
    skewed: (skewMs) => ({ ...clock, now: () => now + skewMs }),
  };
  return clock;
}

/** Everything that can run without time passing has run. SQLite's store takes a few turns of the event loop. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
