/**
 * The store for many machines: PostgreSQL 13 or newer, also through PgBouncer in transaction mode, or PGlite.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { LullError } from "../../errors.ts";
import type { ConversationId, ConversationRecord, Revision } from "../../model.ts";
import type { Clock, DueTimer, Durability, ListFilter, Loaded, Pause, Store } from "../../ports.ts";
import { decodeRecord } from "../codec.ts";
import { watch } from "../watch.ts";
import { checkId, checkList, checkPause, checkRewrite, checkWrite, logBounds, pageSize } from "../write.ts";
import { batches } from "./batch.ts";
import { type Driver, driverOf, type PostgresClient, type Row, type Value } from "./driver.ts";
import {
  answerOf,
  answersOfMany,
  type EncodedWrite,
  encodeWrite,
  entryOf,
  valuesOf,
  valuesOfMany,
} from "./exchange.ts";
import { hints } from "./hints.ts";
import { type Lanes, lanes, type OwnTrip } from "./lanes.ts";
import { answerOfLoad, answersOfLoads, type Question } from "./load.ts";
import { afterPrefix, arrayText, integer, integerOrNull } from "./rows.ts";
import { type Found, prepareSchema } from "./schema.ts";
import { checkSchema, type StatementName, statementsIn } from "./sql.ts";
import { migrations } from "./statements.ts";
import { type Ask, eraseConversation, pruneLogs, pruneSeen, repairPage, rewriteLog } from "./upkeep.ts";

export type { PGliteLike, PgPool, PgPoolClient, PostgresClient, PostgresJs } from "./driver.ts";

export interface PostgresOptions {
  /** Where lull's tables are; made when it is not there. Default "lull". */
  schema?: string;
  /** Every call ends within this time, whatever the connection does. Default 10 000. */
  timeLimitMs?: number;
  /**
   * True: pg prepares each statement once per connection. Not behind a pooler in transaction mode. Default false.
   * (postgres follows its own option of that name.)
   */
  prepare?: boolean;
  /**
   * True, or the client whose connection listens (a direct one, where `client` goes through a pooler): other processes
   * hear within some 50 ms that a conversation changed. Default false: they learn of it when they renew their lease.
   */
  hints?: boolean | PostgresClient;
  /** Default "postgres". */
  name?: string;
  /** True: `store.close()` ends the client too. Default false: who made it ends it. */
  closeClient?: boolean;
  /** Hears, once per conversation, of records that `due`, `list`, `repair` and `prune` skip. */
  onDamage?: (error: LullError) => void;
  /** The store's clock in place of the server's, for tests. */
  now?: () => number;
  /** For time limits and pauses. Default: the machine's. */
  clock?: Clock;
}

/** What a store's own reports of damage remember, so that each conversation is named once. */
const maxReported = 10_000;
/** Above this many conversations `stats` takes their number from the planner's statistics. */
const countExactly = 100_000;

const unknown: Durability = {
  class: "bounded",
  note: "Not known before the first call: it depends on the server's settings.",
};

/**
 * Takes a client that stays yours; lull's tables (all named `lull_…`) are made at first use, or before by
 * {@link migrate}. Each call is one statement: no session state, no transaction held open, no lock that outlives it.
 *
 * @example
 * import { Pool } from "pg";
 * import { postgres } from "lull/postgres";
 *
 * const pool = new Pool({ connectionString: process.env.DATABASE_URL, connectionTimeoutMillis: 5_000 });
 * const store = postgres(pool);
 *
 * @throws LullError `invalid-options` when `client` is none of the three kinds
 */
