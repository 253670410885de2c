/**
 * Virtual time: a clock whose sleeps end only when a test says so, in order, and dice from a seed.
 *
 * @module
 */
import { nextTurn } from "../clock.ts";
import type { Clock } from "../ports.ts";

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

export interface VirtualClockOptions {
  /** Default: some day in June 2025. */
  startMs?: number;
  /** Of `random()` and `id()`. Default 1. */
  seed?: number;
  /** Resolves when everything that can happen without time passing has happened. Default: {@link settled}. */
  settle?: () => Promise<void>;
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

interface Sleeper {
  atMs: number;
  order: number;
  awake: boolean;
  wake(): void;
}

/**
 * A clock that stands still until it is told to go on. Whole milliseconds: a sleep ends at the first one that is not
 * too early. Sleeps that end together end in the order in which they began.
 *
 * @example
 * const clock = virtualClock();
 * const lull = new Lull({ store: memory({ now: clock.now }), clock, respond });
 * await lull.start();
 * await lull.receive("c", { id: "m1", text: "hi" });
 * await clock.advance(6_000);
 */
export function virtualClock(options: VirtualClockOptions = {}): VirtualClock {
  const seed = options.seed ?? 1;
  const random = dice(seed);
  const settle = options.settle ?? settled;
  const sleepers: Sleeper[] = [];
  let now = options.startMs ?? 1_750_000_000_000;
  let ids = 0;
  let order = 0;
  let sleeping = 0;

  function next(): Sleeper | undefined {
    while (sleepers[0]?.awake) pop(sleepers);
    return sleepers[0];
  }

  /** True when a sleep ended; false when none ends by then. */
  async function pass(untilMs: number): Promise<boolean> {
    const sleeper = next();
    if (sleeper === undefined || sleeper.atMs > untilMs) return false;
    now = Math.max(now, sleeper.atMs);
    sleeper.wake();
    await settle();
    return true;
  }

  const clock: VirtualClock = {
    now: () => now,
    monotonic: () => now,
    random,
    id: () => `id-${seed}-${++ids}`,
    sleep(ms, signal) {
      return new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const wake = () => {
          if (sleeper.awake) return;
          sleeper.awake = true;
          sleeping -= 1;
          signal?.removeEventListener("abort", wake);
          resolve();
        };
        const sleeper: Sleeper = { atMs: Math.ceil(now + Math.max(0, ms || 0)), order: order++, awake: false, wake };
        sleeping += 1;
        push(sleepers, sleeper);
        signal?.addEventListener("abort", wake);
      });
    },
    async advance(ms) {
      const untilMs = now + ms;
      await settle();
      while (await pass(untilMs));
      now = untilMs;
      await settle();
    },
    async drain(limitMs) {
      const untilMs = now + limitMs;
      await settle();
      while (await pass(untilMs));
    },
    sleeping: () => sleeping,
    skewed: (skewMs) => ({ ...clock, now: () => now + skewMs }),
  };
  return clock;
}

/** A few turns of the event loop: enough for everything in this process, a SQLite store included. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await nextTurn();
}

function before(a: Sleeper, b: Sleeper): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

function push(heap: Sleeper[], sleeper: Sleeper): void {
  let at = heap.push(sleeper) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || before(above, sleeper)) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = sleeper;
}

function pop(heap: Sleeper[]): void {
  const last = heap.pop() as Sleeper;
  if (heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    const left = heap[child];
    if (left === undefined) break;
    const right = heap[child + 1];
    if (right !== undefined && before(right, left)) child += 1;
    const least = heap[child] as Sleeper;
    if (before(last, least)) break;
    heap[at] = least;
    at = child;
  }
  heap[at] = last;
}
