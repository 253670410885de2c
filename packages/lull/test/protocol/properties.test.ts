// Random histories against the real protocol: anything may happen in any order, workers forget, wake late and ask
// twice. An observer that keeps its own books holds every invariant at every step; afterwards one healthy worker must
// bring the conversation to rest.
//
// `LULL_RUNS=100000 npx vitest run packages/lull/test/protocol` looks longer; `LULL_SEED=…` looks again.
import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Held, Limits, Outcomes, ProtocolEvent } from "../../src/model.ts";
import { quietAt, wakeAt } from "../../src/window.ts";
import { Observer } from "./observer.ts";
import { type Given, text, World } from "./world.ts";

const runs = Number(process.env.LULL_RUNS ?? 2_000);
const seed = process.env.LULL_SEED === undefined ? {} : { seed: Number(process.env.LULL_SEED) };

/** Narrow enough that everything collides with everything. */
const tight: Partial<Limits> = {
  startMs: 100,
  quietMs: 400,
  maxWaitMs: 2_000,
  typingMs: 1_500,
  incompleteMs: 900,
  leaseMs: 500,
  turnTimeoutMs: 1_500,
  maxRestarts: 2,
  maxFailures: 2,
  maxPending: 5,
  maxParts: 3,
  maxEffects: 2,
  maxSends: 2,
  deliverMaxMs: 4_000,
  maxHandoffMs: 3_000,
  backoffFirstMs: 200,
  backoffMaxMs: 1_000,
  deliverBackoffFirstMs: 200,
  deliverBackoffMaxMs: 1_000,
  repliesPerHour: 4,
};

type Type = ProtocolEvent["type"];

/** What one process believes; it may be long out of date. */
interface Memory {
  held: Held;
  span: number;
  /** The effect it began last. */
  key: string;
  replyId: string | null;
  parts: number;
  claim: Given<"claim"> | null;
}

const nobody = (): Memory => ({
  held: { fence: 0, claimId: "nobody" },
  span: 0,
  key: "k0",
  replyId: null,
  parts: 0,
  claim: null,
});

const receipts = ["sent", "refused", "sent", "in-doubt", "refused", "sent", "unknown", "failed"] as const;
/** Asked again after the answer was lost, each of these must be harmless. */
const repeatable: ReadonlySet<Type> = new Set([
  "claim",
  "renew",
  "absorb",
  "seal",
  "begin",
  "end",
  "commit",
  "append",
  "close",
  "attempt",
  "settle",
  "discard",
  "fail",
  "typing",
  "flush",
]);

class Run extends World {
  readonly observer: Observer;
  readonly workers = [nobody(), nobody(), nobody()];
  readonly trace: string[] = [];

  constructor(limits: Partial<Limits>) {
    super(limits);
    this.observer = new Observer(this.limits);
  }

  act<T extends Type>(type: T, rest: Omit<Given<T>, "type">): Outcomes[T] {
    const before = this.r;
    const step = this.peek(type, rest);
    this.trace.push(`${this.now - 10_000_000} ${type} ${JSON.stringify(rest)} -> ${JSON.stringify(step.outcome)}`);
    this.keep(step);
    this.observer.see(before, this.r, step.entries, this.log);
    this.fenced(type, rest, before);
    if (repeatable.has(type)) this.again(type, rest, step.outcome);
    this.due();
    return step.outcome;
  }

  /** I4: whoever is not the holder changes nothing but its own effects. */
  private fenced(type: Type, rest: object, before: World["r"]): void {
    if (!("fence" in rest) || !("claimId" in rest) || type === "renew") return;
    const { fence, claimId } = rest as Held;
    if (before.lease?.fence === fence && before.lease.claimId === claimId) return;
    if ((before.handoff?.untilMs ?? Number.POSITIVE_INFINITY) <= this.now) return;
    assert.equal(this.r, before, `I4: ${type} by somebody who is not the holder`);
  }

