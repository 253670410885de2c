/**
 * What a worker does next, pure. A worker looks after one conversation in one process. It keeps a few facts:
 * what it holds, what the model gave, what the channel said, and the newest record it saw. `step` takes in one
 * event; `decide` names the next thing to do, or null when there is nothing but waiting. The engine performs
 * commands and reports back; it decides nothing. So explorer and simulator enumerate the real worker.
 *
 * In order of precedence, `decide`:
 *
 * 1. waits for the exchange that is under way: one at a time;
 * 2. without a lease: claims when somebody asked it to look;
 * 3. with a lease that was lost or taken over: aborts the model and lets go, writing nothing;
 * 4. stopping: hands the lease back once no part is on its way;
 * 5. answering: discards at once when newer input came (unless it may absorb), fails when the model failed,
 *    commits what the model gave, not before the quiet target;
 * 6. delivering: settles the receipt it has, sends the part it was granted, asks for the next one, appends what
 *    was said meanwhile, closes the reply when the model is done.
 *
 * An answer may also be given from outside, by whoever knows the attempt's fence (elsewhere.ts): then the record shows
 * a reply, or its parts, under this worker's lease. It tells the model, and delivers them like a reply of its own.
 *
 * @module
 */
import type {
  Amends,
  ConversationRecord,
  Fence,
  Held,
  JsonObject,
  Limits,
  Outcomes,
  Part,
  PartReceipt,
  Version,
} from "./model.ts";
import { unsettled } from "./model.ts";
import { quietAt, superseded, wakeAt } from "./window.ts";

/** Why an attempt is aborted. */
export type AbortCode =
  | "superseded"
  | "lost"
  | "answered"
  | "timed-out"
  | "stopped"
  | "handed-off"
  | "reset"
  | "undeliverable";

/** The lease as its holder knows it. */
export interface Grasp extends Held {
  purpose: "respond" | "deliver";
  version: Version;
  from: Version;
  span: number;
  attempt: number;
  deadlineMs: number;
}

export interface Worker {
  /** With the conversation's own wishes, as of the record. */
  limits: Limits;
  /** Newer input does not abort: the model may absorb it. */
  steers: boolean;
  /** Somebody asked to look at the conversation. */
  wake: boolean;
  stopping: boolean;
  paused: boolean;
  /** An exchange is under way. */
  busy: boolean;
  record: ConversationRecord | null;
  lease: Grasp | null;
  model: "none" | "running" | "ended";
  /** Set once the lease is no longer ours to use, or the attempt must end. */
  ending: AbortCode | null;
  /** The model has been told. */
  aborted: boolean;
  /** Parts said and not yet in the log. */
  says: Part[];
  answer: { parts: Part[] | null; metadata?: JsonObject; amends?: Amends } | null;
  failure: { error: string; retryAfterMs?: number } | null;
  /** The part this worker may send: granted by `commit` or `attempt`. */
  grant: { index: number; tries: number; doubt: boolean } | null;
  sending: boolean;
  receipt: PartReceipt | null;
}

export type WorkerEvent =
  /** A timer, a hint, an arrival: look. */
  | { type: "wake" }
  /** Another write of this process, or a renewal, showed the record. */
  | { type: "noticed"; record: ConversationRecord | null }
  | {
      type: "exchanged";
      command: Exchange;
      outcome: Outcomes[keyof Outcomes];
      record: ConversationRecord | null;
      claimId?: string;
    }
  /** The store did not answer for so long that the engine gave up; nothing is known. */
  | { type: "unanswered" }
  | { type: "said"; part: Part }
  | { type: "answered"; parts: Part[] | null; metadata?: JsonObject; amends?: Amends }
  | { type: "threw"; error: string; retryAfterMs?: number }
  | { type: "timed-out" }
  | { type: "sent"; receipt: PartReceipt }
  | { type: "stop" }
  | { type: "pause"; on: boolean };

/** A write under the protocol; the engine adds ids, chance and time. */
export type Exchange =
  | { do: "claim" }
  | { do: "discard"; reason: "superseded" | "handed-back" }
  | { do: "fail"; error: string; retryAfterMs?: number }
  | { do: "commit"; parts: Part[] | null; open: boolean; metadata?: JsonObject; amends?: Amends }
  | { do: "append"; index: number; part: Part }
  | { do: "close" }
  | { do: "attempt"; index: number }
  | { do: "settle"; index: number; receipt: PartReceipt };

