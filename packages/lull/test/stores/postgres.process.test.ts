// The contract, on every way to a real server; then what is Postgres' own: schema, settings, damage, hints.
import { Pool } from "pg";
import postgresJs from "postgres";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { type PostgresServer, startPgBouncer, startPostgres } from "../../../../scripts/servers/postgres.mjs";
import type { LullError } from "../../src/errors.ts";
import type { Store } from "../../src/ports.ts";
import { migrate, type PostgresClient, postgres } from "../../src/stores/postgres/index.ts";
import { startMs, writeAfter } from "../../src/testing/records.ts";
import { storeContract } from "../../src/testing/store-contract.ts";
import { closing, errorOf, freshSchema, tables, testPool, testSql, testStore } from "./postgres.ts";
import { describeSchema } from "./postgres-schema.ts";

let server: PostgresServer;
let bouncer: Awaited<ReturnType<typeof startPgBouncer>>;
beforeAll(async () => {
  // Nothing here is to survive a crash.
  server = await startPostgres({ settings: { fsync: "off", synchronous_commit: "off" } });
  bouncer = await startPgBouncer(server);
});
afterAll(async () => {
  await bouncer?.end();
  await server?.end();
});

const now = () => startMs;

// ---------------------------------------------------------------------------------------------
// The contract

interface Way {
  name: string;
  make(): { client: PostgresClient; end(): Promise<void> };
  prepare?: boolean;
}
const pooled = (client: Pool) => ({ client, end: () => client.end() });
const tagged = (client: postgresJs.Sql) => ({ client, end: () => client.end() });
const ways: Way[] = [
  { name: "pg", make: () => pooled(new Pool({ connectionString: server.url })) },
  {
    name: "pg with prepared statements",
    make: () => pooled(new Pool({ connectionString: server.url })),
    prepare: true,
  },
  { name: "postgres.js", make: () => tagged(postgresJs(server.url)) },
  { name: "pg through PgBouncer", make: () => pooled(new Pool({ connectionString: bouncer.url })) },
  { name: "postgres.js through PgBouncer", make: () => tagged(postgresJs(bouncer.url, { prepare: false })) },
];

describe.each(ways)("$name", ({ name, make, prepare = false }) => {
  let made: ReturnType<typeof make>;
  beforeAll(async () => {
    made = make();
    await migrate(made.client);
  });
  afterAll(() => made.end());
  storeContract(
    name,
    ({ now }) => ({
      store: postgres(made.client, { now, prepare }),
      dispose: async () => {
        await server.run(`truncate ${tables.map((table) => `lull.${table}`).join()}`);
      },
    }),
    { test, expect },
  );
});

// ---------------------------------------------------------------------------------------------
// Clients

test("what is no client is refused at once", async () => {
  const { Client } = await import("pg");
  for (const wrong of [null, "postgres://x", {}, new Client()]) {
    expect(() => postgres(wrong as never)).toThrow("takes a Pool of pg");
  }
  expect(() => postgres(testPool(server.url), { schema: 'x"; drop table y' })).toThrow("schema must be a name");
});

test("it does not mind how a client reads bigints and names columns", async () => {
  const types = { getTypeParser: (id: number) => (id === 20 ? BigInt : String) };
  const clients = [
    testPool({ connectionString: server.url, types: types as never }),
    testSql(server.url, {
      types: { bigint: postgresJs.BigInt },
      transform: postgresJs.toPascal as never,
    } as never) as never,
  ];
  for (const client of clients) {
    const store = closing(postgres(client, { schema: freshSchema() }));
    const nowMs = (await store.stats()).nowMs;
    const write = writeAfter(null, "c", { append: 2, wakeAtMs: nowMs, nowMs, logFrom: 1 });
    expect(await store.exchange(write)).toMatchObject({ kind: "stored", log: write.append as object[] });
    expect((await store.due(nowMs, 5)).timers).toEqual([{ id: "c", wakeAtMs: nowMs, revision: write.next.revision }]);
    expect((await store.load("c", { logFrom: 1 })).log.length).toBe(2);
    expect(await store.stats()).toMatchObject({ conversations: 1, active: 1, due: 1 });
  }
});

