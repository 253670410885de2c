/**
 * The default store: one SQLite file, shared by any number of processes of one machine.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { LullError } from "../../errors.ts";
import type { ConversationId, ConversationRecord, LogEntry, Revision, Seq } from "../../model.ts";
import {
  type Clock,
  type DueTimer,
  type Durability,
  type ListFilter,
  maxSkewMs,
  type Pause,
  type Store,
} from "../../ports.ts";
import { decodeEntry, decodeRecord } from "../codec.ts";
import { checkId, checkList, checkPause, checkRewrite, checkWrite, logBounds, pageSize } from "../write.ts";
import { groupCommit } from "./commits.ts";
import type { SqliteLike } from "./driver.ts";
import { encoded, encodeWrite, entriesOf, exchange, logPage, rewriteLog } from "./exchange.ts";
import { prepareDatabase } from "./schema.ts";
import { type StatementName, sqlOf } from "./sql.ts";
import { migrations } from "./statements.ts";
import { eraseConversation, type PrunePosition, pruneLogs, pruneSeen, pruneStart, repairPage } from "./upkeep.ts";

export type { SqliteLike, SqliteParameters, SqliteStatement } from "./driver.ts";
export { type ScrubOptions, scrub } from "./scrub.ts";

export interface SqliteOptions {
  /** The store's clock, milliseconds since 1970. Default: the clock's. */
  now?: () => number;
  /** Default: the machine's. */
  clock?: Clock;
  /** Default "sqlite". */
  name?: string;
  /** How long to wait, without blocking the event loop, for other processes. Default 10 000. */
  busyTimeoutMs?: number;
  /** Exchanges in one transaction, at most. Default 256. */
  maxBatch?: number;
  /** True: `store.close()` closes the database too. Default false: who opened it closes it. */
  closeDatabase?: boolean;
  /** Hears, once per conversation, of records that `due`, `list`, `repair` and `prune` skip. */
  onDamage?: (error: LullError) => void;
}

const onDisk: Durability = {
  class: "disk",
  note: "Every acknowledged write is synced to the disk (WAL, synchronous=FULL); the disk is the only copy.",
};
const inMemory: Durability = {
  class: "memory",
  note: "A SQLite database in memory, gone when it is closed.",
};

/** What a store's own reports of damage remember, so that each conversation is named once. */
const maxReported = 10_000;

/**
 * Takes an open connection; the tables (all named `lull_…`) are made at first use. It sets
 * `journal_mode=wal`, `synchronous=full` and a short `busy_timeout` on it. Not for network file systems.
 *
 * @example
 * import { DatabaseSync } from "node:sqlite"; // Node ≥ 22.5; before that: "@photostructure/sqlite"
 * import { sqlite } from "lull/sqlite";
 *
 * const store = sqlite(new DatabaseSync("lull.db"));
 *
 * @throws LullError `invalid-options` when `db` is no synchronous SQLite connection
 */
