// A bot of the Chat SDK with lull, one of several processes on one SQLite file or Redis. Runs the built package, as users do.
//   node bot.mjs <database or redis URL> <owner> <model ms> <platforms as JSON>
import { createServer } from "node:http";
import { createDiscordAdapter } from "@chat-adapter/discord";
import { createSlackAdapter } from "@chat-adapter/slack";
import { createMemoryState } from "@chat-adapter/state-memory";
import { createTelegramAdapter } from "@chat-adapter/telegram";
import { createWhatsAppAdapter } from "@chat-adapter/whatsapp";
import { Chat } from "chat";
import { Redis } from "ioredis";
import { systemClock } from "lull";
import { withLull } from "lull/chat-sdk";
import { redis } from "lull/redis";
import { sqlite } from "lull/sqlite";
import { openDatabase } from "../../stores/processes/common.mjs";

const [path = "", owner = "", modelMs = "0", given = "{}"] = process.argv.slice(2);
const { telegram, slack, whatsapp, discord } = JSON.parse(given);
const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
const clock = systemClock();
const say = (/** @type {string} */ line) => process.stdout.write(`${owner} ${line}\n`);

const adapters = {
  telegram: createTelegramAdapter({ ...telegram, mode: "webhook", logger: quiet }),
  slack: createSlackAdapter({ ...slack, webClientOptions: { retryConfig: { retries: 0 } }, logger: quiet }),
  whatsapp: createWhatsAppAdapter({ ...whatsapp, logger: quiet }),
  discord: createDiscordAdapter({ ...discord, logger: quiet }),
};
const bot = new Chat({
  adapters: /** @type {any} */ (adapters),
  state: /** @type {any} */ (createMemoryState()),
  userName: "bot",
  logger: quiet,
});
bot.onDirectMessage(async (thread, message, _channel, context) => {
  const texts = [...(context?.skipped ?? []), message].map(({ text }) => text);
  say(`thinks about ${texts.join("+")} in ${thread.id.split(":")[0]}`);
  await clock.sleep(Number(modelMs), thread.signal);
  await thread.post(`re: ${texts.join("+")}`);
});
const lull = withLull(bot, {
  store: path.startsWith("redis:") ? redis(new Redis(path)) : sqlite(openDatabase(path)),
  owner,
  debounce: { quietMs: 200, startMs: 100, maxWaitMs: 3_000 },
  lease: { leaseMs: 1_500, renewMs: 400 },
  scanMs: 200,
});
await lull.start();

const server = createServer(async (incoming, outgoing) => {
  const chunks = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const headers = new Headers(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
  const request = new Request("http://bot.test/", { method: "POST", headers, body: Buffer.concat(chunks) });
  const name = /** @type {"telegram"} */ ((incoming.url ?? "/").slice(1));
  const response = await /** @type {any} */ (bot.webhooks)[name](request);
  outgoing.writeHead(response.status).end(await response.text());
});
server.listen(0, "127.0.0.1", () => say(`listens ${/** @type {any} */ (server.address()).port}`));
