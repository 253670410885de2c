/**
 * Repair, pruning and erasure. Nothing here locks more than it needs for one short transaction, and nothing waits
 * while it holds what others want.
 *
 * @module
 */
import type { ConversationId, ConversationRecord, LogEntry, Revision, Seq } from "../../model.ts";
import { encodeEntry } from "../codec.ts";
import { notInLog } from "../write.ts";
import type { Row, Value } from "./driver.ts";
import { arrayText, integer, integerOrNull } from "./rows.ts";
import type { Statements } from "./sql.ts";

export type Ask = (text: string, values?: readonly Value[]) => Promise<Row[]>;
/** Null for a record this release cannot read; says so elsewhere. */
export type Readable = (id: ConversationId, text: string | null) => ConversationRecord | null;

/** The timers of `limit` conversations behind `after`, made what the records demand. */
export async function repairPage(
  ask: Ask,
  sql: Statements,
  readable: Readable,
  { after, limit }: { after: ConversationId; limit: number },
  wakeAt: (record: ConversationRecord) => number | null,
): Promise<{ repaired: ConversationId[]; next: ConversationId | null }> {
  const rows = await ask(sql.repairPage, [after, limit + 1]);
  const repaired: ConversationId[] = [];
  for (const [id, revision, text, wakeAtMs] of rows.slice(0, limit) as [string, Revision, string, unknown][]) {
    const record = readable(id, text);
    if (!record) continue;
    const wanted = wakeAt(record);
    if (wanted === integerOrNull(wakeAtMs)) continue;
    const [done] = await ask(sql.repairOne, [id, revision, wanted]);
    // Changed meanwhile: then its timer is that of the newer record.
    if (integer(done?.[0]) === 1) repaired.push(id);
  }
  return { repaired, next: rows.length > limit ? ((rows[limit - 1]?.[0] as string) ?? null) : null };
}

/** Rows per transaction: other writes get their turn in between. */
const keysTogether = 1_000;
const conversationsTogether = 100;

export async function pruneSeen(ask: Ask, sql: Statements, untilMs: number, most: number): Promise<number> {
  let total = 0;
  for (;;) {
    const limit = Math.min(keysTogether, most - total);
    const [row] = await ask(sql.seenPrune, [untilMs, limit]);
    const pruned = integer(row?.[0]);
    total += pruned;
    if (pruned < limit || total >= most) return total;
  }
}

export async function pruneLogs(
  ask: Ask,
  sql: Statements,
  readable: Readable,
  { beforeMs, keepFrom, most }: { beforeMs: number; keepFrom: (record: ConversationRecord) => Seq; most: number },
): Promise<number> {
  let total = 0;
  let after: { ms: number; id: ConversationId } = { ms: Number.MIN_SAFE_INTEGER, id: "" };
  while (total < most) {
    const rows = await ask(sql.prunePage, [beforeMs, after.ms, after.id, conversationsTogether]);
    const ids: ConversationId[] = [];
    const revisions: Revision[] = [];
    const from: Seq[] = [];
    for (const [id, revision, , text] of rows as [string, Revision, unknown, string][]) {
      const record = readable(id, text);
      if (!record) continue;
      ids.push(id);
      revisions.push(revision);
      from.push(keepFrom(record));
    }
    if (ids.length > 0) {
      const arrays = [ids, revisions, from].map(arrayText);
      const [row] = await ask(sql.pruneLogs, [...arrays, beforeMs, most - total]);
      total += integer(row?.[0]);
    }
    const last = rows.at(-1);
    if (!last || rows.length < conversationsTogether) break;
    after = { ms: integer(last[2]), id: String(last[0]) };
  }
  return total;
}

/** @throws LullError `invalid-argument` for an entry that is not there */
export async function rewriteLog(
  ask: Ask,
  sql: Statements,
  id: ConversationId,
  expected: Revision,
  entries: readonly LogEntry[],
): Promise<boolean> {
  const columns = [entries.map(({ seq }) => seq), entries.map(({ atMs }) => atMs), entries.map(encodeEntry)];
  const [row] = await ask(sql.logRewrite, [id, expected, ...columns.map(arrayText)]);
  const done = integer(row?.[0]);
  if (done < 0) throw notInLog(id, entries[0]?.seq ?? 0);
  return done === 1;
}

export async function eraseConversation(ask: Ask, sql: Statements, id: ConversationId): Promise<boolean> {
  const [row] = await ask(sql.erase, [id]);
  return integer(row?.[0]) === 1;
}
