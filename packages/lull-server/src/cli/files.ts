/**
 * The SQLite file behind a server, for the commands that work on it directly, beside running servers or without any.
 *
 * @module
 */
import { open } from "node:fs/promises";
import type { SqliteLike } from "lull/sqlite";
import { ConfigError, loadConfig, type Sources } from "../config.ts";
import { sqliteDriver } from "../driver.ts";
import { placeOf, placeTitle } from "../store.ts";
import { CliError } from "./client.ts";

/** The tools of stores that are somebody else's. `postgres` is given the schema. */
export interface Instead {
  postgres: (schema: string) => string;
  redis: string;
}

/** @throws CliError for stores without a file: with the tool to use instead */
export async function sqlitePath(sources: Sources, instead: Instead): Promise<string> {
  try {
    const { config } = await loadConfig(sources);
    const place = placeOf(config.store);
    if (place.kind === "sqlite") return place.path;
    if (place.kind === "memory") throw new CliError("The store is memory: it has no file.", 2);
    const advice = place.kind === "postgres" ? instead.postgres(config.storeSchema) : instead.redis;
    throw new CliError(`The store is ${placeTitle(place, config)}. ${advice}`, 2);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new CliError(error.problems.map((problem) => `lull: ${problem}`).join("\n"), 2);
  }
}

/** Runs `work` with a connection of its own. */
export async function withDatabase<T>(path: string, work: (db: SqliteLike) => T | Promise<T>): Promise<T> {
  const db = (await sqliteDriver()).open(path);
  try {
    return await work(db);
  } finally {
    db.close?.();
  }
}

/** @throws CliError when the file is damaged or holds nothing of lull's */
export function checkDatabase(db: SqliteLike, path: string): { conversations: number } {
  try {
    const { quick_check: verdict } = db.prepare("pragma quick_check").get({}) as { quick_check: string };
    if (verdict !== "ok") throw new Error(verdict);
    return db.prepare("select count(*) as conversations from lull_record").get({}) as { conversations: number };
  } catch (error) {
    throw new CliError(`${path} is no intact database of lull: ${(error as Error).message}.`);
  }
}

/** On the disk, not only in the system's memory. */
export async function sync(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
