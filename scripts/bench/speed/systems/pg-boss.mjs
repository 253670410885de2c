// pg-boss: a job by key whose start each message moves. It polls; half a second is the least it allows.
import { peer } from "../../peers/import.mjs";

/** @param {import("./index.mjs").World} world @returns {Promise<import("./index.mjs").Running>} */
export async function create({ url, windowMs, handler }) {
  const { PgBoss } = await peer("pg-boss");
  const boss = new PgBoss({ connectionString: url, max: 20 });
  boss.on("error", console.error);
  await boss.start();
  await boss.createQueue("bursts");
  for (let n = 0; n < 4; n += 1)
    await boss.work("bursts", { batchSize: 100, pollingIntervalSeconds: 0.5 }, (/** @type {any[]} */ jobs) =>
      Promise.all(jobs.map(({ data }) => handler(data.conversation, [data.id]))),
    );
  return {
    accept: (conversation, id) =>
      boss.upsert(
        "bursts",
        { conversation, id, text: `message ${id}` },
        { singletonKey: conversation, startAfter: new Date(Date.now() + windowMs) },
      ),
    stop: () => boss.stop({ graceful: false, close: true }),
  };
}
