/**
 * A message of the Chat SDK as lull keeps it, and back: text and files for everybody, the SDK's own JSON beside them for
 * the handlers.
 *
 * @module
 */
import { platformOf } from "../channels/platforms.ts";
import type { Incoming } from "../intake.ts";
import type { Input, Json, JsonObject, Part } from "../model.ts";
import type { ChatAdapter, ChatAttachment, ChatInside, ChatMessage, ManyWorkspaces } from "./shapes.ts";

/** Under this name in a message's metadata. */
const key = "chat";
/** The platform's own payload is left out of messages that would be larger. */
const mostBytes = 200_000;

/** @throws nothing: what does not fit is left out, the message never. */
export function incomingOf(
  adapter: ChatAdapter,
  channel: string,
  threadId: string,
  message: ChatMessage,
): Incoming & { id: string } {
  const installation = installationOf(adapter, message.raw);
  const parts: Part[] = [
    ...(message.text.trim() === "" ? [] : [{ type: "text", text: message.text } as const]),
    ...message.attachments.map(fileOf),
  ];
  return {
    id: message.id,
    // A sticker, a location: nothing of it is text, and the handler still gets it.
    parts: parts.length > 0 ? parts : [{ type: "data", data: { chat: "message without text" } }],
    author: message.author.userId,
    sentAt: message.metadata.dateSent,
    ...(message.replyTo !== undefined && { replyTo: message.replyTo.id }),
    address: { channel, thread: threadId, ...(installation !== undefined && { installation }) },
    metadata: { [key]: jsonOf(message) },
  };
}

function fileOf({ type, url, name, mimeType, fetchMetadata }: ChatAttachment): Part {
  return {
    type: "file",
    mediaType: mimeType ?? (type === "image" ? "image/*" : type === "video" ? "video/*" : "application/octet-stream"),
    ...(url === undefined ? { ref: { chat: fetchMetadata ?? {} } } : { url }),
    ...(name !== undefined && { filename: name }),
  };
}

function jsonOf(message: ChatMessage): Json {
  const json = message.toJSON() as JsonObject;
  const text = JSON.stringify(json);
  if (text.length <= mostBytes) return JSON.parse(text) as Json;
  return JSON.parse(JSON.stringify({ ...json, raw: null })) as Json;
}

/** Slack's workspace, or organisation where the app is installed for all of it. */
function installationOf(adapter: ChatAdapter, raw: unknown): string | undefined {
  if (typeof (adapter as unknown as ManyWorkspaces).withBotToken !== "function") return undefined;
  const { team_id, team, enterprise_id, is_enterprise_install } = Object(raw) as Record<string, unknown>;
  const id = is_enterprise_install === true ? enterprise_id : (team_id ?? team);
  return typeof id === "string" ? id : undefined;
}

/** The turn's messages as handlers know them, oldest first; the photos of one album are one message. */
export function messagesOf(chat: ChatInside, adapter: ChatAdapter, inputs: readonly Input[]): ChatMessage[] {
  const messages: ChatMessage[] = [];
  let before: string | undefined;
  for (const input of inputs) {
    const json = input.metadata?.[key];
    if (typeof json !== "object" || json === null) continue;
    const message = chat.rehydrateMessage(json, adapter);
    const album = albumOf(message.raw);
    const last = messages.at(-1);
    if (album !== undefined && album === before && last !== undefined)
      messages[messages.length - 1] = together(last, message);
    else messages.push(message);
    before = album;
  }
  return messages;
}

/** Telegram's mark of photos sent together; other platforms send one message, or no mark. */
export function albumOf(raw: unknown): string | undefined {
  const { media_group_id } = Object(raw) as Record<string, unknown>;
  return typeof media_group_id === "string" ? media_group_id : undefined;
}

/** As the Telegram adapter joins them: the newest message with all files, and the caption wherever it stands. */
function together(older: ChatMessage, newer: ChatMessage): ChatMessage {
  const captioned = newer.text === "" ? older : newer;
  return Object.assign(newer, {
    text: captioned.text,
    formatted: (captioned as unknown as { formatted: unknown }).formatted,
    attachments: [...older.attachments, ...newer.attachments],
    links: [...older.links, ...newer.links],
    isMention: older.isMention || newer.isMention,
    replyTo: older.replyTo ?? newer.replyTo,
  });
}

/** The longest text the adapter's platform takes. */
export function textLimitOf(adapter: ChatAdapter): number {
  return platformOf(adapter.name)?.textLimit ?? Number.POSITIVE_INFINITY;
}
