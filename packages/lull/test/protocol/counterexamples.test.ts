// What random histories and reviews broke once. Each of these failed before its fix.
import { describe, expect, it } from "vitest";
import { inputsOf } from "../../src/window.ts";
import { isRest, text, World } from "./world.ts";

const texts = (w: World) => inputsOf(w.tail(), w.r.answered).map(({ parts }) => parts);

/** "hi" was answered; the only part is on its way. */
function delivering(most = {}) {
  const w = new World(most);
  w.say("hi");
  const held = w.respond();
  w.wait(5_000);
  w.commit(held);
  return { w, held };
}

describe("a hand-off that is over", () => {
  it("does not set aside what comes after it, though no timer ended it", () => {
    const w = new World();
    w.handoff({ backlog: "context" });
    w.wait(86_400_000).say("good morning");
    expect(w.r.handoff).toBeNull();
    w.respond();
  });

  it("does not drop what the bot has to say of its own accord", () => {
    const w = new World();
    w.handoff();
    w.wait(60_000);
    const send = { id: "s", replyId: "s", parts: [text("reminder")], when: "if-quiet" as const };
    expect(w.do("send", send).is).toBe("queued");
  });

  it("does not turn an edit or a retry of the next day into context", () => {
    const w = new World({ maxFailures: 1 });
    w.say("poison");
    w.fail(w.respond());
    w.handoff({ backlog: "context" });
    w.wait(86_400_000).do("retry", { id: "again" });
    w.respond();
  });
});

describe("retry", () => {
  it("twice still brings the inputs back: a retry brings back what an earlier retry brought back", () => {
    const w = new World({ maxFailures: 1 });
    w.say("poison");
    w.fail(w.respond());
    for (const id of ["first", "second", "third"]) {
      w.do("retry", { id });
      expect(texts(w)).toEqual([[text("poison")]]);
      w.fail(w.respond());
    }
    expect(w.r.parked).toMatchObject({ fromSeq: 1 });
  });

  it("brings back a whole outage: spans parked one after the other are one dead letter", () => {
    const w = new World({ maxFailures: 1 });
    for (const words of ["one", "two", "three"]) {
      w.say(words);
      w.fail(w.respond());
    }
    expect(w.r.parked).toMatchObject({ from: 0, to: 3, fromSeq: 1 });
    expect(w.do("retry", { id: "again" })).toEqual({ is: "revived", count: 3 });
    expect(texts(w)).toHaveLength(3);
  });

  it("never brings back what was answered in between", () => {
    const w = new World({ maxFailures: 1 });
    w.say("poison");
    w.fail(w.respond());
    w.say("hi");
    const held = w.respond();
    w.wait(5_000);
    w.commit(held);
    w.settle(held, 0, "sent");
    w.say("poison again");
    w.fail(w.respond());
    w.do("retry", { id: "again" });
    expect(texts(w)).toEqual([[text("poison again")]]);
  });

  it("shows an input as it was edited while it was parked", () => {
    const w = new World({ maxFailures: 1 });
    w.say("helo");
    w.fail(w.respond());
    expect(w.edit("helo", "hello").is).toBe("ignored");
    w.do("retry", { id: "again" });
    expect(texts(w)).toEqual([[text("hello")]]);
  });
});

describe("a change that came while a part was on its way", () => {
  it("counts after all when the reply is taken back: an edit", () => {
    const { w, held } = delivering();
    expect(w.edit("hi", "hey").is).toBe("ignored");
    w.handoff();
    w.settle(held, 0, "refused");
    expect(texts(w)).toEqual([[text("hey")]]);
  });

  it("counts after all when the reply is taken back: a retraction leaves nothing to answer", () => {
    const { w, held } = delivering();
    expect(w.retract("hi").is).toBe("ignored");
    w.handoff();
    w.settle(held, 0, "refused");
    expect(isRest(w.r)).toBe(true);
    expect(w.last()).toMatchObject({ kind: "settled", outcome: "removed" });
  });
});

describe("a reply that cannot be delivered", () => {
  it("blocks the conversation no longer than its age limit, whatever the channel asks for", () => {
    const { w, held } = delivering({ deliverMaxMs: 60_000 });
    const committedAtMs = w.now;
    w.settle(held, 0, "refused", { receipt: { state: "refused", retryAfterMs: 86_400_000 } });
    expect(w.wakeAt()).toBe(committedAtMs + 60_000);
  });

  it("because it has no parts is a silence, not an outbox that nobody can settle", () => {
    const w = new World();
    w.say("hi");
    const held = w.respond();
    w.wait(5_000);
    w.commit(held, []);
    expect(w.r).toMatchObject({ outbox: null, lease: null, parked: null });
  });
});

