/**
 * What one exploration covers: who takes part, what people may do, what may go wrong. Every bound is a budget, so
 * the world is finite, and every order of everything within the budgets is tried.
 *
 * @module
 */
import type { Limits } from "../../model.ts";

/** What a user does. `now`: a message that wants its answer at once. `incomplete`: more of it is on the way. */
export type InputKind = "message" | "now" | "incomplete" | "edit" | "retraction" | "typing";

/** What an operator, a human colleague or the bot itself does. `human-late`: the newest message had not been seen. */
export type OperatorKind =
  | "handoff"
  | "handoff-context"
  | "resume"
  | "human"
  | "human-late"
  | "reset"
  | "retry"
  | "send"
  | "send-if-quiet"
  | "flush"
  | "stop";

/**
 * What goes wrong.
 * - `crash`: a process forgets everything. `freeze`: it stands still until its lease has passed, then goes on.
 * - `lost`: the store's answer is lost, its write done or not; the process asks again, or gives up.
 * - `stale`: the store answers from before its last write. `rollback`: it comes back without its last write.
 * - `early`: a timer fires early, or once more. `clock`: a process's clock is off, by less than the store tolerates or by more than a lease.
 * - `refuse`, `fail`, `unknown`: the channel says later; never; or nothing, the part delivered or not.
 * - `throw`: the author's code, or its tool, throws. `hang`: it gives no answer in time.
 */
export type FaultKind =
  | "crash"
  | "freeze"
  | "lost"
  | "stale"
  | "rollback"
  | "early"
  | "clock"
  | "refuse"
  | "fail"
  | "unknown"
  | "throw"
  | "hang";

/**
 * What the author's code does, in order. `hear`: absorbs newer input whenever there is some. `away`: the rest comes from
 * outside. `share`: the rest comes from outside, and from here too.
 */
export type Act = "answer" | "silent" | "once" | "look" | "say" | "seal" | "hear" | "away" | "share";

export type ChannelKind = "idempotent" | "askable" | "at-least-once" | "at-most-once";

export interface Config {
  name: string;
  about: string;
  workers: number;
  /** How many inputs, and of which kinds. */
  inputs: number;
  kinds: readonly InputKind[];
  operations: number;
  operators: readonly OperatorKind[];
  /** Any of these programs may be what the author's code does. */
  programs: readonly (readonly Act[])[];
  /** Parts of an answer. */
  parts: number;
  channel: ChannelKind;
  faults: number;
  faultKinds: readonly FaultKind[];
  /** Renewals that happen although nothing asks for them. */
  renewals: number;
  /** The author's code absorbs newer input (`whenBusy: "steer"`). */
  steers: boolean;
  /** Every answer is finished, and the rest is answered next (`whenBusy: "queue"`). */
  queues: boolean;
  editAfterAnswer: "ignore" | "new-input";
  /** Something to say when a span is parked. */
  fallback: boolean;
  limits: Limits;
}

/** Short, so that few instants matter; a lease is longer than any window. */
export const shortLimits: Limits = {
  startMs: 1_000,
  quietMs: 2_000,
  maxWaitMs: 4_000,
  typingMs: 1_500,
  incompleteMs: 3_000,
  leaseMs: 20_000,
  turnTimeoutMs: 60_000,
  maxRestarts: 2,
  maxFailures: 3,
  maxPending: 6,
  maxParts: 3,
  maxEffects: 2,
  maxSends: 2,
  deliverMaxMs: 300_000,
  maxHandoffMs: 30_000,
  backoffFirstMs: 2_000,
  backoffMaxMs: 4_000,
  deliverBackoffFirstMs: 2_000,
  deliverBackoffMaxMs: 4_000,
  repliesPerHour: 1_000,
};

/** Two workers, plain messages and answers, nothing goes wrong. */
export const plain: Config = {
  name: "plain",
  about: "",
  workers: 2,
  inputs: 3,
  kinds: ["message"],
  operations: 0,
  operators: [],
  programs: [["answer"]],
  parts: 1,
  channel: "at-least-once",
  faults: 0,
  faultKinds: [],
  renewals: 0,
  steers: false,
  queues: false,
  editAfterAnswer: "ignore",
  fallback: false,
  limits: shortLimits,
};
