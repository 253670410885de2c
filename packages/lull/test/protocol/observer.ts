// An independent observer: it reads only what anybody could read (log entries, and the record before and after)
// and keeps its own ledger of what every input came to. It shares the fold with the sources and nothing else.
import assert from "node:assert/strict";
import type { ConversationRecord, EntryOf, Limits, LogEntry, Window } from "../../src/model.ts";
import { inputsOf, keepFrom, tailFrom, wakeAt } from "../../src/window.ts";

interface Reply {
  entry: EntryOf<"reply">;
  outcome: string | null;
}

interface Arrived {
  atMs: number;
  kind: "message" | "edit" | "retraction" | "retry";
  /** The message it is or speaks of. */
  id: string;
  /** Set aside at arrival. */
  aside: boolean;
  /** Its author took it back. */
  gone: boolean;
  revives?: Range;
}

interface Range {
  from: number;
  to: number;
}

const within = (version: number, { from, to }: Range) => version > from && version <= to;

export class Observer {
  readonly arrived = new Map<number, Arrived>();
  /** What each version came to. */
  readonly label = new Map<number, string>();
  readonly replies = new Map<string, Reply>();
  readonly sends = new Map<string, string | null>();
  private readonly effects = new Map<string, number>();
  /** The attempt under way. */
  private attempt: { fence: number; to: number; sealed: boolean } | null = null;
  /** What the last attempt that ended knew. */
  private known = 0;
  /** Replies whose inputs somebody else has ended meanwhile. */
  private readonly final = new Set<string>();
  private end = 0;
  private handoff = { version: 0, untilMs: 0 };
  private seq = 0;
  private version = 0;
  private readonly limits: Limits;

  constructor(limits: Limits) {
    this.limits = limits;
  }

  see(before: ConversationRecord, after: ConversationRecord, entries: readonly LogEntry[], log: readonly LogEntry[]) {
    for (const entry of entries) this.read(entry);
    assert.equal(this.version, after.version, "every version has an entry");
    assert.equal(this.seq, after.seq);
    this.record(before, after);
    this.parts(before, after, entries);
    this.endings(before, after, entries);
    if (before !== after) this.folds(after, log);
  }

  private read(entry: LogEntry): void {
    assert.equal(entry.seq, this.seq + 1, "the log has no gaps");
    this.seq = entry.seq;
    switch (entry.kind) {
      case "message":
        return this.arrive(entry, entry.id, entry.aside !== undefined);
      case "edit":
        if (entry.aside === undefined) this.arrive(entry, entry.target, false);
        return;
      case "retraction":
        if (entry.aside === undefined) this.arrive(entry, entry.target, false);
        for (const input of this.arrived.values()) if (input.id === entry.target) input.gone = true;
        return;
      case "retry":
        this.arrive(entry, entry.id, false);
        return this.revive(entry);
      case "attempt":
        assert.equal(this.attempt, null, "I4: two attempts at once");
        this.begins(entry.from);
        this.attempt = { fence: entry.fence, to: entry.to, sealed: entry.sealed };
        return;
      case "absorbed":
        assert.equal(this.attempt?.fence, entry.fence);
        if (this.attempt) this.attempt.to = entry.to;
        return;
      case "sealed":
        if (this.attempt?.fence === entry.fence) this.attempt.sealed = true;
        return;
      case "ended":
        if (this.attempt?.fence !== entry.fence) return;
        this.known = this.attempt.to;
        this.attempt = null;
        return;
      case "reply":
        return this.committed(entry);
      case "closed":
        return this.closed(entry);
      case "handoff":
        this.handoff = { version: this.version, untilMs: entry.untilMs };
        return;
      case "settled":
        if (entry.outcome === "context")
          for (const [version, { atMs, aside }] of this.arrived)
            if (within(version, entry) && !aside && version > this.handoff.version)
              assert.ok(atMs < this.handoff.untilMs, `version ${version} was set aside by a hand-off that was over`);
        if (entry.outcome === "silent") this.attempt = null;
        if (entry.outcome === "parked")
          assert.ok(entry.to <= this.known, "parked before anybody had tried to answer it");
        return this.terminal(entry.from, entry.to, entry.outcome);
      case "effect":
        if (entry.late) return;
        return this.recorded(`${entry.span}:${entry.key}`);
      case "send":
        this.sends.set(entry.replyId, null);
        return;
    }
  }