describe("what is written", () => {
  it("names every version a reply covers: absorbing an input that was set aside is in the log, and in the lease", () => {
    const w = new World();
    w.say("hi");
    const held = w.respond();
    w.say("old news", { aside: "backlog" });
    expect(w.do("absorb", held)).toEqual({ is: "absorbed", version: 2 });
    expect(w.r.lease?.version).toBe(2);
    expect(w.last()).toMatchObject({ kind: "absorbed", to: 2 });
  });

  it("is nothing when nothing changed", () => {
    const w = new World();
    w.say("hi");
    w.do("flush", {});
    expect(w.peek("flush", {}).next).toBeNull();
    const held = w.respond();
    expect(w.peek("renew", { held: false, deadlineMs: 0, ...held })).toMatchObject({
      next: null,
      outcome: { is: "renewed" },
    });
    w.commit(held, ["a"], { open: true });
    w.do("close", { replyId: "reply", ...held });
    const failure = { error: "boom", random: 0, ...held };
    expect(w.peek("fail", failure)).toMatchObject({ next: null, outcome: { is: "cut" } });
  });

  it("has no gap in a reply's parts", () => {
    const { w, held } = (() => {
      const w = new World();
      w.say("hi", { quietMs: 0 });
      const held = w.respond();
      w.commit(held, ["a"], { open: true });
      return { w, held };
    })();
    expect(w.do("append", { replyId: "reply", index: 2, part: text("c"), ...held }).is).toBe("lost");
  });
});

describe("names", () => {
  it.each(["constructor", "toString", "__proto__"])("an effect may be called %s", (key) => {
    const w = new World();
    w.say("hi", { quietMs: 0 });
    const held = w.respond();
    expect(w.do("begin", { key, readOnly: false, ...held })).toMatchObject({ is: "run", inDoubt: false, span: 1 });
    expect(Object.keys(w.r.effects)).toEqual([key]);
    expect(w.do("end", { fence: held.fence, span: 1, key, result: { value: 42 } }).is).toBe("recorded");
    w.do("discard", { reason: "handed-back", ...held });
    expect(w.do("begin", { key, readOnly: false, ...w.respond() }).is).toBe("done");
  });
});

describe("leases", () => {
  it("are never longer than the turn they are for", () => {
    const w = new World({ leaseMs: 60_000, turnTimeoutMs: 5_000 });
    w.say("hi", { quietMs: 0 });
    const held = w.respond();
    expect(w.r.lease?.expiresAtMs).toBe(w.now + 5_000);
    w.commit(held);
    expect(w.r.lease?.expiresAtMs).toBe(w.now + 5_000);
  });
});

describe("a human who had not seen the newest message", () => {
  it("does not end what the bot was about to answer, should the channel refuse it", () => {
    const w = new World();
    w.say("hi");
    w.say("and another thing");
    const held = w.respond();
    w.wait(5_000);
    w.commit(held);
    w.do("humanReply", { id: "h", upTo: 1, parts: [text("hello")] });
    w.settle(held, 0, "refused");
    expect(texts(w)).toContainEqual([text("and another thing")]);
    w.respond();
  });

  it("ends what they had seen all the same, and a part that arrives answers the rest", () => {
    const { w, held } = delivering();
    w.do("humanReply", { id: "h", upTo: 1, parts: [text("hello")] });
    w.settle(held, 0, "refused");
    expect(isRest(w.r)).toBe(true);
  });
});

describe("a receipt whose answer was lost", () => {
  it("is settled all the same: its sender goes on instead of letting its lease run out", () => {
    const w = new World();
    w.say("hi");
    const held = w.respond();
    w.wait(5_000);
    w.commit(held, ["one", "two"]);
    w.settle(held, 0, "sent");
    w.say("and another thing");
    expect(w.settle(held, 0, "sent").is).toBe("next");
    expect(w.attempt(held, 1).is).toBe("attempting");
  });
});

describe("what came behind an answer and was taken back", () => {
  const removed = (w: World) => w.log.filter((entry) => entry.kind === "settled" && entry.outcome === "removed");

  it("has an ending of its own, in a turn that was sealed", () => {
    const w = new World();
    w.say("hi");
    const held = w.respond();
    w.wait(5_000).do("seal", held);
    w.say("never mind", { id: "m2" });
    w.retract("m2");
    w.commit(held);
    expect(removed(w)).toEqual([]);
    w.settle(held, 0, "sent");
    expect(removed(w)).toMatchObject([{ from: 1, to: 3 }]);
    expect(isRest(w.r)).toBe(true);
    expect(w.r.pace?.crossed ?? 0).toBe(0);
  });

  it("has one, too, when the bot said nothing", () => {
    const w = new World();
    w.say("hi");
    const held = w.respond();
    w.wait(5_000).do("seal", held);
    w.say("never mind", { id: "m2" });
    w.retract("m2");
    w.commit(held, null);
    expect(removed(w)).toMatchObject([{ from: 1, to: 3 }]);
    expect(isRest(w.r)).toBe(true);
  });

  it("has one behind the answer of a human who had not seen it", () => {
    const w = new World();
    w.say("hi", { id: "m1" });
    w.say("and", { id: "m2" });
    w.retract("m1");
    w.do("humanReply", { id: "h", upTo: 2, parts: [text("hello")] });
    expect(removed(w)).toMatchObject([{ from: 2, to: 3 }]);
    expect(isRest(w.r)).toBe(true);
  });
});
