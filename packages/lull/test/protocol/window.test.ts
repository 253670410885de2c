// Quiet targets, wake-up times and the fold, taken alone.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ConversationRecord, EntryOf, Input, Lease, LogBody, LogEntry, Outbox, Window } from "../../src/model.ts";
import { blank, outboxOf, queued } from "../../src/model.ts";
import * as window from "../../src/window.ts";
import { limits, text } from "./world.ts";

const opened: Window = {
  fromSeq: 1,
  openedAtMs: 0,
  lastInputAtMs: 0,
  holdUntilMs: null,
  incompleteUntilMs: null,
  quietMs: 6_000,
  count: 1,
};
const cap = limits.maxWaitMs;

const numbered = (...bodies: LogBody[]): LogEntry[] => bodies.map((body, n) => ({ ...body, seq: n + 1, atMs: n }));
const message = (version: number, id = `m${version}`, more: Partial<EntryOf<"message">> = {}): LogBody => ({
  kind: "message",
  id,
  version,
  parts: [text(id)],
  ...more,
});
const edit = (version: number, target: string, words: string, more: Partial<EntryOf<"edit">> = {}): LogBody => ({
  kind: "edit",
  id: `e${version}`,
  target,
  version,
  parts: [text(words)],
  ...more,
});
const retraction = (version: number, target: string, more: Partial<EntryOf<"retraction">> = {}): LogBody => ({
  kind: "retraction",
  id: `t${version}`,
  target,
  version,
  ...more,
});
const retry = (version: number, from: number, to: number): LogBody => ({ kind: "retry", id: "y", version, from, to });
const words = (inputs: readonly Input[]) => inputs.map(({ parts: [part] }) => (part?.type === "text" ? part.text : ""));

function outbox(r: ConversationRecord, more: Partial<Outbox> = {}): Outbox {
  const reply = { replyId: "r", cause: "turn" as const, fence: 1, to: 1, sealed: false, open: false };
  return { ...outboxOf(r, reply, 1, 1, 0), ...more };
}

describe("targets", () => {
  it("count from the last input; the model may start earlier than its answer may go out", () => {
    expect(window.startAt(opened, limits, 0)).toBe(1_000);
    expect(window.quietAt(opened, limits)).toBe(6_000);
    const r = { ...blank("c", 0), window: opened };
    expect(window.targets(r, limits)).toEqual({ startAtMs: 1_000, quietAtMs: 6_000 });
    expect(window.targets(blank("c", 0), limits)).toEqual({ startAtMs: null, quietAtMs: null });
  });

  it("never go beyond the cap", () => {
    const late = { ...opened, lastInputAtMs: 44_900, holdUntilMs: 99_000, incompleteUntilMs: 99_000 };
    expect(window.startAt(late, limits, 0)).toBe(cap);
    expect(window.quietAt(late, limits)).toBe(cap);
  });

  it("after maxRestarts the model starts only at the quiet target", () => {
    expect(window.startAt(opened, limits, 2)).toBe(1_000);
    expect(window.startAt(opened, limits, 3)).toBe(6_000);
  });

  it("are held by typing and by incomplete inputs", () => {
    expect(window.quietAt({ ...opened, holdUntilMs: 9_000 }, limits)).toBe(9_000);
    expect(window.startAt({ ...opened, incompleteUntilMs: 20_000 }, limits, 0)).toBe(20_000);
  });

  it("of an input that asks for an answer now are now", () => {
    expect(window.startAt({ ...opened, quietMs: 0 }, limits, 0)).toBe(0);
  });

  it("are monotone in the last input, never before it, and start is never after quiet", () => {
    const moment = fc.nat(100_000);
    const property = fc.property(moment, moment, fc.nat(50_000), fc.nat(5), (a, b, quietMs, restarts) => {
      const [early, late] = [Math.min(a, b), Math.max(a, b)];
      const at = (lastInputAtMs: number) => ({ ...opened, lastInputAtMs, quietMs });
      expect(window.startAt(at(late), limits, restarts)).toBeLessThanOrEqual(window.quietAt(at(late), limits));
      expect(window.quietAt(at(early), limits)).toBeLessThanOrEqual(window.quietAt(at(late), limits));
      expect(window.quietAt(at(early), limits)).toBeGreaterThanOrEqual(Math.min(early, cap));
      expect(window.quietAt(at(late), limits)).toBeLessThanOrEqual(cap);
    });
    fc.assert(property);
  });
});

