// The contract, on every way to a real server; then what is Redis' own: shards, settings, damage, hints.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type RedisCluster, type RedisServer, startCluster, startRedis } from "../../../../scripts/servers/redis.mjs";
import type { Store } from "../../src/ports.ts";
import { redis } from "../../src/stores/redis/index.ts";
import { startMs, writeAfter } from "../../src/testing/records.ts";
import { storeContract } from "../../src/testing/store-contract.ts";
import { type ClientName, clients, emptied, freshPrefix, type Made, testStore } from "./redis.ts";

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
      if (count === 150) expect.unreachable("no hint came");
      await writer.exchange(writeAfter(null, `${id}${count}`));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  test("are not there unless asked for", () => {
    expect(testStore(server).wake).toBe(undefined);
  });

  test.each(ways)("reach other processes, together and off the write path, with $name", async ({ client, where }) => {
    const options = { prefix: freshPrefix(), shards: 8, now: () => startMs, hints: true };
    const writer = testStore(where(), options, client);
    const reader = testStore(where(), options, client);
    const heard = hearing(reader);
    const own = hearing(writer);
    await untilHeard(writer, heard, "first");
    heard.length = 0;
    const ids = Array.from({ length: 200 }, (_, index) => `c${index}`);
    await Promise.all(ids.map((id) => writer.exchange(writeAfter(null, id, { append: 1 }))));
    await vi.waitFor(() => expect(new Set(heard.filter((id) => id.startsWith("c"))).size).toBe(200), 5_000);
    expect(own, "its own writes are no news").toEqual([]);
  });

  test.each(ways)("come again after the listening connection broke, with $name", async ({ client, where }) => {
    const options = { prefix: freshPrefix(), shards: 2, now: () => startMs, hints: true };
    const writer = testStore(where(), options, client);
    const heard = hearing(testStore(where(), options, client));
    await untilHeard(writer, heard, "before");
    const servers = where() === server ? [server] : cluster.nodes;
    for (const one of servers) await one.run("CLIENT", "KILL", "TYPE", "pubsub");
    heard.length = 0;
    await untilHeard(writer, heard, "after");
  });
});
