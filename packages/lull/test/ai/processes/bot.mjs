// A bot whose model and whose platform are behind HTTP; what it writes can be edited and deleted.
//   node bot.mjs <database> <owner> <model url> <platform url>
import { writeSync } from "node:fs";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Lull } from "lull";
import { aiResponder } from "lull/ai";
import { sqlite } from "lull/sqlite";
import { openDatabase } from "../../stores/processes/common.mjs";

const [path = "", owner = "", modelUrl = "", platform = ""] = process.argv.slice(2);

/**
 * @param {string} what
 * @param {object} body
 */
async function ask(what, body) {
  const response = await fetch(`${platform}/${what}`, { method: "POST", body: JSON.stringify(body) });
  return /** @type {any} */ (await response.json());
}

const provider = createOpenAICompatible({ name: "mock", baseURL: `${modelUrl}/v1`, apiKey: "-", includeUsage: true });
const lull = new Lull({
  store: sqlite(openDatabase(path)),
  owner,
  debounce: { quietMs: 100, startMs: 50 },
  lease: { leaseMs: 1_000 },
  scanMs: 100,
  respond: aiResponder({ model: provider("mock-1") }),
  deliver: {
    name: "platform",
    idempotent: false,
    draftMs: 40,
    draft: (part, { key, id, inDoubt }) => ask("draft", { part, key, id, inDoubt }),
    deliver: (part, { idempotencyKey, draft }) => ask("send", { part, key: idempotencyKey, draft }),
  },
});
await lull.start();
writeSync(1, "ready\n");
process.stdin.on("data", (data) => void lull.receive("c", { id: String(data).trim(), text: "tell me a story" }));