export function postgres(client: PostgresClient, options: PostgresOptions = {}): Store {
  const { schema = "lull", timeLimitMs = 10_000, prepare = false } = options;
  checkSchema(schema);
  const driver = driverOf(client, { prepare });
  const hintDriver =
    typeof options.hints === "object" || typeof options.hints === "function"
      ? driverOf(options.hints, { prepare })
      : options.hints
        ? driver
        : null;
  const clock = options.clock ?? systemClock({ unref: true });
  const sql = statementsIn(schema);
  const limits = watch(clock);
  const trips = lanes(driver.concurrency, timeLimitMs, limits);
  const reported = new Set<ConversationId>();
  const hinting =
    hintDriver &&
    hints({
      driver: hintDriver,
      channel: `${schema}_hint`.slice(0, 63),
      clock,
      notify: (payload) => ask(sql.hint, [`${schema}_hint`.slice(0, 63), payload]),
    });
  let durability = unknown;
  let opening: Promise<void> | null = null;
  let closing: Promise<void> | null = null;

  function open(): void {
    if (closing) throw new LullError("store-closed", "The store was closed.");
  }

  /** Null: the server's own clock. */
  function clockMs(): number | null {
    return options.now?.() ?? null;
  }

  /** Its own call, with its own limits: whoever gives up waiting for it finds it done next time. */
  function ready(): Promise<void> {
    opening ??= openSchema(driver, schema, trips, 10 * timeLimitMs, clock.now()).then(
      (found) => {
        durability = found.durability;
      },
      (error: unknown) => {
        opening = null; // The next call tries again.
        throw error;
      },
    );
    return opening;
  }

  /** Values are made when there is a connection to send them on. */
  async function trip(trip: OwnTrip, text: string, values: () => readonly Value[]): Promise<Row[]> {
    await ready();
    return trips.ride(trip, () => driver.query(text, values, trip));
  }

  function ask(text: string, values: readonly Value[] = []): Promise<Row[]> {
    return trips.call((own) => trip(own, text, () => values));
  }

  interface Exchange {
    write: EncodedWrite;
    /** When it was decided, and when it was asked for. */
    decidedAtMs: number;
    sinceMs: number;
    clockMs: number | null;
  }

  /** Time spent waiting for a connection is no fault of the caller's clock. */
  function callerMs({ decidedAtMs, sinceMs, clockMs }: Exchange): number {
    return clockMs === null ? decidedAtMs + Math.round(clock.monotonic() - sinceMs) : decidedAtMs;
  }

  const exchanges = batches<Exchange, Awaited<ReturnType<Store["exchange"]>>>({
    trips,
    watch: limits,
    idOf: ({ write }) => write.id,
    sizeOf: ({ write }) => write.size,
    alike: (one, other) => one.clockMs === other.clockMs,
    async one(asked, own) {
      const rows = await trip(own, sql.exchange, () =>
        valuesOf(asked.write, { clockMs: asked.clockMs, callerMs: callerMs(asked) }),
      );
      return answerOf(asked.write, rows);
    },
    async many(asked, own) {
      const writes = asked.map(({ write }) => write);
      const rows = await trip(own, sql.exchangeMany, () =>
        valuesOfMany(writes, asked.map(callerMs), asked[0]?.clockMs ?? null),
      );
      return answersOfMany(writes, rows);
    },
  });

  const loads = batches<Question, Loaded>({
    trips,
    watch: limits,
    idOf: ({ id }) => id,
    sizeOf: ({ id }) => id.length,
    alike: (one, other) => one.clockMs === other.clockMs,
    one: async (question, own) =>
      answerOfLoad(question, await trip(own, sql.load, () => [question.clockMs, question.id, question.logFrom])),
    many: async (questions, own) =>
      answersOfLoads(
        questions,
        await trip(own, sql.loadMany, () => [
          questions[0]?.clockMs ?? null,
          arrayText(questions.map(({ id }) => id)),
          arrayText(questions.map(({ logFrom }) => logFrom)),
        ]),
      ),
  });

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
    name: options.name ?? "postgres",

    get durability() {
      return durability;
    },

    async load(id, { logFrom } = {}) {
      open();
      checkId(id);
      return loads.ask({ id, logFrom: logFrom ?? null, clockMs: clockMs() });
    },

    async exchange(wanted) {
      open();
      checkWrite(wanted);
      const write = encodeWrite(wanted);
      const answer = await exchanges.ask({
        write,
        decidedAtMs: wanted.nowMs,
        sinceMs: clock.monotonic(),
        clockMs: clockMs(),
      });
      if (answer.kind === "stored") hinting?.send(write.id);
      return answer;
    },

    async due(untilMs, limit) {
      open();
      const most = pageSize(limit, limit);
      const timers: DueTimer[] = [];
      let after: { ms: number; id: ConversationId } = { ms: Number.MIN_SAFE_INTEGER, id: "" };
      // More pages only to make up for what was skipped.
      for (;;) {
        const wanted = most - timers.length;
        const rows = await ask(sql.due, [clockMs(), untilMs, after.ms, after.id, wanted]);
        for (const [, id, wakeAtMs, revision, record] of rows as [unknown, string, unknown, Revision, string][]) {
          if (id !== null && readable(id, record)) timers.push({ id, wakeAtMs: integer(wakeAtMs), revision });
        }
        const last = rows.at(-1);
        if (!last || last[1] === null || rows.length < wanted || timers.length === most) {
          return { timers, paused: pauseOf(rows), nowMs: nowOf(rows) };
        }
        after = { ms: integer(last[2]), id: String(last[1]) };
      }
    },

    async log(id, page = {}) {
      open();
      checkId(id);
      const { from, before, limit } = logBounds(page);
      const rows =
        before === null
          ? await ask(sql.logPage, [clockMs(), id, from, limit])
          : await ask(sql.logPageNewest, [clockMs(), id, from, before, limit]);
      const entries = rows.filter(([, seq]) => seq !== null).map(([, seq, text]) => entryOf(id, seq, text));
      return { entries, nowMs: nowOf(rows) };
    },

    async list(page = {}, filter = {}) {
      open();
      checkList(page, filter);
      const limit = pageSize(page.limit, 50);
      const { prefix = "" } = filter;
      const rows = await ask(sql[listStatement(filter)], [
        clockMs(),
        page.after ?? "",
        prefix,
        afterPrefix(prefix),
        bit(filter.active),
        bit(filter.parked),
        bit(filter.handedOff),
        limit + 1,
      ]);
      const found = rows.filter(([, id]) => id !== null) as [unknown, string, string][];
      const conversations: ConversationRecord[] = [];
      for (const [, id, text] of found.slice(0, limit)) {
        const record = readable(id, text);
        if (record) conversations.push(record);
      }
      const next = found.length > limit ? (found[limit - 1]?.[1] ?? null) : null;
      return { conversations, next, nowMs: nowOf(rows) };
    },

    async stats() {
      open();
      const [row = []] = await ask(sql.stats, [clockMs(), countExactly]);
      return {
        conversations: integer(row[1]),
        active: integer(row[2]),
        due: integer(row[3]),
        oldestDueAtMs: integerOrNull(row[4]),
        parked: integer(row[5]),
        handedOff: integer(row[6]),
        nowMs: integer(row[0]),
      };
    },

    async repair(page, wakeAt) {
      open();
      checkList(page, {});
      const bounds = { after: page.after ?? "", limit: pageSize(page.limit, 50) };
      return repairPage(ask, sql, readable, bounds, wakeAt);
    },

    async erase(id) {
      open();
      checkId(id);
      return eraseConversation(ask, sql, id);
    },

    async rewrite(id, expected, entries) {
      open();
      checkRewrite(id, entries);
      return rewriteLog(ask, sql, id, expected, entries);
    },

    async setPause(pause) {
      open();
      checkPause(pause);
      const name = "pause";
      const value = JSON.stringify(pause);
      const rows =
        pause === null
          ? await ask(sql.markDelete, [clockMs(), name])
          : await ask(sql.markPut, [clockMs(), name, value]);
      return { nowMs: nowOf(rows) };
    },

    async prune({ seenBeforeMs, logBeforeMs, keepFrom, limit }) {
      open();
      const most = pageSize(limit, 1000, Number.MAX_SAFE_INTEGER);
      const nowMs = nowOf(await ask(sql.clock, [clockMs()]));
      const seen = await pruneSeen(ask, sql, Math.min(seenBeforeMs, nowMs), most);
      const entries =
        logBeforeMs === undefined ? 0 : await pruneLogs(ask, sql, readable, { beforeMs: logBeforeMs, keepFrom, most });
      return { seen, entries };
    },

    close() {
      closing ??= finish();
      return closing;
    },

    ...(hinting ? { wake: hinting.listen } : {}),
  };

  async function finish(): Promise<void> {
    await trips.idle();
    limits.stop();
    await hinting?.close();
    if (hintDriver !== driver) hintDriver?.leave();
    if (options.closeClient) await driver.end();
    driver.leave();
  }
}

