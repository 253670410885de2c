// What is learned of a person's pace: crossed replies, a target of one's own, questions, judgements, abandoned typing.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Limits } from "../../src/model.ts";
import { adaptive, asks, modelMs, typingTimeMs } from "../../src/pace.ts";
import * as window from "../../src/window.ts";
import { limits, text, World } from "./world.ts";

const adapting: Limits = { ...limits, adaptive: { crossed: 0.08 } };

/** A turn from its message to its reply on the screen. The words are also the message's id. */
function turn(w: World, words: string): void {
  w.say(words);
  const held = w.respond();
  w.wait(20_000).commit(held, ["answer"], { replyId: `re ${words}` });
  w.settle(held, 0, "sent", { replyId: `re ${words}` });
}

describe("asks", () => {
  it("finds a question mark at the end, in any script, behind it quotes, brackets and emoji at most", () => {
    const questions = [
      "ok?",
      "真的吗？",
      "حقا؟",
      "ինչու՞",
      "ለምን፧",
      "Really?!",
      "what? 🤔",
      "(why?) ",
      "τι είναι;",
      "“so?”",
      "⁉",
    ];
    for (const question of questions) expect(asks([text(question)]), question).toBe(true);
    const statements = ["", "ok", "a; b;", "who? me", "τι; ναι", "? no", "done."];
    for (const statement of statements) expect(asks([text(statement)]), statement).toBe(false);
  });

  it("looks at the last part alone, and only at text", () => {
    const file = { type: "file" as const, mediaType: "image/png", url: "https://example.org/?" };
    expect(asks([text("a?"), text("b")])).toBe(false);
    expect(asks([text("a?"), file])).toBe(false);
    expect(asks([])).toBe(false);
  });

  it("takes no longer for a long text", () => {
    const long = `${"?!".repeat(200_000)}a`;
    const began = process.hrtime.bigint();
    expect(asks([text(long)])).toBe(false);
    expect(Number(process.hrtime.bigint() - began) / 1e6).toBeLessThan(1_000);
  });
});

describe("typingTimeMs", () => {
  it("is a fifth of a second a character, 8 s at most, and half a second on the way; files take no typing", () => {
    const file = { type: "file" as const, mediaType: "image/png", url: "https://example.org" };
    expect(typingTimeMs([text("12345"), file, text("1")])).toBe(1_700);
    expect(typingTimeMs([text("x".repeat(1_000))])).toBe(8_500);
  });
});

describe("modelMs", () => {
  it("comes to where three runs in four are ready", () => {
    let estimate: number | null = null;
    for (let n = 0; n < 4_000; n += 1) estimate = modelMs(estimate, 1_000 + ((n * 617) % 1_000));
    expect(estimate).toBeGreaterThan(1_600);
    expect(estimate).toBeLessThan(1_900);
  });

  it("follows a model that becomes slower within some ten runs, and never is nothing", () => {
    let estimate = modelMs(null, 500);
    for (let n = 0; n < 12; n += 1) estimate = modelMs(estimate, 4_000);
    expect(estimate).toBeGreaterThan(3_000);
    expect(modelMs(null, 0)).toBe(1);
    expect(modelMs(1, 0)).toBe(1);
  });
});