describe("push", () => {
  it("takes the smallest quiet target of the inputs, and none longer than the cap", () => {
    const first = window.push(null, 1, { quietMs: 9e9 }, 0, limits);
    expect(first.quietMs).toBe(cap);
    expect(window.push(first, 2, {}, 1, limits).quietMs).toBe(6_000);
    expect(window.push(first, 2, { quietMs: 0 }, 1, limits).quietMs).toBe(0);
    expect(window.push({ ...first, quietMs: 0, count: 0 }, 2, {}, 1, limits).quietMs).toBe(6_000);
  });

  it("never shortens what was granted when the store's clock goes back", () => {
    expect(window.push({ ...opened, lastInputAtMs: 500 }, 2, {}, 100, limits).lastInputAtMs).toBe(500);
  });

  it("keeps the longest wait for an incomplete input", () => {
    const one = window.push(null, 1, { incomplete: true }, 0, limits);
    expect(one.incompleteUntilMs).toBe(20_000);
    expect(window.push(one, 2, {}, 5, limits).incompleteUntilMs).toBe(20_000);
    expect(window.push(one, 2, { incomplete: true }, 5, limits).incompleteUntilMs).toBe(20_005);
    expect(window.push(opened, 2, { incomplete: true }, 5, limits).incompleteUntilMs).toBe(20_005);
  });

  it("reaches back for inputs that a retry brings in, and ends a typing hold", () => {
    const pushed = window.push({ ...opened, fromSeq: 9, holdUntilMs: 7 }, 3, {}, 1, limits);
    expect(pushed).toMatchObject({ fromSeq: 3, holdUntilMs: null, count: 2 });
  });
});

describe("recount", () => {
  it("is what the fold says", () => {
    const log = numbered(message(1, "a", { quietMs: 0 }), message(2, "b", { incomplete: true }));
    expect(window.recount(opened, window.inputsOf(log, 0), limits)).toMatchObject({
      count: 2,
      quietMs: 0,
      incompleteUntilMs: 20_001,
    });
    expect(window.recount(opened, [], limits)).toMatchObject({ count: 0, quietMs: 6_000, incompleteUntilMs: null });
  });
});

describe("typingUntil", () => {
  it("is the new end of the hold, or what it was", () => {
    const until = (hold: number | null, on: boolean, forMs: number | undefined, now: number) =>
      window.typingUntil({ ...opened, holdUntilMs: hold }, on, forMs, now, limits);
    expect(until(null, true, undefined, 0)).toBe(6_000);
    expect(until(null, true, 3_000, 100)).toBe(3_100);
    expect(until(6_000, true, undefined, 900)).toBe(6_000);
    expect(until(6_000, true, undefined, 1_001)).toBe(7_001);
    expect(until(6_000, true, 100, 0)).toBe(6_000);
    expect(until(6_000, false, undefined, 0)).toBeNull();
    expect(until(null, true, 9e9, 0)).toBe(cap);
    expect(window.typingUntil(null, true, undefined, 0, limits)).toBeNull();
  });
});

