// The checker is worth what it catches: one run without fault, and one planted fault for each rule.
import { expect, test } from "vitest";
import { check, secondLook, summary } from "./checker.mjs";
import { answerOf } from "./ledger.mjs";

const conversation = "c";
const limits = { maxWaitMs: 6_000 };

/** @typedef {import("./ledger.mjs").Event} Event */

/** @param {number} at @param {string} id @param {Partial<import("./ledger.mjs").Input>} [more] @returns {Event} */
const sent = (at, id, more) => input(at, id, more);
/** @param {number} at @param {string} id @param {Partial<import("./ledger.mjs").Input>} [more] */
const input = (at, id, more) =>
  /** @type {import("./ledger.mjs").Input} */ ({
    at,
    is: "sent",
    conversation,
    op: "message",
    id,
    rev: 0,
    process: "p",
    ...more,
  });
/** @param {number} at @param {string} id @param {Partial<import("./ledger.mjs").Input>} [more] @returns {Event} */
const acked = (at, id, more) => ({ ...input(at, id), is: "acked", status: "accepted", ...more });
/** @param {number} at @param {string} call @param {string[]} ids @param {string} [process] @returns {Event} */
const called = (at, call, ids, process = "p") => ({
  at,
  is: "called",
  call,
  conversation,
  process,
  seen: tokens(ids),
  streams: false,
});
/** @param {number} at @param {string} call @returns {Event} */
const answered = (at, call) => ({ at, is: "answered", call, conversation });
const tokens = (/** @type {string[]} */ ids) =>
  ids.map((text) => {
    const [id = "", rev = "0"] = text.split("~");
    return { id, rev: Number(rev) };
  });
/**
 * @param {number} at @param {string} call @param {string[]} ids
 * @param {Partial<import("./ledger.mjs").Arrived>} [more]
 * @returns {Event}
 */
const arrived = (at, call, ids, more = {}) => {
  const { index = 0, replyId = `r-${call}` } = more;
  const seen = tokens(ids);
  const text = answerOf(call, index, seen);
  const covers = seen.map(({ id }) => id);
  const rest = {
    channel: "plain",
    process: "p",
    overtaken: false,
    outcome: /** @type {const} */ ("took"),
    told: /** @type {const} */ ("answer"),
  };
  return {
    at,
    is: "arrived",
    conversation,
    key: `${replyId}.${index}`,
    count: 1,
    covers,
    ...rest,
    ...more,
    replyId,
    index,
    text,
  };
};
/** @param {number} at @param {"ready" | "killed" | "frozen" | "thawed"} is @param {string} process @returns {Event} */
const plug = (at, is, process) => ({ at, is, process });

/** @param {Event[]} events */
const rules = (...events) =>
  check(
    [...events].sort((a, b) => a.at - b.at),
    limits,
  ).violations.map(({ rule }) => rule);

const burst = [sent(0, "m1"), acked(5, "m1"), sent(50, "m2"), acked(55, "m2")];
const reply = [called(200, "k1", ["m1", "m2"]), answered(400, "k1"), arrived(700, "k1", ["m1", "m2"])];

test("a burst, answered once, is no violation", () => {
  expect(rules(...burst, ...reply)).toEqual([]);
});

test("what is not acknowledged may be answered or not", () => {
  expect(rules(sent(0, "m1"))).toEqual([]);
});

test("lost: no reply, a reply that was turned away, an edit that no reply knows", () => {
  expect(rules(...burst)).toEqual(["lost", "lost"]);
  expect(rules(...burst, ...reply.slice(0, 2), arrived(700, "k1", ["m1", "m2"], { outcome: "refused" }))).toEqual([
    "lost",
    "lost",
  ]);
  const edit = { op: /** @type {const} */ ("edit"), rev: 1 };
  // Accepted after the answer had begun, so the answer itself is not stale.
  expect(rules(...burst, sent(390, "m1", edit), acked(410, "m1", edit), ...reply)).toEqual(["lost"]);
  expect(rules(...burst, sent(390, "m1", edit), acked(410, "m1", { ...edit, status: "ignored" }), ...reply)).toEqual(
    [],
  );
});

test("taken back: need not be answered", () => {
  const retract = { op: /** @type {const} */ ("retract") };
  const rest = [called(200, "k1", ["m2"]), answered(400, "k1"), arrived(700, "k1", ["m2"])];
  expect(rules(...burst, sent(90, "m1", retract), acked(95, "m1", retract), ...rest)).toEqual([]);
  expect(rules(...burst, sent(290, "m1", retract), acked(295, "m1", retract), ...reply)).toEqual(["stale"]);
});