  private again(type: Type, rest: object, outcome: { is: string }): void {
    const { next, outcome: second, entries } = this.peek(type, rest as never);
    const answered = second as { is: string };
    // A late result that is written twice is one of the entries that say so.
    if (type === "end" && outcome.is === "late") return;
    assert.equal(next, null, `${type} asked again writes: ${JSON.stringify([answered, entries])}`);
    const moved = {
      // The holder goes on from what the record says; everybody else has lost.
      settle: ["lost", "next"],
      discard: ["lost"],
      fail: ["lost"],
      close: ["lost"],
      attempt: ["lost"],
      end: ["late"],
    };
    const gone = (moved as Record<string, string[]>)[type] ?? [];
    const same = answered.is === outcome.is || gone.includes(answered.is) || type === "typing";
    assert.ok(
      same || (type === "commit" && outcome.is === "superseded"),
      `${type}: ${outcome.is}, then ${answered.is}`,
    );
    if (type === "commit") assert.deepEqual(answered, outcome);
    if (type === "claim" && outcome.is !== "nothing") assert.deepEqual(answered, outcome);
  }

  /** A claim at the stored wake-up always gets on with it, so that no timer spins. */
  private due(): void {
    const at = wakeAt(this.r, this.limits);
    if (at === null) return;
    const claim = { owner: "timer", claimId: "timer", random: 0.5 };
    const { next } = this.peek("claim", claim, Math.max(this.now, at));
    assert.ok(next !== null, `a timer at ${at - 10_000_000} finds nothing to do`);
  }

  // --- one process's next natural step

  work(index: number, choice: number, amount: number): void {
    const me = this.workers[index] as Memory;
    const { lease, outbox } = this.r;
    if (lease?.fence !== me.held.fence) return this.claims(me, index, choice % 7 === 3);
    if (outbox === null) return this.commits(me, choice, amount);
    const part = outbox.parts.findIndex(({ state }) => state === "queued" || state === "attempting");
    if (outbox.open && (part < 0 || choice % 3 === 0)) {
      if (choice % 2 === 0) this.act("close", { replyId: outbox.replyId, ...me.held });
      else this.appends(me, me.parts);
      return;
    }
    if (outbox.parts[part]?.state === "attempting") return this.settles(me, part, choice, amount);
    this.attempts(me, Math.max(part, 0), choice);
  }

  claims(me: Memory, index: number, seals = false): void {
    const claim = { type: "claim" as const, owner: `w${index}`, claimId: this.id("c"), random: 0.5 };
    const withFallback = {
      ...claim,
      ...(seals && { seals }),
      fallback: { replyId: this.id("f"), parts: [text("sorry")] },
    };
    const outcome = this.act("claim", withFallback);
    if (outcome.is === "nothing") return;
    Object.assign(me, nobody(), { held: { fence: outcome.fence, claimId: claim.claimId }, claim: withFallback });
    if (outcome.is === "respond") me.span = outcome.span;
    else me.replyId = outcome.replyId;
  }

  commits(me: Memory, choice: number, amount: number): void {
    const silent = choice % 11 === 0;
    const open = choice % 3 === 0;
    const count = amount % 4 || (open ? 0 : 1);
    const parts = silent ? null : Array.from({ length: Math.min(count, 3) }, (_, n) => text(`part ${n}`));
    const replyId = this.id("r");
    const outcome = this.act("commit", { replyId, parts, open: open && !silent, ...me.held });
    if (outcome.is === "committed" && outcome.replyId !== null)
      Object.assign(me, { replyId: outcome.replyId, parts: parts?.length ?? 0 });
    if (outcome.is === "early" && amount % 2 === 0) {
      this.act("renew", { held: true, deadlineMs: this.now + 500, ...me.held });
      this.now = Math.max(this.now, Math.min(outcome.atMs, this.r.lease?.expiresAtMs ?? this.now));
    }
  }

  appends(me: Memory, at: number): void {
    const event = { replyId: me.replyId ?? "none", index: at, part: text("more"), ...me.held };
    if (this.act("append", event).is === "appended") me.parts = Math.max(me.parts, at + 1);
  }

  attempts(me: Memory, index: number, choice: number): void {
    const inDoubt = choice % 4 === 0 ? "give-up" : "retry";
    this.act("attempt", { replyId: me.replyId ?? "none", index, inDoubt, ...me.held });
  }

  settles(me: Memory, index: number, choice: number, amount: number): void {
    const state = choice === 0 ? "sent" : (receipts[amount % receipts.length] ?? "sent");
    const retryAfterMs = choice % 5 === 0 ? { retryAfterMs: amount * 100 } : {};
    const receipt = { state, ...retryAfterMs };
    this.act("settle", { replyId: me.replyId ?? "none", index, receipt, random: 0.5, ...me.held });
  }

