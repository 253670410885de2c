import { type LogEntry, type LullEvent, memory } from "lull";
import { describe, expect, test } from "vitest";
import { type AttemptOutcome, attemptWatcher } from "../src/attempts.ts";
import { createSurveys, Tally } from "../src/survey.ts";
import { testApp } from "./support/app.ts";

describe("attempts", () => {
  function watched() {
    const told: [AttemptOutcome, number | null][] = [];
    const spent: [AttemptOutcome, number][] = [];
    const watch = attemptWatcher({
      ended: (outcome, seconds) => told.push([outcome, seconds]),
      tokens: (outcome, count) => spent.push([outcome, count]),
    });
    const see = (atMs: number, entry: object, conversation = "c") =>
      watch({ type: "typing", conversation, atMs, entry: { seq: 1, atMs, ...entry } as LogEntry } as LullEvent);
    return { told, spent, see };
  }

  test("count by how they ended, with the time they ran", () => {
    const { told, see } = watched();
    see(1_000, { kind: "attempt", fence: 1 });
    see(3_500, { kind: "ended", fence: 1, outcome: "superseded" });
    see(4_000, { kind: "attempt", fence: 2 });
    see(5_000, { kind: "reply", fence: 2, cause: "turn" });
    // The bot's own message is no attempt, and an answer is counted once.
    see(5_000, { kind: "reply", fence: 2, cause: "send" });
    see(6_000, { kind: "ended", fence: 2, outcome: "expired" });
    see(7_000, { kind: "attempt", fence: 3 });
    see(7_500, { kind: "settled", outcome: "silent" });
    see(7_500, { kind: "settled", outcome: "human" });
    expect(told).toEqual([
      ["superseded", 2.5],
      ["answered", 1],
      ["silent", 0.5],
    ]);
  });

  test("of another process that died count without a time", () => {
    const { told, see } = watched();
    see(9_000, { kind: "ended", fence: 7, outcome: "expired" });
    expect(told).toEqual([["expired", null]]);
  });

  test("their tokens go to how they ended, told before or after", () => {
    const { spent, see } = watched();
    see(1_000, { kind: "attempt", fence: 1 });
    see(2_000, { kind: "usage", fence: 1, tokens: 100 });
    see(2_500, { kind: "usage", fence: 1, tokens: 20 });
    expect(spent).toEqual([]);
    see(3_000, { kind: "ended", fence: 1, outcome: "superseded" });
    see(3_500, { kind: "usage", fence: 1, tokens: 3 });
    see(3_500, { kind: "usage", fence: 0, tokens: 1_000 });
    expect(spent).toEqual([
      ["superseded", 120],
      ["superseded", 3],
    ]);
  });
});

describe("the survey", () => {
  test("names the longest wait, without what a human answers", () => {
    const tally = new Tally();
    const record = (part: object) => ({ window: null, outbox: null, handoff: null, ...part }) as never;
    tally.add({ state: "waiting", pending: 1, record: record({ window: { openedAtMs: 50 } }) });
    tally.add({ state: "answering", pending: 2, record: record({ window: { openedAtMs: 40 } }) });
    tally.add({ state: "handed-off", pending: 2, record: record({ window: { openedAtMs: 10 }, handoff: {} }) });
    tally.add({ state: "waiting", pending: 0, record: record({ window: { openedAtMs: 5 } }) });
    tally.add({ state: "delivering", pending: 0, record: record({ outbox: { committedAtMs: 30 } }) });
    expect(tally).toMatchObject({ unansweredSinceMs: 40, undeliveredSinceMs: 30 });
    expect(tally.states).toMatchObject({ waiting: 2, answering: 1, delivering: 1, "handed-off": 1 });
  });

  test("reads all pages, and not again while it is fresh", async () => {
    let pages = 0;
    const survey = createSurveys({
      list: async ({ after } = {}) => {
        pages += 1;
        return { conversations: [], next: after === undefined ? "x" : null, nowMs: 0 };
      },
    });
    expect(await survey()).toMatchObject({ unansweredSinceMs: null });
    await survey();
    expect(pages).toBe(2);
  });

  test("a store that fails leaves the last one, and none before it", async () => {
    const survey = createSurveys({
      list: async () => {
        throw new Error("away");
      },
    });
    expect(await survey()).toBe(null);
  });
});

describe("/metrics", () => {
  test("answers an on-call's questions", async () => {
    const { request, lull } = await testApp({
      flags: { quietMs: "60", maxFailures: "1" },
      respond: (turn) => {
        if (turn.conversation === "fails") throw new Error("no");
        return "yes";
      },
    });
    const ended = new Promise<void>((resolve) => {
      const wanted = new Set(["reply.closed", "inputs.parked"]);
      lull.on(({ type }) => {
        wanted.delete(type);
        if (wanted.size === 0) resolve();
      });
    });
    for (const conversation of ["answered", "fails"])
      await request("POST", "/v1/messages", { conversation, text: "hi" });
    await ended;
    await lull.pauseAll();
    await request("POST", "/v1/messages", { conversation: "waits", text: "hi" });
    await new Promise((resolve) => setTimeout(resolve, 20));
    const text = await (await request("GET", "/metrics")).text();
    for (const line of [
      'lull_attempts_total{outcome="answered"} 1',
      'lull_attempts_total{outcome="failed"} 1',
      'lull_attempts_total{outcome="superseded"} 0',
      'lull_attempt_tokens_total{outcome="superseded"} 0',
      "lull_expired_leases_total 0",
      "lull_delivery_seconds_count 1",
      'lull_conversations{state="waiting"} 1',
      'lull_conversations{state="parked"} 1',
    ])
      expect(text).toContain(line);
    const waited = Number(/^lull_oldest_unanswered_seconds (\S+)$/m.exec(text)?.[1]);
    expect(waited).toBeGreaterThan(0);
    expect(waited).toBeLessThan(60);
    expect(text).toMatch(/^lull_oldest_undelivered_seconds 0$/m);
  });

  test("still answers when the store is away", async () => {
    const store = memory();
    const stats = async () => ({ ...(await store.stats()), working: 0 });
    const { request } = await testApp({ lull: { stats } });
    await store.close();
    const response = await request("GET", "/metrics");
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(text).toContain("lull_store_up 0");
    expect(text).toContain("process_resident_memory_bytes");
  });
});
