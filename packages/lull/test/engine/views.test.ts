// Looking on: events, replies, views, and plain sentences.
import { describe, expect, it } from "vitest";
import { Lull, type LullEvent, memory } from "../../src/index.ts";
import { bot } from "../support/bot.ts";
import { withoutHints } from "../support/stores.ts";
import { virtualClock } from "../support/virtual.ts";

/** Reads events into a list until it is stopped. */
function follow(lull: Lull, options: { after?: number } = {}) {
  const stop = new AbortController();
  const events: LullEvent[] = [];
  const done = (async () => {
    for await (const event of lull.events("c", { ...options, signal: stop.signal })) events.push(event);
  })();
  return {
    events,
    seqs: () => events.flatMap(({ seq }) => (seq === undefined ? [] : [seq])),
    async stop() {
      stop.abort();
      await done;
    },
  };
}

const upTo = (n: number) => Array.from({ length: n }, (_, at) => at + 1);

describe("events", () => {
  it("are every transition, in order, as they happen", async () => {
    const { clock, lull, hear } = bot();
    await lull.start();
    const reader = follow(lull, { after: 0 });
    await clock.advance(0);
    await hear("a");
    await clock.advance(20_000);
    await reader.stop();
    expect(reader.seqs()).toEqual(upTo((await lull.get("c"))?.seq ?? 0));
    expect(reader.events.map(({ type }) => type)).toEqual([
      "message.received",
      "window.armed",
      "attempt.started",
      "typing",
      "reply.committed",
      "part.sent",
      "reply.closed",
      "typing",
    ]);
    await lull.stop();
  });

  it("begin now by default, and can be resumed without loss or double", async () => {
    const { clock, lull, hear } = bot();
    await lull.start();
    await hear("a");
    await clock.advance(20_000);
    const first = follow(lull);
    await clock.advance(0);
    await hear("b");
    await clock.advance(3_000);
    await first.stop();
    const seen = first.seqs();
    expect(first.events[0]?.type).toMatch(/window.armed|message.received/);
    await hear("c");
    await clock.advance(20_000);
    const second = follow(lull, { after: seen.at(-1) ?? 0 });
    await clock.advance(2_000);
    await second.stop();
    const begins = seen[0] ?? 0;
    expect([...seen, ...second.seqs()]).toEqual(upTo((await lull.get("c"))?.seq ?? 0).slice(begins - 1));
    await lull.stop();
  });

  it("show what another process wrote", async () => {
    const clock = virtualClock();
    const store = withoutHints(memory({ now: () => clock.now() }));
    const worker = bot({}, { clock, store });
    const web = new Lull({ store, clock });
    await worker.lull.start();
    const reader = follow(web, { after: 0 });
    await clock.advance(0);
    await worker.hear("a");
    await clock.advance(20_000);
    await reader.stop();
    expect(reader.events.map(({ type }) => type)).toContain("part.sent");
    expect(reader.seqs()).toEqual(upTo((await web.get("c"))?.seq ?? 0));
    await worker.lull.stop();
  });

  it("read a long log page by page", async () => {
    const { clock, lull } = bot();
    await lull.receive(
      "c",
      Array.from({ length: 450 }, (_, n) => ({ text: `${n}` })),
    );
    const reader = follow(lull, { after: 0 });
    await clock.advance(2_000);
    await reader.stop();
    expect(reader.seqs()).toEqual(upTo(450));
  });

  it("begin anew when the conversation was erased", async () => {
    const { clock, lull, hear } = bot();
    await hear("a", "b", "c");
    const reader = follow(lull);
    await clock.advance(100);
    await lull.erase("c");
    await clock.advance(2_000);
    await hear("a");
    await clock.advance(2_000);
    await reader.stop();
    expect(reader.seqs()).toEqual([1]);
  });

  it("end with their signal, also before they began", async () => {
    const { clock, lull } = bot();
    const stop = new AbortController();
    stop.abort();
    for await (const event of lull.events("c", { signal: stop.signal })) expect(event).toBeUndefined();
    const reader = follow(lull);
    await clock.advance(500);
    await reader.stop();
    expect(clock.sleeping()).toBe(0);
  });
});