describe("a reply is crossed", () => {
  it("by a message that was being typed when it appeared", () => {
    const w = new World();
    turn(w, "hi");
    expect(w.r.pace).toEqual({ shown: { replyId: "re hi", seq: 3, atMs: w.now }, replies: 0, crossed: 0, factor: 1 });
    w.wait(1_400).say("there");
    expect(w.r.window?.crossed).toEqual({ replyId: "re hi", seq: 3 });
    expect(w.r.pace).toEqual({ shown: null, replies: 1, crossed: 1, factor: 1 });
    w.say("!");
    expect(w.r.window?.crossed).toEqual({ replyId: "re hi", seq: 3 });
    w.respond();
    expect(w.last()).toMatchObject({ kind: "attempt", crossed: "re hi" });
  });

  it("not by one that came after the time its typing takes", () => {
    const w = new World();
    turn(w, "hi");
    w.wait(1_500).say("there");
    expect(w.r.window?.crossed).toBeUndefined();
    expect(w.r.pace).toMatchObject({ shown: null, replies: 1, crossed: 0 });
    w.respond();
    expect(w.entries("attempt").at(-1)).not.toHaveProperty("crossed.replyId");
  });

  it("by input that came before it was shown at all", () => {
    const w = new World();
    w.say("hi");
    const held = w.respond();
    w.wait(5_000).do("seal", held);
    w.wait(1_000).say("wait");
    w.commit(held);
    expect(w.r.window?.crossed).toBeUndefined();
    w.settle(held, 0, "sent");
    expect(w.r.window?.crossed).toEqual({ replyId: "reply", seq: 5 });
    expect(w.r.pace).toMatchObject({ shown: null, replies: 1, crossed: 1 });
  });

  it("at its first part, not at the next, and only if it was an answer", () => {
    const w = new World();
    w.say("hi");
    const held = w.respond();
    w.wait(9_000).commit(held, ["one", "two"]);
    w.settle(held, 0, "unknown");
    const first = w.r.pace;
    w.wait(9_000).attempt(held, 1);
    w.settle(held, 1, "sent");
    expect(w.r.pace).toEqual(first);
    w.do("send", { id: "s", replyId: "own", parts: [text("psst")], when: "after-turn" });
    w.settle(w.deliver(), 0, "sent", { replyId: "own" });
    expect(w.r.pace).toEqual(first);
  });

  it("by nothing that is not written: a retraction, a retry", () => {
    const w = new World();
    w.say("hi");
    w.commit(w.respond(), null);
    w.r = { ...w.r, pace: { shown: { replyId: "r", seq: 1, atMs: w.now }, replies: 0, crossed: 0, factor: 1 } };
    w.do("retry", { id: "again" });
    expect(w.r.pace?.shown).not.toBeNull();
    expect(w.r.window?.crossed).toBeUndefined();
  });
});

