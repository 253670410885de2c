// BullMQ's debounce mode: a delayed job that the next message replaces. Only the last message's data survive, so `inbox`
// adds what an author must add to see them all: a list, read and emptied by the handler.
import { peer } from "../../peers/import.mjs";

/** @param {import("./index.mjs").World} world @param {string} name @returns {Promise<import("./index.mjs").Running>} */
export async function create({ url, windowMs, handler }, name) {
  const { Queue, Worker } = await peer("bullmq");
  const { Redis } = await peer("ioredis");
  const connection = { url, maxRetriesPerRequest: null };
  const hasInbox = name === "bullmq inbox";
  const own = new Redis(url, { maxRetriesPerRequest: null });
  const queue = new Queue("bursts", { connection });
  const worker = new Worker(
    "bursts",
    async (/** @type {any} */ job) => {
      const { conversation, id } = job.data;
      if (!hasInbox) return handler(conversation, [id]);
      const [[, ids]] = await own.multi().lrange(`inbox:${conversation}`, 0, -1).del(`inbox:${conversation}`).exec();
      await handler(conversation, ids);
    },
    { connection, concurrency: 512 },
  );
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
  return {
    async accept(conversation, id) {
      if (hasInbox) await own.rpush(`inbox:${conversation}`, id);
      const deduplication = { id: conversation, ttl: windowMs, extend: true, replace: true };
      await queue.add(
        "burst",
        { conversation, id, text: `message ${id}` },
        { delay: windowMs, deduplication, removeOnComplete: true },
      );
    },
    async stop() {
      await worker.close(true);
      await queue.close();
      await own.quit();
    },
  };
}
