/**
 * Records and log entries as JSON text, for every store that keeps text. What comes back from a disk is not
 * trusted: a reader gets the value that was written, migrated to this release's schema, or an error that
 * names the conversation.
 *
 * @module
 */
import { LullError } from "../errors.ts";
import {
  type ConversationId,
  type ConversationRecord,
  type Crossing,
  type Draft,
  type Effect,
  type EndedAttempt,
  type Handoff,
  type Lease,
  type LogEntry,
  type Outbox,
  type OutboxPart,
  type Pace,
  type Parked,
  type PastSpan,
  type QueuedSend,
  recordSchema,
  type Seq,
  type Tuning,
  type Window,
} from "../model.ts";
import {
  dictionary,
  flag,
  instant,
  integer,
  isObject,
  list,
  nullable,
  object,
  oneOf,
  optional,
  present,
  type Shape,
  text,
  when,
} from "./shape.ts";

/** The newest log entry schema this release reads. An entry without `schema` has schema 1. */
export const entrySchema = 1;

/** From the schema that is its key to the next one. */
export type Migrations = Readonly<Record<number, (old: Record<string, unknown>) => Record<string, unknown>>>;

const recordMigrations: Migrations = {};
const entryMigrations: Migrations = {};

const crossing = { replyId: text, seq: integer };

const window = object<Window>({
  fromSeq: integer,
  openedAtMs: instant,
  lastInputAtMs: instant,
  holdUntilMs: nullable(instant),
  incompleteUntilMs: nullable(instant),
  quietMs: integer,
  reason: optional(text),
  baseMs: optional(integer),
  typingSinceMs: optional(instant),
  crossed: optional(object<Crossing>(crossing)),
  count: integer,
});

const lease = object<Lease>({
  owner: text,
  claimId: text,
  fence: integer,
  purpose: oneOf("respond", "deliver"),
  version: integer,
  expiresAtMs: instant,
  deadlineMs: instant,
  sealed: flag,
  newer: nullable(window),
});

type EndedEffect = Extract<Effect, { state: "ended" }>;
type BegunEffect = Extract<Effect, { state: "begun" }>;

const effects = dictionary((value) =>
  isObject(value) && value.state === "ended"
    ? object<Omit<EndedEffect, "state">>({ fence: integer, seq: integer })(value)
    : object<BegunEffect>({ state: oneOf("begun"), fence: integer, untilMs: instant, doubt: optional(flag) })(value),
);

const outbox = object<Outbox>({
  replyId: text,
  cause: oneOf("turn", "fallback", "send", "retract"),
  fence: integer,
  from: integer,
  to: integer,
  committedAtMs: instant,
  sealed: flag,
  open: flag,
  ending: oneOf("cut", "cancelled", null),
  parts: list(
    object<OutboxPart>({
      state: oneOf("queued", "attempting", "sent", "failed", "unknown", "cancelled"),
      doubt: flag,
      tries: integer,
      nextAtMs: instant,
      seq: integer,
      index: integer,
    }),
  ),
  draft: optional(text),
  newerAtMs: nullable(instant),
  window: nullable(window),
  span: integer,
  restarts: integer,
  effects,
});

const span = { from: integer, to: integer, fromSeq: integer };

const record = object<ConversationRecord>({
  schema: integer,
  id: text,
  revision: text,
  version: integer,
  answered: integer,
  seq: integer,
  span: integer,
  window: nullable(window),
  lease: nullable(lease),
  fence: integer,
  attempts: integer,
  restarts: integer,
  failures: integer,
  retryAtMs: nullable(instant),
  effects,
  outbox: nullable(outbox),
  sends: list(object<QueuedSend>({ replyId: text, seq: integer, parts: integer, atMs: instant })),
  draft: optional(
    nullable(
      object<Draft>({
        id: text,
        seq: integer,
        fence: integer,
        version: integer,
        address: present,
        atMs: instant,
        externalId: optional(text),
      }),
    ),
  ),
  pace: optional(
    object<Pace>({
      shown: nullable(object<NonNullable<Pace["shown"]>>({ ...crossing, atMs: instant })),
      replies: integer,
      crossed: integer,
      factor: when((value) => typeof value === "number" && value > 0 && value <= 10),
    }),
  ),
  spent: optional(object<NonNullable<ConversationRecord["spent"]>>({ sinceMs: instant, tokens: integer })),
  ended: list(object<EndedAttempt>({ fence: integer, claimId: text, outcome: text })),
  handoff: nullable(
    object<Handoff>({ sinceMs: instant, untilMs: instant, backlog: oneOf("answer", "context"), by: optional(text) }),
  ),
  parked: nullable(object<Parked>({ ...span, atMs: instant, reason: text })),
  last: nullable(object<PastSpan>(span)),
  tuning: optional(
    object<Tuning>({
      quietMs: optional(integer),
      startMs: optional(integer),
      maxWaitMs: optional(integer),
      adaptive: optional(present),
      whenBusy: optional(oneOf("interrupt", "queue", "steer")),
    }),
  ),
  tempo: object<ConversationRecord["tempo"]>({ sinceMs: instant, replies: integer }),
  address: present,
  createdAtMs: instant,
  updatedAtMs: instant,
});

