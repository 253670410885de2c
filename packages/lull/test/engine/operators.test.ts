// What operators want, and the bot of its own accord.
import { describe, expect, it } from "vitest";
import { bot, textOf } from "../support/bot.ts";

describe("send", () => {
  it("goes out at once when all is quiet, to the newest address", async () => {
    const addresses: unknown[] = [];
    const { clock, lull } = bot({
      deliver: async (_part, { address, cause, covers }) => {
        addresses.push([address, cause, covers]);
        return { status: "sent" };
      },
    });
    await lull.start();
    await lull.receive("c", { text: "hi", address: { chat: 5 } });
    await clock.advance(20_000);
    addresses.length = 0;
    expect(await lull.send("c", { text: "still there?" })).toMatchObject({ status: "queued" });
    await lull.send("c", { text: "elsewhere", address: { chat: 6 } });
    await clock.advance(1_000);
    expect(addresses).toEqual([
      [{ chat: 5 }, "send", []],
      [{ chat: 6 }, "send", []],
    ]);
    expect((await lull.get("c"))?.state).toBe("resting");
    await lull.stop();
  });

  it("begins a conversation", async () => {
    const { clock, lull, texts } = bot();
    await lull.start();
    await lull.send("c", { parts: ["welcome", "how are you?"] });
    await clock.advance(1_000);
    expect(texts()).toEqual(["welcome", "how are you?"]);
    await lull.stop();
  });

  it("after-turn: waits for the answer", async () => {
    const { clock, lull, texts, hear } = bot();
    await lull.start();
    await hear("a");
    await clock.advance(2_000);
    expect((await lull.send("c", { text: "by the way" })).status).toBe("queued");
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: a", "by the way"]);
    await lull.stop();
  });

  it("after-turn: does not wait for turns that begin later", async () => {
    const { clock, lull, texts, hear } = bot({ whenBusy: "queue" }, { modelMs: 3_000 });
    await lull.start();
    await hear("a");
    await clock.advance(2_000);
    await lull.send("c", { text: "by the way" });
    await clock.advance(5_000);
    await hear("b");
    await clock.advance(60_000);
    expect(texts()).toEqual(["answer to: a", "by the way", "answer to: b"]);
    await lull.stop();
  });

  it("if-quiet: is dropped while somebody waits for an answer, or a human has taken over", async () => {
    const { clock, lull, texts, hear } = bot();
    await lull.start();
    await hear("a");
    expect((await lull.send("c", { text: "x", when: "if-quiet" })).status).toBe("dropped");
    await clock.advance(20_000);
    await lull.handoff("c");
    expect((await lull.send("c", { text: "x", when: "if-quiet" })).status).toBe("dropped");
    await lull.resume("c");
    expect((await lull.send("c", { text: "still there?", when: "if-quiet" })).status).toBe("queued");
    await clock.advance(1_000);
    expect(texts()).toEqual(["answer to: a", "still there?"]);
    await lull.stop();
  });

  it("happens once for each id", async () => {
    const { clock, lull, texts, hear } = bot();
    await lull.start();
    const first = await lull.send("c", { id: "s", text: "hello" });
    const both = await Promise.all([
      lull.send("c", { id: "s", text: "hello" }),
      lull.send("c", { id: "s", text: "hello" }),
    ]);
    expect(both).toEqual(Array(2).fill({ status: "duplicate", replyId: first.replyId }));
    await clock.advance(1_000);
    await hear("a");
    // Told as a repetition even where a new one would be dropped.
    expect((await lull.send("c", { id: "s", text: "hello", when: "if-quiet" })).status).toBe("duplicate");
    await clock.advance(20_000);
    expect(texts()).toEqual(["hello", "answer to: a"]);
    await lull.stop();
  });

  it("is refused when too many wait", async () => {
    const { lull, hear } = bot({ limits: { maxSends: 2 } });
    await hear("a");
    const statuses = [];
    for (const text of ["1", "2", "3"]) statuses.push((await lull.send("c", { text })).status);
    expect(statuses).toEqual(["queued", "queued", "full"]);
  });

  it("waits for the end of a hand-off", async () => {
    const { clock, lull, sent } = bot();
    await lull.start();
    await lull.handoff("c", { forMs: 60_000 });
    await lull.send("c", { text: "survey" });
    await clock.advance(59_000);
    expect(sent).toEqual([]);
    await clock.advance(2_000);
    expect(sent.map(({ text, atMs }) => [text, atMs])).toEqual([["survey", 60_000]]);
    await lull.stop();
  });

  it("names what is wrong", async () => {
    const { lull } = bot();
    const cases: [object, string][] = [
      [{}, "text"],
      [{ text: "a", when: "now" }, "when"],
      [{ text: "a", id: "" }, "id"],
      [{ text: "a", metadata: 5 }, "metadata"],
    ];
    for (const [message, field] of cases)
      await expect(lull.send("c", message as never)).rejects.toMatchObject({ details: { field } });
  });
});

