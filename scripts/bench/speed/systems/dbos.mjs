// DBOS: its Debouncer around a workflow. Only the last message's data survive.
import { peer } from "../../peers/import.mjs";

/** @param {import("./index.mjs").World} world @returns {Promise<import("./index.mjs").Running>} */
export async function create({ url, windowMs, handler }) {
  const { DBOS, Debouncer } = await peer("@dbos-inc/dbos-sdk");
  DBOS.setConfig({ name: "bench", systemDatabaseUrl: url, systemDatabasePoolSize: 20, logLevel: "error" });
  const workflow = DBOS.registerWorkflow(
    async (/** @type {{ conversation: string, id: string }} */ { conversation, id }) => handler(conversation, [id]),
    { name: "burst" },
  );
  const debouncer = new Debouncer({ workflow });
  await DBOS.launch();
  return {
    accept: (conversation, id) =>
      debouncer.debounce(conversation, windowMs, { conversation, id, text: `message ${id}` }),
    stop: () => DBOS.shutdown(),
  };
}
