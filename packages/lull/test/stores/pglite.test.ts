import { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeEach, describe, expect, test, vi } from "vitest";
import { migrate, postgres } from "../../src/stores/postgres/index.ts";
import { afterPrefix, arrayText, integer } from "../../src/stores/postgres/rows.ts";
import { messageEntry, startMs, writeAfter } from "../../src/testing/records.ts";
import { storeContract } from "../../src/testing/store-contract.ts";
import { errorOf } from "./postgres.ts";
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

describe("what is asked at once goes together", () => {
  const schema = "together";
  const sent: string[] = [];
  const client = {
    query: (text: string, values?: unknown[], options?: object) => {
      sent.push(/lull_\w+(?=\()/.exec(text.replace(/.*lull_now.*/, ""))?.[0] ?? "a statement");
      return db.query(text, values, options);
    },
    exec: (text: string) => db.exec(text),
    listen: db.listen.bind(db),
    close: async () => {},
  };
  const store = postgres(client, { schema, now: () => startMs });
  beforeEach(async () => {
    await store.stats();
    await db.exec(`truncate ${schema}.lull_record, ${schema}.lull_log, ${schema}.lull_timer, ${schema}.lull_seen`);
    sent.length = 0;
  });
  const contentOf = async () => {
    const { rows } = await db.query<{ id: string }>(`select r.id, r.seq, l.entry, t.wake_at_ms, s.key
      from ${schema}.lull_record r left join ${schema}.lull_log l on l.conversation = r.id
      left join ${schema}.lull_timer t on t.conversation = r.id left join ${schema}.lull_seen s on s.conversation = r.id
      order by r.id, l.seq, s.key`);
    return rows;
  };

  test("and is written as if it had gone alone", async () => {
    const names = ["c", "a", "ü", "\u{10000}", "\uffff", 'quote "\\', "line\nbreak", "{x,NULL}"];
    const seen = [
      { key: "k\n\u0000", value: { "\u0000": "\n" }, expiresAtMs: startMs + 1000 },
      { key: "k2", value: null, expiresAtMs: startMs + 2000 },
    ];
    const writes = names.map((id, index) =>
      writeAfter(null, id, {
        append: index,
        seen: seen.slice(0, index % 3),
        wakeAtMs: index % 2 === 0 ? null : startMs + index,
        ...(index > 3 ? { logFrom: 2 } : {}),
      }),
    );
    const together = await Promise.all(writes.map((write) => store.exchange(write)));
    expect(sent).toEqual(["lull_exchange_many"]);
    const content = await contentOf();
    expect(content.length).toBeGreaterThan(names.length);
    await db.exec(`truncate ${schema}.lull_record, ${schema}.lull_log, ${schema}.lull_timer, ${schema}.lull_seen`);
    const apart = [];
    for (const write of writes) apart.push(await store.exchange(write));
    expect(together).toEqual(apart);
    expect(content).toEqual(await contentOf());

    // And again, over what is there: timers go, logs grow.
    const next = writes.map(({ next }) => writeAfter(next, next.id, { append: 2, wakeAtMs: null, logFrom: 1 }));
    sent.length = 0;
    const answers = await Promise.all(next.map((write) => store.exchange(write)));
    expect(sent).toEqual(["lull_exchange_many"]);
    expect(answers.map((answer) => answer.kind === "stored" && answer.log.length)).toEqual(
      names.map((_, index) => index + 2),
    );
    expect((await store.stats()).active).toBe(0);

    sent.length = 0;
    const loaded = await Promise.all([...names, "nobody"].map((id) => store.load(id, { logFrom: 2 })));
    expect(sent).toEqual(["lull_load_many"]);
    expect(loaded.at(-1)).toEqual({ record: null, log: [], nowMs: startMs });
    for (const [index, { record, log }] of loaded.slice(0, -1).entries()) {
      expect(record).toEqual(next[index]?.next);
      expect(log.map(({ seq }) => seq)).toEqual(Array.from({ length: index + 1 }, (_, entry) => entry + 2));
    }
  });

  test("each with its own outcome", async () => {
    const seen = [{ key: "m1", value: "first", expiresAtMs: startMs + 1000 }];
    const before = writeAfter(null, "there", { append: 1, seen });
    await store.exchange(before);
    const outcomes = {
      new: store.exchange(writeAfter(null, "new", { append: 1 })),
      duplicate: store.exchange(writeAfter(before.next, "there", { append: 1, seen })),
      conflict: store.exchange(writeAfter(writeAfter(null, "nobody's").next, "nobody's", { append: 1 })),
      skewed: store.exchange(writeAfter(null, "early", { nowMs: startMs + 60_000 })),
    };
    const gap = store.exchange(writeAfter(null, "jump", { append: [messageEntry(5)], record: { seq: 5 } }));
    expect(await errorOf(gap)).toMatchObject({ code: "store-not-contiguous" });
    const answers = await Promise.all(Object.values(outcomes));
    expect(answers.map(({ kind }) => kind)).toEqual(["stored", "duplicate", "conflict", "skewed"]);
    expect(answers[1]).toMatchObject({ record: { id: "there" }, seen: [{ key: "m1", value: "first" }] });
    expect(answers[2]).toMatchObject({ record: null });
    expect(sent.filter((name) => name === "lull_exchange_many").length).toBe(1);
    // What could not be written together was judged alone.
    expect(sent.filter((name) => name === "lull_exchange").length).toBeGreaterThanOrEqual(4);
    expect((await contentOf()).map(({ id }) => id)).toEqual(["new", "there"]);
  });

  test("and what the server refuses fails nobody else", async () => {
    // Longer than an index takes, and a log that is longer than its record says.
    const long = "x".repeat(100_000).replace(/x/g, () => Math.random().toString(36).slice(2, 10));
    await db.exec(`insert into ${schema}.lull_log (conversation, seq, at_ms, entry) values ('damaged', 1, 0, '{}')`);
    const fine = ["a", "b", "c"].map((id) => store.exchange(writeAfter(null, id, { append: 1 })));
    const refused = [long, "damaged"].map((id) => errorOf(store.exchange(writeAfter(null, id, { append: 1 }))));
    expect((await Promise.all(fine)).map(({ kind }) => kind)).toEqual(["stored", "stored", "stored"]);
    expect((await Promise.all(refused)).map(({ code }) => code)).toEqual(["invalid-argument", "store-damaged"]);
    expect((await contentOf()).map(({ id }) => id)).toEqual(["a", "b", "c"]);
    // A record that cannot be read is one conversation's trouble.
    await db.exec(`update ${schema}.lull_record set record = 'broken' where id = 'b'`);
    const loads = await Promise.allSettled(["a", "b", "c"].map((id) => store.load(id)));
    expect(loads.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });

  test("but two writes of one conversation go one after the other", async () => {
    const first = writeAfter(null, "c", { append: 1 });
    const second = writeAfter(first.next, "c", { append: 1 });
    const answers = [first, second, writeAfter(null, "d")].map((write) => store.exchange(write));
    expect((await Promise.all(answers)).map(({ kind }) => kind)).toEqual(["stored", "stored", "stored"]);
  });
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