describe("handoff", () => {
  it("ends the attempt, keeps the bot silent, and ends by itself: what waited is answered", async () => {
    const { clock, lull, turns, sent, hear } = bot({}, { modelMs: 4_000 });
    await lull.start();
    await hear("a");
    await clock.advance(3_000);
    await lull.handoff("c", { forMs: 60_000, by: "ann" });
    await clock.advance(0);
    expect(turns[0]?.signal.reason).toMatchObject({ code: "handed-off" });
    await hear("b");
    expect(await lull.get("c")).toMatchObject({ state: "handed-off", pending: 2, handoff: { by: "ann" } });
    expect((await lull.stats()).handedOff).toBe(1);
    await clock.advance(59_000);
    expect(sent).toEqual([]);
    await clock.advance(60_000);
    expect(sent.map(({ text, atMs }) => [text, atMs])).toEqual([["answer to: a | b", 67_000]]);
    expect((await lull.get("c"))?.handoff).toBeNull();
    await lull.stop();
  });

  it("may keep what waited as context", async () => {
    const { clock, lull, turns, texts, hear, events } = bot();
    await lull.start();
    await lull.handoff("c", { forMs: 60_000, backlog: "context" });
    await hear("a");
    await clock.advance(70_000);
    expect(turns).toEqual([]);
    expect(events.find(({ type }) => type === "inputs.settled")?.entry).toMatchObject({ outcome: "context" });
    await hear("b");
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: b"]);
    expect((await turns[0]?.log())?.map(({ kind }) => kind)).toContain("message");
    await lull.stop();
  });

  it("cancels the parts that were not sent", async () => {
    const { clock, lull, texts, hear } = bot({
      respond: () => ["1", "2", "3"],
      deliver: async (part) => {
        delivered.push(part.type === "text" ? part.text : "");
        await clock.sleep(1_000);
        return { status: "sent" };
      },
    });
    const delivered: string[] = [];
    await lull.start();
    await hear("a");
    await clock.advance(7_500);
    await lull.handoff("c");
    await clock.advance(60_000);
    expect(delivered).toEqual(["1", "2"]);
    expect(texts()).toEqual([]);
    expect(await lull.get("c")).toMatchObject({ state: "handed-off", answered: 1, outbox: null });
    await lull.stop();
  });

  it("of a reply of which nothing was sent leaves its messages unanswered", async () => {
    let refuse = true;
    const { clock, lull, hear, turns } = bot({
      deliver: async () => (refuse ? { status: "failed", error: "429", retry: true, retryAfterMs: 60_000 } : undefined),
    });
    await lull.start();
    await hear("a");
    await clock.advance(7_000);
    await lull.handoff("c", { forMs: 100_000 });
    expect(await lull.get("c")).toMatchObject({ state: "handed-off", pending: 1, answered: 0 });
    refuse = false;
    await lull.resume("c");
    await clock.advance(20_000);
    expect(turns).toHaveLength(2);
    expect(await lull.get("c")).toMatchObject({ state: "resting", answered: 1 });
    await lull.stop();
  });

  it("has a ceiling", async () => {
    const { clock, lull } = bot({ limits: { maxHandoffMs: 60_000 } });
    await lull.handoff("c", { forMs: 10_000_000 });
    expect((await lull.get("c"))?.handoff?.untilMs).toBe(clock.now() + 60_000);
    for (const [call, field] of [
      [{ forMs: 0 }, "forMs"],
      [{ backlog: "later" }, "backlog"],
      [{ by: "" }, "by"],
    ] as const)
      await expect(lull.handoff("c", call as never)).rejects.toMatchObject({ details: { field } });
  });

  it("can be ended: answering what waited, or keeping it as context", async () => {
    for (const [backlog, answers] of [
      ["answer", ["answer to: a"]],
      ["context", []],
      [undefined, ["answer to: a"]],
    ] as const) {
      const { clock, lull, texts, hear } = bot();
      await lull.start();
      await lull.handoff("c", { backlog: "context" });
      await hear("a");
      await clock.advance(30_000);
      await lull.resume("c", backlog === undefined ? {} : { backlog });
      await clock.advance(30_000);
      expect(texts()).toEqual(answers);
      expect(await lull.get("c")).toMatchObject({ state: "resting", handoff: null });
      await lull.stop();
    }
  });

  it("happens once for each id", async () => {
    const { clock, lull } = bot();
    await lull.handoff("c", { id: "h", forMs: 10_000 });
    const { handoff } = (await lull.get("c")) ?? {};
    await clock.advance(5_000);
    await lull.handoff("c", { id: "h", forMs: 10_000 });
    expect((await lull.get("c"))?.handoff).toEqual(handoff);
  });
});

