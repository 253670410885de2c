// A bot of the Chat SDK, as its documentation has it.
import { createServer } from "node:http";
import { createMemoryState } from "@chat-adapter/state-memory";
import { createTelegramAdapter } from "@chat-adapter/telegram";
import { Chat } from "chat";
import { withLull } from "lull/chat-sdk";
import { answer } from "./model.ts";
import { serve } from "./serve.ts";
import { store } from "./store.ts";

const bot = new Chat({
  userName: "shopbot",
  adapters: { telegram: createTelegramAdapter() },
  state: createMemoryState(),
});
await withLull(bot, { store }).start();

bot.onDirectMessage(async (thread, message, _channel, context) => {
  const texts = [...(context?.skipped ?? []), message].map(({ text }) => text);
  await thread.post(await answer(texts, thread.signal));
});

createServer(serve((request) => bot.webhooks.telegram(request))).listen(Number(process.env.PORT ?? 3000));
