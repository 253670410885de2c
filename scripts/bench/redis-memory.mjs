// What a conversation costs on Redis, in bytes and in calls: three messages of some 60 characters, and one answer.
//
//   npm run build && node scripts/bench/redis-memory.mjs [--conversations 2000]
import { parseArgs } from "node:util";
import { Redis } from "ioredis";
import { startRedis } from "../servers/redis.mjs";

const { values } = parseArgs({ options: { conversations: { type: "string", default: "2000" } } });
const count = Number(values.conversations);
const lib = (/** @type {string} */ path) => new URL(`../../packages/lull/dist/${path}`, import.meta.url).href;
const { Lull } = await import(lib("index.js"));
const { redis } = await import(lib("stores/redis/index.js"));

const server = await startRedis();
const client = new Redis(server.url);
const store = redis(client);
const lull = new Lull({
  store,
  debounce: { quietMs: 100, startMs: 100, maxWaitMs: 1_000 },
  scanMs: 500,
  respond: (/** @type {{ messages: unknown[] }} */ turn) =>
    `I have read your ${turn.messages.length} messages, and all is well.`,
  deliver: async () => ({ status: "sent", id: "1234567890" }),
});
await store.stats();
const info = async (/** @type {string} */ section) => String(await server.run("INFO", section));
const used = async () => Number(/used_memory:(\d+)/.exec(await info("memory"))?.[1]);
const calls = async (name = "evalsha") =>
  Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(await info("commandstats"))?.[1] ?? 0);
const empty = await used();
const bytes = async (/** @type {string} */ what) =>
  console.log(`${what}: ${Math.round(((await used()) - empty) / count)} bytes a conversation`);

await server.run("CONFIG", "RESETSTAT");
const ids = Array.from({ length: count }, (_, number) => `telegram:${100_000_000 + number}`);
for (let from = 0; from < count; from += 50) {
  await Promise.all(
    ids.slice(from, from + 50).map(async (id, index) => {
      for (let message = 1; message <= 3; message += 1) {
        const text = `message ${message} of somebody who has something to say to a bot`;
        const number = from + index;
        await lull.receive(id, { id: `${number * 3 + message}`, text, author: "42", address: { chat: number } });
      }
    }),
  );
}
console.log(
  `calls a message: ${((await calls()) / count / 3).toFixed(2)} (the first of a conversation finds nothing remembered)`,
);
await bytes("active, with 3 messages that wait");
await server.run("CONFIG", "RESETSTAT");
await lull.start();
while ((await store.stats()).active > 0) await new Promise((resolve) => setTimeout(resolve, 500));
console.log(`writes an answer: ${((await calls("hincrby")) / count).toFixed(2)}`);
await bytes("at rest, with its log and the ids of its messages");
/** The same store, when the ids have expired. */
const later = redis(client, { now: () => Date.now() + 8 * 86_400_000 });
const keepFrom = () => Number.MAX_SAFE_INTEGER;
const most = Number.MAX_SAFE_INTEGER;
await later.prune({ seenBeforeMs: Date.now() + 8 * 86_400_000, keepFrom, limit: most });
await bytes("at rest, with its log");
await later.prune({ seenBeforeMs: 0, logBeforeMs: Date.now() + 1_000, keepFrom, limit: most });
await bytes("at rest, without either");
await lull.stop();
await store.close();
client.disconnect();
await server.end();
