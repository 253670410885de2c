/**
 * Opens the store a server is told to use.
 *
 * @module
 */
import { mkdir } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { LullError, memory, type Store } from "lull";
import { type Migrated, migrate, postgres } from "lull/postgres";
import { type SqliteLike, sqlite } from "lull/sqlite";
import { ConfigError } from "./config.ts";
import type { Logger } from "./log.ts";
import type { Config } from "./settings.ts";

export type Place = { kind: "memory" } | { kind: "sqlite"; path: string } | { kind: "postgres"; url: string };
export type StoreConfig = Pick<Config, "store" | "storeSchema" | "storeConnections" | "storeTimeoutMs" | "storeHints">;

/**
 * `sqlite:PATH` (also `sqlite:///abs/path` and `file:` addresses), `postgres://…` or `memory:`.
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
  const scheme = /^([a-z][a-z0-9+]*):/i.exec(text)?.[1];
  throw new ConfigError([
    `store must be sqlite:PATH, postgres://… or memory:; got ${scheme === undefined ? JSON.stringify(text) : `a ${scheme}: address, which this version cannot open`}.`,
  ]);
}

export interface Driver {
  name: string;
  open(path: string): SqliteLike;
}

/** node:sqlite where Node has it (22.13; before that behind a flag), else the prebuilt package with the same interface. */
export async function sqliteDriver(): Promise<Driver> {
  if (isBuiltin("node:sqlite")) {
    try {
      const { DatabaseSync } = await quietly(() => import("node:sqlite" as string));
      return { name: "node:sqlite", open: (path) => new DatabaseSync(path) as SqliteLike };
    } catch {
      // Known to this Node, but switched off.
    }
  }
  const { DatabaseSync } = await import("@photostructure/sqlite");
  return { name: "@photostructure/sqlite", open: (path) => new DatabaseSync(path) as unknown as SqliteLike };
}

/** Without Node's note that its SQLite is experimental: it is the same library, and not the reader's concern. */
async function quietly<T>(load: () => Promise<T>): Promise<T> {
  const emit = process.emitWarning;
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).includes("SQLite")) (emit as (...all: unknown[]) => void).call(process, warning, ...rest);
  }) as typeof process.emitWarning;
  try {
    return await load();
  } finally {
    process.emitWarning = emit;
  }
}

export interface Opened {
  store: Store;
  /** For people: what it is and where. */
  title: string;
}

/** A place as people may see it: without user and password. */
export function placeTitle(place: Place, config: Pick<Config, "storeSchema">): string {
  if (place.kind === "memory") return "in memory";
  if (place.kind === "sqlite") return place.path;
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
  if (place.kind === "memory") return { store: memory(), title };
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
      return { store, title };
    } catch (error) {
      await pool.end();
      throw new ConfigError([(error as Error).message]);
    }
  }
  const driver = await sqliteDriver();
  try {
    // Conversations are private: nobody else on the machine reads a folder that we make.
    await mkdir(dirname(place.path), { recursive: true, mode: 0o700 });
    const db = driver.open(place.path);
    const store = sqlite(db, { closeDatabase: true, onDamage });
    return { store, title: `${title} (${driver.name})` };
  } catch (error) {
    throw new ConfigError([`The store ${title} cannot be opened: ${(error as Error).message}.`]);
  }
}

/** The same error as something a person can act upon, where it is one of the store's. */
export function storeProblem(error: unknown, title: string): unknown {
  if (!LullError.isInstance(error) || !error.code.startsWith("store-")) return error;
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
    if (LullError.isInstance(error) && error.code === "invalid-options") throw new ConfigError([error.message]);
    throw storeProblem(error, title);
  } finally {
    await pool.end();
  }
}
