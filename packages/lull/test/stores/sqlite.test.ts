import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { LullError } from "../../src/errors.ts";
import type { ConversationRecord } from "../../src/model.ts";
import type { Clock } from "../../src/ports.ts";
import { scrub, sqlite } from "../../src/stores/sqlite/index.ts";
import { prepareDatabase } from "../../src/stores/sqlite/schema.ts";
import { migrations, statements } from "../../src/stores/sqlite/statements.ts";
import { messageEntry, startMs, writeAfter } from "../../src/testing/records.ts";
import { storeContract } from "../../src/testing/store-contract.ts";
import { openDatabase, type TestDatabase, temporaryFolder, watched } from "./database.ts";

storeContract(
  "sqlite",
  ({ now }) => {
    const folder = temporaryFolder();
    const db = openDatabase(folder.path("lull.db"));
    return { store: sqlite(db, { now, closeDatabase: true }), dispose: folder.remove };
  },
  { test, expect },
);

let folder: ReturnType<typeof temporaryFolder>;
let opened: TestDatabase[];
beforeEach(() => {
  folder = temporaryFolder();
  opened = [];
});
afterEach(() => {
  for (const db of opened) db.close();
  folder.remove();
});

function open(name = "lull.db"): TestDatabase {
  const db = openDatabase(folder.path(name));
  opened.push(db);
  return db;
}

const now = () => startMs;

/** What a rejected promise brought; fails the test when it was fulfilled. */
async function errorOf(promise: Promise<unknown>): Promise<LullError> {
  const error = await promise.then(
    () => expect.unreachable("should have been refused"),
    (reason: unknown) => reason,
  );
  if (!LullError.isInstance(error)) throw error;
  return error;
}

// ---------------------------------------------------------------------------------------------
// Traces

test("a database of the release before is brought up to date", async () => {
  const db = open();
  prepareDatabase(db, migrations.slice(0, 1), startMs);
  const store = sqlite(db, { now });
  await store.exchange(writeAfter(null, "c", { append: 1 }));
  await store.setPause?.({ sinceMs: startMs });
  expect((await store.due(0, 1)).paused).toEqual({ sinceMs: startMs });
});

test("scrub leaves no trace of what was erased, wherever pages were split and merged before", async () => {
  const path = folder.path("lull.db");
  const store = sqlite(open(), { now });
  const other = sqlite(open(), { now });
  const records = new Map<string, ConversationRecord>();
  // Sizes from a few bytes to several pages, interleaved: so that leaves split, overflow and are rebuilt.
  for (let n = 0; n < 1_500; n++) {
    const id = `c${(n * 7_919) % 30}`;
    const text = `TRACE-${id}-`.repeat(1 + ((n * 104_729) % (n % 20 === 0 ? 1_200 : 60)));
    const before = records.get(id) ?? null;
    const write = writeAfter(before, id, { append: [messageEntry((before?.seq ?? 0) + 1, text)] });
    expect((await store.exchange(write)).kind).toBe("stored");
    records.set(id, write.next);
  }
  const trace = (id: string) =>
    ["", "-wal"].some((end) => existsSync(path + end) && readFileSync(path + end).includes(`TRACE-${id}-`));
  const erased = ["c3", "c8", "c21"];
  for (const id of erased) expect(await store.erase(id)).toBe(true);
  expect(erased.map(trace)).toEqual([true, true, true]);
  const own = open();
  await scrub(own);
  expect(erased.map(trace)).toEqual([false, false, false]);
  expect(trace("c4")).toBe(true);
  // Others go on with the file, before and after.
  expect((await other.load("c4", { logFrom: 1 })).log).toHaveLength(50);
  expect((await store.exchange(writeAfter(null, "later", { append: 1 }))).kind).toBe("stored");
  await scrub(own);
});

test("scrub waits for readers, and says so when they stay", async () => {
  const store = sqlite(open(), { now });
  await store.exchange(writeAfter(null, "c", { append: 1 }));
  const reader = open();
  reader.exec("begin");
  reader.prepare("select count(*) from lull_log").get({});
  await store.exchange(writeAfter(null, "d", { append: 1 }));
  const db = open();
  expect((await errorOf(scrub(db, { busyTimeoutMs: 200 }))).code).toBe("store-busy");
  const waiting = scrub(db);
  setTimeout(() => reader.exec("commit"), 100);
  await waiting;
});

