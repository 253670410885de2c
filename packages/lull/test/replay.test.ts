// What a bot's author writes: their own respond() against fast typists. The first test is the one in docs/testing.md.
import { describe, expect, test } from "vitest";
import type { Respond, Turn } from "../src/index.ts";
import { type BenchRespond, type BurstStep, replayBurst } from "../src/testing/index.ts";

/** A bot that opens a ticket once and answers with its number. */
const respond: Respond = async (turn) => {
  const ticket = await turn.once("ticket", () => ({ number: 17 }));
  return `Ticket ${ticket.number}: ${turn.messages.length} messages`;
};

test("my bot opens one ticket and answers once, however people type", async () => {
  const { prompts, effects, replies, timeline } = await replayBurst(respond, ["hi", "my order is late", "#1234"]);
  expect(
    replies.map(({ text }) => text),
    timeline.join("\n"),
  ).toEqual(["Ticket 17: 3 messages"]);
  expect(prompts.at(-1)).toEqual(["hi", "my order is late", "#1234"]);
  expect(effects).toMatchObject([{ key: "ticket", value: { number: 17 }, runs: 1 }]);
});

const repeat: Respond = (turn) => turn.messages.map(({ id }) => id).join(" ");
const outcomes = (attempts: { outcome: string | null }[]) => attempts.map(({ outcome }) => outcome);

describe("a replayed burst", () => {
  test("has virtual time: a message every 800 ms, the answer after six seconds of quiet", async () => {
    const { attempts, replies } = await replayBurst(repeat, ["a", "b"]);
    expect(attempts.map(({ atMs, endedAtMs }) => [atMs, endedAtMs])).toEqual([[1_800, 3_800]]);
    expect(replies).toMatchObject([{ atMs: 6_800, text: "m1 m2", covers: ["m1", "m2"], overtaken: false }]);
  });

  test("shows an interruption: the attempt is superseded, the next has everything", async () => {
    const { prompts, attempts, replies, resting } = await replayBurst(repeat, ["a", { atMs: 1_500, text: "b" }]);
    expect(outcomes(attempts)).toEqual(["superseded", "answered"]);
    expect(prompts).toEqual([["a"], ["a", "b"]]);
    expect(replies.map(({ text }) => text)).toEqual(["m1 m2"]);
    expect(resting).toBe(true);
  });

  test("shows edits, retractions and what was too late", async () => {
    const script: BurstStep[] = ["a", "b", { edit: "m1", text: "A" }, { retract: "m2" }, { atMs: 30_000, text: "c" }];
    const { prompts, replies } = await replayBurst(repeat, script);
    expect(prompts).toEqual([["A"], ["c"]]);
    expect(replies.map(({ covers }) => covers)).toEqual([["m1"], ["m3"]]);
  });

  test("survives a crash in the middle: another process answers, the effect that was recorded is not run again", async () => {
    const slow: BenchRespond = async (turn, bench) => {
      const value = await turn.once("ticket", () => "T1");
      await bench.sleep(5_000, turn.signal);
      return value;
    };
    const { attempts, effects, replies } = await replayBurst(slow, ["a", { atMs: 8_000, crash: 500 }]);
    expect(outcomes(attempts)).toEqual([null, "answered"]);
    expect(attempts[1]?.effects).toEqual([{ key: "ticket", state: "done", value: "T1" }]);
    expect(effects).toMatchObject([{ key: "ticket", runs: 1, value: "T1" }]);
    expect(replies.map(({ text }) => text)).toEqual(["T1"]);
  });

  test("shows a freeze beyond the lease: whoever wakes late is refused", async () => {
    const script: BurstStep[] = ["a", { atMs: 1_500, freeze: 60_000 }];
    const { attempts, replies } = await replayBurst(repeat, script, { lease: { leaseMs: 5_000 } });
    expect(replies).toHaveLength(1);
    expect(attempts.length).toBeGreaterThanOrEqual(1);
  });

  test("shows humans and hand-offs", async () => {
    const script: BurstStep[] = [
      "a",
      { atMs: 500, handoff: 60_000 },
      { atMs: 9_000, human: "Me" },
      { atMs: 9_500, resume: true },
    ];
    const { attempts, replies, resting } = await replayBurst(repeat, script);
    expect([attempts, replies, resting]).toEqual([[], [], true]);
  });

  test("shows what fails for good", async () => {
    const broken: Respond = () => {
      throw new Error("no model");
    };
    const { attempts, parked, replies } = await replayBurst(broken, ["a"], { fallback: "Sorry." });
    expect(new Set(outcomes(attempts))).toEqual(new Set(["no model"]));
    expect(attempts).toHaveLength(5);
    expect(parked).toBe(true);
    expect(replies.map(({ text }) => text)).toEqual(["Sorry."]);
  });

  test("takes streams, say, silence, a button, flush and typing", async () => {
    async function* stream(turn: Turn) {
      yield `1 ${turn.text}`;
      yield "2";
    }
    expect((await replayBurst(stream, ["a"])).replies).toMatchObject([{ text: "1 a\n2" }]);
    const says: Respond = async (turn) => {
      await turn.say("first");
      return "second";
    };
    expect((await replayBurst(says, ["a"])).replies).toMatchObject([{ text: "first\nsecond" }]);
    expect((await replayBurst(() => null, ["a"])).attempts).toMatchObject([{ outcome: "silent" }]);
    const button = await replayBurst(repeat, [{ text: "yes", quietMs: 0 }]);
    expect(button.replies[0]?.atMs).toBe(2_000);
    const flushed = await replayBurst(repeat, ["a", { atMs: 3_000, flush: true }]);
    expect(flushed.replies[0]?.atMs).toBe(3_000);
    const typed = await replayBurst(repeat, ["a", { atMs: 5_000, typing: true }]);
    expect(typed.replies[0]?.atMs).toBe(11_000);
  });

  test("waits for work in real time, while no virtual time passes", async () => {
    const real: Respond = async (turn) => {
      await new Promise((resolve) => setTimeout(resolve, 30));
      return turn.text;
    };
    const { attempts, replies } = await replayBurst(real, ["a"], { modelMs: 0, realMs: 5_000 });
    expect(attempts).toMatchObject([{ atMs: 1_000, endedAtMs: 1_000 }]);
    expect(replies).toMatchObject([{ atMs: 6_000, text: "a" }]);
  });

  test("lets a hanging model time out", async () => {
    const hangs: Respond = () => new Promise(() => {});
    const { attempts, parked } = await replayBurst(hangs, ["a"], {
      realMs: 5,
      limits: { maxFailures: 2 },
      lease: { turnTimeoutMs: 30_000 },
    });
    expect(attempts).toHaveLength(2);
    expect(parked).toBe(true);
  });

  test("tells a wrong script", async () => {
    await expect(
      replayBurst(repeat, [{ edit: "m1", text: "" } as never, { atMs: 5, oops: 1 } as never]),
    ).rejects.toThrow(/no step of a burst: \{"atMs":5,"oops":1\}/);
  });

  test("has a timeline worth reading", async () => {
    const { timeline } = await replayBurst(repeat, ["a", { atMs: 1_500, text: "b" }]);
    expect(timeline).toEqual([
      "    0.000 user: m1: a",
      "    1.000 bot: thinks about m1",
      "    1.500 user: m2: b",
      "    1.500 bot: superseded",
      "    2.500 bot: thinks about m1, m2 (attempt 2)",
      "    7.500 bot: » m1 m2",
    ]);
  });
});
