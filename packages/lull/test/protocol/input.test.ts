// What comes in: messages, edits, retractions, typing, flush.
import { describe, expect, it } from "vitest";
import { isRest, text, World } from "./world.ts";

describe("receive", () => {
  it("opens a window, answers with both targets, and says nothing until they are reached", () => {
    const w = new World();
    expect(w.say("hi")).toEqual({
      is: "accepted",
      version: 1,
      seq: 1,
      startAtMs: w.now + 1_000,
      quietAtMs: w.now + 6_000,
    });
    expect(w.wakeAt()).toBe(w.now + 1_000);
    expect(w.claim()).toMatchObject({ is: "nothing", wakeAtMs: w.now + 1_000 });
  });

  it("is pushed on by every further message, and never beyond the cap", () => {
    const w = new World();
    const openedAtMs = w.now;
    w.say("one");
    w.wait(900).say("two");
    expect(w.wakeAt()).toBe(w.now + 1_000);
    expect(w.r.window).toMatchObject({ openedAtMs, lastInputAtMs: w.now, count: 2, fromSeq: 1 });
    w.wait(44_000).say("three");
    expect(w.wakeAt()).toBe(openedAtMs + 45_000);
  });

  it("keeps the newest address, and leaves it where none is given", () => {
    const w = new World();
    w.say("one", { address: { chat: 1 } });
    w.say("two");
    expect(w.r.address).toEqual({ chat: 1 });
    w.say("three", { address: { chat: 2 } });
    expect(w.r.address).toEqual({ chat: 2 });
  });

  it("is rejected when full, and a rejection writes nothing", () => {
    const w = new World({ maxPending: 2 });
    w.say("one");
    w.say("two");
    const step = w.peek("receive", { id: "three", parts: [text("three")] });
    expect(step).toEqual({ next: null, entries: [], outcome: { is: "rejected", reason: "full" } });
  });

  it("ends a back-off: the user is here now", () => {
    const w = new World();
    w.say("hi");
    w.fail(w.respond(), { retryAfterMs: 30_000 });
    expect(w.wakeAt()).toBe(w.now + 30_000);
    w.say("hello?");
    expect(w.wakeAt()).toBe(w.now + 1_000);
  });

  it("never touches the timer of a running attempt", () => {
    const w = new World();
    w.say("hi");
    w.respond();
    const at = w.wakeAt();
    w.wait(10).say("more");
    expect(w.wakeAt()).toBe(at);
  });

  it("sets backlog and commands aside: in the log, never answered, however full", () => {
    const w = new World({ maxPending: 1 });
    expect(w.say("/start", { aside: "command" })).toEqual({
      is: "accepted",
      version: 1,
      seq: 1,
      startAtMs: null,
      quietAtMs: null,
    });
    expect(isRest(w.r)).toBe(true);
    expect(w.r.answered).toBe(1);
    w.say("hi");
    expect(w.say("old news", { aside: "backlog" }).is).toBe("accepted");
    expect(w.r.window?.count).toBe(1);
    const held = w.respond();
    w.wait(5_000);
    w.commit(held);
    expect(w.entries("reply")[0]).toMatchObject({ from: 1, to: 3, overtaken: false });
  });

  it("set aside during an attempt, does not overtake it, and is behind us once the reply is out", () => {
    const w = new World();
    w.say("hi");
    const held = w.respond();
    w.wait(5_000).say("old news", { aside: "backlog" });
    expect(w.commit(held).is).toBe("committed");
    expect(w.r.answered).toBe(1);
    w.settle(held, 0, "sent");
    expect(w.r.answered).toBe(2);
  });

  it("answers at once where an input says so", () => {
    const w = new World();
    w.say("thinking");
    w.wait(10).say("[button]", { quietMs: 0 });
    expect(w.wakeAt()).toBe(w.now);
    expect(w.commit(w.respond()).is).toBe("committed");
  });
});

