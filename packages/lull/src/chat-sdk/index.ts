/**
 * lull under an existing bot of the Chat SDK (npm `chat`): its handlers stay as they are and answer whole turns, once,
 * with the newest input, through crashes and redeliveries.
 *
 * @example
 * import { withLull } from "lull/chat-sdk";
 * const lull = withLull(bot, { store: sqlite(database) });
 * await lull.start();
 *
 * @module
 */
import { hear } from "../channels/hear.ts";
import { systemClock } from "../clock.ts";
import { LullError } from "../errors.ts";
import { Lull } from "../lull.ts";
import type { LullOptions } from "../options.ts";
import type { Turn } from "../turn.ts";
import { isAddressed } from "./addressed.ts";
import { adapterChannel, inWorkspace } from "./channel.ts";
import { withoutClaims } from "./gate.ts";
import { albumOf, incomingOf, messagesOf, textLimitOf } from "./incoming.ts";
import {
  addressOf,
  type ChatAdapter,
  type ChatInside,
  type ChatLike,
  type ChatMessage,
  type HoldsAlbums,
  type MessageDeletion,
  type MessageUpdate,
  type PostedMessage,
  type WebhookOptions,
} from "./shapes.ts";
import { speaking } from "./voice.ts";
import { trackWrites } from "./writes.ts";

export { type AdapterChannelOptions, adapterChannel } from "./channel.ts";
export type { ChatAddress, ChatLike } from "./shapes.ts";

/** Who wrote what where: enough to say which conversation a message belongs to. */
export interface ConversationHint {
  /** The adapter's name. */
  channel: string;
  /** The Chat SDK's id of the thread. */
  thread: string;
  author: string;
  isDM: boolean;
}

export interface WithLullOptions extends Omit<LullOptions, "respond" | "deliver" | "channels"> {
  /**
   * What makes a conversation. `author` (default): a direct chat, or one person in a thread of a group, so that people do
   * not interrupt each other. `thread`: everybody in a thread. Or a function: also the place to map two ids of one person
   * to one conversation.
   */
  scope?: "author" | "thread" | ((hint: ConversationHint) => string);
  /** What is done with a part that may have been delivered; the adapters have no idempotency keys. Default "at-least-once". */
  whenInDoubt?: "at-least-once" | "at-most-once";
}

/** Between the thread and the author in a conversation's id; no platform has it in an id. */
const by = " by ";

const insides = [
  "adapters",
  "directMessageHandlers",
  "mentionHandlers",
  "subscribedMessageHandlers",
  "messagePatterns",
  "getState",
  "initialize",
  "shutdown",
  "handleWebhook",
  "processMessage",
  "handleIncomingMessage",
  "processMessageUpdated",
  "processMessageDeleted",
  "dispatchToHandlersWithSignal",
  "rehydrateMessage",
  "detectMention",
] as const satisfies (keyof ChatInside)[];

/** Events that are no messages: their handlers run at once, and no webhook waits for them. */
const passedOn = [
  "processReaction",
  "processAction",
  "processSlashCommand",
  "processModalClose",
  "processAssistantThreadStarted",
  "processAssistantContextChanged",
  "processAppHomeOpened",
  "processAppContextChanged",
  "processAgentSessionStopped",
  "processAgentSessionTitleChanged",
  "processInstalled",
  "processUninstalled",
  "processMemberJoinedChannel",
] as const;

/**
 * Puts lull between the adapters and the handlers of a `Chat`. Call it before the first webhook, in every process, with
 * the same store.
 *
 * - A handler gets the newest message of the turn, and the earlier ones in `context.skipped`. It is called again, with
 *   everything, when newer input came before it posted.
 * - `thread.post()` waits until the person has been quiet, and resolves when the message was sent. It rejects when
 *   newer input came first: let that error through. From the first post on the turn is finished as it is.
 * - `thread.signal` aborts when the answer is no longer wanted.
 * - Webhooks are answered 2xx when the message is stored, and 503 when it could not be: the platform delivers it again.
 * - The Chat SDK's own `concurrency`, locks and de-duplication are not used.
 *
 * @returns the engine: `start()` it where turns are to be answered; `bot.shutdown()` stops it
 * @throws LullError `invalid-options` for a `Chat` that was used already, or that is not of a known release
 */
