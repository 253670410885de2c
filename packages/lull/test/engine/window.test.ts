// What makes the bot wait longer or shorter: typing, incomplete messages, messages that cannot wait, flush.
import { describe, expect, it } from "vitest";
import type { Answer, Channel, LullOptions } from "../../src/index.ts";
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

describe("typing on a platform", () => {
  it("counts as long as the platform shows it, unless the call says for how long", async () => {
    const slow = { name: "slow", idempotent: true, typingMs: 20_000, deliver: async () => {} };
    const { clock, lull, turns, hear } = bot({ channels: [slow] });
    await lull.start();
    await hear("a");
    await lull.typing("c");
    await clock.advance(19_999);
    expect(turns).toHaveLength(0);
    await clock.advance(1);
    expect(turns).toHaveLength(1);
    await clock.advance(10_000);
    await lull.stop();
  });

  it("that brings no message is left at last", async () => {
    const { clock, lull, sent, hear } = bot({ limits: { typingMaxMs: 12_000 } });
    await lull.start();
    await hear("a");
    for (let at = 0; at < 30; at += 1) {
      await lull.typing("c");
      await clock.advance(1_000);
    }
    expect(sent[0]?.atMs).toBeGreaterThanOrEqual(13_000);
    expect(sent[0]?.atMs).toBeLessThanOrEqual(14_000);
    await lull.stop();
  });
});