describe("humanReply", () => {
  it("settles everything, and is in the log", async () => {
    const { clock, lull, turns, hear } = bot({}, { modelMs: 4_000 });
    await lull.start();
    await hear("a", "b");
    await clock.advance(2_000);
    await lull.humanReply("c", { id: "h", text: "I am on it", author: "ann" });
    await clock.advance(60_000);
    expect(turns).toHaveLength(1);
    expect(turns[0]?.signal.aborted).toBe(true);
    expect(await lull.get("c")).toMatchObject({ state: "resting", answered: 2 });
    expect((await lull.log("c")).find(({ kind }) => kind === "human")).toMatchObject({
      author: "ann",
      upTo: 2,
      parts: [{ text: "I am on it" }],
    });
    expect(await lull.reply("c", 1)).toMatchObject({ outcome: "human", covers: ["a", "b"] });
    await lull.stop();
  });

  it("settles what the human had seen; the rest is answered", async () => {
    for (const upTo of [1, "a"]) {
      const { clock, lull, texts, hear } = bot();
      await lull.start();
      await hear("a");
      await clock.advance(500);
      await hear("b");
      await lull.humanReply("c", { text: "to a", upTo });
      await clock.advance(60_000);
      expect(texts()).toEqual(["answer to: b"]);
      await lull.stop();
    }
  });

  it("up to something older settles nothing", async () => {
    const { clock, lull, texts, hear } = bot();
    await lull.start();
    await hear("a");
    await clock.advance(20_000);
    await hear("b");
    await lull.humanReply("c", { text: "to a", upTo: "a" });
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: a", "answer to: b"]);
    await lull.stop();
  });

  it("names what is wrong", async () => {
    const { lull } = bot();
    for (const upTo of [-1, 0.5, {}])
      await expect(lull.humanReply("c", { text: "x", upTo: upTo as never })).rejects.toMatchObject({
        details: { field: "upTo" },
      });
    await expect(lull.humanReply("c", {})).rejects.toMatchObject({ details: { field: "text" } });
  });
});

