/**
 * What lull uses of the Chat SDK (npm `chat`, 4.41), as shapes: `lull` has no dependency, and a contract test holds
 * these against the package.
 *
 * @module
 */
import type { Json } from "../model.ts";

export interface ChatAuthor {
  userId: string;
  userName: string;
  fullName: string;
  isBot: boolean | "unknown";
  isMe: boolean;
}

export interface ChatAttachment {
  type: string;
  url?: string | undefined;
  name?: string | undefined;
  mimeType?: string | undefined;
  fetchMetadata?: Record<string, string> | undefined;
}

export interface ChatMessage {
  id: string;
  threadId: string;
  text: string;
  raw: unknown;
  author: ChatAuthor;
  metadata: { dateSent: Date; edited: boolean; editedAt?: Date | undefined };
  attachments: ChatAttachment[];
  links: unknown[];
  replyTo?: ChatMessage | undefined;
  isMention?: boolean | undefined;
  toJSON(): unknown;
}

export interface ChatThread {
  id: string;
  channelId: string;
  isDM: boolean;
  signal: AbortSignal;
  post(message: unknown): Promise<unknown>;
}

/** What an adapter says of a message it posted. */
export interface PostedMessage {
  id: string;
  threadId?: string;
}

export interface ChatAdapter {
  readonly name: string;
  readonly userName?: string | undefined;
  initialize(chat: never): Promise<unknown>;
  handleWebhook(request: Request, options?: WebhookOptions): Promise<Response>;
  postMessage(threadId: string, message: never): Promise<PostedMessage>;
  editMessage?(threadId: string, messageId: string, message: never): Promise<unknown>;
  deleteMessage?(threadId: string, messageId: string): Promise<unknown>;
  channelIdFromThreadId(threadId: string): string;
  isDM?(threadId: string): boolean;
  startTyping?(threadId: string, status?: string): Promise<void>;
}

/** Slack in several workspaces: whose token a call uses is a matter of context. */
export interface ManyWorkspaces {
  getInstallation?(id: string): Promise<{ botToken: string } | null>;
  withBotToken?<T>(token: string, call: () => T, options?: { installationId?: string }): T;
}

/** What Telegram's adapter does with a photo of an album: it waits for the next ones in memory. */
export interface HoldsAlbums {
  processIncomingMediaGroup?(message: unknown, threadId: string, options?: WebhookOptions): Promise<void>;
  parseTelegramMessage?(message: unknown, threadId: string): ChatMessage;
}

/** What Discord's adapter does with what its gateway says. */
export interface ForwardsGateway {
  handleForwardedGatewayEvent?(event: GatewayEvent, options?: WebhookOptions): Promise<Response>;
  handleForwardedMessage?(data: object, options?: WebhookOptions): Promise<void>;
  encodeThreadId?(place: { guildId: string; channelId: string; threadId?: string }): string;
  discordFetch?(path: string, method: string): Promise<Response>;
}

export interface GatewayEvent {
  type: string;
  data: unknown;
}

export interface WebhookOptions {
  waitUntil?: (task: Promise<unknown>) => void;
  propagateHandlerErrors?: boolean;
  deduplicate?: boolean;
  [more: string]: unknown;
}

export interface StateAdapter {
  get(key: string): Promise<unknown>;
  setIfNotExists(key: string, value: unknown, ttlMs?: number): Promise<boolean>;
  isSubscribed(threadId: string): Promise<boolean>;
}

export interface MessageUpdate {
  adapter: ChatAdapter;
  threadId: string;
  message: ChatMessage | (() => Promise<ChatMessage>);
  previousMessage?: ChatMessage | (() => Promise<ChatMessage>) | undefined;
}

export interface MessageDeletion {
  adapter: ChatAdapter;
  threadId: string;
  messageId: string;
  previousMessage?: ChatMessage | undefined;
}

/** Earlier messages of the same turn, oldest first, as the Chat SDK's own strategies hand them over. */
export interface MessageContext {
  skipped: ChatMessage[];
  totalSinceLastHandler: number;
}

/** The public half of a `Chat` that lull replaces or calls. */
export interface ChatLike {
  readonly webhooks: Record<string, unknown>;
  getAdapter(name: never): unknown;
  initialize(): Promise<void>;
  shutdown(): Promise<void>;
}

/**
 * The inside of a `Chat` that lull replaces or calls. Private there, so it may change with any release: `withLull`
 * refuses a `Chat` that lacks any of it, and the contract test runs against the installed release.
 */
export interface ChatInside {
  initialized: boolean;
  adapters: Map<string, ChatAdapter>;
  directMessageHandlers: unknown[];
  mentionHandlers: unknown[];
  subscribedMessageHandlers: unknown[];
  messagePatterns: { pattern: RegExp }[];
  getState(): StateAdapter;
  initialize(): Promise<void>;
  shutdown(): Promise<void>;
  handleWebhook(name: string, request: Request, options?: WebhookOptions): Promise<Response>;
  processMessage(
    adapter: ChatAdapter,
    threadId: string,
    message: ChatMessage | (() => Promise<ChatMessage>),
    options?: WebhookOptions,
  ): Promise<void>;
  handleIncomingMessage(adapter: ChatAdapter, threadId: string, message: ChatMessage): Promise<void>;
  processMessageUpdated(event: MessageUpdate, options?: WebhookOptions): Promise<void>;
  processMessageDeleted(event: MessageDeletion, options?: WebhookOptions): Promise<void>;
  createThread(
    adapter: ChatAdapter,
    threadId: string,
    message?: ChatMessage,
    subscribed?: boolean,
    signal?: AbortSignal,
  ): ChatThread;
  dispatchToHandlersWithSignal(
    adapter: ChatAdapter,
    threadId: string,
    message: ChatMessage,
    signal: AbortSignal,
    context?: MessageContext,
  ): Promise<void>;
  rehydrateMessage(json: unknown, adapter: ChatAdapter): ChatMessage;
  detectMention(adapter: ChatAdapter, message: ChatMessage): boolean;
}

/** Where a reply goes: found in the record by every process. */
export type ChatAddress = {
  channel: string;
  thread: string;
  /** Slack: the workspace, or the organisation, whose token is used. */
  installation?: string;
};

export function addressOf(address: Json): ChatAddress | null {
  const { channel, thread, installation } = Object(address) as Record<string, unknown>;
  if (typeof channel !== "string" || typeof thread !== "string") return null;
  return { channel, thread, ...(typeof installation === "string" && { installation }) };
}
