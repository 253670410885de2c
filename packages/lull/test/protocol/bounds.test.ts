// The waiting a user can be put through, and the quiet a user is given, when nothing goes wrong: one worker that
// aborts at once, models that take any time up to their limit, people who type as they please.
import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "vitest";
import type { Held, Limits, Outcomes } from "../../src/model.ts";
import { superseded } from "../../src/window.ts";
import { Observer } from "./observer.ts";
import { text, World } from "./world.ts";

const runs = Math.ceil(Number(process.env.LULL_RUNS ?? 2_000) / 20);
const seed = process.env.LULL_SEED === undefined ? {} : { seed: Number(process.env.LULL_SEED) };

interface Arrival {
  /** After the one before. */
  gapMs: number;
  quietMs: number | null;
  /** Typing was seen this long before. */
  typingMs: number | null;
}

interface Answered {
  from: number;
  to: number;
  atMs: number;
  openedAtMs: number;
  quietAtMs: number;
}

/** Lets one burst after the other happen; `modelMs` is how long each attempt takes, over and over. */
function live(arrivals: Arrival[], modelMs: number[], most: Partial<Limits>): { answered: Answered[]; limits: Limits } {
  const w = new World({ maxPending: 1_000, repliesPerHour: 1_000, ...most });
  const observer = new Observer(w.limits);
  const at = new Map<number, { atMs: number; quietMs: number }>();
  const answered: Answered[] = [];
  let attempts = 0;
  let mine: { held: Held; doneAtMs: number } | null = null;
  let due = w.now;
  const coming = arrivals.map((arrival) => {
    due += arrival.gapMs;
    return { ...arrival, atMs: due };
  });

  const seen = <T>(body: () => T): T => {
    const [record, length] = [w.r, w.log.length];
    const result = body();
    observer.see(record, w.r, w.log.slice(length), w.log);
    return result;
  };

  for (;;) {
    const [next] = coming;
    const wake = mine === null ? w.wakeAt() : mine.doneAtMs;
    if (next === undefined && wake === null) break;
    if (next !== undefined && (wake === null || next.atMs <= wake)) {
      coming.shift();
      w.now = next.atMs;
      const { typingMs, quietMs } = next;
      if (typingMs !== null) seen(() => w.do("typing", { on: true, forMs: typingMs }));
      const waits = quietMs === null ? {} : { quietMs };
      seen(() => w.do("receive", { id: w.id(), parts: [text("hi")], ...waits }));
      at.set(w.r.version, { atMs: w.now, quietMs: quietMs ?? w.limits.quietMs });
      if (mine !== null && superseded(w.r, w.limits)) {
        const { held } = mine;
        seen(() => w.do("discard", { reason: "superseded", ...held }));
        mine = null;
      }
      continue;
    }
    w.now = Math.max(w.now, wake ?? w.now);
    if (mine === null) {
      const { is, held } = seen(() => w.claim());
      assert.equal(is, "respond");
      mine = { held, doneAtMs: w.now + (modelMs[attempts % modelMs.length] ?? 0) };
      attempts += 1;
      continue;
    }
    const { held }: { held: Held } = mine;
    const outcome: Outcomes["commit"] = seen(() => w.commit(held, ["answer"], { replyId: w.id("r") }));
    if (outcome.is === "early") {
      seen(() => w.do("renew", { held: true, deadlineMs: 0, ...held }));
      mine.doneAtMs = outcome.atMs;
      continue;
    }
    assert.equal(outcome.is, "committed");
    const { from, to, replyId } = w.entries("reply").at(-1) ?? { from: 0, to: 0, replyId: "" };
    const inputs = [...at].filter(([version]) => version > from && version <= to).map(([, input]) => input);
    const openedAtMs = Math.min(...inputs.map(({ atMs }) => atMs));
    const quiet = Math.max(...inputs.map(({ atMs }) => atMs)) + Math.min(...inputs.map(({ quietMs }) => quietMs));
    const quietAtMs = Math.min(quiet, openedAtMs + w.limits.maxWaitMs);
    answered.push({ from, to, atMs: w.now, openedAtMs, quietAtMs });
    seen(() => w.settle(held, 0, "sent", { replyId }));
    mine = null;
  }
  observer.finish(w.r);
  return { answered, limits: w.limits };
}

const arrivals = (typing: boolean) =>
  fc.array(
    fc.record({
      gapMs: fc.oneof(fc.nat(8_000), fc.nat(70_000)),
      quietMs: fc.option(fc.constantFrom(0, 1_000, 20_000, 90_000), { freq: 6 }),
      typingMs: typing ? fc.option(fc.nat(60_000)) : fc.constant(null),
    }),
    { minLength: 1, maxLength: 30 },
  );
/** No attempt takes longer than `turnTimeoutMs`: the lease would be gone. */
const models = (most: number) => fc.array(fc.nat(most), { minLength: 1, maxLength: 5 });

describe("with a healthy worker", { timeout: 3_600_000 }, () => {
  it("nobody waits longer than the cap and one turn, nor, behind a running turn, longer than two turns", () => {
    for (const turnTimeoutMs of [10_000, 45_000, 120_000]) {
      const property = fc.property(arrivals(true), models(turnTimeoutMs), (bursts, modelMs) => {
        const { answered, limits } = live(bursts, modelMs, { turnTimeoutMs, leaseMs: turnTimeoutMs });
        const most = turnTimeoutMs + Math.max(limits.maxWaitMs, turnTimeoutMs);
        for (const { atMs, openedAtMs } of answered) assert.ok(atMs - openedAtMs <= most, `${atMs - openedAtMs} ms`);
      });
      fc.assert(property, { numRuns: Math.ceil(runs / 3), ...seed });
    }
  });

  it("nobody is interrupted: no answer goes out before the quiet target or the cap", () => {
    const property = fc.property(arrivals(true), models(120_000), (bursts, modelMs) => {
      const { answered } = live(bursts, modelMs, { leaseMs: 120_000 });
      for (const { atMs, quietAtMs } of answered) assert.ok(atMs >= quietAtMs, `${quietAtMs - atMs} ms too early`);
    });
    fc.assert(property, { numRuns: runs, ...seed });
  });

  it("a model that takes no time answers at the quiet target, to the millisecond", () => {
    const property = fc.property(arrivals(false), (bursts) => {
      const { answered } = live(bursts, [0], {});
      for (const { atMs, quietAtMs, openedAtMs, to } of answered)
        assert.equal(atMs, quietAtMs, `reply up to ${to}, opened at ${openedAtMs}`);
    });
    fc.assert(property, { numRuns: runs, ...seed });
  });
});
