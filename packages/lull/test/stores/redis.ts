// Redis for tests: its clients, a prefix per test, and stores that end with the test.
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import { onTestFinished } from "vitest";
import type { RedisCluster, RedisServer } from "../../../../scripts/servers/redis.mjs";
import type { Store } from "../../src/ports.ts";
import { type RedisClient, type RedisOptions, redis } from "../../src/stores/redis/index.ts";

let prefixes = 0;
export const freshPrefix = () => `p${++prefixes}`;

type Place = Pick<RedisServer, "url"> | Pick<RedisCluster, "addresses">;

export interface Made {
  client: RedisClient;
  end(): Promise<unknown>;
}

/** Both clients, for whatever server. */
export const clients: Record<"node-redis" | "ioredis", (place: Place) => Made> = {
  "node-redis": (place) => {
    const client =
      "url" in place
        ? createClient({ url: place.url })
        : createCluster({ rootNodes: place.addresses.map(({ host, port }) => ({ socket: { host, port } })) });
    client.on("error", () => {}); // As every program that makes one has to.
    return { client, end: async () => (client.isOpen ? client.destroy() : undefined) };
  },
  ioredis: (place) => {
    const client = "url" in place ? new Redis(place.url) : new Cluster(place.addresses);
    client.on("error", () => {});
    return { client, end: async () => client.disconnect() };
  },
};

export type ClientName = keyof typeof clients;
export const clientNames = Object.keys(clients) as ClientName[];

/** A client that ends with the test. */
export function testClient(name: ClientName, place: Place): RedisClient {
  const { client, end } = clients[name](place);
  onTestFinished(async () => void (await end()));
  return client;
}

/** A store with its own client, which ends with the test. */
export function testStore(place: Place, options: RedisOptions = {}, name: ClientName = "node-redis"): Store {
  const client = testClient(name, place);
  const store = redis(client, options);
  onTestFinished(() => store.close());
  return store;
}

/** Removes everything, everywhere. */
export async function emptied(servers: readonly RedisServer[]): Promise<void> {
  await Promise.all(servers.map((server) => server.run("FLUSHALL")));
}
