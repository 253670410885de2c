// What it costs a process to look for due work, once or twice a second, however much there is: the store's due scan at a
// million conversations at rest and 100,000 armed timers, with nothing due and with a hundred due.
//
//   npm run build && node scripts/bench/due.mjs [--store redis,redis-cluster,postgres] [--idle 1000000] [--armed 100000] [--rounds 300]
//
// Client, servers and whatever else runs share this machine.
import { loadavg } from "node:os";
import { readArgs } from "../args.mjs";
import { postgresMissing, startPostgres } from "../servers/postgres.mjs";
import { redisMissing, startCluster, startRedis } from "../servers/redis.mjs";

const text = /** @type {const} */ ({ type: "string" });
const values = readArgs(import.meta.url, { store: text, idle: text, armed: text, rounds: text });
const idle = Number(values.idle ?? 1_000_000);
const armed = Number(values.armed ?? 100_000);
const rounds = Number(values.rounds ?? 300);
const lib = (/** @type {string} */ path) => new URL(`../../packages/lull/dist/${path}`, import.meta.url).href;
const { blank } = await import(lib("model.js"));

/** Timers are armed from here on, one a millisecond. */
const startMs = Date.UTC(2030, 0, 1);

/** @typedef {import("lull").Store} Store */
/** @typedef {{ missing: () => string | null, make: () => Promise<{ ways: Record<string, Store>, bytes?: number, end: () => Promise<void> }> }} Place */

/** @type {Record<string, Place>} */
const places = {
  redis: {
    missing: redisMissing,
    async make() {
      const server = await startRedis();
      const { createClient } = await import("redis");
      const { Redis } = await import("ioredis");
      const [one, two] = [createClient({ url: server.url }), new Redis(server.url)];
      const { redis } = await import(lib("stores/redis/index.js"));
      const [first, second] = [redis(one), redis(two)];
      await first.stats();
      const before = await memoryOf([server]);
      await fillRedis((_key, command) => two.call(/** @type {string} */ (command[0]), ...command.slice(1)));
      return {
        ways: { "node-redis": first, ioredis: second },
        bytes: ((await memoryOf([server])) - before) / (idle + armed),
        async end() {
          await one.close();
          two.disconnect();
          await server.end();
        },
      };
    },
  },
  "redis-cluster": {
    missing: redisMissing,
    async make() {
      const cluster = await startCluster();
      const { createCluster } = await import("redis");
      const { Cluster } = await import("ioredis");
      const one = createCluster({ rootNodes: cluster.addresses.map((socket) => ({ socket })) });
      const two = new Cluster(cluster.addresses);
      const { redis } = await import(lib("stores/redis/index.js"));
      const [first, second] = [redis(one), redis(two)];
      await first.stats();
      await fillRedis((_key, command) => two.call(/** @type {string} */ (command[0]), ...command.slice(1)));
      return {
        ways: { "node-redis": first, ioredis: second },
        async end() {
          await one.close();
          two.disconnect();
          await cluster.end();
        },
      };
    },
  },
  postgres: {
    missing: postgresMissing,
    async make() {
      const server = await startPostgres({ settings: { fsync: "off" } });
      const { default: pg } = await import("pg");
      const pool = new pg.Pool({ connectionString: server.url });
      const { postgres } = await import(lib("stores/postgres/index.js"));
      const store = postgres(pool);
      await store.stats();
      const record = recordOf("ID").replaceAll("'", "''");
      await server.run(`
        insert into lull.lull_record (id, revision, seq, status, record)
        select 'c' || n, 'r' || n, 0, 0, replace('${record}', 'ID', 'c' || n) from generate_series(1, ${idle + armed}) n;
        insert into lull.lull_timer (conversation, wake_at_ms, revision)
        select 'c' || n, ${startMs} + n, 'r' || n from generate_series(1, ${armed}) n;
        analyze`);
      return {
        ways: { pg: store },
        async end() {
          await pool.end();
          await server.end();
        },
      };
    },
  },
};

/** @param {string} id */
function recordOf(id) {
  return JSON.stringify({ ...blank(id, startMs), revision: "r", address: { chat: 123_456_789 } });
}

