/**
 * Telegram's adapter collects the photos of an album in memory for a second, and what it has collected is lost when the
 * process dies. Every photo is stored at once instead; the turn puts them together.
 *
 * @module
 */
import type { AdapterHearing } from "./hearing.ts";
import type { ChatAdapter, HoldsAlbums } from "./shapes.ts";

export function releaseAlbums(adapter: ChatAdapter, take: AdapterHearing["take"]): void {
  const holder = adapter as ChatAdapter & HoldsAlbums;
  const { parseTelegramMessage } = holder;
  if (holder.processIncomingMediaGroup === undefined || parseTelegramMessage === undefined) return;
  holder.processIncomingMediaGroup = (raw, threadId, options) =>
    take(adapter, threadId, parseTelegramMessage.call(adapter, raw, threadId), options);
}