describe("wakeAt", () => {
  const r = blank("c", 5);

  it("is none at rest, nor in a hand-off with nothing waiting", () => {
    expect(window.wakeAt(r, limits)).toBeNull();
    expect(window.wakeAt({ ...r, handoff: { sinceMs: 0, untilMs: 9, backlog: "answer" } }, limits)).toBeNull();
  });

  it("is the lease's expiry before all else", () => {
    const lease = { owner: "w", claimId: "c", fence: 1, purpose: "respond" as const, version: 1 };
    const live = { ...lease, expiresAtMs: 77, deadlineMs: 99, sealed: false, newer: null };
    expect(window.wakeAt({ ...r, lease: live, outbox: outbox(r), window: opened }, limits)).toBe(77);
  });

  it("is the next try of the first queued part", () => {
    const parts = [
      { ...queued(1, 0, 0), state: "sent" as const },
      { ...queued(1, 1, 0), nextAtMs: 33 },
      { ...queued(1, 2, 0), nextAtMs: 11 },
    ];
    expect(window.wakeAt({ ...r, outbox: outbox(r, { parts }) }, limits)).toBe(33);
  });

  it("is at once where a damaged reply has nothing left to try, so that somebody finds out", () => {
    expect(window.wakeAt({ ...r, outbox: outbox(r, { parts: [], committedAtMs: 4 }) }, limits)).toBe(4);
  });

  it("is the end of a hand-off with something waiting", () => {
    const handoff = { sinceMs: 0, untilMs: 900, backlog: "answer" as const };
    expect(window.wakeAt({ ...r, handoff, window: opened }, limits)).toBe(900);
    expect(window.wakeAt({ ...r, handoff, sends: [{ replyId: "s", seq: 1, parts: 1, atMs: 4 }] }, limits)).toBe(900);
  });

  it("is the start of the window, after back-off, running effects and the hourly guard", () => {
    const at = (more: Partial<ConversationRecord>) => window.wakeAt({ ...r, window: opened, ...more }, limits);
    expect(at({})).toBe(1_000);
    expect(at({ retryAtMs: 3_000 })).toBe(3_000);
    expect(at({ effects: { a: { state: "begun", fence: 1, untilMs: 4_000 } } })).toBe(4_000);
    expect(at({ effects: { a: { state: "ended", fence: 1, seq: 9_000 } } })).toBe(1_000);
    expect(at({ tempo: { sinceMs: 10, replies: 60 } })).toBe(3_600_010);
    expect(at({ tempo: { sinceMs: 10, replies: 59 } })).toBe(1_000);
  });

  it("is now for a message of the bot's own accord", () => {
    expect(window.wakeAt({ ...r, sends: [{ replyId: "s", seq: 1, parts: 1, atMs: 4 }] }, limits)).toBe(4);
  });
});

describe("tailFrom and keepFrom", () => {
  const r = { ...blank("c", 0), seq: 50 };
  const past = { from: 0, to: 1 };

  it("are beyond the end where nothing is needed", () => {
    expect(window.tailFrom(r)).toBe(51);
    expect(window.keepFrom(r)).toBe(51);
  });

  it("start at the oldest entry anybody needs", () => {
    expect(window.tailFrom({ ...r, window: { ...opened, fromSeq: 40 } })).toBe(40);
    const reply = outbox({ ...r, window: { ...opened, fromSeq: 30 } }, { parts: [queued(35, 0, 0)] });
    expect(window.tailFrom({ ...r, window: { ...opened, fromSeq: 40 }, outbox: reply })).toBe(30);
    expect(window.tailFrom({ ...r, outbox: { ...reply, window: null } })).toBe(35);
    expect(window.tailFrom({ ...r, outbox: { ...reply, window: null, parts: [] } })).toBe(51);
    expect(window.tailFrom({ ...r, sends: [{ replyId: "s", seq: 20, parts: 1, atMs: 0 }] })).toBe(20);
  });

  it("keep what a retry could bring back", () => {
    expect(window.keepFrom({ ...r, parked: { ...past, fromSeq: 7, atMs: 0, reason: "x" } })).toBe(7);
    expect(window.keepFrom({ ...r, last: { ...past, fromSeq: 5 } })).toBe(5);
  });
});

describe("withdrawable and overtaken", () => {
  const r = { ...blank("c", 0), window: opened };
  const part = queued(1, 0, 0);

  it("only while nothing was shown, nothing is in doubt, and nothing sealed it", () => {
    expect(window.withdrawable(outbox(r))).toBe(true);
    expect(window.withdrawable(outbox(r, { sealed: true }))).toBe(false);
    expect(window.withdrawable(outbox(r, { open: true }))).toBe(false);
    expect(window.withdrawable(outbox(r, { window: null }))).toBe(false);
    expect(window.withdrawable(outbox(r, { parts: [{ ...part, doubt: true }] }))).toBe(false);
    expect(window.withdrawable(outbox(r, { parts: [{ ...part, state: "attempting" }] }))).toBe(false);
  });

  it("only by input that came before the cap", () => {
    expect(window.overtaken(outbox(r), limits)).toBe(false);
    expect(window.overtaken(outbox(r, { newerAtMs: cap }), limits)).toBe(true);
    expect(window.overtaken(outbox(r, { newerAtMs: cap + 1 }), limits)).toBe(false);
    expect(window.overtaken(outbox(r, { newerAtMs: 1, window: null }), limits)).toBe(false);
    expect(window.overtaken(outbox(r, { newerAtMs: 1, sealed: true }), limits)).toBe(false);
  });
});

