/**
 * One engine after another on one store, for settings that change while the server runs: the newest takes everything
 * new; those before it finish what they have begun, under the settings they began it with.
 *
 * @module
 */
import type { Lull, LullEvent, Store } from "lull";

export interface Engines extends Pick<Lull, "stats" | "list" | "paused" | "working"> {
  readonly current: Lull;
  /** The store for the next engine: it hears of what the others write. */
  storeFor(): Store;
  /** The engine made with that store takes over. */
  replace(next: Lull): void;
  /** Events of all of them. */
  on(listener: (event: LullEvent) => void): () => void;
  stop(options: { timeoutMs: number; settleMs?: number }): Promise<void>;
}

/** Who is told that a conversation has changed, and what ends the store's own telling. */
interface Waking {
  listeners: Set<(id: string) => void>;
  offs: (() => void)[];
}

/** How often an engine that finishes is looked at. */
const lookMs = 250;

export function engines(store: Store, first: (store: Store) => Lull): Engines {
  const listeners = new Set<(event: LullEvent) => void>();
  /** Who is told of news, by engine. */
  const hints = new Map<Lull, Waking>();
  let waking: Waking = { listeners: new Set(), offs: [] };
  const finishing = new Map<Lull, NodeJS.Timeout>();

  function storeFor(): Store {
    waking = { listeners: new Set(), offs: [] };
    const mine = waking;
    return Object.create(store, {
      wake: {
        value: (listener: (id: string) => void) => {
          mine.listeners.add(listener);
          const off = store.wake?.(listener) ?? (() => {});
          mine.offs.push(off);
          return () => {
            mine.listeners.delete(listener);
            off();
          };
        },
      },
    }) as Store;
  }

  function adopt(lull: Lull): void {
    hints.set(lull, waking);
    lull.on((event) => {
      for (const listener of listeners) listener(event);
      // One process, and yet two engines: what one wrote, the other has not seen.
      if (event.seq !== undefined)
        for (const [other, { listeners: wakers }] of hints)
          if (other !== lull) for (const wake of wakers) wake(event.conversation);
    });
  }

  function retire(lull: Lull): void {
    // No new turns; what runs goes on.
    lull.pause();
    const look = setInterval(() => {
      if (lull.working > 0) return;
      clearInterval(look);
      finishing.delete(lull);
      for (const off of hints.get(lull)?.offs ?? []) off();
      hints.delete(lull);
      void lull.stop({ timeoutMs: 0 });
    }, lookMs);
    finishing.set(lull, look);
  }

  let current = first(storeFor());
  adopt(current);
  return {
    get current() {
      return current;
    },
    storeFor,
    stats: () => current.stats(),
    list: (page, filter) => current.list(page, filter),
    get paused() {
      return current.paused;
    },
    get working() {
      return [...finishing.keys(), current].reduce((sum, { working }) => sum + working, 0);
    },
    replace(next) {
      adopt(next);
      retire(current);
      current = next;
    },
    on(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async stop(options) {
      for (const look of finishing.values()) clearInterval(look);
      await Promise.all([...finishing.keys(), current].map((lull) => lull.stop(options)));
    },
  };
}
