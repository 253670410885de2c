// A reply on its way: append, close, attempt, settle, withdrawal, crash.
import { describe, expect, it } from "vitest";
import type { Held } from "../../src/model.ts";
import { isRest, text, World } from "./world.ts";

const stranger: Held = { fence: 1, claimId: "nobody" };
const part = text("more");

/** "hi" was answered with these parts; the first is on its way. */
function committed(parts = ["one"], open = false, w = new World()): { w: World; held: Held } {
  w.say("hi");
  const held = w.respond();
  w.wait(5_000);
  w.commit(held, parts, { open });
  return { w, held };
}

describe("append and close", () => {
  it("add parts under the lease that said the first", () => {
    const { w, held } = committed(["one"], true);
    expect(w.do("append", { replyId: "reply", index: 1, part, ...held })).toEqual({ is: "appended" });
    expect(w.last()).toMatchObject({ kind: "part", replyId: "reply", index: 1, part });
    expect(w.peek("append", { replyId: "reply", index: 1, part, ...held })).toMatchObject({
      next: null,
      outcome: { is: "appended" },
    });
    w.settle(held, 0, "sent");
    expect(w.r.outbox).not.toBeNull();
    expect(w.do("close", { replyId: "reply", ...held })).toEqual({ is: "closed", done: false });
    expect(w.do("append", { replyId: "reply", index: 2, part, ...held })).toEqual({ is: "lost" });
    expect(w.attempt(held, 1)).toEqual({ is: "attempting", tries: 1, doubt: false });
    expect(w.settle(held, 1, "sent")).toEqual({ is: "closed" });
    expect(w.last()).toMatchObject({ kind: "closed", outcome: "delivered" });
  });

  it("close at once what has been sent already", () => {
    const { w, held } = committed(["one"], true);
    w.settle(held, 0, "sent");
    expect(w.do("close", { replyId: "reply", ...held })).toEqual({ is: "closed", done: true });
    expect(isRest(w.r)).toBe(true);
  });

  it("are refused beyond the limit, with a gap, of another reply, and to others", () => {
    const { w, held } = committed(["one", "two"], true);
    expect(w.do("append", { replyId: "reply", index: 3, part, ...held })).toEqual({ is: "lost" });
    w.do("append", { replyId: "reply", index: 2, part, ...held });
    expect(w.do("append", { replyId: "reply", index: 3, part, ...held })).toEqual({ is: "full" });
    expect(w.do("append", { replyId: "other", index: 3, part, ...held })).toEqual({ is: "lost" });
    expect(w.do("close", { replyId: "reply", ...stranger })).toEqual({ is: "lost" });
  });

  it("an open reply of nothing yet sends nothing by itself", () => {
    const { w, held } = committed([], true);
    expect(w.r.outbox?.parts).toEqual([]);
    expect(w.commit(held, [], { open: true })).toMatchObject({ is: "committed", sends: false });
    w.do("append", { replyId: "reply", index: 0, part, ...held });
    expect(w.attempt(held, 0).is).toBe("attempting");
  });
});

describe("attempt", () => {
  it("marks a part before it is sent, once all earlier ones are settled", () => {
    const { w, held } = committed(["one", "two"]);
    expect(w.attempt(held, 1)).toEqual({ is: "lost" });
    expect(w.settle(held, 0, "sent")).toEqual({ is: "next" });
    expect(w.attempt(held, 1)).toEqual({ is: "attempting", tries: 1, doubt: false });
    expect(w.attempt(held, 0)).toEqual({ is: "settled", done: false });
    expect(w.attempt(held, 2)).toEqual({ is: "lost" });
    expect(w.attempt(stranger, 1)).toEqual({ is: "lost" });
  });

  it("asked again is the same answer", () => {
    const { w, held } = committed();
    expect(w.peek("attempt", { replyId: "reply", index: 0, inDoubt: "retry", ...held })).toMatchObject({
      next: null,
      outcome: { is: "attempting", tries: 1, doubt: false },
    });
  });

  it("is early before the next try", () => {
    const { w, held } = committed(["one"], true);
    w.settle(held, 0, "refused");
    expect(w.attempt(held, 0)).toEqual({ is: "early", atMs: w.now + 500 });
  });

  it("moves the deadline: delivering makes progress", () => {
    const { w, held } = committed(["one", "two"]);
    w.wait(20_000).settle(held, 0, "sent");
    w.attempt(held, 1);
    expect(w.r.lease).toMatchObject({ deadlineMs: w.now + 120_000, expiresAtMs: w.now + 30_000 });
  });

  it("gives a reply up that got too old", () => {
    const w = new World({ deliverMaxMs: 10_000 });
    const { held } = committed(["one", "two"], false, w);
    w.settle(held, 0, "refused", { receipt: { state: "refused", retryAfterMs: 3_600_000 } });
    const next = w.deliver();
    expect(w.attempt(next, 0)).toEqual({ is: "settled", done: true });
    expect(w.entries("receipt").slice(-2)).toMatchObject([
      { index: 0, state: "failed", error: "not delivered within 10000 ms" },
      { index: 1, state: "cancelled" },
    ]);
    expect(w.last()).toMatchObject({ kind: "closed", outcome: "failed" });
    expect(w.r.parked).toMatchObject({ from: 0, to: 1, reason: "delivery failed" });
  });

  it("does not try a part in doubt again where the owner prefers at most once", () => {
    const { w } = committed(["one", "two"]);
    const next = w.deliver();
    expect(w.attempt(next, 0, { inDoubt: "give-up" })).toEqual({ is: "settled", done: false });
    expect(w.entries("receipt").at(-1)).toMatchObject({ index: 0, state: "unknown" });
    w.attempt(next, 1);
    expect(w.settle(next, 1, "sent")).toEqual({ is: "closed" });
    expect(w.last()).toMatchObject({ outcome: "delivered" });
  });
});

