// What makes the bot wait longer or shorter: typing, incomplete messages, messages that cannot wait, flush.
import { describe, expect, it } from "vitest";
import { bot } from "../support/bot.ts";

describe("typing", () => {
  it("holds the window, and ends with the message", async () => {
    const { clock, lull, sent, hear } = bot();
    await lull.start();
    await hear("a");
    await clock.advance(500);
    await lull.typing("c", { forMs: 10_000 });
    await clock.advance(4_500);
    await hear("b");
    await clock.advance(30_000);
    expect(sent.map(({ text, atMs }) => [text, atMs])).toEqual([["answer to: a | b", 11_000]]);
    await lull.stop();
  });

  it("expires by itself", async () => {
    const { clock, lull, turns, sent, hear } = bot();
    await lull.start();
    await hear("a");
    await lull.typing("c", { forMs: 8_000 });
    await clock.advance(7_999);
    expect(turns).toHaveLength(0);
    await clock.advance(20_000);
    expect(sent[0]?.atMs).toBe(10_000);
    await lull.stop();
  });

  it("ends when the user stops", async () => {
    const { clock, lull, sent, hear } = bot();
    await lull.start();
    await hear("a");
    await lull.typing("c", { forMs: 20_000 });
    await clock.advance(2_000);
    await lull.typing("c", { on: false });
    await clock.advance(20_000);
    expect(sent[0]?.atMs).toBe(6_000);
    await lull.stop();
  });

  it("never holds beyond the cap", async () => {
    const { clock, lull, sent, hear } = bot({ debounce: { quietMs: 2_000, maxWaitMs: 10_000 } }, { modelMs: 500 });
    await lull.start();
    await hear("a");
    for (let at = 0; at < 20; at += 1) {
      await lull.typing("c");
      await clock.advance(1_000);
    }
    expect(sent[0]?.atMs).toBe(10_500);
    await lull.stop();
  });

  it("of a conversation without messages is nothing", async () => {
    const { lull } = bot();
    await lull.typing("nobody");
    expect(await lull.get("nobody")).toBeNull();
    await expect(lull.typing("c", { forMs: 0.5 })).rejects.toMatchObject({ details: { field: "forMs" } });
  });

  it("holds an answer that is ready", async () => {
    const { clock, lull, sent, hear } = bot();
    await lull.start();
    await hear("a");
    await clock.advance(5_000);
    await lull.typing("c", { forMs: 5_000 });
    await clock.advance(20_000);
    expect(sent[0]?.atMs).toBe(10_000);
    await lull.stop();
  });
});

describe("an incomplete message", () => {
  it("holds the window until it is complete", async () => {
    const { clock, lull, texts, sent } = bot();
    await lull.start();
    await lull.receive("c", { id: "a", text: "…", incomplete: true });
    await clock.advance(10_000);
    expect(texts()).toEqual([]);
    await lull.edit("c", "a", { text: "all of it", incomplete: false });
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: all of it"]);
    expect(sent[0]?.atMs).toBe(16_000);
    await lull.stop();
  });

  it("does not hold it for ever", async () => {
    const { clock, lull, turns, sent } = bot();
    await lull.start();
    await lull.receive("c", { id: "a", text: "…", incomplete: true });
    await clock.advance(40_000);
    expect(sent[0]?.atMs).toBe(22_000);
    expect(turns[0]?.messages[0]?.incomplete).toBe(true);
    await lull.stop();
  });
});

describe("a message that cannot wait", () => {
  it("is answered at once", async () => {
    const { clock, lull, sent } = bot();
    await lull.start();
    await lull.receive("c", { text: "button", quietMs: 0 });
    await clock.advance(2_000);
    expect(sent.map(({ atMs }) => atMs)).toEqual([2_000]);
    await lull.stop();
  });

  it("takes what waits along", async () => {
    const { clock, lull, sent, hear } = bot();
    await lull.start();
    await hear("a");
    await clock.advance(500);
    await lull.receive("c", { text: "button", quietMs: 0 });
    await clock.advance(20_000);
    expect(sent.map(({ text, atMs }) => [text, atMs])).toEqual([["answer to: a | button", 2_500]]);
    await lull.stop();
  });
});

describe("flush", () => {
  it("answers without further waiting", async () => {
    const { clock, lull, sent, hear } = bot();
    await lull.start();
    await hear("a");
    await lull.typing("c", { forMs: 20_000 });
    await lull.flush("c");
    await clock.advance(2_000);
    expect(sent.map(({ atMs }) => atMs)).toEqual([2_000]);
    await lull.stop();
  });

  it("lets an answer out that is ready", async () => {
    const { clock, lull, sent, hear } = bot();
    await lull.start();
    await hear("a");
    await clock.advance(4_000);
    expect(sent).toEqual([]);
    await lull.flush("c");
    await clock.advance(0);
    expect(sent.map(({ atMs }) => atMs)).toEqual([4_000]);
    await lull.stop();
  });

  it("lets a side effect go on that waits for quiet", async () => {
    const { clock, lull, sent, hear } = bot({
      respond: async (turn) => {
        await turn.seal();
        return "sealed";
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(4_000);
    await lull.flush("c");
    await clock.advance(0);
    expect(sent.map(({ atMs }) => atMs)).toEqual([4_000]);
    await lull.stop();
  });

  it("of a conversation at rest is nothing", async () => {
    const { lull } = bot();
    await lull.flush("nobody");
    expect(await lull.get("nobody")).toBeNull();
  });
});
