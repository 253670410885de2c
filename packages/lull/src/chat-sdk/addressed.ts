/**
 * Which messages are the bot's business: those for which the Chat SDK would call a handler. Whatever else is said in a
 * group neither opens a turn nor discards one.
 *
 * @module
 */
import type { ChatAdapter, ChatInside, ChatMessage } from "./shapes.ts";

/** A handler would be called for this message. */
export async function isAddressed(
  chat: ChatInside,
  adapter: ChatAdapter,
  threadId: string,
  message: ChatMessage,
): Promise<boolean> {
  const isDM = adapter.isDM?.(threadId) ?? false;
  if (isDM && chat.directMessageHandlers.length > 0) return true;
  const mentioned = isDM || (message.isMention ?? chat.detectMention(adapter, message));
  if (mentioned && chat.mentionHandlers.length > 0) return true;
  if (chat.subscribedMessageHandlers.length > 0 && (await chat.getState().isSubscribed(threadId))) return true;
  return chat.messagePatterns.some(({ pattern }) => {
    pattern.lastIndex = 0;
    return pattern.test(message.text);
  });
}
