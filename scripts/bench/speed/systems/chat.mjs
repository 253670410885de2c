// The Chat SDK's `burst`, with its Redis state and an adapter that sends nowhere. Its webhook answers before anything is
// stored; here a message counts as accepted once it is in the queue.
import { peer } from "../../peers/import.mjs";

/** @param {import("./index.mjs").World} world @returns {Promise<import("./index.mjs").Running>} */
export async function create({ url, windowMs, handler }) {
  const { Chat, Message, parseMarkdown } = await peer("chat");
  const { createRedisState } = await peer("@chat-adapter/state-redis");
  const quiet = { debug() {}, info() {}, warn() {}, error: console.error, child: () => quiet };
  const state = createRedisState({ url, logger: quiet });
  /** @type {Map<string, () => void>} */
  const stored = new Map();
  const enqueue = state.enqueue.bind(state);
  state.enqueue = async (/** @type {string} */ thread, /** @type {any} */ entry, /** @type {number} */ most) => {
    const depth = await enqueue(thread, entry, most);
    stored.get(entry.message.id)?.();
    return depth;
  };
  const adapter = {
    name: "bench",
    userName: "bot",
    botUserId: "bot",
    async initialize() {},
    channelIdFromThreadId: (/** @type {string} */ thread) => thread,
    decodeThreadId: (/** @type {string} */ thread) => thread,
    encodeThreadId: (/** @type {string} */ thread) => thread,
    isDM: () => true,
    renderFormatted: () => "",
    postMessage: async (/** @type {string} */ thread) => ({ id: "1", threadId: thread, raw: {} }),
    startTyping: async () => {},
  };
  const chat = new Chat({
    userName: "bot",
    adapters: { bench: adapter },
    state,
    logger: quiet,
    concurrency: { strategy: "burst", debounceMs: windowMs },
  });
  /** @param {any} thread @param {any} message @param {any} context */
  const answer = async (thread, message, context) => {
    const skipped = context?.skipped ?? [];
    await handler(
      thread.id.slice("bench:".length),
      [...skipped, message].map(({ id }) => id),
    );
    await thread.post("ok");
  };
  chat.onDirectMessage(
    (/** @type {any} */ thread, /** @type {any} */ message, /** @type {any} */ _channel, /** @type {any} */ context) =>
      answer(thread, message, context),
  );
  chat.onNewMention(answer);
  await chat.initialize();
  return {
    accept: (conversation, id) =>
      new Promise((resolve, reject) => {
        stored.set(id, () => {
          stored.delete(id);
          resolve(undefined);
        });
        const text = `message ${id}`;
        const author = { userId: "u", userName: "u", fullName: "u", isBot: false, isMe: false };
        const metadata = { dateSent: new Date(), edited: false };
        const threadId = `bench:${conversation}`;
        const message = new Message({
          id,
          threadId,
          text,
          formatted: parseMarkdown(text),
          raw: {},
          author,
          metadata,
          attachments: [],
          isMention: true,
        });
        chat.processMessage(adapter, threadId, message, {
          waitUntil: (/** @type {Promise<unknown>} */ task) => task.catch(reject),
        });
      }),
    async stop() {
      await chat.shutdown?.();
    },
  };
}