describe("edit", () => {
  it("of an unanswered message counts as new input, and the model sees the new text", () => {
    const w = new World();
    w.say("helo");
    expect(w.wait(100).edit("helo", "hello")).toEqual({ is: "accepted", version: 2 });
    expect(w.r.window).toMatchObject({ count: 1, lastInputAtMs: w.now });
  });

  it("that changes nothing is no input", () => {
    const w = new World();
    w.say("hello");
    expect(w.edit("hello", "hello")).toEqual({ is: "unchanged", version: 1 });
    expect(w.log).toHaveLength(1);
  });

  it("discards an attempt that read the old text", () => {
    const w = new World();
    w.say("helo");
    const held = w.respond();
    w.edit("helo", "hello");
    expect(w.do("discard", { reason: "superseded", ...held }).is).toBe("superseded");
  });

  it("of an answered message is noted and otherwise ignored", () => {
    const w = answered();
    expect(w.edit("hi", "hey")).toEqual({ is: "ignored", version: 1 });
    expect(w.last()).toMatchObject({ kind: "edit", aside: "answered" });
    expect(isRest(w.r)).toBe(true);
  });

  it("of an answered message is new input where the owner wants that", () => {
    const w = answered();
    expect(w.edit("hi", "hey", { afterAnswer: "new-input" })).toEqual({ is: "accepted", version: 2 });
    expect(w.r.window?.count).toBe(1);
  });

  it("that completes an incomplete message is never ignored", () => {
    const w = answered();
    expect(w.edit("hi", "the transcript", { completes: true }).is).toBe("accepted");
  });

  it("is rejected when full", () => {
    const w = new World({ maxPending: 1 });
    w.say("hi");
    expect(w.edit("hi", "hey")).toEqual({ is: "rejected", version: 1 });
  });
});

describe("retract", () => {
  it("of the only message ends the span: nobody is waiting any more", () => {
    const w = new World();
    w.say("oops");
    expect(w.retract("oops")).toEqual({ is: "accepted", version: 2 });
    expect(isRest(w.r)).toBe(true);
    expect(w.last()).toMatchObject({ kind: "settled", from: 0, to: 2, outcome: "removed" });
  });

  it("of one of several leaves the others", () => {
    const w = new World();
    w.say("one");
    w.say("oops");
    w.retract("oops");
    expect(w.r.window?.count).toBe(1);
  });

  it("of everything while an attempt runs: the window is empty until the attempt has ended, then nothing is left", () => {
    const w = new World();
    w.say("oops");
    const held = w.respond();
    w.retract("oops");
    expect(w.r.window?.count).toBe(0);
    expect(w.do("discard", { reason: "superseded", ...held }).is).toBe("superseded");
    expect(isRest(w.r)).toBe(true);
    expect(w.last()).toMatchObject({ kind: "settled", outcome: "removed" });
  });

  it("of everything, then a new message before the attempt has ended: the new one is answered", () => {
    const w = new World();
    w.say("oops");
    const held = w.respond();
    w.retract("oops");
    w.say("right");
    w.do("discard", { reason: "superseded", ...held });
    expect(w.r.window).toMatchObject({ count: 1, quietMs: 6_000 });
    w.respond();
  });

  it("of an answered message only changes the history", () => {
    const w = answered();
    expect(w.retract("hi")).toEqual({ is: "ignored", version: 1 });
    expect(w.last()).toMatchObject({ kind: "retraction", aside: "answered" });
  });

  it("is possible when the conversation is full, yet bounded", () => {
    const w = new World({ maxPending: 2 });
    w.say("one");
    w.say("two");
    expect(w.retract("two").is).toBe("accepted");
    expect(w.say("three").is).toBe("rejected");
    w.do("retract", { id: "again", target: "one" });
    const full = new World({ maxPending: 1 });
    full.say("one");
    full.edit("one", "uno");
    full.retract("two");
    full.r = { ...full.r, version: full.r.answered + 2 };
    expect(full.retract("one").is).toBe("rejected");
  });
});

