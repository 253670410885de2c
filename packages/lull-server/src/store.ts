/**
 * Opens the store a server is told to use.
 *
 * @module
 */
import { mkdir } from "node:fs/promises";
import { dirname, extname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { LullError, memory, type Store } from "lull";
import { type Migrated, migrate, postgres } from "lull/postgres";
import { redis } from "lull/redis";
import { sqlite } from "lull/sqlite";
import { ConfigError } from "./config.ts";
import { sqliteDriver } from "./driver.ts";
import type { Logger } from "./log.ts";
import { type RedisPlace, redisClient, redisPlace, redisTitle } from "./redis.ts";
import type { Config } from "./settings.ts";

export type Place =
  | { kind: "memory" }
  | { kind: "sqlite"; path: string }
  | { kind: "postgres"; url: string }
  | RedisPlace;
export type StoreConfig = Pick<
  Config,
  | "store"
  | "storeSchema"
  | "storeConnections"
  | "storeTimeoutMs"
  | "storeHints"
  | "storeShards"
  | "storeReplicas"
  | "storeEviction"
  | "storeAfterLoss"
>;

/**
 * `sqlite:PATH` (also `sqlite:///abs/path` and `file:` addresses), `postgres://…`, `redis://…` (see redis.ts) or `memory:`.
 * @throws ConfigError; what follows the scheme is not shown, it may hold a password.
 */
export function placeOf(text: string): Place {
  if (text === "memory:" || text === "memory") return { kind: "memory" };
  if (text.startsWith("file:")) return { kind: "sqlite", path: fileURLToPath(text) };
  const match = /^sqlite:(?:\/\/(?=\/))?(.+)$/s.exec(text);
  if (match?.[1] !== undefined) {
    if (match[1] === ":memory:") return { kind: "memory" };
    return { kind: "sqlite", path: resolve(match[1]) };
  }
  if (/^postgres(ql)?:\/\//i.test(text)) {
    if (!URL.canParse(text)) throw new ConfigError(["store is no valid address; its password may need %-encoding."]);
    return { kind: "postgres", url: text };
  }
  const redisAt = redisPlace(text);
  if (redisAt !== null) return redisAt;
  const scheme = /^([a-z][a-z0-9+]*):/i.exec(text)?.[1];
  throw new ConfigError([
    `store must be sqlite:PATH, postgres://…, redis://… or memory:; got ${scheme === undefined ? JSON.stringify(text) : `a ${scheme}: address, which this version cannot open`}.`,
  ]);
}

export interface Opened {
  store: Store;
  /** For people: what it is and where. */
  title: string;
  /**
   * Leaves no trace of what was erased in the store's own files. Calls at the same time share the work. Resolves to what
   * is left for others to do, or null.
   */
  scrub: () => Promise<string | null>;
}

/** What lull cannot do for a server that belongs to somebody else. */
const leftInPostgres =
  "Postgres keeps dead rows until VACUUM FULL lull_log, lull_record rewrites the tables; its WAL archive and your backups follow their own retention.";

const leftInRedis =
  "Redis keeps what was erased in its append-only file until that is rewritten (BGREWRITEAOF), and in snapshots made before.";

/** In a thread of its own: SQLite would block everything else for as long as it takes to copy the file. */
function scrubber(path: string): () => Promise<string | null> {
  let running: Promise<string | null> | null = null;
  let next: Promise<string | null> | null = null;
  const run = () =>
    new Promise<string | null>((done, fail) => {
      const worker = new Worker(new URL(`./scrubber${extname(import.meta.url)}`, import.meta.url), {
        workerData: { path },
      });
      worker.once("error", fail);
      worker.once("exit", (code) => (code === 0 ? done(null) : fail(new Error(`the scrubber ended with ${code}`))));
    });
  return () => {
    if (running === null) {
      running = run().finally(() => {
        running = null;
      });
      return running;
    }
    // What was erased after the running one began needs another.
    next ??= running
      .catch(() => null)
      .then(() => {
        next = null;
        running = run().finally(() => {
          running = null;
        });
        return running;
      });
    return next;
  };
}

/** A place as people may see it: without user and password. */
export function placeTitle(place: Place, config: Pick<Config, "storeSchema">): string {
  if (place.kind === "memory") return "in memory";
  if (place.kind === "sqlite") return place.path;
  if (place.kind === "redis") return redisTitle(place, config.storeSchema);
  const { host, pathname } = new URL(place.url);
  return `postgres://${host || "localhost"}${pathname}, schema ${config.storeSchema}`;
}

/** A start may be waiting for a database that starts too; a call that hangs must not hold its place for ever. */
const connectMs = 5_000;

async function postgresPool(url: string, config: StoreConfig, log: Logger) {
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({
    connectionString: url,
    max: config.storeConnections,
    connectionTimeoutMillis: Math.min(connectMs, config.storeTimeoutMs),
    keepAlive: true,
    application_name: "lull",
  });
  // An idle connection that breaks is replaced by the next call.
  pool.on("error", (error) => log.debug({ err: error.message }, "an idle connection to Postgres broke"));
  return pool;
}

/** @throws ConfigError when the place cannot be opened. */
export async function openStore(config: StoreConfig, log: Logger): Promise<Opened> {
  const place = placeOf(config.store);
  const title = placeTitle(place, config);
  const onDamage = (error: LullError) =>
    log.error({ code: error.code, ...error.details }, "a conversation cannot be read and is skipped");
  if (place.kind === "memory") return { store: memory(), title, scrub: async () => null };
  if (place.kind === "postgres") {
    const pool = await postgresPool(place.url, config, log);
    try {
      const store = postgres(pool, {
        schema: config.storeSchema,
        timeLimitMs: config.storeTimeoutMs,
        hints: config.storeHints === "on",
        closeClient: true,
        onDamage,
      });
      return { store, title, scrub: async () => leftInPostgres };
    } catch (error) {
      await pool.end();
      throw new ConfigError([(error as Error).message]);
    }
  }
  if (place.kind === "redis") {
    try {
      const store = redis(redisClient(place, config.storeTimeoutMs, log), {
        prefix: config.storeSchema,
        shards: config.storeShards,
        waitReplicas: config.storeReplicas,
        waitConnections: config.storeConnections,
        timeLimitMs: config.storeTimeoutMs,
        hints: config.storeHints === "on",
        allowEviction: config.storeEviction === "allow",
        afterLoss: config.storeAfterLoss,
        closeClient: true,
        onDamage,
        onWarning: ({ code, message, details }) => log.error({ code, ...details }, message),
      });
      return { store, title, scrub: async () => leftInRedis };
    } catch (error) {
      throw new ConfigError([(error as Error).message]);
    }
  }
  const driver = await sqliteDriver();
  try {
    // Conversations are private: nobody else on the machine reads a folder that we make.
    await mkdir(dirname(place.path), { recursive: true, mode: 0o700 });
    const db = driver.open(place.path);
    const store = sqlite(db, { closeDatabase: true, onDamage });
    return { store, title: `${title} (${driver.name})`, scrub: scrubber(place.path) };
  } catch (error) {
    throw new ConfigError([`The store ${title} cannot be opened: ${(error as Error).message}.`]);
  }
}

/** The same error as something a person can act upon, where it is one of the store's. */
export function storeProblem(error: unknown, title: string): unknown {
  if (!LullError.isInstance(error)) return error;
  // The store's own words say what to set.
  if (error.code === "invalid-options") return new ConfigError([error.message]);
  if (!error.code.startsWith("store-")) return error;
  return new ConfigError([`The store ${title} cannot be used: ${error.message}`]);
}

/**
 * Makes the store's tables, or brings them up to date. Null for stores that do so themselves when they are opened.
 * @throws ConfigError
 */
export async function migrateStore(
  config: StoreConfig,
  log: Logger,
): Promise<{ title: string; done: Migrated | null }> {
  const place = placeOf(config.store);
  const title = placeTitle(place, config);
  if (place.kind !== "postgres") return { title, done: null };
  const pool = await postgresPool(place.url, config, log);
  try {
    return { title, done: await migrate(pool, { schema: config.storeSchema }) };
  } catch (error) {
    throw storeProblem(error, title);
  } finally {
    await pool.end();
  }
}
