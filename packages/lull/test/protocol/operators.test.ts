// People and operators: handoff, humanReply, resume, reset, retry, and messages of the bot's own accord.
import { describe, expect, it } from "vitest";
import type { Held } from "../../src/model.ts";
import { isRest, text, World } from "./world.ts";

const parts = [text("a person")];
const human = (upTo: number | null) => ({ id: `human${upTo}`, upTo, parts });
const send = (replyId: string, when: "after-turn" | "if-quiet" = "after-turn") => ({
  id: replyId,
  replyId,
  parts: [text("by the way")],
  when,
});

function answering(): { w: World; held: Held } {
  const w = new World();
  w.say("hi");
  return { w, held: w.respond() };
}

function delivering(parts = ["one", "two"]): { w: World; held: Held } {
  const { w, held } = answering();
  w.wait(5_000);
  w.commit(held, parts);
  return { w, held };
}

describe("handoff", () => {
  it("ends the running attempt without counting it, and the bot keeps quiet until it is over", () => {
    const { w, held } = answering();
    expect(w.handoff()).toEqual({ is: "handed-off", untilMs: w.now + 60_000 });
    expect(w.entries("ended")).toMatchObject([{ outcome: "handed-off" }]);
    expect(w.r).toMatchObject({ lease: null, failures: 0, restarts: 0 });
    w.wait(5_000);
    expect(w.commit(held)).toEqual({ is: "lost" });
    expect(w.claim()).toMatchObject({ is: "nothing", wakeAtMs: w.now + 55_000 });
    w.respond();
    expect(w.entries("resumed")).toMatchObject([{ id: "hand-off-over", backlog: "answer" }]);
  });

  it("has a ceiling", () => {
    expect(new World().handoff({ forMs: 1e12 })).toMatchObject({ untilMs: 10_000_000 + 3_600_000 });
  });

  it("with nothing waiting needs no timer", () => {
    const w = new World();
    w.handoff();
    expect(w.wakeAt()).toBeNull();
    w.say("hi");
    expect(w.wakeAt()).toBe(w.now + 60_000);
  });

  it("may be prolonged, and keeps its beginning", () => {
    const w = new World();
    const sinceMs = w.now;
    w.handoff({ by: "ann" });
    expect(w.r.handoff).toEqual({ sinceMs, untilMs: w.now + 60_000, backlog: "answer", by: "ann" });
    w.wait(1_000).handoff();
    expect(w.r.handoff).toEqual({ sinceMs, untilMs: w.now + 60_000, backlog: "answer" });
  });

  it("keeps the backlog as context where its owner said so", () => {
    const w = new World();
    w.handoff({ backlog: "context" });
    w.say("for the person");
    expect(w.toWake().claim()).toMatchObject({ is: "nothing", wakeAtMs: null });
    expect(w.last()).toMatchObject({ kind: "settled", outcome: "context", from: 0, to: 1 });
    expect(w.do("retry", { id: "again" })).toEqual({ is: "revived", count: 1 });
  });

  it("takes a reply back that nobody has seen: its inputs are waiting again", () => {
    const { w, held } = delivering();
    w.settle(held, 0, "refused");
    w.handoff();
    expect(w.last()).toMatchObject({ kind: "closed", outcome: "withdrawn" });
    expect(w.r).toMatchObject({ answered: 0, outbox: null, window: { count: 1 } });
    expect(w.entries("receipt").slice(-2)).toMatchObject([{ state: "cancelled" }, { state: "cancelled" }]);
  });

  it("cancels the rest of a reply that was shown in part", () => {
    const { w, held } = delivering();
    w.settle(held, 0, "sent");
    w.handoff();
    expect(w.last()).toMatchObject({ kind: "closed", outcome: "cancelled", from: 0, to: 1 });
    expect(isRest(w.r)).toBe(true);
  });

  it("leaves a part on its way to its holder: sent", () => {
    const { w, held } = delivering();
    w.handoff();
    expect(w.r.lease).not.toBeNull();
    expect(w.attempt(held, 1)).toEqual({ is: "lost" });
    expect(w.settle(held, 0, "sent")).toEqual({ is: "closed" });
    expect(w.last()).toMatchObject({ outcome: "cancelled" });
  });

  it("leaves a part on its way to its holder: refused, so nobody has seen anything", () => {
    const { w, held } = delivering();
    w.handoff();
    expect(w.settle(held, 0, "refused")).toEqual({ is: "closed" });
    expect(w.last()).toMatchObject({ outcome: "withdrawn" });
    expect(w.r.window?.count).toBe(1);
    expect(w.wakeAt()).toBe(w.r.handoff?.untilMs);
  });

  it("leaves a part on its way to its holder: in doubt is unknown, and counts as shown", () => {
    const { w, held } = delivering();
    w.handoff();
    expect(w.settle(held, 0, "in-doubt")).toEqual({ is: "closed" });
    expect(w.entries("receipt").at(-1)).toMatchObject({ index: 0, state: "unknown" });
    expect(w.last()).toMatchObject({ outcome: "cancelled" });
  });

  it("leaves a part on its way to its holder: gone, so unknown", () => {
    const { w } = delivering();
    w.handoff({ forMs: 600_000 });
    expect(w.toWake().claim().is).toBe("nothing");
    expect(w.last()).toMatchObject({ kind: "closed", outcome: "cancelled" });
    expect(w.entries("receipt").at(-1)).toMatchObject({ index: 0, state: "unknown" });
  });

  it("that is over at the very claim that finds the lease expired settles both", () => {
    const { w } = delivering();
    w.handoff({ forMs: 30_000 });
    w.say("and another thing");
    expect(w.toWake().claim()).toMatchObject({ is: "respond", from: 1, version: 2 });
    expect(w.entries("closed")).toMatchObject([{ outcome: "cancelled", from: 0, to: 1 }]);
    expect(w.r.handoff).toBeNull();
  });

  it("with queued parts in doubt says unknown", () => {
    const { w, held } = delivering(["one"]);
    w.settle(held, 0, "in-doubt");
    w.handoff();
    expect(w.entries("receipt").at(-1)).toMatchObject({ state: "unknown" });
    expect(w.last()).toMatchObject({ outcome: "cancelled" });
  });
});