  ends(me: Memory, key: string, amount: number): void {
    const result = amount % 4 === 3 ? null : { value: amount };
    this.act("end", { fence: me.held.fence, span: me.span, key, result });
  }

  // --- anything, at any time, by anybody

  any(kind: Kind, dice: number, a: number, b: number): void {
    // Mostly whoever holds the lease, if anybody does, or nearly all of it would be lost.
    const holder = this.workers.findIndex(({ held }) => held.fence === this.r.lease?.fence);
    const who = dice >= 3 && holder >= 0 ? holder : dice % 3;
    const me = this.workers[who] as Memory;
    const { held } = me;
    switch (kind) {
      case "work":
        return this.work(who, a, b);
      case "time":
        this.now += [0, 50, 100, 200, 400, 700, 1_500, 2_500, -60][b % 9] ?? 0;
        return void this.trace.push(`${this.now - 10_000_000} ...`);
      case "wake":
        this.now = Math.max(this.now, (this.wakeAt() ?? this.now) + (a % 3) - 1);
        return void this.trace.push(`${this.now - 10_000_000} ... wake`);
      case "message": {
        const waits =
          b % 5 === 0 ? { quietMs: [0, 50, 9_000][a % 3] ?? 0 } : b % 7 === 0 ? { incomplete: true as const } : {};
        const aside = b % 6 === 0 ? { aside: "backlog" as const } : {};
        return void this.act("receive", { id: this.id("m"), parts: [text(`message ${b}`)], ...waits, ...aside });
      }
      case "edit": {
        const waits = b % 5 === 0 ? { incomplete: true as const } : b % 7 === 0 ? { quietMs: 0 } : {};
        return void this.act("edit", {
          id: this.id("e"),
          target: this.target(a),
          parts: [text(`edited ${b % 2}`)],
          completes: b % 3 === 0,
          afterAnswer: b % 4 === 0 ? "new-input" : "ignore",
          ...waits,
        });
      }
      case "retract":
        return void this.act("retract", { id: this.id("t"), target: this.target(a) });
      case "typing":
        return void this.act("typing", { on: a % 4 > 0, ...(b % 3 === 0 ? { forMs: b * 50 } : {}) });
      case "flush":
        return void this.act("flush", {});
      case "claim":
        if (me.claim !== null && a % 3 === 0) return void this.act("claim", me.claim);
        return this.claims(me, who);
      case "renew":
        return void this.act("renew", { held: a % 2 === 0, deadlineMs: this.now + b * 10, ...held });
      case "crash":
        this.workers[who] = nobody();
        return void this.trace.push(`worker ${who} forgets`);
      case "discard":
        return void this.act("discard", { reason: a % 3 === 0 ? "handed-back" : "superseded", ...held });
      case "absorb":
        return void this.act("absorb", held);
      case "seal":
        return void this.act("seal", held);
      case "begin": {
        me.key = `k${a % 3}`;
        const outcome = this.act("begin", { key: me.key, readOnly: b % 3 === 0, ...held });
        if (outcome.is !== "run") return;
        me.span = outcome.span;
        return b % 2 === 0 ? this.ends(me, me.key, b) : undefined;
      }
      case "end":
        return this.ends(me, a % 4 === 0 ? `k${b % 3}` : me.key, b);
      case "commit":
        return this.commits(me, a, b);
      case "append":
        return this.appends(me, b % 3);
      case "close":
        return void this.act("close", { replyId: me.replyId ?? "none", ...held });
      case "attempt":
        return this.attempts(me, b % 3, a);
      case "settle":
        return this.settles(me, b % 3, a, b);
      case "fail":
        return void this.act("fail", {
          error: "boom",
          random: 0.5,
          ...(a % 2 === 0 ? { fallback: { replyId: this.id("f"), parts: [text("sorry")] } } : {}),
          ...(b % 5 === 0 ? { retryAfterMs: b * 10 } : {}),
          ...held,
        });
      case "handoff":
        return void this.act("handoff", {
          id: this.id("h"),
          forMs: b * 40,
          backlog: a % 2 === 0 ? "answer" : "context",
        });
      case "human":
        return void this.act("humanReply", {
          id: this.id("u"),
          upTo: a % 3 === 0 ? null : Math.max(0, this.r.version - (b % 4)),
          parts: [text("a person")],
        });
      case "resume":
        return void this.act("resume", { id: this.id("s"), backlog: a % 2 === 0 ? "answer" : "context" });
      case "reset":
        return void this.act("reset", { id: this.id("x"), forget: a % 2 === 0 });
      case "retry":
        return void this.act("retry", { id: this.id("y") });
      case "send":
        return void this.act("send", {
          id: this.id("n"),
          replyId: this.id("r"),
          parts: [text("by the way")],
          when: a % 2 === 0 ? "after-turn" : "if-quiet",
        });
    }
  }

