// One turn: claim, renew, discard, absorb, seal, begin, end, commit, fail.
import { describe, expect, it } from "vitest";
import type { EventOf, Held } from "../../src/model.ts";
import { isRest, text, World } from "./world.ts";

const fallback = { replyId: "fallback", parts: [text("sorry")] };
const stranger: Held = { fence: 1, claimId: "nobody" };

/** "hi" came, and a worker has the turn. */
function answering(): { w: World; held: Held } {
  const w = new World();
  w.say("hi");
  return { w, held: w.respond() };
}

describe("claim", () => {
  it("gets the turn when it is due, with a fence at least as high as the clock", () => {
    const w = new World();
    w.say("hi");
    w.wait(1_000);
    expect(w.claim("w", { claimId: "mine" })).toMatchObject({
      is: "respond",
      fence: w.now,
      version: 1,
      from: 0,
      attempt: 1,
      span: 1,
      sealed: false,
      deadlineMs: w.now + 120_000,
    });
    expect(w.r.lease).toMatchObject({ owner: "w", claimId: "mine", expiresAtMs: w.now + 30_000 });
    expect(w.last()).toMatchObject({ kind: "attempt", from: 0, to: 1, attempt: 1, sealed: false });
  });

  it("gets nothing while somebody else holds a live lease, and learns when to come again", () => {
    const { w } = answering();
    expect(w.claim("other")).toMatchObject({ is: "nothing", wakeAtMs: w.now + 30_000 });
  });

  it("gets nothing where nothing waits", () => {
    expect(new World().peek("claim", { owner: "w", claimId: "c", random: 0 })).toMatchObject({
      next: null,
      outcome: { is: "nothing", wakeAtMs: null },
    });
  });

  it("asked again is the same answer, even when the attempt has ended meanwhile", () => {
    const { w, held } = answering();
    const again = { owner: "w", claimId: held.claimId, random: 0 };
    expect(w.peek("claim", again)).toMatchObject({ next: null, outcome: { is: "respond", fence: held.fence } });
    w.wait(5_000);
    w.commit(held);
    expect(w.peek("claim", again)).toMatchObject({ next: null, outcome: { is: "deliver", fence: held.fence } });
    w.settle(held, 0, "sent");
    w.say("next");
    w.wait(10_000);
    expect(w.peek("claim", again)).toMatchObject({ next: null, outcome: { is: "nothing" } });
  });

  it("after the cap is sealed from its start", () => {
    const w = new World();
    w.say("hi");
    w.wait(45_000);
    expect(w.claim()).toMatchObject({ is: "respond", sealed: true });
  });

  it("that seals never has its answer discarded; what comes meanwhile is the next turn's", () => {
    const w = new World();
    w.say("hi");
    const held = w.respond({ seals: true });
    w.say("more");
    expect(w.do("discard", { reason: "superseded", ...held }).is).toBe("current");
    expect(w.commit(held).is).toBe("committed");
    expect(w.entries("reply")).toMatchObject([{ from: 0, to: 1, overtaken: true }]);
  });

  it("takes an expired lease over, counts the failure, and waits for nothing the first two times", () => {
    const w = new World({ maxFailures: 5 });
    w.say("hi");
    w.respond();
    w.respond();
    w.respond();
    expect(w.r.failures).toBe(2);
    expect(w.toWake().claim()).toMatchObject({ is: "nothing", wakeAtMs: w.now + 500 });
    expect(w.r).toMatchObject({ failures: 3, lease: null });
    w.respond();
  });

  it("parks a span that its holders did not survive, and delivers the fallback at once", () => {
    const w = new World();
    w.say("poison");
    w.respond();
    w.respond();
    w.respond();
    expect(w.toWake().claim("w", { fallback })).toMatchObject({ is: "deliver", replyId: "fallback" });
    expect(w.r.parked).toMatchObject({ from: 0, to: 1, fromSeq: 1 });
    expect(w.entries("settled")).toMatchObject([{ from: 0, to: 1, outcome: "parked" }]);
  });

  it("waits for an effect that still runs", () => {
    const { w, held } = answering();
    w.wait(29_000);
    w.do("begin", { key: "pay", readOnly: true, ...held });
    w.do("renew", { held: false, deadlineMs: 0, ...held });
    w.do("discard", { reason: "handed-back", ...held });
    expect(w.wakeAt()).toBe(w.now + 30_000);
    expect(w.claim().is).toBe("nothing");
    expect(w.toWake().claim().is).toBe("respond");
  });

  it("waits when the hour has had its replies", () => {
    const w = new World({ repliesPerHour: 1 });
    const first = w.now;
    w.say("ping", { quietMs: 0 });
    const held = w.respond();
    w.commit(held);
    w.settle(held, 0, "sent");
    w.say("ping again", { quietMs: 0 });
    expect(w.wakeAt()).toBe(first + 3_600_000);
    w.respond();
  });

  it("first delivers what is in the outbox, and not before its next try", () => {
    const { w, held } = answering();
    w.wait(5_000);
    w.commit(held);
    w.settle(held, 0, "refused");
    expect(w.claim()).toMatchObject({ is: "nothing", wakeAtMs: w.now + 500 });
    expect(w.toWake().claim()).toMatchObject({ is: "deliver", replyId: "reply" });
  });
});

