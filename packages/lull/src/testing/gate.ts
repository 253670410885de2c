/**
 * What keeps a process from going on: a freeze (SIGSTOP, a debugger, a starved machine) or death (kill -9).
 *
 * @module
 */
import type { Clock, Store } from "../ports.ts";

export interface Gate {
  readonly state: "running" | "frozen" | "dead";
  /** Resolves when the process may go on: now, after a thaw, or never. */
  pass(): Promise<void>;
  die(): void;
  freeze(): void;
  thaw(): Promise<void>;
}

/** `settle`: resolves when everything that was let go on has gone as far as it gets. */
export function gate(settle: () => Promise<void>): Gate {
  let state: Gate["state"] = "running";
  let thawing: Promise<void> | null = null;
  const held: (() => void)[] = [];

  /** What waited goes on in its order, one after the other, as an event loop would do it. */
  async function release(): Promise<void> {
    for (let go = held.shift(); go !== undefined; go = held.shift()) {
      go();
      await settle();
    }
    if (state === "frozen") state = "running";
  }

  return {
    get state() {
      return state;
    },
    pass: () =>
      state === "running"
        ? Promise.resolve()
        : new Promise((resolve) => {
            if (state === "frozen") held.push(resolve);
          }),
    die() {
      state = "dead";
      held.length = 0;
    },
    freeze() {
      if (state === "running") state = "frozen";
    },
    thaw() {
      thawing ??= release().finally(() => {
        thawing = null;
      });
      return thawing;
    },
  };
}

/** A process's own clock: stopped by its gate, off by `skewMs`, too fast by `drift` (too slow when negative). */
export function clockBehind(
  gate: Gate,
  clock: Clock,
  own: Pick<Clock, "random" | "id">,
  { skewMs = 0, drift = 0 }: { skewMs?: number; drift?: number } = {},
): Clock & { suspended(ms: number): void } {
  const rate = 1 + drift;
  const bornMs = clock.now();
  let suspendedMs = 0;
  return {
    ...own,
    now: () => clock.now() + skewMs,
    monotonic: () => (rate === 1 ? clock.now() : bornMs + (clock.now() - bornMs) * rate) - suspendedMs,
    sleep: (ms, signal) => clock.sleep(rate === 1 ? ms : ms / rate, signal).then(() => gate.pass()),
    /** The monotonic clock stood still for so long. */
    suspended(ms) {
      suspendedMs += ms;
    },
  };
}

/** A process's own connection: what it asks for is done, and it hears of it when its gate lets it. */
export function storeBehind(gate: Gate, store: Store): Store {
  const heard = <T>(answer: Promise<T>) =>
    answer.then(
      (value) => gate.pass().then(() => value),
      (error) =>
        gate.pass().then(() => {
          throw error;
        }),
    );
  return {
    name: store.name,
    durability: store.durability,
    load: (id, options) => heard(store.load(id, options)),
    exchange: (write) => heard(store.exchange(write)),
    due: (nowMs, limit) => heard(store.due(nowMs, limit)),
    log: (id, page) => heard(store.log(id, page)),
    list: (page, filter) => heard(store.list(page, filter)),
    stats: () => heard(store.stats()),
    repair: (page, wakeAt) => heard(store.repair(page, wakeAt)),
    erase: (id) => heard(store.erase(id)),
    prune: (options) => heard(store.prune(options)),
    close: () => Promise.resolve(),
  };
}