export function withLull(bot: ChatLike, options: WithLullOptions): Lull {
  const chat = bot as unknown as ChatInside & Record<string, unknown>;
  const lacks = insides.filter((name) => chat[name] === undefined);
  if (lacks.length > 0)
    throw new LullError(
      "invalid-options",
      `This Chat lacks ${lacks.join(", ")}: lull/chat-sdk fits npm chat >=4.41 <4.42. Install one of these.`,
    );
  if (chat.initialized)
    throw new LullError("invalid-options", "withLull must be called before the Chat is initialized or gets a webhook.");

  const momentary = [...chat.adapters.values()].filter(({ name }) => name === "web");
  if (momentary.length > 0)
    throw new LullError(
      "invalid-options",
      "The web adapter can post only while its request is open, and a turn is answered later: serve the web by lull's own HTTP instead (docs/chat-sdk.md).",
    );

  const { scope = "author", whenInDoubt, ...rest } = options;
  const clock = options.clock ?? systemClock();
  const writes = trackWrites((ms, signal) => clock.sleep(ms, signal));
  /** What the running turn of a conversation posted last. */
  const posted = new Map<string, PostedMessage | null>();
  const initialize = chat.initialize.bind(chat);

  const channels = [...chat.adapters].map(([name, adapter]) => ({
    ...adapterChannel(adapter, {
      ...(whenInDoubt !== undefined && { whenInDoubt }),
      ready: initialize,
      onPosted: ({ conversation }, message) => void posted.set(conversation, message),
    }),
    name,
  }));
  const lull = new Lull({
    ...rest,
    // The Chat SDK's JSON of a message travels in its metadata.
    limits: { maxAddressBytes: 262_144, ...rest.limits },
    channels,
    respond,
  });

  function nameOf(adapter: ChatAdapter): string {
    return [...chat.adapters].find(([, other]) => other === adapter)?.[0] ?? adapter.name;
  }

  function conversationOf(adapter: ChatAdapter, thread: string, author: string): string {
    const isDM = adapter.isDM?.(thread) ?? false;
    if (typeof scope === "function") return scope({ channel: nameOf(adapter), thread, author, isDM });
    return isDM || scope === "thread" ? thread : `${thread}${by}${author}`;
  }

  // --- answering

  async function respond(turn: Turn): Promise<null> {
    await initialize();
    const to = addressOf(turn.address);
    const adapter = to === null ? undefined : chat.adapters.get(to.channel);
    if (to === null || adapter === undefined)
      throw new LullError("invalid-options", "The turn came from an adapter that this Chat does not have.", {
        details: { conversation: turn.conversation, channel: to?.channel ?? null },
      });
    const messages = messagesOf(chat, adapter, turn.messages);
    const newest = messages.pop();
    // Everything was handed in past the adapters, by receive().
    if (newest === undefined) return null;
    let spoke = false;
    const voice = speaking(adapter, to.thread, turn, textLimitOf(adapter), () => {
      spoke = true;
      const last = posted.get(turn.conversation) ?? null;
      posted.set(turn.conversation, null);
      return last;
    });
    const context = { skipped: messages, totalSinceLastHandler: messages.length + 1 };
    // A burst is addressed to the bot as soon as one of its messages is.
    if (messages.some(({ isMention }) => isMention)) newest.isMention = true;
    posted.set(turn.conversation, null);
    try {
      await inWorkspace(adapter, turn.address, () =>
        chat.dispatchToHandlersWithSignal(voice, to.thread, newest, turn.signal, context),
      );
    } finally {
      posted.delete(turn.conversation);
    }
    // What was said is the answer; undefined closes it.
    return (spoke ? undefined : null) as null;
  }

  // --- hearing

  async function receive(adapter: ChatAdapter, threadId: string, message: ChatMessage): Promise<void> {
    if (message.author.isMe) return;
    const conversation = conversationOf(adapter, threadId, message.author.userId);
    // So that whoever reads it later, in any process, need not find out again.
    message.isMention ??= chat.detectMention(adapter, message);
    if (!(await isAddressed(chat, adapter, threadId, message)) && !(await isWaiting(conversation))) return;
    const incoming = { ...incomingOf(adapter, threadId, message) };
    incoming.address = { ...Object(incoming.address), channel: nameOf(adapter) };
    const { address: _, replyTo: __, ...change } = incoming;
    const album = albumOf(message.raw);
    const heard = await hear(
      lull,
      conversation,
      message.metadata.edited
        ? { type: "edit", id: message.id, change: { ...change, id: editId(message) }, from: "user" }
        : { type: "message", message: incoming, from: "user", ...(album !== undefined && { album }) },
    );
    if (heard.status === "rejected") throw new LullError("full", "The conversation cannot take more messages now.");
  }

  /** What follows a mention while it waits for its answer belongs to it: "@bot hi", "my order is late", "#1234". */
  async function isWaiting(conversation: string): Promise<boolean> {
    const { record } = await lull.store.load(conversation);
    return record !== null && record.version > record.answered;
  }

  async function knows(conversation: string, id: string): Promise<boolean> {
    const entries = await lull.log(conversation, { before: Number.MAX_SAFE_INTEGER, limit: 1_000 });
    return entries.some((entry) => entry.kind === "message" && entry.id === id);
  }

  async function update({ adapter, threadId }: MessageUpdate, message: ChatMessage): Promise<void> {
    if (message.author.isMe) return;
    const conversation = conversationOf(adapter, threadId, message.author.userId);
    const edited = Object.assign(message, { metadata: { ...message.metadata, edited: true } });
    if ((await knows(conversation, message.id)) || (await isAddressed(chat, adapter, threadId, message)))
      await receive(adapter, threadId, edited);
  }

  async function remove({ adapter, threadId, messageId, previousMessage }: MessageDeletion): Promise<void> {
    if (previousMessage?.author.isMe) return;
    const author = previousMessage?.author.userId;
    const isDM = adapter.isDM?.(threadId) ?? false;
    const certain = author !== undefined || isDM || scope === "thread";
    const candidates = certain
      ? [conversationOf(adapter, threadId, author ?? "")]
      : // Deletions may not say who had written: whoever is known in that thread may have.
        (await lull.list({ limit: 1_000 }, { prefix: `${threadId}${by}` })).conversations.map(({ id }) => id);
    for (const conversation of candidates)
      if (await knows(conversation, messageId)) await lull.retract(conversation, messageId);
  }

  /** Stores; where nobody would deliver it again (a socket, a gateway), tries for a while itself. */
  async function store(write: () => Promise<void>): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await write();
      } catch (error) {
        const temporary = LullError.isInstance(error) && error.retryable;
        if (!temporary || writes.repeatable || tries === 6) throw error;
        await clock.sleep(250 * 2 ** tries);
      }
    }
  }

  function take(
    adapter: ChatAdapter,
    threadId: string,
    given: ChatMessage | (() => Promise<ChatMessage>),
    options?: WebhookOptions,
  ): Promise<void> {
    const task = writes.note(
      (async () => {
        const message = typeof given === "function" ? await given() : given;
        await store(() => receive(adapter, threadId, message));
      })(),
    );
    task.catch((error: unknown) => warn(error, threadId));
    options?.waitUntil?.(task);
    return task;
  }

  function warn(error: unknown, thread: string): void {
    const fields = { thread, error: error instanceof Error ? error.message : String(error) };
    options.logger?.warn(fields, "a message could not be stored; the platform is told to deliver it again");
  }

  // --- the Chat's own methods

  const original = {
    getState: chat.getState.bind(chat),
    handleWebhook: chat.handleWebhook.bind(chat),
    shutdown: chat.shutdown.bind(chat),
    processMessageUpdated: chat.processMessageUpdated.bind(chat),
    processMessageDeleted: chat.processMessageDeleted.bind(chat),
  };
  const state = withoutClaims(original.getState());

  Object.assign(chat, {
    getState: () => state,
    processMessage: take,
    handleIncomingMessage: (adapter: ChatAdapter, threadId: string, message: ChatMessage) =>
      take(adapter, threadId, message),
    handleWebhook: (name: string, request: Request, given?: WebhookOptions) =>
      writes.guard(
        given,
        (ours) => original.handleWebhook(name, request, ours),
        (error) => warn(error, name),
      ),
    processMessageUpdated(event: MessageUpdate, given?: WebhookOptions) {
      const own = writes.unguarded(given);
      return writes.note(
        (async () => {
          const message = typeof event.message === "function" ? await event.message() : event.message;
          await store(() => update(event, message));
          // Its handlers are the bot's own affair: neither the webhook nor the turn waits for them.
          void original.processMessageUpdated({ ...event, message }, own).catch(() => {});
        })(),
      );
    },
    processMessageDeleted(event: MessageDeletion, given?: WebhookOptions) {
      const own = writes.unguarded(given);
      return writes.note(
        (async () => {
          await store(() => remove(event));
          void original.processMessageDeleted(event, own).catch(() => {});
        })(),
      );
    },
    async shutdown() {
      await lull.stop();
      await original.shutdown();
    },
  });
  for (const name of passedOn) {
    const method = chat[name];
    if (typeof method !== "function") continue;
    chat[name] = (...given: unknown[]) =>
      method.apply(
        chat,
        given.map((one) => (typeof one === "object" && one !== null ? (writes.unguarded(one as never) ?? {}) : one)),
      );
  }
  for (const adapter of chat.adapters.values()) releaseAlbums(adapter, take);
  return lull;
}

/** An edit's own id: the same edit delivered twice is one, two edits are two. */
function editId(message: ChatMessage): string {
  const { editedAt } = message.metadata;
  return editedAt === undefined ? `${message.id} ${message.text.length}` : `${message.id} ${editedAt.getTime()}`;
}

/**
 * Telegram's adapter collects the photos of an album in memory for a second, and what it has collected is lost when the
 * process dies. Every photo is stored at once instead; the turn puts them together.
 */
function releaseAlbums(
  adapter: ChatAdapter,
  take: (adapter: ChatAdapter, threadId: string, message: ChatMessage, options?: WebhookOptions) => Promise<void>,
): void {
  const holder = adapter as ChatAdapter & HoldsAlbums;
  const { parseTelegramMessage } = holder;
  if (holder.processIncomingMediaGroup === undefined || parseTelegramMessage === undefined) return;
  holder.processIncomingMediaGroup = (raw, threadId, options) =>
    take(adapter, threadId, parseTelegramMessage.call(adapter, raw, threadId), options);
}
