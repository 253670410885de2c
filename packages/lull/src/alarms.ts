/**
 * Local timers: one sleep for all conversations of a process, so that 10⁵ of them cost a heap and nothing else.
 * They exist only for speed; the stored wake-up is what counts, and the scan of the store's due index finds what
 * a dead process leaves behind.
 *
 * @module
 */
import { enough } from "./clock.ts";
import { pop, push } from "./heap.ts";
import type { ConversationId } from "./model.ts";
import type { Clock } from "./ports.ts";

export interface Alarms {
  /** Replaces the conversation's alarm; null removes it. `atMs` on the clock that `now` reads. */
  set(id: ConversationId, atMs: number | null): void;
  has(id: ConversationId): boolean;
  clear(): void;
}

interface Entry {
  id: ConversationId;
  atMs: number;
}

export function alarms(clock: Clock, now: () => number, ring: (id: ConversationId) => void): Alarms {
  /** The truth: what is not in here, or at another time, is a left-over in the heap. */
  const current = new Map<ConversationId, number>();
  const heap: Entry[] = [];
  let sleep: { atMs: number; stop: AbortController } | null = null;

  function arm(): void {
    while (heap[0] !== undefined && current.get(heap[0].id) !== heap[0].atMs) pop(heap);
    const first = heap[0];
    if (sleep !== null && sleep.atMs === first?.atMs) return;
    sleep?.stop.abort(enough);
    sleep = null;
    if (first === undefined) return;
    const mine = { atMs: first.atMs, stop: new AbortController() };
    sleep = mine;
    void clock.sleep(Math.max(0, mine.atMs - now()), mine.stop.signal).then(() => {
      if (sleep !== mine) return;
      sleep = null;
      const time = now();
      const due: ConversationId[] = [];
      while (heap[0] !== undefined && (heap[0].atMs <= time || current.get(heap[0].id) !== heap[0].atMs)) {
        const { id, atMs } = pop(heap);
        if (current.get(id) !== atMs) continue;
        current.delete(id);
        due.push(id);
      }
      arm();
      for (const id of due) ring(id);
    });
  }

  return {
    set(id, atMs) {
      if ((current.get(id) ?? null) === atMs) return;
      if (atMs === null) current.delete(id);
      else {
        current.set(id, atMs);
        push(heap, { id, atMs });
      }
      arm();
    },
    has: (id) => current.has(id),
    clear() {
      current.clear();
      heap.length = 0;
      arm();
    },
  };
}