test("its clock is the server's", async () => {
  const store = testStore(server, { schema: freshSchema() });
  const before = Date.now();
  const { nowMs } = await store.load("c");
  expect(nowMs).toBeGreaterThanOrEqual(before - 1);
  expect(nowMs).toBeLessThanOrEqual(Date.now() + 1);
  expect((await store.exchange(writeAfter(null, "c", { nowMs: nowMs - 60_000 }))).kind).toBe("skewed");
});

// ---------------------------------------------------------------------------------------------
// Schema

test("a fresh install is the schema of the docs", async () => {
  await migrate(testPool(server.url));
  const found = await describeSchema((text) => server.run(text));
  await expect(found).toMatchFileSnapshot("../../../../docs/postgres-schema.sql");
});

test("any number of processes may start at once on an empty database", async () => {
  const schema = freshSchema();
  const stores = Array.from({ length: 8 }, () => testStore(server, { schema, now }));
  const answers = await Promise.all(
    stores.map((store, index) => store.exchange(writeAfter(null, `c${index}`, { append: 1 }))),
  );
  expect(answers.map((answer) => answer.kind)).toEqual(Array(8).fill("stored"));
  const versions = await server.run(`select version, readable_by from ${schema}.lull_schema order by version`);
  expect(versions).toEqual([
    { version: 1, readable_by: 1 },
    { version: 2, readable_by: 2 },
    { version: 3, readable_by: 2 },
    { version: 4, readable_by: 2 },
  ]);
  expect(await migrate(testPool(server.url), { schema })).toEqual({ from: 4, to: 4 });
});

test("a newer database is refused and left alone, unless it says that older releases may go on", async () => {
  const schema = freshSchema();
  const pool = testPool(server.url);
  await migrate(pool, { schema });
  await server.run(`alter table ${schema}.lull_record add column later text;
    insert into ${schema}.lull_schema (version, readable_by, applied_at_ms) values (5, 2, 0)`);
  const store = closing(postgres(pool, { schema, now }));
  const write = writeAfter(null, "c", { append: 1 });
  expect((await store.exchange(write)).kind).toBe("stored");
  // A newer release wrote a column and a field that this one does not know.
  await server.run(`update ${schema}.lull_record set later = 'x',
    record = jsonb_set(record::jsonb, '{later}', '[1]')::text`);
  const { record } = await store.load("c");
  expect(record).toMatchObject({ later: [1] });
  expect((await store.exchange(writeAfter(record, "c", { append: 1 }))).kind).toBe("stored");
  expect((await store.load("c")).record).toMatchObject({ version: 2, later: [1] });
  expect(await server.run(`select later from ${schema}.lull_record`)).toEqual([{ later: "x" }]);

  await server.run(`insert into ${schema}.lull_schema (version, readable_by, applied_at_ms) values (6, 6, 0)`);
  const newer = { code: "store-newer-schema", details: { stored: 6, supported: 4 }, retryable: false };
  expect(await errorOf(closing(postgres(pool, { schema, now })).load("c"))).toMatchObject(newer);
  expect(await errorOf(migrate(pool, { schema }))).toMatchObject(newer);
});

test("a database of the release before is brought up to date", async () => {
  const schema = freshSchema();
  const pool = testPool(server.url);
  await migrate(pool, { schema });
  await server.run(`drop table ${schema}.lull_mark;
    drop function ${schema}.lull_rewrite_log, ${schema}.lull_exchange_many, ${schema}.lull_load_many;
    delete from ${schema}.lull_schema where version > 2`);
  const store = closing(postgres(pool, { schema, now }));
  expect((await store.exchange(writeAfter(null, "c", { append: 1 }))).kind).toBe("stored");
  await store.setPause?.({ sinceMs: startMs });
  expect((await store.due(0, 1)).paused).toEqual({ sinceMs: startMs });
  expect(await migrate(pool, { schema })).toEqual({ from: 4, to: 4 });
});

