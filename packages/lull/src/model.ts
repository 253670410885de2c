/**
 * The words of lull, as types. Plain data only: everything here survives JSON, and nothing else in the
 * library adds a noun of its own. Instants are milliseconds since 1970 (`…AtMs`), durations are
 * milliseconds (`…Ms`); both are the *store's* clock unless a name says otherwise.
 *
 * @module
 */

/** Any non-empty string without lone surrogates or NUL; lull never parses it. */
export type ConversationId = string;
/** Position in a conversation's log: 1, 2, 3 … without gaps. */
export type Seq = number;
/** Arrival counter of a conversation: +1 for every accepted input. */
export type Version = number;
/** Names the write that made a record: the compare-and-swap token. New for every write. */
export type Revision = string;
/** Ever-growing token of the exclusive right to answer; at least the store's clock in milliseconds. */
export type Fence = number;

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

// ---------------------------------------------------------------------------------------------
// What people write, what bots answer

/** One piece of a message or of a reply. A file travels by `url`, or by `ref` where fetching it needs credentials. */
export type Part =
  | { type: "text"; text: string }
  | { type: "file"; mediaType: string; url?: string; ref?: Json; filename?: string }
  | { type: "data"; data: Json };

/** What an input carries, besides its id and its place in the conversation. */
export interface Content {
  parts: Part[];
  /** Its author was erased: nothing is left but its place. */
  erased?: true;
  /** Who wrote it; opaque. */
  author?: string;
  /** The platform's own time of the message. Orders the prompt and judges age; never decides anything else. */
  sentAtMs?: number;
  /** Id of the message this one answers. */
  replyTo?: string;
  metadata?: JsonObject;
  /** Trace context of whoever handed it in (W3C `traceparent`), so that spans of other processes can be linked to it. */
  trace?: string;
}

/**
 * What the log says of one arrived message.
 * - `quietMs`: this input's own quiet target (0 = answer now: a button, a command).
 * - `incomplete`: more of it is on the way (album, transcript, download); completed by an edit.
 * - `aside`: set aside by a stated rule at arrival; context for later turns, never answered itself.
 */
export interface MessageEntry extends Content {
  kind: "message";
  id: string;
  version: Version;
  quietMs?: number;
  incomplete?: true;
  aside?: "backlog" | "command" | "context";
}

/** An edit as it arrived. Where its target is no longer unanswered, the fold makes it an input of its own. */
export interface EditEntry extends Content {
  kind: "edit";
  id: string;
  target: string;
  version: Version;
  quietMs?: number;
  incomplete?: true;
  /** The target had been answered and the owner's rule is to ignore such edits: kept as context. */
  aside?: "answered";
}

/** The author took `target` back. `aside`: it had been answered, so only the history changes. */
export interface RetractionEntry {
  kind: "retraction";
  id: string;
  target: string;
  version: Version;
  aside?: "answered";
}

/** Brings inputs `from < version ≤ to` back to be answered (a parked span, or an operator asks again). */
export interface RetryEntry {
  kind: "retry";
  id: string;
  version: Version;
  from: Version;
  to: Version;
  by?: string;
}

/** How an attempt ended without a reply of its own. */
export type AttemptEnding =
  | "superseded"
  | "failed"
  | "expired"
  | "handed-back"
  | "handed-off"
  | "answered-by-human"
  | "reset";

/** How a reply ended. Each input a reply covers shares this label. */
export type ReplyEnding =
  /** Every part settled, at least one `sent` or `unknown`. */
  | "delivered"
  /** Ended early by a crash or an error while it was open; what was said stands. */
  | "cut"
  /** Nothing could be sent: the channel refused for good or the age limit passed. */
  | "failed"
  /** Taken back before anything was sent; its inputs are unanswered again. */
  | "withdrawn"
  /** A hand-off, a human or a reset cancelled what was not sent yet. */
  | "cancelled";

