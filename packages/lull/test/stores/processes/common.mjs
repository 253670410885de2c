// What the processes share. They run the built package, as users do.
import { createRequire } from "node:module";

/** @import { ConversationRecord } from "../../../src/model.ts" */
/** @import { Write } from "../../../src/ports.ts" */

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const builtIn = major > 22 || (major === 22 && minor >= 13);
const { DatabaseSync } = createRequire(import.meta.url)(builtIn ? "node:sqlite" : "@photostructure/sqlite");

/** @param {string} path @returns {import("../../../src/stores/sqlite/driver.ts").SqliteLike} */
export function openDatabase(path) {
  return new DatabaseSync(path);
}

/**
 * One more message, with its seen key and a timer.
 * @param {ConversationRecord | null} before @param {string} id @param {string} author @returns {Write}
 */
export function increment(before, id, author) {
  const nowMs = Date.now();
  const version = (before?.version ?? 0) + 1;
  const key = crypto.randomUUID();
  /** @type {ConversationRecord} */
  const next = before
    ? { ...before, revision: key, version, seq: version, updatedAtMs: nowMs }
    : {
        schema: 1,
        id,
        revision: key,
        version,
        answered: 0,
        seq: version,
        span: 1,
        window: null,
        lease: null,
        fence: 0,
        attempts: 0,
        restarts: 0,
        failures: 0,
        retryAtMs: null,
        effects: {},
        outbox: null,
        sends: [],
        ended: [],
        handoff: null,
        parked: null,
        last: null,
        tempo: { sinceMs: 0, replies: 0 },
        address: null,
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
      };
  return {
    id,
    next,
    expected: before?.revision ?? null,
    wakeAtMs: nowMs + 1000,
    append: [
      {
        kind: "message",
        id: key,
        version,
        parts: [{ type: "text", text: `${author} ${version}` }],
        seq: version,
        atMs: nowMs,
      },
    ],
    seen: [{ key, expiresAtMs: nowMs + 60_000, value: version }],
    nowMs,
  };
}