describe("back-off", () => {
  it("doubles, is capped, and is jittered by half", () => {
    expect([1, 2, 3, 7, 100].map((n) => window.retryMs(n, limits, 1))).toEqual([1_000, 2_000, 4_000, 60_000, 60_000]);
    expect(window.retryMs(1, limits, 0)).toBe(500);
    expect(window.redeliverMs(20, limits, 0.5)).toBe(225_000);
  });
});

describe("counted", () => {
  it("starts anew every hour", () => {
    expect(window.counted({ sinceMs: 10, replies: 3 }, 20)).toEqual({ sinceMs: 10, replies: 4 });
    expect(window.counted({ sinceMs: 10, replies: 3 }, 3_600_010)).toEqual({ sinceMs: 3_600_010, replies: 1 });
  });
});

describe("the fold", () => {
  it("is what is unanswered, in the order it arrived", () => {
    const log = numbered(message(1), message(2), message(3));
    expect(words(window.inputsOf(log, 1))).toEqual(["m2", "m3"]);
    expect(words(window.inputsOf(log, 0, 2))).toEqual(["m1", "m2"]);
  });

  it("carries everything the platform said", () => {
    const full = { author: "a", sentAtMs: 5, replyTo: "x", metadata: { k: 1 }, quietMs: 0, incomplete: true as const };
    const [input] = window.inputsOf(numbered(message(1, "m", full)), 0);
    expect(input).toEqual({
      id: "m",
      version: 1,
      seq: 1,
      receivedAtMs: 0,
      edited: false,
      parts: [text("m")],
      ...full,
      incomplete: true,
    });
  });

  it("shows edits, and completes what was incomplete", () => {
    const log = numbered(
      message(1, "m", { author: "a", incomplete: true, metadata: { k: 1 } }),
      edit(2, "m", "whole", { author: "other", quietMs: 0 }),
      edit(3, "m", "whole again", { metadata: { k: 2 } }),
    );
    const [input] = window.inputsOf(log, 0);
    expect(input).toMatchObject({
      id: "m",
      version: 1,
      author: "a",
      edited: true,
      incomplete: false,
      quietMs: 0,
      metadata: { k: 2 },
      parts: [text("whole again")],
    });
    expect(window.inputsOf(log, 0, 2)).toMatchObject([{ parts: [text("whole")], metadata: { k: 1 } }]);
    expect(window.inputsOf(log, 0, 1)).toMatchObject([{ parts: [text("m")], edited: false }]);
  });

  it("shows an edit of something answered before as an input of its own, whose later edits and retraction it takes", () => {
    const log = numbered(message(1, "m"), edit(2, "m", "changed"), edit(3, "m", "changed again"));
    expect(window.inputsOf(log, 1)).toMatchObject([{ id: "e2", editOf: "m", edited: true, version: 2 }]);
    expect(words(window.inputsOf(log, 1))).toEqual(["changed again"]);
    expect(window.inputsOf([...log, ...numbered(retraction(4, "m"))], 1)).toEqual([]);
  });

  it("leaves out what was retracted or set aside; a note about something answered is no input", () => {
    const log = numbered(
      message(1, "gone"),
      message(2, "old", { aside: "backlog" }),
      retraction(3, "gone"),
      edit(3, "answered", "x", { aside: "answered" }),
      retraction(3, "never heard of"),
    );
    expect(window.inputsOf(log, 0)).toEqual([]);
    expect(words(window.inputsOf(log, 0, 2))).toEqual(["gone"]);
  });

  it("brings back what a retry names, and what a retry in that names", () => {
    const log = numbered(message(1), message(2), retry(3, 0, 2), retry(4, 2, 3));
    expect(words(window.inputsOf(log, 3))).toEqual(["m1", "m2"]);
    expect(words(window.inputsOf(log, 2, 3))).toEqual(["m1", "m2"]);
    expect(window.inputsOf(log, 4)).toEqual([]);
    expect(words(window.inputsOf(numbered(message(1), message(2), retry(3, 1, 2)), 2))).toEqual(["m2"]);
  });

  it("ignores entries of other kinds", () => {
    const log = numbered({ kind: "sealed", fence: 1 }, message(1));
    expect(words(window.inputsOf(log, 0))).toEqual(["m1"]);
  });
});

