/**
 * Adapters of the Chat SDK without a `Chat`: what a server needs that answers by itself. Messages, edits and deletions go
 * to lull; whatever else the platform tells is left alone.
 *
 * @module
 */
import { systemClock } from "../clock.ts";
import type { Lull } from "../lull.ts";
import type { Logger } from "../options.ts";
import type { Channel, Clock } from "../ports.ts";
import { releaseAlbums } from "./albums.ts";
import { type AdapterChannelOptions, adapterChannel } from "./channel.ts";
import { withoutClaims } from "./gate.ts";
import { hearGateway } from "./gateway.ts";
import { adapterHearing, type Scope } from "./hearing.ts";
import type {
  ChatAdapter,
  ChatMessage,
  MessageDeletion,
  MessageUpdate,
  StateAdapter,
  WebhookOptions,
} from "./shapes.ts";
import { trackWrites } from "./writes.ts";

export interface HostOptions extends Pick<AdapterChannelOptions, "whenInDoubt" | "typing"> {
  /** By the name that addresses and webhooks use. */
  adapters: Record<string, ChatAdapterLike>;
  /** For the adapters' own caches and installations. */
  state: unknown;
  /** The engine of the moment. */
  lull(): Lull;
  /** Default "author". */
  scope?: Scope;
  /** How people mention the bot, where the adapter does not know. Default "bot". */
  userName?: string;
  logger?: Logger;
  clock?: Clock;
}

/** An adapter of any release, as its package types it. */
export interface ChatAdapterLike {
  readonly name: string;
  handleWebhook(request: Request, options?: never): Promise<Response>;
}

export interface AdapterHost {
  /** One for each adapter, by its name. */
  channels: Channel[];
  /** Handles a webhook; 2xx when what it brought is stored, 503 when not, 404 for a name that is not there. */
  webhook(name: string, request: Request): Promise<Response>;
  /** Connects; called by itself before the first webhook and the first post. */
  initialize(): Promise<void>;
  /** Disconnects the adapters. */
  close(): Promise<void>;
}

const ignore = () => {};

export function hostAdapters(options: HostOptions): AdapterHost {
  const { scope = "author", userName = "bot", logger, whenInDoubt, typing } = options;
  const adapters = new Map(Object.entries(options.adapters as unknown as Record<string, ChatAdapter>));
  const clock = options.clock ?? systemClock();
  const writes = trackWrites((ms, signal) => clock.sleep(ms, signal));
  const plain = options.state as StateAdapter & { connect(): Promise<void>; disconnect(): Promise<void> };
  const state = withoutClaims(plain);
  const hearing = adapterHearing({
    lull: options.lull,
    nameOf: (adapter) => [...adapters].find(([, other]) => other === adapter)?.[0] ?? adapter.name,
    scope,
    clock,
    writes,
    logger: logger ?? { warn: ignore },
    isMention: (adapter, message) => mentions(message.text, adapter, userName),
    async isAddressed(adapter, threadId, message, conversation) {
      if ((adapter.isDM?.(threadId) ?? false) || message.isMention === true) return true;
      // In a thread of its own that it was called into, the bot goes on listening to whoever called it.
      if (adapter.channelIdFromThreadId(threadId) === threadId) return false;
      return (await options.lull().store.load(conversation)).record !== null;
    },
  });

  /** What adapters call; see `ChatInstance` of npm `chat`. */
  const instance = {
    getState: () => state,
    getUserName: () => userName,
    getLogger: () => adapterLogger(logger),
    ownsAdapter: (adapter: ChatAdapter) => [...adapters.values()].includes(adapter),
    getStreamingOptions: () => ({}),
    processMessage: hearing.take,
    handleIncomingMessage: (adapter: ChatAdapter, threadId: string, message: ChatMessage) =>
      hearing.take(adapter, threadId, message),
    processMessageUpdated: (event: MessageUpdate) => hearing.update(event).then(ignore),
    processMessageDeleted: (event: MessageDeletion) => hearing.remove(event),
  };
  // Reactions, buttons, modals, installations: nobody here is asked for them.
  const silent = new Proxy(instance, {
    get: (target, name) =>
      Object.hasOwn(target, name)
        ? Reflect.get(target, name)
        : /^process/.test(String(name))
          ? async () => {}
          : undefined,
    has: (target, name) => Object.hasOwn(target, name) || /^process/.test(String(name)),
  });

  let ready: Promise<void> | null = null;
  function initialize(): Promise<void> {
    ready ??= (async () => {
      await plain.connect();
      await Promise.all([...adapters.values()].map((adapter) => adapter.initialize(silent as never)));
    })().catch((error: unknown) => {
      // A platform that was away at the start is asked again.
      ready = null;
      throw error;
    });
    return ready;
  }
  for (const adapter of adapters.values()) {
    releaseAlbums(adapter, hearing.take);
    hearGateway(adapter, instance);
  }

  return {
    channels: [...adapters].map(([name, adapter]) => ({
      ...adapterChannel(adapter, {
        ready: initialize,
        ...(whenInDoubt !== undefined && { whenInDoubt }),
        ...(typing !== undefined && { typing }),
      }),
      name,
    })),
    initialize,
    async webhook(name, request) {
      const adapter = adapters.get(name);
      if (adapter === undefined) return new Response("There is no such channel.", { status: 404 });
      try {
        await initialize();
      } catch (error) {
        hearing.warn(error, name);
        return new Response("not ready; deliver it again", { status: 503, headers: { "retry-after": "5" } });
      }
      return writes.guard(
        undefined,
        (guarded: WebhookOptions) => adapter.handleWebhook(request, guarded),
        (error) => hearing.warn(error, name),
      );
    },
    async close() {
      if (ready === null) return;
      for (const adapter of adapters.values())
        await (adapter as ChatAdapter & { disconnect?(): Promise<void> }).disconnect?.().catch(ignore);
      await plain.disconnect();
    },
  };
}

/** `@name` or `@id`, not within a word. */
function mentions(text: string, adapter: ChatAdapter, userName: string): boolean {
  const { botUserId } = adapter as ChatAdapter & { botUserId?: string };
  return [adapter.userName ?? userName, botUserId].some((name) => {
    if (name === undefined || name === "") return false;
    const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return new RegExp(`(?<!\\w)@!?${escaped}(?![\\w-])`, "i").test(text);
  });
}

/** The adapters' own words: what goes wrong is told, what they do all day is not. Their fields may hold people's texts. */
function adapterLogger(logger: Logger | undefined): object {
  const told = (level: "warn" | "error") => (message: string) => logger?.[level]({ from: "adapter" }, message);
  const own = { debug: ignore, info: ignore, warn: told("warn"), error: told("error"), child: () => own };
  return own;
}