export type Command =
  | Exchange
  /** Run the model for the lease just taken. */
  | { do: "respond" }
  | { do: "abort"; code: AbortCode }
  | { do: "send"; index: number; tries: number; doubt: boolean }
  /** Nothing before then, unless an event comes. */
  | { do: "wait"; untilMs: number };

export function idle(limits: Limits, steers: boolean): Worker {
  const nothing = { lease: null, ending: null, answer: null, failure: null, grant: null, receipt: null, record: null };
  const off = { wake: false, stopping: false, paused: false, busy: false, aborted: false, sending: false };
  return { limits, steers, ...off, ...nothing, model: "none", says: [] };
}

/** True when the worker holds nothing and wants nothing, or may not have it: it can be forgotten. */
export function isIdle(w: Worker): boolean {
  return w.lease === null && !w.busy && (!w.wake || w.stopping || w.paused);
}

/** Takes in one event. Changes `w`. */
export function step(w: Worker, event: WorkerEvent): void {
  switch (event.type) {
    case "wake":
      w.wake = true;
      return;
    case "noticed":
      return notice(w, event.record);
    case "exchanged":
      w.busy = false;
      return exchanged(w, event.command, event.outcome, event.record, event.claimId ?? "");
    case "unanswered":
      // Whatever was written stands in the store, with a timer of its own: whoever sees it due goes on from there.
      w.busy = false;
      release(w);
      w.wake = false;
      return;
    case "said":
      w.says.push(event.part);
      return;
    case "answered": {
      w.model = "ended";
      if (w.ending === "answered") return;
      const { type: _, ...answer } = event;
      w.answer = answer;
      return;
    }
    case "threw":
      w.model = "ended";
      // It was told that its answer is not wanted any more.
      if (w.ending === "answered") return;
      w.failure ??= {
        error: event.error,
        ...(event.retryAfterMs !== undefined && { retryAfterMs: event.retryAfterMs }),
      };
      return;
    case "timed-out":
      if (w.model === "running") {
        w.failure = { error: `timed out after ${w.limits.turnTimeoutMs} ms without an answer` };
        w.ending ??= "timed-out";
      }
      return;
    case "sent":
      w.sending = false;
      w.receipt = event.receipt;
      return;
    case "stop":
      w.stopping = true;
      return;
    case "pause":
      w.paused = event.on;
      return;
    default:
      return never(event);
  }
}

/** A record somebody wrote: is the lease still ours, and is the attempt up to date? */
function notice(w: Worker, record: ConversationRecord | null): void {
  w.record = record;
  if (w.lease === null) return;
  const { lease } = record ?? { lease: null };
  if (record === null || lease === null || lease.fence !== w.lease.fence || lease.claimId !== w.lease.claimId) {
    w.ending = w.receipt?.state === "failed" ? "undeliverable" : reasonOf(record, w.lease.fence);
    return;
  }
  w.lease.version = lease.version;
  w.lease.deadlineMs = lease.deadlineMs;
  // A part on its way keeps the lease until it is settled; what would follow is not wanted any more.
  if (record.outbox?.ending === "cancelled" && w.model === "running") w.ending ??= reasonOf(record, w.lease.fence);
  // A complete reply under this lease that this worker has not completed: given elsewhere.
  else if (record.outbox?.open === false && w.model === "running") w.ending ??= "answered";
}

/** Why the attempt with this fence holds nothing any more. */
export function reasonOf(record: ConversationRecord | null, fence: Fence): AbortCode {
  const ended = record?.ended.findLast((attempt) => attempt.fence === fence)?.outcome;
  if (ended === "superseded" || ended === "reset") return ended;
  if (ended === "committed" || ended === "settled") return "answered";
  return ended === "handed-off" || ended === "answered-by-human" ? "handed-off" : "lost";
}

type Known<T extends keyof Outcomes> = Outcomes[T];

