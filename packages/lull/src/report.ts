/**
 * A conversation as somebody may hand it in with a bug: what happened and when, without a text, a name or an id of
 * theirs. `lull/testing` plays it again. Pure.
 *
 * @module
 */
import { explain } from "./explain.ts";
import type { ConversationRecord, Limits, LogEntry, WhenBusy } from "./model.ts";
import { redacted } from "./redact.ts";

export const reportSchema = "lull-report/1";

/** Plain JSON. Instants are milliseconds on the store's clock, as they are in the log. */
export interface Report {
  schema: typeof reportSchema;
  /** A stand-in, like every id: `m1` is a message or a call, `r1` a reply, `process 1` a process. */
  conversation: string;
  /** When it was made. */
  atMs: number;
  /** Lengths instead of texts, as {@link redacted} leaves them. */
  record: ConversationRecord;
  /** The newest entries. */
  log: LogEntry[];
  /** What `explain` says. */
  sentences: string[];
  /** What was in force for this conversation when the report was made. */
  settings: { limits: Limits; whenBusy: WhenBusy };
  /** Of whatever the maker of the report thinks worth telling. */
  versions: Record<string, string>;
}

/** What a report is made of. */
export interface Reported extends Pick<Report, "settings" | "versions"> {
  record: ConversationRecord;
  log: readonly LogEntry[];
  nowMs: number;
  wakeAtMs: number | null;
}

export function reportOf({ record, log, nowMs, wakeAtMs, settings, versions }: Reported): Report {
  const conversation = "conversation";
  const ids = new Map([[record.id, conversation]]);
  const entries = standIns(redacted(log), ids) as LogEntry[];
  const known = standIns(redacted(record), ids) as ConversationRecord;
  return {
    schema: reportSchema,
    conversation,
    atMs: nowMs,
    record: known,
    log: entries,
    sentences: explain(known, entries, nowMs, wakeAtMs),
    settings,
    versions,
  };
}

/** What an id names, by its field. */
const named: Record<string, string> = {
  id: "m",
  target: "m",
  replyTo: "m",
  replyId: "r",
  draftId: "d",
  owner: "process ",
  claimId: "claim ",
  revision: "write ",
};

/** A copy in which every id is another one, always the same for the same. Changes `ids`. */
function standIns(value: unknown, ids: Map<string, string>, field = ""): unknown {
  if (typeof value === "string") {
    const prefix = named[field];
    if (prefix === undefined) return value;
    const known = ids.get(value) ?? `${prefix}${ids.size}`;
    ids.set(value, known);
    return known;
  }
  if (Array.isArray(value)) return value.map((item) => standIns(item, ids, field));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, standIns(item, ids, name)]));
}