/** `replaced`: the reply took its place. `retracted`: taken back. `left`: the channel could not take it back. */
export type DraftEnding = "replaced" | "retracted" | "left";

/** Why inputs ended without a reply. */
export type SpanEnding = "removed" | "silent" | "human" | "dropped" | "context" | "parked";

/** The log: a conversation's payload and history. Append-only, written by the same exchange as the record. */
// Fields that are `undefined` are dropped when an entry is written.
export type LogBody =
  | MessageEntry
  | EditEntry
  | RetractionEntry
  | RetryEntry
  /** A worker took the lease to run the model. */
  | {
      kind: "attempt";
      fence: Fence;
      owner: string;
      from: Version;
      to: Version;
      attempt: number;
      sealed: boolean;
      wait?: Wait | undefined;
      /** The reply its first input crossed. */
      crossed?: string | undefined;
    }
  | { kind: "absorbed"; fence: Fence; to: Version }
  | { kind: "sealed"; fence: Fence }
  | { kind: "ended"; fence: Fence; outcome: AttemptEnding; error?: string | undefined; retryAtMs?: number | undefined }
  /** A committed answer for inputs `from < version ≤ to`. `cause`: why lull sends it. */
  | {
      kind: "reply";
      replyId: string;
      fence: Fence;
      from: Version;
      to: Version;
      parts: Part[];
      open: boolean;
      overtaken: boolean;
      cause: "turn" | "fallback" | "send";
      address: Json;
      metadata?: JsonObject | undefined;
      wait?: Wait | undefined;
      amends?: Amends | undefined;
    }
  | { kind: "part"; replyId: string; index: number; part: Part }
  | {
      kind: "receipt";
      replyId: string;
      index: number;
      state: PartState;
      externalId?: string | undefined;
      error?: string | undefined;
      retryAtMs?: number | undefined;
    }
  | { kind: "closed"; replyId: string; from: Version; to: Version; outcome: ReplyEnding }
  /** Inputs `from < version ≤ to` ended without a reply. */
  | { kind: "settled"; from: Version; to: Version; outcome: SpanEnding; reason?: string | undefined }
  | { kind: "effect"; key: string; span: number; fence: Fence; value: Json; late?: true | undefined }
  | { kind: "effect-unknown"; key: string; span: number }
  /** Provisional text is on the screen, for an answer up to `version`; or what became of it. */
  | { kind: "draft"; draftId: string; state: "shown"; fence: Fence; version: Version; address: Json }
  | { kind: "draft"; draftId: string; state: DraftEnding; error?: string | undefined }
  /** What an attempt cost, as its author counts it; `details` are the author's own. */
  | { kind: "usage"; fence: Fence; tokens: number; details?: JsonObject | undefined }
  /** A message of the bot's own accord, waiting for its place. */
  | {
      kind: "send";
      id: string;
      replyId: string;
      parts: Part[];
      when: "after-turn" | "if-quiet";
      address?: Json | undefined;
      metadata?: JsonObject | undefined;
      by?: string | undefined;
    }
  | {
      kind: "human";
      id: string;
      upTo: Version;
      parts: Part[];
      author?: string | undefined;
      metadata?: JsonObject | undefined;
      by?: string | undefined;
    }
  /** Somebody wanted the answer at once. */
  | { kind: "flushed"; by: string }
  | { kind: "handoff"; id: string; untilMs: number; by?: string | undefined }
  | { kind: "resumed"; id: string; backlog: Backlog; by?: string | undefined }
  /** The conversation's own wishes from then on. */
  | { kind: "tuned"; id: string; by?: string | undefined; tuning: Tuning }
  /** Everything unanswered was dropped. `forget`: later prompts start after this entry. */
  | { kind: "reset"; id: string; forget: boolean; by?: string | undefined };

/** A log entry with its place and the store's time when it was written. */
export type LogEntry = LogBody & { seq: Seq; atMs: number };
export type LogKind = LogEntry["kind"];
/** Distributes over the union, so that each kind keeps its own fields. */
export type EntryOf<K extends LogKind> = Extract<LogEntry, { kind: K }>;