function exchanged(
  w: Worker,
  command: Exchange,
  outcome: Outcomes[keyof Outcomes],
  record: ConversationRecord | null,
  claimId: string,
): void {
  if (command.do === "claim") return claimed(w, outcome as Known<"claim">, record, claimId);
  w.record = record;
  switch (command.do) {
    case "discard": {
      if ((outcome as Known<"discard">).is === "current") return;
      return release(w);
    }
    case "fail": {
      const { is } = outcome as Known<"fail">;
      w.failure = null;
      if (is !== "cut") return release(w);
      return record?.lease == null ? release(w) : undefined;
    }
    case "commit": {
      const result = outcome as Known<"commit">;
      // The record just read says until when.
      if (result.is === "early") return;
      if (result.is !== "committed") return release(w);
      if (!result.sends) return answeredBefore(w, record);
      if (command.open) w.says.shift();
      else w.answer = null;
      w.grant = { index: 0, tries: 1, doubt: false };
      return;
    }
    case "append": {
      const { is } = outcome as Known<"append">;
      if (is === "lost" && record?.lease?.fence !== w.lease?.fence) return release(w);
      if (command.part === w.says[0]) w.says.shift();
      // Full: told to the author by the turn; what fits was said. Lost: somebody took over while a part is on its way,
      // and its receipt is still to come.
      if (is !== "appended") w.says = [];
      return;
    }
    case "close": {
      const result = outcome as Known<"close">;
      w.answer = null;
      if (result.is === "lost" || result.done) return release(w);
      return;
    }
    case "attempt": {
      const result = outcome as Known<"attempt">;
      if (result.is === "attempting") w.grant = { index: command.index, tries: result.tries, doubt: result.doubt };
      else if (result.is === "early" || (result.is === "settled" && !result.done)) return;
      else {
        if (result.is === "settled") undeliverable(w);
        return release(w);
      }
      return;
    }
    case "settle": {
      const result = outcome as Known<"settle">;
      w.receipt = null;
      w.grant = null;
      if (command.receipt.state === "failed") undeliverable(w);
      if (result.is === "lost" || result.is === "closed" || (result.is === "retry" && !result.held)) return release(w);
      return;
    }
    default:
      return never(command);
  }
}

/** Somebody else was faster: what there is to send under this lease is that reply; while it is open, ours follows. */
function answeredBefore(w: Worker, record: ConversationRecord | null): void {
  const { lease, outbox } = record ?? { lease: null, outbox: null };
  if (outbox === null || lease?.fence !== w.lease?.fence || lease?.claimId !== w.lease?.claimId) return release(w);
  if (outbox.open) return;
  w.says = [];
  w.answer = null;
}

function claimed(w: Worker, outcome: Known<"claim">, record: ConversationRecord | null, claimId: string): void {
  w.record = record;
  if (outcome.is === "nothing") return;
  const { fence, deadlineMs } = outcome;
  const held = { fence, claimId, deadlineMs, purpose: outcome.is };
  w.lease =
    outcome.is === "respond"
      ? { ...held, version: outcome.version, from: outcome.from, span: outcome.span, attempt: outcome.attempt }
      : { ...held, version: record?.version ?? 0, from: record?.answered ?? 0, span: record?.span ?? 0, attempt: 0 };
}

/** Lets go of everything that belonged to the lease. The model, if it still runs, is told by the next command. */
function release(w: Worker): void {
  const running = w.model === "running" && !w.aborted;
  w.ending = running ? (w.ending ?? (w.lease === null ? "lost" : reasonOf(w.record, w.lease.fence))) : null;
  w.lease = null;
  w.says = [];
  w.answer = w.failure = w.grant = w.receipt = null;
  w.sending = false;
  // Whatever became due meanwhile: look once more. At rest nothing can be, and whoever ends the rest sets an alarm.
  w.wake ||= w.record !== null && wakeAt(w.record, w.limits) !== null;
}

/** The next thing to do. Marks it as under way in `w`. */
export function decide(w: Worker, nowMs: number): Command | null {
  if (w.ending !== null && w.model === "running" && !w.aborted) {
    w.aborted = true;
    return { do: "abort", code: w.ending };
  }
  if (w.busy) return null;
  const command = w.lease === null ? whenFree(w) : whenHolding(w, w.lease, nowMs);
  if (command === null) return null;
  if (command.do === "send") w.sending = true;
  else if (command.do === "respond") Object.assign(w, { model: "running", aborted: false });
  else if (command.do !== "wait" && command.do !== "abort") w.busy = true;
  return command;
}

