// What must hold with many at once and with much stored: no deadlock, one round trip, an index for every question.
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../../../../scripts/servers/postgres.mjs";
import { type ConversationRecord, Lull, type Write } from "../../src/index.ts";
import { migrate } from "../../src/stores/postgres/index.ts";
import { type Statements, statementsIn } from "../../src/stores/postgres/sql.ts";
import { startMs, writeAfter } from "../../src/testing/records.ts";
import { freshSchema, pause, testPool, testStore } from "./postgres.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres({ settings: { fsync: "off", shared_preload_libraries: "pg_stat_statements" } });
  await server.run("create extension pg_stat_statements");
});
afterAll(() => server?.end());

const now = () => startMs;

test("8 processes on few conversations for 5 s: every write counts once, and nothing deadlocks", async () => {
  const schema = freshSchema();
  const stores = Array.from({ length: 8 }, () => testStore(server, { schema, now }, { max: 4 }));
  const ids = Array.from({ length: 6 }, (_, index) => `c${index}`);
  const stored = new Map(ids.map((id) => [id, 0]));
  const until = performance.now() + 5_000;
  let operations = 0;
  let draws = 1;
  const draw = (most: number) => {
    draws = (draws * 48_271) % 2_147_483_647;
    return draws % most;
  };
  await Promise.all(
    stores.flatMap((store, which) => [
      (async () => {
        while (performance.now() < until) {
          const id = ids[draw(ids.length)] as string;
          const { record } = await store.load(id);
          const wakeAtMs = draw(3) === 0 ? null : startMs + draw(1000);
          const seen = [{ key: `k${draw(50)}`, expiresAtMs: startMs - 1 + draw(2), value: null }];
          const answer = await store.exchange(writeAfter(record, id, { append: 1 + draw(2), wakeAtMs, seen }));
          if (answer.kind === "stored") stored.set(id, (stored.get(id) ?? 0) + 1);
          operations++;
        }
      })(),
      (async () => {
        while (performance.now() < until) {
          const call = [
            () => store.due(startMs + draw(1000), 100),
            () => store.repair({}, (record) => (record.version % 2 === 0 ? startMs : null)),
            () => store.prune({ seenBeforeMs: startMs, logBeforeMs: 0, keepFrom: () => 1 }),
            () => store.list({}, { active: true }),
            () => store.erase(`other${draw(3)}`),
            () => store.exchange(writeAfter(null, `other${draw(3)}`, { append: 1, wakeAtMs: startMs })),
          ][(which + draw(6)) % 6];
          await call?.();
          operations++;
        }
      })(),
    ]),
  );
  const [store] = stores;
  for (const id of ids) {
    const { record, log } = (await store?.load(id, { logFrom: 1 })) ?? { record: null, log: [] };
    expect(record?.version).toBe(log.length);
    expect(log.map((entry) => entry.seq)).toEqual(Array.from({ length: log.length }, (_, index) => index + 1));
    expect(stored.get(id)).toBeGreaterThan(0);
  }
  expect(operations).toBeGreaterThan(500);
  await pause(1_500); // The server reports with a delay.
  expect(await server.run("select sum(deadlocks)::int as n from pg_stat_database")).toEqual([{ n: 0 }]);
}, 60_000);

test("8 processes write the same conversations together, each in its own order: nothing deadlocks", async () => {
  const schema = freshSchema();
  const stores = Array.from({ length: 8 }, () => testStore(server, { schema, now }, { max: 4 }));
  await stores[0]?.stats();
  let records = new Map<string, ConversationRecord | null>();
  for (let round = 0; round < 20; round++) {
    const ids = Array.from({ length: 20 }, (_, index) => `${round}.${index}`);
    const firsts = stores.map(() => new Map(ids.map((id) => [id, writeAfter(null, id, { append: 1 })])));
    // Made by all at the same moment, then written by all at the same moment.
    for (const writesOf of [
      (which: number, id: string) => firsts[which]?.get(id),
      (_: number, id: string) => writeAfter(records.get(id) ?? null, id, { append: 1, wakeAtMs: startMs }),
    ]) {
      const kinds = await Promise.all(
        stores.map(async (store, which) => {
          const order = ids.toSorted(() => Math.random() - 0.5);
          const answers = await Promise.all(order.map((id) => store.exchange(writesOf(which, id) as Write)));
          return new Map(order.map((id, index) => [id, answers[index]?.kind]));
        }),
      );
      for (const id of ids) expect(kinds.filter((answers) => answers.get(id) === "stored").length, id).toBe(1);
      const loaded = await Promise.all(ids.map((id) => stores[0]?.load(id)));
      records = new Map(ids.map((id, index) => [id, loaded[index]?.record ?? null]));
    }
    for (const record of records.values()) expect(record?.version).toBe(2);
  }
  await pause(1_500); // The server reports with a delay.
  expect(await server.run("select sum(deadlocks)::int as n from pg_stat_database")).toEqual([{ n: 0 }]);
}, 60_000);