describe("typing", () => {
  it("holds the window within the cap", () => {
    const w = new World();
    const openedAtMs = w.now;
    w.say("hi");
    expect(w.do("typing", { on: true }).is).toBe("held");
    expect(w.wakeAt()).toBe(w.now + 6_000);
    w.wait(44_000);
    expect(w.do("typing", { on: true }).is).toBe("held");
    expect(w.wakeAt()).toBe(openedAtMs + 45_000);
  });

  it("is not worth a write for less than a second, nor beyond the cap", () => {
    const w = new World();
    w.say("hi");
    w.do("typing", { on: true });
    w.wait(900);
    expect(w.peek("typing", { on: true })).toMatchObject({ next: null, outcome: { is: "nothing" } });
    w.wait(44_100);
    w.do("typing", { on: true });
    w.wait(5_000);
    expect(w.peek("typing", { on: true })).toMatchObject({ next: null, outcome: { is: "nothing" } });
  });

  it("ends when it stops, and when what was typed arrives", () => {
    const w = new World();
    w.say("hi");
    w.do("typing", { on: true, forMs: 20_000 });
    expect(w.do("typing", { on: false }).is).toBe("held");
    expect(w.wakeAt()).toBe(w.now + 1_000);
    w.do("typing", { on: true, forMs: 20_000 });
    w.say("there");
    expect(w.wakeAt()).toBe(w.now + 1_000);
  });

  it("holds the commit of a running attempt too", () => {
    const w = new World();
    w.say("hi");
    const held = w.respond();
    w.wait(4_000).do("typing", { on: true });
    w.wait(2_000);
    expect(w.commit(held)).toEqual({ is: "early", atMs: w.now + 4_000 });
    expect(w.wait(4_000).commit(held).is).toBe("committed");
  });

  it("holds what waits behind a sealed turn, and what a reply taken back brings back", () => {
    const sealed = new World();
    sealed.say("hi");
    const held = sealed.respond();
    sealed.wait(5_000).do("seal", held);
    sealed.say("and");
    sealed.do("typing", { on: true, forMs: 30_000 });
    const holdUntilMs = sealed.now + 30_000;
    sealed.commit(held);
    expect(sealed.r.window).toMatchObject({ holdUntilMs });

    const taken = new World();
    taken.say("hi");
    const by = taken.respond();
    taken.wait(5_000).commit(by);
    taken.settle(by, 0, "refused");
    taken.say("and");
    taken.do("typing", { on: true, forMs: 30_000 });
    taken.attempt(taken.deliver());
    expect(taken.r.window).toMatchObject({ count: 2, holdUntilMs: expect.any(Number) });
    taken.do("flush", {});
    expect(taken.r.window).toMatchObject({ quietMs: 0, holdUntilMs: null });
  });

  it("says nothing where nobody has written", () => {
    expect(new World().peek("typing", { on: true })).toMatchObject({ next: null, outcome: { is: "nothing" } });
  });
});

describe("flush", () => {
  it("asks for the answer now: quiet and holds are dropped", () => {
    const w = new World();
    w.say("hi", { incomplete: true });
    w.do("typing", { on: true });
    expect(w.do("flush", {}).is).toBe("flushed");
    expect(w.wakeAt()).toBe(w.now);
    expect(w.commit(w.respond()).is).toBe("committed");
  });

  it("is in the log with whoever asked for it, where that is said", () => {
    const w = new World();
    w.say("hi");
    w.do("flush", { by: "ops" });
    expect(w.log.at(-1)).toMatchObject({ kind: "flushed", by: "ops", seq: 2 });
    w.do("flush", {});
    expect(w.log).toHaveLength(2);
    expect(w.commit(w.respond()).is).toBe("committed");
  });

  it("has nothing to do where nothing waits", () => {
    for (const call of [{}, { by: "ops" }])
      expect(new World().peek("flush", call)).toMatchObject({ next: null, outcome: { is: "nothing" } });
  });
});

/** "hi" came and was answered. */
function answered(): World {
  const w = new World();
  w.say("hi");
  const held = w.respond();
  w.wait(5_000);
  w.commit(held);
  w.settle(held, 0, "sent");
  return w;
}