function whenFree(w: Worker): Command | null {
  if (!w.wake || w.stopping || w.paused) return null;
  w.wake = false;
  w.ending = null;
  w.model = "none";
  return { do: "claim" };
}

function whenHolding(w: Worker, lease: Grasp, nowMs: number): Command | null {
  const outbox = w.record?.outbox ?? null;
  const mine = w.record?.lease?.fence === lease.fence;
  if (!mine) return forget(w);
  if (outbox === null) {
    if (lease.purpose === "deliver") return forget(w);
    return whenAnswering(w, nowMs);
  }
  return whenDelivering(w, outbox, nowMs);
}

/** What the model would still say has nowhere to go. */
function undeliverable(w: Worker): void {
  if (w.model === "running") w.ending ??= "undeliverable";
}

/** The lease is somebody else's, or nobody's: nothing may be written under it. */
function forget(w: Worker): null {
  release(w);
  return null;
}

function whenAnswering(w: Worker, nowMs: number): Command | null {
  if (w.model === "none" && !w.stopping) return { do: "respond" };
  if (w.record !== null && superseded(w.record, w.limits) && !(w.steers && w.model === "running")) {
    w.ending ??= "superseded";
    return w.model === "running" && !w.aborted ? abort(w) : { do: "discard", reason: "superseded" };
  }
  if (w.stopping) {
    w.ending ??= "stopped";
    return w.model === "running" && !w.aborted ? abort(w) : { do: "discard", reason: "handed-back" };
  }
  if (w.failure !== null) return { do: "fail", ...w.failure };
  const [said] = w.says;
  if (said === undefined && w.answer === null) return null;
  const untilMs = quietFrom(w);
  if (nowMs < untilMs) return { do: "wait", untilMs };
  if (said !== undefined) return { do: "commit", parts: [said], open: true };
  const { parts, ...more } = w.answer ?? { parts: null };
  return { do: "commit", parts, open: false, ...more };
}

/** Before then the store would refuse the commit. Looked up each time: typing moves it, a flush ends it. */
function quietFrom({ record, limits }: Worker): number {
  if (record === null || record.window === null || record.lease?.sealed) return 0;
  return quietAt(record.window, limits);
}

function abort(w: Worker): Command {
  w.aborted = true;
  return { do: "abort", code: w.ending ?? "lost" };
}

function whenDelivering(w: Worker, outbox: NonNullable<ConversationRecord["outbox"]>, nowMs: number): Command | null {
  if (w.receipt !== null && w.grant !== null) return { do: "settle", index: w.grant.index, receipt: w.receipt };
  if (w.grant !== null && !w.sending) return { do: "send", ...w.grant };
  if (w.stopping && w.grant === null) {
    w.ending ??= "stopped";
    return w.model === "running" && !w.aborted ? abort(w) : { do: "discard", reason: "handed-back" };
  }
  const [said] = w.says;
  if (outbox.open) {
    if (w.failure !== null) return { do: "fail", ...w.failure };
    if (said !== undefined) return { do: "append", index: outbox.parts.length, part: said };
    if (w.model === "ended") return finish(w, outbox);
  }
  if (w.grant !== null) return null;
  const index = outbox.parts.findIndex(unsettled);
  const part = outbox.parts[index];
  if (part === undefined) return null;
  return nowMs < part.nextAtMs ? { do: "wait", untilMs: part.nextAtMs } : { do: "attempt", index };
}

/** The model is done: what it returned follows what it said, then the reply is complete. */
function finish(w: Worker, outbox: NonNullable<ConversationRecord["outbox"]>): Command {
  const [next] = w.answer?.parts ?? [];
  if (next === undefined) return { do: "close" };
  w.answer = { ...w.answer, parts: (w.answer?.parts ?? []).slice(1) };
  w.says = [next];
  return { do: "append", index: outbox.parts.length, part: next };
}

/** Reached only by data from outside the types. */
function never(value: never): never {
  throw new TypeError(`Unknown to the worker: ${JSON.stringify(value)}`);
}
