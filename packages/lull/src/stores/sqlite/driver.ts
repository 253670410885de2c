/**
 * What lull needs of a SQLite driver, and how drivers report errors. Structural, so that no driver is a
 * dependency: `DatabaseSync` of node:sqlite (Node ≥ 22.5) and of @photostructure/sqlite fit as they are.
 *
 * @module
 */
import { LullError } from "../../errors.ts";

export type SqliteParameters = Record<string, string | number | null>;

/** A prepared statement with named parameters (`:name`, given without the colon). */
export interface SqliteStatement {
  run(parameters: SqliteParameters): { changes: number | bigint };
  get(parameters: SqliteParameters): unknown;
  all(parameters: SqliteParameters): unknown[];
}

/** A synchronous connection. No transaction of yours may be open on it across an `await`. */
export interface SqliteLike {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
  close?(): unknown;
}

/** Primary result codes of SQLite that lull tells apart, see https://sqlite.org/rescode.html */
const codes: Readonly<Record<string, number>> = { BUSY: 5, LOCKED: 6, CORRUPT: 11, NOTADB: 26 };

/** The primary result code; 1 for other errors of a driver; null for what is no SQLite error. */
function resultCode(error: unknown): number | null {
  if (typeof error !== "object" || error === null) return null;
  const { errcode, code } = error as { errcode?: unknown; code?: unknown };
  // node:sqlite: extended code, primary in the low byte.
  if (typeof errcode === "number") return errcode & 0xff;
  if (typeof code !== "string") return null;
  // better-sqlite3, bun:sqlite: "SQLITE_BUSY_SNAPSHOT".
  if (code.startsWith("SQLITE_")) return codes[code.split("_")[1] ?? ""] ?? 1;
  // node:sqlite of a closed connection.
  return code === "ERR_INVALID_STATE" || code === "ERR_SQLITE_ERROR" ? 1 : null;
}

/** Another connection holds the lock: the same statement may succeed in a moment. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === codes.BUSY || code === codes.LOCKED;
}

/** A driver's error as lull's; anything else (a callback's own error) as it is. */
export function toStoreError(error: unknown): unknown {
  const code = LullError.isInstance(error) ? null : resultCode(error);
  if (code === null) return error;
  const message = error instanceof Error ? error.message : String(error);
  return code === codes.CORRUPT || code === codes.NOTADB
    ? new LullError("store-damaged", `The SQLite database is damaged: ${message}.`, { cause: error })
    : new LullError("store-unavailable", `SQLite refused: ${message}.`, { cause: error });
}

/** Was locked by others for longer than the limit. Nothing was written. */
export function busyTooLong(limitMs: number): LullError {
  return new LullError("store-busy", `The SQLite database was locked by others for ${limitMs} ms.`, {
    details: { limitMs },
  });
}