describe("adaptive windows", () => {
  it("wait longer for who is crossed, shorter for who is not, between half and 1.7 times the setting", () => {
    const w = new World(adapting);
    turn(w, "hi");
    w.wait(100).say("cross");
    expect(w.r.pace?.factor).toBe(1.368);
    expect(w.r.window).toMatchObject({ quietMs: 8_208, baseMs: 8_208, reason: "pace" });
    const up = { ...w.r, pace: { shown: { replyId: "r", seq: 1, atMs: w.now }, replies: 1, crossed: 1, factor: 1.6 } };
    w.r = { ...up, window: null };
    w.say("more");
    expect(w.r.pace?.factor).toBe(1.7);
    w.r = { ...up, pace: { ...up.pace, factor: 0.51 }, window: null };
    w.wait(60_000).say("slow");
    expect(w.r.pace?.factor).toBe(0.5);
    expect(w.r.window).toMatchObject({ quietMs: 3_000, reason: "pace" });
  });

  it("rest where the wanted share of replies is crossed", () => {
    let crossed = 0;
    let factor = 1;
    const w = new World({ adaptive: { crossed: 0.2 } });
    for (let n = 0; n < 500; n += 1) {
      // Whoever is left less quiet than the setting's crosses the reply.
      const shown = { replyId: "r", seq: 1, atMs: w.now };
      w.r = { ...w.r, window: null, pace: { shown, replies: n, crossed, factor } };
      w.wait(factor < 1 ? 0 : 60_000).say(`m${n}`);
      crossed = w.r.pace?.crossed ?? 0;
      factor = w.r.pace?.factor ?? 1;
      w.r = { ...w.r, answered: w.r.version };
    }
    expect(crossed / 500).toBeGreaterThan(0.15);
    expect(crossed / 500).toBeLessThan(0.25);
  });

  it("shorten after a question, until the user goes on", () => {
    const w = new World(adapting);
    w.say("open?");
    expect(w.r.window).toMatchObject({ quietMs: 3_600, reason: "question" });
    w.say("today");
    expect(w.r.window).toMatchObject({ quietMs: 6_000, baseMs: 6_000 });
    expect(w.r.window).not.toHaveProperty("reason");
    w.say("or tomorrow?");
    expect(w.r.window).toMatchObject({ quietMs: 3_600, reason: "question" });
    w.edit("or tomorrow?", "or tomorrow");
    expect(w.r.window?.quietMs).toBe(6_000);
    w.edit("or tomorrow?", "or tomorrow??");
    expect(w.r.window).toMatchObject({ quietMs: 3_600, reason: "question" });
    const fast = new World(adapting);
    fast.r = { ...fast.r, pace: { shown: null, replies: 9, crossed: 0, factor: 0.5 } };
    fast.say("open?");
    expect(fast.r.window?.quietMs).toBe(3_000);
  });

  it("keep what a message asks for itself", () => {
    const w = new World(adapting);
    w.say("button", { quietMs: 500 });
    w.say("open?");
    expect(w.r.window).toMatchObject({ quietMs: 500, reason: "message" });
    const later = new World(adapting);
    later.say("open?");
    later.say("button", { quietMs: 0 });
    expect(later.r.window).toMatchObject({ quietMs: 0, reason: "message" });
    const longer = new World(adapting);
    longer.say("open?");
    longer.say("slow", { quietMs: 30_000 });
    expect(longer.r.window).toMatchObject({ quietMs: 3_600, reason: "question" });
  });

  it("never begin a wait beyond the cap, nor adapt where nobody asked for it", () => {
    const pace = { shown: null, replies: 1, crossed: 1, factor: 1.7 };
    const w = new World({ ...adapting, quietMs: 40_000 });
    w.r = { ...w.r, pace };
    w.say("hi");
    expect(w.r.window?.quietMs).toBe(45_000);
    const plain = new World();
    plain.r = { ...plain.r, pace };
    plain.say("open?");
    expect(plain.r.window).toMatchObject({ quietMs: 6_000 });
    expect(plain.r.window).not.toHaveProperty("baseMs");
  });

  it("keep every target between half and 1.7 times the setting, whatever happens", () => {
    const step = fc.record({ gapMs: fc.nat(30_000), question: fc.boolean(), answers: fc.boolean() });
    const property = fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const w = new World({ ...adapting, maxPending: 100 });
      for (const [n, { gapMs, question, answers }] of steps.entries()) {
        w.wait(gapMs).say(`m${n}${question ? "?" : ""}`);
        const quietMs = w.r.window?.quietMs ?? 0;
        expect(quietMs).toBeGreaterThanOrEqual(adaptive.least * 6_000);
        expect(quietMs).toBeLessThanOrEqual(adaptive.most * 6_000);
        if (!answers || w.r.lease !== null) continue;
        const held = w.respond();
        w.wait(45_000).commit(held);
        w.settle(held, 0, "sent");
      }
    });
    fc.assert(property);
  });
});

describe("a judgement of completeness", () => {
  it("halves the wait, doubles it, or leaves it, and is bounded by the cap", () => {
    const judged = (completeness: number, most: Partial<Limits> = {}) => {
      const w = new World(most);
      w.say("hi");
      w.do("judge", { version: 1, completeness });
      return w.r.window;
    };
    expect(judged(1)).toMatchObject({ quietMs: 3_000, reason: "judged" });
    expect(judged(0)?.quietMs).toBe(12_000);
    expect(judged(0.5)?.quietMs).toBe(6_000);
    expect(judged(0, { maxWaitMs: 8_000 })?.quietMs).toBe(8_000);
  });

  it("holds until the next input, and is worth nothing after it", () => {
    const w = new World(adapting);
    w.say("hi");
    w.do("judge", { version: 1, completeness: 0 });
    w.say("there");
    expect(w.r.window?.quietMs).toBe(6_000);
    expect(w.peek("judge", { version: 1, completeness: 0 })).toMatchObject({ next: null, outcome: { is: "nothing" } });
  });

  it("moves the commit of a running attempt, and what waits behind it", () => {
    const w = new World();
    w.say("hi");
    const held = w.respond();
    w.do("judge", { version: 1, completeness: 0 });
    expect(w.wait(5_000).commit(held)).toEqual({ is: "early", atMs: w.now + 6_000 });
    w.say("more");
    w.do("judge", { version: 2, completeness: 1 });
    expect(w.r.lease?.newer).toMatchObject({ quietMs: 3_000, reason: "judged" });
  });

  it("is not asked where a message or a flush has said what it wants, or nothing waits", () => {
    const nothing = { next: null, outcome: { is: "nothing" } };
    expect(new World().peek("judge", { version: 0, completeness: 0 })).toMatchObject(nothing);
    const w = new World();
    w.say("button", { quietMs: 0 });
    expect(w.peek("judge", { version: 1, completeness: 0 })).toMatchObject(nothing);
    const flushed = new World();
    flushed.say("hi");
    flushed.do("flush", {});
    expect(flushed.peek("judge", { version: 1, completeness: 0 })).toMatchObject(nothing);
    flushed.say("more");
    expect(flushed.r.window).toMatchObject({ quietMs: 0, reason: "flush" });
  });
});

