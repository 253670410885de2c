// The contract, on every way to a real server; then what is Redis' own: shards, settings, damage, hints.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RedisCluster, type RedisServer, startCluster, startRedis } from "../../../../scripts/servers/redis.mjs";
import { redis } from "../../src/stores/redis/index.ts";
import { storeContract } from "../../src/testing/store-contract.ts";
import { type ClientName, clients, emptied, type Made } from "./redis.ts";

let server: RedisServer;
let cluster: RedisCluster;
beforeAll(async () => {
  [server, cluster] = await Promise.all([startRedis(), startCluster()]);
});
afterAll(async () => {
  await server?.end();
  await cluster?.end();
});

const ways: { name: string; client: ClientName; where: () => RedisServer | RedisCluster }[] = [
  { name: "node-redis", client: "node-redis", where: () => server },
  { name: "ioredis", client: "ioredis", where: () => server },
  { name: "node-redis on a cluster", client: "node-redis", where: () => cluster },
  { name: "ioredis on a cluster", client: "ioredis", where: () => cluster },
];

describe.each(ways)("$name", ({ name, client, where }) => {
  let made: Made;
  beforeAll(() => {
    made = clients[client](where());
  });
  afterAll(() => made.end());
  storeContract(
    name,
    ({ now }) => ({
      store: redis(made.client, { now }),
      dispose: () => emptied(where() === server ? [server] : cluster.nodes),
    }),
    { test, expect },
  );
});
