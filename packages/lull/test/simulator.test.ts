// The gate: seeds of the simulator on two stores, the same trace on both and every time.
import { describe, expect, test } from "vitest";
import type { Store } from "../src/index.ts";
import { sqlite } from "../src/stores/sqlite/index.ts";
import {
  type MakeStore,
  type RestartStore,
  report,
  type Simulated,
  shrinkFailure,
  simulate,
} from "../src/testing/index.ts";
import { openDatabase, type TestDatabase } from "./stores/database.ts";

let database: TestDatabase;
const onSqlite: MakeStore = ({ now, clock }) => {
  database = openDatabase(":memory:");
  return sqlite(database, { now, clock });
};
/** The data stay; the store, its statements and its check of the tables are new. */
const restart: RestartStore = async (store, { now, clock }) => {
  await store.close();
  return sqlite(database, { now, clock });
};

const seeds = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** Each seed is simulated once, whichever test asks first. */
const simulated = new Map<number, Promise<Simulated>>();
function onMemory(seed: number): Promise<Simulated> {
  const known = simulated.get(seed) ?? simulate(seed);
  simulated.set(seed, known);
  return known;
}

/** In groups, so that a slow machine shows how far it is. */
describe.each([0, 1, 2, 3])("seeds of the simulator, group %i", (group) => {
  test("break no promise on memory", async () => {
    for (const seed of seeds(200).filter((number) => number % 4 === group)) await holds(await onMemory(seed));
  }, 600_000);
});

test("seeds of the simulator break no promise on SQLite, and leave the same trace", async () => {
  for (const seed of seeds(50)) {
    const { hash, violations } = await simulate(seed, { store: onSqlite, restart });
    database.close();
    expect(violations, `seed ${seed}`).toEqual([]);
    expect([seed, hash]).toEqual([seed, (await onMemory(seed)).hash]);
  }
}, 600_000);

test("seeds that failed once: false alarms, an attempt that nobody ended, an effect begun too late", async () => {
  for (const seed of [3_787, 101_790, 102_485, 103_896, 301_970, 500_110, 500_145, 601_125])
    await holds(await simulate(seed));
});

test("a seed is the same world every time, and another seed another one", async () => {
  const hashes = new Set<string>();
  for (const seed of seeds(10)) {
    const { hash } = await simulate(seed);
    expect([seed, hash]).toEqual([seed, (await onMemory(seed)).hash]);
    hashes.add(hash);
  }
  expect(hashes.size).toBe(10);
}, 300_000);

test("what can go wrong does, and what is simulated happens", async () => {
  const happened = new Set<string>();
  const styles = new Set<string>();
  for (const seed of seeds(200)) {
    const { figures, plan } = await onMemory(seed);
    for (const kind of Object.keys(figures.faults)) happened.add(kind);
    for (const style of plan.profile.styles) styles.add(style);
    for (const step of plan.steps) happened.add(step.do === "operate" ? step.what : step.do);
  }
  const faults = ["crash", "freeze", "suspend", "deploy", "pause", "outage", "jump"];
  const ofStore = ["refused", "lost", "late", "slow", "dies-before", "dies-after"].map((name) => `store ${name}`);
  const ofModel = ["throws", "hangs", "hangs-deaf", "slow", "empty", "effect-hangs"].map((name) => `model ${name}`);
  const ofChannel = ["busy", "error", "refused", "timeout-shown", "timeout-lost"].map((name) => `channel ${name}`);
  const acts = ["write", "edit", "retract", "typing", "handoff", "humanReply", "resume", "reset", "retry", "send"];
  const all = [...faults, ...ofStore, ...ofModel, ...ofChannel, ...acts];
  expect(all.filter((kind) => !happened.has(kind))).toEqual([]);
  expect(styles.size).toBe(12);
}, 600_000);

test("a store that breaks its word is found out, and the failure is made small", async () => {
  // Says that it has stored what it has not, once in a while.
  const forgetful: MakeStore = ({ now, clock }) => {
    const store = onSqlite({ now, clock });
    let writes = 0;
    const exchange: Store["exchange"] = async (write) => {
      writes += 1;
      if (writes % 7 !== 0) return store.exchange(write);
      return { kind: "stored", log: [], nowMs: now() };
    };
    return { ...store, exchange };
  };
  let failed = await simulate(1, { store: forgetful });
  for (let seed = 2; failed.violations.length === 0; seed += 1) failed = await simulate(seed, { store: forgetful });
  const smallest = await shrinkFailure(failed, { store: forgetful, tries: 150 });
  expect(smallest.violations.map(({ rule }) => rule)).toContain(failed.violations[0]?.rule);
  expect(smallest.plan.steps.length).toBeLessThan(failed.plan.steps.length);
  const text = report(smallest).join("\n");
  expect(text).toContain("What was planned");
  expect(text).toContain("What should not have:");
}, 600_000);

async function holds(seen: Simulated): Promise<void> {
  if (seen.violations.length === 0) return;
  expect.fail(report(await shrinkFailure(seen)).join("\n"));
}
