// The simulator's seeds on real servers, with both clients: no promise broken, and the same trace as in memory.
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RedisCluster, type RedisServer, startCluster, startRedis } from "../../../../scripts/servers/redis.mjs";
import { redis } from "../../src/stores/redis/index.ts";
import { simulate } from "../../src/testing/index.ts";
import { type ClientName, clients, emptied } from "./redis.ts";

let server: RedisServer;
let cluster: RedisCluster;
beforeAll(async () => {
  [server, cluster] = await Promise.all([startRedis(), startCluster()]);
});
afterAll(async () => {
  await server?.end();
  await cluster?.end();
});

const ways: { name: string; client: ClientName; seeds: number; where: () => RedisServer | RedisCluster }[] = [
  { name: "node-redis", client: "node-redis", seeds: 12, where: () => server },
  { name: "ioredis", client: "ioredis", seeds: 12, where: () => server },
  { name: "node-redis on a cluster", client: "node-redis", seeds: 6, where: () => cluster },
  { name: "ioredis on a cluster", client: "ioredis", seeds: 6, where: () => cluster },
];

test.each(ways)(
  "$seeds seeds of the simulator have the same trace through $name",
  async ({ client, seeds, where }) => {
    const made = clients[client](where());
    try {
      for (let seed = 1; seed <= seeds; seed++) {
        await emptied(where() === server ? [server] : cluster.nodes);
        const { hash, violations } = await simulate(seed, { store: ({ now }) => redis(made.client, { now }) });
        expect(violations, `seed ${seed}`).toEqual([]);
        expect([seed, hash]).toEqual([seed, (await simulate(seed)).hash]);
      }
    } finally {
      await made.end();
    }
  },
  240_000,
);