  private arrive(
    { version, atMs, kind }: EntryOf<"message" | "edit" | "retraction" | "retry">,
    id: string,
    aside: boolean,
  ): void {
    assert.equal(version, this.version + 1, "versions count by one");
    this.version = version;
    this.arrived.set(version, { atMs, kind, id, aside, gone: kind === "retraction" });
  }

  /** Nobody waits for an answer to it. */
  private silent({ aside, gone, revives }: Arrived): boolean {
    if (revives === undefined) return aside || gone;
    return [...this.arrived].every(([version, input]) => !within(version, revives) || this.silent(input));
  }

  /** The ranges, and what retries in them brought back. */
  private closure(ranges: Range[]): (version: number) => boolean {
    const all = [...ranges];
    const retries = [...this.arrived].filter(([, { revives }]) => revives !== undefined).reverse();
    for (const [version, { revives }] of retries)
      if (revives && all.some((range) => within(version, range))) all.push(revives);
    return (version) => all.some((range) => within(version, range));
  }

  private revive({ version, from, to }: EntryOf<"retry">): void {
    const retry = this.arrived.get(version);
    if (retry) retry.revives = { from, to };
    const back = this.closure([{ from, to }]);
    for (const [v, input] of this.arrived) {
      if (v >= version || !back(v)) continue;
      assert.ok(this.label.has(v) || this.silent(input), `version ${v} is revived before it ended`);
      this.label.delete(v);
    }
  }

  /** I2: a span starts where the last one ended; what nobody waits for may lie between. */
  private begins(from: number): void {
    assert.ok(from >= this.end, `I2: ${this.end} is over, and yet ${from}`);
    for (let version = this.end + 1; version <= from; version += 1) {
      const input = this.arrived.get(version);
      assert.ok(input !== undefined && this.silent(input), `I2: version ${version} was passed over`);
    }
    this.end = from;
  }

  /** I3, and that spans are disjoint, contiguous and in order. */
  private committed(entry: EntryOf<"reply">): void {
    this.replies.set(entry.replyId, { entry, outcome: null });
    if (entry.cause !== "turn") return assert.equal(entry.from, entry.to, "only a turn's reply covers inputs");
    const { attempt } = this;
    assert.ok(attempt !== null && attempt.fence === entry.fence, "I4: only the attempt under way commits");
    this.begins(entry.from);
    assert.equal(entry.to, attempt.to);
    const newer = [...this.arrived].filter(([version, { aside }]) => version > entry.to && !aside);
    assert.equal(entry.overtaken, newer.length > 0, "I3: a reply says whether it is out of date");
    if (newer.length > 0 && !attempt.sealed && !entry.open) {
      const span = this.closure([{ from: entry.from, to: Number.POSITIVE_INFINITY }]);
      const opened = Math.min(...[...this.arrived].filter(([version]) => span(version)).map(([, { atMs }]) => atMs));
      const late = newer.every(([, { atMs }]) => atMs > opened + this.limits.maxWaitMs);
      assert.ok(late, "I3: newer input was accepted, and nothing had sealed the turn");
    }
    this.end = entry.to;
    this.attempt = null;
  }

  private closed({ replyId, from, to, outcome }: EntryOf<"closed">): void {
    if (this.sends.has(replyId)) {
      assert.equal(this.sends.get(replyId), null, "a message of the bot's own accord ends once");
      this.sends.set(replyId, outcome);
      return;
    }
    const reply = this.replies.get(replyId);
    assert.ok(reply && reply.outcome === null, "a reply ends once");
    reply.outcome = outcome;
    assert.deepEqual([from, to], [reply.entry.from, reply.entry.to]);
    if (outcome === "withdrawn") {
      assert.equal(this.end, to, "only the newest reply can be withdrawn");
      this.end = from;
    } else this.terminal(from, to, outcome, true);
  }

