/**
 * The compare-and-exchange: a write as the arguments of its script, and what comes back as its answer.
 *
 * @module
 */
import { LullError } from "../../errors.ts";
import type { ConversationId, ConversationRecord, Json, LogEntry, Seq } from "../../model.ts";
import { type Conflict, type Duplicate, maxSkewMs, type Skewed, type Stored, type Write } from "../../ports.ts";
import { decodeEntry, decodeRecord, encodeEntry, encodeRecord } from "../codec.ts";
import { checkContinues, firstSeq } from "../write.ts";

const parkedFlag = 1;
const handedFlag = 2;
const activeFlag = 4;

/** A write as texts. Made at the call, so that the caller may go on changing its objects. */
export interface EncodedWrite {
  id: ConversationId;
  firstSeq: Seq;
  nowMs: number;
  /** The arguments of exchange.lua from the sixth on. */
  args: readonly string[];
}

export function encodeWrite(write: Write): EncodedWrite {
  const { id, next, expected, wakeAtMs, append = [], logFrom } = write;
  const flags =
    (next.parked === null ? 0 : parkedFlag) |
    (next.handoff === null ? 0 : handedFlag) |
    (wakeAtMs === null ? 0 : activeFlag);
  // A key given twice counts once, as the last says.
  const seen = [...new Map((write.seen ?? []).map((key) => [key.key, key])).values()];
  const first = firstSeq(write);
  const args = [
    String(maxSkewMs),
    id,
    expected === null ? "" : JSON.stringify(expected),
    JSON.stringify(next.revision),
    String(first),
    String(next.seq),
    String(flags),
    encodeRecord(next),
    wakeAtMs === null ? "" : String(wakeAtMs),
    logFrom === undefined ? "" : String(logFrom),
    String(seen.length),
  ];
  for (const { key, expiresAtMs, value } of seen) {
    args.push(JSON.stringify(key), String(expiresAtMs), JSON.stringify(value));
  }
  args.push(String(append.length));
  for (const entry of append) args.push(String(entry.atMs), encodeEntry(entry));
  return { id, firstSeq: first, nowMs: write.nowMs, args };
}

/** What the scripts about one conversation answer. */
export interface Answer {
  kind: string;
  nowMs: number;
  /** How many writes the shard has been given, see ledger.ts. */
  count: number;
  text: string;
  number: number;
  rest: readonly string[];
}

export function answerOf(reply: unknown): Answer {
  const [kind, now, count, text, number, ...rest] = reply as [string, string, number, string, number, ...string[]];
  return { kind, nowMs: Number(now), count: Number(count), text, number: Number(number), rest };
}

/** @throws LullError `store-not-contiguous`; `store-damaged` or `store-newer-schema` of the stored record */
export function outcomeOf(write: EncodedWrite, answer: Answer): Stored | Conflict | Duplicate | Skewed {
  const { id } = write;
  const { kind, nowMs, text, number, rest } = answer;
  switch (kind) {
    case "stored":
      return { kind, log: entriesOf(id, number, rest), nowMs };
    case "conflict":
      return { kind, record: recordOf(id, text), nowMs };
    case "duplicate": {
      const seen = [];
      for (let at = 0; at < rest.length; at += 2) {
        seen.push({ key: JSON.parse(rest[at] as string) as string, value: JSON.parse(rest[at + 1] as string) as Json });
      }
      return { kind, record: recordOf(id, text), seen, nowMs };
    }
    case "skewed":
      return { kind, nowMs };
    case "gap":
      checkContinues(id, write.firstSeq, number);
  }
  if (kind === "damaged") {
    const message = `The log of conversation ${JSON.stringify(id)} has ${number} entries, and its record says otherwise.`;
    throw new LullError("store-damaged", message, { details: { conversation: id } });
  }
  throw new LullError("store-damaged", `Redis answered ${JSON.stringify(kind)} to an exchange.`);
}

export function recordOf(id: ConversationId, text: string): ConversationRecord | null {
  return text === "" ? null : decodeRecord(id, text);
}

/** Entries as they are stored, `<time> <entry>`, the first of them with that seq. */
export function entriesOf(id: ConversationId, first: Seq, stored: readonly string[]): LogEntry[] {
  return stored.map((text, index) => decodeEntry(id, first + index, text.slice(text.indexOf(" ") + 1)));
}

/** What is stored as a record: a line about it, and its JSON. */
export function splitRecord(stored: string): { revision: string; text: string } {
  const lineEnd = stored.indexOf("\n");
  const [, , , revision = '""'] = /^(\d+) (\d+) (\d) (.*)$/.exec(stored.slice(0, lineEnd))?.slice(1) ?? [];
  return { revision: JSON.parse(revision) as string, text: stored.slice(lineEnd + 1) };
}