export function sqlite(db: SqliteLike, options: SqliteOptions = {}): Store {
  if (typeof db?.exec !== "function" || typeof db.prepare !== "function") {
    throw new LullError("invalid-options", "sqlite(db) takes an open DatabaseSync, for example of node:sqlite.");
  }
  const clock = options.clock ?? systemClock();
  const now = options.now ?? clock.now;
  const commits = groupCommit(db, {
    clock,
    maxBatch: options.maxBatch ?? 256,
    busyTimeoutMs: options.busyTimeoutMs ?? 10_000,
  });
  const sql = sqlOf(db);
  const reported = new Set<ConversationId>();
  let durability = onDisk;
  let opening: Promise<void> | null = null;
  let closing: Promise<void> | null = null;

  function ready(): Promise<void> {
    opening ??= commits
      .read(() => {
        if (prepareDatabase(db, migrations, now()) === "memory") durability = inMemory;
      })
      .catch((error: unknown) => {
        opening = null; // The next call tries again.
        throw error;
      });
    return opening;
  }

  function open(): void {
    if (closing) throw new LullError("store-closed", "The store was closed.");
  }

  async function read<T>(job: () => T): Promise<T> {
    await ready();
    return commits.read(job);
  }

  async function write<T>(job: () => T): Promise<T> {
    await ready();
    return commits.write(job);
  }

  /** Null, and a report, for what this release cannot read: other conversations must not wait for it. */
  function readable(id: ConversationId, text: string | null): ConversationRecord | null {
    try {
      if (text !== null) return decodeRecord(id, text);
      throw new LullError("store-damaged", `Conversation ${JSON.stringify(id)} has a timer but no record.`, {
        details: { conversation: id },
      });
    } catch (error) {
      if (!LullError.isInstance(error)) throw error;
      if (reported.size >= maxReported) reported.clear();
      if (!reported.has(id)) options.onDamage?.(error);
      reported.add(id);
      return null;
    }
  }

  return {
    name: options.name ?? "sqlite",

    get durability() {
      return durability;
    },

    async load(id, { logFrom } = {}) {
      open();
      checkId(id);
      const rows = await read(() => sql.all<{ seq: Seq; text: string }>("load", { id, from: logFrom ?? null }));
      let record: ConversationRecord | null = null;
      const log: LogEntry[] = [];
      for (const { seq, text } of rows) {
        if (seq === 0) record = decodeRecord(id, text);
        else log.push(decodeEntry(id, seq, text));
      }
      return { record, log, nowMs: now() };
    },

    async exchange(wanted) {
      open();
      checkWrite(wanted);
      // Judged at arrival: time spent waiting for a lock is no fault of the caller's clock.
      const nowMs = now();
      if (Math.abs(wanted.nowMs - nowMs) > maxSkewMs) return { kind: "skewed", nowMs };
      const encoded = encodeWrite(wanted);
      const answer = await write(() => exchange(sql, encoded, now()));
      return { ...answer, nowMs: now() };
    },

    async due(untilMs, limit) {
      open();
      const most = pageSize(limit, limit);
      const timers: DueTimer[] = [];
      const mark = await read(() => sql.get<{ value: string }>("markGet", { name: "pause" }));
      const paused = mark === undefined ? null : (JSON.parse(mark.value) as Pause);
      let after = { after_ms: Number.MIN_SAFE_INTEGER, after_id: "" };
      // More pages only to make up for what was skipped.
      for (;;) {
        const wanted = most - timers.length;
        const rows = await read(() =>
          sql.all<{ id: ConversationId; wake_at_ms: number; revision: Revision; record: string | null }>("due", {
            until_ms: untilMs,
            ...after,
            limit: wanted,
          }),
        );
        for (const { id, wake_at_ms, revision, record } of rows) {
          if (readable(id, record)) timers.push({ id, wakeAtMs: wake_at_ms, revision });
        }
        const last = rows.at(-1);
        if (!last || rows.length < wanted || timers.length === most) return { timers, paused, nowMs: now() };
        after = { after_ms: last.wake_at_ms, after_id: last.id };
      }
    },

    async log(id, page = {}) {
      open();
      checkId(id);
      const { from, before, limit } = logBounds(page);
      const entries = await read(() =>
        before === null
          ? logPage(sql, id, from, limit)
          : entriesOf(id, sql.all("logPageNewest", { id, from, before, limit })).reverse(),
      );
      return { entries, nowMs: now() };
    },

    async list(page = {}, filter = {}) {
      open();
      checkList(page, filter);
      const limit = pageSize(page.limit, 50);
      const rows = await read(() =>
        sql.all<{ id: ConversationId; record: string }>(listStatement(filter), {
          after: page.after ?? "",
          prefix: filter.prefix ?? "",
          active: bit(filter.active),
          parked: bit(filter.parked),
          handed_off: bit(filter.handedOff),
          limit: limit + 1,
        }),
      );
      const conversations: ConversationRecord[] = [];
      for (const { id, record: text } of rows.slice(0, limit)) {
        const record = readable(id, text);
        if (record) conversations.push(record);
      }
      const next = rows.length > limit ? (rows[limit - 1]?.id ?? null) : null;
      return { conversations, next, nowMs: now() };
    },

    async stats() {
      open();
      const nowMs = now();
      const counts = await read(() => sql.get<StatsRow>("stats", { now_ms: nowMs }) as StatsRow);
      return {
        conversations: counts.conversations,
        active: counts.active,
        due: counts.due,
        oldestDueAtMs: counts.oldest_due_at_ms,
        parked: counts.parked,
        handedOff: counts.handed_off,
        nowMs,
      };
    },

    async repair(page, wakeAt) {
      open();
      checkList(page, {});
      const bounds = { after: page.after ?? "", limit: pageSize(page.limit, 50) };
      return write(() => repairPage(sql, readable, bounds, wakeAt));
    },

    async erase(id) {
      open();
      checkId(id);
      return write(() => eraseConversation(sql, id));
    },

    async rewrite(id, expected, entries) {
      open();
      checkRewrite(id, entries);
      const rows = entries.map(encoded);
      return write(() => rewriteLog(sql, id, expected, rows));
    },

    async setPause(pause) {
      open();
      checkPause(pause);
      const name = "pause";
      const value = JSON.stringify(pause);
      await write(() => (pause === null ? sql.run("markDelete", { name }) : sql.run("markPut", { name, value })));
      return { nowMs: now() };
    },

    async prune({ seenBeforeMs, logBeforeMs, keepFrom, limit }) {
      open();
      const most = pageSize(limit, 1000, Number.MAX_SAFE_INTEGER);
      const seen = await write(() => pruneSeen(sql, Math.min(seenBeforeMs, now()), most));
      let entries = 0;
      let position: PrunePosition | null = logBeforeMs === undefined ? null : pruneStart;
      while (position && logBeforeMs !== undefined && entries < most) {
        open();
        const from: PrunePosition = position;
        const rest = { logBeforeMs, keepFrom, limit: most - entries };
        const pruned = await write(() => pruneLogs(sql, readable, from, rest));
        entries += pruned.entries;
        position = pruned.next;
      }
      return { seen, entries };
    },

    close() {
      closing ??= finish();
      return closing;
    },
  };

  async function finish(): Promise<void> {
    // A call that is still opening the database puts its work into the queue first.
    await opening?.catch(() => {});
    await commits.idle();
    if (options.closeDatabase) db.close?.();
  }
}

interface StatsRow {
  conversations: number;
  active: number;
  due: number;
  oldest_due_at_ms: number | null;
  parked: number;
  handed_off: number;
}

/** Walks the smallest index that holds all matches. */
function listStatement(filter: ListFilter): StatementName {
  if (filter.parked) return "listParked";
  if (filter.handedOff) return "listHandedOff";
  return filter.active ? "listActive" : "list";
}

function bit(flag: boolean | undefined): 0 | 1 | null {
  return flag === undefined ? null : flag ? 1 : 0;
}
