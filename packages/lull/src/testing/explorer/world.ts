/**
 * Everything there is at one moment: the store, the processes, what users saw, and what may still happen. A world
 * is never changed once it is reached: a move changes a fork of it, and the processes it touches are copied first.
 *
 * @module
 */
import type { ConversationRecord, Fence, LogEntry, ProtocolEvent, Version } from "../../model.ts";
import { type Exchange, idle, type Worker } from "../../worker.ts";
import type { Act, Config, FaultKind } from "./config.ts";
import { type Ledger, newLedger } from "./ledger.ts";

/** A worker's write: decided, and not yet at the store. */
export interface Asked {
  command: Exchange;
  event: ProtocolEvent;
  claimId: string;
}

/** A write of the author's code: through the same lane, one at a time. */
export type Side = "begin" | "end" | "absorb" | "seal" | "renew";
export interface SideAsked {
  side: Side;
  event: ProtocolEvent;
  /** For `end`: which tool. */
  tool: number;
}

/** A write whose answer was lost: done or not, the process does not know. */
export interface Unsure {
  asked: Asked | SideAsked;
  /** The write it tried, and what it would come to; null when it never reached the store. */
  tried: Performed | null;
}

/** What an operation came to. */
export interface Performed {
  outcome: { is: string };
  record: ConversationRecord | null;
  /** The tail of the log; only claims and absorbing look at it. */
  log: readonly LogEntry[];
  /** Null when nothing was written. */
  wrote: ConversationRecord | null;
}

/** The author's code at work on one attempt. */
export interface Run {
  fence: Fence;
  claimId: string;
  program: readonly Act[];
  at: number;
  /** The unanswered range as the ledger counts it. */
  span: number;
  from: Version;
  deadlineMs: number;
  /** What it was given to answer. */
  saw: string;
  /** A call of `once` came to this; null before. */
  holdUntilMs: number;
  /** Waits for what it said to be tried, for its tool, or for an answer from outside. */
  waits: "say" | "tool" | "away" | null;
  done: boolean;
}

/** The author's code at work outside, for an attempt: it outlives the process that called it. */
export interface Errand extends Pick<Run, "fence" | "claimId" | "program" | "at" | "span" | "saw" | "holdUntilMs"> {
  /** The protocol's range of the side effect under way. */
  tool: number | null;
}

/** A side effect under way: it outlives the attempt that began it. */
export interface Tool {
  fence: Fence;
  claimId: string;
  deadlineMs: number;
  /** As the protocol counts ranges, and as the ledger does. */
  span: number;
  ledgerSpan: number;
}

export interface Sending {
  fence: Fence;
  replyId: string;
  index: number;
  tries: number;
  doubt: boolean;
  /** The process stood still when it had already begun: nothing can hold it back any more. */
  begun: boolean;
}

export interface Process {
  worker: Worker;
  /** cell.ts: the newest record this process knows of; undefined when none. */
  cache: ConversationRecord | null | undefined;
  asked: Asked | null;
  unsure: Unsure | null;
  run: Run | null;
  tools: readonly Tool[];
  sending: Sending | null;
  /** The worker waits for this instant. */
  waitMs: number | null;
  frozen: boolean;
}

export interface Budget {
  inputs: number;
  operations: number;
  faults: number;
  renewals: number;
}

export interface World {
  readonly config: Config;
  nowMs: number;
  record: ConversationRecord | null;
  /** As it was before the last write; kept only where a fault can bring it back. */
  previous: ConversationRecord | null;
  previousLog: readonly LogEntry[];
  previousLedger: Ledger;
  /** What the last write was, and what the observer made of it. */
  lastWrite: { type: ProtocolEvent["type"]; ledger: Ledger } | null;
  /** From where anybody can still need it. */
  log: readonly LogEntry[];
  timerMs: number | null;
  /** Who set the timer still lives. */
  timerKept: boolean;
  processes: Process[];
  errands: readonly Errand[];
  ledger: Ledger;
  budget: Budget;
  /** For new ids. */
  ids: number;
  /** What the author's code will do, should it be run next. */
  plan: readonly Act[];
}

/** Far from 0, so that nothing mistakes an early instant for none. */
export const beginningMs = 1_000_000;

export function newProcess(config: Config): Process {
  const nothing = { asked: null, unsure: null, run: null, sending: null, waitMs: null };
  return { worker: idle(config.limits, config.steers), cache: undefined, tools: [], frozen: false, ...nothing };
}

export function newWorld(config: Config): World {
  const { inputs, operations, faults, renewals } = config;
  const ledger = newLedger();
  return {
    config,
    nowMs: beginningMs,
    record: null,
    previous: null,
    previousLog: [],
    previousLedger: ledger,
    lastWrite: null,
    log: [],
    timerMs: null,
    timerKept: true,
    errands: [],
    processes: Array.from({ length: config.workers }, () => newProcess(config)),
    ledger,
    budget: { inputs, operations, faults, renewals },
    ids: 0,
    plan: config.programs[0] ?? [],
  };
}

/** A world to go on from; what it shares with this one is copied when it is changed. */
export function fork(world: World): World {
  return { ...world, processes: [...world.processes] };
}

/** A process of this world, free to change. */
export function own(world: World, index: number): Process {
  const process = world.processes[index] as Process;
  const { worker } = process;
  const copy = {
    ...process,
    worker: { ...worker, says: [...worker.says], lease: worker.lease && { ...worker.lease } },
    run: process.run && { ...process.run },
  };
  world.processes[index] = copy;
  return copy;
}

export function newId(world: World, kind: string): string {
  world.ids += 1;
  return `${kind}${world.ids}`;
}

export function spend(world: World, what: keyof Budget): void {
  world.budget = { ...world.budget, [what]: world.budget[what] - 1 };
}

export function may(world: World, fault: FaultKind): boolean {
  return world.budget.faults > 0 && world.config.faultKinds.includes(fault);
}

/** Something that can happen next: tried on a fork of the world, and told in a few words. */
export type Move = (label: string, free: boolean, act: (next: World) => string | undefined) => void;
/** The same, done by one process. */
export type ProcessMove = (
  label: string,
  free: boolean,
  how: (next: World, mine: Process) => string | undefined,
) => void;