describe("targetOf", () => {
  it("finds what an edit speaks of: an input, or an edit that stands for itself", () => {
    const r = { ...blank("c", 0), answered: 1 };
    const log = numbered(message(1, "m"), edit(2, "m", "changed"), message(3, "n"));
    expect(window.targetOf(r, "m", log)?.id).toBe("e2");
    expect(window.targetOf(r, "n", log)?.id).toBe("n");
    expect(window.targetOf(r, "x", log)).toBeUndefined();
  });

  it("reaches into a reply that can still be taken back", () => {
    const r = { ...blank("c", 0), window: opened };
    const log = numbered(message(1, "m"));
    expect(window.targetOf({ ...r, answered: 1, outbox: outbox(r) }, "m", log)?.id).toBe("m");
    expect(window.targetOf({ ...r, answered: 1, outbox: outbox(r, { sealed: true }) }, "m", log)).toBeUndefined();
  });
});

describe("sameContent", () => {
  const [input] = window.inputsOf(numbered(message(1, "m", { metadata: { k: 1 } })), 0) as [Input];

  it("compares what a model could see", () => {
    expect(window.sameContent(input, { parts: [text("m")] })).toBe(true);
    expect(window.sameContent(input, { parts: [text("m")], metadata: { k: 1 } })).toBe(true);
    expect(window.sameContent(input, { parts: [text("m")], metadata: { k: 2 } })).toBe(false);
    expect(window.sameContent(input, { parts: [text("n")] })).toBe(false);
    expect(window.sameContent(input, { parts: [text("m")], incomplete: true })).toBe(false);
  });
});

describe("windowAfter", () => {
  it("is what stays pending, counted from its own first input", () => {
    const log = numbered(message(1), message(2, "m2", { quietMs: 7 }), message(3));
    expect(window.windowAfter(1, opened, log, limits)).toMatchObject({
      fromSeq: 2,
      openedAtMs: 1,
      quietMs: 7,
      count: 2,
    });
    expect(window.windowAfter(3, opened, log, limits)).toBeNull();
  });

  it("is empty, not gone, when what came since was taken back or set aside", () => {
    const log = numbered(message(1), message(2), { kind: "retraction", id: "r", target: "m2", version: 3 });
    expect(window.windowAfter(1, opened, log, limits)).toMatchObject({ count: 0 });
    const aside = numbered(message(1), message(2, "m2", { aside: "context" }));
    expect(window.windowAfter(1, opened, aside, limits)).toBeNull();
  });
});

describe("effects by name", () => {
  it("are only the author's own", () => {
    expect(window.effectOf({}, "constructor")).toBeUndefined();
    const place = { span: 1, effects: {} };
    window.beginEffect(place, "__proto__", { fence: 1, expiresAtMs: 5 } as Lease, 1);
    expect(window.effectOf(place.effects, "__proto__")).toMatchObject({ state: "begun" });
    expect(JSON.parse(JSON.stringify(place.effects))).toEqual(place.effects);
  });
});

describe("inOrder", () => {
  const at = (id: string, sentAtMs?: number) =>
    ({ id, ...(sentAtMs === undefined ? {} : { sentAtMs }) }) as unknown as Input;
  const ids = (inputs: Input[]) => window.inOrder(inputs).map(({ id }) => id);

  it("is the order people meant", () => {
    expect(ids([at("b", 2), at("a", 1)])).toEqual(["a", "b"]);
    expect(ids([at("a"), at("b")])).toEqual(["a", "b"]);
  });

  it("keeps ties, and an input without a time behind the one it came after", () => {
    expect(ids([at("a", 1), at("b", 1)])).toEqual(["a", "b"]);
    expect(ids([at("b", 2), at("b+"), at("a", 1), at("a+")])).toEqual(["a", "a+", "b", "b+"]);
  });

  it("is a permutation, and sorting again changes nothing", () => {
    const inputs = fc
      .array(fc.option(fc.nat(5), { nil: undefined }))
      .map((times) => times.map((t, n) => at(`${n}`, t)));
    const property = fc.property(inputs, (some) => {
      const sorted = window.inOrder(some);
      expect(new Set(sorted)).toEqual(new Set(some));
      const timed = sorted.flatMap(({ sentAtMs }) => (sentAtMs === undefined ? [] : [sentAtMs]));
      expect(timed).toEqual([...timed].sort((a, b) => a - b));
    });
    fc.assert(property);
  });
});
