/**
 * What everybody in a simulated world shares: its time, its wires, its faults in waiting, and what was seen.
 *
 * @module
 */
import { createHash, type Hash } from "node:crypto";
import type { Lull } from "../../lull.ts";
import type { VirtualClock } from "../clock.ts";
import type { Wires } from "../wires.ts";
import { type Ledger, ledger, type Placed } from "./ledger.ts";
import type { Moment, Plan, StepOf } from "./plan.ts";

/** The day every simulated world begins; nothing depends on it. */
export const epochMs = 1_750_000_000_000;

/** A broken promise: which one, and how. */
export interface Violation {
  rule: string;
  what: string;
}

export interface Figures {
  /** Writes the store took: each is at least one transition of the protocol. */
  transitions: number;
  /** Calls of the store, refused ones included. */
  storeCalls: number;
  runs: number;
  discards: number;
  replies: number;
  parts: number;
  virtualMs: number;
  /** Faults that happened, by kind. */
  faults: Record<string, number>;
}

export interface Scene {
  readonly plan: Plan;
  readonly clock: VirtualClock;
  readonly wires: Wires;
  readonly facts: Ledger;
  readonly figures: Figures;
  readonly violations: Violation[];
  /** Since the world's beginning. */
  ms(): number;
  place(conversation: string): Placed;
  say(who: string, what: string): void;
  /** A fault happens. */
  count(kind: string): void;
  /** Faults that wait for a conversation's next run, or its next try of a part. */
  readonly waiting: { model: StepOf<"model">[]; channel: StepOf<"channel">[] };
  /** Something happens in a process just now at which it may be struck. */
  strike: (process: string, moment: Moment) => void;
  /** A process that a load balancer would choose. Rejects when that one is down. */
  reach: (...labels: (string | number)[]) => Promise<{ name: string; lull: Pick<Lull, "attempt"> }>;
  readonly trace: { lines: string[]; hash: Hash };
}

export interface SceneOptions {
  /** Keep the trace's lines, not only their hash. */
  lines: boolean;
}

export function scene(plan: Plan, clock: VirtualClock, wires: Wires, options: SceneOptions): Scene {
  const ms = () => clock.now() - epochMs;
  const trace = { lines: [] as string[], hash: createHash("sha256") };
  const figures: Figures = {
    transitions: 0,
    storeCalls: 0,
    runs: 0,
    discards: 0,
    replies: 0,
    parts: 0,
    virtualMs: 0,
    faults: {},
  };
  let order = 0;
  return {
    plan,
    clock,
    wires,
    facts: ledger(),
    figures,
    violations: [],
    ms,
    place: (conversation) => ({ conversation, atMs: ms(), order: order++ }),
    say(who, what) {
      const line = `${ms()} ${who} ${what}`;
      trace.hash.update(line).update("\n");
      if (options.lines) trace.lines.push(line);
    },
    count(kind) {
      figures.faults[kind] = (figures.faults[kind] ?? 0) + 1;
    },
    waiting: { model: [], channel: [] },
    strike: () => {},
    reach: () => Promise.reject(new Error("connection refused")),
    trace,
  };
}

/** Takes the fault that waits for this conversation, if there is one. */
export function take<S extends { conversation: string }>(waiting: S[], conversation: string): S | undefined {
  const at = waiting.findIndex((step) => step.conversation === conversation);
  return at < 0 ? undefined : waiting.splice(at, 1)[0];
}