export interface Migrated {
  /** The newest migration the database had, and the newest it has now. */
  from: number;
  to: number;
}

/**
 * Makes lull's tables, or brings them up to date, with more patience than a store has at its first use; for deploys
 * whose ordinary role may not. Then a store finds nothing to do. Safe to call at any time, from any number of
 * processes.
 *
 * @throws LullError `store-newer-schema`, `store-unavailable`
 */
export async function migrate(
  client: PostgresClient,
  options: Pick<PostgresOptions, "schema" | "timeLimitMs" | "clock"> = {},
): Promise<Migrated> {
  const { schema = "lull", timeLimitMs = 600_000, clock = systemClock() } = options;
  checkSchema(schema);
  const driver = driverOf(client, { prepare: false });
  const limits = watch(clock);
  try {
    const trips = lanes(1, timeLimitMs, limits);
    const { from, to } = await openSchema(driver, schema, trips, timeLimitMs, clock.now());
    return { from, to };
  } finally {
    limits.stop();
    driver.leave();
  }
}

function openSchema(
  driver: Driver,
  schema: string,
  trips: Lanes,
  scriptLimitMs: number,
  nowMs: number,
): Promise<Found> {
  const ask: Ask = (text, values = []) =>
    trips.call((trip) => trips.ride(trip, () => driver.query(text, () => values, trip)));
  const script = (text: string) =>
    trips.call((trip) => trips.ride(trip, () => driver.script(text, trip)), scriptLimitMs);
  return prepareSchema(
    { ask, script },
    statementsIn(schema),
    { schema, migrations },
    { inMemory: driver.inMemory, nowMs },
  );
}

/** The store's clock stands in the first column of every row, and there is always a row. */
function nowOf([row]: Row[]): number {
  return integer(row?.[0]);
}

/** The pause stands in the last column of every row of due.sql. */
function pauseOf([row]: Row[]): Pause | null {
  const text = row?.[5];
  return typeof text === "string" ? (JSON.parse(text) as Pause) : null;
}

/** Walks the smallest index that holds all matches. */
function listStatement(filter: ListFilter): StatementName {
  if (filter.parked || filter.handedOff) return "listStatus";
  return filter.active ? "listActive" : "list";
}

function bit(flag: boolean | undefined): 0 | 1 | null {
  return flag === undefined ? null : flag ? 1 : 0;
}
