import { streamText } from "ai";
import { Lull, memory } from "lull";
import { aiResponder, branch } from "lull/ai";
import { model } from "./model.ts";

// A framework that saves while the model runs: threads of messages, by name.
const threads = new Map<string, string[]>();

const lull = new Lull({
  store: memory(),
  respond: aiResponder({ model, messages: { history: 0 } }, async (turn, call) => {
    const { from, to } = await branch(turn); // from: where the last committed answer left off; to: this attempt's own
    const thread = [...(from === null ? [] : (threads.get(from) ?? [])), `user: ${turn.text}`];
    threads.set(to, thread);
    return streamText({
      ...call,
      messages: [{ role: "user", content: thread.join("\n") }],
      onFinish: ({ text }) => void thread.push(`bot: ${text}`), // long before anybody knows whether it is sent
    });
  }),
  deliver: async (part) => console.log("bot:", part.type === "text" ? part.text : part),
  debounce: { quietMs: 100, startMs: 50 },
});
await lull.start();
for (let n = 1; n <= 2; n += 1) {
  await lull.receive("ada", { id: `m${n}`, text: `question ${n}` });
  await lull.reply("ada", n, { timeoutMs: 10_000 });
}
console.log([...threads.values()].at(-1)?.join(" / "));
await lull.stop();
