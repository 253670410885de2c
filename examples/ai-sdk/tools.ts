import { tool } from "ai";
import { Lull, memory } from "lull";
import { aiResponder, irreversible, onceContext, readOnly } from "lull/ai";
import { z } from "zod";
import { offlineModel } from "./model.ts";

const rooms = readOnly(
  tool({
    description: "Free rooms on a day",
    inputSchema: z.object({ date: z.string() }),
    execute: async ({ date }) => ({ date, free: [7, 8] }),
  }),
);

const book = irreversible(
  tool({
    description: "Books a room",
    inputSchema: z.object({ room: z.number(), date: z.string(), wish: z.string() }),
    execute: async ({ room, date }, options) => {
      const { idempotencyKey } = onceContext(options); // the same in every attempt: hand it to your hotel's API
      console.log(`books ${room} on ${date} under ${idempotencyKey}`);
      return { booked: room };
    },
  }),
  { key: ({ room, date }) => `${room}/${date}` }, // what is booked, in whatever words the model wishes for it
);

const model = offlineModel((_prompt, call) => {
  if (call === 1) return { tool: "rooms", input: { date: "24 December" } };
  if (call === 2) return { tool: "book", input: { room: 7, date: "24 December", wish: "by the lake" } };
  return "Room 7 is yours.";
});

const lull = new Lull({
  store: memory(),
  respond: aiResponder({ model, tools: { rooms, book } }),
  deliver: async (part) => console.log("bot:", part.type === "text" ? part.text : part),
  debounce: { quietMs: 300, startMs: 100 },
});
await lull.start();
await lull.receive("ada", { id: "m1", text: "a room by the lake for the 24th of December, please" });
await lull.reply("ada", 1, { timeoutMs: 10_000 });
await lull.stop();