test("an edit of which people only learn that it had arrived opens the wait all the same, if a model was shown it", () => {
  const edit = { op: /** @type {const} */ ("edit"), rev: 1 };
  const late = (/** @type {string} */ seen) => [
    sent(800, "m1", edit),
    acked(7_000, "m1", { ...edit, status: "duplicate" }),
    // Behind the cap of the edit, which was stored at 800: the answer goes out as it is.
    sent(7_100, "m3"),
    acked(7_150, "m3"),
    called(7_160, "k2", [seen]),
    answered(7_400, "k2"),
    arrived(7_500, "k2", [seen]),
    called(7_900, "k3", ["m3"]),
    answered(8_000, "k3"),
    arrived(8_100, "k3", ["m3"]),
  ];
  expect(rules(...burst, ...reply, ...late("m1~1"))).toEqual([]);
  // No model was shown it: nothing proves that it waited.
  expect(rules(...burst, ...reply, ...late("m2"))).toContain("stale");
});

test("twice: two replies for one message", () => {
  const again = [called(800, "k2", ["m2"]), answered(900, "k2"), arrived(950, "k2", ["m2"])];
  expect(rules(...burst, ...reply, ...again)).toEqual(["twice"]);
});

test("stale: acknowledged before the model answered, and not shown to it", () => {
  const later = [called(900, "k2", ["m3"]), answered(950, "k2"), arrived(960, "k2", ["m3"])];
  expect(rules(...burst, sent(380, "m3"), acked(390, "m3"), ...reply, ...later)).toEqual(["stale"]);
  expect(rules(...burst, sent(380, "m3"), acked(410, "m3"), ...reply, ...later)).toEqual([]);
});

test("stale: not what came after the cap", () => {
  const late = [called(5_900, "k1", ["m1", "m2"]), answered(6_400, "k1"), arrived(6_500, "k1", ["m1", "m2"])];
  const later = [called(6_900, "k2", ["m3"]), answered(7_000, "k2"), arrived(7_100, "k2", ["m3"])];
  expect(rules(...burst, sent(6_100, "m3"), acked(6_110, "m3"), ...late, ...later)).toEqual([]);
  expect(rules(...burst, sent(5_910, "m3"), acked(5_920, "m3"), ...late, ...later)).toEqual(["stale"]);
});

test("stale: offered again although newer input had come before it was turned away", () => {
  const away = arrived(700, "k1", ["m1", "m2"], { outcome: "refused" });
  const again = arrived(900, "k1", ["m1", "m2"]);
  const m3 = [
    sent(600, "m3"),
    acked(610, "m3"),
    called(1_000, "k2", ["m3"]),
    answered(1_100, "k2"),
    arrived(1_200, "k2", ["m3"]),
  ];
  const tries = [...burst, ...reply.slice(0, 2), away, again, ...m3];
  expect(rules(...tries)).toEqual(["stale"]);
  expect(rules(...tries, plug(720, "killed", "p"))).toEqual([]);
  // A holder that had committed it, say, and died before it had sent anything.
  expect(rules(...tries, plug(450, "killed", "q"))).toEqual([]);
  expect(rules(...tries, plug(150, "killed", "q"))).toEqual(["stale"]);
});

test("disorder: among parts, and among replies", () => {
  const two = { count: 2 };
  const zero = (/** @type {number} */ at) => arrived(at, "k1", ["m1", "m2"], two);
  const one = (/** @type {number} */ at) => arrived(at, "k1", ["m1", "m2"], { ...two, index: 1 });
  const start = [...burst, ...reply.slice(0, 2)];
  expect(rules(...start, zero(700), one(710))).toEqual([]);
  expect(rules(...start, one(700), zero(710))).toContain("disorder");
  const next = [
    sent(680, "m3"),
    acked(690, "m3"),
    called(702, "k2", ["m3"]),
    answered(704, "k2"),
    arrived(706, "k2", ["m3"]),
  ];
  expect(rules(...start, zero(700), one(710), ...next)).toEqual(["disorder"]);
});

