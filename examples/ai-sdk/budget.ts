import { Lull, memory } from "lull";
import { aiResponder, ledgerIn, usageOf } from "lull/ai";
import { model } from "./model.ts";

const store = memory();
const lull = new Lull({
  store,
  respond: aiResponder({
    model,
    budget: {
      perConversation: { tokens: 30 }, // a day, unless everyMs says otherwise
      perBot: { tokens: 2_000_000, ledger: ledgerIn(store, "ledger:parcels") },
      whenSpent: "I have to rest until tomorrow.",
    },
    onUsage: ({ conversation, outcome, inputTokens, outputTokens }) =>
      console.log(`${conversation}: ${inputTokens} + ${outputTokens} tokens, ${outcome}`),
  }),
  deliver: async (part) => console.log("bot:", part.type === "text" ? part.text : part),
  debounce: { quietMs: 100, startMs: 50 },
});
await lull.start();
for (let n = 1; n <= 3; n += 1) {
  await lull.receive("ada", { id: `m${n}`, text: "where is my parcel?" });
  await lull.reply("ada", n, { timeoutMs: 10_000 });
}
const { committed, discarded } = usageOf(await lull.log("ada"));
console.log(`answers cost ${committed.outputTokens} tokens, discarded attempts ${discarded.outputTokens}`);
await lull.stop();
