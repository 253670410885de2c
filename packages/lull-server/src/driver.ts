/**
 * Which SQLite this process uses.
 *
 * @module
 */
import { isBuiltin } from "node:module";
import type { SqliteLike } from "lull/sqlite";

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