test("repeated: only with a reason", () => {
  const again = arrived(900, "k1", ["m1", "m2"], { process: "q" });
  expect(rules(...burst, ...reply, again)).toEqual(["repeated"]);
  expect(rules(...burst, ...reply, again, plug(710, "killed", "p"))).toEqual([]);
  expect(rules(...burst, ...reply, again, plug(710, "killed", "somebody else"))).toEqual(["repeated"]);
  expect(rules(...burst, ...reply, again, plug(390, "frozen", "p"))).toEqual([]);
  expect(rules(...burst, ...reply, again, { at: 800, is: "outage" }, { at: 850, is: "restored" })).toEqual([]);
  const untold = arrived(700, "k1", ["m1", "m2"], { told: "nothing" });
  expect(rules(...burst, ...reply.slice(0, 2), untold, again)).toEqual([]);
});

test("changed, foreign, mixed, unfinished, covers", () => {
  const start = [...burst, ...reply.slice(0, 2)];
  const other = arrived(800, "k2", ["m1", "m2"], { replyId: "r-k1" });
  expect(rules(...burst, ...reply, other, plug(710, "killed", "p"))).toEqual(["changed", "mixed", "foreign"]);
  expect(rules(...start, arrived(700, "k1", ["m1", "m2"], { count: 2 }))).toEqual(["unfinished"]);
  expect(rules(...start, arrived(700, "k1", ["m1", "m2"], { covers: ["m1"] }))).toEqual(["covers"]);
});

/** @param {{ samples: import("./checker.mjs").Sample[], waiting: string[] }} recovery */
const recovered = ({ samples, waiting }) => ({ ...summary(samples), waiting });

test("recovery counts from the last touch to the next sign of life", () => {
  const of = (/** @type {Event[]} */ ...events) =>
    recovered(
      check(
        [...events].sort((a, b) => a.at - b.at),
        limits,
      ).recovery,
    );
  const start = [plug(-2, "ready", "p"), plug(-1, "ready", "q"), ...burst];
  // It had acknowledged the newest message; nobody had begun.
  expect(of(...start, plug(100, "killed", "p"), called(1_100, "k1", ["m1", "m2"], "q"))).toMatchObject({
    touched: 1,
    worst: 1_000,
  });
  // A process that has nothing to do with it.
  expect(of(...start, plug(100, "killed", "q"), called(1_100, "k1", ["m1", "m2"]))).toMatchObject({ touched: 0 });
  // The last touch counts.
  const twice = [
    called(150, "k1", ["m1", "m2"], "q"),
    plug(160, "frozen", "q"),
    called(2_400, "k2", ["m1", "m2"]),
    plug(2_410, "killed", "p"),
  ];
  const { worst, touched } = of(...start, ...twice, called(4_500, "k3", ["m1", "m2"], "q"));
  expect({ worst, touched }).toEqual({ worst: 2_240, touched: 2 });
  // At rest nothing is touched.
  expect(of(...start, ...reply, plug(800, "killed", "p"))).toMatchObject({ touched: 0, waiting: [] });
  // All of them down: from when one is up again.
  const dark = [plug(100, "killed", "p"), plug(101, "killed", "q"), plug(900, "ready", "r")];
  expect(of(...start, ...dark, called(1_000, "k1", ["m1", "m2"], "r"))).toMatchObject({ touched: 1, worst: 100 });
});

test("a lease that was taken and lost in silence counts from what befell its holder", () => {
  const sample = { ms: 5_000, conversation, at: 6_000, why: "killed" };
  const began = 1_000_000;
  const expired = { kind: "ended", outcome: "expired", fence: began + 3_000, atMs: began + 5_100 };
  const attempt = { kind: "attempt", fence: began + 3_000, owner: "q" };
  const mishaps = [plug(3_100, "killed", "r"), plug(3_500, "killed", "q"), plug(5_900, "killed", "q")];
  expect(secondLook(sample, [], mishaps, began)).toEqual(sample);
  expect(secondLook(sample, [{ ...expired, fence: began + 900 }], mishaps, began)).toEqual(sample);
  expect(secondLook(sample, [attempt, expired], mishaps, began)).toMatchObject({ ms: 2_500 });
  expect(secondLook(sample, [expired], mishaps, began)).toMatchObject({ ms: 2_900 });
  // The lease under which life went on, lost only later, hides none that was lost before it.
  const later = { ...expired, fence: began + 5_200, atMs: began + 8_000 };
  expect(secondLook(sample, [attempt, expired, later], mishaps, began)).toMatchObject({ ms: 2_500 });
  expect(secondLook(sample, [later], mishaps, began)).toEqual(sample);
  // Nothing befell the holder: it is simply slow.
  expect(secondLook(sample, [attempt, expired], [plug(3_100, "killed", "r")], began)).toEqual(sample);
});
