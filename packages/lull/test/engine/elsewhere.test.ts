// Answers from outside: the process that holds the lease waits, any process is given the answer.
import { describe, expect, it } from "vitest";
import { type AttemptRef, type LullOptions, memory, type Turn } from "../../src/index.ts";
import { clockBehind, gate, storeBehind } from "../../src/testing/gate.ts";
import { bot, textOf } from "../support/bot.ts";
import { withoutHints } from "../support/stores.ts";
import { virtualClock } from "../support/virtual.ts";

/** Two processes: `home` runs the model, which goes elsewhere; `away` only receives, and is given the answers. */
function pair(options: Partial<LullOptions> = {}, hints = true) {
  const clock = virtualClock();
  const memoryStore = memory({ now: () => clock.now() });
  const store = hints ? memoryStore : withoutHints(memoryStore);
  const refs: AttemptRef[] = [];
  const ends: unknown[] = [];
  const home = bot(
    {
      respond: async (turn) => {
        refs.push(JSON.parse(JSON.stringify(turn.ref)));
        turn.signal.addEventListener("abort", () => ends.push(turn.signal.reason.code));
        return turn.elsewhere();
      },
      ...options,
    },
    { clock, store },
  );
  const { respond: _, ...same } = options;
  const away = bot(same, { clock, store });
  /** Ends a process whose turn may still be running. */
  const stop = async () => {
    const stopped = home.lull.stop({ timeoutMs: 0 });
    await clock.advance(5_000);
    await stopped;
  };
  const last = () => away.lull.attempt(refs.at(-1) as AttemptRef);
  return { clock, store, home, away, refs, ends, last, stop };
}

const code = (promise: Promise<unknown>) =>
  promise.then(
    () => "resolved",
    (error) => error.code,
  );

