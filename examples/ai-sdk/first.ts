import { Lull, memory } from "lull";
import { aiResponder } from "lull/ai";
import { model } from "./model.ts";

const lull = new Lull({
  store: memory(),
  respond: aiResponder({ model, system: "You answer for a parcel service." }),
  deliver: async (part) => console.log("bot:", part.type === "text" ? part.text : part),
  debounce: { quietMs: 300, startMs: 100 },
});
await lull.start();
await lull.receive("ada", { id: "m1", text: "hi" });
await lull.receive("ada", { id: "m2", text: "my order is late" });
await lull.receive("ada", { id: "m3", text: "#1234" });
await lull.reply("ada", 3, { timeoutMs: 10_000 });
await lull.stop();
