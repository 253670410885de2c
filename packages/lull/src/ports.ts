/**
 * What lull needs from the outside: a store, a clock, a responder, a channel. Small interfaces over plain
 * data, never classes with private state, so that two versions of the package fit each other.
 *
 * @module
 */
import type { ConversationId, ConversationRecord, Json, JsonObject, LogEntry, Part, Revision, Seq } from "./model.ts";

// ---------------------------------------------------------------------------------------------
// Store

/**
 * What an acknowledged write survives.
 * - `memory`: nothing; for tests and demos.
 * - `disk`: power loss of the machine (synchronous write to one disk).
 * - `replicated`: loss of one machine.
 * - `bounded`: may lose the last moments when a machine is lost; `note` says how much.
 */
export interface Durability {
  class: "memory" | "disk" | "replicated" | "bounded";
  note: string;
}

/** An id that must be new for the write to happen. Keys live beside their conversation; equal keys of two conversations are different. */
export interface SeenKey {
  key: string;
  /** Remembered until then (store's clock); afterwards the key counts as new again. */
  expiresAtMs: number;
  /** What the first write answered: given back to whoever repeats it. */
  value: Json;
}

export interface Write {
  id: ConversationId;
  /** The whole record to store; `next.revision` is a new id that names this write. */
  next: ConversationRecord;
  /** The revision this write replaces; null when the conversation must not exist yet. */
  expected: Revision | null;
  /** The conversation's only timer: set (replacing any other), or null to remove it. */
  wakeAtMs: number | null;
  /** Appended in order; `seq` continues the stored log without a gap. */
  append?: readonly LogEntry[];
  seen?: readonly SeenKey[];
  /** Return the log from here on (after appending), in the same round trip. */
  logFrom?: Seq;
  /** The time the caller decided with. The store refuses the write when it is more than `maxSkewMs` off its own clock. */
  nowMs: number;
}

/** Every answer carries the store's clock. */
export interface Answered {
  nowMs: number;
}
export interface Loaded extends Answered {
  record: ConversationRecord | null;
  /** Entries from `logFrom` on, oldest first; empty when none were asked for. */
  log: LogEntry[];
}
export interface Stored extends Answered {
  kind: "stored";
  log: LogEntry[];
}
/** Somebody else wrote first: the current record, so that the caller needs no second round trip. */
export interface Conflict extends Answered {
  kind: "conflict";
  record: ConversationRecord | null;
}
/** At least one key was seen before; nothing was written. `seen` has the stored value of each such key. */
export interface Duplicate extends Answered {
  kind: "duplicate";
  record: ConversationRecord | null;
  seen: { key: string; value: Json }[];
}
/** The caller's clock is off; nothing was written. Decide again with this answer's `nowMs`. */
export interface Skewed extends Answered {
  kind: "skewed";
}

export interface DueTimer {
  id: ConversationId;
  wakeAtMs: number;
  /** Revision of the write that set the timer. */
  revision: Revision;
}
/** Whoever finds this takes no new turn and delivers nothing anew, in any process. Receiving goes on. */
export interface Pause {
  /** On the store's clock. */
  sinceMs: number;
  by?: string;
  reason?: string;
}

export interface Due extends Answered {
  timers: DueTimer[];
  /** The pause of the whole store; null or absent: there is none. */
  paused?: Pause | null;
}

export interface LogPage {
  /** First seq wanted (inclusive); default 1. With `before`, the entries just below that seq, newest page first, still oldest first inside. */
  from?: Seq;
  before?: Seq;
  /** Default 100, at most 1000. */
  limit?: number;
}

export interface ListPage {
  /** Return conversations with ids after this one (binary order of UTF-8). */
  after?: ConversationId;
  /** Default 50, at most 1000. */
  limit?: number;
}
export interface ListFilter {
  prefix?: string;
  /** Only conversations that have a timer (not at rest). */
  active?: boolean;
  parked?: boolean;
  handedOff?: boolean;
}
export interface Listed extends Answered {
  conversations: ConversationRecord[];
  /** Pass as `after` for the next page; null at the end. */
  next: ConversationId | null;
}

export interface Stats extends Answered {
  conversations: number;
  /** Conversations with a timer. */
  active: number;
  /** Timers whose time has come. */
  due: number;
  /** The earliest timer, or null. */
  oldestDueAtMs: number | null;
  parked: number;
  handedOff: number;
}

/**
 * Four storage areas (record, log, timers, seen) behind one atomic compare-and-exchange.
 *
 * The contract, in short: `exchange` writes everything or nothing; it succeeds only when the stored
 * revision equals `expected` and no key in `seen` is remembered; a stored write is durable (see
 * `durability`) when the promise resolves; a rejected promise means *unknown*: the caller loads and looks
 * for its own revision. Order of judgement: skewed, duplicate, conflict.
 *
 * @throws errors with `code: "store-…"` ({@link LullError}); a damaged or newer-schema row throws for its
 * own conversation only and never starves others (`due` skips it and reports it through `onDamage`).
 */
