// One process of a Chat SDK bot for the comparison: the same bot with the library's own strategy, or with lull.
//   node bot.mjs <mode> <redis url> <model ms>
// Over IPC it is handed webhooks, and says what it acknowledged and what it posted. Times are the machine's clock, which
// all processes share: which of two processes did something first is asked here.
import { createRedisState } from "@chat-adapter/state-redis";
import { Chat, Message, parseMarkdown } from "chat";
import { Redis } from "ioredis";
import { systemClock } from "lull";
import { withLull } from "lull/chat-sdk";
import { redis } from "lull/redis";
import { debounceMs } from "./settings.mjs";

const [mode = "", url = "", modelMs = "2000"] = process.argv.slice(2);
const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
const clock = systemClock();
/** @param {object} message */
const tell = (message) => void (process.connected && process.send?.(message));

// A platform in the shape of WhatsApp's and Slack's adapters: it answers its webhook at once, and works on.
/** @type {any} */
let instance = null;
/**
 * When a thread's answer was decided: lull asks its store to commit it, after which nothing can get into it. In the
 * library's own strategies that is the post itself.
 * @type {Map<string, number>}
 */
const decided = new Map();
/** @type {any} */
const adapter = {
  name: "fake",
  userName: "bot",
  lockScope: "channel",
  async initialize(/** @type {any} */ chat) {
    instance = chat;
  },
  async handleWebhook(/** @type {Request} */ request, /** @type {object} */ options) {
    const { thread, id, text } = /** @type {any} */ (await request.json());
    const message = new Message({
      id,
      threadId: thread,
      text,
      formatted: parseMarkdown(text),
      raw: {},
      author: { userId: "ada", userName: "ada", fullName: "Ada", isBot: false, isMe: false },
      metadata: { dateSent: new Date(), edited: false },
      attachments: [],
      isMention: true,
    });
    // As those adapters do: errors are logged, and nobody waits.
    Promise.resolve(instance.processMessage(adapter, thread, message, options)).catch(() => {});
    return new Response("ok");
  },
  channelIdFromThreadId: (/** @type {string} */ thread) => thread.split("/")[0],
  isDM: () => true,
  async postMessage(/** @type {string} */ thread, /** @type {unknown} */ text) {
    tell({ posted: { thread, text: String(text), decidedMs: decided.get(thread) ?? Date.now() } });
    return { id: crypto.randomUUID(), threadId: thread, raw: {} };
  },
  async startTyping() {},
  renderFormatted: () => "",
};

/** @type {any} */
const concurrency = mode === "lull" ? undefined : { strategy: mode, debounceMs };
const bot = new Chat({
  adapters: { fake: adapter },
  state: /** @type {any} */ (createRedisState({ url, logger: /** @type {any} */ (quiet) })),
  userName: "bot",
  logger: quiet,
  ...(concurrency && { concurrency }),
});
const failed = new Set();
bot.onDirectMessage(async (thread, message, _channel, context) => {
  const texts = [...(context?.skipped ?? []), message].map(({ text }) => text);
  // Deaf to the signal, like most handlers.
  await clock.sleep(texts.join().includes("quick") ? 100 : Number(modelMs));
  if (texts.join().includes("throw") && !failed.has(thread.id)) {
    failed.add(thread.id);
    throw new Error("the model is away");
  }
  await thread.post(texts.join("+"));
});
if (mode === "lull") {
  const store = redis(new Redis(url, { maxRetriesPerRequest: 1 }));
  const lull = withLull(bot, {
    store: {
      ...store,
      exchange(write) {
        // A direct chat's conversation is its thread.
        if (write.append?.some(({ kind }) => kind === "reply")) decided.set(write.id, Date.now());
        return store.exchange(write);
      },
    },
    debounce: { quietMs: debounceMs, startMs: Math.min(1_000, debounceMs) },
    lease: { leaseMs: 5_000 },
  });
  await lull.start();
}
await bot.initialize();

process.on("message", async (/** @type {any} */ { nth, hook }) => {
  let status = 0;
  try {
    const request = new Request("http://bot.test/fake", { method: "POST", body: JSON.stringify(hook) });
    const response = await bot.webhooks.fake?.(request, { waitUntil: (task) => void task.catch(() => {}) });
    status = response?.status ?? 0;
  } catch {
    status = 500;
  }
  tell({ nth, status, atMs: Date.now() });
});
process.on("disconnect", () => process.exit(0));
tell({ ready: true });
