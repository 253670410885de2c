import { expect, test } from "vitest";
import { LullError } from "../../src/errors.ts";
import type { ConversationRecord, LogEntry } from "../../src/model.ts";
import { decodeEntry, decodeRecord, encodeEntry, encodeRecord, migrate } from "../../src/stores/codec.ts";
import { blankRecord, messageEntry, startMs } from "../../src/testing/records.ts";

const window = {
  fromSeq: 1,
  openedAtMs: startMs,
  lastInputAtMs: startMs,
  holdUntilMs: null,
  incompleteUntilMs: startMs,
  quietMs: 0,
  count: 1,
};

/** Every optional part of a record is there. */
const full: ConversationRecord = blankRecord("c", {
  window,
  lease: {
    owner: "w1",
    claimId: "x",
    fence: startMs,
    purpose: "respond",
    version: 1,
    expiresAtMs: startMs,
    deadlineMs: startMs,
    sealed: false,
    newer: window,
  },
  effects: {
    begun: { state: "begun", fence: 1, untilMs: startMs },
    ended: { state: "ended", fence: 1, seq: 1 },
  },
  outbox: {
    replyId: "r",
    cause: "turn",
    fence: 1,
    from: 0,
    to: 1,
    committedAtMs: startMs,
    sealed: true,
    open: false,
    ending: null,
    parts: [{ state: "queued", doubt: false, tries: 0, nextAtMs: startMs, seq: 1, index: 0 }],
    newerAtMs: null,
    window,
    span: 1,
    restarts: 0,
    effects: {},
  },
  sends: [{ replyId: "s", seq: 1, parts: 1, atMs: startMs }],
  ended: [{ fence: 1, claimId: "x", outcome: "committed" }],
  handoff: { sinceMs: startMs, untilMs: startMs, backlog: "context", by: "ann" },
  parked: { from: 0, to: 1, fromSeq: 1, atMs: startMs, reason: "x" },
  last: { from: 0, to: 1, fromSeq: 1 },
});

function errorOf(call: () => unknown): LullError {
  try {
    call();
  } catch (error) {
    if (LullError.isInstance(error)) return error;
    throw error;
  }
  return expect.unreachable("should have been refused");
}

test("what is learned of a user's pace may be there or not, and is looked at where it is", () => {
  const shown = { replyId: "r", seq: 3, atMs: startMs };
  const learned = {
    ...window,
    reason: "pace",
    baseMs: 7_000,
    typingSinceMs: startMs,
    crossed: { replyId: "r", seq: 3 },
  };
  const record = { ...full, window: learned, pace: { shown, replies: 4, crossed: 1, factor: 1.3 } };
  expect(decodeRecord("c", encodeRecord(record as ConversationRecord))).toEqual(record);
  for (const factor of [0, -1, 11, "1", null]) {
    const wrong = { ...record, pace: { ...record.pace, factor } };
    expect(errorOf(() => decodeRecord("c", encodeRecord(wrong as ConversationRecord))).message).toMatch(/pace\.factor/);
  }
  const nameless = { ...record, window: { ...learned, crossed: { seq: 3 } } };
  expect(errorOf(() => decodeRecord("c", encodeRecord(nameless as never))).message).toMatch(/window\.crossed\.replyId/);
});

test("a record comes back as it was, unknown fields included", () => {
  const record = { ...full, later: { anything: [1] } };
  expect(decodeRecord("c", encodeRecord(record))).toEqual(record);
});