export type Backlog = "answer" | "context";

/** An input as the model sees it: a fold over the log, never stored. */
export interface Input extends Content {
  id: string;
  version: Version;
  seq: Seq;
  receivedAtMs: number;
  /** True when `parts` are those of a later edit. */
  edited: boolean;
  /** Set when this input is an edit of a message that was answered before. */
  editOf?: string;
  incomplete: boolean;
  quietMs?: number;
}

// ---------------------------------------------------------------------------------------------
// The record: coordination only

/**
 * One unanswered range. All three windows a record may hold (`record.window`, `lease.newer`,
 * `outbox.window`) are kept by the same function on every arrival, so that discarding, committing and
 * withdrawing only choose between them.
 */
export interface Window {
  /** First log entry of the range. */
  fromSeq: Seq;
  /** First unanswered input; `maxWaitMs` counts from here. */
  openedAtMs: number;
  /** Latest input; the quiet is measured from here. */
  lastInputAtMs: number;
  /** Somebody is typing until then. */
  holdUntilMs: number | null;
  /** An incomplete input may still be completed until then. */
  incompleteUntilMs: number | null;
  /** The quiet target in force: the smallest the inputs ask for, or what was learned from the newest. */
  quietMs: number;
  /** Why it is not simply the setting's. */
  reason?: QuietReason;
  /** The user's own target, where windows adapt: frozen when the window opens. */
  baseMs?: number;
  /** Somebody began to type then, and no input has come since. */
  typingSinceMs?: number;
  /** The first input was being typed when this reply appeared. */
  crossed?: Crossing;
  /** Visible inputs in the range: 0 when all were retracted. */
  count: number;
}

/**
 * Why a quiet target differs from the setting.
 * - `message`: an input asked for it; `flush`: the answer was wanted at once.
 * - `pace`: how often this user went on typing before; `question`: the newest input ends with a question mark.
 * - `judged`: by the author's `completeness`.
 */
export type QuietReason = "message" | "flush" | "pace" | "question" | "judged";

/** What a wait was for, once it is over. `cap`: it had lasted long enough; `restarts`: too many discards. */
export interface Wait {
  /** The quiet waited for, from the newest input. */
  targetMs: number;
  reason: "setting" | "restarts" | "typing" | "incomplete" | "cap" | QuietReason;
}

/** A reply, and its entry in the log. */
export interface Crossing {
  replyId: string;
  seq: Seq;
}

/** A message of the bot's that is on the screen, to be changed into what is said now. */
export interface Amends {
  replyId: string;
  /** The platform's id of it. */
  externalId: string;
}

/** How replies met the user: what `turn.crossed` and windows that adapt rest on. */
export interface Pace {
  /** The newest reply, since something of it was shown; null once an input came after it. */
  shown: (Crossing & { atMs: number }) | null;
  /** Replies that an input came after, and how many of those it had crossed. */
  replies: number;
  crossed: number;
  /** The user's quiet target by the setting's; 1 as long as nothing is known. */
  factor: number;
}

export interface Lease {
  owner: string;
  /** Makes a claim idempotent: asked again with the same id, the answer is the same. */
  claimId: string;
  fence: Fence;
  purpose: "respond" | "deliver";
  /** The newest input the attempt knows. */
  version: Version;
  expiresAtMs: number;
  /** Renewal never goes beyond: bounds a wedged attempt (`turnTimeoutMs`). */
  deadlineMs: number;
  sealed: boolean;
  /** What arrived after `version`; null as long as the attempt is up to date. */
  newer: Window | null;
}

/**
 * `begun` counts as running until `untilMs`; afterwards its outcome is in doubt. `doubt`: so is that of a run before it.
 * `ended` points to the value in the log.
 */
export type Effect =
  | { state: "begun"; fence: Fence; untilMs: number; doubt?: boolean }
  | { state: "ended"; fence: Fence; seq: Seq };

