import { expect, test } from "vitest";
import { memory } from "../../src/stores/memory/index.ts";
import { compareUtf8, Sorted } from "../../src/stores/memory/sorted.ts";
import { startMs, writeAfter } from "../../src/testing/records.ts";
import { storeContract } from "../../src/testing/store-contract.ts";

storeContract("memory", ({ now }) => ({ store: memory({ now }) }), { test, expect });

test("the memory store tells listeners of every stored write, until they leave", async () => {
  const store = memory({ now: () => startMs });
  const heard: string[] = [];
  const leave = store.wake?.((id) => heard.push(id));
  await store.exchange(writeAfter(null, "a"));
  await store.exchange(writeAfter(null, "a"));
  leave?.();
  await store.exchange(writeAfter(null, "b"));
  expect(heard).toEqual(["a"]);
});

test("the memory store finds due timers among 10⁵ without scanning them", async () => {
  const store = memory({ now: () => startMs });
  const count = 100_000;
  for (let index = 0; index < count; index++) {
    // Spread over the ids, so that neither order is the order of arrival.
    const at = (index * 7919) % count;
    await store.exchange(writeAfter(null, `c${index}`, { wakeAtMs: startMs + at }));
  }
  const { timers } = await store.due(startMs + count, 10);
  expect(timers.map((timer) => timer.wakeAtMs - startMs)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const startedAt = performance.now();
  for (let call = 0; call < 1_000; call++) await store.due(startMs + count, 10);
  // A scan would take seconds.
  expect(performance.now() - startedAt).toBeLessThan(500);
}, 30_000);

test("a sorted set behaves like a sorted array", () => {
  const sorted = new Sorted<number>((a, b) => a - b);
  const model = new Set<number>();
  let seed = 1;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % 3_000;
  };
  for (let step = 0; step < 20_000; step++) {
    const value = random();
    if (step % 3 === 2) expect(sorted.delete(value)).toBe(model.delete(value));
    else {
      expect(sorted.add(value)).toBe(!model.has(value));
      model.add(value);
    }
  }
  const expected = [...model].sort((a, b) => a - b);
  expect([...sorted.from(-1)]).toEqual(expected);
  expect([...sorted.from(1_500)]).toEqual(expected.filter((value) => value >= 1_500));
  expect(sorted.size).toBe(expected.length);
  expect(sorted.first()).toBe(expected[0]);
  for (const value of expected) sorted.delete(value);
  expect([...sorted.from(-1)]).toEqual([]);
  expect(sorted.first()).toBe(undefined);
});

test("ids compare like their UTF-8 bytes", () => {
  const texts = ["", "a", "ab", "b", "é", "\u{d7ff}", "\u{e000}", "\u{ffff}", "\u{10000}", "\u{10ffff}", "a\u{10000}"];
  for (const a of texts) {
    for (const b of texts) {
      expect(Math.sign(compareUtf8(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }
  }
});
