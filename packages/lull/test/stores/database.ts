// SQLite for tests: Node's own where there is one, else the package with the same interface.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "@photostructure/sqlite";
import type { SqliteLike } from "../../src/stores/sqlite/index.ts";

/** Compiles as long as the drivers' own types fit what the store asks for. */
type Fits<Driver extends SqliteLike> = Driver;

type Open = new (path: string) => Fits<InstanceType<typeof DatabaseSync>>;

async function driver(): Promise<Open> {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const builtIn = major > 22 || (major === 22 && minor >= 13);
  const name = builtIn ? "node:sqlite" : "@photostructure/sqlite";
  const module = (await import(/* @vite-ignore */ name)) as { DatabaseSync: Open };
  return module.DatabaseSync;
}

const Database = await driver();

export type TestDatabase = SqliteLike & { close(): void };

export function openDatabase(path: string): TestDatabase {
  return new Database(path);
}

/** A folder for database files, and how to remove it. */
export function temporaryFolder(): { path: (name: string) => string; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), "lull-sqlite-"));
  return {
    path: (name) => join(folder, name),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The same connection, with every call of `exec` shown to `onExec` first; it may throw in its place. */
export function watched(db: TestDatabase, onExec: (sql: string) => void): TestDatabase {
  return {
    exec: (sql) => {
      onExec(sql);
      return db.exec(sql);
    },
    prepare: (sql) => db.prepare(sql),
    close: () => db.close(),
  };
}