/**
 * `queued` → `attempting` → `sent` | `failed` | `unknown`, back to `queued` for another try, or `cancelled`.
 */
export type PartState = "queued" | "attempting" | "sent" | "failed" | "unknown" | "cancelled";

export interface OutboxPart {
  state: PartState;
  /** Sticky: an earlier try may have been delivered. Only `sent` clears it. */
  doubt: boolean;
  tries: number;
  /** Not before; set by `Retry-After` and back-off. */
  nextAtMs: number;
  /** Log entry that holds the content (`reply`, `part` or `send`). */
  seq: Seq;
  /** Position within that entry's `parts`. */
  index: number;
}

export interface Outbox {
  replyId: string;
  /** `retract`: takes back the draft of that id; no inputs, and nothing new to see. */
  cause: "turn" | "fallback" | "send" | "retract";
  fence: Fence;
  from: Version;
  to: Version;
  committedAtMs: number;
  sealed: boolean;
  /** More parts may be appended by the holder. */
  open: boolean;
  /** Closed early: the label when it ends. */
  ending: "cut" | "cancelled" | null;
  parts: OutboxPart[];
  /** The draft whose place it takes. */
  draft?: string;
  /** First input that came after `to`, while the reply could still be withdrawn. */
  newerAtMs: number | null;
  /** The window as it would be had this reply not been committed; null for messages of the bot's own accord. */
  window: Window | null;
  /** Its span's counters and effects, restored by a withdrawal. */
  span: number;
  restarts: number;
  effects: Record<string, Effect>;
}

/** How one of the last attempts ended, so that a caller whose answer was lost gets the same one again. */
export interface EndedAttempt {
  fence: Fence;
  claimId: string;
  outcome: AttemptEnding | "committed" | "settled";
}

/** Provisional text on the screen, until the reply takes its place or it is taken back. */
export interface Draft {
  /** Also the idempotency key for the platform. */
  id: string;
  /** Its log entry. */
  seq: Seq;
  /** Who shows it: the newest attempt that took it on. */
  fence: Fence;
  /** The newest input it answers: what came later stands below it on the screen. */
  version: Version;
  /** Where it is shown. */
  address: Json;
  atMs: number;
  /** The platform's id of it, once known. */
  externalId?: string;
}

export interface Handoff {
  sinceMs: number;
  untilMs: number;
  /** What its end does with inputs that waited. */
  backlog: Backlog;
  by?: string;
}

/** A span of inputs, remembered so that `retry` can bring it back. */
export interface PastSpan {
  from: Version;
  to: Version;
  fromSeq: Seq;
}

/** Dead letter: given up, visible, revivable. */
export interface Parked extends PastSpan {
  atMs: number;
  reason: string;
}

/** A message of the bot's own accord that waits for its place. */
export interface QueuedSend {
  replyId: string;
  seq: Seq;
  parts: number;
  atMs: number;
}

/**
 * What newer input does to an attempt that is running.
 * - `interrupt`: abort, discard, start over with everything.
 * - `queue`: let it finish; the rest is answered next.
 * - `steer`: let it run on; the rest is handed to it by `turn.absorb()` (or before it commits, by a new run).
 */
export type WhenBusy = "interrupt" | "queue" | "steer";

/** A conversation's own wishes, before the bot's. Of the times all three are given, or none. */
export interface Tuning extends Partial<Pick<Limits, "quietMs" | "startMs" | "maxWaitMs" | "adaptive">> {
  whenBusy?: WhenBusy;
}

/**
 * Coordination data of one conversation: small, of bounded size, replaced whole under its `revision`.
 * Payload never enters it. Unknown fields are kept by readers.
 */
