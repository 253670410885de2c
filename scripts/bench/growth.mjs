// Does lull stay as fast when there are many conversations at rest? Receives and whole turns at 1,000 conversations and at
// many more, on the same store, and what a conversation at rest and one that is being answered take of this process.
//
//   npm run build && node scripts/bench/growth.mjs [--store memory,sqlite,redis,postgres] [--most 1000000] [--turns 300]
//
// Also 100,000 armed timers in one process: the share of a core they take. Client, server and whatever else runs share
// this machine: look at the ratios.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readArgs } from "../args.mjs";
import { startPostgres } from "../servers/postgres.mjs";
import { startRedis } from "../servers/redis.mjs";

const text = /** @type {const} */ ({ type: "string" });
const values = readArgs(import.meta.url, { store: text, most: text, turns: text });
const most = Number(values.most ?? 100_000);
const turns = Number(values.turns ?? 300);
const stores = (values.store ?? "memory,sqlite").split(",");
const lib = (/** @type {string} */ path) => import(new URL(`../../packages/lull/dist/${path}`, import.meta.url).href);
/** @type {typeof import("lull")} */
const { blank, Lull, memory } = await lib("index.js");
const { alarms } = await lib("alarms.js");
const { systemClock } = await lib("clock.js");

for (const name of stores) await grow(name);
await timers(100_000);

/** @param {string} name @param {string} folder */
async function open(name, folder) {
  if (name === "memory") return { store: memory(), close: async () => {} };
  if (name === "sqlite") {
    const [major = 0] = process.versions.node.split(".").map(Number);
    const { DatabaseSync } = await import(major >= 22 ? "node:sqlite" : "@photostructure/sqlite");
    const { sqlite } = await lib("stores/sqlite/index.js");
    return { store: sqlite(new DatabaseSync(join(folder, "growth.db"))), close: async () => {} };
  }
  if (name === "redis") {
    const server = await startRedis();
    const { Redis } = await import("ioredis");
    const client = new Redis(server.url, { maxRetriesPerRequest: null });
    const { redis } = await lib("stores/redis/index.js");
    return {
      store: redis(client),
      async close() {
        client.disconnect();
        await server.end();
      },
    };
  }
  if (name !== "postgres") throw new Error(`--store: memory, sqlite, redis or postgres; got ${name}`);
  const server = await startPostgres();
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({ connectionString: server.url, max: 20 });
  const { postgres } = await lib("stores/postgres/index.js");
  return {
    store: postgres(pool),
    async close() {
      await pool.end();
      await server.end();
    },
  };
}

/** @param {string} name */
async function grow(name) {
  const folder = mkdtempSync(join(tmpdir(), "lull-growth-"));
  const { store, close } = await open(name, folder);
  try {
    const few = await at(store, 0, 1_000);
    const many = await at(store, 1_000, most);
    const ratio = (/** @type {"receive" | "turn"} */ key) => (many[key] / few[key]).toFixed(2);
    console.log(
      `${name.padEnd(9)} 1,000 conversations: receive p50 ${few.receive.toFixed(2)} ms, turn p50 ${few.turn.toFixed(1)} ms · ${most.toLocaleString("en")}: receive ${many.receive.toFixed(2)} ms (×${ratio("receive")}), turn ${many.turn.toFixed(1)} ms (×${ratio("turn")}) · process: ${many.idleBytes.toFixed(0)} bytes a conversation at rest, ${Number.isNaN(many.activeBytes) ? "–" : many.activeBytes.toFixed(0)} one that waits`,
    );
  } finally {
    await store.close();
    await close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * With conversations `from … to` added, all at rest. A process of its own serves, as after a start: nothing is remembered.
 * @param {import("lull").Store} store @param {number} from @param {number} to
 */
async function at(store, from, to) {
  const { nowMs } = await store.due(0, 1);
  for (let n = from; n < to; n += 64)
    await Promise.all(
      Array.from({ length: Math.min(64, to - n) }, async (_, k) => {
        const id = `idle ${n + k}`;
        const next = { ...blank(id, nowMs), revision: "1", updatedAtMs: nowMs };
        const { nowMs: at } = n % 6_400 === 0 && k === 0 ? await store.due(0, 1) : { nowMs: 0 };
        await store.exchange({ id, next, expected: null, wakeAtMs: null, nowMs: at || Date.now() });
      }),
    );
  /** @type {Map<string, number>} */
  const answered = new Map();
  const lull = new Lull({
    store,
    debounce: { quietMs: 0 },
    concurrency: 1_000,
    respond: () => "ok",
    deliver: async (_part, { conversation }) => void answered.set(conversation, performance.now()),
  });
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  await lull.start();
  await sleep(2_000);
  globalThis.gc?.();
  const idleBytes = Math.max(0, process.memoryUsage().heapUsed - before) / to;
  /** @type {number[]} */
  const receives = [];
  /** @type {number[]} */
  const whole = [];
  for (let n = 0; n < turns; n += 1) {
    const id = `idle ${Math.floor((n * 7_919) % to)}`;
    const began = performance.now();
    await lull.receive(id, { id: `m${to} ${n}`, text: "hello" });
    receives.push(performance.now() - began);
    while (!answered.has(id)) await sleep(1);
    whole.push((answered.get(id) ?? 0) - began);
    answered.delete(id);
  }
  await lull.stop({ timeoutMs: 1_000 });
  const waiting = new Lull({
    store,
    debounce: { quietMs: 3_600_000, maxWaitMs: 3_600_000, startMs: 3_600_000 },
    respond: () => "ok",
  });
  await waiting.start();
  globalThis.gc?.();
  const heap = process.memoryUsage().heapUsed;
  const waits = 1_000;
  for (let n = 0; n < waits; n += 1) await waiting.receive(`waits ${to} ${n}`, { id: "m", text: "hello" });
  globalThis.gc?.();
  // The memory store's conversations are in this process.
  const activeBytes = store.name === "memory" ? Number.NaN : (process.memoryUsage().heapUsed - heap) / waits;
  await waiting.stop({ timeoutMs: 0 });
  const p50 = (/** @type {number[]} */ list) => list.sort((a, b) => a - b)[list.length >> 1] ?? Number.NaN;
  return { receive: p50(receives), turn: p50(whole), idleBytes, activeBytes };
}

/** @param {number} count */
async function timers(count) {
  const clock = systemClock();
  let rung = 0;
  const armed = alarms(
    clock,
    () => clock.now(),
    () => {
      rung += 1;
    },
  );
  const now = clock.now();
  const setting = process.cpuUsage();
  for (let n = 0; n < count; n += 1) armed.set(`c${n}`, now + 60_000 + ((n * 7_919) % count) * 10);
  const set = process.cpuUsage(setting);
  const cpu = process.cpuUsage();
  const began = performance.now();
  // Conversations are pushed on meanwhile, 200 a second.
  for (let n = 0; n < 1_000; n += 1) {
    armed.set(`c${n}`, clock.now() + 60_000 + n);
    if (n % 10 === 9) await sleep(50);
  }
  const used = process.cpuUsage(cpu);
  const share = (used.user + used.system) / 1e3 / (performance.now() - began);
  armed.clear();
  console.log(
    `${count.toLocaleString("en")} armed timers: ${((set.user + set.system) / count).toFixed(2)} µs to arm one, ${(share * 100).toFixed(2)} % of a core while 200 a second are moved, ${rung} rung`,
  );
}
