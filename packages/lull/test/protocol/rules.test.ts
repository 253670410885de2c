// The rules an exhaustive model of an earlier form of the table taught us, each with the trace that breaks without it.
// The numbers are the model's; rules that concern stores, the engine or intake are tested there.
import { describe, expect, it } from "vitest";
import type { Held } from "../../src/model.ts";
import { apply } from "../../src/protocol.ts";
import { isRest, limits, text, World } from "./world.ts";

const part = text("more");

function answering(w = new World()): { w: World; held: Held } {
  w.say("hi");
  return { w, held: w.respond() };
}

function delivering(parts = ["one", "two"], open = false): { w: World; held: Held } {
  const { w, held } = answering();
  w.wait(5_000);
  w.commit(held, parts, { open });
  return { w, held };
}

describe("rule", () => {
  it("1: the next part waits until the one before is settled, not until it is sent", () => {
    for (const state of ["sent", "unknown"] as const) {
      const { w, held } = delivering();
      expect(w.attempt(held, 1).is).toBe("lost");
      w.settle(held, 0, state);
      expect(w.attempt(held, 1).is).toBe("attempting");
    }
  });

  it("2: a hand-off, a person and a reset end only an attempt that has not committed", () => {
    const takeOver = [
      (w: World) => void w.handoff(),
      (w: World) => void w.do("humanReply", { id: "p", upTo: null, parts: [part] }),
      (w: World) => void w.do("reset", { id: "x", forget: false }),
    ];
    for (const take of takeOver) {
      const early = answering();
      take(early.w);
      expect(early.w.r.lease).toBeNull();
      const late = delivering();
      take(late.w);
      expect(late.w.r.lease?.fence).toBe(late.held.fence);
      expect(late.w.r.outbox?.parts.map(({ state }) => state)).toEqual(["attempting", "cancelled"]);
      expect(late.w.settle(late.held, 0, "sent").is).toBe("closed");
    }
  });

  it("3: the holder knows the fence and the claim", () => {
    const { w, held } = answering();
    for (const by of [
      { ...held, claimId: "other" },
      { ...held, fence: held.fence - 1 },
    ]) {
      expect(w.do("seal", by)).toEqual({ is: "lost" });
      expect(w.fail(by)).toEqual({ is: "lost" });
      expect(w.commit(by)).toEqual({ is: "lost" });
      expect(w.do("renew", { held: false, deadlineMs: 0, ...by })).toEqual({ is: "lost" });
    }
    w.handoff();
    expect(w.r.fence).toBe(held.fence);
    expect(w.do("absorb", held)).toEqual({ is: "lost" });
  });

  it("4: a withdrawal brings back window, span, effects and restarts; labels are written when a reply closes", () => {
    const { w, held } = answering();
    w.say("more");
    w.do("discard", { reason: "superseded", ...held });
    const next = w.respond();
    w.wait(5_000).do("begin", { key: "pay", readOnly: false, ...next });
    const { window, span, effects } = w.r;
    w.commit(next);
    w.settle(next, 0, "refused");
    expect(w.entries("closed")).toEqual([]);
    w.say("and more");
    w.attempt(w.deliver());
    expect(w.r).toMatchObject({ span, effects, restarts: 2, answered: 0 });
    expect(w.r.window).toMatchObject({ openedAtMs: window?.openedAtMs, count: 3 });
    expect(w.entries("closed")).toMatchObject([{ outcome: "withdrawn" }]);
  });

  it("5: doubt is sticky; in doubt and failed for good is unknown", () => {
    const { w, held } = delivering(["one"]);
    w.settle(held, 0, "in-doubt");
    const next = w.deliver();
    w.attempt(next);
    w.settle(next, 0, "failed");
    expect(w.entries("receipt").at(-1)).toMatchObject({ state: "unknown" });
    expect(w.last()).toMatchObject({ outcome: "delivered" });
  });

  it("6: absorbing never extends the deadline", () => {
    const { w, held } = answering();
    const deadlineMs = w.r.lease?.deadlineMs;
    w.wait(1_000).say("more");
    w.do("absorb", held);
    expect(w.r.lease?.deadlineMs).toBe(deadlineMs);
  });

  it("7: an edit of what a sealed turn covers is its own input; a retraction acts at once", () => {
    const edited = answering();
    edited.w.wait(5_000).do("seal", edited.held);
    expect(edited.w.edit("hi", "hey").is).toBe("accepted");
    edited.w.commit(edited.held);
    edited.w.settle(edited.held, 0, "sent");
    expect(edited.w.r.window?.count).toBe(1);
    expect(edited.w.respond()).toBeDefined();

    const gone = answering();
    gone.w.wait(5_000).do("seal", gone.held);
    gone.w.retract("hi");
    expect(gone.w.r.window?.count).toBe(0);
    gone.w.commit(gone.held);
    gone.w.settle(gone.held, 0, "sent");
    expect(isRest(gone.w.r)).toBe(true);
  });

  it("8: a claim waits for effects that run; then they are in doubt", () => {
    const { w, held } = answering();
    w.do("begin", { key: "pay", readOnly: true, ...held });
    const { expiresAtMs } = w.r.lease ?? { expiresAtMs: 0 };
    w.do("discard", { reason: "handed-back", ...held });
    expect(w.wakeAt()).toBe(expiresAtMs);
    const next = w.respond();
    expect(w.do("begin", { key: "pay", readOnly: true, ...next })).toMatchObject({ is: "run", inDoubt: true });
  });

  it("9: a late end belongs to its span, not to the one that came after", () => {
    const { w, held } = answering();
    w.do("begin", { key: "pay", readOnly: true, ...held });
    w.do("reset", { id: "x", forget: false });
    w.say("again");
    const next = w.respond();
    w.do("begin", { key: "pay", readOnly: true, ...next });
    expect(w.do("end", { fence: held.fence, span: 1, key: "pay", result: { value: 1 } }).is).toBe("late");
    expect(w.r.effects.pay?.state).toBe("begun");
  });

  it("10: the lease stays while the reply is open; expiry closes it as cut, uncounted", () => {
    const { w, held } = delivering(["one"], true);
    w.settle(held, 0, "sent");
    expect(w.r.lease?.purpose).toBe("respond");
    w.toWake().claim();
    expect(w.last()).toMatchObject({ kind: "closed", outcome: "cut" });
    expect(w.r.failures).toBe(0);
  });

  it("11: every ending of a span sets the counters to 0; parking ends no more than the attempt knew", () => {
    const w = new World({ maxFailures: 2 });
    w.say("hi");
    w.fail(w.respond());
    const held = w.respond();
    w.say("more");
    expect(w.fail(held).is).toBe("parked");
    expect(w.r).toMatchObject({ failures: 0, restarts: 0, attempts: 0, retryAtMs: null, answered: 1 });
    w.fail(w.respond());
    w.do("humanReply", { id: "p", upTo: null, parts: [part] });
    expect(w.r.failures).toBe(0);
  });

  it("14: a commit asked again sends only while its holder's part is on its way", () => {
    const { w, held } = delivering(["one"]);
    w.settle(held, 0, "sent");
    expect(w.commit(held)).toEqual({ is: "committed", replyId: "reply", sends: false });
  });

  it("17: a renewal never goes beyond the deadline, except for an answer that only waits for quiet", () => {
    const w = new World({ turnTimeoutMs: 20_000, leaseMs: 15_000 });
    const { held } = answering(w);
    const { deadlineMs } = w.r.lease ?? { deadlineMs: 0 };
    w.wait(14_000).do("renew", { held: false, deadlineMs: 0, ...held });
    expect(w.r.lease?.expiresAtMs).toBe(deadlineMs);
    w.do("renew", { held: true, deadlineMs: 0, ...held });
    expect(w.r.lease?.deadlineMs).toBe((w.r.window?.openedAtMs ?? 0) + 45_000 + 15_000);
  });

  it("23: a claim that gets nothing still writes when it clears an expired lease", () => {
    const w = new World({ maxFailures: 9 });
    w.say("hi");
    w.respond();
    w.respond();
    w.respond();
    w.toWake();
    const step = w.peek("claim", { owner: "w", claimId: "late", random: 0 });
    expect(step.outcome.is).toBe("nothing");
    expect(step.next?.lease).toBeNull();
  });

  it("25: a sealed turn does not wait for quiet; seal and the first say do", () => {
    const { w, held } = answering();
    expect(w.commit(held, ["one"], { open: true }).is).toBe("early");
    expect(w.do("seal", held).is).toBe("early");
    w.wait(5_000).do("seal", held);
    w.say("more");
    expect(w.commit(held).is).toBe("committed");
  });

  it("26: a reply that nobody takes is given up by age, so the next turn cannot wait for ever", () => {
    const { w, held } = delivering(["one"]);
    w.say("next");
    for (let tries = 0; w.r.outbox !== null && tries < 100; tries += 1) {
      const by = tries === 0 ? held : w.deliver();
      if (tries > 0 && w.attempt(by, 0).is !== "attempting") break;
      w.settle(by, 0, "in-doubt");
    }
    expect(w.r.outbox).toBeNull();
    expect(w.respond()).toBeDefined();
  });

  it("30: a fence is a safe integer at least as high as the clock, whatever the store forgot", () => {
    const w = new World();
    w.r = { ...w.r, fence: 3 };
    w.say("hi");
    w.wait(1_000.75);
    const { held } = w.claim();
    expect(held.fence).toBe(Math.floor(w.now));
    expect(Number.isSafeInteger(w.r.lease?.expiresAtMs)).toBe(true);
  });

  it("31: typing is written only if it moves the hold by more than a second", () => {
    const w = new World();
    w.say("hi");
    expect(w.peek("typing", { on: true, forMs: 1_000 }).next).toBeNull();
    expect(w.peek("typing", { on: true, forMs: 1_001 }).next).not.toBeNull();
  });
});

describe("an event outside the types", () => {
  it("is a TypeError", () => {
    const event = { type: "surprise" } as never;
    expect(() => apply(new World().r, event, 0, limits)).toThrow(TypeError);
  });
});