export interface ConversationRecord {
  schema: number;
  id: ConversationId;
  revision: Revision;
  version: Version;
  /** Every input up to here has ended. */
  answered: Version;
  /** Last entry of the log. */
  seq: Seq;
  /** Identity of the unanswered range; effects and idempotency keys carry it. Grows. */
  span: number;
  window: Window | null;
  lease: Lease | null;
  fence: Fence;
  /** Attempts begun in this span. */
  attempts: number;
  /** Discards in this span. */
  restarts: number;
  /** Failed or crashed attempts in this span. */
  failures: number;
  retryAtMs: number | null;
  effects: Record<string, Effect>;
  outbox: Outbox | null;
  sends: QueuedSend[];
  draft?: Draft | null;
  pace?: Pace;
  tuning?: Tuning;
  /** What the running period has cost. */
  spent?: { sinceMs: number; tokens: number };
  ended: EndedAttempt[];
  handoff: Handoff | null;
  parked: Parked | null;
  /** The last span that ended, so that an operator can ask for it again. */
  last: PastSpan | null;
  /** Replies in the running hour: the guard against two auto-responders. */
  tempo: { sinceMs: number; replies: number };
  /** Where and how to reply: the newest input's; opaque. */
  address: Json;
  createdAtMs: number;
  updatedAtMs: number;
}

/** The newest record schema this release writes, and the only one it reads; older ones are migrated by the stores. */
export const recordSchema = 1;

// ---------------------------------------------------------------------------------------------
// Limits: every bound of the protocol, named. Defaults and checks are in options.ts.

export interface Limits {
  /** The model may start after this much quiet. */
  startMs: number;
  /** Instead of `startMs`: it may start so long before its answer may go out. */
  leadMs?: number;
  /** The answer may be committed after this much quiet. */
  quietMs: number;
  /** Hard cap on waiting, from the first unanswered input, across all postponements. */
  maxWaitMs: number;
  /** Each user has a quiet target of their own, such that about this share of replies is crossed. */
  adaptive?: { crossed: number };
  /** How long one typing event holds the window. */
  typingMs: number;
  /** Typing that brings no message holds no longer than this. */
  typingMaxMs?: number;
  /** How long an incomplete input holds the window. */
  incompleteMs: number;
  leaseMs: number;
  /** Bounds one attempt, from claim to answer. */
  turnTimeoutMs: number;
  /** Discards after which the model starts only at the quiet target. */
  maxRestarts: number;
  /** Failed attempts after which a span is parked. */
  maxFailures: number;
  /** Unanswered inputs a conversation holds; more are rejected as `full`. */
  maxPending: number;
  /** Parts of one reply. */
  maxParts: number;
  /** Effects of one span. */
  maxEffects: number;
  /** Messages of the bot's own accord that wait. */
  maxSends: number;
  /** A part older than this is not tried any more. */
  deliverMaxMs: number;
  /** Longest hand-off. */
  maxHandoffMs: number;
  /** A failed attempt is repeated after `backoffFirstMs · 2ⁿ`, at most `backoffMaxMs`, jittered by half. */
  backoffFirstMs: number;
  backoffMaxMs: number;
  /** The same for parts that a channel refused. */
  deliverBackoffFirstMs: number;
  deliverBackoffMaxMs: number;
  /** Answers per conversation and hour; more wait. */
  repliesPerHour: number;
}

// ---------------------------------------------------------------------------------------------
// Events and outcomes of the protocol (protocol.ts has the table)

/** Identifies the caller of a holder's event. */
export interface Held {
  fence: Fence;
  claimId: string;
}

/** A message that arrives; its id was checked against `seen` in the same exchange. */
export interface ReceiveEvent extends Content {
  type: "receive";
  id: string;
  quietMs?: number;
  incomplete?: true;
  aside?: "backlog" | "command" | "context";
  address?: Json;
}

