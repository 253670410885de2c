// Private Redis servers for tests and benches: single ones, a primary with replicas and a sentinel, clusters.
import { existsSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { createClient } from "redis";
import { freePort, serverFolder, startProgram, untilReady } from "./process.mjs";

/** @param {string} name */
function program(name) {
  const folders = [process.env.LULL_TEST_REDIS_BIN ?? "", ...(process.env.PATH ?? "").split(delimiter)];
  return folders.map((folder) => join(folder, name)).find((path) => path !== name && existsSync(path)) ?? null;
}

/** Why tests with Redis cannot run here, or null. */
export function redisMissing() {
  if (program("redis-server") === null) return "no Redis server on this machine (Debian: apt-get install redis-server)";
  return null;
}

/**
 * @typedef {object} RedisServer
 * @property {string} url
 * @property {number} port
 * @property {number} pid
 * @property {string} folder its files
 * @property {(...command: string[]) => Promise<any>} run a command, on a connection of its own
 * @property {(mode?: "fast" | "kill") => Promise<void>} stop "kill" is a crash
 * @property {() => Promise<void>} start after `stop`, with what is on its disk
 * @property {() => void} pause it stands still; its connections stay open
 * @property {() => void} resume
 * @property {() => Promise<void>} end stops it and removes its files
 */

/**
 * A new server with nothing in it. Without `settings` it keeps nothing on disk.
 * @param {{ settings?: Record<string, string | number>, program?: string, sentinel?: boolean }} [options]
 * @returns {Promise<RedisServer>}
 */
export async function startRedis({ settings = {}, sentinel = false } = {}) {
  const path = program("redis-server");
  if (path === null) throw new Error(redisMissing() ?? "no Redis");
  const folder = serverFolder("redis", undefined);
  const port = Number(settings.port ?? (await freePort()));
  const file = join(folder.path, "redis.conf");
  /** @type {Record<string, string | number>} */
  const all = {
    bind: "127.0.0.1",
    port,
    dir: folder.path,
    "enable-debug-command": "local",
    ...(sentinel ? {} : { save: '""', appendonly: "no", "repl-diskless-sync-delay": 0 }),
    ...settings,
  };
  if (sentinel) delete all["enable-debug-command"];
  const lines = Object.entries(all).map(([name, value]) => `${name} ${value}`);
  writeFileSync(file, `${lines.join("\n")}\n`);
  const url = `redis://127.0.0.1:${port}`;
  /** @type {ReturnType<typeof startProgram>} */
  let running;

  async function start() {
    const { exitCode = 0, signalCode = null } = running?.child ?? {};
    if (exitCode === null && signalCode === null) throw new Error(`the server on port ${port} is running`);
    running = startProgram(path ?? "", [file, ...(sentinel ? ["--sentinel"] : [])], { cwd: folder.path });
    await untilReady(running, async () => {
      const info = String(await run("INFO", "persistence"));
      if (!sentinel && !info.includes("loading:0")) throw new Error("still loading");
    });
  }

  /** @param {string[]} command */
  async function run(...command) {
    const client = createClient({ url, socket: { reconnectStrategy: false, connectTimeout: 10_000 } });
    client.on("error", () => {});
    await client.connect();
    try {
      return await client.sendCommand(command);
    } finally {
      if (client.isOpen) client.destroy();
    }
  }

  /** @param {"fast" | "kill"} mode */
  async function stop(mode = "fast") {
    running.child.kill("SIGCONT");
    running.child.kill(mode === "fast" ? "SIGTERM" : "SIGKILL");
    await running.ended;
  }

  await start();
  return {
    url,
    port,
    folder: folder.path,
    get pid() {
      return running.child.pid ?? 0;
    },
    run,
    stop,
    start,
    pause: () => void running.child.kill("SIGSTOP"),
    resume: () => void running.child.kill("SIGCONT"),
    async end() {
      await stop("kill");
      folder.remove();
    },
  };
}

/** @param {() => Promise<boolean>} done @param {string} what */
async function until(done, what, limitMs = 30_000) {
  const giveUpAt = Date.now() + limitMs;
  while (!(await done().catch(() => false))) {
    if (Date.now() > giveUpAt) throw new Error(`${what} did not happen within ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * A replica that is up to date.
 * @param {RedisServer} primary @param {Record<string, string | number>} [settings]
 */
export async function startReplica(primary, settings = {}) {
  const replica = await startRedis({
    settings: { replicaof: `127.0.0.1 ${primary.port}`, ...settings },
  });
  await until(
    async () => String(await primary.run("INFO", "replication")).includes(`port=${replica.port},state=online`),
    "the replica's first synchronisation",
  );
  return replica;
}

/**
 * A sentinel that fails over after a second.
 * @param {RedisServer} primary
 */
export async function startSentinel(primary, name = "bots") {
  const sentinel = await startRedis({
    sentinel: true,
    settings: {
      "sentinel monitor": `${name} 127.0.0.1 ${primary.port} 1`,
      "sentinel down-after-milliseconds": `${name} 1000`,
      "sentinel failover-timeout": `${name} 3000`,
    },
  });
  await until(
    async () => String(await sentinel.run("SENTINEL", "REPLICAS", name)).length > 10,
    "the sentinel's discovery of replicas",
  );
  return { ...sentinel, name };
}

/**
 * A cluster of primaries on loopback, with `replicas` replicas of each.
 * @param {{ primaries?: number, replicas?: number, settings?: Record<string, string | number> }} [options]
 */
export async function startCluster({ primaries = 3, replicas = 0, settings = {} } = {}) {
  const count = primaries * (1 + replicas);
  /** @type {RedisServer[]} */
  const nodes = [];
  for (let index = 0; index < count; index += 1) {
    nodes.push(
      await startRedis({
        settings: {
          "cluster-enabled": "yes",
          "cluster-port": await freePort(),
          "cluster-node-timeout": 1_000,
          "cluster-replica-validity-factor": 0,
          ...settings,
        },
      }),
    );
  }
  const [first] = nodes;
  if (first === undefined) throw new Error("a cluster has nodes");
  const busPorts = await Promise.all(
    nodes.map(async (node) => /@(\d+)/.exec(String(await node.run("CLUSTER", "NODES")))?.[1] ?? "0"),
  );
  for (const [index, node] of nodes.entries()) {
    await node.run("CLUSTER", "SET-CONFIG-EPOCH", String(index + 1));
    if (index > 0) await first.run("CLUSTER", "MEET", "127.0.0.1", String(node.port), busPorts[index] ?? "");
  }
  for (let index = 0; index < primaries; index += 1) {
    const [from, to] = [index, index + 1].map((part) => Math.floor((16_384 * part) / primaries));
    await nodes[index]?.run("CLUSTER", "ADDSLOTSRANGE", String(from), String((to ?? 0) - 1));
  }
  await until(
    async () => (await Promise.all(nodes.map(knows))).every((known) => known === count),
    "that all nodes know each other",
  );
  const ids = await Promise.all(nodes.map(async (node) => String(await node.run("CLUSTER", "MYID"))));
  for (let index = primaries; index < count; index += 1) {
    await nodes[index]?.run("CLUSTER", "REPLICATE", ids[index % primaries] ?? "");
  }
  await healthy();

  /** @param {RedisServer} node */
  async function knows(node) {
    const known = String(await node.run("CLUSTER", "NODES")).match(/connected/g) ?? [];
    return known.length;
  }

  /** Every node sees all slots served, and every replica is linked. */
  async function healthy(limitMs = 30_000) {
    await until(
      async () => {
        for (const node of nodes) {
          const [info, replication] = await Promise.all([node.run("CLUSTER", "INFO"), node.run("INFO", "replication")]);
          if (!String(info).includes("cluster_state:ok")) return false;
          if (String(replication).includes("master_link_status:down")) return false;
        }
        const slots = await first?.run("CLUSTER", "SLOTS");
        return slots.every((/** @type {unknown[]} */ range) => range.length >= 3 + replicas);
      },
      "the cluster's health",
      limitMs,
    );
  }

  return {
    nodes,
    ids,
    addresses: nodes.map(({ port }) => ({ host: "127.0.0.1", port })),
    healthy,
    /** The primary that has a slot, as a node of this cluster sees it. @param {number} slot @param {RedisServer} [seenBy] */
    async ownerOf(slot, seenBy = first) {
      const ranges = await seenBy.run("CLUSTER", "SLOTS");
      for (const [from, to, [, port]] of ranges) {
        if (from <= slot && slot <= to) return nodes.find((node) => node.port === port) ?? null;
      }
      return null;
    },
    /** Those that have slots, or may have them, as a node of this cluster sees it. @param {RedisServer} [seenBy] */
    async primaries(seenBy = first) {
      const lines = String(await seenBy.run("CLUSTER", "NODES")).split("\n");
      const primaries = new Set(
        lines.filter((line) => / (myself,)?master /.test(line)).map((line) => line.split(" ")[0]),
      );
      return nodes.filter((_, index) => primaries.has(ids[index]));
    },
    /** The other node of a pair, with one replica of each primary. @param {RedisServer} node */
    replicaOf: (node) => (replicas === 1 ? nodes[(nodes.indexOf(node) + primaries) % count] : undefined),
    async end() {
      for (const node of nodes) await node.end();
    },
  };
}

/** @typedef {Awaited<ReturnType<typeof startCluster>>} RedisCluster */