describe("reply", () => {
  it("waits for the reply that covers a message", async () => {
    const { clock, lull } = bot();
    await lull.start();
    const first = await lull.receive("c", { id: "a", text: "a" });
    const second = await lull.receive("c", { id: "b", text: "b" });
    if (first.status === "rejected" || second.status === "rejected") throw new Error("full");
    const waits = [first, second].map(({ version, seq }) => lull.reply("c", version, { fromSeq: seq }));
    await clock.advance(20_000);
    const [one, two] = await Promise.all(waits);
    expect(one).toMatchObject({
      outcome: "delivered",
      from: 0,
      to: 2,
      covers: ["a", "b"],
      parts: [{ type: "text", text: "answer to: a | b" }],
      overtaken: false,
    });
    expect(two).toEqual(one);
    await lull.stop();
  });

  it("tells of an end without a reply", async () => {
    const ends = [
      ["silent", { respond: () => null }, null],
      [
        "parked",
        {
          limits: { maxFailures: 1 },
          respond: () => {
            throw new Error("boom");
          },
        },
        null,
      ],
      ["human", {}, (lull: Lull) => lull.humanReply("c", { text: "me" })],
      ["dropped", {}, (lull: Lull) => lull.reset("c")],
      ["removed", {}, (lull: Lull) => lull.retract("c", "a")],
    ] as const;
    for (const [outcome, options, end] of ends) {
      const { clock, lull, hear } = bot(options);
      await lull.start();
      await hear("a");
      const wait = lull.reply("c", 1);
      await end?.(lull);
      await clock.advance(20_000);
      expect(await wait).toMatchObject({ outcome, replyId: null, parts: [] });
      await lull.stop();
    }
  });

  it("is null when the time is up, or the caller has gone", async () => {
    const { clock, lull, hear } = bot();
    await hear("a");
    const late = lull.reply("c", 1, { timeoutMs: 5_000 });
    const stop = new AbortController();
    const left = lull.reply("c", 1, { signal: stop.signal });
    const gone = new AbortController();
    gone.abort();
    const never = lull.reply("c", 1, { signal: gone.signal });
    await clock.advance(1_000);
    stop.abort();
    await clock.advance(0);
    expect(await left).toBeNull();
    expect(await never).toBeNull();
    await clock.advance(4_000);
    expect(await late).toBeNull();
    expect(clock.sleeping()).toBe(0);
  });

  it("of one that was taken back is the one that replaced it", async () => {
    let tries = 0;
    const { clock, lull, hear } = bot({
      deliver: async () => {
        tries += 1;
        return tries === 1 ? { status: "failed", error: "429", retry: true, retryAfterMs: 9_000 } : { status: "sent" };
      },
    });
    await lull.start();
    await hear("a");
    const wait = lull.reply("c", 1);
    await clock.advance(7_000);
    await hear("b");
    await clock.advance(30_000);
    expect(await wait).toMatchObject({ outcome: "delivered", covers: ["a", "b"] });
    await lull.stop();
  });
});

describe("views", () => {
  it("show how a conversation stands", async () => {
    const { clock, lull, hear } = bot({ owner: "worker-1" }, { modelMs: 3_000 });
    await lull.start();
    expect(await lull.get("c")).toBeNull();
    const nowMs = clock.now();
    await hear("a");
    expect(await lull.get("c")).toMatchObject({
      state: "waiting",
      pending: 1,
      version: 1,
      answered: 0,
      startAtMs: nowMs + 1_000,
      quietAtMs: nowMs + 6_000,
      wakeAtMs: nowMs + 1_000,
      lease: null,
    });
    await clock.advance(2_000);
    expect(await lull.get("c")).toMatchObject({
      state: "answering",
      attempts: 1,
      lease: { owner: "worker-1", purpose: "respond", version: 1, expiresAtMs: nowMs + 31_000, sealed: false },
    });
    await clock.advance(20_000);
    expect(await lull.get("c")).toMatchObject({ state: "resting", pending: 0, answered: 1, wakeAtMs: null });
    await lull.stop();
  });

  it("list and count conversations", async () => {
    const { clock, lull } = bot();
    await lull.start();
    for (const id of ["a:1", "a:2", "b:1"]) await lull.receive(id, { text: "hi" });
    await lull.handoff("b:1");
    const ids = async (...args: Parameters<typeof lull.list>) =>
      (await lull.list(...args)).conversations.map(({ id }) => id);
    expect(await ids()).toEqual(["a:1", "a:2", "b:1"]);
    expect(await ids({}, { prefix: "a:" })).toEqual(["a:1", "a:2"]);
    expect(await ids({}, { handedOff: true })).toEqual(["b:1"]);
    const { next } = await lull.list({ limit: 2 });
    expect(await ids({ after: next ?? "" })).toEqual(["b:1"]);
    expect(await lull.stats()).toMatchObject({ conversations: 3, active: 3, handedOff: 1, parked: 0, working: 0 });
    await clock.advance(20_000);
    expect(await ids({}, { active: true })).toEqual(["b:1"]);
    await lull.stop();
  });
});

