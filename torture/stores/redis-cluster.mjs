// A cluster of three primaries with a replica each, shared by all workers; half of them use node-redis, half ioredis.
// Every write waits for the replica. Outages: a primary that is killed, or stands still and wakes when another has taken
// over; connections ended by an administrator; slots that move, and moves that a crash breaks off or between which a
// primary hands over.
import { redisMissing, startCluster } from "../../scripts/servers/redis.mjs";
import { allowFailover, mendSlots, moveSlot } from "../../scripts/servers/slots.mjs";

const slots = 16_384;
const shards = 16;
/** How many slots with conversations move at a time, and how slowly. */
const slotsAtOnce = 3;
const pace = { keys: 2, pauseMs: 20 };

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

    /** Where the shards are: no other slot has keys. */
    const live = await Promise.all(
      Array.from({ length: shards }, async (_, shard) =>
        Number(await cluster.nodes[0]?.run("CLUSTER", "KEYSLOT", `{${shard}}`)),
      ),
    );
    /** Some slots of one primary, and where they shall go. @param {import("../random.mjs").Dice} random */
    const journey = async (random) => {
      const owners = await Promise.all(live.map((slot) => cluster.ownerOf(slot)));
      const from = random.pick(owners);
      const to = random.pick([...(await cluster.primaries())].filter((node) => node !== from));
      if (from === null || to === undefined) throw new Error("a slot without a primary");
      return { from, to, moving: live.filter((_, index) => owners[index] === from).slice(0, slotsAtOnce) };
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
        await cluster.replicaOf(node)?.run("CLUSTER", "FAILOVER");
        return () => cluster.healthy();
      },
      async migration(random) {
        const { to, moving } = await journey(random);
        await allowFailover(cluster, false);
        const moved = (async () => {
          for (const slot of moving) await moveSlot(cluster, slot, to, pace);
        })();
        moved.catch(() => {}); // Told by `restore`.
        return async () => {
          await moved;
          await allowFailover(cluster, true);
          await cluster.healthy();
        };
      },
      /** One of both is killed in the middle of a slot; then the rest follows, and all of it may go back. */
      async brokenMigration(random) {
        const { from, to, moving } = await journey(random);
        const [victim, back] = [random.pick([from, to]), random.chance(0.5)];
        await allowFailover(cluster, false);
        const open = () => victim.stop("kill");
        const broken = await moveSlot(cluster, moving[0] ?? 0, to, { ...pace, open }).then(
          () => false,
          () => true,
        );
        if (!broken) throw new Error("a slot moved without one of both nodes");
        return async () => {
          await victim.start();
          await cluster.healthy();
          const mended = await mendSlots(cluster, { ...pace, back });
          if (mended === 0) throw new Error("a move that was broken off left nothing to mend");
          await allowFailover(cluster, true);
          await cluster.healthy();
        };
      },
      /** A primary hands over to its replica between two slots; from the new one the others follow. */
      async migrationAndHandover(random) {
        const { from, to, moving } = await journey(random);
        const [first = 0, ...others] = moving;
        await allowFailover(cluster, false);
        await moveSlot(cluster, first, to, pace);
        await cluster.replicaOf(from)?.run("CLUSTER", "FAILOVER");
        return async () => {
          await cluster.healthy();
          for (const slot of others) await moveSlot(cluster, slot, to, pace);
          await allowFailover(cluster, true);
          await cluster.healthy();
        };
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
      shards,
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