/** @param {import("../servers/redis.mjs").RedisServer[]} servers */
async function memoryOf(servers) {
  let sum = 0;
  for (const server of servers)
    sum += Number(/used_memory:(\d+)/.exec(String(await server.run("INFO", "memory")))?.[1] ?? 0);
  return sum;
}

/** As exchange.lua writes it, a thousand at a time. @param {(key: string, command: string[]) => Promise<unknown>} call */
async function fillRedis(call) {
  const { keysWith, usualShards } = await import(lib("stores/redis/keys.js"));
  const keys = keysWith("lull", usualShards);
  const script = `#!lua
    for index = 4, #KEYS do
      local id, wake = ARGV[2 * index - 6], ARGV[2 * index - 5]
      redis.call('SET', KEYS[index], '1 0 ' .. (wake == '' and 0 or 4) .. ' "r"\\n' .. string.gsub(ARGV[1], 'ID', id))
      redis.call('ZADD', KEYS[1], 0, id)
      if wake ~= '' then
        redis.call('ZADD', KEYS[2], wake, id)
        redis.call('ZADD', KEYS[3], 0, id)
      end
    end`;
  const record = recordOf("ID");
  /** @type {{ keys: string[], args: string[] }[]} */
  const groups = Array.from({ length: keys.shards }, () => ({ keys: [], args: [] }));
  /** @type {Promise<unknown>[]} */
  const under = [];
  /** @param {number} shard */
  const flush = async (shard) => {
    const group = groups[shard];
    if (group === undefined || group.keys.length === 0) return;
    const { ids, due, active } = keys.shard(shard);
    const all = [ids, due, active, ...group.keys];
    groups[shard] = { keys: [], args: [] };
    under.push(call(ids, ["EVAL", script, String(all.length), ...all, record, ...group.args]));
    if (under.length >= 32) await Promise.all(under.splice(0));
  };
  for (let number = 1; number <= idle + armed; number += 1) {
    const id = `c${number}`;
    const own = keys.of(id);
    const group = groups[own.shard];
    group?.keys.push(own.record);
    group?.args.push(id, number <= armed ? String(startMs + number) : "");
    if ((group?.keys.length ?? 0) >= 1_000) await flush(own.shard);
  }
  for (let shard = 0; shard < keys.shards; shard += 1) await flush(shard);
  await Promise.all(under);
}

/** @param {() => Promise<unknown>} call */
async function timesOf(call) {
  /** @type {number[]} */
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    await call();
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const at = (/** @type {number} */ p) => (times[Math.floor(times.length * p)] ?? 0).toFixed(2);
  return `p50 ${at(0.5)} ms, p90 ${at(0.9)} ms`;
}

/** @param {Store} store @param {number} due */
async function look(store, due) {
  const { timers } = await store.due(startMs + due, 100);
  if (timers.length !== due) throw new Error(`${timers.length} were due, not ${due}`);
}

const load = () => loadavg()[0]?.toFixed(1);
console.log(`${idle} conversations at rest, ${armed} armed timers, ${rounds} rounds, load ${load()}`);
for (const name of (values.store ?? Object.keys(places).join()).split(",")) {
  const place = places[name];
  if (place === undefined) throw new Error(`--store is some of ${Object.keys(places).join(", ")}; got ${name}.`);
  const missing = place.missing();
  if (missing !== null) {
    console.log(`${name}: left out, ${missing}`);
    continue;
  }
  const { ways, bytes, end } = await place.make();
  try {
    if (bytes !== undefined) console.log(`${name}: ${Math.round(bytes)} bytes a conversation, without log`);
    for (const [way, store] of Object.entries(ways)) {
      await look(store, 0);
      console.log(`${name}, ${way}, load ${load()}`);
      // What a round trip costs at all at this moment.
      console.log(`  one conversation read: ${await timesOf(() => store.load("nobody"))}`);
      console.log(`  nothing due: ${await timesOf(() => look(store, 0))}`);
      console.log(`  100 due: ${await timesOf(() => look(store, 100))}`);
      await store.close();
    }
  } finally {
    await end();
  }
}
