// Messages that change after they were sent: edits and retractions.
import { describe, expect, it } from "vitest";
import { bot, textOf } from "../support/bot.ts";

describe("an edit", () => {
  it("of a waiting message replaces its content, and pushes the window", async () => {
    const { clock, lull, turns, sent, hear } = bot();
    await lull.start();
    await hear("a", "b");
    await clock.advance(500);
    expect(await lull.edit("c", "a", { text: "A" })).toMatchObject({ status: "accepted", version: 3 });
    await clock.advance(20_000);
    expect(sent.map(({ text, atMs, covers }) => [text, atMs, covers])).toEqual([
      ["answer to: A | b", 6_500, ["a", "b"]],
    ]);
    expect(turns[0]?.messages.map(({ id, edited }) => [id, edited])).toEqual([
      ["a", true],
      ["b", false],
    ]);
    await lull.stop();
  });

  it("during the attempt discards it", async () => {
    const { clock, lull, turns, texts, hear } = bot({}, { modelMs: 10_000 });
    await lull.start();
    await hear("a");
    await clock.advance(3_000);
    await lull.edit("c", "a", { text: "A" });
    await clock.advance(30_000);
    expect(turns[0]?.signal.reason).toMatchObject({ code: "superseded" });
    expect(texts()).toEqual(["answer to: A"]);
    await lull.stop();
  });

  it("that changes nothing is no news", async () => {
    const { clock, lull, turns, hear } = bot({}, { modelMs: 10_000 });
    await lull.start();
    await hear("a");
    await clock.advance(3_000);
    expect((await lull.edit("c", "a", { text: "a" })).status).toBe("unchanged");
    await clock.advance(30_000);
    expect(turns).toHaveLength(1);
    await lull.stop();
  });

  it("that comes twice counts once", async () => {
    const { lull, hear } = bot();
    await hear("a");
    const first = await lull.edit("c", "a", { id: "e", text: "A" });
    expect(await lull.edit("c", "a", { id: "e", text: "A" })).toEqual({ ...first, status: "duplicate" });
    await lull.edit("c", "a", { sentAt: 5, text: "B" });
    expect((await lull.edit("c", "a", { sentAt: 5, text: "B" })).status).toBe("duplicate");
    expect((await lull.get("c"))?.version).toBe(3);
  });

  it("of an answered message is ignored", async () => {
    const { clock, lull, texts, hear } = bot();
    await lull.start();
    await hear("a");
    await clock.advance(20_000);
    expect((await lull.edit("c", "a", { text: "A" })).status).toBe("ignored");
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: a"]);
    expect((await lull.log("c")).at(-1)).toMatchObject({ kind: "edit", aside: "answered" });
    await lull.stop();
  });

  it("of an answered message is new input where the author wants it", async () => {
    const { clock, lull, turns, texts, hear } = bot({ editAfterAnswer: "new-input" });
    await lull.start();
    await hear("a");
    await clock.advance(20_000);
    expect((await lull.edit("c", "a", { text: "A" })).status).toBe("accepted");
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: a", "answer to: A"]);
    expect(turns[1]?.messages[0]).toMatchObject({ editOf: "a", edited: true });
    await lull.stop();
  });

  it("of a message whose answer waits for its channel takes the answer back", async () => {
    const { clock, lull, hear, ...seen } = bot({
      deliver: (_part, { attempt, replyId }) => {
        tries.push([replyId, attempt]);
        return Promise.resolve(
          tries.length === 1
            ? { status: "failed", error: "429", retry: true, retryAfterMs: 9_000 }
            : { status: "sent" },
        );
      },
    });
    const tries: [string, number][] = [];
    await lull.start();
    await hear("a");
    await clock.advance(7_000);
    expect(tries).toHaveLength(1);
    expect((await lull.edit("c", "a", { text: "A" })).status).toBe("accepted");
    await clock.advance(60_000);
    expect(seen.turns.map(textOf)).toEqual(["a", "A"]);
    expect(seen.types()).toContain("reply.withdrawn");
    expect(tries).toHaveLength(2);
    await lull.stop();
  });

  it("that arrives before its message is the message", async () => {
    const { clock, lull, texts } = bot();
    await lull.start();
    expect((await lull.edit("c", "a", { text: "A" })).status).toBe("accepted");
    expect(await lull.receive("c", { id: "a", text: "a" })).toMatchObject({ status: "duplicate", version: 1 });
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: A"]);
    await lull.stop();
  });

  it("completes an incomplete message, even after it was answered", async () => {
    const { clock, lull, texts } = bot();
    await lull.start();
    await lull.receive("c", { id: "a", text: "voice message", incomplete: true });
    await clock.advance(30_000);
    expect(texts()).toEqual(["answer to: voice message"]);
    const completed = await lull.edit("c", "a", { text: "what it said", incomplete: false });
    expect(completed.status).toBe("accepted");
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: voice message", "answer to: what it said"]);
    await lull.stop();
  });

  it("of an unknown field is refused, by name", async () => {
    const { lull } = bot();
    await expect(lull.edit("c", "a", { text: "A", quietMs: -1 })).rejects.toMatchObject({
      details: { field: "quietMs" },
    });
    await expect(lull.edit("c", "", { text: "A" })).rejects.toMatchObject({ details: { field: "messageId" } });
  });
});

