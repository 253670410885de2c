/**
 * The compare-and-exchange as one job of a transaction.
 *
 * @module
 */
import type { ConversationId, Json, LogEntry, Revision, Seq } from "../../model.ts";
import type { Conflict, Duplicate, Stored, Write } from "../../ports.ts";
import { decodeEntry, decodeRecord, encodeEntry, encodeRecord } from "../codec.ts";
import { checkContinues, firstSeq, notInLog } from "../write.ts";
import type { Sql } from "./sql.ts";

/** A write as texts. Made at the call, so that the caller may go on changing its objects. */
export interface EncodedWrite {
  id: ConversationId;
  expected: Revision | null;
  wakeAtMs: number | null;
  revision: Revision;
  seq: Seq;
  firstSeq: Seq;
  parked: 0 | 1;
  handedOff: 0 | 1;
  record: string;
  entries: { seq: Seq; atMs: number; text: string }[];
  seen: { key: string; expiresAtMs: number; value: string }[];
  logFrom: Seq | undefined;
}

type WithoutClock<T> = T extends unknown ? Omit<T, "nowMs"> : never;

export function encodeWrite(write: Write): EncodedWrite {
  const { id, next, expected, wakeAtMs, append = [], seen = [], logFrom } = write;
  return {
    id,
    expected,
    wakeAtMs,
    revision: next.revision,
    seq: next.seq,
    firstSeq: firstSeq(write),
    parked: next.parked === null ? 0 : 1,
    handedOff: next.handoff === null ? 0 : 1,
    record: encodeRecord(next),
    entries: append.map(encoded),
    seen: seen.map(({ key, expiresAtMs, value }) => ({
      key: JSON.stringify(key),
      expiresAtMs,
      value: JSON.stringify(value),
    })),
    logFrom,
  };
}

/** A log entry as a row. */
export function encoded(entry: LogEntry): EncodedWrite["entries"][number] {
  return { seq: entry.seq, atMs: entry.atMs, text: encodeEntry(entry) };
}

/**
 * Judges and applies a write; `nowMs` decides which seen keys have expired. Everything is judged before
 * anything is written.
 *
 * @throws LullError `store-not-contiguous`; `store-damaged` or `store-newer-schema` of the stored record
 */
export function exchange(sql: Sql, write: EncodedWrite, nowMs: number): WithoutClock<Stored | Conflict | Duplicate> {
  const { id, expected, revision } = write;
  const stored = sql.get<{ revision: Revision; seq: Seq; log_begins_at_ms: number | null; record: string }>(
    "recordGet",
    { id },
  );
  const current = () => (stored ? decodeRecord(id, stored.record) : null);

  const repeated: { key: string; value: Json }[] = [];
  for (const { key } of write.seen) {
    const row = sql.get<{ value: string }>("seenGet", { id, key, now_ms: nowMs });
    if (row) repeated.push({ key: JSON.parse(key), value: JSON.parse(row.value) });
  }
  if (repeated.length > 0) return { kind: "duplicate", record: current(), seen: repeated };
  if ((stored?.revision ?? null) !== expected) return { kind: "conflict", record: current() };
  checkContinues(id, write.firstSeq, stored?.seq ?? 0);

  const row = {
    id,
    revision,
    seq: write.seq,
    parked: write.parked,
    handed_off: write.handedOff,
    record: write.record,
  };
  if (expected === null) sql.run("recordInsert", row);
  else sql.run("recordUpdate", { ...row, expected });
  for (const { seq, atMs, text } of write.entries) sql.run("logAppend", { id, seq, at_ms: atMs, entry: text });
  if (write.entries.length > 0 && (stored?.log_begins_at_ms ?? null) === null) sql.run("recordLogBegins", { id });
  for (const { key, expiresAtMs, value } of write.seen) {
    sql.run("seenPut", { id, key, expires_at_ms: expiresAtMs, value });
  }
  setTimer(sql, id, write.wakeAtMs, revision);
  return { kind: "stored", log: write.logFrom === undefined ? [] : logPage(sql, id, write.logFrom, -1) };
}

/**
 * Replaces the content of entries that exist, under the record's revision; false, and nothing written, when it moved on.
 *
 * @throws LullError `invalid-argument` for an entry that is not there
 */
export function rewriteLog(
  sql: Sql,
  id: ConversationId,
  expected: Revision,
  entries: EncodedWrite["entries"],
): boolean {
  const stored = sql.get<{ revision: Revision }>("recordGet", { id });
  if (stored?.revision !== expected) return false;
  for (const { seq, atMs, text } of entries)
    if (sql.run("logRewrite", { id, seq, at_ms: atMs, entry: text }) === 0) throw notInLog(id, seq);
  return true;
}

export function setTimer(sql: Sql, id: ConversationId, wakeAtMs: number | null, revision: Revision): void {
  if (wakeAtMs === null) sql.run("timerDelete", { id });
  else sql.run("timerSet", { id, wake_at_ms: wakeAtMs, revision });
}

/** Entries from seq `from` on, oldest first; all of them with `limit` -1. */
export function logPage(sql: Sql, id: ConversationId, from: Seq, limit: number): LogEntry[] {
  return entriesOf(id, sql.all("logPage", { id, from, limit }));
}

export function entriesOf(id: ConversationId, rows: { seq: Seq; entry: string }[]): LogEntry[] {
  return rows.map(({ seq, entry }) => decodeEntry(id, seq, entry));
}
