// What a conversation costs in bytes: three messages of some 60 characters, and one answer.
//
//   npm run build && node scripts/bench/bytes.mjs [--store redis,postgres,sqlite] [--conversations 2000]
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readArgs } from "../args.mjs";

/** @import { Store } from "lull" */
/**
 * @typedef {object} Measured
 * @property {(now?: () => number) => Store} open
 * @property {() => Promise<number>} bytes  of all that is stored
 * @property {() => Promise<number>} [calls]  since they were last asked for
 * @property {() => Promise<void>} end
 */

const text = /** @type {const} */ ({ type: "string" });
const values = readArgs(import.meta.url, { store: text, conversations: text });
const count = Number(values.conversations ?? 2_000);
const names = (values.store ?? "redis,postgres,sqlite").split(",");
const lib = (/** @type {string} */ path) => new URL(`../../packages/lull/dist/${path}`, import.meta.url).href;
const { Lull } = await import(lib("index.js"));

/** @type {Record<string, () => Promise<Measured>>} */
const stores = {
  async redis() {
    const { Redis } = await import("ioredis");
    const { startRedis } = await import("../servers/redis.mjs");
    const { redis } = await import(lib("stores/redis/index.js"));
    const server = await startRedis();
    const client = new Redis(server.url);
    const info = async (/** @type {string} */ section, /** @type {RegExp} */ field) =>
      Number(field.exec(String(await server.run("INFO", section)))?.[1] ?? 0);
    return {
      open: (now) => redis(client, now === undefined ? {} : { now }),
      bytes: () => info("memory", /used_memory:(\d+)/),
      async calls() {
        const calls = await info("commandstats", /cmdstat_evalsha:calls=(\d+)/);
        await server.run("CONFIG", "RESETSTAT");
        return calls;
      },
      async end() {
        client.disconnect();
        await server.end();
      },
    };
  },

  async postgres() {
    const { default: pg } = await import("pg");
    const { startPostgres } = await import("../servers/postgres.mjs");
    const { postgres } = await import(lib("stores/postgres/index.js"));
    const settings = { shared_preload_libraries: "pg_stat_statements" };
    const server = await startPostgres({ settings });
    await server.run("create extension pg_stat_statements");
    const pool = new pg.Pool({ connectionString: server.url });
    pool.on("error", () => {});
    return {
      open: (now) => postgres(pool, now === undefined ? {} : { now }),
      async bytes() {
        await server.run("vacuum full");
        const [row] = await server.run(`select sum(pg_total_relation_size(oid))::float8 as bytes from pg_class
          where relkind = 'r' and relname like 'lull_%'`);
        return Number(row?.bytes);
      },
      async calls() {
        const [row] = await server.run(
          "select sum(calls)::float8 as calls from pg_stat_statements where query like '%lull\\_%' and query not like '%pg_%'",
        );
        await server.run("select pg_stat_statements_reset()");
        return Number(row?.calls);
      },
      async end() {
        await pool.end();
        await server.end();
      },
    };
  },

  async sqlite() {
    const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
    const builtIn = major > 22 || (major === 22 && minor >= 13);
    const { DatabaseSync } = await import(builtIn ? "node:sqlite" : "@photostructure/sqlite");
    const { sqlite } = await import(lib("stores/sqlite/index.js"));
    const folder = mkdtempSync(join(tmpdir(), "lull-bytes-"));
    const database = new DatabaseSync(join(folder, "lull.db"));
    return {
      open: (now) => sqlite(database, now === undefined ? {} : { now }),
      async bytes() {
        database.exec("vacuum");
        const read = (/** @type {string} */ name) => Number(database.prepare(`pragma ${name}`).get()?.[name]);
        return read("page_count") * read("page_size");
      },
      async end() {
        database.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
};

for (const name of names) {
  const make = stores[name];
  if (make === undefined) throw new Error(`--store is of ${Object.keys(stores).join(", ")}; got ${name}.`);
  const measured = await make();
  try {
    await measure(name, measured);
  } finally {
    await measured.end();
  }
}

/** @param {string} name @param {Measured} measured */
async function measure(name, { open, bytes, calls }) {
  const store = open();
  const lull = new Lull({
    store,
    debounce: { quietMs: 100, startMs: 100, maxWaitMs: 1_000 },
    scanMs: 500,
    respond: (/** @type {{ messages: unknown[] }} */ turn) =>
      `I have read your ${turn.messages.length} messages, and all is well.`,
    deliver: async () => ({ status: "sent", id: "1234567890" }),
  });
  await store.stats();
  const empty = await bytes();
  const say = async (/** @type {string} */ what) =>
    console.log(`${name.padEnd(9)} ${what}: ${Math.round(((await bytes()) - empty) / count)} bytes a conversation`);
  await calls?.();

  const ids = Array.from({ length: count }, (_, number) => `telegram:${100_000_000 + number}`);
  for (let from = 0; from < count; from += 50) {
    await Promise.all(
      ids.slice(from, from + 50).map(async (id, index) => {
        for (let message = 1; message <= 3; message += 1) {
          const said = `message ${message} of somebody who has something to say to a bot`;
          const number = from + index;
          await lull.receive(id, {
            id: `${number * 3 + message}`,
            text: said,
            author: "42",
            address: { chat: number },
          });
        }
      }),
    );
  }
  if (calls !== undefined)
    console.log(
      `${name.padEnd(9)} calls a message: ${((await calls()) / count / 3).toFixed(2)} (the first of a conversation finds nothing remembered)`,
    );
  await say("waiting, with its 3 messages and their ids");
  await lull.start();
  while ((await store.stats()).active > 0) await new Promise((resolve) => setTimeout(resolve, 500));
  await lull.stop();
  await say("at rest, with its log and the ids of its messages");
  /** The same store, when the ids have expired. */
  const later = open(() => Date.now() + 8 * 86_400_000);
  const keepFrom = () => Number.MAX_SAFE_INTEGER;
  const prune = async (/** @type {{ seenBeforeMs: number, logBeforeMs?: number }} */ what) => {
    for (let round = 0; round < 200; round += 1) await later.prune({ ...what, keepFrom, limit: 1_000 });
  };
  await prune({ seenBeforeMs: Date.now() + 8 * 86_400_000 });
  await say("at rest, with its log");
  await prune({ seenBeforeMs: 0, logBeforeMs: Date.now() + 1_000 });
  await say("at rest, without either");
  await store.close();
}
