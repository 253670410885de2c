/**
 * Opens the store a server is told to use.
 *
 * @module
 */
import { mkdir } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { memory, type Store } from "lull";
import { type SqliteLike, sqlite } from "lull/sqlite";
import { ConfigError } from "./config.ts";
import type { Logger } from "./log.ts";

export type Place = { kind: "memory" } | { kind: "sqlite"; path: string };

/**
 * `sqlite:PATH` (also `sqlite:///abs/path` and `file:` addresses) or `memory:`.
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
  const scheme = /^([a-z][a-z0-9+]*):/i.exec(text)?.[1];
  throw new ConfigError([
    `store must be sqlite:PATH or memory:; got ${scheme === undefined ? JSON.stringify(text) : `a ${scheme}: address, which this version cannot open`}.`,
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

/** @throws ConfigError when the place cannot be opened. */
export async function openStore(text: string, log: Logger): Promise<Opened> {
  const place = placeOf(text);
  if (place.kind === "memory") return { store: memory(), title: "in memory" };
  const driver = await sqliteDriver();
  try {
    // Conversations are private: nobody else on the machine reads a folder that we make.
    await mkdir(dirname(place.path), { recursive: true, mode: 0o700 });
    const db = driver.open(place.path);
    const store = sqlite(db, {
      closeDatabase: true,
      onDamage: (error) =>
        log.error({ code: error.code, ...error.details }, "a conversation cannot be read and is skipped"),
    });
    return { store, title: `${place.path} (${driver.name})` };
  } catch (error) {
    throw new ConfigError([`The store ${place.path} cannot be opened: ${(error as Error).message}.`]);
  }
}