describe("settle", () => {
  it("sent: the last part of a complete reply ends it", () => {
    const { w, held } = committed();
    const receipt = { state: "sent" as const, externalId: "77" };
    expect(w.settle(held, 0, "sent", { receipt })).toEqual({ is: "closed" });
    expect(w.entries("receipt")).toMatchObject([{ state: "sent", externalId: "77" }]);
    expect(isRest(w.r)).toBe(true);
    expect(w.settle(held, 0, "sent")).toEqual({ is: "lost" });
  });

  it("refused: tried again, by whom it may be", () => {
    const { w, held } = committed();
    expect(w.settle(held, 0, "refused")).toEqual({ is: "retry", atMs: w.now + 500, held: false });
    expect(w.r.lease).toBeNull();
    const next = w.deliver();
    expect(w.attempt(next)).toEqual({ is: "attempting", tries: 2, doubt: false });
    expect(w.settle(held, 0, "sent")).toEqual({ is: "lost" });
  });

  it("refused in an open reply: its holder goes on", () => {
    const { w, held } = committed(["one"], true);
    expect(w.settle(held, 0, "refused", { receipt: { state: "refused", retryAfterMs: 9 } })).toEqual({
      is: "retry",
      atMs: w.now + 9,
      held: true,
    });
  });

  it("in doubt: tried again, and the doubt stays until it was sent", () => {
    const { w, held } = committed();
    w.settle(held, 0, "in-doubt");
    let next = w.deliver();
    expect(w.attempt(next)).toMatchObject({ doubt: true });
    w.settle(next, 0, "refused");
    next = w.deliver();
    expect(w.attempt(next)).toMatchObject({ doubt: true });
    w.settle(next, 0, "sent");
    expect(w.last()).toMatchObject({ outcome: "delivered" });
  });

  it("failed for good: later parts would make no sense", () => {
    const { w, held } = committed(["one", "two", "three"]);
    w.settle(held, 0, "sent");
    w.attempt(held, 1);
    expect(w.settle(held, 1, "failed")).toEqual({ is: "closed" });
    expect(w.entries("receipt").map(({ state }) => state)).toEqual(["sent", "failed", "cancelled"]);
    expect(w.last()).toMatchObject({ outcome: "delivered" });
  });

  it("failed for good with nothing shown: the inputs are parked", () => {
    const { w, held } = committed();
    w.settle(held, 0, "failed", { receipt: { state: "failed", error: "blocked" } });
    expect(w.r.parked).toMatchObject({ from: 0, to: 1, fromSeq: 1 });
    expect(w.do("retry", { id: "again" })).toEqual({ is: "revived", count: 1 });
    w.respond();
  });

  it("unknown counts as shown", () => {
    const { w, held } = committed();
    w.settle(held, 0, "unknown");
    expect(w.last()).toMatchObject({ outcome: "delivered" });
  });
});

