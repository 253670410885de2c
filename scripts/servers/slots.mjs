// Slots of a cluster that move to another primary while clients go on writing, as `redis-cli --cluster reshard` moves
// them; and, for a move that was broken off, what `--cluster fix` does.
import { setTimeout as sleep } from "node:timers/promises";

/**
 * A primary as it sees itself. `migrating` and `importing`: slot → id of the other side.
 * @typedef {{ node: import("./redis.mjs").RedisServer, id: string, epoch: number, ranges: [number, number][],
 *   migrating: Map<number, string>, importing: Map<number, string> }} Primary
 *
 * How fast: so many keys a step (default 5), and a pause after each (default 20 ms).
 * @typedef {{ keys?: number, pauseMs?: number }} Pace
 */

const migrateTimeoutMs = "2000";

/** @param {import("./redis.mjs").RedisServer} node @param {number} slot @param {string[]} change */
const setSlot = (node, slot, ...change) => node.run("CLUSTER", "SETSLOT", String(slot), ...change);

/** The primaries that answer. @param {import("./redis.mjs").RedisCluster} cluster @returns {Promise<Primary[]>} */
async function primariesOf({ nodes }) {
  const seen = await Promise.all(
    nodes.map(async (node) => {
      const text = await node.run("CLUSTER", "NODES").catch(() => "");
      const own = String(text)
        .split("\n")
        .find((line) => line.includes("myself"));
      const [id = "", , flags = "", , , , epoch = "", , ...slots] = own?.split(" ") ?? [];
      if (!flags.includes("master")) return null;
      /** @type {Primary} */
      const primary = { node, id, epoch: Number(epoch), ranges: [], migrating: new Map(), importing: new Map() };
      for (const slot of slots) {
        const open = /^\[(\d+)-([<>])-(\w+)\]$/.exec(slot);
        if (open !== null) primary[open[2] === ">" ? "migrating" : "importing"].set(Number(open[1]), open[3] ?? "");
        const range = /^(\d+)(?:-(\d+))?$/.exec(slot);
        if (range !== null) primary.ranges.push([Number(range[1]), Number(range[2] ?? range[1])]);
      }
      return primary;
    }),
  );
  return seen.filter((primary) => primary !== null);
}

/** @param {Primary[]} primaries @param {number} slot @returns {Primary | undefined} */
function ownerAmong(primaries, slot) {
  const claims = primaries.filter(({ ranges }) => ranges.some(([from, to]) => from <= slot && slot <= to));
  return claims.sort((a, b) => b.epoch - a.epoch)[0];
}

/**
 * Moves a slot, key by key. Meanwhile a script whose keys are in both places, or that names a key which does not exist,
 * is refused with TRYAGAIN. Rejects when one of both nodes is lost under way: then `mendSlots` has to end it.
 *
 * @param {import("./redis.mjs").RedisCluster} cluster @param {number} slot @param {import("./redis.mjs").RedisServer} to
 * @param {Pace & { open?: () => unknown }} [pace] `open`: awaited once, in the middle: half of the keys have moved
 */
export async function moveSlot(cluster, slot, to, { open, ...pace } = {}) {
  const primaries = await primariesOf(cluster);
  const source = ownerAmong(primaries, slot);
  const target = primaries.find(({ node }) => node === to);
  if (source === undefined) throw new Error(`slot ${slot} has no primary`);
  if (target === undefined) throw new Error(`the node on port ${to.port} is no primary`);
  if (source === target) return;
  // In this order: a node that is asked for a slot it does not import yet sends clients back.
  await setSlot(target.node, slot, "IMPORTING", source.id);
  await setSlot(source.node, slot, "MIGRATING", target.id);
  if (open !== undefined) {
    const count = Number(await source.node.run("CLUSTER", "COUNTKEYSINSLOT", String(slot)));
    await step(slot, source.node, target.node, Math.ceil(count / 2));
    await open();
  }
  await drain(slot, source.node, target.node, pace);
  await assign(cluster, slot, target, source);
}

