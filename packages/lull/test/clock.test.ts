import { afterEach, expect, test, vi } from "vitest";
import { nextTurn, systemClock } from "../src/clock.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("it tells the time, forwards only, and never the same id twice", () => {
  const clock = systemClock();
  expect(Math.abs(clock.now() - Date.now())).toBeLessThan(1_000);
  const first = clock.monotonic();
  expect(clock.monotonic()).toBeGreaterThanOrEqual(first);
  const chances = Array.from({ length: 100 }, clock.random);
  expect(chances.every((chance) => chance >= 0 && chance < 1)).toBe(true);
  expect(new Set(Array.from({ length: 100 }, clock.id)).size).toBe(100);
});

test("a sleep ends when its time has come", async () => {
  vi.useFakeTimers();
  let awake = false;
  const sleep = systemClock()
    .sleep(1_000)
    .then(() => {
      awake = true;
    });
  await vi.advanceTimersByTimeAsync(999);
  expect(awake).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(awake).toBe(true);
  await sleep;
});

test("a sleep longer than a timer can be does not end at once", async () => {
  vi.useFakeTimers();
  const daysMs = 60 * 86_400_000;
  let awake = false;
  void systemClock()
    .sleep(daysMs)
    .then(() => {
      awake = true;
    });
  await vi.advanceTimersByTimeAsync(daysMs - 1);
  expect(awake).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(awake).toBe(true);
});

test("a sleep of no length lets others run first", async () => {
  const order: string[] = [];
  const sleeps = [0, -5, Number.NaN].map((ms) =>
    systemClock()
      .sleep(ms)
      .then(() => order.push("slept")),
  );
  await Promise.resolve().then(() => order.push("microtask"));
  await Promise.all(sleeps);
  expect(order).toEqual(["microtask", "slept", "slept", "slept"]);
});

test("an abort ends a sleep early, without an error, and leaves nothing behind", async () => {
  vi.useFakeTimers();
  const controller = new AbortController();
  const added = vi.spyOn(controller.signal, "addEventListener");
  const removed = vi.spyOn(controller.signal, "removeEventListener");
  const clock = systemClock();

  const finished = clock.sleep(10, controller.signal);
  await vi.advanceTimersByTimeAsync(10);
  await finished;
  expect([added.mock.calls.length, removed.mock.calls.length]).toEqual([1, 1]);

  const aborted = clock.sleep(Number.POSITIVE_INFINITY, controller.signal);
  controller.abort();
  await aborted;
  expect([added.mock.calls.length, removed.mock.calls.length]).toEqual([2, 2]);
  expect(vi.getTimerCount()).toBe(0);

  await clock.sleep(10_000, controller.signal);
  expect(vi.getTimerCount()).toBe(0);
});

test("a sleep keeps the process alive, unless asked not to", async () => {
  const timeouts = vi.spyOn(globalThis, "setTimeout");
  for (const unref of [undefined, false, true]) {
    const controller = new AbortController();
    const sleep = systemClock(unref === undefined ? {} : { unref }).sleep(10_000, controller.signal);
    const timer = timeouts.mock.results.at(-1)?.value as NodeJS.Timeout;
    expect(timer.hasRef()).toBe(unref !== true);
    controller.abort();
    await sleep;
  }
  timeouts.mockRestore();
});

test("the next turn comes after what is ready in this one", async () => {
  const order: string[] = [];
  setImmediate(() => order.push("ready"));
  await nextTurn();
  expect(order).toEqual(["ready"]);
});
