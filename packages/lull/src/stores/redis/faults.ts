/**
 * What went wrong, in lull's words. Whatever a client throws leaves the outcome of a write unknown: a connection may
 * break after the script has run. So the default is `store-unavailable`, to be tried again; only what cannot be mended
 * by waiting is told apart.
 *
 * @module
 */
import { LullError } from "../../errors.ts";

/** How ioredis passes on the server's last word, when a cluster has sent it to and fro too often. */
const lastOfMany = /^Too many Cluster redirections\. Last error: (?:\w*Error: )?/;

/** The first word of a server's error: "READONLY", "OOM". Null for an error of the client itself. */
export function wordOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  return /^([A-Z]{3,}) /.exec(error.message.replace(lastOfMany, ""))?.[1] ?? null;
}

/** The server is a replica, or was made one: another is the primary now. */
export function isReadOnly(error: unknown): boolean {
  return wordOf(error) === "READONLY";
}

/** Keys of one call are in two places, or where the client has not looked yet: the call was not run at all. */
const onItsWay = "the cluster's slot is on its way to another node; nothing was written";

/** What waiting mends, and what helps it along. */
const passing: Readonly<Record<string, string>> = {
  READONLY: "it is a replica; the primary is another server now",
  MOVED: onItsWay,
  ASK: onItsWay,
  TRYAGAIN: onItsWay,
  CLUSTERDOWN: "the cluster has no primary for some slots; a failover may be under way",
  LOADING: "it is still loading its data",
  MASTERDOWN: "it is a replica without its primary",
  BUSY: "a script keeps it busy",
  NOREPLICAS: "it has fewer replicas than its min-replicas-to-write",
  MISCONF: "it cannot save to its disk",
  OOM: "it has no memory left (maxmemory); nothing was written",
};

/** What stays until a person changes something. */
const lasting: Readonly<Record<string, string>> = {
  NOAUTH: "it wants a password",
  WRONGPASS: "user or password is wrong",
  NOPERM: "this user's ACL does not allow it; docs/stores.md names the commands and keys that lull needs",
  CROSSSLOT: "it is part of a cluster; use a client for clusters",
};

export function toStoreError(error: unknown): LullError {
  if (LullError.isInstance(error)) return error;
  const message = error instanceof Error ? error.message || error.name : String(error);
  const word = wordOf(error);
  const details = word === null ? {} : { details: { reply: word } };
  if (word === "WRONGTYPE") {
    return new LullError("store-damaged", `A key of lull holds something else: ${message}`, {
      cause: error,
      ...details,
    });
  }
  const why = word === null ? undefined : (passing[word] ?? lasting[word]);
  if (why !== undefined && word !== null) {
    const retryable = word in passing;
    return new LullError("store-unavailable", `Redis refused: ${why} (${message}).`, {
      cause: error,
      retryable,
      ...details,
    });
  }
  // An old server takes the first line of a script for an error.
  if (/Error compiling script.*'#'/.test(message)) {
    const text = "lull needs Redis 7.0 or newer, or Valkey: this server does not understand its scripts.";
    return new LullError("invalid-options", text, { cause: error });
  }
  if (/^ERR (?!max number of clients)/.test(message)) {
    const text = `Redis refused: ${message}.`;
    return new LullError("store-unavailable", text, { cause: error, retryable: false, details: { reply: "ERR" } });
  }
  return new LullError("store-unavailable", `The connection to Redis failed: ${message}.`, {
    cause: error,
    ...details,
  });
}

export function tooLate(limitMs: number): LullError {
  return new LullError("store-unavailable", `Redis did not answer within ${limitMs} ms.`, { details: { limitMs } });
}

/** The write is on the primary, but not yet where it would survive it: whoever sent it is to send it again. */
export function notReplicated(reached: number, wanted: number, waitedMs: number): LullError {
  const text = `The write reached ${reached} of ${wanted} replicas within ${waitedMs} ms.`;
  return new LullError("store-unavailable", text, { details: { reached, wanted, waitedMs } });
}