  private terminal(from: number, to: number, outcome: string, replied = false): void {
    const ends = this.closure([{ from, to }]);
    for (const v of this.arrived.keys()) {
      if (!ends(v)) continue;
      assert.ok(!this.label.has(v), `I1: version ${v} ended as ${this.label.get(v)} and then as ${outcome}`);
      this.label.set(v, outcome);
    }
    if (replied) return;
    this.begins(from);
    assert.ok(to >= from);
    this.end = to;
  }

  private recorded(name: string): void {
    const times = (this.effects.get(name) ?? 0) + 1;
    this.effects.set(name, times);
    assert.ok(times <= 1, `I7: ${name} has two results`);
  }

  private record(before: ConversationRecord, r: ConversationRecord): void {
    const { limits } = this;
    if (r.window === null && r.lease === null && r.outbox === null)
      assert.equal(r.answered, r.version, "at rest everything is answered");
    this.begins(r.answered);
    const flying = r.outbox === null ? [] : [r.outbox];
    const open = this.closure([{ from: r.answered, to: Number.POSITIVE_INFINITY }, ...flying]);
    for (const [version, input] of this.arrived)
      if (!open(version) && !this.silent(input))
        assert.ok(this.label.has(version), `I1: version ${version} (${input.kind} ${input.id}) was lost`);
    for (const key of ["version", "seq", "fence"] as const) assert.ok(r[key] >= before[key], `${key} grows`);
    const at = wakeAt(r, limits);
    assert.ok(at === null || Number.isSafeInteger(at), `wake-up at ${at}`);
    const busy = r.window !== null || r.lease !== null || r.outbox !== null || r.sends.length > 0;
    assert.equal(at !== null, busy, "I5: whoever is not at rest has a wake-up");
    assert.equal(r.lease?.purpose === "deliver" && r.outbox === null, false, "a delivery without a reply");
    assert.ok(r.lease === null || r.lease.fence === r.fence);
    if (r.lease === null && r.outbox === null) assert.notEqual(r.window?.count, 0, "nothing to answer, yet pending");
    const effects = Object.keys(r.effects).length + Object.keys(r.outbox?.effects ?? {}).length;
    assert.ok(effects <= 2 * limits.maxEffects && r.sends.length <= limits.maxSends && r.ended.length <= 4);
    assert.ok((r.outbox?.parts.length ?? 0) <= limits.maxParts);
    if (r.outbox !== null && r.lease === null) {
      assert.ok(!r.outbox.open, "an open reply without a holder");
      assert.ok(
        r.outbox.parts.some(({ state }) => state === "queued"),
        "a reply nobody can go on with",
      );
      assert.ok(
        r.outbox.parts.every(({ state }) => state !== "attempting"),
        "a part on its way and nobody to settle it",
      );
    }
    if (r.outbox !== null && r.lease === null && at !== null)
      assert.ok(at <= r.outbox.committedAtMs + limits.deliverMaxMs, "I6: a reply may not block for ever");
  }

  /** I8: strictly in order, and what is settled stays settled. */
  private parts(before: ConversationRecord, { outbox, lease }: ConversationRecord, entries: readonly LogEntry[]): void {
    if (outbox === null) return;
    const old = before.outbox?.replyId === outbox.replyId ? before.outbox.parts : [];
    outbox.parts.forEach((part, index) => {
      const was = old[index];
      const unsettled = outbox.parts.slice(0, index).some(({ state }) => state === "queued" || state === "attempting");
      if (part.state === "attempting") {
        assert.ok(!unsettled, "I8: a part may not overtake another");
        assert.ok(lease !== null);
      }
      if (was === undefined) return;
      const settled = was.state !== "queued" && was.state !== "attempting";
      if (settled) assert.equal(part.state, was.state, "a settled part stays settled");
      if (was.doubt && part.state !== "sent") assert.ok(part.doubt, "doubt is sticky");
      if (part.state === "sent") assert.ok(!part.doubt, "what was sent is not in doubt");
      if (part.doubt) assert.ok(part.state !== "failed" && part.state !== "cancelled", "I10: in doubt is unknown");
      const receipt = entries.some((entry) => entry.kind === "receipt" && entry.index === index);
      if (was.state === "attempting" && part.state === "queued" && !receipt)
        assert.ok(part.doubt, "a part on its way under a lost lease is in doubt");
    });
  }

