/**
 * What every store checks of its arguments, so that a mistake shows in the memory store of a unit test and
 * not first in production.
 *
 * @module
 */
import { LullError } from "../errors.ts";
import type { ConversationId, LogEntry, Seq } from "../model.ts";
import { recordSchema } from "../model.ts";
import type { ListFilter, ListPage, LogPage, Pause, Write } from "../ports.ts";

/** NUL ends a text in some databases; a lone surrogate has no UTF-8 form: both would make two ids one. */
const unstorable = /\0|\p{Surrogate}/u;

/** @throws LullError `invalid-argument` */
export function checkId(id: ConversationId): void {
  if (typeof id !== "string" || id === "" || unstorable.test(id)) {
    throw invalid(
      `A conversation id is a non-empty string without NUL and lone surrogates, not ${JSON.stringify(id)}.`,
    );
  }
}

/**
 * Everything about a write that can be judged without looking at the store.
 *
 * @throws LullError `invalid-argument`, `store-not-contiguous`
 */
export function checkWrite(write: Write): void {
  const { id, next, expected, wakeAtMs, append = [], seen = [] } = write;
  checkId(id);
  if (next.id !== id) throw invalid(`The record of ${next.id} cannot be stored as ${id}.`);
  if (next.schema !== recordSchema) {
    throw invalid(`This release writes record schema ${recordSchema}, not ${next.schema}.`);
  }
  if (typeof next.revision !== "string" || next.revision === "" || next.revision === expected) {
    throw invalid(`Every write of ${id} needs a new revision.`);
  }
  if (wakeAtMs !== null) checkInstant("wakeAtMs", wakeAtMs);
  checkInstant("nowMs", write.nowMs);
  let seq: Seq | undefined;
  for (const entry of append) {
    checkInstant("atMs of a log entry", entry.atMs);
    if (seq !== undefined && entry.seq !== seq + 1) throw notContiguous(id, seq, entry.seq);
    seq = entry.seq;
  }
  if (seq !== undefined && next.seq !== seq) throw notContiguous(id, next.seq - 1, seq);
  for (const { key, expiresAtMs } of seen) {
    if (typeof key !== "string" || key === "") throw invalid("A seen key is a non-empty string.");
    checkInstant("expiresAtMs of a seen key", expiresAtMs);
  }
}

/** Where the log of a write begins; for a write without entries, where the next one would. */
export function firstSeq({ next, append }: Write): Seq {
  return append?.[0]?.seq ?? next.seq + 1;
}

/**
 * The log of a write has to continue the stored one.
 *
 * @throws LullError `store-not-contiguous`
 */
export function checkContinues(id: ConversationId, first: Seq, storedSeq: Seq): void {
  if (first !== storedSeq + 1) throw notContiguous(id, storedSeq, first);
}

/** @throws LullError `invalid-argument` */
export function checkRewrite(id: ConversationId, entries: readonly LogEntry[]): void {
  checkId(id);
  for (const { seq, atMs } of entries) {
    if (!Number.isSafeInteger(seq) || seq < 1)
      throw invalid(`The seq of a log entry is a whole number from 1, not ${seq}.`);
    checkInstant("atMs of a log entry", atMs);
  }
}

/** A rewritten entry has to be there. */
export function notInLog(id: ConversationId, seq: Seq): LullError {
  return new LullError(
    "invalid-argument",
    `The log of conversation ${JSON.stringify(id)} has no entry ${seq}. Nothing was written.`,
    { details: { conversation: id, seq } },
  );
}

/** @throws LullError `invalid-argument` */
export function checkPause(pause: Pause | null): void {
  if (pause !== null) checkInstant("sinceMs of a pause", pause.sinceMs);
}

/** Clamped to 1…`most`. @throws LullError `invalid-argument` when it is no positive number */
export function pageSize(limit: number | undefined, usual: number, most = 1000): number {
  const size = limit ?? usual;
  if (!(size >= 1)) throw invalid(`A limit is a positive number, not ${size}.`);
  return Math.min(Math.floor(size), most);
}

/** `after` and `prefix` may be empty, which means: from the start, all. */
export function checkList(page: ListPage, filter: ListFilter): void {
  for (const id of [page.after, filter.prefix]) if (id) checkId(id);
}

/** The bounds of a log page: `from ≤ seq < before`, and which end a limit keeps. */
export function logBounds(page: LogPage): { from: Seq; before: Seq | null; limit: number; newest: boolean } {
  return {
    from: page.from ?? 1,
    before: page.before ?? null,
    limit: pageSize(page.limit, 100),
    newest: page.before !== undefined,
  };
}

function checkInstant(name: string, value: number): void {
  if (!Number.isSafeInteger(value)) throw invalid(`${name} is a whole number of milliseconds, not ${value}.`);
}

function invalid(message: string): LullError {
  return new LullError("invalid-argument", message);
}

function notContiguous(id: ConversationId, last: Seq, next: Seq): LullError {
  return new LullError(
    "store-not-contiguous",
    `Log entry ${next} of conversation ${JSON.stringify(id)} does not follow entry ${last}. Nothing was written.`,
    { details: { conversation: id, last, next } },
  );
}