// ---------------------------------------------------------------------------------------------
// Group commit

test("exchanges of one turn of the event loop share a commit", async () => {
  let commits = 0;
  const db = watched(open(), (sql) => {
    if (sql === "commit") commits++;
  });
  const store = sqlite(db, { now });
  await store.stats();
  commits = 0;
  const answers = await Promise.all(
    Array.from({ length: 300 }, (_, index) => store.exchange(writeAfter(null, `c${index}`, { append: 1 }))),
  );
  expect(answers.every((answer) => answer.kind === "stored")).toBe(true);
  expect(commits, "256 in one transaction at most").toBe(2);
  for (let index = 0; index < 3; index++) await store.exchange(writeAfter(null, `alone${index}`));
  expect(commits).toBe(5);
});

test("nobody hears of a write before it is committed", async () => {
  const order: string[] = [];
  const db = watched(open(), (sql) => order.push(sql));
  const store = sqlite(db, { now });
  await store.stats();
  order.length = 0;
  const first = writeAfter(null, "c", { append: 1 });
  await Promise.all([
    store.exchange(first).then(() => order.push("first")),
    store.exchange(writeAfter(first.next, "c", { append: 1 })).then((answer) => order.push(answer.kind)),
    store.exchange(writeAfter(null, "d")).then(() => order.push("third")),
  ]);
  // The second sees the first, although both are in one transaction.
  expect(order.filter((step) => !/savepoint|release/.test(step))).toEqual([
    "begin immediate",
    "commit",
    "first",
    "stored",
    "third",
  ]);
});

test("one bad exchange leaves the others of its batch alone", async () => {
  const db = open();
  const store = sqlite(db, { now });
  const stored = writeAfter(null, "conflict", { seen: [{ key: "k", value: 1, expiresAtMs: startMs + 1 }] });
  await store.exchange(stored);
  // An SQL error in the middle of an exchange: its record is written, its log entry is refused.
  db.exec(`create trigger bad before insert on lull_log when new.conversation = 'broken'
    begin select raise(abort, 'no such thing'); end`);
  const results = await Promise.allSettled([
    store.exchange(writeAfter(null, "good", { append: 1 })),
    store.exchange(writeAfter(null, "conflict")),
    store.exchange(writeAfter(null, "broken", { append: 1, wakeAtMs: startMs })),
    store.exchange(writeAfter(null, "gap", { append: [messageEntry(7)], record: { seq: 7 } })),
    store.exchange(writeAfter(stored.next, "conflict", { seen: [{ key: "k", value: 2, expiresAtMs: startMs }] })),
    store.exchange(writeAfter(null, "also good", { append: 1 })),
  ]);
  expect(results.map((result) => (result.status === "fulfilled" ? result.value.kind : result.reason.code))).toEqual([
    "stored",
    "conflict",
    "store-unavailable",
    "store-not-contiguous",
    "duplicate",
    "stored",
  ]);
  const { conversations } = await store.list();
  expect(conversations.map((record) => record.id)).toEqual(["also good", "conflict", "good"]);
  expect((await store.stats()).active).toBe(0);
});

