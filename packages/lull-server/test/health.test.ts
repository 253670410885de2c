import { setTimeout as sleep } from "node:timers/promises";
import type { LullEvent } from "lull";
import { describe, expect, test, vi } from "vitest";
import { Buckets } from "../src/health/buckets.ts";
import { Spread } from "../src/health/spread.ts";
import { type Waited, waitWatcher } from "../src/health/waits.ts";
import { json, testApp } from "./support/app.ts";

/** Events as the engine emits them, at `atMs`; only what health looks at. */
const at = (atMs: number, type: string, more: object = {}) =>
  ({ type, conversation: "c", atMs, ...more }) as unknown as LullEvent;
const message = (atMs: number, version: number, quietAtMs: number) => [
  at(atMs, "message.received", { seq: version, entry: { kind: "message", version } }),
  at(atMs, "window.armed", { quietAtMs }),
];
const attempt = (atMs: number, fence: number, more = {}) =>
  at(atMs, "attempt.started", { entry: { kind: "attempt", fence, atMs, ...more } });
const reply = (atMs: number, fence: number, to: number, wait: object) =>
  at(atMs, "reply.committed", {
    entry: { kind: "reply", cause: "turn", replyId: `r${fence}`, fence, from: 0, to, wait },
  });
const sent = (atMs: number, fence: number) =>
  at(atMs, "part.sent", { entry: { kind: "receipt", replyId: `r${fence}`, state: "sent" } });

describe("waits", () => {
  const waitsOf = (events: LullEvent[]): Waited[] => {
    const told: Waited[] = [];
    const take = waitWatcher((waited) => told.push(waited));
    events.forEach(take);
    return told;
  };
  const setting = { targetMs: 6_000, reason: "setting" };

  test("what the model spent within the window costs nothing, the rest is told apart and adds up", () => {
    expect(waitsOf([...message(0, 1, 6_000), attempt(1_000, 1), reply(6_010, 1, 1, setting), sent(6_200, 1)])).toEqual([
      { window: 6_000, queue: 0, model: 10, delivery: 190, total: 6_200 },
    ]);
    // Nobody was there to start it.
    expect(
      waitsOf([...message(0, 1, 6_000), attempt(10_000, 1), reply(12_500, 1, 1, setting), sent(12_600, 1)]),
    ).toEqual([{ window: 6_000, queue: 4_000, model: 2_500, delivery: 100, total: 12_600 }]);
  });

  test("counts from the newest message that is covered, not from one that came after", () => {
    expect(
      waitsOf([
        ...message(0, 1, 6_000),
        ...message(2_000, 2, 8_000),
        attempt(3_000, 1),
        reply(9_000, 1, 2, setting),
        ...message(9_100, 3, 15_100),
        sent(9_500, 1),
      ]),
    ).toEqual([{ window: 6_000, queue: 0, model: 1_000, delivery: 500, total: 7_500 }]);
  });

  test.each([
    ["flush", { targetMs: 0, reason: "flush" }, { window: 3_000, queue: 0, model: 4_000 }],
    ["typing", { targetMs: 2_000, reason: "typing" }, { window: 3_000, queue: 0, model: 4_000 }],
    ["the longest wait", { targetMs: 60_000, reason: "cap" }, { window: 6_000, queue: 0, model: 1_000 }],
    ["a guess", { targetMs: 4_000, reason: "pace" }, { window: 4_000, queue: 0, model: 3_000 }],
  ])("knows what ended the wait: %s", (_, wait, told) => {
    const events = [...message(0, 1, 6_000), attempt(3_000, 1), reply(7_000, 1, 1, wait), sent(7_000, 1)];
    expect(waitsOf(events)).toEqual([{ ...told, delivery: 0, total: 7_000 }]);
  });

  test("what another process received or began is not measured", () => {
    expect(waitsOf([attempt(1_000, 1), reply(6_000, 1, 1, setting), sent(6_100, 1)])).toEqual([]);
    expect(waitsOf([...message(0, 1, 6_000), reply(6_000, 1, 1, setting), sent(6_100, 1)])).toEqual([]);
  });
});

