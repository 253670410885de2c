// The same timelines on a real Redis, single and as a cluster: every step as in memory.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RedisCluster, type RedisServer, startCluster, startRedis } from "../../../../scripts/servers/redis.mjs";
import { redis } from "../../src/stores/redis/index.ts";
import { clients, emptied, type Made } from "../stores/redis.ts";
import type { Told } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";
import { createWorld, type MakeStore, type StoreKind, type World } from "./world.ts";

let server: RedisServer;
let cluster: RedisCluster;
let single: Made;
let clustered: Made;
beforeAll(async () => {
  [server, cluster] = await Promise.all([startRedis(), startCluster()]);
  single = clients.ioredis(server);
  clustered = clients["node-redis"](cluster);
});
afterAll(async () => {
  await single?.end();
  await clustered?.end();
  await server?.end();
  await cluster?.end();
});

/** Each world of a scenario under a prefix of its own. Few shards: here, opening a store costs more than using it. */
let worlds = 0;
const fresh = () => ({ prefix: `w${++worlds}`, shards: 3 });
const ways: { where: string; make: MakeStore; servers: () => RedisServer[] }[] = [
  { where: "a single server", make: ({ now }) => redis(single.client, { now, ...fresh() }), servers: () => [server] },
  { where: "a cluster", make: ({ now }) => redis(clustered.client, { now, ...fresh() }), servers: () => cluster.nodes },
];

async function play(scenario: Told, store: StoreKind): Promise<string[]> {
  const made: World[] = [];
  try {
    await scenario.run((setting) => {
      const world = createWorld(store, setting);
      made.push(world);
      return world;
    });
    for (const world of made) await world.verify();
    return made.flatMap((world) => world.trace);
  } finally {
    for (const world of made) await world.close();
  }
}

const told = Object.entries(scenarios).flatMap(([kind, entries]) =>
  Object.entries(entries).flatMap(([id, scenario]) => ("run" in scenario ? [{ kind, id, scenario }] : [])),
);

describe.each(ways)("on $where", ({ make, servers }) => {
  afterAll(() => emptied(servers()));
  it.each(told)("$id $scenario.title", async ({ scenario }) => {
    const trace = await play(scenario, make);
    if (scenario.differs === undefined) expect(trace).toEqual(await play(scenario, "memory"));
  });
});