describe("renew", () => {
  it("pushes the expiry, even an expired one's, and never beyond the deadline", () => {
    const { w, held } = answering();
    const start = w.now;
    w.wait(40_000);
    expect(w.do("renew", { held: false, deadlineMs: 0, ...held })).toMatchObject({
      is: "renewed",
      superseded: false,
      newer: false,
      cancelled: false,
      expiresAtMs: w.now + 30_000,
    });
    w.wait(70_000);
    w.do("renew", { held: false, deadlineMs: 0, ...held });
    expect(w.r.lease?.expiresAtMs).toBe(start + 120_000);
  });

  it("brings the news: newer input, a hand-off", () => {
    const { w, held } = answering();
    w.say("more");
    expect(w.do("renew", { held: false, deadlineMs: 0, ...held })).toMatchObject({ superseded: true, newer: true });
    const other = answering();
    other.w.wait(5_000);
    other.w.commit(other.held);
    other.w.handoff();
    expect(other.w.do("renew", { held: false, deadlineMs: 0, ...other.held })).toMatchObject({ cancelled: true });
  });

  it("by an answer that only waits for quiet moves the deadline too", () => {
    const w = new World({ turnTimeoutMs: 2_000 });
    const start = w.now;
    w.say("hi");
    const held = w.respond();
    w.do("renew", { held: true, deadlineMs: 0, ...held });
    expect(w.r.lease?.deadlineMs).toBe(start + 45_000 + 30_000);
  });

  it("keeps the effects of an attempt that lost its lease running, and says that it is lost", () => {
    const { w, held } = answering();
    w.do("begin", { key: "pay", readOnly: true, ...held });
    w.handoff();
    w.wait(20_000);
    const renewal = { held: false, deadlineMs: w.now + 5_000, ...held };
    expect(w.do("renew", { ...renewal, deadlineMs: w.now + 20_000 })).toEqual({ is: "lost" });
    expect(w.r.effects.pay).toMatchObject({ state: "begun", untilMs: w.now + 20_000 });
    expect(w.peek("renew", renewal).next).toBeNull();
    expect(w.peek("renew", { held: false, deadlineMs: w.now, ...stranger })).toMatchObject({ next: null });
  });
});