describe("a retraction", () => {
  it("of one of several waiting messages removes it", async () => {
    const { clock, lull, texts, hear } = bot();
    await lull.start();
    await hear("a", "b");
    expect(await lull.retract("c", "a")).toMatchObject({ status: "accepted", version: 3 });
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: b"]);
    await lull.stop();
  });

  it("of the only message leaves nothing to answer", async () => {
    const { clock, lull, turns, hear, types } = bot();
    await lull.start();
    await hear("a");
    await lull.retract("c", "a");
    await clock.advance(20_000);
    expect(turns).toHaveLength(0);
    expect(types()).toContain("inputs.settled");
    expect(await lull.get("c")).toMatchObject({ state: "resting", answered: 2, wakeAtMs: null });
    await lull.stop();
  });

  it("of the only message during the attempt aborts it, in silence", async () => {
    const { clock, lull, turns, texts, hear } = bot({}, { modelMs: 10_000 });
    await lull.start();
    await hear("a");
    await clock.advance(3_000);
    await lull.retract("c", "a");
    await clock.advance(0);
    expect(turns[0]?.signal.aborted).toBe(true);
    await clock.advance(60_000);
    expect(turns).toHaveLength(1);
    expect(texts()).toEqual([]);
    expect(await lull.get("c")).toMatchObject({ state: "resting", wakeAtMs: null });
    await lull.stop();
  });

  it("of one of two messages during the attempt answers the other", async () => {
    const { clock, lull, texts, hear } = bot({}, { modelMs: 10_000 });
    await lull.start();
    await hear("a", "b");
    await clock.advance(3_000);
    await lull.retract("c", "b");
    await clock.advance(60_000);
    expect(texts()).toEqual(["answer to: a"]);
    await lull.stop();
  });

  it("of an answered message is noted", async () => {
    const { clock, lull, turns, hear } = bot();
    await lull.start();
    await hear("a");
    await clock.advance(20_000);
    expect((await lull.retract("c", "a")).status).toBe("ignored");
    await clock.advance(20_000);
    expect(turns).toHaveLength(1);
    expect((await lull.log("c")).at(-1)).toMatchObject({ kind: "retraction", aside: "answered" });
    await lull.stop();
  });

  it("that arrives before its message removes it when it comes", async () => {
    const { clock, lull, turns } = bot();
    await lull.start();
    await lull.retract("c", "a");
    expect((await lull.receive("c", { id: "a", text: "a" })).status).toBe("duplicate");
    await clock.advance(20_000);
    expect(turns).toHaveLength(0);
    await lull.stop();
  });

  it("that comes twice counts once", async () => {
    const { lull, hear } = bot();
    await hear("a", "b");
    const first = await lull.retract("c", "a");
    expect(await lull.retract("c", "a")).toEqual({ ...first, status: "duplicate" });
  });

  it("is possible when the conversation is full", async () => {
    const { lull, hear } = bot({ limits: { maxPending: 2 } });
    await hear("a", "b");
    expect((await lull.retract("c", "a")).status).toBe("accepted");
  });
});
