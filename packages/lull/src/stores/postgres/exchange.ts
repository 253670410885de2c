/**
 * The compare-and-exchange: a write as the parameters of its function, and the rows that come back as its answer.
 *
 * @module
 */
import { LullError } from "../../errors.ts";
import type { ConversationId, Json, LogEntry } from "../../model.ts";
import { type Conflict, type Duplicate, maxSkewMs, type Skewed, type Stored, type Write } from "../../ports.ts";
import { decodeEntry, decodeRecord, encodeEntry, encodeRecord } from "../codec.ts";
import { checkContinues, firstSeq } from "../write.ts";
import type { Row, Value } from "./driver.ts";
import { arrayText, integer } from "./rows.ts";

export const parkedBit = 1;
export const handedOffBit = 2;

/** A write as texts. Made at the call, so that the caller may go on changing its objects. */
export interface EncodedWrite {
  id: ConversationId;
  firstSeq: number;
  /** Parameters 4 to 17 of exchange.sql; the first three are times, known when it is sent. */
  values: readonly Value[];
}

export function encodeWrite(write: Write): EncodedWrite {
  const { id, next, expected, wakeAtMs, append = [], logFrom } = write;
  const status = (next.parked === null ? 0 : parkedBit) | (next.handoff === null ? 0 : handedOffBit);
  // A key given twice counts once, as the last says.
  const seen = [...new Map((write.seen ?? []).map((key) => [key.key, key])).values()];
  const first = firstSeq(write);
  return {
    id,
    firstSeq: first,
    values: [
      id,
      expected,
      next.revision,
      first,
      next.seq,
      status,
      encodeRecord(next),
      wakeAtMs,
      arrayText(append.map(encodeEntry)),
      arrayText(append.map((entry) => entry.atMs)),
      arrayText(seen.map(({ key }) => JSON.stringify(key))),
      arrayText(seen.map(({ value }) => JSON.stringify(value))),
      arrayText(seen.map(({ expiresAtMs }) => expiresAtMs)),
      logFrom ?? null,
    ],
  };
}

/** The first three parameters of exchange.sql. `clockMs` null: the server's own clock. */
export function times(clockMs: number | null, callerMs: number): Value[] {
  return [clockMs, callerMs, maxSkewMs];
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

function recordOf(id: ConversationId, text: unknown) {
  return typeof text === "string" ? decodeRecord(id, text) : null;
}

export function entryOf(id: ConversationId, seq: unknown, text: unknown): LogEntry {
  return decodeEntry(id, integer(seq), String(text));
}