describe("discard", () => {
  it("ends an attempt that newer input has overtaken, and counts it", () => {
    const { w, held } = answering();
    w.say("more");
    expect(w.do("discard", { reason: "superseded", ...held })).toEqual({ is: "superseded" });
    expect(w.r).toMatchObject({ lease: null, restarts: 1, failures: 0 });
    expect(w.wakeAt()).toBe(w.now + 1_000);
  });

  it("is refused while the attempt is up to date", () => {
    const { w, held } = answering();
    expect(w.peek("discard", { reason: "superseded", ...held })).toMatchObject({
      next: null,
      outcome: { is: "current" },
    });
  });

  it("hands back gracefully: no failure, no wait", () => {
    const { w, held } = answering();
    expect(w.do("discard", { reason: "handed-back", ...held }).is).toBe("handed-back");
    expect(w.r).toMatchObject({ lease: null, failures: 0, restarts: 0 });
    expect(w.wakeAt()).toBeLessThanOrEqual(w.now);
  });

  it("hands a delivery back: what was on its way is in doubt", () => {
    const { w, held } = answering();
    w.wait(5_000);
    w.commit(held);
    w.do("discard", { reason: "handed-back", ...held });
    expect(w.r.outbox?.parts[0]).toMatchObject({ state: "queued", doubt: true });
    expect(w.claim().is).toBe("deliver");
  });

  it("after many discards the model starts only at the quiet target", () => {
    const w = new World({ maxRestarts: 1 });
    w.say("hi");
    const held = w.respond();
    w.say("more");
    w.do("discard", { reason: "superseded", ...held });
    expect(w.wakeAt()).toBe(w.now + 6_000);
  });

  it("is lost for others", () => {
    const { w } = answering();
    expect(w.do("discard", { reason: "superseded", ...stranger })).toEqual({ is: "lost" });
  });
});

describe("absorb", () => {
  it("takes newer input in", () => {
    const { w, held } = answering();
    w.say("more");
    expect(w.do("absorb", held)).toEqual({ is: "absorbed", version: 2 });
    expect(w.r.lease).toMatchObject({ version: 2, newer: null });
    expect(w.last()).toMatchObject({ kind: "absorbed", to: 2 });
    w.wait(6_000);
    w.commit(held);
    expect(w.entries("reply")[0]).toMatchObject({ from: 0, to: 2, overtaken: false });
  });

  it("with nothing new writes nothing", () => {
    const { w, held } = answering();
    expect(w.peek("absorb", held)).toMatchObject({ next: null, outcome: { is: "absorbed", version: 1 } });
  });

  it("is refused once sealed, once a reply exists, and to others", () => {
    const { w, held } = answering();
    w.wait(5_000);
    w.do("seal", held);
    expect(w.do("absorb", held)).toEqual({ is: "sealed" });
    w.commit(held);
    expect(w.do("absorb", held)).toEqual({ is: "lost" });
    expect(w.do("absorb", stranger)).toEqual({ is: "lost" });
  });
});

describe("seal", () => {
  it("waits for quiet", () => {
    const { w, held } = answering();
    expect(w.do("seal", held)).toEqual({ is: "early", atMs: w.now + 5_000 });
    expect(w.wait(5_000).do("seal", held)).toEqual({ is: "sealed" });
    expect(w.r.lease?.sealed).toBe(true);
    expect(w.peek("seal", held)).toMatchObject({ next: null, outcome: { is: "sealed" } });
  });

  it("is refused when newer input came, and to others", () => {
    const { w, held } = answering();
    w.wait(5_000).say("more");
    expect(w.do("seal", held)).toEqual({ is: "superseded" });
    expect(w.do("seal", stranger)).toEqual({ is: "lost" });
  });

  it("makes newer input the next turn's", () => {
    const { w, held } = answering();
    w.wait(5_000).do("seal", held);
    w.say("more");
    expect(w.do("discard", { reason: "superseded", ...held }).is).toBe("current");
    expect(w.commit(held).is).toBe("committed");
    expect(w.entries("reply")[0]).toMatchObject({ to: 1, overtaken: true });
    expect(w.r.window?.count).toBe(1);
  });
});

