/**
 * What went wrong, in lull's words. Whatever a driver throws leaves the outcome of a write unknown: a connection may
 * break after the commit. So the default is `store-unavailable`, to be tried again; only what cannot be mended by
 * waiting is told apart.
 *
 * @module
 */
import { LullError } from "../../errors.ts";

/** SQLSTATE of an error of the server, see https://www.postgresql.org/docs/current/errcodes-appendix.html */
function stateOf(error: unknown): string | null {
  if (typeof error !== "object" || error === null) return null;
  const { code } = error as { code?: unknown };
  // Drivers give their own errors codes too, and longer ones: ECONNRESET, CONNECTION_CLOSED.
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && code !== "EPIPE" ? code : null;
}

/** The server is a standby, or was made one: another is the primary now. */
export function isReadOnly(error: unknown): boolean {
  return stateOf(error) === "25006";
}

/** Another process was doing the same at the same moment, for example creating the tables. Nothing was written. */
export function isRace(error: unknown): boolean {
  const state = stateOf(error);
  if (state === "XX000") return error instanceof Error && error.message.includes("concurrently updated");
  return state !== null && ["23505", "42P06", "42P07", "42710", "42723", "40P01", "40001"].includes(state);
}

export function isForbidden(error: unknown): boolean {
  return stateOf(error) === "42501";
}

/** Classes that waiting does not mend: wrong password or user, no such database, table or right, lost statement. */
const permanent = /^(28|3D|42|26)/;
/** A pooler handed us a connection on which our prepared statement was never prepared, or already is. */
const unprepared = ["26000", "42P05"];

/** Longer than an index takes; characters that the encoding does not have. */
const unstorable = ["54000", "22021", "22P05"];

/**
 * The server refused the statement, and so has undone all of it: bad data, a constraint, a conflict of transactions, no
 * room, a limit of its own. Not a connection that broke, which leaves the outcome unknown.
 */
export function isUndone(error: unknown): boolean {
  const state = stateOf(LullError.isInstance(error) ? (error as LullError).cause : error);
  return state !== null && (/^(22|23|40|53|54)/.test(state) || state === "57014");
}

export function toStoreError(error: unknown): LullError {
  if (LullError.isInstance(error)) return error;
  const message = error instanceof Error ? error.message || error.name : String(error);
  const state = stateOf(error);
  if (state === null) {
    return new LullError("store-unavailable", `The connection to Postgres failed: ${message}.`, { cause: error });
  }
  const details = { state };
  if (state.startsWith("XX")) {
    return new LullError("store-damaged", `Postgres found damage: ${message}.`, { cause: error, details });
  }
  if (state === "23505") {
    const text = `The log is longer than its record says: ${message}.`;
    return new LullError("store-damaged", text, { cause: error, details });
  }
  if (unstorable.includes(state)) {
    const text = `Postgres cannot store this: ${message}.`;
    return new LullError("invalid-argument", text, { cause: error, details });
  }
  const advice = unprepared.includes(state) ? " Behind a pooler in transaction mode, set prepare to false." : "";
  return new LullError("store-unavailable", `Postgres refused: ${message}.${advice}`, {
    cause: error,
    details,
    ...(permanent.test(state) ? { retryable: false } : {}),
  });
}

export function tooLate(limitMs: number): LullError {
  return new LullError("store-unavailable", `Postgres did not answer within ${limitMs} ms.`, { details: { limitMs } });
}
