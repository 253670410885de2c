// Postgres for tests: its clients, a schema per test, and the errors that calls end with.
import { Pool, type PoolConfig } from "pg";
import postgresJs from "postgres";
import { expect, onTestFinished } from "vitest";
import type { PostgresServer } from "../../../../scripts/servers/postgres.mjs";
import { LullError } from "../../src/errors.ts";
import type { Store } from "../../src/ports.ts";
import { type PostgresOptions, postgres } from "../../src/stores/postgres/index.ts";

export const tables = ["lull_record", "lull_log", "lull_timer", "lull_seen", "lull_mark"];

let schemas = 0;
export const freshSchema = () => `s${++schemas}`;

/** A pool that ends with the test. */
export function testPool(config: PoolConfig | string): Pool {
  const pool = new Pool(typeof config === "string" ? { connectionString: config } : config);
  pool.on("error", () => {}); // As every program that makes one has to.
  onTestFinished(() => pool.end());
  return pool;
}

export function testSql(url: string, options: postgresJs.Options<Record<string, never>> = {}): postgresJs.Sql {
  const sql = postgresJs(url, options);
  onTestFinished(() => sql.end({ timeout: 1 }));
  return sql;
}

/** A store with its own pool that ends with the test. */
export function testStore(
  server: Pick<PostgresServer, "url">,
  options: PostgresOptions,
  config: PoolConfig = {},
): Store {
  return closing(postgres(new Pool({ connectionString: server.url, ...config }), { closeClient: true, ...options }));
}

/** Closes the store after the test, before what was registered earlier. */
export function closing(store: Store): Store {
  onTestFinished(() => store.close());
  return store;
}

/** What a rejected promise brought; fails the test when it was fulfilled. */
export async function errorOf(promise: Promise<unknown>): Promise<LullError> {
  const error = await promise.then(
    () => expect.unreachable("should have been refused"),
    (reason: unknown) => reason,
  );
  if (!LullError.isInstance(error)) throw error;
  return error;
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