describe("explain", () => {
  it("says what happened, without the user's words", async () => {
    const { clock, lull, hear } = bot({ owner: "worker-1" }, { modelMs: 4_000 });
    await lull.start();
    expect(await lull.explain("c")).toEqual(["Nobody has written in this conversation."]);
    await hear("secret-1");
    await clock.advance(3_000);
    await hear("secret-2");
    await clock.advance(2_000);
    const during = await lull.explain("c");
    expect(during.at(-1)).toContain("Now: worker-1 is answering (fence ");
    await clock.advance(20_000);
    const lines = await lull.explain("c");
    expect(lines.map((line) => line.slice(13))).toEqual([
      "Message 1 arrived.",
      "The model started after 1.0 s of quiet, with input 1.",
      "Message 2 arrived, 3.0 s after the one before.",
      expect.stringMatching(/^A message at [\d:.]{12} discarded attempt 1 after 2\.0 s\.$/),
      "The model started again (attempt 2) after 1.0 s of quiet, with inputs 1 to 2.",
      expect.stringMatching(
        /^Waited 6\.0 s of quiet; a message at [\d:.]{12} discarded attempt 1 after 2\.0 s; answered all 2: inputs 1 to 2\.$/,
      ),
      "Part 1 was sent.",
      "The reply was delivered 0 ms after it was committed.",
      "Now: at rest.",
    ]);
    expect(lines.join()).not.toContain("secret");
    await lull.stop();
  });

  it("has a sentence for everything that can happen", async () => {
    const { clock, lull, hear } = bot({
      commands: { stop: ["stop"] },
      // biome-ignore lint/suspicious/noThenProperty: no promise, but the rule's own word
      backlog: { maxAgeMs: 1_000, then: "context" },
      limits: { maxFailures: 2 },
      fallback: "sorry",
      respond: async (turn) => {
        await turn.once("look", () => 1, { readOnly: true });
        if (turn.text === "fail") throw new Error("boom");
        if (turn.text === "silent") return null;
        await turn.say("one");
        return "two";
      },
    });
    await lull.start();
    await hear("a");
    await lull.edit("c", "a", { text: "A" });
    await clock.advance(20_000);
    await lull.edit("c", "a", { text: "B" });
    await lull.retract("c", "a");
    await lull.receive("c", { text: "old", sentAt: clock.now() - 5_000 });
    await hear("stop", "fail");
    await clock.advance(20_000);
    await hear("silent");
    await clock.advance(20_000);
    await lull.retry("c", { by: "ann" });
    await clock.advance(20_000);
    await lull.handoff("c", { by: "ann" });
    await hear("x");
    await lull.humanReply("c", { text: "me", by: "bob" });
    await lull.resume("c", { by: "bob" });
    await lull.send("c", { text: "bye", by: "bob" });
    await clock.advance(20_000);
    await hear("y");
    await lull.flush("c", { by: "bob" });
    await lull.reset("c", { by: "bob" });
    const lines = (await lull.explain("c", { entries: 1_000 })).map((line) => line.slice(13));
    for (const sentence of [
      "An edit arrived (input 2).",
      'Effect "look" was recorded.',
      "Waited 6.0 s of quiet; answered all 2: inputs 1 to 2.",
      "Part 2 was added to the reply.",
      "An answered message was edited: kept as context.",
      "An answered message was taken back.",
      "Message 3 was too old to answer: kept as context.",
      "Message 4 was a control word.",
      "The answer was stopped by the user.",
      expect.stringMatching(/^Attempt 1 failed after \d+ ms: boom\. It is tried again at [\d:.]+\.$/),
      "Attempt 2 failed after 0 ms: boom.",
      "Given up (input 5): boom.",
      "The fallback text was committed.",
      "The bot chose to stay silent (input 6).",
      expect.stringMatching(/^Input \d was brought back by ann\.$/),
      expect.stringMatching(/^Handed off to a human until [\d:.]+ by ann\.$/),
      "A human answered everything up to input 8, told by bob.",
      "The hand-off was ended by bob; what waited is answered.",
      "A message of the bot's own accord was queued by bob.",
      "An answer was wanted at once by bob.",
      "The conversation was reset by bob.",
    ])
      expect(lines).toContainEqual(sentence);
    expect(lines.join("\n")).not.toMatch(/undefined|NaN|\.\./);
    await lull.stop();
  });
});