test("a conversation that somebody holds waits alone", async () => {
  const schema = freshSchema();
  const store = testStore(server, { schema, now }, { max: 8 });
  const ids = Array.from({ length: 30 }, (_, index) => `c${index}`);
  const firsts = ids.map((id) => writeAfter(null, id));
  await Promise.all(firsts.map((write) => store.exchange(write)));
  const holder = await testPool(server.url).connect();
  try {
    await holder.query(`begin; select 1 from ${schema}.lull_record where id = 'c7' for update`);
    let isWritten = false;
    const writes = firsts.map(({ next }) => store.exchange(writeAfter(next, next.id, { append: 1 })));
    const held = writes.splice(7, 1)[0]?.then(() => {
      isWritten = true;
    });
    for (const answer of await Promise.all(writes)) expect(answer.kind).toBe("stored");
    expect(isWritten).toBe(false);
    await holder.query("commit");
    await held;
    expect((await store.load("c7")).record?.version).toBe(1);
  } finally {
    holder.release(true);
  }
}, 30_000);

test("a warm receive is one statement; an answer alone takes three more", async () => {
  const schema = freshSchema();
  const store = testStore(server, { schema }, { max: 4 });
  const lull = new Lull({
    store,
    debounce: { quietMs: 3_000, startMs: 3_000 },
    // No renewal and no scan in between.
    scanMs: 600_000,
    respond: () => "yes",
    deliver: async () => ({ status: "sent" }),
  });
  const calls = async (part = "") => {
    const rows = await server.run(`select query, calls::int from pg_stat_statements
      where query like '%"${schema}"%${part}%' and query not like '%pg_stat%'`);
    return rows.reduce((sum, row) => sum + (row.calls as number), 0);
  };
  const loads = async () => (await calls("union all")) + (await calls("lull_load_many"));
  await lull.start();
  await lull.receive("c", { id: "1", text: "hi" });
  // The start's own scan and the first look at the conversation are over.
  await server.run("select pg_stat_statements_reset()");
  await lull.receive("c", { id: "2", text: "are you there?" });
  // Not all statements: the start's own look at what is due may still be under way.
  expect(await calls("lull_exchange"), "a receive").toBe(1);
  expect(await loads(), "loads of a warm receive").toBe(0);
  while ((await store.stats()).active > 0) await pause(100);
  await lull.stop();
  expect(await calls("lull_exchange"), "receive, claim, commit, settle").toBe(4);
  expect(await loads(), "loads").toBe(0);
}, 30_000);

describe("with 300 000 timers among a million conversations", () => {
  const schema = "many";
  const sql: Statements = statementsIn(schema);
  beforeAll(async () => {
    const pool = new Pool({ connectionString: server.url });
    await migrate(pool, { schema });
    await pool.end();
    await server.run(`
      insert into ${schema}.lull_record (id, revision, seq, status, log_begins_at_ms, record)
      select 'c' || n, 'r' || n, 1, case when n % 10000 = 0 then 1 + n / 10000 % 3 else 0 end, n, '{}'
      from generate_series(1, 1000000) n;
      insert into ${schema}.lull_timer (conversation, wake_at_ms, revision)
      select 'c' || n, ${startMs} + n, 'r' || n from generate_series(1, 300000) n;
      insert into ${schema}.lull_seen (conversation, key, expires_at_ms, value)
      select 'c' || n, 'k', ${startMs} + n, '0' from generate_series(1, 300000) n;
      insert into ${schema}.lull_log (conversation, seq, at_ms, entry)
      select 'c' || n, 1, n, '{}' from generate_series(1, 300000) n;
      analyze`);
  });

  const least = Number.MIN_SAFE_INTEGER;
  const list = [startMs, "c5", "", null];
  test.each<[keyof Statements, (string | number | null)[], RegExp]>([
    ["due", [startMs, startMs + 1000, least, "", 100], /Index (Only )?Scan using lull_timer_wake/],
    ["load", [startMs, "c7", 1], /Index Scan using lull_record_pkey[\s\S]*lull_log_pkey/],
    ["logPage", [startMs, "c7", 1, 100], /using lull_log_pkey/],
    ["logPageNewest", [startMs, "c7", 1, 5, 100], /Backward using lull_log_pkey/],
    ["list", [...list, null, null, null, 50], /using lull_record_pkey/],
    ["list", [startMs, "", "c5", "c6", 0, 0, 0, 50], /using lull_record_pkey/],
    ["listStatus", [...list, null, 1, null, 50], /using lull_record_status/],
    ["listActive", [...list, 1, null, null, 50], /using lull_timer_pkey/],
    ["repairPage", ["c5", 50], /using lull_record_pkey/],
    ["prunePage", [1000, least, "", 100], /using lull_record_log_begins/],
    ["seenPrune", [startMs + 1000, 1000], /using lull_seen_expires/],
  ])("%s %j uses an index", async (name, values, expected) => {
    const pool = testPool({ connectionString: server.url, max: 1 });
    const { rows } = await pool.query({ text: `explain ${sql[name]}`, values, rowMode: "array" });
    const plan = rows.flat().join("\n");
    expect(plan).toMatch(expected);
    // A TID scan takes just the rows that were found; of marks there is one or none.
    expect(plan.replace(/Seq Scan on (expired|lull_mark m)/g, "")).not.toMatch(/Seq Scan|Bitmap/);
  });

  test("what is due is found in milliseconds", async () => {
    const store = testStore(server, { schema });
    const times: number[] = [];
    for (let round = 0; round < 50; round++) {
      const start = performance.now();
      await store.due(0, 100);
      times.push(performance.now() - start);
    }
    const median = times.sort((a, b) => a - b)[25] as number;
    // A scan takes a hundred times that.
    expect(median).toBeLessThan(20);
  });
});