describe("the model's start", () => {
  it("is early where it is eager", async () => {
    const { clock, lull, turns, sent, hear } = bot({ debounce: { quietMs: 6_000, startMs: "eager" } });
    await lull.start();
    await hear("a");
    await clock.advance(300);
    expect(turns).toHaveLength(1);
    await clock.advance(20_000);
    expect(sent[0]?.atMs).toBe(6_000);
    await lull.stop();
  });

  it("is as late as its answer allows where it is frugal, once it is known how long the model takes", async () => {
    const { clock, lull, turns, sent, hear, elapsed } = bot(
      { debounce: () => ({ quietMs: 6_000, startMs: "frugal" }) },
      { modelMs: 2_000 },
    );
    await lull.start();
    await hear("a");
    await clock.advance(1_000);
    expect(turns).toHaveLength(1);
    await clock.advance(9_000);
    const began = elapsed();
    await hear("b");
    await clock.advance(3_999);
    expect(turns).toHaveLength(1);
    await clock.advance(1);
    expect(turns).toHaveLength(2);
    await clock.advance(10_000);
    expect(sent.map(({ atMs }) => atMs)).toEqual([6_000, began + 6_000]);
    await lull.stop();
  });

  it("knows it from what is said, too", async () => {
    const { clock, lull, turns, hear } = bot({
      debounce: { quietMs: 6_000, startMs: "frugal" },
      respond: async (turn) => {
        await clock.sleep(500, turn.signal);
        await turn.say("one moment");
        await clock.sleep(60_000, turn.signal);
        return [];
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(70_000);
    await hear("b");
    await clock.advance(5_499);
    expect(turns).toHaveLength(1);
    await clock.advance(1);
    expect(turns).toHaveLength(2);
    await clock.advance(70_000);
    await lull.stop();
  });
});

describe("adaptive windows", () => {
  it("learn from crossed replies, and say why they wait", async () => {
    const { clock, lull, sent, hear } = bot({ debounce: { quietMs: 3_000, adaptive: true } });
    await lull.start();
    await hear("hi");
    await clock.advance(3_500);
    expect(sent).toHaveLength(1);
    await hear("there");
    await clock.advance(20_000);
    expect(sent[1]?.atMs).toBe(3_500 + 4_104);
    expect((await lull.explain("c")).join("\n")).toMatch(/this user's pace asks for 4\.1 s/);
    await lull.stop();
  });

  it("are refused where the setting makes no sense", () => {
    const adaptive = (value: unknown) => () => bot({ debounce: { quietMs: 3_000, adaptive: value as never } });
    expect(adaptive({ crossed: 0 })).toThrow(/adaptive\.crossed must be a share/);
    expect(adaptive({ often: 1 })).toThrow(/unknown key "often"/);
    expect(adaptive({ crossed: 0.2 })).not.toThrow();
    expect(adaptive(false)().lull.settings.limits).not.toHaveProperty("adaptive");
    expect(() => bot({ debounce: { quietMs: 3_000, startMs: "early" as never } })).toThrow(/eager or frugal/);
  });
});

describe("completeness", () => {
  it("is asked with everything unanswered, and shortens or lengthens the wait", async () => {
    const asked: string[][] = [];
    const completeness: LullOptions["completeness"] = (messages) => {
      asked.push(messages.map(({ id }) => id));
      return messages.at(-1)?.id === "done" ? 1 : 0;
    };
    const { clock, lull, sent, hear } = bot({ completeness });
    await lull.start();
    await hear("so");
    await clock.advance(8_000);
    expect(sent).toEqual([]);
    await hear("done");
    await clock.advance(20_000);
    expect(asked).toEqual([["so"], ["so", "done"]]);
    expect(sent.map(({ text, atMs }) => [text, atMs])).toEqual([["answer to: so | done", 11_000]]);
    await lull.stop();
  });

  it("that is late, throws, or is no share changes nothing", async () => {
    const warned: string[] = [];
    const logger = { debug() {}, info() {}, error() {}, warn: (_: object, text: string) => void warned.push(text) };
    const answers: (() => Promise<number>)[] = [
      () => Promise.reject(new Error("no model")),
      async () => Number.NaN,
      async () => 2,
    ];
    for (const answer of answers) {
      const { clock, lull, sent, hear } = bot({ completeness: answer, logger });
      await lull.start();
      await hear("a");
      await clock.advance(20_000);
      expect(sent[0]?.atMs).toBe(6_000);
      await lull.stop();
    }
    expect(warned).toEqual(Array(3).fill("completeness is not known"));
    const slow = bot({ completeness: () => slow.clock.sleep(2_000).then(() => 0) });
    await slow.lull.start();
    await slow.hear("a");
    await slow.clock.advance(1_500);
    await slow.hear("b");
    await slow.clock.advance(1_000);
    expect(slow.texts()).toEqual([]);
    expect((await slow.lull.get("c"))?.record.window?.quietMs).toBe(6_000);
    await slow.clock.advance(20_000);
    await slow.lull.stop();
    expect(() => bot({ completeness: 1 as never })).toThrow(/completeness must be a function/);
  });
});

describe("a reply that was crossed", () => {
  it("is told to the turn that follows it", async () => {
    const { clock, lull, turns, hear } = bot();
    await lull.start();
    await hear("a");
    await clock.advance(6_100);
    await hear("a much longer message");
    await clock.advance(20_000);
    expect(turns.map(({ crossed }) => crossed)).toEqual([
      null,
      { replyId: expect.any(String), parts: [{ type: "text", text: "answer to: a" }], text: "answer to: a" },
    ]);
    await hear("later");
    await clock.advance(20_000);
    expect(turns.at(-1)?.crossed).toBeNull();
    await lull.stop();
  });

  it("is told with everything that was said, and null where the log has lost it", async () => {
    const { clock, lull, store, turns, hear } = bot({
      respond: async (turn) => {
        await turn.say("one");
        await turn.say("two");
        return [];
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(6_100);
    await hear("b");
    await clock.advance(20_000);
    expect(turns.at(-1)?.crossed?.text).toBe("one\ntwo");
    await hear("c");
    await store.prune({ seenBeforeMs: 0, logBeforeMs: clock.now(), keepFrom: ({ seq }) => seq });
    await clock.advance(20_000);
    expect(turns.at(-1)?.crossed).toBeNull();
    await lull.stop();
  });
});

describe("an answer that amends", () => {
  /** A platform whose messages can be changed; `ids`: it says what they are called. */
  function platform(ids: boolean): { channel: Channel; shown: string[] } {
    const shown: string[] = [];
    let sent = 0;
    const channel: Channel = {
      name: "screen",
      idempotent: true,
      async draft() {
        return {};
      },
      async deliver(part, { draft, index }) {
        const text = part.type === "text" ? part.text : "";
        shown.push(
          draft === undefined ? `${index}: ${text}` : `${draft.key.split(":")[1]} ${draft.id} becomes ${text}`,
        );
        sent += 1;
        return ids ? { status: "sent", id: `p${sent}` } : { status: "sent" };
      },
    };
    return { channel, shown };
  }

  async function answers(channel: Channel, ...given: Answer[]): Promise<void> {
    const { clock, lull, hear } = bot({ channels: [channel], respond: async () => given.shift() ?? null });
    await lull.start();
    await hear("a");
    await clock.advance(6_100);
    await hear("and more");
    await clock.advance(20_000);
    await lull.stop();
  }

  it("takes the place of the reply that was crossed", async () => {
    const { channel, shown } = platform(true);
    await answers(channel, "first", { text: "better", amends: true });
    expect(shown).toEqual(["0: first", "0 p1 becomes better"]);
  });

  it("is sent as usual where nothing was crossed, the platform cannot, or a reply has several parts", async () => {
    const nameless = platform(false);
    await answers(nameless.channel, "first", { text: "better", amends: true });
    expect(nameless.shown).toEqual(["0: first", "0: better"]);
    const several = platform(true);
    await answers(several.channel, "first", { parts: ["one", "two"], amends: true });
    await answers(several.channel, ["one", "two"], { text: "better", amends: true });
    expect(several.shown).toEqual(["0: first", "0: one", "1: two", "0: one", "1: two", "0: better"]);
    const plain = platform(true);
    await answers(plain.channel, { text: "first", amends: true }, { text: "next", amends: false });
    expect(plain.shown).toEqual(["0: first", "0: next"]);
    const fixed = platform(true);
    const { draft: _, ...cannot } = fixed.channel;
    await answers(cannot, "first", { text: "better", amends: true });
    expect(fixed.shown).toEqual(["0: first", "0: better"]);
  });
});
