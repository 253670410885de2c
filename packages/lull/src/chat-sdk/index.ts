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
import { systemClock } from "../clock.ts";
import { LullError } from "../errors.ts";
import { Lull } from "../lull.ts";
import type { LullOptions } from "../options.ts";
import type { Turn } from "../turn.ts";
import { isAddressed } from "./addressed.ts";
import { releaseAlbums } from "./albums.ts";
import { adapterChannel, inWorkspace } from "./channel.ts";
import { withoutClaims } from "./gate.ts";
import { hearGateway } from "./gateway.ts";
import { adapterHearing, type Scope } from "./hearing.ts";
import { messagesOf, textLimitOf } from "./incoming.ts";
import {
  addressOf,
  type ChatAdapter,
  type ChatInside,
  type ChatLike,
  type ChatMessage,
  type MessageDeletion,
  type MessageUpdate,
  type PostedMessage,
  type WebhookOptions,
} from "./shapes.ts";
import { speaking } from "./voice.ts";
import { trackWrites } from "./writes.ts";

export { type AdapterChannelOptions, adapterChannel } from "./channel.ts";
export type { ConversationHint, Scope } from "./hearing.ts";
export { type AdapterHost, type ChatAdapterLike, type HostOptions, hostAdapters } from "./host.ts";
export { addressOf, type ChatAddress, type ChatLike } from "./shapes.ts";

export interface WithLullOptions extends Omit<LullOptions, "respond" | "deliver" | "channels"> {
  /** What makes a conversation. Default "author". */
  scope?: Scope;
  /** What is done with a part that may have been delivered; the adapters have no idempotency keys. Default "at-least-once". */
  whenInDoubt?: "at-least-once" | "at-most-once";
}

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

  const hearing = adapterHearing({
    lull: () => lull,
    nameOf: (adapter) => [...chat.adapters].find(([, other]) => other === adapter)?.[0] ?? adapter.name,
    scope,
    isAddressed: (adapter, threadId, message) => isAddressed(chat, adapter, threadId, message),
    isMention: (adapter, message) => chat.detectMention(adapter, message),
    writes,
    clock,
    logger: options.logger ?? { warn() {} },
  });

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
    processMessage: hearing.take,
    handleIncomingMessage: (adapter: ChatAdapter, threadId: string, message: ChatMessage) =>
      hearing.take(adapter, threadId, message),
    handleWebhook: (name: string, request: Request, given?: WebhookOptions) =>
      writes.guard(
        given,
        (ours) => original.handleWebhook(name, request, ours),
        (error) => hearing.warn(error, name),
      ),
    async processMessageUpdated(event: MessageUpdate, given?: WebhookOptions) {
      const message = await hearing.update(event);
      // Its handlers are the bot's own affair: neither the webhook nor the turn waits for them.
      void original.processMessageUpdated({ ...event, message }, writes.unguarded(given)).catch(() => {});
    },
    async processMessageDeleted(event: MessageDeletion, given?: WebhookOptions) {
      await hearing.remove(event);
      void original.processMessageDeleted(event, writes.unguarded(given)).catch(() => {});
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
  for (const adapter of chat.adapters.values()) {
    releaseAlbums(adapter, hearing.take);
    hearGateway(adapter, chat);
  }
  return lull;
}