export interface Store {
  readonly name: string;
  readonly durability: Durability;
  load(id: ConversationId, options?: { logFrom?: Seq }): Promise<Loaded>;
  exchange(write: Write): Promise<Stored | Conflict | Duplicate | Skewed>;
  /** Due timers, soonest first. Reading removes nothing. `limit` at most 1000. */
  due(nowMs: number, limit: number): Promise<Due>;
  log(id: ConversationId, page?: LogPage): Promise<{ entries: LogEntry[]; nowMs: number }>;
  list(page?: ListPage, filter?: ListFilter): Promise<Listed>;
  stats(): Promise<Stats>;
  /** Sets a timer that the record demands but the timers area lacks (and drops one it does not), conversation by conversation under the record's revision. `wakeAt` is the protocol's. */
  repair(
    page: ListPage,
    wakeAt: (record: ConversationRecord) => number | null,
  ): Promise<{ repaired: ConversationId[]; next: ConversationId | null }>;
  /** Removes record, log, timer and seen keys. Resolves to false when there was nothing. Traces may stay in files. */
  erase(id: ConversationId): Promise<boolean>;
  /**
   * Replaces the content of log entries that exist, each by one with the same `seq`, and nothing else, if the record's
   * revision is `expected`. Resolves to false, with nothing written, when it is not. The only
   * way in which a log ever changes; for erasing what one of several authors wrote. A store may lack it.
   */
  rewrite?(id: ConversationId, expected: Revision, entries: readonly LogEntry[]): Promise<boolean>;
  /** Sets the pause that every `due` brings, or lifts it. Durable like a write. A store may lack it. */
  setPause?(pause: Pause | null): Promise<Answered>;
  /** Drops expired seen keys, and log entries older than `logBeforeMs` that no unanswered input needs (`keepFrom` of the record says from where on the log is needed). */
  prune(options: {
    seenBeforeMs: number;
    logBeforeMs?: number;
    keepFrom: (record: ConversationRecord) => Seq;
    limit?: number;
  }): Promise<{ seen: number; entries: number }>;
  close(): Promise<void>;
  /**
   * A hint that a conversation changed, possibly by another process; may be missing, late or wrong. `revision`: of the
   * write, where the store knows it: whoever made it has nothing to learn from its own hint.
   */
  wake?(listener: (id: ConversationId, revision?: Revision) => void): () => void;
}

/** A caller's clock may differ this much from the store's before a write is refused. */
export const maxSkewMs = 2_000;

// ---------------------------------------------------------------------------------------------
// Clock

/** Time and chance. Only `clock.ts` touches the real ones. */
export interface Clock {
  /** Wall clock, milliseconds since 1970. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. */
  monotonic(): number;
  /** Resolves after `ms`; resolves early (never rejects) when `signal` aborts. Any length: long sleeps are cut into pieces. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** 0 ≤ x < 1. */
  random(): number;
  /** A new unique id. */
  id(): string;
}

// ---------------------------------------------------------------------------------------------
// Channel

/**
 * What became of one part.
 * - `sent`: the platform accepted it; `id` is its message id there.
 * - `failed`: refused. With `retry` it is tried again (after `retryAfterMs` if given), otherwise it has failed for good.
 * - `unknown`: it may have been delivered (a timeout after the request left).
 */
export type Receipt =
  | { status: "sent"; id?: string }
  | { status: "failed"; error: string; retry?: boolean; retryAfterMs?: number }
  | { status: "unknown"; error: string; retryAfterMs?: number };

export interface Delivery {
  conversation: ConversationId;
  replyId: string;
  /** The same for every try of this part: hand it to the platform where it takes one. */
  idempotencyKey: string;
  index: number;
  /** Parts known so far (an open reply may grow). */
  count: number;
  /** 1 for the first try. */
  attempt: number;
  /** Ids of the inputs the reply answers. */
  covers: string[];
  overtaken: boolean;
  cause: "turn" | "fallback" | "send";
  address: Json;
  metadata?: JsonObject;
  /**
   * A draft of this part, or the reply that it amends, is on the screen: turn that into the part, or send the part and
   * then delete it.
   */
  draft?: { key: string; id?: string };
  /** Trace contexts (`traceparent`) of the inputs the reply answers. */
  traces?: string[];
  signal: AbortSignal;
}

export interface DraftDelivery {
  conversation: ConversationId;
  /** The same for every call about this draft. */
  key: string;
  /** The platform's id of it, as the channel named it. Absent: nothing is known to be on the screen. */
  id?: string;
  /** An earlier call may have shown it, and its id was lost in a crash: look for `key` where the platform can. */
  inDoubt: boolean;
  address: Json;
  signal: AbortSignal;
}

export interface Channel {
  name: string;
  /** The platform refuses a second part with the same idempotency key. */
  idempotent: boolean;
  /**
   * Sends one part. Resolving to nothing means `sent`. A rejection means `unknown`: say `failed` where the platform
   * has certainly refused, so that the part need not be treated as perhaps delivered.
   */
  deliver(part: Part, context: Delivery): Promise<Receipt | void>;
  /** Asks the platform whether a part arrived. Resolves to null when it certainly did not. */
  find?(context: Delivery): Promise<Receipt | null>;
  /**
   * Shows provisional text, replaces what it showed before, or takes it back (`part` is null). Resolves to the
   * platform's id of it. Only for platforms that can edit or delete; whoever has it also takes `delivery.draft`.
   */
  draft?(part: Part | null, context: DraftDelivery): Promise<{ id?: string } | void>;
  /** Least time between two changes of a draft. Default 1,000. */
  draftMs?: number;
  /**
   * How long a typing event of this platform's users counts, where none says that it ended: what the platform shows it
   * for. Default `limits.typingMs`.
   */
  typingMs?: number;
  /** Shows or hides a typing indicator; errors are ignored. */
  typing?(on: boolean, context: { conversation: ConversationId; address: Json }): void | Promise<void>;
  /** What to do with a part in doubt where the platform cannot tell: default "at-least-once". */
  whenInDoubt?: "at-least-once" | "at-most-once";
  /** One try's time limit. Default 30 s. */
  timeoutMs?: number;
}
