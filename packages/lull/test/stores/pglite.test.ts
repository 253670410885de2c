import { PGlite } from "@electric-sql/pglite";
import { afterAll, expect, test, vi } from "vitest";
import { migrate, postgres } from "../../src/stores/postgres/index.ts";
import { afterPrefix, arrayText, integer } from "../../src/stores/postgres/rows.ts";
import { startMs, writeAfter } from "../../src/testing/records.ts";
import { storeContract } from "../../src/testing/store-contract.ts";
import { describeSchema } from "./postgres-schema.ts";

// One database for all, emptied after each test: starting one takes a second.
const db = await PGlite.create();
afterAll(() => db.close());
await migrate(db);

storeContract(
  "pglite",
  ({ now }) => ({
    store: postgres(db, { now }),
    dispose: async () => {
      await db.exec("truncate lull.lull_record, lull.lull_log, lull.lull_timer, lull.lull_seen");
    },
  }),
  { test: (name, body) => test(name, body, 60_000), expect },
);

test("a fresh install is the schema of the docs", async () => {
  const found = await describeSchema(async (text) => (await db.query<Record<string, unknown>>(text)).rows);
  await expect(found).toMatchFileSnapshot("../../../../docs/postgres-schema.sql");
});

test("a database in memory does not claim to be durable", async () => {
  const store = postgres(db);
  await store.stats();
  expect(store.durability.class).toBe("memory");
});

test("stores in two schemas do not see each other", async () => {
  const [one, two] = ["one", "two"].map((schema) => postgres(db, { schema, now: () => startMs, hints: true }));
  const heard: string[] = [];
  const leave = two?.wake?.((id) => heard.push(id));
  expect((await one?.exchange(writeAfter(null, "c", { append: 1 })))?.kind).toBe("stored");
  expect((await two?.load("c"))?.record).toBe(null);
  leave?.();
  await Promise.all([one?.close(), two?.close()]);
  expect(heard).toEqual([]);
});

test("other processes hear of writes", async () => {
  const options = { schema: "hints", now: () => startMs, hints: true };
  const [writer, reader] = [postgres(db, options), postgres(db, options)];
  const heard: string[] = [];
  reader.wake?.((id) => heard.push(id));
  await reader.stats();
  await vi.waitFor(async () => {
    await writer.exchange(writeAfter(null, `c${Math.random()}`));
    expect(heard.length).toBeGreaterThan(0);
  }, 10_000);
  await Promise.all([writer.close(), reader.close()]);
});

test("the number of many conversations is an estimate", async () => {
  const store = postgres(db, { schema: "many", now: () => startMs });
  await store.stats();
  await db.exec(`insert into many.lull_record (id, revision, seq, status, record)
    select 'c' || n, 'r', 0, 0, '{}' from generate_series(1, 150000) n; analyze many.lull_record`);
  const { conversations } = await store.stats();
  expect(conversations).toBeGreaterThan(140_000);
  expect(conversations).toBeLessThan(160_000);
  await db.exec("drop schema many cascade");
}, 60_000);

test("the text after all that begin alike", () => {
  expect(afterPrefix("")).toBe(null);
  expect(afterPrefix("ab")).toBe("ac");
  expect(afterPrefix("a\u{10ffff}")).toBe("b");
  expect(afterPrefix("\u{10ffff}\u{10ffff}")).toBe(null);
  expect(afterPrefix("\u{d7ff}")).toBe("\u{e000}");
  expect(afterPrefix("\u{ffff}")).toBe("\u{10000}");
});

test("arrays and numbers as texts", async () => {
  const odd = ["", "null", 'a"b', "a\\b", "{}", "a,b", " x ", "\n"];
  const { rows } = await db.query<{ found: string[] }>("select $1::text::text[] as found", [arrayText(odd)]);
  expect(rows[0]?.found).toEqual(odd);
  expect(["12", 12, 12n].map(integer)).toEqual([12, 12, 12]);
  for (const wrong of ["x", "9007199254740993", null, 1.5]) expect(() => integer(wrong)).toThrow("a whole number");
});
