/**
 * What happens in one simulated world, as plain data: drawn from a seed, then carried out, and made smaller when it
 * fails. Everything random is drawn here or hashed from the seed and a label, so dropping one step leaves the rest.
 *
 * @module
 */
import type { Backlog } from "../../model.ts";
import type { WhenBusy } from "../../options.ts";

/** How the platform that shows replies behaves. */
export type ChannelKind = "idempotent" | "searchable" | "at-least-once" | "at-most-once";

/** How the bot's author wrote `respond`. */
export type Style =
  | "plain"
  | "parts"
  | "stream"
  | "say"
  | "once"
  | "read-once"
  | "seal"
  | "absorb"
  | "silent"
  | "draft"
  /** The turn is handed on, and answered through any process. */
  | "elsewhere"
  | "elsewhere-once";

/** Kinds of faults, switched on and off as a whole. */
export type Family = "crash" | "freeze" | "deploy" | "store" | "outage" | "jump" | "model" | "channel" | "webhook";

/** The world's settings: everything that is not an event. */
export interface Profile {
  processes: number;
  /** Each way of each store call takes up to so long. */
  latencyMs: number;
  /** The store tells every process of every write. */
  hints: boolean;
  families: Family[];
  whenBusy: WhenBusy;
  debounce: { quietMs: number; startMs: number; maxWaitMs: number };
  leaseMs: number;
  turnTimeoutMs: number;
  scanMs: number;
  maxRestarts: number;
  maxFailures: number;
  maxPending: number;
  fallback: boolean;
  editAfterAnswer: "ignore" | "new-input";
  channel: ChannelKind;
  /** A send takes up to so long. */
  sendMs: number;
  channelTimeoutMs: number;
  /** How long the model thinks, by and large. */
  thinkMs: number;
  /** How often it does not listen to `turn.signal`. */
  deaf: number;
  styles: Style[];
  /** A process's clock is off by up to so much. */
  skewMs: number;
  /** And goes too fast or too slow by up to so much: 0.01 is one percent. */
  drift: number;
}

/**
 * When a process is struck: at that time, or the next time that it has been answered by the store, that its model
 * begins, or that it has sent a part and not heard of it.
 */
export type Moment = "now" | "store" | "model" | "send";

/** A call of the store: refused, written but the answer lost or late, late to arrive, or the process dies around it. */
export type StoreFault = "refused" | "lost" | "late" | "slow" | "dies-before" | "dies-after";

export type ModelFault =
  | "throws"
  | "throws-later"
  | "retry-after"
  | "empty"
  | "hangs"
  | "hangs-deaf"
  | "slow"
  | "effect-throws"
  | "effect-hangs";

/** 429, 5xx, refused for good, no answer (shown or not), a broken connection (shown or not). */
export type ChannelFault =
  | "busy"
  | "error"
  | "refused"
  | "timeout-shown"
  | "timeout-lost"
  | "broken-shown"
  | "broken-lost";

export type Operation = "handoff" | "humanReply" | "resume" | "reset" | "retry" | "send" | "flush";

/** Something that happens at `atMs` after the world's beginning. */
export type Step = { atMs: number } & (
  | {
      do: "write";
      conversation: string;
      id: string;
      text: string;
      /** The webhook arrives so much later. */
      delayMs: number;
      /** And is posted again after so long, acknowledged or not. */
      again: number[];
      quietMs?: number;
      incomplete?: true;
    }
  | { do: "edit"; conversation: string; id: string; nth: number; text: string; delayMs: number; completes?: true }
  | { do: "retract"; conversation: string; id: string; delayMs: number }
  | { do: "typing"; conversation: string; on: boolean }
  | {
      do: "operate";
      conversation: string;
      id: string;
      what: Operation;
      forMs?: number;
      backlog?: Backlog;
      upTo?: string;
      when?: "after-turn" | "if-quiet";
    }
  | { do: "crash"; process: number; when: Moment; downMs: number }
  /** `suspends`: its monotonic clock stands still meanwhile. */
  | { do: "freeze"; process: number; when: Moment; forMs: number; suspends: boolean }
  | { do: "deploy"; process: number; graceMs: number; downMs: number }
  | { do: "pause"; process: number; forMs: number }
  /** The process's next call of the store. */
  | { do: "store"; process: number; fault: StoreFault; ms: number }
  | { do: "outage"; forMs: number }
  /** The store's clock is set. */
  | { do: "jump"; byMs: number }
  /** The conversation's next run of the model. */
  | { do: "model"; conversation: string; fault: ModelFault; ms: number }
  /** The conversation's next try of a part. */
  | { do: "channel"; conversation: string; fault: ChannelFault; ms: number }
);

export type StepOf<D extends Step["do"]> = Extract<Step, { do: D }>;

export interface Plan {
  seed: number;
  profile: Profile;
  steps: Step[];
}

/** What people and operators do; the rest are faults. */
export const wanted: ReadonlySet<Step["do"]> = new Set(["write", "edit", "retract", "typing", "operate"]);

/** Steps that can take a lease away from a process that still works, or leave a part in doubt. */
export const disturbing: ReadonlySet<Step["do"]> = new Set([
  "crash",
  "freeze",
  "deploy",
  "store",
  "outage",
  "jump",
] as const);

/** Nothing goes wrong in it, and no run has to take too long: then everything has to be perfect. */
export function isCalm({ profile, steps }: Plan): boolean {
  const { latencyMs, drift, thinkMs, turnTimeoutMs } = profile;
  return latencyMs === 0 && drift === 0 && turnTimeoutMs > 5 * thinkMs && steps.every((step) => wanted.has(step.do));
}

/** A step on one line. */
export function stepLine({ atMs, do: what, ...rest }: Step): string {
  const words = Object.entries(rest).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return `${String(atMs).padStart(7)} ${what} ${words.join(" ")}`;
}