describe("begin and end", () => {
  const begin = (held: Held, key = "pay", readOnly = false) => ({ key, readOnly, ...held });
  const end = (held: Held, value: number | null, key = "pay", span = 1): Omit<EventOf<"end">, "type"> => ({
    fence: held.fence,
    span,
    key,
    result: value === null ? null : { value },
  });

  it("waits for quiet, unless it only reads", () => {
    const { w, held } = answering();
    expect(w.do("begin", begin(held))).toEqual({ is: "early", atMs: w.now + 5_000 });
    expect(w.do("begin", begin(held, "look", true))).toMatchObject({ is: "run", inDoubt: false, span: 1 });
    expect(w.wait(5_000).do("begin", begin(held)).is).toBe("run");
  });

  it("is refused when newer input came, when full, and to others", () => {
    const { w, held } = answering();
    w.do("begin", begin(held, "a", true));
    w.do("begin", begin(held, "b", true));
    expect(w.do("begin", begin(held, "c", true))).toEqual({ is: "full" });
    expect(w.do("begin", begin(held, "b", true)).is).toBe("run");
    w.say("more");
    expect(w.do("begin", begin(held))).toEqual({ is: "superseded" });
    expect(w.do("begin", begin(stranger))).toEqual({ is: "lost" });
  });

  it("gives every later attempt the recorded result", () => {
    const { w, held } = answering();
    w.do("begin", begin(held, "pay", true));
    expect(w.do("end", end(held, 42))).toEqual({ is: "recorded" });
    const { seq } = w.last() ?? {};
    expect(w.last()).toMatchObject({ kind: "effect", key: "pay", value: 42, span: 1 });
    expect(w.peek("end", end(held, 42))).toMatchObject({ next: null, outcome: { is: "recorded" } });
    w.say("more");
    w.do("discard", { reason: "superseded", ...held });
    expect(w.do("begin", begin(w.respond()))).toEqual({ is: "done", seq });
  });

  it("of another attempt is busy while it runs, then in doubt", () => {
    const { w, held } = answering();
    w.do("begin", begin(held, "pay", true));
    w.do("discard", { reason: "handed-back", ...held });
    const next = w.respond();
    expect(w.do("begin", begin(next, "pay", true))).toMatchObject({ is: "run", inDoubt: true, span: 1 });
    // Asked again after a lost answer, and after this run has failed: nobody knows more of the first.
    expect(w.do("begin", begin(next, "pay", true))).toMatchObject({ is: "run", inDoubt: true, span: 1 });
    w.do("end", { span: 1, key: "pay", fence: next.fence, result: null });
    expect(w.do("begin", begin(next, "pay", true))).toMatchObject({ is: "run", inDoubt: true, span: 1 });
    w.do("renew", { held: false, deadlineMs: w.now + 60_000, ...held });
    const r = structuredClone(w.r);
    r.effects.pay = { state: "begun", fence: held.fence, untilMs: w.now + 5 };
    w.r = r;
    expect(w.do("begin", begin(next, "pay", true))).toEqual({ is: "busy", untilMs: w.now + 5 });
  });

  it("that failed leaves no mark: it may run again", () => {
    const { w, held } = answering();
    w.do("begin", begin(held, "pay", true));
    expect(w.do("end", end(held, null)).is).toBe("recorded");
    expect(w.r.effects).toEqual({});
    expect(w.peek("end", end(held, null))).toMatchObject({ next: null, outcome: { is: "late" } });
  });

  it("needs no lease to record what was done", () => {
    const { w, held } = answering();
    w.do("begin", begin(held, "pay", true));
    w.do("discard", { reason: "handed-back", ...held });
    expect(w.do("end", end(held, 42)).is).toBe("recorded");
    expect(w.r.effects.pay?.state).toBe("ended");
  });

  it("of an earlier attempt does not take a later one's mark away", () => {
    const { w, held } = answering();
    w.do("begin", begin(held, "pay", true));
    const next = w.respond();
    w.do("begin", begin(next, "pay", true));
    expect(w.peek("end", end(held, null))).toMatchObject({ next: null });
    expect(w.r.effects.pay).toMatchObject({ fence: next.fence });
  });

  it("counts one result only: a second runner's goes to the log", () => {
    const { w, held } = answering();
    w.do("begin", begin(held, "pay", true));
    const next = w.respond();
    w.do("begin", begin(next, "pay", true));
    w.do("end", end(held, 1));
    expect(w.do("end", end(next, 2)).is).toBe("late");
    expect(w.entries("effect")).toMatchObject([{ value: 1 }, { value: 2, late: true }]);
  });

  it("after the span has ended goes to the log, and a begun one is noted as unknown", () => {
    const { w, held } = answering();
    w.do("begin", begin(held, "pay", true));
    w.do("reset", { id: "x", forget: false });
    expect(w.entries("effect-unknown")).toMatchObject([{ key: "pay", span: 1 }]);
    expect(w.do("end", end(held, 42)).is).toBe("late");
    expect(w.last()).toMatchObject({ kind: "effect", late: true });
    expect(w.r.effects).toEqual({});
  });

  it("goes on after the first visible part, in the reply's span", () => {
    const { w, held } = answering();
    w.wait(5_000);
    w.do("begin", begin(held, "first"));
    w.do("end", end(held, 1, "first"));
    w.commit(held, ["wait a second"], { open: true });
    w.say("more");
    expect(w.do("begin", begin(held, "first")).is).toBe("done");
    expect(w.do("begin", begin(held))).toMatchObject({ is: "run", inDoubt: false, span: 1 });
    expect(w.do("end", end(held, 42)).is).toBe("recorded");
    expect(w.r.effects).toEqual({});
    expect(w.r.outbox?.effects.pay?.state).toBe("ended");
  });

  it("begun and never ended in a reply's span is unknown when the reply closes", () => {
    const { w, held } = answering();
    w.wait(5_000);
    w.do("begin", begin(held));
    w.commit(held);
    w.settle(held, 0, "sent");
    expect(w.entries("effect-unknown")).toMatchObject([{ key: "pay", span: 1 }]);
  });
});

