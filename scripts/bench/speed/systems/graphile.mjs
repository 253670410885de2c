// graphile-worker: a job by key, whose array payload grows with each message and whose time moves.
import { peer } from "../../peers/import.mjs";

/** @param {import("./index.mjs").World} world @returns {Promise<import("./index.mjs").Running>} */
export async function create({ url, windowMs, handler }) {
  const { Logger, run } = await peer("graphile-worker");
  const { default: pg } = await peer("pg");
  const pgPool = new pg.Pool({ connectionString: url, max: 20 });
  const logger = new Logger(() => () => {});
  const runner = await run({
    pgPool,
    // Tuned: without a local queue each of 300 workers would ask for its own job, ten times a second.
    preset: { worker: { concurrentJobs: 300, pollInterval: 100, localQueue: { size: 301 }, completeJobBatchDelay: 0 } },
    logger,
    noHandleSignals: true,
    taskList: {
      burst: async (/** @type {any} */ messages) =>
        handler(
          messages[0].conversation,
          messages.map((/** @type {any} */ { id }) => id),
        ),
    },
  });
  return {
    accept: (conversation, id) =>
      runner.addJob("burst", [{ conversation, id, text: `message ${id}` }], {
        jobKey: conversation,
        jobKeyMode: "replace",
        runAt: new Date(Date.now() + windowMs),
      }),
    async stop() {
      await runner.stop();
      await pgPool.end();
    },
  };
}
