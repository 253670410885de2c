// A Redis server of its own behind a proxy, shared by all workers; half of them use node-redis, half ioredis. Its
// outages: a crash, connections ended by an administrator, a server that stands still, a network that goes silent, no
// memory left. It syncs its append-only file before it answers, so what it has acknowledged survives its being killed.

import { startProxy } from "../../scripts/servers/proxy.mjs";
import { redisMissing, startRedis } from "../../scripts/servers/redis.mjs";

const settings = { appendonly: "yes", appendfsync: "always" };

/** @type {import("./index.mjs").StoreAdapter} */
export const redis = {
  name: "redis",

  async prepare() {
    const missing = redisMissing();
    if (missing !== null) throw new Error(missing);
    const server = await startRedis({ settings });
    const proxy = await startProxy(server.port);
    const hangUp = () => server.run("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").catch(() => {});

    /** Each cuts the store off and resolves to what restores it. @type {Record<string, () => Promise<() => unknown>>} */
    const outages = {
      async crash() {
        await server.stop("kill");
        return () => server.start();
      },
      async hangup() {
        await server.run("SCRIPT", "FLUSH");
        await hangUp();
        const again = setInterval(hangUp, 150);
        return () => clearInterval(again);
      },
      async standstill() {
        server.pause();
        return () => server.resume();
      },
      async silence() {
        proxy.silence();
        return () => proxy.heal();
      },
      async full() {
        await server.run("CONFIG", "SET", "maxmemory", "1mb");
        return () => server.run("CONFIG", "SET", "maxmemory", "0");
      },
    };

    /** @type {() => unknown} */
    let restore = () => {};
    return {
      place: `redis://127.0.0.1:${proxy.port}`,
      async cut(random) {
        const kind = random.pick(Object.keys(outages));
        restore = (await outages[kind]?.()) ?? restore;
        return kind;
      },
      async restore() {
        await restore();
      },
      async close() {
        await proxy.end();
        await server.end();
      },
    };
  },

  async open(place, lib) {
    const { redis: store } = await import(lib("stores/redis/index.js"));
    return store(await singleClient(place), { shards: 16, hints: true, timeLimitMs: 2_000 });
  },
};

/** @param {string} url */
async function singleClient(url) {
  if (process.pid % 2 === 0) {
    const { createClient } = await import("redis");
    const client = createClient({ url, disableOfflineQueue: true, socket: { connectTimeout: 1_000 } });
    client.on("error", () => {});
    return client;
  }
  const { Redis } = await import("ioredis");
  const client = new Redis(url, { socketTimeout: 2_000, connectTimeout: 1_000, maxRetriesPerRequest: 1 });
  client.on("error", () => {});
  return client;
}