  /** How a reply may end: I10, and what a withdrawal may and must do. */
  private endings({ outbox: was }: ConversationRecord, after: ConversationRecord, entries: readonly LogEntry[]): void {
    const { outbox } = after;
    if (outbox?.ending === "cancelled")
      assert.ok(!outbox.parts.some(({ state }) => state === "queued"), "cancelled, and yet to be sent");
    for (const entry of entries) {
      const others = entry.kind === "human" || entry.kind === "reset" || entry.kind === "resumed";
      const given = entry.kind === "resumed" && entry.backlog === "answer";
      // A human ends what they had seen.
      if (entry.kind === "human" && outbox !== null && entry.upTo < outbox.to) continue;
      if (others && !given && outbox !== null) this.final.add(outbox.replyId);
      if (was === null) continue;
      if (entry.kind === "receipt" && (entry.state === "failed" || entry.state === "cancelled"))
        assert.ok(!was.parts[entry.index]?.doubt, `I10: a part in doubt is unknown, not ${entry.state}`);
      if (entry.kind !== "closed" || entry.outcome !== "withdrawn") continue;
      assert.ok(!this.final.has(was.replyId), "somebody else has ended these inputs");
      const shown = was.parts.some(({ state, doubt }) => doubt || state === "sent" || state === "unknown");
      assert.ok(!shown, "I2: taken back, and yet it was shown");
      const ended = entries.some(({ kind }) => kind === "settled");
      if (!ended) assert.deepEqual(after.effects, was.effects, "I7: a withdrawal gives the span its effects back");
    }
  }

  /** Every window knows whether it holds anything, and the tail of the log is enough to see all of it. */
  private folds(r: ConversationRecord, log: readonly LogEntry[]): void {
    const tail = log.slice(tailFrom(r) - 1);
    const check = (name: string, window: Window | null | undefined, after: number) => {
      if (!window) return;
      const inputs = inputsOf(log, after);
      assert.equal(JSON.stringify(inputsOf(tail, after)), JSON.stringify(inputs), `${name}: the tail is enough`);
      // What a retry brings back may have been taken back since: it has no log to see that in.
      const retried = [...this.arrived].some(([version, { revives }]) => version > after && revives);
      const there = `${name}: ${window.count} counted, ${inputs.length} there`;
      if (!retried) assert.equal(window.count > 0, inputs.length > 0, there);
    };
    check("window", r.window, r.answered);
    check("newer", r.lease?.newer, r.lease?.version ?? 0);
    check("outbox", r.outbox?.window, r.outbox?.from ?? 0);
    if (r.parked) assert.ok(keepFrom(r) <= r.parked.fromSeq);
    if (r.window === null && r.outbox === null)
      assert.deepEqual(inputsOf(log, r.answered), [], "pending without a window");
  }

  /** After everything has come to rest. */
  finish(r: ConversationRecord): void {
    for (const [version, input] of this.arrived)
      assert.ok(
        this.silent(input) || this.label.has(version),
        `I1: version ${version} (${input.kind} ${input.id}) never ended`,
      );
    for (const [id, { outcome }] of this.replies) assert.ok(outcome !== null, `reply ${id} never ended`);
    for (const [id, outcome] of this.sends) assert.ok(outcome !== null, `send ${id} never ended`);
    assert.equal(r.answered, r.version);
  }
}
