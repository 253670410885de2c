// One conversation under test: its record, its whole log and its clock. Every event goes through the real
// `apply`, and whatever must hold for every single transition is checked right here.
import assert from "node:assert/strict";
import type {
  ConversationRecord,
  EventOf,
  Held,
  Limits,
  LogEntry,
  Outcomes,
  ProtocolEvent,
  Step,
} from "../../src/model.ts";
import { blank } from "../../src/model.ts";
import { apply } from "../../src/protocol.ts";
import { tailFrom, wakeAt } from "../../src/window.ts";

/** Small round numbers, so that scenarios can be followed in one's head. */
export const limits: Limits = {
  startMs: 1_000,
  quietMs: 6_000,
  maxWaitMs: 45_000,
  typingMs: 6_000,
  incompleteMs: 20_000,
  leaseMs: 30_000,
  turnTimeoutMs: 120_000,
  maxRestarts: 3,
  maxFailures: 3,
  maxPending: 6,
  maxParts: 3,
  maxEffects: 2,
  maxSends: 2,
  deliverMaxMs: 600_000,
  maxHandoffMs: 3_600_000,
  backoffFirstMs: 1_000,
  backoffMaxMs: 60_000,
  deliverBackoffFirstMs: 1_000,
  deliverBackoffMaxMs: 300_000,
  repliesPerHour: 60,
};

export const text = (words: string) => ({ type: "text" as const, text: words });

type Type = ProtocolEvent["type"];
/** An event without what the world can fill in itself: the log. */
export type Given<T extends Type> = Omit<EventOf<T>, "log">;

export function isRest(r: ConversationRecord): boolean {
  return r.window === null && r.lease === null && r.outbox === null && r.sends.length === 0;
}

export class World {
  r: ConversationRecord;
  log: LogEntry[] = [];
  now: number;
  readonly limits: Limits;
  private ids = 0;

  constructor(most: Partial<Limits> = {}, now = 10_000_000) {
    this.limits = { ...limits, ...most };
    this.now = now;
    this.r = deepFreeze(blank("c", now));
  }

  id(prefix = "i"): string {
    this.ids += 1;
    return `${prefix}${this.ids}`;
  }

  /** The entries a caller would read: what the record says is needed, no more. */
  tail(): LogEntry[] {
    return this.log.slice(tailFrom(this.r) - 1);
  }

  /** What would happen; nothing is kept. */
  peek<T extends Type>(type: T, rest: Omit<Given<T>, "type">, now = this.now): Step<T> {
    const read = type === "edit" || type === "retract" || type === "humanReply";
    const event = { type, ...(read && { log: this.tail() }), ...rest } as unknown as EventOf<T>;
    // Record and event are frozen: whoever changes them is caught in the act.
    const step = apply(this.r, deepFreeze(event), now, this.limits) as unknown as Step<T>;
    this.checkStep(step);
    return step;
  }

  /** Applies an event; the record and the log go on from there. */
  do<T extends Type>(type: T, rest: Omit<Given<T>, "type">): Outcomes[T] {
    return this.keep(this.peek(type, rest));
  }

  keep<T extends Type>(step: Step<T>): Outcomes[T] {
    if (step.next !== null) this.r = deepFreeze(step.next);
    this.log.push(...step.entries);
    return step.outcome;
  }

  private checkStep({ next, entries }: Step): void {
    if (next === null) return assert.deepEqual(entries, [], "entries without a record");
    survivesJson(next);
    const same = JSON.stringify({ ...next, updatedAtMs: 0 }) === JSON.stringify({ ...this.r, updatedAtMs: 0 });
    assert.ok(!same, "a write that changes nothing");
    entries.forEach((entry, index) => {
      assert.equal(entry.seq, this.r.seq + 1 + index, "log entries are contiguous");
    });
    assert.equal(next.seq, this.r.seq + entries.length);
  }

  // --- the short words of the scenarios

  wait(ms: number): this {
    this.now += ms;
    return this;
  }

  wakeAt(): number | null {
    return wakeAt(this.r, this.limits);
  }

  /** Time goes on to the stored wake-up. */
  toWake(): this {
    const at = this.wakeAt();
    assert.ok(at !== null, "nothing is due");
    this.now = Math.max(this.now, at);
    return this;
  }

  say(words: string, more: Partial<Given<"receive">> = {}): Outcomes["receive"] {
    return this.do("receive", { id: words, parts: [text(words)], ...more });
  }

  edit(target: string, words: string, more: Partial<Given<"edit">> = {}): Outcomes["edit"] {
    const base = { id: this.id("e"), target, parts: [text(words)], completes: false, afterAnswer: "ignore" as const };
    return this.do("edit", { ...base, ...more });
  }

  retract(target: string): Outcomes["retract"] {
    return this.do("retract", { id: this.id("t"), target });
  }

  /** Claims, and says as whom. */
  claim(owner = "w", more: Partial<Given<"claim">> = {}): Outcomes["claim"] & { held: Held } {
    const claimId = more.claimId ?? this.id("claim");
    const outcome = this.do("claim", { owner, claimId, random: 0, ...more });
    return { ...outcome, held: { fence: this.r.fence, claimId } };
  }

  /** Claims when due, and must get a turn. */
  respond(more: Partial<Given<"claim">> = {}): Held {
    const claimed = this.toWake().claim("w", more);
    assert.equal(claimed.is, "respond");
    return claimed.held;
  }

  /** Claims when due, and must get a reply to deliver. */
  deliver(more: Partial<Given<"claim">> = {}): Held {
    const claimed = this.toWake().claim("w", more);
    assert.equal(claimed.is, "deliver");
    return claimed.held;
  }

  commit(held: Held, parts: string[] | null = ["answer"], more: Partial<Given<"commit">> = {}): Outcomes["commit"] {
    return this.do("commit", { replyId: "reply", parts: parts?.map(text) ?? null, open: false, ...held, ...more });
  }

  attempt(held: Held, index = 0, more: Partial<Given<"attempt">> = {}): Outcomes["attempt"] {
    return this.do("attempt", { replyId: "reply", index, inDoubt: "retry", ...held, ...more });
  }

  settle(
    held: Held,
    index: number,
    state: EventOf<"settle">["receipt"]["state"],
    more: Partial<Given<"settle">> = {},
  ): Outcomes["settle"] {
    return this.do("settle", { replyId: "reply", index, receipt: { state }, random: 0, ...held, ...more });
  }

  fail(held: Held, more: Partial<Given<"fail">> = {}): Outcomes["fail"] {
    return this.do("fail", { error: "boom", random: 0, ...held, ...more });
  }

  handoff(more: Partial<Given<"handoff">> = {}): Outcomes["handoff"] {
    return this.do("handoff", { id: this.id("h"), forMs: 60_000, backlog: "answer", ...more });
  }

  /** Log entries of one kind. */
  entries<K extends LogEntry["kind"]>(kind: K): Extract<LogEntry, { kind: K }>[] {
    return this.log.filter((entry): entry is Extract<LogEntry, { kind: K }> => entry.kind === kind);
  }

  last(): LogEntry | undefined {
    return this.log.at(-1);
  }
}

function survivesJson(value: unknown): void {
  if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) survivesJson(inner);
  else assert.ok(typeof value === "number" ? Number.isFinite(value) : value !== undefined, `${value} in a record`);
}

export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
