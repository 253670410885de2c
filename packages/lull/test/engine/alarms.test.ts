// One sleep for all conversations' alarms, against a naive model.
import { expect, it } from "vitest";
import { alarms } from "../../src/alarms.ts";
import { dice, virtualClock } from "../support/virtual.ts";

it("rings each alarm once, at its time, whatever was set, replaced or removed before", async () => {
  const clock = virtualClock();
  const random = dice(7);
  const pick = (n: number) => Math.floor(random() * n);
  const rung: [string, number][] = [];
  const local = alarms(
    clock,
    () => clock.now(),
    (id) => rung.push([id, clock.now()]),
  );
  const model = new Map<string, number>();
  const expected: [string, number][] = [];
  for (let n = 0; n < 10_000; n += 1) {
    const id = `c${pick(50)}`;
    if (pick(4) === 0) {
      local.set(id, null);
      model.delete(id);
    } else {
      // Some in the past: they ring at once.
      const atMs = clock.now() + pick(2_000) - 50;
      local.set(id, atMs);
      model.set(id, atMs);
    }
    expect(local.has(id)).toBe(model.has(id));
    if (pick(10) > 0) continue;
    const fromMs = clock.now();
    const untilMs = fromMs + pick(200);
    await clock.advance(untilMs - fromMs);
    for (const [due, atMs] of model) {
      if (atMs > untilMs) continue;
      expected.push([due, Math.max(atMs, fromMs)]);
      model.delete(due);
    }
  }
  await clock.advance(5_000);
  for (const [id, atMs] of model) expected.push([id, atMs]);
  const order = (list: [string, number][]) => list.map(([id, atMs]) => `${atMs} ${id}`).sort();
  expect(order(rung)).toEqual(order(expected));
  expect(rung.map(([, atMs]) => atMs)).toEqual(rung.map(([, atMs]) => atMs).sort((a, b) => a - b));
  expect(clock.sleeping()).toBe(0);
}, 30_000);

it("sleeps once, however many alarms there are", () => {
  const clock = virtualClock();
  const local = alarms(
    clock,
    () => clock.now(),
    () => {},
  );
  for (let n = 0; n < 1_000; n += 1) local.set(`c${n}`, clock.now() + 1_000 + n);
  expect(clock.sleeping()).toBe(1);
  local.clear();
  expect(clock.sleeping()).toBe(0);
  expect(local.has("c1")).toBe(false);
});

it("may be set anew by what it rings", async () => {
  const clock = virtualClock();
  const rung: number[] = [];
  const local = alarms(
    clock,
    () => clock.now(),
    (id) => {
      rung.push(clock.now());
      if (rung.length < 3) local.set(id, clock.now() + 100);
    },
  );
  const began = clock.now();
  local.set("c", began + 100);
  await clock.advance(1_000);
  expect(rung.map((atMs) => atMs - began)).toEqual([100, 200, 300]);
});