describe("commit", () => {
  it("is early before the quiet target, and holds", () => {
    const { w, held } = answering();
    expect(w.peek("commit", { replyId: "r", parts: [text("a")], open: false, ...held })).toMatchObject({
      next: null,
      outcome: { is: "early", atMs: w.now + 5_000 },
    });
  });

  it("ends the span and launches the first part under the same lease", () => {
    const { w, held } = answering();
    w.wait(5_000);
    expect(w.commit(held, ["a", "b"], { metadata: { model: "m" } })).toEqual({
      is: "committed",
      replyId: "reply",
      sends: true,
    });
    expect(w.last()).toMatchObject({
      kind: "reply",
      cause: "turn",
      from: 0,
      to: 1,
      open: false,
      overtaken: false,
      metadata: { model: "m" },
    });
    expect(w.r).toMatchObject({ answered: 1, window: null, attempts: 0, lease: { purpose: "deliver" } });
    expect(w.r.outbox?.parts.map(({ state }) => state)).toEqual(["attempting", "queued"]);
    expect(w.r.tempo).toEqual({ sinceMs: w.now, replies: 1 });
  });

  it("is discarded when newer input came", () => {
    const { w, held } = answering();
    w.wait(5_000).say("more");
    expect(w.commit(held)).toEqual({ is: "superseded" });
    expect(w.r).toMatchObject({ lease: null, outbox: null, restarts: 1, answered: 0 });
    expect(w.commit(held)).toEqual({ is: "superseded" });
  });

  it("is not discarded by input that came after the cap", () => {
    const { w, held } = answering();
    w.do("renew", { held: false, deadlineMs: 0, ...held });
    w.wait(44_001).say("more");
    expect(w.commit(held).is).toBe("committed");
    expect(w.entries("reply")[0]).toMatchObject({ to: 1, overtaken: true });
  });

  it("of null ends the span silently, and so does a reply of no parts", () => {
    for (const parts of [null, []]) {
      const { w, held } = answering();
      w.wait(5_000);
      expect(w.commit(held, parts)).toEqual({ is: "committed", replyId: null, sends: false });
      expect(isRest(w.r)).toBe(true);
      expect(w.last()).toMatchObject({ kind: "settled", outcome: "silent", from: 0, to: 1 });
      expect(w.commit(held, parts)).toEqual({ is: "committed", replyId: null, sends: false });
    }
  });

  it("of null leaves what came after it was sealed", () => {
    const { w, held } = answering();
    w.wait(5_000).do("seal", held);
    w.say("more");
    w.commit(held, null);
    expect(w.r).toMatchObject({ answered: 1, window: { count: 1 } });
  });

  it("asked again is the same answer, and only a holder whose part is still on its way may send", () => {
    const { w, held } = answering();
    w.wait(5_000);
    w.commit(held);
    expect(w.commit(held)).toEqual({ is: "committed", replyId: "reply", sends: true });
    w.toWake().claim("other");
    expect(w.commit(held)).toEqual({ is: "committed", replyId: "reply", sends: false });
    expect(w.commit(stranger)).toEqual({ is: "lost" });
  });

  it("does not answer twice: the same holder cannot commit another reply", () => {
    const { w, held } = answering();
    w.wait(5_000);
    w.commit(held);
    expect(w.commit(held, ["again"], { replyId: "second" })).toMatchObject({ is: "committed", sends: false });
    expect(w.entries("reply")).toHaveLength(1);
  });

  it("is lost to a worker that only delivers", () => {
    const { w, held } = answering();
    w.wait(5_000);
    w.commit(held);
    const deliverer = w.deliver();
    expect(w.commit(deliverer)).toEqual({ is: "lost" });
  });

  it("counts the replies of the running hour", () => {
    const w = new World();
    for (const wait of [0, 10, 3_600_000]) {
      w.wait(wait).say("ping", { quietMs: 0 });
      const held = w.respond();
      w.commit(held);
      w.settle(held, 0, "sent");
    }
    expect(w.r.tempo.replies).toBe(1);
  });
});

