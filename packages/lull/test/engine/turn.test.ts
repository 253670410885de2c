// The turn besides its effects and its saying: what it shows, how it seals, and why it is aborted.
import { describe, expect, it } from "vitest";
import type { LogEntry, Turn } from "../../src/index.ts";
import { bot, textOf } from "../support/bot.ts";

const said = (log: readonly LogEntry[]) =>
  log.flatMap((entry) => (entry.kind === "message" || entry.kind === "reply" ? [entry.parts] : [])).flat();

describe("a turn", () => {
  it("shows everything unanswered", async () => {
    const deadlines: number[] = [];
    const { clock, lull, turns } = bot({ respond: (turn) => `${deadlines.push(turn.deadlineMs)}` });
    await lull.start();
    const at = clock.now();
    await lull.receive("c", [
      { id: "1", text: "look", author: "ann", replyTo: "0", metadata: { a: 1 } },
      { id: "2", parts: ["here", { type: "file", mediaType: "image/png", ref: { id: 9 } }], metadata: { b: 2 } },
    ]);
    await clock.advance(20_000);
    const [turn] = turns;
    expect(turn).toMatchObject({
      conversation: "c",
      text: "look\nhere",
      version: 2,
      attempt: 1,
      effects: [],
      address: null,
      metadata: { b: 2 },
    });
    expect(deadlines).toEqual([at + 1_000 + 120_000]);
    expect(turn?.messages).toMatchObject([
      { id: "1", version: 1, author: "ann", replyTo: "0", receivedAtMs: at, edited: false, incomplete: false },
      { id: "2", version: 2, parts: [{ text: "here" }, { type: "file", ref: { id: 9 } }] },
    ]);
    await lull.stop();
  });

  it("shows the log before it", async () => {
    const logs: string[][] = [];
    const { clock, lull, hear } = bot({
      respond: async (turn) => {
        logs.push(said(await turn.log()).map((part) => (part.type === "text" ? part.text : "")));
        return `answer to: ${textOf(turn)}`;
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(6_500);
    await hear("b", "c");
    await clock.advance(20_000);
    await hear("d");
    await clock.advance(20_000);
    expect(logs).toEqual([[], ["a", "answer to: a"], ["a", "answer to: a", "b", "c", "answer to: b | c"]]);
    await lull.stop();
  });

  it("shows the log before it, also when its messages came while the last answer was on its way", async () => {
    const logs: unknown[][] = [];
    const { clock, lull, hear } = bot({
      respond: async (turn) => {
        logs.push(said(await turn.log()).map((part) => (part.type === "text" ? part.text : "")));
        return `answer to: ${textOf(turn)}`;
      },
      deliver: async () => {
        await clock.sleep(10_000);
        return { status: "sent" };
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(7_000);
    await hear("b");
    await clock.advance(60_000);
    expect(logs).toEqual([[], ["a", "answer to: a"]]);
    await lull.stop();
  });

  it("shows as many entries as asked for", async () => {
    const counts: number[] = [];
    const { clock, lull, hear } = bot({
      respond: async (turn) => {
        counts.push((await turn.log(2)).length);
        return "done";
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(20_000);
    await hear("b");
    await clock.advance(20_000);
    expect(counts).toEqual([0, 2]);
    await lull.stop();
  });

  it("shows nothing from before a reset", async () => {
    const logs: string[][] = [];
    const { clock, lull, hear } = bot({
      respond: async (turn) => {
        logs.push((await turn.log()).map(({ kind }) => kind));
        return "done";
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(20_000);
    await lull.reset("c");
    await hear("b");
    await clock.advance(20_000);
    expect(logs).toEqual([[], []]);
    await lull.stop();
  });
});

describe("seal", () => {
  it("waits for quiet; afterwards newer input goes to the next turn", async () => {
    let sealedAt = 0;
    const { clock, lull, turns, sent, hear, elapsed } = bot({
      respond: async (turn) => {
        await turn.seal();
        sealedAt ||= elapsed();
        await clock.sleep(5_000, turn.signal);
        return `answer to: ${textOf(turn)}`;
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(8_000);
    await hear("b");
    await clock.advance(60_000);
    expect(sealedAt).toBe(6_000);
    expect(turns.map(textOf)).toEqual(["a", "b"]);
    expect(sent.map(({ text, atMs }) => [text, atMs])).toEqual([
      ["answer to: a", 11_000],
      ["answer to: b", 19_000],
    ]);
    await lull.stop();
  });

  it("fails when newer input came first", async () => {
    const errors: unknown[] = [];
    const { clock, lull, hear, texts } = bot({
      respond: async (turn) => {
        await turn.seal().catch((error: unknown) => {
          errors.push(error);
          throw error;
        });
        return textOf(turn);
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(3_000);
    await hear("b");
    await clock.advance(60_000);
    expect(errors).toMatchObject([{ code: "superseded" }]);
    expect(texts()).toEqual(["a | b"]);
    await lull.stop();
  });
});

describe("absorb", () => {
  it("gives what there is when nothing new came, and when the turn is sealed", async () => {
    const seen: string[] = [];
    const { clock, lull, hear, texts } = bot({
      whenBusy: "steer",
      respond: async (turn) => {
        await turn.absorb();
        seen.push(textOf(turn));
        await turn.seal();
        await clock.sleep(2_000);
        await turn.absorb();
        seen.push(textOf(turn));
        return textOf(turn);
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(7_000);
    await hear("b");
    await clock.advance(60_000);
    expect(seen.slice(0, 2)).toEqual(["a", "a"]);
    expect(texts()).toEqual(["a", "b"]);
    await lull.stop();
  });
});

describe("draft", () => {
  it("is an event, and never stored", async () => {
    const { clock, lull, hear, events } = bot({
      respond: (turn) => {
        turn.draft("I think");
        turn.draft({ type: "text", text: "I think so" });
        return "done";
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(20_000);
    const drafts = events.filter(({ type }) => type === "draft");
    expect(drafts.map(({ part }) => part?.type === "text" && part.text)).toEqual(["I think", "I think so"]);
    expect(drafts.every(({ seq }) => seq === undefined)).toBe(true);
    expect(JSON.stringify(await lull.log("c"))).not.toContain("I think");
    await lull.stop();
  });

  it("of an attempt that is over is nothing", async () => {
    const { clock, lull, hear, events } = bot({
      respond: async (turn) => {
        await clock.sleep(5_000);
        turn.draft(textOf(turn));
        return "done";
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(2_000);
    await hear("b");
    await clock.advance(60_000);
    expect(events.filter(({ type }) => type === "draft").map(({ part }) => part)).toEqual([
      { type: "text", text: "a | b" },
    ]);
    await lull.stop();
  });
});

describe("the signal's reason", () => {
  const reasons: [string, (made: ReturnType<typeof bot>) => Promise<unknown>][] = [
    ["superseded", ({ hear }) => hear("b")],
    ["timed-out", ({ clock }) => clock.advance(200_000)],
    ["handed-off", ({ lull }) => lull.handoff("c", { by: "ann" })],
    ["handed-off", ({ lull }) => lull.humanReply("c", { text: "I am here" })],
    ["reset", ({ lull }) => lull.reset("c")],
    ["lost", ({ lull }) => lull.erase("c")],
    [
      "stopped",
      async ({ lull, clock }) => {
        const stopped = lull.stop({ timeoutMs: 100 });
        await clock.advance(10_000);
        await stopped;
      },
    ],
  ];
  it.each(reasons)("is %s", async (code, end) => {
    const turns: Turn[] = [];
    const made = bot({
      respond: (turn) => {
        turns.push(turn);
        return turn.attempt === 1 && turn.messages.length === 1 ? new Promise<never>(() => {}) : "done";
      },
    });
    await made.lull.start();
    await made.hear("a");
    await made.clock.advance(2_000);
    await end(made);
    await made.clock.advance(0);
    expect(turns[0]?.signal.reason).toMatchObject({ name: "LullError", code });
    await made.lull.stop();
  });

  it("is the same when a part was said already", async () => {
    for (const [code, end] of reasons.slice(2, 6)) {
      const made = bot({
        respond: async (turn) => {
          await turn.say("first");
          return new Promise<never>(() => {});
        },
      });
      await made.lull.start();
      await made.hear("a");
      await made.clock.advance(7_000);
      await end(made);
      await made.clock.advance(0);
      expect(made.turns[0]?.signal.reason).toMatchObject({ code });
      await made.clock.advance(300_000);
      expect(made.texts()).toEqual(["first"]);
      await made.lull.stop();
    }
  });
});