describe("an answer from outside", () => {
  it("is delivered by the process that holds the lease, once", async () => {
    const { clock, home, away, ends, last, stop } = pair();
    await home.lull.start();
    await home.hear("a");
    await clock.advance(8_000);
    expect(await last().reply("hello")).toEqual({ replyId: expect.any(String), duplicate: false });
    await clock.advance(1_000);
    expect(home.sent).toMatchObject([{ text: "hello", covers: ["a"] }]);
    expect(away.sent).toEqual([]);
    expect(ends).toEqual(["answered"]);
    expect((await home.lull.get("c"))?.state).toBe("resting");
    await stop();
  });

  it("reaches a holder that has no hints within one scan, long before its next renewal", async () => {
    const { clock, home, last, stop } = pair({ lease: { leaseMs: 60_000 } }, false);
    await home.lull.start();
    await home.hear("a");
    await clock.advance(8_000);
    await last().reply("hello");
    await clock.advance(1_200);
    expect(home.texts()).toEqual(["hello"]);
    await stop();
  });

  it("is told when to come back before the user was quiet, or waits", async () => {
    const { clock, home, last, stop } = pair();
    await home.lull.start();
    const beganMs = clock.now();
    await home.hear("a");
    await clock.advance(2_000);
    const early = await last()
      .reply("hello")
      .catch((error) => error);
    expect(early).toMatchObject({ code: "early", retryable: true, details: { atMs: beganMs + 6_000 } });
    expect(await code(last().reply("hello", { waitMs: 1_000 }))).toBe("early");
    const waiting = last().reply("hello", { waitMs: 10_000 });
    await clock.advance(10_000);
    expect(await waiting).toMatchObject({ duplicate: false });
    expect(home.sent).toMatchObject([{ text: "hello", atMs: 6_000 }]);
    await stop();
  });

  it("given twice stands once; a second one changes nothing", async () => {
    const { clock, home, last, stop } = pair();
    await home.lull.start();
    await home.hear("a");
    await clock.advance(8_000);
    const first = await last().reply("hello");
    expect(await last().reply("other")).toEqual({ ...first, duplicate: true });
    await clock.advance(1_000);
    expect(await last().reply("other")).toEqual({ ...first, duplicate: true });
    expect(home.texts()).toEqual(["hello"]);
    await stop();
  });

  it("given again is known, although its call is what ends a hand-off", async () => {
    const { clock, home, away, last, stop } = pair();
    await home.lull.start();
    await home.hear("a");
    await clock.advance(8_000);
    const first = await last().reply("hello");
    await clock.advance(1_000);
    await away.lull.handoff("c", { forMs: 5_000 });
    await clock.advance(6_000);
    expect(await last().reply("hello")).toEqual({ ...first, duplicate: true });
    await stop();
  });

  it("may be silence", async () => {
    const { clock, home, ends, last, stop } = pair();
    await home.lull.start();
    await home.hear("a");
    await clock.advance(8_000);
    expect(await last().reply(null)).toEqual({ replyId: null, duplicate: false });
    await clock.advance(1_000);
    expect(ends).toEqual(["answered"]);
    expect(await home.lull.reply("c", 1)).toMatchObject({ outcome: "silent" });
    await stop();
  });

  it("that came too late is refused: newer input, a hand-off, a reset, an error, an erasure", async () => {
    const ways: [string, (w: ReturnType<typeof pair>) => Promise<unknown>][] = [
      ["superseded", ({ home }) => home.hear("b")],
      ["handed-off", ({ away }) => away.lull.handoff("c")],
      ["handed-off", ({ away }) => away.lull.humanReply("c", { text: "Ada here" })],
      ["reset", ({ away }) => away.lull.reset("c")],
      ["lost", ({ away }) => away.lull.erase("c")],
      ["lost", ({ last }) => last().fail("no idea")],
    ];
    for (const [reason, happen] of ways) {
      const w = pair();
      await w.home.lull.start();
      await w.home.hear("a");
      await w.clock.advance(8_000);
      const handle = w.last();
      await happen(w);
      expect([reason, await code(handle.reply("late"))]).toEqual([reason, reason]);
      expect([reason, await code(handle.say("late"))]).toEqual([reason, reason]);
      expect([reason, await code(handle.begin("k"))]).toEqual([reason, reason]);
      expect([reason, await code(handle.seal())]).toEqual([reason, reason]);
      expect(await handle.status()).toMatchObject({ wanted: false, reason, newer: [] });
      expect(w.home.texts()).toEqual([]);
      await w.stop();
    }
  });

  it("that does not come in time fails the attempt", async () => {
    const { clock, home, refs, ends, stop } = pair({ lease: { turnTimeoutMs: 20_000, leaseMs: 6_000 } });
    await home.lull.start();
    await home.hear("a");
    await clock.advance(30_000);
    expect(ends).toEqual(["timed-out"]);
    expect(refs).toHaveLength(2);
    expect(home.types()).toContain("attempt.failed");
    await stop();
  });

  it("waits for quiet beyond the attempt's own time", async () => {
    const { clock, home, ends, last, stop } = pair({
      lease: { turnTimeoutMs: 4_000, leaseMs: 3_000 },
      debounce: { quietMs: 9_000, startMs: 1_000 },
    });
    await home.lull.start();
    await home.hear("a");
    await clock.advance(1_500);
    const waiting = last().reply("hello", { waitMs: 20_000 });
    await clock.advance(12_000);
    await waiting;
    expect(ends).toEqual(["answered"]);
    expect(home.sent).toMatchObject([{ text: "hello", atMs: 9_000 }]);
    await stop();
  });

  it("goes on when the holder dies: the turn is run again, and the old name is refused", async () => {
    const { clock, store, away, refs } = pair();
    const stands = gate(() => Promise.resolve());
    const respond = (turn: Turn) => {
      refs.push(turn.ref);
      return turn.elsewhere();
    };
    const own = { random: clock.random, id: clock.id };
    const doomed = bot(
      { respond, clock: clockBehind(stands, clock, own) },
      { clock, store: storeBehind(stands, store) },
    );
    await doomed.lull.start();
    await doomed.hear("a");
    await clock.advance(8_000);
    expect(refs).toHaveLength(1);
    stands.die();
    const next = bot({ respond }, { clock, store });
    await next.lull.start();
    await clock.advance(60_000);
    expect(refs).toHaveLength(2);
    const [old, fresh] = refs as [AttemptRef, AttemptRef];
    expect(await code(away.lull.attempt(old).reply("stale"))).toBe("lost");
    await away.lull.attempt(fresh).reply("fresh");
    await clock.advance(2_000);
    expect(next.texts()).toEqual(["fresh"]);
    expect(doomed.texts()).toEqual([]);
    await next.lull.stop();
  });

  it("given although the holder has died is delivered by the next one, and never in doubt", async () => {
    const { clock, store, away } = pair();
    const stands = gate(() => Promise.resolve());
    const refs: AttemptRef[] = [];
    const respond = (turn: Turn) => {
      refs.push(turn.ref);
      return turn.elsewhere();
    };
    const own = { random: clock.random, id: clock.id };
    const doomed = bot(
      { respond, clock: clockBehind(stands, clock, own) },
      { clock, store: storeBehind(stands, store) },
    );
    await doomed.lull.start();
    await doomed.hear("a");
    await clock.advance(8_000);
    stands.die();
    await away.lull.attempt(refs[0] as AttemptRef).reply("hello");
    const next = bot({ respond }, { clock, store });
    await next.lull.start();
    await clock.advance(60_000);
    expect(next.texts()).toEqual(["hello"]);
    expect(refs).toHaveLength(1);
    const receipts = (await next.lull.log("c")).filter((entry) => entry.kind === "receipt");
    expect(receipts.map(({ state }) => state)).toEqual(["sent"]);
    await next.lull.stop();
  });
});

