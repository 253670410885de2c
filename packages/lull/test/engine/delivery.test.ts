// From a committed reply to parts that arrived, failed or may have arrived.
import { describe, expect, it } from "vitest";
import { type Channel, type Delivery, type LullOptions, memory, type Part, type Receipt } from "../../src/index.ts";
import { bot, textOf, words } from "../support/bot.ts";
import { mortal, withoutHints } from "../support/stores.ts";
import { virtualClock } from "../support/virtual.ts";

const sentReceipt: Receipt = { status: "sent" };
const busy = (retryAfterMs?: number): Receipt => ({
  status: "failed",
  error: "429",
  retry: true,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});
const gone: Receipt = { status: "failed", error: "blocked" };
const unclear: Receipt = { status: "unknown", error: "timeout" };

interface Try extends Pick<Delivery, "idempotencyKey" | "attempt" | "index" | "cause"> {
  text: string;
  atMs: number;
}

/** A channel that answers as the script says, and then always with `sent`. */
function scripted(script: (Receipt | Error | "hang")[], more: Partial<Channel> = {}) {
  const clock = virtualClock();
  const began = clock.now();
  const tries: Try[] = [];
  const channel: Channel = {
    name: "chat",
    idempotent: false,
    async deliver(part: Part, { idempotencyKey, attempt, index, cause }: Delivery) {
      tries.push({ text: words(part), atMs: clock.now() - began, idempotencyKey, attempt, index, cause });
      const answer = script.shift() ?? sentReceipt;
      if (answer === "hang") return new Promise<never>(() => {});
      if (answer instanceof Error) throw answer;
      return answer;
    },
    ...more,
  };
  const start = async (options: Partial<LullOptions> = {}) => {
    const made = bot({ deliver: channel, ...options }, { clock });
    await made.lull.start();
    return made;
  };
  return { clock, channel, tries, start, when: () => tries.map(({ text, atMs }) => [text, atMs]) };
}

const receipts = async (lull: ReturnType<typeof bot>["lull"]) =>
  (await lull.log("c", { limit: 1_000 })).flatMap((entry) =>
    entry.kind === "receipt" ? [[entry.index, entry.state]] : [],
  );