export type ProtocolEvent =
  | ReceiveEvent
  /** `log`: at least the entries from `tailFrom(record)` on. `completes`: ends an incomplete input, so it is never ignored. */
  | (Content & {
      type: "edit";
      id: string;
      target: string;
      quietMs?: number;
      incomplete?: true;
      completes: boolean;
      afterAnswer: "ignore" | "new-input";
      log: readonly LogEntry[];
    })
  | { type: "retract"; id: string; target: string; log: readonly LogEntry[] }
  | { type: "typing"; on: boolean; forMs?: number }
  /** With `by` it is noted in the log. */
  | { type: "flush"; by?: string }
  /** `completeness` in 0 … 1: has the user said it all? For the inputs up to `version`. */
  | { type: "judge"; version: Version; completeness: number }
  /** `seals`: an attempt to respond is sealed from its start, for authors who want every answer finished. */
  | { type: "claim"; owner: string; claimId: string; random: number; fallback?: Fallback | null; seals?: boolean }
  /** `deadlineMs`: effects of an attempt that lost its lease are kept alive until then. */
  | ({ type: "renew"; held: boolean; deadlineMs: number } & Held)
  | ({ type: "discard"; reason: "superseded" | "handed-back" } & Held)
  | ({ type: "absorb" } & Held)
  /** `elsewhere`: asked from outside, by somebody who goes away when told `superseded`: then the attempt ends. */
  | ({ type: "seal"; elsewhere?: true } & Held)
  | ({ type: "begin"; key: string; readOnly: boolean; elsewhere?: true } & Held)
  | { type: "end"; fence: Fence; span: number; key: string; result: { value: Json } | null }
  | ({
      type: "commit";
      replyId: string;
      parts: readonly Part[] | null;
      open: boolean;
      metadata?: JsonObject;
      amends?: Amends;
      /** Given through another process than the holder's: nobody sends it right now. */
      elsewhere?: true;
    } & Held)
  | ({ type: "append"; replyId: string; index: number; part: Part } & Held)
  | ({ type: "close"; replyId: string } & Held)
  | ({ type: "attempt"; replyId: string; index: number; inDoubt: "retry" | "give-up" } & Held)
  | ({ type: "settle"; replyId: string; index: number; receipt: PartReceipt; random: number } & Held)
  | ({
      type: "fail";
      error: string;
      retryAfterMs?: number;
      random: number;
      fallback?: Fallback | null;
    } & Held)
  | { type: "handoff"; id: string; forMs: number; backlog: Backlog; by?: string }
  | {
      type: "humanReply";
      id: string;
      upTo: Version | null;
      parts: readonly Part[];
      author?: string;
      metadata?: JsonObject;
      by?: string;
      log: readonly LogEntry[];
    }
  | { type: "resume"; id: string; backlog: Backlog; by?: string }
  | { type: "reset"; id: string; forget: boolean; by?: string }
  | { type: "retry"; id: string; by?: string }
  /** Provisional text is about to be shown (`draftId` if there is none yet), or is known to the platform as `externalId`. */
  | ({ type: "draft"; draftId: string; externalId?: string } & Held)
  /** It is gone. Needs no lease: it may be taken back by whoever knows of it. */
  | { type: "undraft"; draftId: string; ending: DraftEnding; error?: string }
  /** Needs no lease: what was spent was spent. `everyMs`: the period the conversation's costs are summed over. */
  /** Undefined: as it was; null: as the bot has it. */
  | { type: "tune"; id: string; by?: string; debounce?: Omit<Tuning, "whenBusy"> | null; whenBusy?: WhenBusy | null }
  | { type: "spend"; fence: Fence; tokens: number; everyMs: number; details?: JsonObject }
  | {
      type: "send";
      id: string;
      replyId: string;
      parts: readonly Part[];
      when: "after-turn" | "if-quiet";
      address?: Json;
      metadata?: JsonObject;
      by?: string;
    };

/** Sent when a span is parked. */
export interface Fallback {
  replyId: string;
  parts: readonly Part[];
}

/** What a try of a part came to. `refused`: definitely not delivered, try again. `in-doubt`: perhaps delivered, try again. */
export interface PartReceipt {
  state: "sent" | "failed" | "unknown" | "refused" | "in-doubt";
  error?: string;
  externalId?: string;
  /** For `refused` and `in-doubt`: not before. */
  retryAfterMs?: number;
}