describe("what a turn may do, from outside", () => {
  it("says part by part, in order, and ends with the rest", async () => {
    const { clock, home, ends, last, stop } = pair();
    await home.lull.start();
    await home.hear("a");
    await clock.advance(8_000);
    expect(await last().say("one")).toMatchObject({ index: 0 });
    await home.hear("b");
    expect(await last().say("two", { index: 1 })).toMatchObject({ index: 1 });
    expect(await last().say("two", { index: 1 })).toMatchObject({ index: 1 });
    expect(await code(last().say("five", { index: 4 }))).toBe("invalid-argument");
    await clock.advance(1_000);
    expect(home.texts()).toEqual(["one", "two"]);
    expect(ends).toEqual([]);
    expect(await last().status()).toMatchObject({
      wanted: true,
      sealed: true,
      reply: { open: true, parts: ["sent", "sent"] },
      newer: [{ id: "b" }],
    });
    expect(await last().reply(["three"])).toMatchObject({ duplicate: false });
    await clock.advance(1_000);
    expect(home.texts()).toEqual(["one", "two", "three"]);
    expect(ends).toEqual(["answered"]);
    const entries = await home.lull.log("c");
    expect(entries.filter(({ kind }) => kind === "reply")).toHaveLength(1);
    await stop();
  });

  it("closes what was said with nothing further", async () => {
    const { clock, home, last, stop } = pair();
    await home.lull.start();
    await home.hear("a");
    await clock.advance(8_000);
    await last().say("one");
    await clock.advance(1_000);
    const handle = last();
    expect(await handle.reply(null)).toMatchObject({ duplicate: false });
    expect(await handle.reply(null)).toMatchObject({ duplicate: true });
    await clock.advance(1_000);
    expect(await home.lull.reply("c", 1)).toMatchObject({ outcome: "delivered", parts: [{ text: "one" }] });
    expect((await home.lull.get("c"))?.state).toBe("resting");
    await stop();
  });

  it("does a thing once over all attempts, and is told", async () => {
    const { clock, home, away, refs, last, stop } = pair();
    await home.lull.start();
    await home.hear("a");
    await clock.advance(2_000);
    expect(await code(last().begin("book"))).toBe("early");
    expect(await last().begin("look", { readOnly: true })).toMatchObject({ state: "run", inDoubt: false });
    await last().drop("look");
    await clock.advance(6_000);
    const begun = await last().begin("book");
    expect(begun).toMatchObject({ state: "run", inDoubt: false });
    // Whoever asks again under the same name cannot know how far the first one came.
    expect(await last().begin("book")).toEqual({ ...begun, inDoubt: true });
    expect(await code(last().end("never begun", 1))).toBe("invalid-argument");
    expect(await last().end("book", { room: 7 })).toBe("recorded");
    expect(await last().end("book", { room: 8 })).toBe("recorded");
    await home.hear("b");
    await clock.advance(8_000);
    expect(refs).toHaveLength(2);
    expect((await last().status()).effects).toEqual([{ key: "book", state: "done", value: { room: 7 } }]);
    expect(await last().begin("book")).toEqual({ ...begun, state: "done", value: { room: 7 }, inDoubt: undefined });
    await last().reply("booked");
    await clock.advance(1_000);
    // After its turn has ended a result still reaches the log, once.
    const old = away.lull.attempt(refs[0] as AttemptRef);
    expect(await old.end("late", 1)).toBe("late");
    expect(await old.end("late", 1)).toBe("late");
    const effects = (await home.lull.log("c")).filter((entry) => entry.kind === "effect");
    expect(effects.map(({ key, late }) => [key, late])).toEqual([
      ["book", undefined],
      ["late", true],
    ]);
    await stop();
  });

  it("keeps the next attempt waiting for an effect that is under way, as long as it says so", async () => {
    const { clock, home, refs, last, stop } = pair();
    await home.lull.start();
    await home.hear("a");
    await clock.advance(8_000);
    await last().begin("book");
    const first = last();
    await home.hear("b");
    for (let at = 0; at < 5; at += 1) {
      await clock.advance(10_000);
      await first.renew();
    }
    expect(refs).toHaveLength(1);
    expect(await first.end("book", 7)).toBe("recorded");
    await clock.advance(2_000);
    expect(refs).toHaveLength(2);
    expect((await last().status()).effects).toEqual([{ key: "book", state: "done", value: 7 }]);
    await stop();
  });

  it("tells of an effect whose end nobody saw", async () => {
    const { clock, home, refs, last, stop } = pair();
    await home.lull.start();
    await home.hear("a");
    await clock.advance(8_000);
    await last().begin("book");
    await home.hear("b");
    await clock.advance(45_000);
    expect(refs).toHaveLength(2);
    expect((await last().status()).effects).toEqual([{ key: "book", state: "unknown" }]);
    expect(await last().begin("book")).toMatchObject({ state: "run", inDoubt: true });
    await stop();
  });

  it("seals, and takes newer input in", async () => {
    const { clock, home, last, stop } = pair({ whenBusy: "steer" });
    await home.lull.start();
    await home.hear("a");
    await clock.advance(3_000);
    await home.hear("b");
    expect((await last().status()).newer).toMatchObject([{ id: "b" }]);
    expect(await last().absorb()).toMatchObject([{ id: "a" }, { id: "b" }]);
    await clock.advance(7_000);
    await last().seal();
    await home.hear("c");
    await last().reply("both");
    await clock.advance(1_000);
    expect(home.sent).toMatchObject([{ text: "both", covers: ["a", "b"] }]);
    await stop();
  });

  it("covers what was taken in through a process of which the holder heard nothing", async () => {
    const { clock, home, away, last, stop } = pair({ whenBusy: "steer" }, false);
    await home.lull.start();
    await home.hear("a");
    await clock.advance(3_000);
    await away.hear("b");
    await last().absorb();
    await last()
      .reply("both", { waitMs: 0 })
      .catch(() => {});
    await clock.advance(7_000);
    await last().reply("both");
    await clock.advance(2_000);
    expect(home.sent).toMatchObject([{ text: "both", covers: ["a", "b"] }]);
    await stop();
  });

  it.each(["begin", "seal"] as const)(
    "ends the attempt when %s is refused as superseded: whoever asked goes away",
    async (call) => {
      const { clock, home, refs, last, stop } = pair({ whenBusy: "steer" });
      await home.lull.start();
      await home.hear("a");
      await clock.advance(7_000);
      await home.hear("b");
      expect(await code(call === "begin" ? last().begin("book") : last().seal())).toBe("superseded");
      // At the next quiet moment, not at the attempt's deadline.
      await clock.advance(7_000);
      expect(refs).toHaveLength(2);
      expect((await last().status()).newer).toEqual([]);
      await stop();
    },
  );

  it("fails when it says so, and is tried again or parked", async () => {
    const { clock, home, refs, last, stop } = pair({ limits: { maxFailures: 2 }, fallback: "sorry" });
    await home.lull.start();
    await home.hear("a");
    await clock.advance(2_000);
    expect(await last().fail("the model is away", { retryAfterMs: 3_000 })).toBe("retry");
    await clock.advance(10_000);
    expect(refs).toHaveLength(2);
    expect(await last().fail("still away")).toBe("parked");
    await clock.advance(2_000);
    expect(home.texts()).toEqual(["sorry"]);
    await stop();
  });
});

describe("an author who also answers", () => {
  it.each(["reply", "say"] as const)("gives one answer when a %s from outside was faster", async (how) => {
    const refs: AttemptRef[] = [];
    const { clock, home, away, stop } = pair({
      respond: async (turn: Turn) => {
        refs.push(turn.ref);
        await clock.sleep(9_000);
        return `mine: ${textOf(turn)}`;
      },
    });
    await home.lull.start();
    await home.hear("a");
    await clock.advance(8_000);
    const handle = away.lull.attempt(refs[0] as AttemptRef);
    await (how === "reply" ? handle.reply("theirs") : handle.say("theirs"));
    await clock.advance(10_000);
    expect(home.texts()).toEqual(how === "reply" ? ["theirs"] : ["theirs", "mine: a"]);
    expect((await home.lull.get("c"))?.state).toBe("resting");
    await stop();
  });
});

it("refuses a name that none is", () => {
  const { lull } = bot();
  for (const ref of [null, {}, { conversation: "c", fence: 1.5, span: 1, deadlineMs: 1 }])
    expect(() => lull.attempt(ref as never)).toThrow(/ref|turn\.ref/);
});
