// The engine end to end on virtual time: what a bot's author sees.
import { describe, expect, it } from "vitest";
import { Lull, type LullEvent, type LullOptions, memory, type Part, type Turn } from "../src/index.ts";
import { virtualClock } from "./support/virtual.ts";

function bot(options: Partial<LullOptions> = {}, modelMs = 2_000) {
  const clock = virtualClock();
  const store = memory({ now: () => clock.now() });
  const turns: Turn[] = [];
  const sent: { text: string; atMs: number; key: string; covers: string[] }[] = [];
  const events: LullEvent[] = [];
  const lull = new Lull({
    store,
    clock,
    respond: async (turn) => {
      turns.push(turn);
      await clock.sleep(modelMs, turn.signal);
      turn.signal.throwIfAborted();
      return `answer to: ${turn.text.replaceAll("\n", " | ")}`;
    },
    deliver: (part: Part, { idempotencyKey, covers }) => {
      sent.push({ text: part.type === "text" ? part.text : "", atMs: clock.now(), key: idempotencyKey, covers });
      return Promise.resolve({ status: "sent" });
    },
    ...options,
  });
  lull.on((event) => events.push(event));
  return { clock, store, lull, turns, sent, events };
}

describe("a burst", () => {
  it("is answered once, with everything, when the user has been quiet", async () => {
    const { clock, lull, turns, sent } = bot();
    await lull.start();
    const start = clock.now();
    for (const text of ["hi", "my order is late", "#1234"]) {
      await lull.receive("c", { text });
      await clock.advance(500);
    }
    await clock.advance(20_000);
    expect(turns).toHaveLength(1);
    expect(sent.map(({ text }) => text)).toEqual(["answer to: hi | my order is late | #1234"]);
    // Last message at 1,000; quiet target 6,000.
    expect(sent[0]?.atMs).toBe(start + 1_000 + 6_000);
    await lull.stop();
  });

  it("during generation discards the answer and starts over with everything", async () => {
    const { clock, lull, turns, sent, events } = bot({}, 4_000);
    await lull.start();
    await lull.receive("c", { id: "1", text: "a" });
    await clock.advance(3_000);
    await lull.receive("c", { id: "2", text: "b" });
    await clock.advance(30_000);
    expect(turns).toHaveLength(2);
    expect(turns[0]?.signal.aborted).toBe(true);
    expect(sent.map(({ text }) => text)).toEqual(["answer to: a | b"]);
    expect(events.map(({ type }) => type)).toContain("attempt.superseded");
    await lull.stop();
  });

  it("goes to rest", async () => {
    const { clock, lull } = bot();
    await lull.start();
    await lull.receive("c", { text: "hi" });
    await clock.advance(20_000);
    const view = await lull.get("c");
    expect(view).toMatchObject({ state: "resting", version: 1, answered: 1, wakeAtMs: null });
    console.log((await lull.explain("c")).join("\n"));
    await lull.stop();
  });
});