/** Why an attempt failed, and what to say if it was the last. */
export interface Failure {
  error: string;
  fallback?: Fallback | null | undefined;
}

/** An edit or a retraction before it has its version. */
export type Change = Omit<EditEntry, "version"> | Omit<RetractionEntry, "version">;
export type Changed = { is: "accepted" | "ignored" | "rejected"; version: Version };

/** A reply on its way into the outbox; sealed and complete unless it says otherwise. */
export interface NewReply extends Pick<Outbox, "replyId" | "fence" | "to"> {
  cause: "turn" | "fallback";
  parts: readonly Part[];
  sealed?: boolean;
  open?: boolean;
  overtaken?: boolean;
  metadata?: JsonObject | undefined;
  amends?: Amends | undefined;
}

/** What a `receipt` entry says besides the state. */
export type ReceiptNotes = Pick<EntryOf<"receipt">, "error" | "externalId" | "retryAtMs">;

type Lost = { is: "lost" };
type Fresh = { is: "early"; atMs: number } | { is: "superseded" } | Lost;

export interface Outcomes {
  receive:
    | { is: "accepted"; version: Version; seq: Seq; startAtMs: number | null; quietAtMs: number | null }
    | { is: "rejected"; reason: "full" };
  edit: Changed | { is: "unchanged"; version: Version };
  retract: Changed;
  typing: { is: "held" | "nothing" };
  flush: { is: "flushed" | "nothing" };
  judge: { is: "judged" | "nothing" };
  claim:
    | {
        is: "respond";
        fence: Fence;
        version: Version;
        from: Version;
        attempt: number;
        span: number;
        sealed: boolean;
        deadlineMs: number;
      }
    | { is: "deliver"; fence: Fence; replyId: string; deadlineMs: number }
    | { is: "nothing"; wakeAtMs: number | null };
  renew: { is: "renewed"; superseded: boolean; newer: boolean; cancelled: boolean; expiresAtMs: number } | Lost;
  discard: { is: "superseded" | "handed-back" | "current" } | Lost;
  absorb: { is: "absorbed"; version: Version } | { is: "sealed" } | Lost;
  seal: { is: "sealed" } | Fresh;
  /** `forMs`: so long from this write on no other attempt begins the effect. */
  begin:
    | { is: "run"; inDoubt: boolean; span: number; forMs: number }
    | { is: "done"; seq: Seq }
    | { is: "busy"; untilMs: number }
    | { is: "full" }
    | Fresh;
  end: { is: "recorded" | "late" };
  /** `sends`: the caller still holds the lease and the first part is its to send. */
  commit: { is: "committed"; replyId: string | null; sends: boolean } | Fresh;
  append: { is: "appended" | "full" } | Lost;
  close: { is: "closed"; done: boolean } | Lost;
  attempt:
    | { is: "attempting"; tries: number; doubt: boolean }
    | { is: "withdrawn"; done: true }
    | { is: "early"; atMs: number }
    | { is: "settled"; done: boolean }
    | Lost;
  settle: { is: "next" } | { is: "retry"; atMs: number; held: boolean } | { is: "closed" } | Lost;
  fail: { is: "retry"; atMs: number } | { is: "parked" } | { is: "cut" } | Lost;
  handoff: { is: "handed-off"; untilMs: number };
  humanReply: { is: "answered" };
  resume: { is: "resumed" | "nothing" };
  reset: { is: "reset" };
  retry: { is: "revived"; count: number } | { is: "nothing" };
  /** `stale`: an older draft must be taken back first, because newer input stands below it. */
  draft: { is: "drafted" | "stale"; draft: Draft } | Fresh;
  undraft: { is: "ended" | "nothing" };
  tune: { is: "tuned" | "unchanged" };
  spend: { is: "spent"; sinceMs: number; tokens: number };
  send: { is: "queued" | "dropped" | "full"; replyId: string };
}