describe("humanReply", () => {
  it("settles what the person had seen; the rest stays pending", () => {
    const w = new World();
    w.say("one");
    w.wait(10).say("two");
    expect(w.do("humanReply", human(1))).toEqual({ is: "answered" });
    expect(w.last()).toMatchObject({ kind: "settled", from: 0, to: 1, outcome: "human" });
    expect(w.r.window).toMatchObject({ count: 1, fromSeq: 2, openedAtMs: w.now });
  });

  it("of everything ends the attempt and the span", () => {
    const { w } = answering();
    w.do("humanReply", { ...human(null), author: "ann", metadata: { tool: "desk" } });
    expect(w.entries("ended")).toMatchObject([{ outcome: "answered-by-human" }]);
    expect(w.entries("human")).toMatchObject([{ upTo: 1, author: "ann", metadata: { tool: "desk" } }]);
    expect(isRest(w.r)).toBe(true);
  });

  it("to what was answered already is only noted", () => {
    const w = new World();
    w.say("one");
    w.do("humanReply", human(null));
    w.say("two");
    w.do("humanReply", human(1));
    w.do("humanReply", { ...human(0), id: "x" });
    expect(w.r.window?.count).toBe(1);
    expect(w.entries("settled")).toHaveLength(1);
    const rest = new World();
    expect(rest.do("humanReply", human(null))).toEqual({ is: "answered" });
  });

  it("cannot have seen what has not come", () => {
    const w = new World();
    w.say("one");
    w.do("humanReply", human(9));
    expect(w.entries("human")).toMatchObject([{ upTo: 1 }]);
  });

  it("while a part is on its way leaves it to its holder, and its inputs are not answered again", () => {
    const { w, held } = delivering();
    w.do("humanReply", human(null));
    w.settle(held, 0, "refused");
    expect(w.last()).toMatchObject({ kind: "closed", outcome: "cancelled" });
    expect(isRest(w.r)).toBe(true);
  });

  it("instead of a reply nobody has seen answers its inputs", () => {
    const { w, held } = delivering();
    w.settle(held, 0, "refused");
    w.do("humanReply", human(null));
    expect(w.entries("closed")).toMatchObject([{ outcome: "withdrawn" }]);
    expect(w.last()).toMatchObject({ kind: "settled", from: 0, to: 1, outcome: "human" });
  });
});

