// A cluster of three primaries with a replica each, shared by all workers; half of them use node-redis, half ioredis.
// Every write waits for the replica. Outages: a primary that is killed, or stands still and wakes when another has taken
// over; connections ended by an administrator; slots that move under way.
import { redisMissing, startCluster } from "../../scripts/servers/redis.mjs";

const slots = 16_384;

/** @type {import("./index.mjs").StoreAdapter} */
export const redisCluster = {
  name: "redis-cluster",

  async prepare() {
    const missing = redisMissing();
    if (missing !== null) throw new Error(missing);
    const settings = {
      appendonly: "yes",
      appendfsync: "everysec",
      "cluster-allow-replica-migration": "no",
      "cluster-node-timeout": 2_000,
    };
    const cluster = await startCluster({ replicas: 1, settings });
    const hangUp = () =>
      Promise.all(
        cluster.nodes.map((node) => node.run("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").catch(() => {})),
      );
    /** The primary of a third of the slots. @param {import("../random.mjs").Dice} random */
    const primary = async (random) => {
      const node = await cluster.ownerOf(Math.floor(random.between(0, slots - 1)));
      if (node === null) throw new Error("a slot without a primary");
      return node;
    };

    /** @type {Record<string, (random: import("../random.mjs").Dice) => Promise<() => unknown>>} */
    const outages = {
      async crash(random) {
        const node = await primary(random);
        await node.stop("kill");
        return async () => {
          await node.start();
          await cluster.healthy();
        };
      },
      async standstill(random) {
        const node = await primary(random);
        node.pause();
        return async () => {
          node.resume();
          await cluster.healthy();
        };
      },
      async hangup() {
        await hangUp();
        const again = setInterval(hangUp, 200);
        return () => clearInterval(again);
      },
      async handover(random) {
        const node = await primary(random);
        const number = cluster.nodes.indexOf(node);
        const replica = cluster.nodes[(number + 3) % cluster.nodes.length];
        await replica?.run("CLUSTER", "FAILOVER");
        return () => cluster.healthy();
      },
    };

    /** @type {() => unknown} */
    let restore = () => {};
    return {
      place: JSON.stringify(cluster.addresses),
      async cut(random) {
        const kind = random.pick(Object.keys(outages));
        restore = (await outages[kind]?.(random)) ?? restore;
        return kind;
      },
      async restore() {
        await restore();
      },
      close: () => cluster.end(),
    };
  },

  async open(place, lib) {
    const { redis: store } = await import(lib("stores/redis/index.js"));
    return store(await clusterClient(JSON.parse(place)), {
      shards: 16,
      hints: true,
      waitReplicas: 1,
      waitMs: 500,
      timeLimitMs: 2_000,
    });
  },
};

/** @param {{ host: string, port: number }[]} nodes */
async function clusterClient(nodes) {
  if (process.pid % 2 === 0) {
    const { createCluster } = await import("redis");
    const client = createCluster({
      rootNodes: nodes.map((node) => ({ socket: node })),
      topologyRefreshOnReconnectionAttemptStrategy: 500,
      defaults: { disableOfflineQueue: true, socket: { connectTimeout: 1_000 } },
    });
    client.on("error", () => {});
    return client;
  }
  const { Cluster } = await import("ioredis");
  const client = new Cluster(nodes, {
    redisOptions: { socketTimeout: 2_000, connectTimeout: 1_000, maxRetriesPerRequest: 1 },
  });
  client.on("error", () => {});
  return client;
}