export interface Step<T extends keyof Outcomes = keyof Outcomes> {
  /** The record to write under a new revision, or null when nothing changed. */
  next: ConversationRecord | null;
  entries: LogEntry[];
  outcome: Outcomes[T];
}

export type EventOf<T extends ProtocolEvent["type"]> = Extract<ProtocolEvent, { type: T }>;

/** A conversation nobody has written to. */
export function blank(id: string, nowMs: number): ConversationRecord {
  return {
    schema: recordSchema,
    id,
    revision: "",
    version: 0,
    answered: 0,
    seq: 0,
    span: 1,
    window: null,
    lease: null,
    fence: 0,
    attempts: 0,
    restarts: 0,
    failures: 0,
    retryAtMs: null,
    effects: {},
    outbox: null,
    sends: [],
    ended: [],
    handoff: null,
    parked: null,
    last: null,
    tempo: { sinceMs: 0, replies: 0 },
    address: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
}

/**
 * A deep copy of plain JSON, as JSON's own text would give it, at a fraction of its cost. Objects are spread, not built
 * key by key: that keeps them what JavaScript engines are fast with, and so is everything that reads them later.
 */
export function copyOf<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf) as T;
  const copy: Record<string, unknown> = { ...(value as Record<string, unknown>) };
  for (const key of Object.keys(copy)) {
    const inner = copy[key];
    if (inner === undefined) delete copy[key];
    else if (typeof inner === "object" && inner !== null) {
      // Assigned, this name would set the prototype.
      if (key === "__proto__") Object.defineProperty(copy, key, { value: copyOf(inner) });
      else copy[key] = copyOf(inner);
    }
  }
  return copy as T;
}

/** Whether two values are the same JSON, whatever the order of their keys; `undefined` is absence. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b))
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((one, at) => isSame(one, b[at]));
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  for (const key in left) if (!isSame(left[key], Object.hasOwn(right, key) ? right[key] : undefined)) return false;
  for (const key in right) if (right[key] !== undefined && !Object.hasOwn(left, key)) return false;
  return true;
}

/** A part that waits for its first try. */
export function queued(seq: Seq, index: number, nowMs: number): OutboxPart {
  return { state: "queued", doubt: false, tries: 0, nextAtMs: nowMs, seq, index };
}

/** Its outcome is still to come. */
export function unsettled({ state }: OutboxPart): boolean {
  return state === "queued" || state === "attempting";
}

/** A reply whose inputs are `r.answered < version ≤ reply.to`. Only a turn's can be taken back. */
export function outboxOf(
  r: ConversationRecord,
  reply: Pick<Outbox, "cause" | "replyId" | "fence" | "to" | "sealed" | "open" | "draft">,
  seq: Seq,
  count: number,
  nowMs: number,
): Outbox {
  const turn = reply.cause === "turn" ? { window: r.window, effects: r.effects } : { window: null, effects: {} };
  const parts = Array.from({ length: count }, (_, index) => queued(seq, index, nowMs));
  const start = { from: r.answered, committedAtMs: nowMs, ending: null, newerAtMs: null, parts };
  return { ...reply, ...start, ...turn, span: r.span, restarts: r.restarts };
}

/** A message of the bot's own accord in its place; its content stays in its `send` entry. */
export function outboxOfSend(r: ConversationRecord, { replyId, seq, parts }: QueuedSend, nowMs: number): Outbox {
  const place = { cause: "send" as const, fence: r.fence, to: r.answered, sealed: true, open: false };
  return outboxOf(r, { ...place, replyId }, seq, parts, nowMs);
}

/** What takes a draft back: an outbox of its own, so that retries, doubt and crashes are those of every part. */
export function outboxOfDraft(r: ConversationRecord, { id, seq, fence }: Draft, nowMs: number): Outbox {
  const place = { cause: "retract" as const, fence, to: r.answered, sealed: true, open: false };
  return outboxOf(r, { ...place, replyId: id }, seq, 1, nowMs);
}