test("a role that may not make tables is told what to do, and works once somebody did", async () => {
  const schema = freshSchema();
  const role = `app_${schema}`;
  await server.run(`create role ${role} login`);
  const store = closing(postgres(testPool(server.url.replace("postgres@", `${role}@`)), { schema, now }));
  const error = await errorOf(store.load("c"));
  expect(error).toMatchObject({ code: "store-unavailable", retryable: false });
  expect(error.message).toContain("lull migrate");
  expect(await migrate(testPool(server.url), { schema })).toEqual({ from: 0, to: 4 });
  await server.run(`grant usage on schema ${schema} to ${role};
    grant select, insert, update, delete on all tables in schema ${schema} to ${role}`);
  expect((await store.exchange(writeAfter(null, "c", { append: 1 }))).kind).toBe("stored");
});

test("a migration that fails leaves nothing behind", async () => {
  const schema = freshSchema();
  // A table of the name that the first migration wants, in a schema without lull_schema.
  await server.run(`create schema ${schema}; create view ${schema}.lull_timer as select 1`);
  const error = await errorOf(migrate(testPool(server.url), { schema }));
  expect(error.message).toContain("could not make its tables");
  expect(await server.run(`select table_name from information_schema.tables where table_schema = '${schema}'`)).toEqual(
    [{ table_name: "lull_timer" }],
  );
});

test("a database that is not UTF-8 is refused", async () => {
  await server.run("create database latin encoding 'LATIN1' template template0 locale 'C'");
  const store = closing(postgres(testPool(server.url.replace(/postgres$/, "latin"))));
  expect(await errorOf(store.load("c"))).toMatchObject({ code: "invalid-options" });
});

// ---------------------------------------------------------------------------------------------
// Durability

test("it says what the server's settings promise", async () => {
  const schema = freshSchema();
  await migrate(testPool(server.url), { schema });
  const classOf = async (url: string, options: string) => {
    const store = closing(postgres(testPool({ connectionString: url, options }), { schema }));
    expect(store.durability).toMatchObject({ class: "bounded", note: expect.stringContaining("Not known") });
    await store.stats();
    return store.durability.class;
  };
  expect(await classOf(server.url, ""), "fsync is off here").toBe("memory");

  const safe = await startPostgres();
  onTestFinished(() => safe.end());
  await migrate(testPool(safe.url), { schema });
  expect(await classOf(safe.url, "")).toBe("disk");
  expect(await classOf(safe.url, "-c synchronous_commit=off")).toBe("bounded");
  await safe.run("alter system set synchronous_standby_names = 'far'");
  await safe.run("select pg_reload_conf()");
  await vi.waitFor(async () => expect(await classOf(safe.url, "")).toBe("replicated"));
  expect(await classOf(safe.url, "-c synchronous_commit=local")).toBe("disk");

  // The standby is away: nothing is acknowledged before it has it.
  const store = closing(postgres(testPool(safe.url), { schema, now, timeLimitMs: 500 }));
  const write = writeAfter(null, "c", { append: 1 });
  expect(await errorOf(store.exchange(write))).toMatchObject({ code: "store-unavailable", retryable: true });
  await safe.run("alter system reset synchronous_standby_names");
  await safe.run("select pg_reload_conf()");
  // Unknown was the right word: it was written after all.
  await vi.waitFor(async () => expect((await store.load("c")).record).toEqual(write.next));
}, 60_000);

// ---------------------------------------------------------------------------------------------
// Damage and limits