describe("parts", () => {
  it("are sent in order, one after the other, with a key of their own", async () => {
    const { clock, start, tries } = scripted([], { idempotent: true });
    const { lull, hear } = await start({ respond: () => ["1", "2", "3"] });
    await hear("a");
    await clock.advance(20_000);
    expect(tries.map(({ text, index }) => [text, index])).toEqual([
      ["1", 0],
      ["2", 1],
      ["3", 2],
    ]);
    expect(new Set(tries.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(3);
    await lull.stop();
  });

  it("wait for the one before, however often it is refused", async () => {
    const { clock, start, when } = scripted([busy(10_000), busy(5_000)]);
    const { lull, hear } = await start({ respond: () => ["1", "2"] });
    await hear("a");
    await clock.advance(60_000);
    expect(when()).toEqual([
      ["1", 6_000],
      ["1", 16_000],
      ["1", 21_000],
      ["2", 21_000],
    ]);
    await lull.stop();
  });

  it("are tried again after a growing back-off where the platform names no time", async () => {
    const { clock, start, tries } = scripted([busy(), busy(), busy()], { idempotent: true });
    const { lull, hear } = await start();
    await hear("a");
    await clock.advance(60_000);
    expect(tries.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4]);
    expect(new Set(tries.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    tries.slice(1).forEach(({ atMs }, n) => {
      const waited = atMs - (tries[n]?.atMs ?? 0);
      expect(waited).toBeGreaterThanOrEqual(500 * 2 ** n);
      expect(waited).toBeLessThanOrEqual(1_000 * 2 ** n + 1);
    });
    await lull.stop();
  });

  it("ignore a nonsensical wish of the platform", async () => {
    for (const wish of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      const { clock, start, tries } = scripted([busy(wish)]);
      const { lull, hear } = await start();
      await hear("a");
      await clock.advance(60_000);
      expect(tries).toHaveLength(2);
      await lull.stop();
    }
  });

  it("after one refused for good are cancelled, and the conversation goes on", async () => {
    const { clock, start, when } = scripted([sentReceipt, gone]);
    const { lull, hear } = await start({ respond: (turn) => [textOf(turn), "2", "3"] });
    await hear("a");
    await clock.advance(20_000);
    expect(when().map(([text]) => text)).toEqual(["a", "2"]);
    expect(await receipts(lull)).toEqual([
      [0, "sent"],
      [1, "failed"],
      [2, "cancelled"],
    ]);
    expect((await lull.get("c"))?.state).toBe("resting");
    await hear("b");
    await clock.advance(20_000);
    expect(when().slice(2)[0]?.[0]).toBe("b");
    await lull.stop();
  });

  it("of which none could be sent are visible as given up, and retry() answers again", async () => {
    const { clock, start, when } = scripted([gone]);
    const { lull, hear, turns } = await start();
    await hear("a");
    await clock.advance(20_000);
    expect(await lull.get("c")).toMatchObject({
      state: "parked",
      parked: { from: 0, to: 1, reason: "delivery failed" },
    });
    expect(await lull.reply("c", 1)).toMatchObject({ outcome: "failed", covers: ["a"] });
    expect(await lull.retry("c")).toEqual({ revived: 1 });
    await clock.advance(20_000);
    expect(turns.map(textOf)).toEqual(["a", "a"]);
    expect(when()).toHaveLength(2);
    expect((await lull.get("c"))?.state).toBe("resting");
    await lull.stop();
  });

  it("are given up when they are too old", async () => {
    const { clock, start, tries } = scripted(Array(100).fill(busy(7_000)));
    const { lull, hear } = await start({ limits: { deliverMaxMs: 20_000 } });
    await hear("a");
    await clock.advance(60_000);
    expect(tries.map(({ atMs }) => atMs)).toEqual([6_000, 13_000, 20_000]);
    expect(await receipts(lull)).toEqual([
      [0, "queued"],
      [0, "queued"],
      [0, "queued"],
      [0, "failed"],
    ]);
    expect((await lull.get("c"))?.parked?.reason).toBe("delivery failed");
    await lull.stop();
  });
});

describe("a part that may have arrived", () => {
  it("goes again under the same key where the platform takes one", async () => {
    const { clock, start, tries } = scripted([unclear], { idempotent: true });
    const { lull, hear } = await start();
    await hear("a");
    await clock.advance(60_000);
    expect(tries).toHaveLength(2);
    expect(tries[0]?.idempotencyKey).toBe(tries[1]?.idempotencyKey);
    expect(await receipts(lull)).toEqual([
      [0, "queued"],
      [0, "sent"],
    ]);
    await lull.stop();
  });

  it("goes again where the owner prefers twice to never (the default)", async () => {
    const { clock, start, tries } = scripted([new Error("socket hang up")]);
    const { lull, hear } = await start();
    await hear("a");
    await clock.advance(60_000);
    expect(tries).toHaveLength(2);
    await lull.stop();
  });

  it("stays unknown where the owner prefers never to twice, and what follows goes on", async () => {
    const { clock, start, tries } = scripted([unclear], { whenInDoubt: "at-most-once" });
    const { lull, hear } = await start({ respond: () => ["1", "2"] });
    await hear("a");
    await clock.advance(60_000);
    expect(tries.map(({ text }) => text)).toEqual(["1", "2"]);
    expect(await receipts(lull)).toEqual([
      [0, "unknown"],
      [1, "sent"],
    ]);
    expect((await lull.get("c"))?.state).toBe("resting");
    await lull.stop();
  });

  it("is looked for first where the platform can be asked", async () => {
    const asked: string[] = [];
    const { clock, start, tries } = scripted([unclear, sentReceipt, unclear], {
      find: async ({ idempotencyKey, attempt }) => {
        asked.push(`${idempotencyKey} ${attempt}`);
        // Not there the first time, there the second.
        return asked.length === 1 ? null : { status: "sent", id: "m9" };
      },
    });
    const { lull, hear } = await start({ respond: () => ["1", "2"] });
    await hear("a");
    await clock.advance(60_000);
    expect(tries.map(({ text }) => text)).toEqual(["1", "1", "2"]);
    expect(asked).toHaveLength(2);
    expect((await lull.log("c")).findLast(({ kind }) => kind === "receipt")).toMatchObject({
      state: "sent",
      externalId: "m9",
    });
    await lull.stop();
  });

  it("is asked about again when the platform cannot say", async () => {
    let asked = 0;
    const { clock, start, tries } = scripted([unclear], {
      find: async () => {
        asked += 1;
        if (asked === 1) throw new Error("down");
        return { status: "sent" };
      },
    });
    const { lull, hear } = await start();
    await hear("a");
    await clock.advance(60_000);
    expect(tries).toHaveLength(1);
    expect(asked).toBe(2);
    expect((await lull.get("c"))?.state).toBe("resting");
    await lull.stop();
  });

  it("is in doubt when the channel does not answer in time", async () => {
    const { clock, start, tries } = scripted(["hang"], { idempotent: true, timeoutMs: 3_000 });
    const { lull, hear } = await start();
    await hear("a");
    await clock.advance(60_000);
    expect(tries).toHaveLength(2);
    expect(tries[1]?.atMs).toBeGreaterThan(9_000);
    expect((await lull.log("c")).find(({ kind }) => kind === "receipt")).toMatchObject({
      state: "queued",
      error: "no answer from the channel within 3000 ms",
    });
    await lull.stop();
  });

  it("tells the channel's function when its time is up", async () => {
    let signal: AbortSignal | undefined;
    const { clock, start } = scripted([], {
      timeoutMs: 3_000,
      whenInDoubt: "at-most-once",
      deliver: (_part, context) => {
        signal = context.signal;
        return new Promise<never>(() => {});
      },
    });
    const { lull, hear } = await start();
    await hear("a");
    await clock.advance(20_000);
    expect(signal?.aborted).toBe(true);
    await lull.stop();
  });

  it("of a process that died is never taken back", async () => {
    const clock = virtualClock();
    const shared = withoutHints(memory({ now: () => clock.now() }));
    const one = mortal(shared, clock);
    const keys: string[] = [];
    const hang: LullOptions["deliver"] = (_part, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      return new Promise<never>(() => {});
    };
    const first = bot({ deliver: hang, clock: one.clock }, { clock, store: one.store });
    const second = bot({}, { clock, store: shared });
    await first.lull.start();
    await first.hear("a");
    await clock.advance(7_000);
    one.kill();
    await second.lull.start();
    await second.hear("b");
    await clock.advance(120_000);
    expect(second.sent.map(({ text, key }) => [text, key === keys[0]])).toEqual([
      ["answer to: a", true],
      ["answer to: b", false],
    ]);
    await second.lull.stop();
  });
});

describe("a reply of which nothing was sent", () => {
  it("is taken back for newer input, and one new reply covers all", async () => {
    const { clock, start, when } = scripted([busy(10_000)]);
    const { lull, hear, turns, types } = await start();
    await hear("a");
    await clock.advance(8_000);
    await hear("b");
    await clock.advance(60_000);
    expect(turns.map(textOf)).toEqual(["a", "a | b"]);
    expect(when()).toEqual([
      ["answer to: a", 6_000],
      ["answer to: a | b", 18_000],
    ]);
    expect(types()).toContain("reply.withdrawn");
    expect(await lull.reply("c", 1)).toMatchObject({ outcome: "delivered", covers: ["a", "b"], to: 2 });
    await lull.stop();
  });

  it("stays when it was in doubt", async () => {
    const { clock, start, when } = scripted([{ ...unclear, retryAfterMs: 10_000 } as Receipt]);
    const { lull, hear } = await start();
    await hear("a");
    await clock.advance(8_000);
    await hear("b");
    await clock.advance(60_000);
    expect(when().map(([text]) => text)).toEqual(["answer to: a", "answer to: a", "answer to: b"]);
    await lull.stop();
  });
});

describe("what a channel may resolve to", () => {
  it("nothing, which means sent", async () => {
    for (const nothing of [undefined, null]) {
      let calls = 0;
      const { clock, lull, hear, types } = bot({
        deliver: async () => {
          calls += 1;
          return nothing as undefined;
        },
      });
      await lull.start();
      await hear("a");
      await clock.advance(600_000);
      expect(calls).toBe(1);
      expect(types()).toContain("part.sent");
      await lull.stop();
    }
  });

  it("a receipt of its own making, which is refused visibly, and not sent again", async () => {
    let calls = 0;
    const { clock, lull, hear, events } = bot({
      deliver: async () => {
        calls += 1;
        return { message_id: 5, status: 200 } as never;
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(600_000);
    expect(calls).toBe(1);
    expect(events.find(({ type }) => type === "part.failed")?.entry).toMatchObject({
      error: expect.stringContaining("must resolve to a receipt"),
    });
    await lull.stop();
  });
});

describe("channels", () => {
  it("are chosen by the address", async () => {
    const seen: string[] = [];
    const channel = (name: string): Channel => ({
      name,
      idempotent: true,
      deliver: async (part, { address }) => {
        seen.push(`${name} ${words(part)} ${JSON.stringify(address)}`);
        return sentReceipt;
      },
    });
    const { clock, lull, events } = bot({
      channels: [channel("telegram"), channel("slack")],
      respond: (turn) => turn.text,
    });
    await lull.start();
    await lull.receive("1", { text: "a", address: { channel: "slack", room: 7 } });
    await lull.receive("2", { text: "b", address: { chat: 5 } });
    await lull.receive("3", { text: "c", address: { channel: "fax" } });
    await clock.advance(20_000);
    expect(seen).toEqual(['slack a {"channel":"slack","room":7}', 'telegram b {"chat":5}']);
    // Another process may have it.
    expect(events.find(({ type }) => type === "part.retrying")).toMatchObject({
      conversation: "3",
      entry: { error: "no channel is named as in the address; known: telegram, slack" },
    });
    await lull.stop();
  });

  it("may be none: a reply is delivered by being in the log", async () => {
    const { clock, lull, hear } = bot({ channels: [] });
    await lull.start();
    await hear("a");
    await clock.advance(20_000);
    expect(await lull.reply("c", 1)).toMatchObject({ outcome: "delivered", parts: [{ text: "answer to: a" }] });
    await lull.stop();
  });

  it("learn what the reply is about", async () => {
    let seen: Partial<Delivery> = {};
    const { clock, lull, hear } = bot({
      respond: () => ({ text: "x", metadata: { model: "m" } }),
      deliver: async (_part, delivery) => {
        seen = delivery;
        return sentReceipt;
      },
    });
    await lull.start();
    await hear("a", "b");
    await lull.retract("c", "a");
    await clock.advance(20_000);
    expect(seen).toMatchObject({
      conversation: "c",
      index: 0,
      count: 1,
      attempt: 1,
      covers: ["b"],
      overtaken: false,
      cause: "turn",
      metadata: { model: "m" },
    });
    expect(seen.idempotencyKey).toContain(seen.replyId ?? "?");
    await lull.stop();
  });
});

describe("the typing indicator", () => {
  const cases: [string, Partial<LullOptions>, ((made: ReturnType<typeof bot>) => Promise<unknown>) | null][] = [
    ["delivered", {}, null],
    ["silent", { respond: () => null }, null],
    ["superseded", {}, ({ hear }) => hear("b")],
    [
      "failed",
      {
        respond: () => {
          throw new Error("boom");
        },
      },
      null,
    ],
    ["handed off", {}, ({ lull }) => lull.handoff("c")],
    ["reset", {}, ({ lull }) => lull.reset("c")],
    ["erased", {}, ({ lull }) => lull.erase("c")],
    [
      "stopped",
      {},
      async ({ lull, clock }) => {
        const stopped = lull.stop({ timeoutMs: 10 });
        await clock.advance(10);
        await stopped;
      },
    ],
  ];
  it.each(cases)("is on while an attempt runs, and off when it is %s", async (_ending, options, end) => {
    const shown: boolean[] = [];
    const made = bot(
      {
        ...options,
        channels: [
          {
            name: "chat",
            idempotent: true,
            deliver: async () => sentReceipt,
            typing: (on) => {
              shown.push(on);
              throw new Error("typing never matters");
            },
          },
        ],
      },
      { modelMs: 3_000 },
    );
    await made.lull.start();
    await made.hear("a");
    await made.clock.advance(1_999);
    if (end !== null) {
      expect(shown).toEqual([true]);
      await end(made);
      await made.clock.advance(0);
      expect(shown).toEqual([true, false]);
    }
    await made.clock.advance(600_000);
    expect(shown.at(-1)).toBe(false);
    expect(shown.filter(Boolean)).toHaveLength(shown.length / 2);
    await made.lull.stop();
  });
});