test("every wrong or missing field of a record is noticed and named", () => {
  const paths: string[][] = [];
  const walk = (value: unknown, path: string[]) => {
    if (typeof value !== "object" || value === null || path[0] === "address") return;
    for (const [key, child] of Object.entries(value)) {
      paths.push([...path, key]);
      walk(child, [...path, key]);
    }
  };
  walk(full, []);
  expect(paths.length).toBeGreaterThan(80);
  for (const path of paths) {
    const copy = JSON.parse(encodeRecord(full)) as Record<string, unknown>;
    const owner = path.slice(0, -1).reduce((at, key) => at[key] as Record<string, unknown>, copy);
    // Of the right kind nowhere in a record.
    owner[path.at(-1) as string] = path[0] === "address" ? undefined : [[]];
    const error = errorOf(() => decodeRecord("c", JSON.stringify(copy)));
    expect(error.code, path.join(".")).toBe("store-damaged");
    expect(error.details?.conversation).toBe("c");
    if (path[0] !== "schema" && path[0] !== "effects") expect(error.message).toContain(`"${path.join(".")}`);
  }
});

test("text that is no record is damaged, and its content stays out of the error", () => {
  for (const text of ["", "{", "null", "[]", "7", '"secret"', '{"secret":']) {
    const error = errorOf(() => decodeRecord("c", text));
    expect(error.code).toBe("store-damaged");
    expect(JSON.stringify([error.message, error.details, String(error.cause)])).not.toContain("secret");
  }
  expect(errorOf(() => decodeRecord("d", encodeRecord(full))).message).toContain('belongs to "c"');
});

test("what a newer release wrote says what to do", () => {
  const record = errorOf(() => decodeRecord("c", JSON.stringify({ schema: 2, shape: "unknown" })));
  expect(record).toMatchObject({
    code: "store-newer-schema",
    details: { conversation: "c", stored: 2, supported: 1 },
  });
  expect(record.message).toMatch(/schema 2.*up to 1.*upgrade/);
  const entry = errorOf(() => decodeEntry("c", 1, JSON.stringify({ ...messageEntry(1), schema: 2 })));
  expect(entry.code).toBe("store-newer-schema");
});

test("what an older release wrote is migrated step by step", () => {
  const steps = {
    1: (old: Record<string, unknown>) => ({ ...old, schema: 2, b: `${old.a}b` }),
    2: (old: Record<string, unknown>) => ({ ...old, schema: 3, c: `${old.b}c` }),
  };
  expect(migrate("it", "c", { schema: 1, a: "a" }, 3, steps)).toEqual({ schema: 3, a: "a", b: "ab", c: "abc" });
  expect(migrate("it", "c", { schema: 2, b: "b" }, 3, steps)).toEqual({ schema: 3, b: "b", c: "bc" });
  expect(migrate("it", "c", { schema: 3 }, 3, steps)).toEqual({ schema: 3 });
  expect(errorOf(() => migrate("it", "c", { schema: 1 }, 2, {})).code).toBe("store-damaged");
  for (const schema of [0, -1, 1.5, "1", null]) {
    expect(errorOf(() => decodeRecord("c", JSON.stringify({ ...full, schema }))).code).toBe("store-damaged");
  }
});

test("a log entry comes back as it was, and only in its place", () => {
  const entries: LogEntry[] = [
    messageEntry(1),
    { kind: "effect", key: "k", span: 1, fence: 1, value: null, seq: 1, atMs: startMs },
    { kind: "from-the-future", seq: 1, atMs: startMs, x: [1] } as unknown as LogEntry,
    // Names that every object has are kinds like any other.
    { kind: "constructor", seq: 1, atMs: startMs } as unknown as LogEntry,
  ];
  for (const entry of entries) expect(decodeEntry("c", 1, encodeEntry(entry))).toEqual(entry);
  const bad = [
    { ...messageEntry(1), seq: 2 },
    { ...messageEntry(1), atMs: null },
    { ...messageEntry(1), kind: 7 },
    { ...messageEntry(1), parts: "text" },
    { ...messageEntry(1), version: undefined },
    { kind: "effect", key: "k", span: 1, fence: 1, seq: 1, atMs: startMs },
  ];
  for (const entry of bad) {
    expect(errorOf(() => decodeEntry("c", 1, JSON.stringify(entry))).code).toBe("store-damaged");
  }
});
