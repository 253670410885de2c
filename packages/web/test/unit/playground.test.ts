/** The playground's two sides, folded from events of the real engine on virtual time. */
import { type Input, Lull, type LullEvent, memory, type Respond } from "lull";
import { virtualClock } from "lull/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventView } from "../../../lull-server/src/app/view.ts";
import { demoAnswer } from "../../../lull-server/src/respond/demo.ts";
import { answered, answerTo, demoMark, heard, silence } from "../../src/playground/naive.ts";
import { empty, next, type Side, wrote } from "../../src/playground/right.ts";
import { listed, seconds } from "../../src/playground/words.ts";
import type { Event } from "../../src/shared/shapes.ts";

async function engine(respond: Respond) {
  const clock = virtualClock();
  const lull = new Lull({
    store: memory({ now: clock.now }),
    clock,
    respond,
    deliver: async () => ({ status: "sent" }),
  });
  const events: Event[] = [];
  lull.on((event: LullEvent) => {
    events.push(JSON.parse(JSON.stringify(eventView(event))) as Event);
  });
  await lull.start();
  onTestFinished(() => lull.stop({ timeoutMs: 0 }));
  return { clock, lull, events, side: (from: Side = empty) => events.reduce(next, from) };
}

const said = (side: Side) => side.bubbles.map(({ by, text, state }) => `${by}: ${text} (${state})`);
const told = (side: Side) => side.lines.map(({ text }) => text);

describe("the right-hand side", () => {
  test("an interrupted burst: one answer, and a line for what was discarded", async () => {
    const { clock, lull, side } = await engine(async (turn) => {
      await clock.sleep(2_000, turn.signal);
      return `answer to ${turn.messages.length}`;
    });
    for (const [id, text] of [
      ["m1", "hi"],
      ["m2", "my order is late"],
    ] as const) {
      await lull.receive("c", { id, text });
      await clock.advance(2_000);
    }
    expect(side().phase).toMatchObject({ is: "thinking", words: "thinking" });
    await clock.advance(10_000);
    const end = side();
    expect(said(end)).toEqual(["you: hi (done)", "you: my order is late (done)", "bot: answer to 2 (done)"]);
    expect(end).toMatchObject({ heard: 2, answers: 1, phase: { is: "resting" } });
    expect(told(end)).toContain("You wrote more: discards the answer in the making after 1 s. Nobody saw it.");
    expect(told(end)).toContain("Asks the model about messages 1 and 2, attempt 2.");
    expect(end.lines.at(-1)).toMatchObject({ text: "Answers messages 1 and 2 at once.", tone: "good" });
  });

  test("what comes twice after a reconnection is taken once, and what was written here is not doubled", async () => {
    const { clock, lull, events } = await engine(() => "hello");
    await lull.receive("c", { id: "mine", text: "hi" });
    await clock.advance(20_000);
    const once = events.reduce(next, wrote(empty, "mine", "hi"));
    const twice = events.filter(({ seq }) => seq !== undefined).reduce(next, once);
    expect(twice).toEqual(once);
    expect(said(once)).toEqual(["you: hi (done)", "bot: hello (done)"]);
  });

  test("an operator: taken over, answered, given back, reset", async () => {
    const { clock, lull, side } = await engine(() => "hello");
    await lull.receive("c", { id: "m1", text: "hi" });
    await lull.handoff("c", { forMs: 60_000 });
    expect(side().phase.is).toBe("human");
    await lull.humanReply("c", { text: "Ada here.", author: "ada" });
    await lull.resume("c");
    await lull.reset("c");
    await clock.advance(10_000);
    const end = side();
    expect(said(end)).toEqual([
      "you: hi (done)",
      "human: Ada here. (done)",
      "note: Everything so far was forgotten. (done)",
    ]);
    expect(told(end)).toEqual(expect.arrayContaining(["A human answers (ada).", "The bot answers again."]));
  });

  test("attempts that fail until it is given up", async () => {
    const { clock, lull, side } = await engine(() => {
      throw new Error("the model is away.");
    });
    await lull.receive("c", { id: "m1", text: "hi" });
    await clock.advance(600_000);
    const end = side();
    expect(end.lines.filter(({ tone }) => tone === "bad").length).toBeGreaterThanOrEqual(5);
    expect(end.lines.at(-1)?.text).toMatch(/^Gave up: /);
    expect(end.bubbles.at(-1)).toMatchObject({ by: "note" });
    expect(end.phase.is).toBe("resting");
  });

  test("a page that is open for days does not grow without end", async () => {
    const { clock, lull, side } = await engine((turn) => (turn.messages.length > 0 ? "hello" : null));
    for (let count = 0; count < 50; count += 1) {
      for (let part = 0; part < 10; part += 1) await lull.receive("c", { id: `${count}.${part}`, text: "x" });
      await clock.advance(120_000);
    }
    const end = side();
    expect(end.heard).toBe(500);
    expect(end.bubbles.length).toBeLessThanOrEqual(400);
    expect(end.lines.length).toBeLessThanOrEqual(300);
  });
});

describe("the left-hand side", () => {
  test("says what the server's demo responder would say to one message", () => {
    for (const text of ["hi", "x".repeat(300)])
      expect(answerTo(text)).toBe(demoAnswer([{ parts: [{ type: "text", text }] } as unknown as Input]));
  });

  test("answers every message by itself, and says when newer ones had come", () => {
    let side = heard(silence, "a", "hi", 0);
    side = heard(side, "b", "my order is late", 800);
    expect(side.lines.at(-1)?.text).toBe("Asks the model about message 2, though 1 answer is in the making.");
    side = answered(side, "a", 1, "hi", 2_000);
    expect(side.lines.at(-1)).toMatchObject({
      text: "Answers message 1. 1 newer message had come meanwhile.",
      tone: "warn",
    });
    side = answered(side, "b", 2, "my order is late", 2_800);
    expect(side).toMatchObject({ heard: 2, answers: 2, thinking: 0 });
    expect(side.bubbles.map(({ by }) => by)).toEqual(["you", "you", "bot", "bot"]);
    expect(side.bubbles.at(-1)?.text).toBe(`${demoMark}One answer to 1 message:\n1. my order is late`);
  });
});

test("small words", () => {
  expect([0, 800, 1_000, 9_960, 12_000].map(seconds)).toEqual(["0 s", "0.8 s", "1 s", "10 s", "12 s"]);
  expect([listed(0, 1), listed(1, 3), listed(0, 3)]).toEqual(["message 1", "messages 2 and 3", "messages 1 to 3"]);
});