describe("typing that brings no message", () => {
  it("holds for so long, and no longer, however often it is repeated", () => {
    const w = new World({ typingMaxMs: 10_000 });
    w.say("hi");
    const since = w.now;
    for (let n = 0; n < 20; n += 1) w.wait(1_500).do("typing", { on: true });
    // What moves the hold by less than a second is not worth a write.
    expect(w.r.window?.holdUntilMs).toBeGreaterThanOrEqual(since + 1_500 + 9_000);
    expect(w.r.window?.holdUntilMs).toBeLessThanOrEqual(since + 1_500 + 10_000);
    expect(w.r.window?.typingSinceMs).toBe(since + 1_500);
  });

  it("is forgotten with the next message", () => {
    const w = new World({ typingMaxMs: 10_000 });
    w.say("hi");
    w.do("typing", { on: true });
    w.wait(9_000).say("there");
    expect(w.r.window).not.toHaveProperty("typingSinceMs");
    w.do("typing", { on: true });
    expect(w.r.window?.holdUntilMs).toBe(w.now + 6_000);
  });
});

describe("the model's start", () => {
  const opened = { fromSeq: 1, openedAtMs: 0, lastInputAtMs: 0, holdUntilMs: null, incompleteUntilMs: null, count: 1 };

  it("is so early that the answer is ready when it may go out", () => {
    const at = (quietMs: number, leadMs: number, restarts = 0) =>
      window.startAt({ ...opened, quietMs }, { ...limits, leadMs }, restarts);
    expect(at(6_000, 2_000)).toBe(4_000);
    expect(at(6_000, 9_000)).toBe(0);
    expect(at(10_200, 0)).toBe(10_200);
    expect(at(6_000, 2_000, 3)).toBe(6_000);
  });

  it("and its answer's way out are recorded with their reasons", () => {
    const waits = (w: World) => w.log.flatMap((entry) => ("wait" in entry && entry.wait ? [entry.wait] : []));
    const w = new World();
    w.say("hi");
    const held = w.respond();
    w.wait(5_000).commit(held);
    expect(waits(w)).toEqual([
      { targetMs: 1_000, reason: "setting" },
      { targetMs: 6_000, reason: "setting" },
    ]);
    const reasonOf = (more: Partial<Limits>, act: (w: World) => void) => {
      const other = new World(more);
      other.say("hi");
      act(other);
      other.respond();
      return other.entries("attempt").at(-1)?.wait?.reason;
    };
    expect(reasonOf({}, (v) => v.do("typing", { on: true }))).toBe("typing");
    expect(reasonOf({}, (v) => v.say("more", { incomplete: true }))).toBe("incomplete");
    expect(reasonOf({}, (v) => v.do("flush", {}))).toBe("flush");
    expect(reasonOf({}, (v) => v.wait(50_000))).toBe("cap");
    expect(reasonOf({ maxRestarts: 0 }, () => {})).toBe("restarts");
    expect(reasonOf(adapting, (v) => v.say("ok?"))).toBe("question");
    const parked = new World({ maxFailures: 1 });
    parked.say("hi");
    parked.fail(parked.respond(), { fallback: { replyId: "sorry", parts: [text("sorry")] } });
    expect(parked.entries("reply").at(-1)?.wait).toBeUndefined();
  });
});