describe("withdrawal", () => {
  it("takes back a reply of which nothing was sent when newer input came", () => {
    const { w, held } = committed();
    w.settle(held, 0, "refused");
    w.say("more");
    const next = w.deliver();
    expect(w.attempt(next)).toEqual({ is: "withdrawn", done: true });
    expect(w.last()).toMatchObject({ kind: "closed", outcome: "withdrawn", from: 0, to: 1 });
    expect(w.r).toMatchObject({ answered: 0, lease: null, outbox: null, restarts: 1, tempo: { replies: 0 } });
    expect(w.r.window).toMatchObject({ count: 2, fromSeq: 1 });
  });

  it("does not happen once the turn was sealed, the reply is in doubt, something was sent, or after the cap", () => {
    const sealed = new World();
    sealed.say("hi");
    const held = sealed.respond();
    sealed.wait(5_000).do("seal", held);
    sealed.commit(held);
    const doubtful = committed();
    const partly = committed(["one", "two"]);
    partly.w.settle(partly.held, 0, "sent");
    partly.w.attempt(partly.held, 1);
    const late = committed();
    late.w.settle(late.held, 0, "refused");
    late.w.wait(45_000);
    for (const [w, by, index, state] of [
      [sealed, held, 0, "refused"],
      [doubtful.w, doubtful.held, 0, "in-doubt"],
      [partly.w, partly.held, 1, "refused"],
      [late.w, null, 0, "refused"],
    ] as const) {
      if (by !== null) w.settle(by, index, state);
      w.say("more");
      expect(w.attempt(w.deliver(), index).is).toBe("attempting");
      expect(w.r.window?.count).toBe(1);
    }
  });

  it("without newer input does not happen", () => {
    const { w, held } = committed();
    w.settle(held, 0, "refused");
    expect(w.attempt(w.deliver()).is).toBe("attempting");
  });

  it("gives the span its effects back", () => {
    const w = new World();
    w.say("hi");
    const held = w.respond();
    w.wait(5_000).do("begin", { key: "pay", readOnly: false, ...held });
    w.do("end", { fence: held.fence, span: 1, key: "pay", result: { value: 42 } });
    w.commit(held);
    w.settle(held, 0, "refused");
    w.say("more");
    w.attempt(w.deliver());
    expect(w.r).toMatchObject({ span: 1, effects: { pay: { state: "ended" } } });
    const next = w.respond();
    expect(w.do("begin", { key: "pay", readOnly: true, ...next }).is).toBe("done");
  });

  it("lets an effect that ends late be recorded where the span has gone", () => {
    const w = new World();
    w.say("hi");
    const held = w.respond();
    w.wait(5_000).do("begin", { key: "pay", readOnly: false, ...held });
    w.commit(held);
    w.settle(held, 0, "refused");
    w.say("more");
    w.attempt(w.deliver());
    expect(w.do("end", { fence: held.fence, span: 1, key: "pay", result: { value: 42 } }).is).toBe("recorded");
    expect(w.r.effects.pay?.state).toBe("ended");
  });

  it("is what an edit or a retraction of a covered message leads to", () => {
    const edited = committed();
    edited.w.settle(edited.held, 0, "refused");
    expect(edited.w.edit("hi", "hey").is).toBe("accepted");
    expect(edited.w.attempt(edited.w.deliver()).is).toBe("withdrawn");
    expect(edited.w.r.window?.count).toBe(1);

    const gone = committed();
    gone.w.settle(gone.held, 0, "refused");
    expect(gone.w.retract("hi").is).toBe("accepted");
    expect(gone.w.attempt(gone.w.deliver()).is).toBe("withdrawn");
    expect(isRest(gone.w.r)).toBe(true);
    expect(gone.w.last()).toMatchObject({ kind: "settled", outcome: "removed" });
  });
});

describe("a crash while delivering", () => {
  it("leaves the part in doubt, counts no failure of the span, and the delivery goes on", () => {
    const { w } = committed(["one", "two"]);
    const next = w.deliver();
    expect(w.r).toMatchObject({ failures: 0, outbox: { parts: [{ state: "queued", doubt: true }, { doubt: false }] } });
    expect(w.attempt(next)).toEqual({ is: "attempting", tries: 2, doubt: true });
  });

  it("of an open reply cuts it: what was said and appended is still sent", () => {
    const { w, held } = committed(["one"], true);
    w.settle(held, 0, "sent");
    w.do("append", { replyId: "reply", index: 1, part, ...held });
    const next = w.deliver();
    expect(w.r.outbox).toMatchObject({ open: false, ending: "cut" });
    w.attempt(next, 1);
    w.settle(next, 1, "sent");
    expect(w.last()).toMatchObject({ outcome: "cut" });
  });

  it("of an open reply that had sent all it said ends it there and then", () => {
    const { w, held } = committed(["one"], true);
    w.settle(held, 0, "sent");
    expect(w.toWake().claim()).toMatchObject({ is: "nothing", wakeAtMs: null });
    expect(w.last()).toMatchObject({ kind: "closed", outcome: "cut" });
  });

  it("again and again backs off, and never beyond the reply's age", () => {
    const w = new World({ deliverMaxMs: 90_100 });
    committed(["one"], false, w);
    const committedAtMs = w.now;
    expect(w.attempt(w.deliver()).is).toBe("attempting");
    expect(w.attempt(w.deliver()).is).toBe("attempting");
    expect(w.toWake().claim()).toMatchObject({ is: "nothing", wakeAtMs: committedAtMs + 90_100 });
    expect(w.attempt(w.deliver())).toEqual({ is: "settled", done: true });
    expect(w.entries("receipt").at(-1)).toMatchObject({ state: "unknown" });
  });
});