describe("resume", () => {
  it("gives the conversation back to the bot", () => {
    const w = new World();
    w.handoff();
    w.say("hi");
    expect(w.do("resume", { id: "r", backlog: "answer", by: "ann" })).toEqual({ is: "resumed" });
    expect(w.entries("resumed")).toMatchObject([{ id: "r", backlog: "answer", by: "ann" }]);
    expect(w.toWake().claim().is).toBe("respond");
  });

  it("with the backlog as context", () => {
    const w = new World();
    w.handoff();
    w.say("hi");
    w.do("resume", { id: "r", backlog: "context" });
    expect(isRest(w.r)).toBe(true);
  });

  it("with the backlog as context includes a part on its way that is then refused", () => {
    const { w, held } = delivering();
    w.handoff();
    w.do("resume", { id: "r", backlog: "context" });
    w.settle(held, 0, "refused");
    expect(w.last()).toMatchObject({ kind: "closed", outcome: "cancelled" });
    expect(isRest(w.r)).toBe(true);
  });

  it("without a hand-off has nothing to do", () => {
    expect(new World().peek("resume", { id: "r", backlog: "answer" })).toMatchObject({
      next: null,
      outcome: { is: "nothing" },
    });
  });
});

describe("reset", () => {
  it("drops everything unanswered", () => {
    const { w } = answering();
    w.do("send", send("later"));
    expect(w.do("reset", { id: "x", forget: false, by: "ann" })).toEqual({ is: "reset" });
    expect(w.entries("ended")).toMatchObject([{ outcome: "reset" }]);
    expect(w.entries("settled")).toMatchObject([{ from: 0, to: 1, outcome: "dropped" }]);
    expect(w.entries("closed")).toMatchObject([{ replyId: "later", outcome: "cancelled" }]);
    expect(w.last()).toMatchObject({ kind: "reset", forget: false, by: "ann" });
    expect(isRest(w.r)).toBe(true);
  });

  it("ends a hand-off and forgets the past only when asked to", () => {
    const w = new World();
    w.handoff();
    w.do("reset", { id: "x", forget: false });
    expect(w.r.handoff).not.toBeNull();
    w.do("reset", { id: "y", forget: true });
    expect(w.r).toMatchObject({ handoff: null, parked: null, last: null });
  });

  it("while a part is on its way leaves it to its holder", () => {
    const { w, held } = delivering();
    w.do("reset", { id: "x", forget: true });
    expect(w.settle(held, 0, "refused")).toEqual({ is: "closed" });
    expect(isRest(w.r)).toBe(true);
  });
});

describe("retry", () => {
  function parked(): World {
    const w = new World({ maxFailures: 1 });
    w.say("poison");
    w.fail(w.respond());
    return w;
  }

  it("brings parked inputs back, at once", () => {
    const w = parked();
    expect(isRest(w.r)).toBe(true);
    expect(w.do("retry", { id: "again", by: "ann" })).toEqual({ is: "revived", count: 1 });
    expect(w.last()).toMatchObject({ kind: "retry", version: 2, from: 0, to: 1, by: "ann" });
    expect(w.r).toMatchObject({ parked: null, window: { count: 1, fromSeq: 1, quietMs: 0 } });
    expect(w.wakeAt()).toBe(w.now);
    w.commit(w.respond());
    expect(w.entries("reply")).toMatchObject([{ from: 1, to: 2 }]);
  });

  it("brings a silent span back", () => {
    const { w, held } = answering();
    w.wait(5_000);
    w.commit(held, null);
    expect(w.do("retry", { id: "again" })).toEqual({ is: "revived", count: 1 });
  });

  it("has nothing to bring back after a reply", () => {
    const { w, held } = delivering(["one"]);
    w.settle(held, 0, "sent");
    expect(w.peek("retry", { id: "again" })).toMatchObject({ next: null, outcome: { is: "nothing" } });
  });

  it("joins what is pending", () => {
    const w = parked();
    w.say("hello?");
    w.do("retry", { id: "again" });
    expect(w.r.window).toMatchObject({ count: 2, fromSeq: 1 });
  });

  it("overtakes a running attempt like any input", () => {
    const w = parked();
    w.say("hello?");
    const held = w.respond();
    w.wait(5_000).do("retry", { id: "again" });
    expect(w.commit(held)).toEqual({ is: "superseded" });
  });

  it("takes back a reply that nobody has seen", () => {
    const w = parked();
    w.say("hello?");
    const held = w.respond();
    w.wait(5_000);
    w.commit(held);
    w.settle(held, 0, "refused");
    w.do("retry", { id: "again" });
    expect(w.attempt(w.deliver()).is).toBe("withdrawn");
    expect(w.r.window).toMatchObject({ fromSeq: 1, count: 2 });
  });

  it("waits for a hand-off", () => {
    const w = parked();
    w.handoff();
    w.do("retry", { id: "again" });
    expect(w.wakeAt()).toBe(w.r.handoff?.untilMs);
  });
});