test("an unreadable conversation keeps nobody else waiting", async () => {
  const schema = freshSchema();
  const damage: LullError[] = [];
  const store = testStore(server, { schema, now, onDamage: (error) => damage.push(error) });
  for (let index = 0; index < 9; index++) {
    await store.exchange(writeAfter(null, `c${index}`, { append: 1, wakeAtMs: startMs + index }));
  }
  const set = (id: string, expression: string) =>
    server.run(`update ${schema}.lull_record set record = ${expression} where id = '${id}'`);
  await set("c0", "'{'");
  await set("c1", `replace(record, '"schema":1', '"schema":9')`);
  await set("c2", `replace(record, '"version":1', '"version":"1"')`);
  await set("c3", `(select record from ${schema}.lull_record where id = 'c4')`);
  await server.run(`delete from ${schema}.lull_record where id = 'c4'`);

  const due = async (limit: number) => (await store.due(startMs + 100, limit)).timers.map((timer) => timer.id);
  expect(await due(2)).toEqual(["c5", "c6"]);
  expect(await due(100)).toEqual(["c5", "c6", "c7", "c8"]);
  expect((await store.list({ limit: 2 })).next, "a page of skipped ones is not the last").toBe("c1");
  expect((await store.list()).conversations.map((record) => record.id)).toEqual(["c5", "c6", "c7", "c8"]);
  expect((await store.repair({}, () => null)).repaired).toEqual(["c5", "c6", "c7", "c8"]);
  const pruned = await store.prune({ seenBeforeMs: 0, logBeforeMs: startMs + 1, keepFrom: () => 9 });
  expect(pruned.entries).toBe(4);
  expect(damage.map((error) => [error.code, error.details?.conversation])).toEqual([
    ["store-damaged", "c0"],
    ["store-newer-schema", "c1"],
    ["store-damaged", "c2"],
    ["store-damaged", "c3"],
    ["store-damaged", "c4"],
  ]);
  expect((await errorOf(store.load("c0"))).code).toBe("store-damaged");
  expect((await errorOf(store.exchange(writeAfter(null, "c1")))).code).toBe("store-newer-schema");
  expect(await store.erase("c0"), "and can be removed").toBe(true);
  expect(await store.erase("c4"), "even what has no record").toBe(true);
  expect((await store.due(startMs + 100, 100)).timers).toEqual([]);
  expect(damage.length, "and is not named again").toBe(5);
});

test("an id or key that no index takes is the caller's mistake", async () => {
  const store = testStore(server, { schema: freshSchema(), now });
  // Not compressible, so longer than a third of a page.
  const long = Array.from({ length: 4_000 }, (_, index) => String.fromCodePoint(0x4e00 + ((index * 7919) % 20_000)));
  expect((await errorOf(store.exchange(writeAfter(null, long.join(""))))).code).toBe("invalid-argument");
  expect((await store.stats()).conversations).toBe(0);
});

// ---------------------------------------------------------------------------------------------
// Hints

describe("hints", () => {
  function hearing(store: Store): string[] {
    const heard: string[] = [];
    store.wake?.((id) => heard.push(id));
    return heard;
  }
  /** Nobody says when a connection listens: writes until it is heard. */
  async function untilHeard(writer: Store, heard: string[], id: string): Promise<void> {
    for (let count = 0; !heard.some((one) => one.startsWith(id)); count++) {
      if (count === 100) expect.unreachable("no hint came");
      await writer.exchange(writeAfter(null, `${id}${count}`));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  test("are not there unless asked for", () => {
    expect(testStore(server, {}).wake).toBe(undefined);
  });

  test.each([
    ["pg", () => testPool(server.url)],
    ["postgres.js", () => testSql(server.url)],
  ])("reach other processes, together and off the write path, with %s", async (_, client) => {
    const schema = freshSchema();
    const writer = closing(postgres(client(), { schema, now, hints: true }));
    const reader = closing(postgres(client(), { schema, now, hints: true }));
    const heard = hearing(reader);
    const own = hearing(writer);
    await untilHeard(writer, heard, "first");
    heard.length = 0;
    const ids = Array.from({ length: 200 }, (_, index) => `c${index}`);
    await Promise.all(ids.map((id) => writer.exchange(writeAfter(null, id, { append: 1 }))));
    await vi.waitFor(() => expect(new Set(heard.filter((id) => id.startsWith("c"))).size).toBe(200), 3_000);
    expect(own, "its own writes are no news").toEqual([]);
  });

  test("listen on a client of their own where the other goes through PgBouncer", async () => {
    const schema = freshSchema();
    const store = () => closing(postgres(testPool(bouncer.url), { schema, now, hints: testPool(server.url) }));
    const writer = store();
    const heard = hearing(store());
    await untilHeard(writer, heard, "c");
  });

  test("come again after the listening connection broke, and nothing fails meanwhile", async () => {
    const schema = freshSchema();
    const writer = testStore(server, { schema, now, hints: true });
    const heard = hearing(testStore(server, { schema, now, hints: true }));
    await untilHeard(writer, heard, "before");
    await server.run("select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %'");
    await untilHeard(writer, heard, "after");
  });
});