describe("fail", () => {
  it("counts, backs off with jitter, and tries again", () => {
    const { w, held } = answering();
    expect(w.fail(held, { random: 0.5 })).toEqual({ is: "retry", atMs: w.now + 750 });
    expect(w.r).toMatchObject({ failures: 1, retryAtMs: w.now + 750, lease: null });
    expect(w.last()).toMatchObject({ kind: "ended", outcome: "failed", error: "boom", retryAtMs: w.now + 750 });
    expect(w.fail(w.respond(), { retryAfterMs: 7 })).toEqual({ is: "retry", atMs: w.now + 7 });
    expect(w.fail(held)).toEqual({ is: "lost" });
  });

  it("without any wait is due at once", () => {
    const { w, held } = answering();
    w.fail(held, { retryAfterMs: 0 });
    expect(w.claim().is).toBe("respond");
  });

  it("at the limit parks what the attempt knew; what came later is a span of its own", () => {
    const w = new World({ maxFailures: 1 });
    w.say("poison");
    const held = w.respond();
    w.say("later");
    expect(w.fail(held)).toEqual({ is: "parked" });
    expect(w.r).toMatchObject({ answered: 1, failures: 0, parked: { from: 0, to: 1, reason: "boom" } });
    expect(w.r.window).toMatchObject({ count: 1, fromSeq: 3, openedAtMs: w.now });
  });

  it("at the limit sends the fallback through the same outbox", () => {
    const w = new World({ maxFailures: 1 });
    w.say("poison");
    w.fail(w.respond(), { fallback });
    expect(w.last()).toMatchObject({ kind: "reply", cause: "fallback", from: 1, to: 1 });
    const held = w.deliver();
    w.attempt(held, 0, { replyId: "fallback" });
    expect(w.settle(held, 0, "failed", { replyId: "fallback" })).toEqual({ is: "closed" });
    expect(w.r.parked).toMatchObject({ reason: "boom" });
    expect(isRest(w.r)).toBe(true);
  });

  it("when everything was taken back meanwhile parks nothing", () => {
    const w = new World({ maxFailures: 1 });
    w.say("oops");
    const held = w.respond();
    w.retract("oops");
    expect(w.fail(held, { fallback })).toMatchObject({ is: "retry" });
    expect(w.r).toMatchObject({ parked: null, outbox: null, retryAtMs: null });
    expect(isRest(w.r)).toBe(true);
  });

  it("with an open reply closes it as cut; what was said stands", () => {
    const { w, held } = answering();
    w.wait(5_000);
    w.commit(held, ["one"], { open: true });
    w.settle(held, 0, "sent");
    expect(w.fail(held)).toEqual({ is: "cut" });
    expect(w.last()).toMatchObject({ kind: "closed", outcome: "cut", from: 0, to: 1 });
    expect(w.r).toMatchObject({ failures: 0, parked: null });
    expect(isRest(w.r)).toBe(true);
  });
});
