// Saying parts before the answer is complete.
import { describe, expect, it } from "vitest";
import { LullError, memory, type Receipt, type Respond } from "../../src/index.ts";
import { bot, textOf } from "../support/bot.ts";
import { mortal, withoutHints } from "../support/stores.ts";
import { virtualClock } from "../support/virtual.ts";

const code = (error: unknown) => (LullError.isInstance(error) ? error.code : String(error));

describe("say", () => {
  it("waits for quiet with its first part, appends later ones, and the answer follows", async () => {
    const { clock, lull, sent, hear, events } = bot({
      respond: async (turn) => {
        await turn.say("one");
        await clock.sleep(2_000);
        await turn.say({ type: "text", text: "two" });
        return ["three", "four"];
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(60_000);
    expect(sent.map(({ text, atMs }) => [text, atMs])).toEqual([
      ["one", 6_000],
      ["two", 8_000],
      ["three", 8_000],
      ["four", 8_000],
    ]);
    expect(new Set(sent.map(({ key }) => key)).size).toBe(4);
    expect(events.filter(({ type }) => type === "reply.committed")).toHaveLength(1);
    expect(await lull.get("c")).toMatchObject({ state: "resting", answered: 1 });
    expect(await lull.reply("c", 1)).toMatchObject({
      outcome: "delivered",
      covers: ["a"],
      parts: [{ text: "one" }, { text: "two" }, { text: "three" }, { text: "four" }],
    });
    await lull.stop();
  });

  it("seals: what comes after the first part is the next turn's", async () => {
    const { clock, lull, turns, texts, hear } = bot({
      respond: async (turn) => {
        await turn.say(`first: ${textOf(turn)}`);
        await clock.sleep(5_000, turn.signal);
        return `last: ${textOf(turn)}`;
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(8_000);
    await hear("b");
    await clock.advance(60_000);
    expect(turns).toHaveLength(2);
    expect(turns[0]?.signal.aborted).toBe(false);
    expect(texts()).toEqual(["first: a", "last: a", "first: b", "last: b"]);
    await lull.stop();
  });

  it("is refused when newer input came first", async () => {
    const errors: unknown[] = [];
    const { clock, lull, texts, hear } = bot({
      respond: async (turn) => {
        await turn.say(textOf(turn)).catch((error) => {
          errors.push(code(error));
          throw error;
        });
        return [];
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(3_000);
    await hear("b");
    await clock.advance(60_000);
    expect(errors).toEqual(["superseded"]);
    expect(texts()).toEqual(["a | b"]);
    await lull.stop();
  });

  it("alone is an answer: returning nothing, null or [] ends it", async () => {
    for (const end of [undefined, null, []]) {
      const { clock, lull, texts, hear, turns } = bot({
        respond: async (turn) => {
          await turn.say("all");
          return end as null;
        },
      });
      await lull.start();
      await hear("a");
      await clock.advance(60_000);
      expect(texts()).toEqual(["all"]);
      expect(turns).toHaveLength(1);
      expect(await lull.get("c")).toMatchObject({ state: "resting", answered: 1 });
      await lull.stop();
    }
  });

  it("without waiting for it keeps the order", async () => {
    const { clock, lull, texts, hear } = bot({
      respond: (turn) => {
        void turn.say("1");
        void turn.say("2");
        return "3";
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(60_000);
    expect(texts()).toEqual(["1", "2", "3"]);
    await lull.stop();
  });

  it("refuses what is no part, and what is empty", async () => {
    const errors: unknown[] = [];
    const { clock, lull, texts, hear } = bot({
      respond: async (turn) => {
        for (const part of ["", " ", 5, { type: "image" }])
          await turn.say(part as never).catch((error) => errors.push(code(error)));
        return "ok";
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(60_000);
    expect(errors).toEqual(["empty-answer", "empty-answer", "invalid-argument", "invalid-argument"]);
    expect(texts()).toEqual(["ok"]);
    await lull.stop();
  });

  it("is refused beyond the most parts a reply may have", async () => {
    const errors: unknown[] = [];
    const { clock, lull, texts, hear } = bot({
      limits: { maxParts: 2 },
      respond: async (turn) => {
        for (const part of ["1", "2", "3"]) await turn.say(part).catch((error) => errors.push(code(error)));
        return [];
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(60_000);
    expect(errors).toEqual(["full"]);
    expect(texts()).toEqual(["1", "2"]);
    expect((await lull.get("c"))?.state).toBe("resting");
    await lull.stop();
  });

  it("of a turn whose function throws afterwards is cut, and not answered again", async () => {
    const { clock, lull, turns, texts, hear, events } = bot({
      respond: async (turn) => {
        await turn.say("half");
        throw new Error("boom");
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(60_000);
    expect(texts()).toEqual(["half"]);
    expect(turns).toHaveLength(1);
    expect(events.find(({ type }) => type === "reply.closed")?.entry).toMatchObject({ outcome: "cut" });
    expect((await lull.get("c"))?.state).toBe("resting");
    await lull.stop();
  });

  it("of a turn that hangs afterwards is cut when its time is up", async () => {
    const { clock, lull, texts, hear, turns } = bot({
      respond: async (turn) => {
        await turn.say("half");
        return new Promise<never>(() => {});
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(7_000);
    await hear("b");
    await clock.advance(118_999);
    expect((await lull.get("c"))?.outbox).toMatchObject({ to: 1 });
    await clock.advance(60_000);
    expect(turns.map(textOf)).toEqual(["a", "b"]);
    expect(texts()).toEqual(["half", "half"]);
    await clock.advance(120_000);
    expect((await lull.get("c"))?.state).toBe("resting");
    await lull.stop();
  });

  it("of a process that dies stands as it is; the next answers what came since", async () => {
    const clock = virtualClock();
    const shared = withoutHints(memory({ now: () => clock.now() }));
    const one = mortal(shared, clock);
    const respond: Respond = async (turn) => {
      await turn.say(`first: ${textOf(turn)}`);
      await clock.sleep(3_000, turn.signal);
      return `last: ${textOf(turn)}`;
    };
    const first = bot({ respond, clock: one.clock }, { clock, store: one.store });
    const second = bot({ respond }, { clock, store: shared });
    await first.lull.start();
    await second.lull.start();
    await first.hear("a");
    await clock.advance(7_000);
    await second.hear("b");
    one.kill();
    await clock.advance(120_000);
    expect(first.texts()).toEqual(["first: a"]);
    expect(second.texts()).toEqual(["first: b", "last: b"]);
    const closed = (await second.lull.log("c")).flatMap((entry) => (entry.kind === "closed" ? [entry.outcome] : []));
    expect(closed).toEqual(["cut", "delivered"]);
    await second.lull.stop();
  });

  it("after a reset is refused, and what was not sent is cancelled", async () => {
    const errors: unknown[] = [];
    const { clock, lull, texts, hear } = bot({
      respond: async (turn) => {
        await turn.say("first");
        await clock.sleep(3_000);
        await turn.say("second").catch((error) => errors.push(code(error)));
        return "third";
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(7_000);
    await lull.reset("c");
    await clock.advance(60_000);
    expect(errors).toEqual(["reset"]);
    expect(texts()).toEqual(["first"]);
    expect((await lull.get("c"))?.state).toBe("resting");
    await lull.stop();
  });
});

describe("say through a channel that fails", () => {
  const refused: Receipt = { status: "failed", error: "429", retry: true, retryAfterMs: 4_000 };
  const gone: Receipt = { status: "failed", error: "blocked by the user" };

  async function through(receipts: Receipt[]) {
    const happened: string[] = [];
    const made = bot({
      deliver: (part) => {
        const receipt = receipts.shift() ?? ({ status: "sent" } as const);
        if (receipt.status === "sent") happened.push(`${made.elapsed()} ${part.type === "text" && part.text}`);
        return Promise.resolve(receipt);
      },
      respond: async (turn) => {
        for (const part of ["one", "two"]) {
          await turn.say(part).then(
            () => happened.push(`${made.elapsed()} said ${part}`),
            (error) => happened.push(`${made.elapsed()} ${part}: ${code(error)}`),
          );
          turn.signal.throwIfAborted();
        }
        return "three";
      },
    });
    await made.lull.start();
    await made.hear("a");
    await made.clock.advance(600_000);
    const view = await made.lull.get("c");
    await made.lull.stop();
    return { happened, view, events: made.events };
  }

  it("for now: resolves after the first try; the part is tried again in its place", async () => {
    const { happened } = await through([refused]);
    expect(happened).toEqual(["6000 said one", "10000 one", "10000 two", "10000 said two", "10000 three"]);
  });

  it("for good: rejects, the model is told, and nothing that follows is sent", async () => {
    const { happened, view } = await through([gone]);
    expect(happened).toEqual(["6000 one: undeliverable"]);
    expect(view).toMatchObject({ state: "parked", parked: { reason: "delivery failed" } });
  });

  it("for good at a later part: what was sent stands", async () => {
    const { happened, view, events } = await through([{ status: "sent" }, gone]);
    expect(happened).toEqual(["6000 one", "6000 said one", "6000 two: undeliverable"]);
    expect(view?.state).toBe("resting");
    expect(events.find(({ type }) => type === "reply.closed")?.entry).toMatchObject({ outcome: "delivered" });
  });
});
