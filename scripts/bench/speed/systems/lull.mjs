// lull, on each of its stores. The window is the plain one (the model starts when it is over), as the others have it.
import { join } from "node:path";

/** Not in the types of the oldest Node that lull runs on. */
const nodeSqlite = /** @type {string} */ ("node:sqlite");

/** @param {string} path */
const lib = (path) => import(new URL(`../../../../packages/lull/dist/${path}`, import.meta.url).href);

/** @param {import("./index.mjs").World} world @param {string} name @returns {Promise<import("./index.mjs").Running>} */
export async function create({ url, folder, windowMs, handler }, name) {
  /** @type {typeof import("lull")} */
  const { Lull } = await lib("index.js");
  const { store, close, counts } = await storeOf(name, url, folder);
  const lull = new Lull({
    store,
    debounce: { quietMs: windowMs, startMs: windowMs },
    concurrency: 5_000,
    limits: { repliesPerHour: 1_000_000 },
    async respond({ conversation, messages }) {
      await handler(
        conversation,
        messages.map(({ id }) => id),
      );
      return "ok";
    },
  });
  await lull.start();
  return {
    accept: (conversation, id) => lull.receive(conversation, { id, text: `message ${id}` }),
    counts,
    async stop() {
      await lull.stop({ timeoutMs: 1_000 });
      await store.close();
      await close();
    },
  };
}

/** @param {string} name @param {string} url @param {string} folder */
async function storeOf(name, url, folder) {
  const none = { close: async () => {}, counts: () => ({}) };
  switch (name) {
    case "lull memory": {
      /** @type {typeof import("lull")} */
      const { memory } = await lib("index.js");
      return { store: memory(), ...none };
    }
    case "lull sqlite": {
      const { DatabaseSync } = await import(nodeSqlite);
      /** @type {typeof import("lull/sqlite")} */
      const { sqlite } = await lib("stores/sqlite/index.js");
      return { store: sqlite(/** @type {any} */ (new DatabaseSync(join(folder, "lull.db")))), ...none };
    }
    case "lull redis": {
      const { Redis } = await import("ioredis");
      /** @type {typeof import("lull/redis")} */
      const { redis } = await lib("stores/redis/index.js");
      const client = new Redis(url, { maxRetriesPerRequest: null });
      return { store: redis(client), close: async () => void (await client.quit()), counts: () => ({}) };
    }
    default: {
      const { default: pg } = await import("pg");
      /** @type {typeof import("lull/postgres")} */
      const { postgres } = await lib("stores/postgres/index.js");
      const pool = new pg.Pool({ connectionString: url, max: 20 });
      return { store: postgres(pool), close: () => pool.end(), counts: () => ({}) };
    }
  }
}