/** Bodies are checked where the code indexes into them; a kind this release does not know is kept as it is. */
const bodies: Readonly<Record<string, Shape>> = {
  message: object({ id: text, version: integer, parts: list(present) }),
  edit: object({ id: text, target: text, version: integer, parts: list(present) }),
  retraction: object({ id: text, target: text, version: integer }),
  retry: object({ version: integer, from: integer, to: integer }),
  reply: object({ replyId: text, from: integer, to: integer, parts: list(present) }),
  part: object({ replyId: text, index: integer, part: present }),
  send: object({ replyId: text, parts: list(present) }),
  human: object({ id: text, upTo: integer, parts: list(present) }),
  effect: object({ key: text, span: integer, value: present }),
};

const entry = object({ kind: text, seq: integer, atMs: instant });

export function encodeRecord(value: ConversationRecord): string {
  return JSON.stringify(value);
}

/**
 * @throws LullError `store-newer-schema` when a newer release wrote it, `store-damaged` when it is not what
 * any release wrote.
 */
export function decodeRecord(id: ConversationId, stored: string): ConversationRecord {
  const what = `The record of conversation ${JSON.stringify(id)}`;
  const raw = migrate(what, id, parse(what, id, stored), recordSchema, recordMigrations);
  check(what, id, raw, record);
  if (raw.id !== id) throw damaged(what, id, `belongs to ${JSON.stringify(raw.id)}`);
  return raw as unknown as ConversationRecord;
}

export function encodeEntry(value: LogEntry): string {
  return JSON.stringify(value);
}

/** @throws LullError as {@link decodeRecord}. */
export function decodeEntry(id: ConversationId, seq: Seq, stored: string): LogEntry {
  const what = `Log entry ${seq} of conversation ${JSON.stringify(id)}`;
  const raw = migrate(what, id, parse(what, id, stored), entrySchema, entryMigrations);
  check(what, id, raw, entry);
  const body = Object.hasOwn(bodies, String(raw.kind)) ? bodies[String(raw.kind)] : undefined;
  if (body) check(what, id, raw, body);
  if (raw.seq !== seq) throw damaged(what, id, `says it is entry ${raw.seq}`);
  return raw as unknown as LogEntry;
}

/** Steps `raw` up to `target`. Exported for tests: there is no older schema yet. */
export function migrate(
  what: string,
  id: ConversationId,
  raw: Record<string, unknown>,
  target: number,
  steps: Migrations,
): Record<string, unknown> {
  let value = raw;
  let schema = value.schema ?? 1;
  if (typeof schema !== "number" || !Number.isSafeInteger(schema) || schema < 1) {
    throw damaged(what, id, "has no valid schema number");
  }
  if (schema > target) {
    throw new LullError(
      "store-newer-schema",
      `${what} was written with schema ${schema}; this release of lull reads up to ${target}. ` +
        "Let processes of the newer release handle it, or upgrade this one.",
      { details: { conversation: id, stored: schema, supported: target } },
    );
  }
  for (; schema < target; schema++) {
    const step = steps[schema];
    if (!step) throw damaged(what, id, `has schema ${schema}, which no release wrote`);
    value = step(value);
  }
  return value;
}

function parse(what: string, id: ConversationId, stored: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(stored);
  } catch {
    // The parser's message quotes the text, which may be a user's.
    throw damaged(what, id, "is not JSON");
  }
  if (!isObject(value)) throw damaged(what, id, "is not an object");
  return value;
}

function check(what: string, id: ConversationId, value: unknown, shape: Shape): void {
  const misfit = shape(value);
  if (misfit !== null) throw damaged(what, id, `has a wrong or missing "${misfit}"`);
}

function damaged(what: string, id: ConversationId, why: string): LullError {
  return new LullError("store-damaged", `${what} is damaged: it ${why}.`, {
    details: { conversation: id, why },
  });
}