/**
 * One MIGRATE. @param {number} slot @param {import("./redis.mjs").RedisServer} from
 * @param {import("./redis.mjs").RedisServer} to @param {number} most @param {string[]} how
 * @returns {Promise<string[]>} the keys; none: the slot is empty there
 */
async function step(slot, from, to, most, ...how) {
  /** @type {string[]} */
  const keys = await from.run("CLUSTER", "GETKEYSINSLOT", String(slot), String(most));
  if (keys.length > 0) await migrate(from, to, keys, ...how);
  return keys;
}

/**
 * @param {import("./redis.mjs").RedisServer} from @param {import("./redis.mjs").RedisServer} to
 * @param {string[]} keys @param {string[]} how
 */
const migrate = (from, to, keys, ...how) =>
  from.run("MIGRATE", "127.0.0.1", String(to.port), "", "0", migrateTimeoutMs, ...how, "KEYS", ...keys);

/**
 * @param {number} slot @param {import("./redis.mjs").RedisServer} from @param {import("./redis.mjs").RedisServer} to
 * @param {Pace} pace @param {string[]} how
 */
async function drain(slot, from, to, { keys = 5, pauseMs = 20 }, ...how) {
  while ((await step(slot, from, to, keys, ...how)).length > 0) await sleep(pauseMs);
}

/**
 * The new owner is told first, then the old one, then the rest; who is away hears of it from the others.
 * @param {import("./redis.mjs").RedisCluster} cluster @param {number} slot @param {Primary} to @param {Primary} from
 */
async function assign(cluster, slot, to, from) {
  await setSlot(to.node, slot, "NODE", to.id);
  await setSlot(from.node, slot, "NODE", to.id);
  for (const { node } of await primariesOf(cluster)) await setSlot(node, slot, "NODE", to.id).catch(() => {});
}

/**
 * Ends every move that was broken off: the rest of the keys follow; and, with `back`, all of them return, by a move of
 * their own. (There is no other way back: an owner in the middle of a move takes no key, and one that has forgotten the move
 * answers as if what has moved had never been.) A key that is in both places after a lost answer is the old owner's: the
 * other one serves a key only to whom the owner, not having it, has sent. Needs all primaries up.
 *
 * @param {import("./redis.mjs").RedisCluster} cluster @param {Pace & { back?: boolean }} [options]
 * @returns {Promise<number>} how many there were
 * @throws {Error} BUSYKEY: a key is in both places, and the owner does not know of the move; it may have begun the key anew
 */
export async function mendSlots(cluster, { back = false, ...pace } = {}) {
  const seen = await primariesOf(cluster);
  const open = new Set(seen.flatMap((one) => [...one.migrating.keys(), ...one.importing.keys()]));
  for (const slot of open) {
    const primaries = await primariesOf(cluster);
    const owner = ownerAmong(primaries, slot);
    if (owner === undefined) throw new Error(`slot ${slot} has no primary`);
    const importer = primaries.find((one) => one !== owner && one.importing.has(slot));
    if (importer !== undefined) {
      const remembered = owner.migrating.get(slot) === importer.id;
      if (!remembered) await setSlot(owner.node, slot, "MIGRATING", importer.id);
      await drain(slot, owner.node, importer.node, pace, ...(remembered ? ["REPLACE"] : []));
      await assign(cluster, slot, importer, owner);
    }
    for (const { node } of primaries) await setSlot(node, slot, "STABLE");
    if (importer !== undefined && back) await moveSlot(cluster, slot, owner.node, pace);
  }
  return open.size;
}

/**
 * Whether replicas may take over by themselves. A replica of Redis 7 does not know which slots are on the move: should it
 * take over, it answers as if what has moved had never been. So nobody fails over while slots move.
 *
 * @param {import("./redis.mjs").RedisCluster} cluster @param {boolean} allowed
 */
export async function allowFailover({ nodes }, allowed) {
  await Promise.all(
    nodes.map((node) => node.run("CONFIG", "SET", "cluster-replica-no-failover", allowed ? "no" : "yes")),
  );
}