describe("spreads", () => {
  test("percentiles are within five per cent, and spreads add up", () => {
    const [one, other, all] = [new Spread(), new Spread(), new Spread()];
    for (let ms = 1; ms <= 10_000; ms += 1) (ms % 2 ? one : other).add(ms);
    all.addAll(one);
    all.addAll(other);
    const [p50, p95] = all.percentiles() ?? [0, 0];
    expect(p50 / 5_000).toBeCloseTo(1, 1);
    expect(Math.abs(p50 - 5_000)).toBeLessThan(250);
    expect(Math.abs(p95 - 9_500)).toBeLessThan(475);
    expect(new Spread().percentiles()).toBeNull();
    const instant = new Spread();
    instant.add(0);
    expect(instant.percentiles()).toEqual([0, 0]);
  });
});

describe("buckets", () => {
  const minute = 60_000;
  test("count by the minute, keep a day, and are told as long as they are wanted", () => {
    const buckets = new Buckets();
    for (let n = 0; n < 2_000; n += 1) buckets.take(at(n * minute, "message.duplicate"));
    const all = buckets.between(0, 1_999 * minute, 1);
    expect(all).toHaveLength(2_000);
    expect(all.filter(({ duplicates }) => duplicates > 0)).toHaveLength(1_440);
    const ten = buckets.between(1_900 * minute, 1_999 * minute, 10);
    expect(ten.map(({ duplicates }) => duplicates)).toEqual(new Array(10).fill(10));
    expect(ten[0]).toMatchObject({ atMs: 1_900 * minute, answers: 0, wait: { total: null }, dueLagMs: null });
  });

  test("a crossed reply counts once, however often its turn is attempted", () => {
    const buckets = new Buckets();
    for (const [fence, crossed] of [
      [1, "r0"],
      [2, "r0"],
      [3, "r2"],
    ] as const)
      buckets.take(attempt(fence, fence, { crossed }));
    expect(buckets.between(0, 0, 1)).toMatchObject([{ crossed: 2 }]);
  });

  test("tokens of attempts that came to nothing are waste; the longest lag stands", () => {
    const buckets = new Buckets();
    const usage = (fence: number) => at(1, "usage.recorded", { entry: { kind: "usage", fence, tokens: 10 } });
    const ended = at(2, "attempt.superseded", { entry: { kind: "ended", fence: 1, outcome: "superseded" } });
    for (const event of [attempt(0, 1), usage(1), ended, attempt(3, 2), usage(2), reply(4, 2, 1, {})])
      buckets.take(event);
    for (const ms of [5, 900.4, 3]) buckets.lag(ms, 100);
    expect(buckets.between(0, 0, 1)).toMatchObject([
      { answers: 1, superseded: 1, tokens: 20, wasteTokens: 10, dueLagMs: 900 },
    ]);
  });
});

describe("GET /v1/health", () => {
  test("tells what this process did, and how the store stands", async () => {
    const { request, lull } = await testApp({ flags: { owner: "here", quietMs: "200" } });
    const send = (id: string, text = "hi") => request("POST", "/v1/messages?wait=10", { conversation: "c", id, text });
    await send("m1");
    await send("m1");
    await vi.waitFor(async () => expect((await lull.get("c"))?.state).toBe("resting"), 5_000);
    // Typed while the answer came: the rule takes it for crossed.
    await send("m2", "and another thing");
    await sleep(20);
    const health = await json(await request("GET", "/v1/health?minutes=5"));
    expect(health).toMatchObject({
      owner: "here",
      bucketSeconds: 60,
      states: { parked: 0, "handed-off": 0, resting: 1 },
      stats: { conversations: 1, parked: 0 },
    });
    expect(health.sinceAt).toMatch(/Z$/);
    const sum = (name: string) => health.buckets.reduce((all: number, bucket: never) => all + bucket[name], 0);
    expect([sum("answers"), sum("duplicates"), sum("crossed"), sum("failed")]).toEqual([2, 1, 1, 0]);
    const { wait, dueLagMs } = health.buckets.at(-1);
    expect(dueLagMs).toBeGreaterThanOrEqual(0);
    if (wait.total !== null) expect(wait.window[0]).toBeGreaterThan(150);
    const wrong = await request("GET", "/v1/health?minutes=0");
    expect([wrong.status, (await json(wrong)).field]).toEqual([400, "minutes"]);
  });
});