  private target(a: number): string {
    const sent = this.log.flatMap((entry) => (entry.kind === "message" ? [entry.id] : []));
    // Mostly a recent one.
    return sent.at(-1 - (a % Math.min(4, sent.length || 1))) ?? "unheard";
  }

  /** One worker, all well, time going from wake-up to wake-up. Returns the steps it took to come to rest. */
  heal(): number {
    let steps = 0;
    const me = nobody();
    for (let at = this.wakeAt(); at !== null; at = this.wakeAt()) {
      steps += 1;
      assert.ok(steps < 200, `not at rest after ${steps} steps`);
      this.now = Math.max(this.now, at);
      this.claims(me, 0);
      if (this.r.lease?.fence !== me.held.fence) continue;
      if (this.r.outbox === null) this.answer(me);
      while (this.r.outbox !== null && this.r.lease?.fence === me.held.fence) {
        steps += 1;
        assert.ok(steps < 200, `not at rest after ${steps} steps`);
        const part = this.r.outbox.parts.findIndex(({ state }) => state === "queued" || state === "attempting");
        if (part < 0) this.act("close", { replyId: this.r.outbox.replyId, ...me.held });
        else if (this.r.outbox.parts[part]?.state === "attempting") this.settles(me, part, 0, 0);
        else {
          const event = { replyId: this.r.outbox.replyId, index: part, inDoubt: "retry" as const, ...me.held };
          const outcome = this.act("attempt", event);
          if (outcome.is === "early") this.now = outcome.atMs;
        }
      }
    }
    this.observer.finish(this.r);
    return steps;
  }

  /** Waits for quiet and answers. */
  answer(me: Memory): void {
    const { window } = this.r;
    if (window !== null && this.r.lease?.sealed === false) this.now = Math.max(this.now, quietAt(window, this.limits));
    const replyId = this.id("r");
    const outcome = this.act("commit", { replyId, parts: [text("answer")], open: false, ...me.held });
    assert.equal(outcome.is, "committed");
    me.replyId = replyId;
  }
}

const kinds = {
  work: 40,
  time: 12,
  wake: 16,
  message: 16,
  edit: 6,
  retract: 5,
  typing: 2,
  flush: 1,
  claim: 4,
  renew: 3,
  crash: 2,
  discard: 4,
  absorb: 3,
  seal: 3,
  begin: 7,
  end: 6,
  commit: 3,
  append: 4,
  close: 2,
  attempt: 2,
  settle: 3,
  fail: 5,
  handoff: 1,
  human: 1,
  resume: 2,
  reset: 1,
  retry: 4,
  send: 3,
};
type Kind = keyof typeof kinds;

const dice = Object.entries(kinds).map(([kind, weight]) => ({ weight, arbitrary: fc.constant(kind as Kind) }));
const step = fc.tuple(fc.oneof(...dice), fc.nat(6), fc.nat(120), fc.nat(120));

function told(trace: string[], body: () => void): void {
  try {
    body();
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${trace.join("\n")}`, { cause: error });
  }
}

describe("random histories", () => {
  it("keep every invariant at every step, and come to rest with one healthy worker", { timeout: 3_600_000 }, () => {
    let longest = 0;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 70, size: "max" }), (steps) => {
        const run = new Run(tight);
        told(run.trace, () => {
          for (const [kind, who, a, b] of steps) run.any(kind, who, a, b);
          longest = Math.max(longest, run.heal());
        });
      }),
      { numRuns: runs, ...seed },
    );
    expect(longest).toBeLessThan(100);
  });
});
