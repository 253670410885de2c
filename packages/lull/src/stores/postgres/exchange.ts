/**
 * The compare-and-exchange: a write as the parameters of its function, and the rows that come back as its answer.
 *
 * @module
 */
import { LullError } from "../../errors.ts";
import type { ConversationId, Json, LogEntry, Revision, Seq } from "../../model.ts";
import { type Conflict, type Duplicate, maxSkewMs, type Skewed, type Stored, type Write } from "../../ports.ts";
import { decodeEntry, decodeRecord, encodeEntry, encodeRecord } from "../codec.ts";
import { checkContinues, firstSeq } from "../write.ts";
import { alone } from "./batch.ts";
import type { Row, Value } from "./driver.ts";
import { arrayText, integer } from "./rows.ts";

export const parkedBit = 1;
export const handedOffBit = 2;

/** A write as texts. Made at the call, so that the caller may go on changing its objects. */
export interface EncodedWrite {
  id: ConversationId;
  expected: Revision | null;
  revision: Revision;
  firstSeq: Seq;
  seq: Seq;
  status: number;
  record: string;
  wakeAtMs: number | null;
  logFrom: Seq | null;
  entries: string[];
  entriesAtMs: number[];
  keys: string[];
  values: string[];
  expireAtMs: number[];
  /** Characters to send, about. */
  size: number;
}

export function encodeWrite(write: Write): EncodedWrite {
  const { id, next, expected, wakeAtMs, append = [], logFrom } = write;
  // A key given twice counts once, as the last says.
  const seen = [...new Map((write.seen ?? []).map((key) => [key.key, key])).values()];
  const record = encodeRecord(next);
  const entries = append.map(encodeEntry);
  return {
    id,
    expected,
    revision: next.revision,
    firstSeq: firstSeq(write),
    seq: next.seq,
    status: (next.parked === null ? 0 : parkedBit) | (next.handoff === null ? 0 : handedOffBit),
    record,
    wakeAtMs,
    logFrom: logFrom ?? null,
    entries,
    entriesAtMs: append.map((entry) => entry.atMs),
    keys: seen.map(({ key }) => JSON.stringify(key)),
    values: seen.map(({ value }) => JSON.stringify(value)),
    expireAtMs: seen.map(({ expiresAtMs }) => expiresAtMs),
    size: entries.reduce((sum, entry) => sum + entry.length, record.length),
  };
}

/** When a write was decided, by its caller's clock, and the store's clock, where the server's own is not used. */
export interface Times {
  clockMs: number | null;
  callerMs: number;
}

/** The parameters of exchange.sql. */
export function valuesOf(write: EncodedWrite, { clockMs, callerMs }: Times): Value[] {
  return [
    clockMs,
    callerMs,
    maxSkewMs,
    write.id,
    write.expected,
    write.revision,
    write.firstSeq,
    write.seq,
    write.status,
    write.record,
    write.wakeAtMs,
    arrayText(write.entries),
    arrayText(write.entriesAtMs),
    arrayText(write.keys),
    arrayText(write.values),
    arrayText(write.expireAtMs),
    write.logFrom,
  ];
}

/** The parameters of exchange-many.sql. */
export function valuesOfMany(writes: readonly EncodedWrite[], callersMs: number[], clockMs: number | null): Value[] {
  const each = (pick: (write: EncodedWrite) => string | number | null) => arrayText(writes.map(pick));
  const upTo = (count: (write: EncodedWrite) => number) => {
    let end = 0;
    return each((write) => {
      end += count(write);
      return end;
    });
  };
  // What was made with JSON.stringify has no line breaks.
  const lines = (pick: (write: EncodedWrite) => string[]) => writes.flatMap(pick).join("\n");
  return [
    clockMs,
    maxSkewMs,
    arrayText(callersMs),
    each(({ id }) => id),
    each(({ expected }) => expected),
    each(({ revision }) => revision),
    each(({ firstSeq }) => firstSeq),
    each(({ seq }) => seq),
    each(({ status }) => status),
    each(({ wakeAtMs }) => wakeAtMs),
    each(({ logFrom }) => logFrom),
    upTo(({ entries }) => entries.length),
    upTo(({ keys }) => keys.length),
    lines(({ record }) => [record]),
    arrayText(writes.flatMap(({ entriesAtMs }) => entriesAtMs)),
    lines(({ entries }) => entries),
    arrayText(writes.flatMap(({ expireAtMs }) => expireAtMs)),
    lines(({ keys }) => keys),
    lines(({ values }) => values),
  ];
}

/** @throws LullError `store-not-contiguous`; `store-damaged` or `store-newer-schema` of the stored record */
export function answerOf({ id, firstSeq: first }: EncodedWrite, rows: Row[]): Stored | Conflict | Duplicate | Skewed {
  const [head, ...rest] = rows;
  if (head === undefined) throw new LullError("store-damaged", "Postgres answered nothing to an exchange.");
  const [kind, now, number, text] = head;
  const nowMs = integer(now);
  switch (kind) {
    case "stored":
      return { kind, log: rest.map((row) => entryOf(id, row[2], row[3])), nowMs };
    case "conflict":
      return { kind, record: recordOf(id, text), nowMs };
    case "duplicate": {
      const seen = rest.map(([, , , key, value]) => ({
        key: JSON.parse(String(key)) as string,
        value: JSON.parse(String(value)) as Json,
      }));
      return { kind, record: recordOf(id, text), seen, nowMs };
    }
    case "skewed":
      return { kind, nowMs };
    case "gap":
      checkContinues(id, first, integer(number));
  }
  throw new LullError("store-damaged", `Postgres answered ${JSON.stringify(kind)} to an exchange.`);
}

/**
 * An answer for each write of exchange-many.sql: stored, or why its log could not be read, or that it has to go alone.
 */
export function answersOfMany(
  writes: readonly EncodedWrite[],
  [head, ...rest]: Row[],
): (Stored | LullError | typeof alone)[] {
  const nowMs = integer(head?.[1]);
  const answers = writes.map((): Stored | LullError | typeof alone => ({ kind: "stored", log: [], nowMs }));
  for (const [number, , seq, text] of rest) {
    const index = integer(number) - 1;
    const [write, answer] = [writes[index], answers[index]];
    if (seq === null || write === undefined) answers[index] = alone;
    else if (typeof answer === "object" && "log" in answer) {
      try {
        answer.log.push(entryOf(write.id, seq, text));
      } catch (error) {
        answers[index] = error as LullError;
      }
    }
  }
  return answers;
}

function recordOf(id: ConversationId, text: unknown) {
  return typeof text === "string" ? decodeRecord(id, text) : null;
}

export function entryOf(id: ConversationId, seq: unknown, text: unknown): LogEntry {
  return decodeEntry(id, integer(seq), String(text));
}