test("a batch that fails as a whole is done one by one", async () => {
  // As a full disk does: the transaction is gone, and so is its savepoint.
  const db = open();
  let full = 0;
  const store = sqlite(
    watched(db, (sql) => {
      if (sql !== "commit" || full === 0) return;
      full--;
      db.exec("rollback");
      throw Object.assign(new Error("database or disk is full"), { code: "ERR_SQLITE_ERROR", errcode: 13 });
    }),
    { now },
  );
  await store.stats();
  full = 2; // The whole batch, then its first write.
  const results = await Promise.allSettled(
    ["a", "b", "c"].map((id) => store.exchange(writeAfter(null, id, { append: 1 }))),
  );
  expect(results.map((result) => result.status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
  expect(await errorOf(Promise.reject((results[0] as PromiseRejectedResult).reason))).toMatchObject({
    code: "store-unavailable",
    retryable: true,
  });
  expect(await store.load("a", { logFrom: 1 })).toMatchObject({ record: null, log: [] });
  expect((await store.list()).conversations.map((record) => record.id)).toEqual(["b", "c"]);
});

test("a full disk refuses what does not fit, and nothing is half written", async () => {
  const db = open();
  const store = sqlite(db, { now });
  const first = writeAfter(null, "big", { append: 1 });
  await store.exchange(first);
  const { page_count } = db.prepare("pragma page_count").get({}) as { page_count: number };
  db.prepare(`pragma max_page_count = ${page_count + 3}`).get({});
  const big = messageEntry(2, "x".repeat(100_000));
  const results = await Promise.allSettled([
    store.exchange(writeAfter(null, "small")),
    store.exchange(writeAfter(first.next, "big", { append: [big], wakeAtMs: startMs, record: { seq: 2 } })),
    store.exchange(writeAfter(null, "small too")),
  ]);
  expect(results.map((result) => (result.status === "fulfilled" ? result.value.kind : result.reason.code))).toEqual([
    "stored",
    "store-unavailable",
    "stored",
  ]);
  expect(await store.load("big", { logFrom: 1 })).toMatchObject({ record: first.next, log: [{ seq: 1 }] });
  expect((await store.stats()).active).toBe(0);
  db.prepare("pragma max_page_count = 100000").get({});
  expect((await store.exchange(writeAfter(first.next, "big", { append: [big] }))).kind).toBe("stored");
});

// ---------------------------------------------------------------------------------------------
// Other connections

/** Real time in small steps: a sleep lasts as long as it says, and is noted. */
function countingClock(): Clock & { slept: number[] } {
  const slept: number[] = [];
  const clock = systemClock();
  return {
    ...clock,
    slept,
    sleep: (ms, signal) => {
      slept.push(ms);
      return clock.sleep(ms, signal);
    },
  };
}

test("a locked database is tried again, without blocking the event loop", async () => {
  const clock = countingClock();
  const store = sqlite(open(), { now, clock });
  await store.stats();
  const other = open();
  other.exec("begin immediate");
  let stored = false;
  const writes = Promise.all(
    ["a", "b", "c"].map((id) => store.exchange(writeAfter(null, id)).then((answer) => answer.kind)),
  ).then((kinds) => {
    stored = true;
    return kinds;
  });
  let turns = 0;
  for (const until = performance.now() + 150; performance.now() < until; turns++) await clock.sleep(1);
  expect(turns, "the event loop went on").toBeGreaterThan(8);
  expect(stored).toBe(false);
  expect((await store.list()).conversations, "reading goes on").toEqual([]);
  other.exec("rollback");
  expect(await writes).toEqual(["stored", "stored", "stored"]);
});

test("a database that stays locked is reported, and nothing was written", async () => {
  const store = sqlite(open(), { now, busyTimeoutMs: 60 });
  await store.stats();
  const other = open();
  other.exec("begin immediate");
  const error = await errorOf(store.exchange(writeAfter(null, "c")));
  expect(error).toMatchObject({ code: "store-busy", retryable: true });
  other.exec("rollback");
  expect((await store.load("c")).record).toBe(null);
  expect((await store.exchange(writeAfter(null, "c"))).kind).toBe("stored");
});

test("a busy commit is tried again as a whole", async () => {
  const db = open();
  let busy = 0;
  const store = sqlite(
    watched(db, (sql) => {
      if (sql === "commit" && busy-- > 0) {
        throw Object.assign(new Error("database is locked"), { code: "SQLITE_BUSY_SNAPSHOT" });
      }
    }),
    { now },
  );
  await store.stats();
  busy = 3;
  const answers = await Promise.all(["a", "b"].map((id) => store.exchange(writeAfter(null, id, { append: 2 }))));
  expect(answers.map((answer) => answer.kind)).toEqual(["stored", "stored"]);
  expect((await store.load("a", { logFrom: 1 })).log.length).toBe(2);
});

test("a transaction of somebody else on the connection is an error that says so", async () => {
  const db = open();
  const store = sqlite(db, { now });
  await store.stats();
  db.exec("begin");
  const error = await errorOf(store.exchange(writeAfter(null, "c")));
  expect(error.code).toBe("store-unavailable");
  expect(error.message).toContain("transaction");
  // And it is still theirs to end.
  db.exec("commit");
  expect((await store.exchange(writeAfter(null, "c"))).kind).toBe("stored");
});

test("a store steps back now and then for another that writes", async () => {
  const chances = [0.99, 0.99, 0];
  const clock = { ...countingClock(), random: () => chances.shift() ?? 0.5 };
  const store = sqlite(open(), { now, clock });
  const other = sqlite(open(), { now });
  await store.exchange(writeAfter(null, "a"));
  await store.exchange(writeAfter(null, "b"));
  expect(clock.slept, "alone it does not wait").toEqual([]);
  await other.exchange(writeAfter(null, "c"));
  await store.exchange(writeAfter(null, "d"));
  for (const id of ["e", "f"]) await store.exchange(writeAfter(null, id));
  expect(clock.slept, "by chance not yet").toEqual([]);
  await store.exchange(writeAfter(null, "g"));
  expect(clock.slept.length).toBe(1);
  expect(clock.slept[0]).toBeLessThanOrEqual(30);
});

// ---------------------------------------------------------------------------------------------
// Durability and schema

test("what was acknowledged is there when the database is opened again", async () => {
  const db = openDatabase(folder.path("lull.db"));
  const first = sqlite(db, { now, closeDatabase: true });
  const write = writeAfter(null, "c", { append: 2, wakeAtMs: startMs });
  await first.exchange(write);
  await first.close();
  const store = sqlite(open(), { now });
  expect((await store.load("c")).record).toEqual(write.next);
  expect((await store.due(startMs, 1)).timers.length).toBe(1);
  expect(store.durability.class).toBe("disk");
});

test("it writes ahead, syncs every commit, and blocks for milliseconds only", async () => {
  const db = open();
  await sqlite(db, { now }).stats();
  expect(db.prepare("pragma journal_mode").get({})).toEqual({ journal_mode: "wal" });
  expect(db.prepare("pragma synchronous").get({})).toEqual({ synchronous: 2 });
  expect((db.prepare("pragma busy_timeout").get({}) as { timeout: number }).timeout).toBeLessThanOrEqual(20);
});

test("a database in memory does not claim to be durable", async () => {
  const db = openDatabase(":memory:");
  opened.push(db);
  const store = sqlite(db, { now });
  expect((await store.exchange(writeAfter(null, "c"))).kind).toBe("stored");
  expect(store.durability.class).toBe("memory");
});

test("a database of a newer release is refused and left alone", async () => {
  const db = open();
  await sqlite(db, { now }).stats();
  db.prepare(statements.schemaAdd).run({ version: migrations.length + 1, now_ms: startMs });
  const error = await errorOf(sqlite(open(), { now }).load("c"));
  expect(error).toMatchObject({
    code: "store-newer-schema",
    details: { stored: migrations.length + 1, supported: migrations.length },
  });
  expect(error.message).toContain("Upgrade lull");
});

test("a database of an older release is migrated, once", async () => {
  const older = ["create table lull_thing (a integer) strict"];
  const newest = [
    ...older,
    "alter table lull_thing add column b integer",
    "insert into lull_thing (a, b) values (1, 2)",
  ];
  expect(prepareDatabase(open(), older, startMs)).toBe("wal");
  const db = open();
  for (let starter = 0; starter < 3; starter++) prepareDatabase(open(), newest, startMs + starter);
  expect(db.prepare("select a, b from lull_thing").all({})).toEqual([{ a: 1, b: 2 }]);
  expect(db.prepare("select version, applied_at_ms from lull_schema").all({})).toEqual(
    [1, 2, 3].map((version) => ({ version, applied_at_ms: startMs })),
  );
});

test("a migration that fails leaves the database as it was", async () => {
  const db = open();
  const broken = ["create table lull_thing (a integer) strict", "create table lull_thing (a integer) strict"];
  expect(() => prepareDatabase(db, broken, startMs)).toThrow(/could not create its tables/);
  expect(db.prepare("select name from sqlite_master").all({})).toEqual([]);
});

test("several stores may start on an empty file at once", async () => {
  const stores = Array.from({ length: 4 }, () => sqlite(open(), { now }));
  const answers = await Promise.all(
    stores.map((store, index) => store.exchange(writeAfter(null, `c${index}`, { append: 1 }))),
  );
  expect(answers.map((answer) => answer.kind)).toEqual(Array(4).fill("stored"));
  expect((await stores[0]?.stats())?.conversations).toBe(4);
});

test("a start on a locked file is tried again by the next call", async () => {
  const other = open();
  other.exec("begin immediate; create table mine (a)");
  const store = sqlite(open(), { now, busyTimeoutMs: 50 });
  expect((await errorOf(store.load("c"))).code).toBe("store-busy");
  other.exec("commit");
  expect((await store.load("c")).record).toBe(null);
});

test("other tables and versions in the database stay as they are", async () => {
  const db = open();
  db.exec("create table record (a); insert into record values ('mine'); pragma user_version = 7");
  const store = sqlite(db, { now });
  await store.exchange(writeAfter(null, "c", { append: 1 }));
  expect(db.prepare("select a from record").all({})).toEqual([{ a: "mine" }]);
  expect(db.prepare("pragma user_version").get({})).toEqual({ user_version: 7 });
  const { names } = db
    .prepare("select group_concat(name, ' ') as names from sqlite_master where sql is not null and name <> 'record'")
    .get({}) as { names: string };
  expect(names.split(" ").filter((name) => !name.startsWith("lull_"))).toEqual([]);
});

test("what is no database is called damaged", async () => {
  const { writeFileSync } = await import("node:fs");
  writeFileSync(folder.path("text.db"), "this is no database, but it is long enough to look at".repeat(100));
  expect((await errorOf(sqlite(open("text.db"), { now }).load("c"))).code).toBe("store-damaged");
});

test("what is no connection is refused at once", () => {
  expect(() => sqlite("lull.db" as never)).toThrow(LullError);
});

// ---------------------------------------------------------------------------------------------
// Damage

test("an unreadable conversation keeps nobody else waiting", async () => {
  const db = open();
  const damage: LullError[] = [];
  const store = sqlite(db, { now, onDamage: (error) => damage.push(error) });
  for (let index = 0; index < 9; index++) {
    await store.exchange(writeAfter(null, `c${index}`, { append: 1, wakeAtMs: startMs + index }));
  }
  const replace = (id: string, record: string) =>
    db.prepare("update lull_record set record = :record where id = :id").run({ id, record });
  const text = (id: string) =>
    (db.prepare("select record from lull_record where id = :id").get({ id }) as { record: string }).record;
  replace("c0", "{");
  replace("c1", text("c1").replace('"schema":1', '"schema":9'));
  replace("c2", text("c2").replace('"version":1', '"version":"1"'));
  replace("c3", text("c4"));
  db.prepare("delete from lull_record where id = :id").run({ id: "c4" });

  const due = async (limit: number) => (await store.due(startMs + 100, limit)).timers.map((timer) => timer.id);
  expect(await due(2)).toEqual(["c5", "c6"]);
  expect(await due(100)).toEqual(["c5", "c6", "c7", "c8"]);
  expect((await store.list({ limit: 2 })).next, "a page of skipped ones is not the last").toBe("c1");
  expect((await store.list()).conversations.map((record) => record.id)).toEqual(["c5", "c6", "c7", "c8"]);
  expect((await store.repair({}, () => null)).repaired).toEqual(["c5", "c6", "c7", "c8"]);
  const pruned = await store.prune({ seenBeforeMs: 0, logBeforeMs: startMs + 1, keepFrom: () => 9 });
  expect(pruned.entries).toBe(4);
  expect(
    damage.map((error) => [error.code, error.details?.conversation]),
    "each is named once",
  ).toEqual([
    ["store-damaged", "c0"],
    ["store-newer-schema", "c1"],
    ["store-damaged", "c2"],
    ["store-damaged", "c3"],
    ["store-damaged", "c4"],
  ]);
  expect(damage[2]?.message).toContain('"version"');

  expect((await errorOf(store.load("c0"))).code).toBe("store-damaged");
  expect((await errorOf(store.load("c1"))).code).toBe("store-newer-schema");
  const results = await Promise.allSettled([
    store.exchange(writeAfter(null, "c1")),
    store.exchange(writeAfter(null, "fine")),
  ]);
  expect(results.map((result) => result.status)).toEqual(["rejected", "fulfilled"]);
  expect(await store.erase("c0"), "and can be removed").toBe(true);
});

// ---------------------------------------------------------------------------------------------
// Statements

test("the embedded statements are those of the files", () => {
  const script = fileURLToPath(new URL("../../../../scripts/embed-sql.mjs", import.meta.url));
  execFileSync(process.execPath, [script, "--check"], { stdio: "pipe" });
});

test("every statement that meets many rows uses an index, in its order", () => {
  const db = open();
  prepareDatabase(db, migrations, startMs);
  const plan = (sql: string) =>
    (db.prepare(`explain query plan ${sql}`).all(Object.fromEntries(parameters(sql))) as { detail: string }[])
      .map((row) => row.detail)
      .join("\n");
  // A scan of a covering index is how SQLite counts.
  const counts = new Set<string>(["stats", "schemaVersion", "schemaExists", "schemaCreate", "schemaAdd"]);
  for (const [name, sql] of Object.entries(statements)) {
    if (counts.has(name)) continue;
    expect(plan(sql), name).not.toMatch(/SCAN (lull|r\b|t\b)|TEMP B-TREE/);
  }
  expect(plan(statements.due)).toContain("lull_timer_wake");
  expect(plan(statements.listParked)).toContain("lull_record_parked");
  expect(plan(statements.listHandedOff)).toContain("lull_record_handed_off");
  expect(plan(statements.prunePage)).toContain("lull_record_log_begins");
  expect(plan(statements.seenPrune)).toContain("lull_seen_expires");
});

test("a list by prefix begins at the prefix, and walks nothing of what comes before it", () => {
  const db = open();
  prepareDatabase(db, migrations, startMs);
  db.exec(`begin;
    insert into lull_record (id, revision, seq, parked, handed_off, record)
      with recursive n (n) as (select 1 union all select n + 1 from n where n < 50000)
      select printf('c%06d', n), 'r', 0, 1, 1, '{}' from n;
    insert into lull_timer (conversation, wake_at_ms, revision) select id, 0, 'r' from lull_record;
    commit`);
  const best = (sql: string, wanted: { after: string; prefix: string; active: number | null }) => {
    const statement = db.prepare(sql);
    let least = Number.POSITIVE_INFINITY;
    for (let n = 0; n < 7; n += 1) {
      const began = performance.now();
      const rows = statement.all({ ...wanted, parked: null, handed_off: null, limit: 10 }) as { id: string }[];
      least = Math.min(least, performance.now() - began);
      expect(rows.map(({ id }) => id)[0]).toBe("c049990");
      expect(rows).toHaveLength(10);
    }
    return least;
  };
  for (const name of ["list", "listActive", "listParked", "listHandedOff"] as const) {
    const active = name === "listActive" ? 1 : null;
    const byPlace = best(statements[name], { after: "c049989", prefix: "", active });
    // Walking 50,000 ids takes more than a hundred times as long.
    expect(best(statements[name], { after: "", prefix: "c04999", active }), name).toBeLessThan(10 * byPlace + 1);
    expect(best(statements[name], { after: "c049989", prefix: "c04", active }), name).toBeLessThan(10 * byPlace + 1);
  }
});

function parameters(sql: string): [string, number][] {
  return [...new Set(sql.match(/(?<=:)[a-z_]+/g))].map((name) => [name, 1]);
}
