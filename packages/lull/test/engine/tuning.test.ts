// A conversation's own wishes: in the record, so that every process has the same ones.
import { describe, expect, it } from "vitest";
import { memory } from "../../src/index.ts";
import { bot, textOf } from "../support/bot.ts";
import { virtualClock } from "../support/virtual.ts";

describe("a conversation's own wishes", () => {
  it("hold in every process, after every restart, and for no other conversation", async () => {
    const clock = virtualClock();
    const store = memory({ now: () => clock.now() });
    const first = bot({}, { clock, store });
    await first.lull.tune("c", { debounce: { quietMs: 2_000, startMs: 500 } });
    const { lull, sent } = bot({}, { clock, store });
    await lull.start();
    await lull.receive("c", { id: "a", text: "a" });
    await lull.receive("d", { id: "a", text: "a" });
    await clock.advance(20_000);
    expect(sent.map(({ atMs }) => atMs)).toEqual([2_500, 6_000]);
    expect((await lull.get("c"))?.record.tuning).toEqual({ quietMs: 2_000, startMs: 500, maxWaitMs: 45_000 });
    await lull.stop();
  });

  it("are taken back one by one, told once, and cost nothing when nothing changes", async () => {
    const { clock, lull, events, hear, sent } = bot();
    await lull.tune("c", { debounce: "snappy", whenBusy: "queue", by: "ops" });
    const { seq } = (await lull.get("c")) ?? { seq: 0 };
    await lull.tune("c", { debounce: "snappy" });
    expect((await lull.get("c"))?.seq).toBe(seq);
    await lull.tune("c", { whenBusy: null });
    expect((await lull.get("c"))?.record.tuning).toEqual({ quietMs: 3_000, startMs: 1_000, maxWaitMs: 45_000 });
    await lull.tune("c", { debounce: null });
    expect((await lull.get("c"))?.record.tuning).toBeUndefined();
    expect(events.filter(({ type }) => type === "conversation.tuned")).toHaveLength(3);
    expect((await lull.explain("c"))[0]).toContain("by ops");
    await lull.start();
    await hear("a");
    await clock.advance(20_000);
    expect(sent).toMatchObject([{ atMs: 6_000 }]);
    await lull.stop();
  });

  it("act once per call", async () => {
    const { lull } = bot();
    await lull.tune("c", { id: "1", whenBusy: "queue" });
    await lull.tune("c", { id: "2", whenBusy: "steer" });
    await lull.tune("c", { id: "1", whenBusy: "queue" });
    expect((await lull.get("c"))?.record.tuning).toEqual({ whenBusy: "steer" });
  });

  it("may finish every answer here, although the bot interrupts, and the other way round", async () => {
    for (const [bots, own, answers] of [
      ["interrupt", "queue", ["answer to: a", "answer to: b"]],
      ["queue", "interrupt", ["answer to: a | b"]],
    ] as const) {
      const { clock, lull, hear, texts } = bot({ whenBusy: bots }, { modelMs: 10_000 });
      await lull.tune("c", { whenBusy: own });
      await lull.start();
      await hear("a");
      await clock.advance(7_000);
      await hear("b");
      await clock.advance(40_000);
      expect([bots, own, texts()]).toEqual([bots, own, answers]);
      await lull.stop();
    }
  });

  it("may hand newer input to the running attempt", async () => {
    const { clock, lull, hear, texts } = bot({
      respond: async (turn) => {
        await clock.sleep(5_000, turn.signal);
        turn.signal.throwIfAborted();
        await turn.absorb();
        return textOf(turn);
      },
    });
    await lull.tune("c", { whenBusy: "steer" });
    await lull.start();
    await hear("a");
    await clock.advance(3_000);
    await hear("b");
    await clock.advance(20_000);
    expect(texts()).toEqual(["a | b"]);
    await lull.stop();
  });

  it("are the bot's own to set while it answers, and hold from the next message on", async () => {
    const { clock, lull, hear, sent } = bot({
      respond: async (turn) => {
        await turn.tune({ debounce: { quietMs: 1_000, startMs: 0 } });
        return "ok";
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(10_000);
    await hear("b");
    await clock.advance(10_000);
    expect(sent.map(({ atMs }) => atMs)).toEqual([6_000, 11_000]);
    await lull.stop();
  });

  it("are refused when they cannot work, and are gone with the conversation", async () => {
    const { lull } = bot();
    for (const [wishes, field] of [
      [{ debounce: { quietMs: 5, startMs: 9 } }, "debounce"],
      [{ debounce: "quick" }, "debounce"],
      [{ debounce: 7 }, "debounce"],
      [{ whenBusy: "wait" }, "whenBusy"],
    ] as const)
      await expect(lull.tune("c", wishes as never)).rejects.toMatchObject({
        code: "invalid-argument",
        details: { field },
      });
    await lull.tune("c", { whenBusy: "queue" });
    await lull.erase("c");
    expect(await lull.get("c")).toBeNull();
  });
});
