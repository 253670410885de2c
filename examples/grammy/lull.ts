// grammY with lull: what the bot hears goes to lull, and lull's replies go out through the bot's API.
import type { Bot, Context } from "grammy";
import { type Channel, Lull, type LullOptions } from "lull";
import { fitting, hear, platforms, sendText } from "lull/channels";

/** Where a reply goes. */
type Address = { channel: "telegram"; chat: number; topic?: number };

export function telegramChannel({ api }: Bot): Channel {
  return {
    name: "telegram",
    // Telegram takes no key: a part in doubt is sent again, unless `whenInDoubt` says otherwise.
    idempotent: false,
    deliver: (part, { address, signal }) =>
      sendText(part, async (text) => {
        const { chat, topic } = address as Address;
        const sent = await api.sendMessage(chat, text, topic ? { message_thread_id: topic } : {}, signal as never);
        return String(sent.message_id);
      }),
    async typing(on, { address }) {
      if (on) await api.sendChatAction((address as Address).chat, "typing");
    },
  };
}

/** Call it before `bot.start()`, or before the bot's webhook is served. In groups it listens to what mentions the bot. */
export function lullFor(bot: Bot, options: LullOptions & Required<Pick<LullOptions, "respond">>): Lull {
  const respond = fitting(options.respond, () => platforms.telegram.textLimit);
  const lull = new Lull({ ...options, respond, channels: [telegramChannel(bot)] });
  bot.on(["message", "edited_message"], async ({ msg, me, editedMessage }) => {
    const parts = partsOf(msg);
    // Somebody joined, or a message was pinned.
    if (parts.length === 0) return;
    const id = String(msg.message_id);
    const topic = msg.is_topic_message ? msg.message_thread_id : undefined;
    const direct = msg.chat.type === "private";
    const said = { parts, author: String(msg.from?.id ?? msg.chat.id), sentAt: msg.date * 1_000 };
    const conversation = ["telegram", msg.chat.id, topic, direct ? undefined : said.author].filter(Boolean).join(":");
    if (editedMessage !== undefined) {
      const change = { ...said, id: `${id} ${editedMessage.edit_date}` };
      await hear(lull, conversation, { type: "edit", id, change, from: "user" });
      return;
    }
    const address: Address = { channel: "telegram", chat: msg.chat.id, ...(topic !== undefined && { topic }) };
    const addressed = direct || `${msg.text ?? msg.caption}`.includes(`@${me.username}`);
    const message = { ...said, id, address };
    await hear(lull, conversation, { type: "message", message, from: "user", addressed, album: msg.media_group_id });
  });
  return lull;
}

function partsOf({ text, caption = text, photo, document, voice }: NonNullable<Context["msg"]>) {
  const file = photo?.at(-1) ?? document ?? voice;
  const mediaType = photo ? "image/jpeg" : ((document ?? voice)?.mime_type ?? "application/octet-stream");
  const files = file === undefined ? [] : [{ type: "file" as const, mediaType, ref: file.file_id }];
  return [...(caption === undefined ? [] : [caption]), ...files];
}