describe("send", () => {
  it("after the turn waits for its place, one at a time", () => {
    const { w, held } = answering();
    expect(w.do("send", send("a"))).toEqual({ is: "queued", replyId: "a" });
    w.do("send", { ...send("b"), address: { chat: 1 }, metadata: { why: "promo" } });
    expect(w.do("send", send("c"))).toEqual({ is: "full", replyId: "c" });
    w.wait(5_000);
    w.commit(held);
    expect(w.settle(held, 0, "sent")).toEqual({ is: "closed" });
    for (const replyId of ["a", "b"]) {
      const next = w.deliver();
      expect(w.attempt(next, 0, { replyId }).is).toBe("attempting");
      expect(w.settle(next, 0, "sent", { replyId })).toEqual({ is: "closed" });
      expect(w.last()).toMatchObject({ kind: "closed", replyId, outcome: "delivered", from: 1, to: 1 });
    }
    expect(isRest(w.r)).toBe(true);
  });

  it("if quiet is dropped when anything is going on", () => {
    const w = new World();
    expect(w.do("send", send("a", "if-quiet"))).toEqual({ is: "queued", replyId: "a" });
    expect(w.do("send", send("b", "if-quiet"))).toEqual({ is: "dropped", replyId: "b" });
    const handed = new World();
    handed.handoff();
    expect(handed.peek("send", send("c", "if-quiet"))).toMatchObject({ next: null, outcome: { is: "dropped" } });
  });

  it("waits while a person answers, and while there is a turn", () => {
    const w = new World();
    w.handoff();
    w.say("hi");
    w.do("send", send("a"));
    expect(w.wakeAt()).toBe(w.r.handoff?.untilMs);
    w.do("resume", { id: "r", backlog: "answer" });
    expect(w.toWake().claim().is).toBe("respond");
  });

  it("does not wait for turns that begin after it", () => {
    const w = new World();
    w.handoff();
    w.do("send", send("a"));
    w.say("hi");
    w.do("resume", { id: "r", backlog: "answer" });
    const held = w.deliver();
    w.attempt(held, 0, { replyId: "a" });
    w.settle(held, 0, "sent", { replyId: "a" });
    expect(w.toWake().claim().is).toBe("respond");
  });

  it("that could not be delivered parks nothing", () => {
    const w = new World();
    w.do("send", send("a"));
    const held = w.deliver();
    w.attempt(held, 0, { replyId: "a" });
    w.settle(held, 0, "failed", { replyId: "a" });
    expect(w.last()).toMatchObject({ outcome: "failed" });
    expect(w.r.parked).toBeNull();
  });

  it("is never taken back by newer input", () => {
    const w = new World();
    w.do("send", send("a"));
    const held = w.deliver();
    w.say("hi");
    expect(w.attempt(held, 0, { replyId: "a" }).is).toBe("attempting");
  });

  it("under way when a person takes over is cancelled", () => {
    const w = new World();
    w.do("send", send("a"));
    w.deliver();
    w.handoff();
    expect(w.last()).toMatchObject({ kind: "closed", replyId: "a", outcome: "cancelled" });
  });
});
