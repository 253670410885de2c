// Stores that misbehave, around one that does not.
import type { Clock, Store } from "../../src/index.ts";
import { LullError } from "../../src/index.ts";

type Call = "load" | "exchange" | "due" | "log";
const calls: Call[] = ["load", "exchange", "due", "log"];

/** Another shape of a store: `change` says what each of its calls does. */
export function around(
  store: Store,
  change: (call: Call, go: () => Promise<never>, args: readonly unknown[]) => Promise<never>,
): Store {
  const wrapped: Record<string, unknown> = { ...store };
  for (const call of calls) {
    const original = store[call] as (...args: unknown[]) => Promise<never>;
    wrapped[call] = (...args: unknown[]) => change(call, () => original.apply(store, args), args);
  }
  return wrapped as unknown as Store;
}

/** Gives no hints: other processes' writes are seen by renewal and by scanning only. */
export function withoutHints(store: Store): Store {
  const { wake: _, ...rest } = store;
  return rest as Store;
}

export function counting(store: Store) {
  const counts: Record<Call, number> = { load: 0, exchange: 0, due: 0, log: 0 };
  const counted = around(store, (call, go) => {
    counts[call] += 1;
    return go();
  });
  return { store: counted, counts };
}

/** A connection that can be cut: nothing comes back any more, neither answers nor time. */
export function mortal(store: Store, clock: Clock) {
  let alive = true;
  const never = () => new Promise<never>(() => {});
  const ghost = around(withoutHints(store), (_call, go) => {
    if (!alive) return never();
    return go().then((answer) => (alive ? answer : never()));
  });
  const mortalClock: Clock = {
    ...clock,
    sleep: (ms, signal) => clock.sleep(ms, signal).then(() => (alive ? undefined : never())),
  };
  return {
    store: ghost,
    clock: mortalClock,
    kill() {
      alive = false;
    },
  };
}

export const away = () => new LullError("store-unavailable", "The store is away.");
