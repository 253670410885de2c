// Model runs: when they start, what ends them, and what becomes of their answer.
import { describe, expect, it } from "vitest";
import { type LullOptions, memory, type Respond } from "../../src/index.ts";
import { bot, textOf } from "../support/bot.ts";
import { counting, withoutHints } from "../support/stores.ts";
import { virtualClock } from "../support/virtual.ts";

/** Lets one message in, and an hour pass. */
async function ask(options: Partial<LullOptions>, world: Parameters<typeof bot>[1] = {}) {
  const made = bot(options, world);
  await made.lull.start();
  await made.hear("a");
  await made.clock.advance(3_600_000);
  await made.lull.stop();
  return made;
}

describe("newer input during an attempt", () => {
  it("interrupt: aborts at once, in the same process", async () => {
    const { clock, lull, turns, hear } = bot({}, { modelMs: 10_000 });
    await lull.start();
    await hear("a");
    await clock.advance(3_000);
    await hear("b");
    await clock.advance(0);
    expect(turns[0]?.signal.reason).toMatchObject({ code: "superseded" });
    await clock.advance(30_000);
    expect(turns.map(textOf)).toEqual(["a", "a | b"]);
    await lull.stop();
  });

  it("interrupt: aborts with the next renewal, when another process took it in", async () => {
    const clock = virtualClock();
    const store = withoutHints(memory({ now: () => clock.now() }));
    const one = bot({}, { clock, store, modelMs: 25_000 });
    const other = bot({}, { clock, store });
    await one.lull.start();
    await one.hear("a");
    await clock.advance(3_000);
    await other.hear("b");
    await clock.advance(7_999);
    expect(one.turns[0]?.signal.aborted).toBe(false);
    // Claimed at 1 s, renewed every 10 s.
    await clock.advance(1);
    expect(one.turns[0]?.signal.aborted).toBe(true);
    await clock.advance(60_000);
    expect(one.texts()).toEqual(["answer to: a | b"]);
    await one.lull.stop();
  });

  it("interrupt: discards an answer that waits for quiet", async () => {
    const { clock, lull, turns, sent, hear } = bot();
    await lull.start();
    await hear("a");
    await clock.advance(5_000);
    await hear("b");
    await clock.advance(30_000);
    expect(turns.map(textOf)).toEqual(["a", "a | b"]);
    expect(sent.map(({ text, atMs }) => [text, atMs])).toEqual([["answer to: a | b", 11_000]]);
    await lull.stop();
  });

  it("queue: lets it finish, and answers the rest next", async () => {
    const { clock, lull, turns, sent, events, hear } = bot({ whenBusy: "queue" }, { modelMs: 5_000 });
    await lull.start();
    await hear("a");
    await clock.advance(6_500);
    await hear("b");
    await clock.advance(60_000);
    expect(turns.map(textOf)).toEqual(["a", "b"]);
    expect(sent.map(({ text, atMs, covers }) => [text, atMs, covers])).toEqual([
      // The plain debounce: quiet first, then the model.
      ["answer to: a", 11_000, ["a"]],
      ["answer to: b", 17_500, ["b"]],
    ]);
    expect(events.flatMap(({ entry }) => (entry?.kind === "reply" ? [entry.overtaken] : []))).toEqual([true, false]);
    await lull.stop();
  });

  it("steer: hands it to the running attempt", async () => {
    const seen: string[] = [];
    const { clock, lull, turns, texts, hear } = bot({
      whenBusy: "steer",
      respond: async (turn) => {
        for (let step = 0; step < 4; step += 1) {
          await clock.sleep(1_500, turn.signal);
          await turn.absorb();
          seen.push(textOf(turn));
        }
        return `answer to: ${textOf(turn)} (version ${turn.version})`;
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(3_000);
    await hear("b");
    await clock.advance(1_500);
    await lull.retract("c", "a");
    await clock.advance(30_000);
    expect(turns).toHaveLength(1);
    expect(turns[0]?.signal.aborted).toBe(false);
    expect(seen).toEqual(["a", "a | b", "b", "b"]);
    expect(texts()).toEqual(["answer to: b (version 3)"]);
    await lull.stop();
  });

  it("steer: starts over when it came after the last look", async () => {
    const { clock, lull, turns, texts, hear } = bot({ whenBusy: "steer" }, { modelMs: 4_000 });
    await lull.start();
    await hear("a");
    await clock.advance(3_000);
    await hear("b");
    await clock.advance(60_000);
    expect(turns.map(textOf)).toEqual(["a", "a | b"]);
    expect(turns[0]?.signal.aborted).toBe(false);
    expect(texts()).toEqual(["answer to: a | b"]);
    await lull.stop();
  });

  it("can be ruled for each conversation", async () => {
    const { clock, lull, turns, hear } = bot(
      { whenBusy: (id) => (id === "c" ? "queue" : "interrupt") },
      { modelMs: 5_000 },
    );
    await lull.start();
    await hear("a");
    await lull.receive("d", { text: "x" });
    await clock.advance(6_500);
    await hear("b");
    await lull.receive("d", { text: "y" });
    await clock.advance(60_000);
    expect(turns.map(textOf).sort()).toEqual(["a", "b", "x", "y"]);
    await lull.stop();
  });

  it("lets the model start only after the whole quiet, once it was discarded too often", async () => {
    const { clock, lull, turns, sent, hear, elapsed } = bot({ limits: { maxRestarts: 2 } }, { modelMs: 4_000 });
    const starts: number[] = [];
    lull.on(({ type }) => type === "attempt.started" && starts.push(elapsed()));
    await lull.start();
    await hear("a");
    for (const text of ["b", "c", "d"]) {
      await clock.advance(3_000);
      await hear(text);
    }
    await clock.advance(60_000);
    expect(turns.map(textOf)).toEqual(["a", "a | b", "a | b | c | d"]);
    expect(starts).toEqual([1_000, 4_000, 15_000]);
    expect(sent.map(({ atMs }) => atMs)).toEqual([19_000]);
    await lull.stop();
  });

  it("after the cap goes to the next turn", async () => {
    const { clock, lull, turns, sent, hear } = bot(
      { debounce: { quietMs: 2_000, maxWaitMs: 5_000 } },
      { modelMs: 3_000 },
    );
    await lull.start();
    await hear("a");
    for (const text of ["b", "c", "d", "e", "f", "g", "h"]) {
      await clock.advance(900);
      await hear(text);
    }
    await clock.advance(60_000);
    expect(turns.map(textOf)).toEqual(["a | b | c | d | e | f", "g | h"]);
    expect(sent[0]?.atMs).toBe(8_000);
    expect(sent.map(({ covers }) => covers.join(""))).toEqual(["abcdef", "gh"]);
    await lull.stop();
  });
});

describe("an answer that is ready", () => {
  it("goes out at the exact quiet target, whatever the model took", async () => {
    for (const modelMs of [0, 1, 4_999, 5_000]) {
      const { sent } = await ask({}, { modelMs });
      expect(sent.map(({ atMs }) => atMs)).toEqual([6_000]);
    }
  });

  it("goes out at once when the model took longer", async () => {
    const { sent } = await ask({}, { modelMs: 5_001 });
    expect(sent.map(({ atMs }) => atMs)).toEqual([6_001]);
  });

  it("costs one exchange to receive, claim, commit and settle each, however long it waited", async () => {
    const clock = virtualClock();
    const { store, counts } = counting(memory({ now: () => clock.now() }));
    await ask({}, { clock, store });
    expect(counts.exchange).toBe(4);
  });
});

describe("an attempt that throws", () => {
  it("is repeated after a growing back-off", async () => {
    const starts: number[] = [];
    const { sent, events } = await ask({
      respond: (turn) => {
        starts.push(turn.attempt);
        if (turn.attempt < 4) throw new Error(`attempt ${turn.attempt}`);
        return "at last";
      },
    });
    expect(starts).toEqual([1, 2, 3, 4]);
    expect(sent).toHaveLength(1);
    const waits = events.flatMap(({ entry }) => (entry?.kind === "ended" ? [(entry.retryAtMs ?? 0) - entry.atMs] : []));
    expect(waits).toHaveLength(3);
    waits.forEach((waitMs, n) => {
      expect(waitMs).toBeGreaterThanOrEqual(500 * 2 ** n);
      expect(waitMs).toBeLessThanOrEqual(1_000 * 2 ** n);
    });
  });

  it("may say when to try again", async () => {
    const { events } = await ask({
      respond: (turn) => {
        if (turn.attempt === 1) throw Object.assign(new Error("429"), { retryAfterMs: 12_345 });
        return "ok";
      },
    });
    const ended = events.flatMap(({ entry }) => (entry?.kind === "ended" ? [entry] : []));
    expect(ended).toHaveLength(1);
    expect((ended[0]?.retryAtMs ?? 0) - (ended[0]?.atMs ?? 0)).toBe(12_345);
  });

  it("is repeated at once when the user writes again", async () => {
    const { clock, lull, hear, texts } = bot({
      respond: (turn) => {
        if (turn.messages.length === 1) throw Object.assign(new Error("no"), { retryAfterMs: 600_000 });
        return textOf(turn);
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(10_000);
    await hear("b");
    await clock.advance(10_000);
    expect(texts).toBeDefined();
    expect((await lull.get("c"))?.answered).toBe(2);
    await lull.stop();
  });

  it("always: is given up, visibly; others go on; retry() brings it back", async () => {
    let broken = true;
    const { clock, lull, sent, hear } = bot({
      limits: { maxFailures: 3 },
      fallback: "Sorry, something is broken.",
      respond: (turn) => {
        if (broken && turn.conversation === "c") throw new Error("boom");
        return `answer to: ${textOf(turn)}`;
      },
    });
    await lull.start();
    await hear("a");
    await lull.receive("d", { text: "hello" });
    await clock.advance(60_000);
    expect(sent.map(({ text }) => text)).toEqual(["Sorry, something is broken.", "answer to: hello"]);
    expect(await lull.get("c")).toMatchObject({
      state: "parked",
      wakeAtMs: null,
      parked: { from: 0, to: 1, reason: "boom" },
    });
    expect((await lull.stats()).parked).toBe(1);
    expect((await lull.list({}, { parked: true })).conversations.map(({ id }) => id)).toEqual(["c"]);
    // What comes later is answered by itself, with the parked as history.
    broken = false;
    await hear("b");
    await clock.advance(20_000);
    expect(sent.at(-1)?.text).toBe("answer to: b");
    expect(await lull.retry("c", { id: "r" })).toEqual({ revived: 1 });
    expect(await lull.retry("c", { id: "r" })).toEqual({ revived: 1 });
    await clock.advance(20_000);
    expect(sent.at(-1)).toMatchObject({ text: "answer to: a" });
    expect((await lull.get("c"))?.state).toBe("resting");
    await lull.stop();
  });

  it("asks for the fallback only when it is needed, and survives one that throws", async () => {
    const asked: string[] = [];
    const { lull, clock, hear, events } = bot({
      limits: { maxFailures: 2 },
      fallback: (id, error) => {
        asked.push(`${id}: ${error}`);
        throw new Error("in the fallback");
      },
      respond: () => {
        throw new Error("boom");
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(60_000);
    expect(asked).toEqual(["c: boom"]);
    expect(events.map(({ type }) => type)).toContain("inputs.parked");
    await lull.stop();
  });
});

describe("an attempt that hangs", () => {
  it("is given up after turnTimeoutMs, and repeated", async () => {
    const { clock, lull, turns, sent, hear, events } = bot({
      respond: (turn) => (turn.attempt === 1 ? new Promise<never>(() => {}) : "second try"),
    });
    await lull.start();
    await hear("a");
    await clock.advance(120_999);
    expect(turns[0]?.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(turns[0]?.signal.reason).toMatchObject({ code: "timed-out" });
    await clock.advance(10_000);
    expect(sent.map(({ text }) => text)).toEqual(["second try"]);
    const failed = events.find(({ type }) => type === "attempt.failed");
    expect(failed?.entry).toMatchObject({ error: "timed out after 120000 ms without an answer" });
    await lull.stop();
  });

  it("ignores its signal, and whatever it says later", async () => {
    const { clock, lull, sent, hear } = bot({
      respond: async (turn) => {
        await clock.sleep(10_000);
        return `answer to: ${textOf(turn)}`;
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(3_000);
    await hear("b");
    await clock.advance(60_000);
    expect(sent.map(({ text }) => text)).toEqual(["answer to: a | b"]);
    await lull.stop();
  });

  it("is not timed out while it waits for quiet", async () => {
    const waits: Respond[] = [
      async (turn) => {
        await turn.seal();
        return "done";
      },
      async (turn) => {
        await turn.once("pay", () => 1);
        return "done";
      },
      async (turn) => {
        await turn.say("done");
        return [];
      },
      () => "done",
    ];
    for (const respond of waits.slice(0, 4)) {
      const clock = virtualClock();
      const store = withoutHints(memory({ now: () => clock.now() }));
      const options = { respond, lease: { turnTimeoutMs: 1_500 }, debounce: { quietMs: 20_000 } } as const;
      const one = bot(options, { clock, store });
      const other = bot(options, { clock, store });
      await one.lull.start();
      await other.lull.start();
      await one.hear("a");
      await clock.advance(60_000);
      expect(one.turns.length + other.turns.length).toBe(1);
      expect([...one.sent, ...other.sent].map(({ text, atMs }) => [text, atMs])).toEqual([["done", 20_000]]);
      await one.lull.stop();
      await other.lull.stop();
    }
  });
});

describe("what respond() may return", () => {
  const fine: [string, Respond, string[]][] = [
    ["a text", () => "a", ["a"]],
    ["a promise", async () => "a", ["a"]],
    ["a part", () => ({ type: "text", text: "a" }), ["a"]],
    ["a file", () => ({ type: "file", mediaType: "image/png", url: "https://example.org/a.png" }), [expect.anything()]],
    ["a list", () => ["a", { type: "text", text: "b" }], ["a", "b"]],
    ["a text with metadata", () => ({ text: "a", metadata: { model: "m" } }), ["a"]],
    ["parts with metadata", () => ({ parts: ["a", "b"], metadata: { model: "m" } }), ["a", "b"]],
    ["blank texts among others, which are left out", () => ["a", " \n", "b"], ["a", "b"]],
    [
      "a stream",
      async function* () {
        yield "a";
        yield { type: "text", text: "b" } as const;
      },
      ["a", "b"],
    ],
    [
      "a promise of a stream",
      async () =>
        (async function* () {
          yield "a";
          yield "";
          yield "b";
        })() as never,
      ["a", "b"],
    ],
    ["null: silence", () => null, []],
  ];
  it.each(fine)("%s", async (_name, respond, expected) => {
    const { sent, lull, turns } = await ask({ respond });
    expect(sent.map(({ text }) => text)).toEqual(expected);
    expect(turns).toHaveLength(1);
    expect(await lull.get("c")).toMatchObject({ state: "resting", answered: 1 });
  });

  const wrong: [string, unknown, RegExp][] = [
    ["undefined", undefined, /respond\(\) returned undefined. Return text, parts, or null to stay silent/],
    ["an empty text", "", /empty answer; return null to stay silent/],
    ["blank text", " \n ", /empty answer/],
    ["no parts", [], /empty answer/],
    ["empty parts", { parts: [""] }, /empty answer/],
    ["an empty stream", (async function* () {})(), /empty stream/],
    ["a number", 5, /must return text, parts/],
    ["an object of the author's own", { content: "a" }, /must return text, parts/],
    ["a part of an unknown type", { type: "image", url: "x" }, /answer.parts\[0\].type must be text, file or data/],
    ["a list with a hole", ["a", null], /answer.parts\[1\] must be a string or a part object/],
    ["metadata that is no object", { text: "a", metadata: "m" }, /answer.metadata must be an object/],
    ["too many parts", Array(51).fill("a"), /at most 50 \(limits.maxParts\)/],
  ];
  it.each(wrong)("not %s", async (_name, result, message) => {
    const { sent, events, lull } = await ask({ respond: () => result as never, limits: { maxFailures: 1 } });
    expect(sent).toEqual([]);
    expect(events.find(({ type }) => type === "attempt.failed")?.entry).toMatchObject({
      error: expect.stringMatching(message),
    });
    expect((await lull.get("c"))?.state).toBe("parked");
  });

  it("keeps the metadata of the answer", async () => {
    const { events } = await ask({ respond: () => ({ text: "a", metadata: { model: "m" } }) });
    expect(events.find(({ type }) => type === "reply.committed")?.entry).toMatchObject({ metadata: { model: "m" } });
  });
});
