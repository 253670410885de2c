/**
 * Repair, pruning and erasure, conversation by conversation: no call keeps the server for long.
 *
 * @module
 */
import type { ConversationId, ConversationRecord, LogEntry, Revision, Seq } from "../../model.ts";
import { encodeEntry } from "../codec.ts";
import { notInLog } from "../write.ts";
import { splitRecord } from "./exchange.ts";
import type { Keys } from "./keys.ts";
import type { ScriptName } from "./scripts.ts";

/** Runs a script in the shard that its keys are in. */
export type Run = (name: ScriptName, keys: readonly string[], args: readonly string[]) => Promise<unknown>;
/** A plain command to the shard that has the key. */
export type Command = (key: string, command: readonly string[]) => Promise<unknown>;
/** Null for a record this release cannot read; says so elsewhere. */
export type Readable = (id: ConversationId, text: string) => ConversationRecord | null;

/** Time of the wake-up ("": none) and what is stored as the record ("": none). */
export interface Peeked {
  id: ConversationId;
  wakeAt: string;
  stored: string;
}
export type Peek = (ids: readonly ConversationId[]) => Promise<Peeked[]>;

export async function repairIds(
  { run, peek, readable, keys }: { run: Run; peek: Peek; readable: Readable; keys: Keys },
  ids: readonly ConversationId[],
  wakeAt: (record: ConversationRecord) => number | null,
): Promise<ConversationId[]> {
  const repaired: ConversationId[] = [];
  for (const { id, wakeAt: now, stored } of await peek(ids)) {
    if (stored === "") continue;
    const { revision, text } = splitRecord(stored);
    const record = readable(id, text);
    if (!record) continue;
    const wanted = wakeAt(record);
    if (wanted === (now === "" ? null : Number(now))) continue;
    const { shard, record: key } = keys.of(id);
    const { due, active } = keys.shard(shard);
    const args = [id, JSON.stringify(revision), wanted === null ? "" : String(wanted)];
    // Changed meanwhile: then its timer is that of the newer record.
    if (Number(await run("repair", [key, due, active], args)) === 1) repaired.push(id);
  }
  return repaired;
}

/** @throws LullError `invalid-argument` for an entry that is not there */
export async function rewriteLog(
  run: Run,
  keys: Keys,
  id: ConversationId,
  expected: Revision,
  entries: readonly LogEntry[],
): Promise<boolean> {
  const { shard, record, log } = keys.of(id);
  const args = entries.flatMap((entry) => [String(entry.seq), String(entry.atMs), encodeEntry(entry)]);
  const reply = await run("rewrite", [record, log, keys.shard(shard).logs], [id, JSON.stringify(expected), ...args]);
  if (Number(reply) < 0) throw notInLog(id, -Number(reply));
  return Number(reply) === 1;
}

export async function eraseConversation(run: Run, keys: Keys, id: ConversationId): Promise<boolean> {
  const { shard, record, log, seen } = keys.of(id);
  const { ids, due, active, parked, handed, logs, expiries } = keys.shard(shard);
  const all = [record, log, seen, ids, due, active, parked, handed, logs, expiries];
  return Number(await run("erase", all, [id])) === 1;
}

const together = 100;

/** Ids in a set ordered by time, up to a time, page by page; `stay` says how many of a page are still there. */
async function* upTo(
  command: Command,
  key: string,
  bound: string,
): AsyncGenerator<readonly ConversationId[], void, number> {
  let skip = 0;
  for (;;) {
    const range = ["ZRANGEBYSCORE", key, "-inf", bound, "LIMIT", String(skip), String(together)];
    const ids = (await command(key, range)) as ConversationId[];
    if (ids.length === 0) return;
    skip += yield ids;
    if (ids.length < together) return;
  }
}

export async function pruneSeen(
  { run, command, keys }: { run: Run; command: Command; keys: Keys },
  { clock, untilMs, most }: { clock: string; untilMs: number; most: number },
): Promise<number> {
  let total = 0;
  for (let shard = 0; shard < keys.shards; shard++) {
    const { expiries } = keys.shard(shard);
    const pages = upTo(command, expiries, String(untilMs));
    for (let page = await pages.next(); !page.done; ) {
      let stay = 0;
      for (const id of page.value) {
        let [cursor, least, dropped] = ["0", "", 0];
        do {
          const args = [id, clock, String(untilMs), String(most - total), cursor, least];
          const reply = await run("pruneSeen", [keys.of(id).seen, expiries], args);
          [cursor, dropped, least] = reply as [string, number, string];
          total += Number(dropped);
        } while (cursor !== "0");
        if (least !== "" && Number(least) <= untilMs) stay += 1;
        if (total >= most) return total;
      }
      page = await pages.next(stay);
    }
  }
  return total;
}

export async function pruneLogs(
  { run, command, peek, readable, keys }: { run: Run; command: Command; peek: Peek; readable: Readable; keys: Keys },
  { beforeMs, keepFrom, most }: { beforeMs: number; keepFrom: (record: ConversationRecord) => Seq; most: number },
): Promise<number> {
  let total = 0;
  for (let shard = 0; shard < keys.shards; shard++) {
    const { logs } = keys.shard(shard);
    const pages = upTo(command, logs, `(${beforeMs}`);
    for (let page = await pages.next(); !page.done; ) {
      let stay = 0;
      for (const { id, stored } of await peek(page.value)) {
        const { revision, text } = splitRecord(stored === "" ? '1 0 0 ""\n' : stored);
        const record = stored === "" ? null : readable(id, text);
        // Without a record there is nothing to keep; one that cannot be read is left alone.
        if (stored !== "" && record === null) {
          stay += 1;
          continue;
        }
        const from = record === null ? 1 : keepFrom(record);
        const args = [id, JSON.stringify(revision), String(from), String(beforeMs), String(most - total)];
        const own = keys.of(id);
        const [dropped, still] = (await run("pruneLog", [own.record, own.log, logs], args)) as [number, number];
        total += Number(dropped);
        stay += Number(still);
        if (total >= most) return total;
      }
      page = await pages.next(stay);
    }
  }
  return total;
}
