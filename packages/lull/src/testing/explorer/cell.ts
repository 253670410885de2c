/**
 * The store, and what `cell.ts` does with it: the event is applied to the newest record the process knows and stored
 * by compare-and-exchange; a conflict brings the current record, and it is done again. Here all of it is one move:
 * a write that lost a race is the same as one that came later. What is not the same stays apart: an answer that was
 * lost (`askAgain`), a read from before, a clock that is off.
 *
 * @module
 */
import type { ConversationRecord, LogEntry, ProtocolEvent } from "../../model.ts";
import { blank } from "../../model.ts";
import { maxSkewMs } from "../../ports.ts";
import { apply } from "../../protocol.ts";
import { keepFrom, tailFrom, wakeAt } from "../../window.ts";
import { stored as observed } from "./observer.ts";
import { newId, type Performed, type Process, type World } from "./world.ts";

export interface Writer {
  /** Null: a process that only receives. */
  process: Process | null;
  /** The claim the write rests on, if on any. */
  claimId: string;
  /** What whoever is outside was given to answer; otherwise the process knows. */
  saw?: string;
}

export interface Trouble {
  /** The first read is answered from before the last write. */
  stale?: boolean;
  /** The process's clock, until a store's answer sets it right. */
  skewMs?: number;
}

/** Makes the event from the tail of the log, read together with the record. */
export type Eventful = ProtocolEvent | ((log: readonly LogEntry[]) => ProtocolEvent);

export function perform(world: World, by: Writer, event: Eventful, trouble: Trouble = {}): Performed {
  const { limits } = world.config;
  const lane = by.process ?? { cache: undefined };
  let { stale = false, skewMs = 0 } = trouble;
  for (;;) {
    let certain = false;
    const needsLog = typeof event === "function";
    if (lane.cache === undefined || needsLog || stale) {
      lane.cache = stale ? world.previous : world.record;
      stale = false;
      certain = true;
    }
    const nowMs = world.nowMs + skewMs;
    const before = lane.cache ?? null;
    const start = before ?? blank("c", nowMs);
    const asked = needsLog ? event(tail(world, tailFrom(start))) : event;
    const step = apply(start, asked, nowMs, limits);
    const outcome = step.outcome as { is: string };
    if (step.next === null) {
      if (certain) return { outcome, record: before, log: tail(world, tailFrom(start)), wrote: null };
      lane.cache = undefined;
      continue;
    }
    const next = { ...step.next, revision: newId(world, "v") };
    const expected = before?.revision ?? null;
    const answer = exchange(world, by, {
      next,
      expected,
      nowMs,
      append: step.entries,
      event: asked,
      outcome: outcome.is,
    });
    if (answer === "skewed") {
      skewMs = 0;
      continue;
    }
    if (answer === "conflict") {
      lane.cache = world.record;
      continue;
    }
    lane.cache = next;
    const from = Math.min(before === null ? 1 : tailFrom(before), tailFrom(next));
    return { outcome, record: next, log: tail(world, from), wrote: next };
  }
}

export interface Write {
  next: ConversationRecord;
  expected: string | null;
  nowMs: number;
  append: readonly LogEntry[];
  event: ProtocolEvent;
  outcome: string;
}

/** All or nothing: record, log and timer. */
function exchange(world: World, by: Writer, write: Write): "stored" | "skewed" | "conflict" {
  if (Math.abs(write.nowMs - world.nowMs) > maxSkewMs) return "skewed";
  if (write.expected !== (world.record?.revision ?? null)) return "conflict";
  const before = world.record;
  const { next } = write;
  world.previous = before;
  world.previousLog = world.log;
  world.previousLedger = world.ledger;
  world.record = next;
  world.timerMs = wakeAt(next, world.config.limits);
  world.timerKept = true;
  const log = [...world.log, ...write.append];
  observed(world, by, write, before);
  world.lastWrite = { type: write.event.type, ledger: world.ledger };
  const from = keepFrom(next);
  world.log = (log[0]?.seq ?? from) < from ? log.filter((entry) => entry.seq >= from) : log;
  return "stored";
}

/**
 * After an answer that never came: its own revision tells that the write was done; otherwise it is decided again,
 * and the protocol recognises what was done before. Null: nothing was found, so it is to be performed again.
 */
export function askAgain(world: World, process: Process, tried: Performed | null): Performed | null {
  const mine = tried?.wrote?.revision;
  process.cache = undefined;
  if (tried === null || mine === undefined || world.record?.revision !== mine) return null;
  process.cache = world.record;
  return { ...tried, log: tail(world, tailFrom(tried.wrote ?? world.record)) };
}

/**
 * A store whose durability is bounded comes back without its last write. Only a claim or the beginning of an effect,
 * of which nothing became visible: what users saw or were promised can be taken back by no protocol.
 */
export function canRollBack({ lastWrite, ledger, previous }: World): boolean {
  return (
    previous !== null && lastWrite?.ledger === ledger && (lastWrite.type === "claim" || lastWrite.type === "begin")
  );
}

export function rollback(world: World): void {
  // The store may lose a fence; whoever was given it has not.
  world.ledger = { ...world.previousLedger, fence: world.ledger.fence };
  world.lastWrite = null;
  // Here a millisecond can have any number of claims, each with a fence one higher; no store comes back so fast.
  world.nowMs += 10;
  world.record = world.previous;
  world.log = world.previousLog;
  world.timerMs = world.record === null ? null : wakeAt(world.record, world.config.limits);
}

export function tail(world: World, from: number): readonly LogEntry[] {
  const { log } = world;
  return (log[0]?.seq ?? from) >= from ? log : log.filter((entry) => entry.seq >= from);
}
