/**
 * Sleeps that are nearly always ended early: time limits, heartbeats, waits. They share one sleep of the clock, so that
 * each costs an entry in a heap, and not a timer, an abort controller and its event.
 *
 * @module
 */
import { enough } from "./clock.ts";
import { pop, push } from "./heap.ts";
import type { Clock } from "./ports.ts";

export interface Nap {
  /** Resolves when its time has come, or when it was ended. */
  readonly over: Promise<void>;
  /** True once it is over. */
  readonly ended: boolean;
  end(): void;
}

/** Begins a nap of so many milliseconds. While none is under way nothing keeps the process from exiting. */
export type Naps = (ms: number) => Nap;

interface Entry {
  atMs: number;
  ended: boolean;
  resolve(): void;
}

/** So many that were ended early may lie about in the heap, beside as many as are under way. */
const mostLeftOver = 64;

export function naps(clock: Clock): Naps {
  let heap: Entry[] = [];
  let underWay = 0;
  let sleep: { atMs: number; stop: AbortController } | null = null;

  function arm(): void {
    const first = heap[0];
    // One that ends before anything is due just looks again.
    if (first === undefined || (sleep !== null && sleep.atMs <= first.atMs)) return;
    sleep?.stop.abort(enough);
    const mine = { atMs: first.atMs, stop: new AbortController() };
    sleep = mine;
    void clock.sleep(Math.max(0, mine.atMs - clock.monotonic()), mine.stop.signal).then(() => {
      if (sleep !== mine) return;
      sleep = null;
      const now = clock.monotonic();
      while (heap[0] !== undefined && (heap[0].ended || heap[0].atMs <= now)) finish(pop(heap));
      arm();
    });
  }

  function finish(entry: Entry): void {
    if (entry.ended) return;
    entry.ended = true;
    underWay -= 1;
    entry.resolve();
  }

  function end(entry: Entry): void {
    finish(entry);
    if (underWay === 0) {
      heap.length = 0;
      sleep?.stop.abort(enough);
      sleep = null;
    } else if (heap.length > 2 * underWay + mostLeftOver) {
      const left = heap.filter(({ ended }) => !ended);
      heap = [];
      for (const one of left) push(heap, one);
    }
  }

  return (ms) => {
    const entry: Entry = { atMs: clock.monotonic() + Math.max(0, ms), ended: false, resolve: () => {} };
    const over = new Promise<void>((resolve) => {
      entry.resolve = resolve;
    });
    underWay += 1;
    push(heap, entry);
    arm();
    return {
      over,
      get ended() {
        return entry.ended;
      },
      end: () => end(entry),
    };
  };
}
