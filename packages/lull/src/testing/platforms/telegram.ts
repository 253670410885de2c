/**
 * Telegram's Bot API and webhooks, as far as bots that talk need them.
 *
 * @module
 */
import { platforms } from "../../channels/platforms.ts";
import { type DoubleOptions, type PlatformDouble, startDouble, type WebhookPost } from "./double.ts";

export interface TelegramDouble extends PlatformDouble {
  readonly token: string;
  readonly secretToken: string;
  /** A message as an update; the same object posted again is the platform's repetition. */
  message(message: TelegramMessage): () => WebhookPost;
  /** The same message, changed. */
  edited(message: TelegramMessage & { editedAtS: number }): () => WebhookPost;
}

export interface TelegramMessage {
  chat: number;
  id: number;
  text?: string;
  /** Of an album: photos with the same group. `text` is the caption. */
  photo?: string;
  group?: string;
  /** Default: the person of the private chat. */
  from?: number;
  /** A group, not a private chat. */
  inGroup?: boolean;
  /** In a topic of a forum. */
  topic?: number;
  atS?: number;
}

export async function telegramDouble(options: DoubleOptions): Promise<TelegramDouble> {
  const token = "7000000001:test-token";
  const secretToken = "telegram-secret";
  let updates = 0;
  const chatOf = (body: Record<string, unknown>) => String(body["chat_id"]);
  const double = await startDouble(
    {
      platform: platforms.telegram,
      // Message ids count in each chat for itself, together with the person's own.
      newId: (_chat, count) => String(1_000 + count),
      posted: ({ path, body }) =>
        /\/send(?:Message|RichMessage)$/.test(path) ? { chat: chatOf(body), text: textIn(body) } : null,
      shown: ({ body }, { id, text, atMs }) => ({ body: { ok: true, result: messageOf(body, id, text, atMs) } }),
      refused: ({ status, retryAfterS }) => ({
        status,
        body: {
          ok: false,
          error_code: status,
          description: status === 429 ? `Too Many Requests: retry after ${retryAfterS}` : `Error ${status}`,
          ...(retryAfterS !== undefined && { parameters: { retry_after: retryAfterS } }),
        },
      }),
      answer({ path, body }, screen) {
        const of = screen.find(({ chat, id }) => chat === chatOf(body) && id === String(body["message_id"]));
        if (path.endsWith("/editMessageText") && of !== undefined) {
          Object.assign(of, { text: textIn(body), edited: true });
          return { body: { ok: true, result: messageOf(body, of.id, of.text, of.atMs) } };
        }
        if (path.endsWith("/deleteMessage") && of !== undefined) of.deleted = true;
        if (path.endsWith("/getMe"))
          return {
            body: { ok: true, result: { id: 7_000_000_001, is_bot: true, first_name: "Bot", username: "bot" } },
          };
        if (path.endsWith("/getWebhookInfo")) return { body: { ok: true, result: { url: "https://bot.test" } } };
        return { body: { ok: true, result: true } };
      },
    },
    options,
  );

  function update(kind: "message" | "edited_message", message: TelegramMessage, more: object): () => WebhookPost {
    updates += 1;
    const { chat, id, text, photo, group, from = chat, inGroup = false, topic, atS } = message;
    const body = JSON.stringify({
      update_id: 900_000 + updates,
      [kind]: {
        message_id: id,
        date: atS ?? Math.floor(options.clock.now() / 1_000),
        chat: { id: chat, type: inGroup ? "supergroup" : "private", first_name: "Ada" },
        from: { id: from, is_bot: false, first_name: "Ada", username: `user${from}` },
        ...(photo === undefined
          ? { text }
          : { photo: [{ file_id: photo, file_unique_id: photo, width: 90, height: 90, file_size: 9 }], caption: text }),
        ...(group !== undefined && { media_group_id: group }),
        ...(topic !== undefined && { message_thread_id: topic, is_topic_message: true }),
        ...more,
      },
    });
    const headers = { "content-type": "application/json", "x-telegram-bot-api-secret-token": secretToken };
    return () => ({ method: "POST", headers, body });
  }

  return {
    ...double,
    token,
    secretToken,
    message: (message) => update("message", message, {}),
    edited: ({ editedAtS, ...message }) => update("edited_message", message, { edit_date: editedAtS }),
  };
}

function textIn(body: Record<string, unknown>): string {
  const rich = body["rich_message"] as { markdown?: string } | undefined;
  return String(body["text"] ?? rich?.markdown ?? "");
}

function messageOf(body: Record<string, unknown>, id: string, text: string, atMs: number) {
  const chat = { id: Number(body["chat_id"]), type: "private" };
  return { message_id: Number(id), date: Math.floor(atMs / 1_000), chat, text };
}
