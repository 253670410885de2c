import { type Channel, Lull, memory, type Part } from "lull";
import { aiResponder } from "lull/ai";
import { offlineModel } from "./model.ts";

// A platform whose messages can be edited and deleted: sendMessage, editMessageText and deleteMessage of Telegram, say.
const screen = new Map<string, string>();
const words = (part: Part) => (part.type === "text" ? part.text : "");
async function put(id: string, text: string): Promise<{ id: string }> {
  screen.set(id, text);
  console.log(`${id}: ${text}`);
  return { id };
}

const channel: Channel = {
  name: "telegram",
  idempotent: false,
  draftMs: 100, // a platform's limit of edits: once a second is usual
  async draft(part, { id, key }) {
    if (part !== null) return put(id ?? `message ${key.slice(0, 4)}`, `${words(part)} …`); // show, or show more
    if (id !== undefined) screen.delete(id); // take back
  },
  async deliver(part, { draft, idempotencyKey }) {
    const { id } = await put(draft?.id ?? `message ${idempotencyKey.slice(0, 4)}`, words(part)); // in the draft's place
    return { status: "sent", id };
  },
};

const model = offlineModel(() => "It left the depot at noon, and will be with you before five o'clock this afternoon.");
const lull = new Lull({
  store: memory(),
  respond: aiResponder({ model }),
  deliver: channel,
  debounce: { quietMs: 200, startMs: 100 },
});
await lull.start();
await lull.receive("ada", { id: "m1", text: "where is my parcel?" });
await lull.reply("ada", 1, { timeoutMs: 10_000 });
await lull.stop();