describe("reset", () => {
  it("drops what waits and whoever answers, and ends a hand-off", async () => {
    const { clock, lull, turns, texts, hear } = bot({}, { modelMs: 4_000 });
    await lull.start();
    await hear("a");
    await clock.advance(2_000);
    await lull.send("c", { text: "never" });
    await lull.reset("c", { by: "ann" });
    await clock.advance(0);
    expect(turns[0]?.signal.reason).toMatchObject({ code: "reset" });
    await clock.advance(60_000);
    expect(texts()).toEqual([]);
    expect(await lull.get("c")).toMatchObject({ state: "resting", answered: 1, wakeAtMs: null });
    expect(await lull.reply("c", 1)).toMatchObject({ outcome: "dropped" });
    await lull.handoff("c");
    await lull.reset("c");
    expect((await lull.get("c"))?.handoff).toBeNull();
    await hear("b");
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: b"]);
    await lull.stop();
  });

  it("lets a part on its way arrive", async () => {
    const arrived: string[] = [];
    const { clock, lull, hear } = bot({
      respond: () => ["1", "2"],
      deliver: async (part) => {
        await clock.sleep(2_000);
        arrived.push(part.type === "text" ? part.text : "");
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(7_000);
    await lull.reset("c");
    await clock.advance(60_000);
    expect(arrived).toEqual(["1"]);
    expect((await lull.get("c"))?.state).toBe("resting");
    await lull.stop();
  });
});

describe("retry", () => {
  it("brings back what was last ended without an answer", async () => {
    let silent = true;
    const { clock, lull, texts, hear } = bot({ respond: (turn) => (silent ? null : `answer to: ${textOf(turn)}`) });
    await lull.start();
    await hear("a", "b");
    await clock.advance(20_000);
    silent = false;
    expect(await lull.retry("c", { by: "ann" })).toEqual({ revived: 2 });
    await clock.advance(5_000);
    expect(texts()).toEqual(["answer to: a | b"]);
    expect(await lull.retry("c")).toEqual({ revived: 0 });
    await lull.stop();
  });

  it("of nothing is nothing", async () => {
    const { lull } = bot();
    expect(await lull.retry("nobody")).toEqual({ revived: 0 });
    expect(await lull.get("nobody")).toBeNull();
  });
});

describe("erase", () => {
  it("while answering aborts the attempt; nothing comes back", async () => {
    const { clock, lull, turns, texts, hear } = bot({
      respond: async (turn) => {
        const effect = turn.once("slow", () => clock.sleep(8_000).then(() => "secret"), { readOnly: true });
        await effect;
        return `answer to: ${textOf(turn)}`;
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(3_000);
    expect(await lull.erase("c")).toBe(true);
    await clock.advance(0);
    expect(turns[0]?.signal.reason).toMatchObject({ code: "lost" });
    await clock.advance(120_000);
    expect(texts()).toEqual([]);
    expect(await lull.get("c")).toBeNull();
    expect(await lull.log("c")).toEqual([]);
    expect(await lull.erase("c")).toBe(false);
    expect(lull.working).toBe(0);
    // The same id is new.
    expect((await lull.receive("c", { id: "a", text: "a" })).status).toBe("accepted");
    await lull.stop();
  });

  it("while a part waits for its next try ends that", async () => {
    const { clock, lull, hear, types } = bot({
      deliver: async () => ({ status: "failed", error: "429", retry: true, retryAfterMs: 10_000 }),
    });
    await lull.start();
    await hear("a");
    await clock.advance(7_000);
    await lull.erase("c");
    await clock.advance(60_000);
    expect(types().filter((type) => type === "part.retrying")).toHaveLength(1);
    expect(await lull.get("c")).toBeNull();
    await lull.stop();
  });
});

describe("control words", () => {
  const commands = { stop: ["stop", "Halt!"], reset: ["/reset"] };

  it("act at arrival, before any window, and are not answered", async () => {
    for (const [word, forgets] of [
      [" STOP ", false],
      ["halt!", false],
      ["/Reset", true],
    ] as const) {
      const { clock, lull, turns, texts, hear } = bot({ commands }, { modelMs: 4_000 });
      await lull.start();
      await hear("a");
      await clock.advance(3_000);
      await hear(word);
      await clock.advance(0);
      expect(turns[0]?.signal.reason).toMatchObject({ code: "reset" });
      await clock.advance(60_000);
      expect(texts()).toEqual([]);
      expect((await lull.get("c"))?.state).toBe("resting");
      await hear("b");
      await clock.advance(60_000);
      expect(texts()).toEqual(["answer to: b"]);
      expect((await turns[1]?.log())?.length === 0).toBe(forgets);
      expect((await lull.log("c")).find(({ kind }) => kind === "reset")).toMatchObject({ forget: forgets });
      await lull.stop();
    }
  });

  it("act once, however often they arrive", async () => {
    const { lull, clock, texts, hear } = bot({ commands });
    await lull.start();
    await hear("stop", "a");
    expect((await lull.receive("c", { id: "stop", text: "stop" })).status).toBe("duplicate");
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: a"]);
    await lull.stop();
  });

  it("are whole messages of text only", async () => {
    const { clock, lull, texts } = bot({ commands });
    await lull.start();
    await lull.receive("c", { text: "please stop" });
    await lull.receive("c", { parts: ["stop", { type: "data", data: 1 }] });
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: please stop | stop"]);
    await lull.stop();
  });

  it("act in a full conversation", async () => {
    const { lull, hear } = bot({ commands, limits: { maxPending: 2 } });
    await hear("a", "b");
    expect((await lull.receive("c", { text: "stop" })).status).toBe("accepted");
    expect((await lull.get("c"))?.pending).toBe(0);
  });
});

describe("the backlog rule", () => {
  const rule = (then: "answer" | "context") => ({ backlog: { maxAgeMs: 60_000, then } });

  it("keeps messages that are too old as context", async () => {
    const { clock, lull, turns, texts } = bot(rule("context"));
    await lull.start();
    const nowMs = clock.now();
    const old = await lull.receive("c", { text: "old", sentAt: nowMs - 60_001 });
    expect(old).toMatchObject({ status: "accepted", startAtMs: null, quietAtMs: null });
    await lull.receive("c", { text: "fresh", sentAt: nowMs - 60_000 });
    await lull.receive("c", { text: "timeless" });
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: fresh | timeless"]);
    expect((await turns[0]?.log())?.map(({ kind }) => kind)).toEqual(["message"]);
    await lull.stop();
  });

  it("answers them by default", async () => {
    const { clock, lull, texts } = bot(rule("answer"));
    await lull.start();
    await lull.receive("c", { text: "old", sentAt: clock.now() - 600_000 });
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: old"]);
    await lull.stop();
  });
});

describe("repliesPerHour", () => {
  it("slows two bots down that answer each other; nothing is lost", async () => {
    const { clock, lull, sent, hear } = bot(
      { limits: { repliesPerHour: 3 }, debounce: { quietMs: 1_000, startMs: 0 } },
      { modelMs: 100 },
    );
    await lull.start();
    for (let n = 0; n < 10; n += 1) {
      await hear(`${n}`);
      await clock.advance(10_000);
    }
    expect(sent.map(({ covers }) => covers)).toEqual([["0"], ["1"], ["2"]]);
    await clock.advance(3_600_000);
    expect(sent.map(({ covers }) => covers.length)).toEqual([1, 1, 1, 7]);
    expect(sent[3]?.atMs).toBeGreaterThanOrEqual(3_600_000);
    await lull.stop();
  });
});
