/**
 * Repair, pruning and erasure, each as one job of a transaction.
 *
 * @module
 */
import type { ConversationId, ConversationRecord, Revision, Seq } from "../../model.ts";
import { setTimer } from "./exchange.ts";
import type { Sql } from "./sql.ts";

/** Null for a record this release cannot read; says so elsewhere. */
export type Readable = (id: ConversationId, text: string | null) => ConversationRecord | null;

/** The timers of `limit` conversations behind `after`, made what the records demand. */
export function repairPage(
  sql: Sql,
  readable: Readable,
  { after, limit }: { after: ConversationId; limit: number },
  wakeAt: (record: ConversationRecord) => number | null,
): { repaired: ConversationId[]; next: ConversationId | null } {
  const rows = sql.all<{
    id: ConversationId;
    revision: Revision;
    record: string;
    wake_at_ms: number | null;
  }>("repairPage", { after, limit: limit + 1 });
  const repaired: ConversationId[] = [];
  for (const row of rows.slice(0, limit)) {
    const record = readable(row.id, row.record);
    if (!record) continue;
    const wakeAtMs = wakeAt(record);
    if (wakeAtMs === row.wake_at_ms) continue;
    setTimer(sql, row.id, wakeAtMs, row.revision);
    repaired.push(row.id);
  }
  return { repaired, next: rows.length > limit ? (rows[limit - 1]?.id ?? null) : null };
}

/** Where a walk through the oldest logs stands. */
export interface PrunePosition {
  afterMs: number;
  afterId: ConversationId;
}

export const pruneStart: PrunePosition = { afterMs: Number.MIN_SAFE_INTEGER, afterId: "" };

/** Conversations per transaction: other writes get their turn in between. */
const prunedTogether = 100;

/** Prunes the logs of some conversations; `next` is null when none is left. */
export function pruneLogs(
  sql: Sql,
  readable: Readable,
  position: PrunePosition,
  options: { logBeforeMs: number; keepFrom: (record: ConversationRecord) => Seq; limit: number },
): { entries: number; next: PrunePosition | null } {
  const rows = sql.all<{ id: ConversationId; seq: Seq; log_begins_at_ms: number; record: string }>("prunePage", {
    before_ms: options.logBeforeMs,
    after_ms: position.afterMs,
    after_id: position.afterId,
    limit: prunedTogether,
  });
  let entries = 0;
  for (const { id, seq, record: text } of rows) {
    if (entries === options.limit) return { entries, next: null };
    const record = readable(id, text);
    if (!record) continue;
    const { first, young } = sql.get<{ first: Seq | null; young: Seq | null }>("logBounds", {
      id,
      before_ms: options.logBeforeMs,
    }) ?? { first: null, young: null };
    if (first === null) continue;
    // Only ever a beginning of the log: what is left has no gaps.
    const to = Math.min(options.keepFrom(record), young ?? seq + 1, first + options.limit - entries);
    if (to <= first) continue;
    entries += sql.run("logPrune", { id, to });
    sql.run("recordLogBegins", { id });
  }
  const last = rows.at(-1);
  if (!last || rows.length < prunedTogether) return { entries, next: null };
  return { entries, next: { afterMs: last.log_begins_at_ms, afterId: last.id } };
}

export function pruneSeen(sql: Sql, untilMs: number, limit: number): number {
  return sql.run("seenPrune", { until_ms: untilMs, limit });
}

/** @returns false when there was nothing */
export function eraseConversation(sql: Sql, id: ConversationId): boolean {
  const areas = ["recordDelete", "logDelete", "timerDelete", "seenDelete"] as const;
  return areas.map((area) => sql.run(area, { id })).some((rows) => rows > 0);
}
