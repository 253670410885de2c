/**
 * Records, entries and writes for tests of stores: plausible, never computed by the protocol.
 *
 * @module
 */
import { blank, type ConversationId, type ConversationRecord, type LogEntry } from "../model.ts";
import type { Write } from "../ports.ts";

export const startMs = Date.UTC(2026, 0, 5, 9);

let revisions = 0;

/** The record of a conversation nobody has written to, ready to be the first write. */
export function blankRecord(id: ConversationId, change: Partial<ConversationRecord> = {}): ConversationRecord {
  return { ...blank(id, startMs), revision: `r${++revisions}`, address: { chat: id }, ...change };
}

export function messageEntry(seq: number, text = `message ${seq}`, atMs = startMs): LogEntry {
  return { kind: "message", id: `m${seq}`, version: seq, parts: [{ type: "text", text }], seq, atMs };
}

export interface WriteChange extends Partial<Omit<Write, "id" | "next" | "append">> {
  record?: Partial<ConversationRecord>;
  /** How many messages to append, or the entries themselves. */
  append?: number | LogEntry[];
}

/** The write that follows `before` (null: the first). */
export function writeAfter(before: ConversationRecord | null, id: ConversationId, change: WriteChange = {}): Write {
  const { record, append = 0, ...rest } = change;
  const last = before?.seq ?? 0;
  const entries =
    typeof append === "number" ? Array.from({ length: append }, (_, index) => messageEntry(last + 1 + index)) : append;
  const next = {
    ...(before ?? blankRecord(id)),
    revision: `r${++revisions}`,
    seq: last + entries.length,
    version: (before?.version ?? 0) + entries.length,
    ...record,
  };
  return {
    id,
    next,
    expected: before?.revision ?? null,
    wakeAtMs: null,
    nowMs: startMs,
    ...(entries.length > 0 ? { append: entries } : {}),
    ...rest,
  };
}
