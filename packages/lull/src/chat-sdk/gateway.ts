/**
 * Discord tells of edits and deletions over its gateway only. The adapter's listener forwards everything the gateway says
 * to the webhook, and the webhook takes in new messages and reactions: what was changed or deleted is taken in here.
 *
 * @module
 */
import type { ChatAdapter, ChatInside, ChatMessage, ForwardsGateway, GatewayEvent } from "./shapes.ts";

type Takes = Pick<ChatInside, "processMessageUpdated" | "processMessageDeleted">;
type Fields = Readonly<Record<string, unknown>>;

/** Threads of a channel, as Discord numbers types of channels. */
const threadTypes: readonly unknown[] = [10, 11, 12];

/** Whatever cannot be stored is known to the webhook that it came with, and answered 503 there. */
const ignore = () => {};

export function hearGateway(adapter: ChatAdapter, takes: Takes): void {
  const forwarder = adapter as ChatAdapter & ForwardsGateway;
  const { handleForwardedGatewayEvent: original, handleForwardedMessage, encodeThreadId, discordFetch } = forwarder;
  if (original === undefined || handleForwardedMessage === undefined || encodeThreadId === undefined) return;

  /** Parsed by the adapter like a new message, in the thread that it went to when it was new. */
  async function edited(data: Fields): Promise<void> {
    const { edited_timestamp: at } = data;
    // A preview was added, a poll was counted: nobody edited anything.
    if (typeof at !== "string" || data["author"] === undefined || data["content"] === undefined) return;
    const handleIncomingMessage = (_: ChatAdapter, threadId: string, message: ChatMessage) => {
      const metadata = { ...message.metadata, edited: true, editedAt: new Date(at) };
      const changed = Object.assign(message, { metadata });
      return takes.processMessageUpdated({ adapter, threadId, message: changed }).catch(ignore);
    };
    const ears = Object.create(adapter, {
      chat: { value: { handleIncomingMessage } },
      // A mention was given a thread when it came, whose id is the message's.
      createDiscordThread: { value: async (_channel: string, id: string) => ({ id }) },
    });
    await handleForwardedMessage?.call(ears, { mentions: [], attachments: [], ...data });
  }

  /** Who had written it is not said, nor whether a mention was given a thread. */
  async function deleted(id: string, { channel_id, guild_id }: Fields): Promise<void> {
    const channelId = String(channel_id);
    const parent = guild_id === undefined ? null : await parentOf(channelId);
    const places =
      guild_id === undefined
        ? [{ guildId: "@me", channelId }]
        : parent !== null
          ? [{ guildId: String(guild_id), channelId: parent, threadId: channelId }]
          : [{ threadId: id }, {}].map((thread) => ({ guildId: String(guild_id), channelId, ...thread }));
    for (const place of places) {
      const threadId = encodeThreadId?.call(adapter, place) ?? "";
      await takes.processMessageDeleted({ adapter, threadId, messageId: id }).catch(ignore);
    }
  }

  /** The channel a thread belongs to; null for what is no thread. */
  async function parentOf(channel: string): Promise<string | null> {
    try {
      const response = await discordFetch?.call(adapter, `/channels/${channel}`, "GET");
      const { type, parent_id } = Object(await response?.json()) as Fields;
      return threadTypes.includes(type) && typeof parent_id === "string" ? parent_id : null;
    } catch {
      // It may be a thread that is gone: what was written there cannot be found then.
      return null;
    }
  }

  forwarder.handleForwardedGatewayEvent = async (event: GatewayEvent, options) => {
    const response = await original.call(adapter, event, options);
    const data = Object(event.data) as Fields;
    if (event.type === "GATEWAY_MESSAGE_UPDATE") await edited(data);
    if (event.type === "GATEWAY_MESSAGE_DELETE") await deleted(String(data["id"]), data);
    if (event.type === "GATEWAY_MESSAGE_DELETE_BULK" && Array.isArray(data["ids"]))
      for (const id of data["ids"]) await deleted(String(id), data);
    return response;
  };
}
