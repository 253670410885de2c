/**
 * Opens a database for lull: connection settings, then migrations. Safe when several processes start at
 * once: whoever gets the write lock migrates, the others find it done.
 *
 * @module
 */
import { LullError } from "../../errors.ts";
import { isBusy, type SqliteLike, type SqliteParameters } from "./driver.ts";
import { statements } from "./statements.ts";

/**
 * How long SQLite itself waits for a lock. Short, because its wait blocks the whole event loop; lull waits
 * the rest asynchronously.
 */
const blockMs = 5;

/**
 * @returns the journal mode: `wal`, or `memory` for a database without a file
 * @throws LullError `store-newer-schema`, `invalid-options`; the driver's error when locked
 */
export function prepareDatabase(db: SqliteLike, migrations: readonly string[], nowMs: number): string {
  db.exec(`pragma busy_timeout = ${blockMs}`);
  const mode = one<{ journal_mode: string }>(db, "pragma journal_mode = wal").journal_mode;
  db.exec("pragma synchronous = full");
  // What is deleted or pruned is overwritten. Copies that page splits left behind stay until `scrub`.
  db.exec("pragma secure_delete = on");
  const { encoding } = one<{ encoding: string }>(db, "pragma encoding");
  if (encoding !== "UTF-8") {
    throw new LullError("invalid-options", `lull needs a UTF-8 database; this one has ${encoding}.`);
  }
  // Usually there is nothing to do; then no lock is taken.
  if (versionOf(db, migrations.length) < migrations.length) migrate(db, migrations, nowMs);
  return mode;
}

function migrate(db: SqliteLike, migrations: readonly string[], nowMs: number): void {
  db.exec("begin immediate");
  try {
    const version = versionOf(db, migrations.length);
    if (!hasSchema(db)) db.exec(statements.schemaCreate);
    for (const [index, sql] of migrations.entries()) {
      if (index < version) continue;
      db.exec(sql);
      db.prepare(statements.schemaAdd).run({ version: index + 1, now_ms: nowMs });
    }
    db.exec("commit");
  } catch (error) {
    rollback(db);
    if (isBusy(error)) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new LullError("store-unavailable", `lull could not create its tables: ${why}.`, {
      cause: error,
      retryable: false,
    });
  }
}

/** Ends the transaction if SQLite has not done so already. */
export function rollback(db: SqliteLike): void {
  try {
    db.exec("rollback");
  } catch {
    // Full disks and I/O errors roll back by themselves; then there is nothing to end.
  }
}

function versionOf(db: SqliteLike, supported: number): number {
  if (!hasSchema(db)) return 0;
  const { version } = one<{ version: number }>(db, statements.schemaVersion);
  if (version <= supported) return version;
  throw new LullError(
    "store-newer-schema",
    `The database has schema ${version}; this release of lull knows up to ${supported}. Upgrade lull in this ` +
      "process: an older release cannot use a database that a newer one has migrated.",
    { details: { stored: version, supported } },
  );
}

function hasSchema(db: SqliteLike): boolean {
  return db.prepare(statements.schemaExists).get({}) !== undefined;
}

function one<Row>(db: SqliteLike, sql: string, parameters: SqliteParameters = {}): Row {
  return db.prepare(sql).get(parameters) as Row;
}
