// A bot of the Chat SDK with the real adapters, against platforms on loopback.
import { createDiscordAdapter } from "@chat-adapter/discord";
import { createSlackAdapter } from "@chat-adapter/slack";
import { createMemoryState } from "@chat-adapter/state-memory";
import { createTelegramAdapter } from "@chat-adapter/telegram";
import { createWhatsAppAdapter } from "@chat-adapter/whatsapp";
import { type Adapter, Chat, type Message, type MessageContext, type StateAdapter, type Thread } from "chat";
import { type Lull, type Store, systemClock } from "lull";
import { type WithLullOptions, withLull } from "lull/chat-sdk";
import {
  type Name,
  names,
  type Person,
  type Platforms,
  type Post,
  person,
  startPlatforms,
} from "../channels/person.ts";

export { type Name, names, type Person, type Platforms, type Post, person, startPlatforms };

export const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
const clock = systemClock();
export const sleep = (ms: number) => clock.sleep(ms);

/** In the types of one copy of `chat`: adapters of several releases bring several. */
export const memoryState = () => createMemoryState() as unknown as StateAdapter;

export function adaptersFor({ telegram, slack, whatsapp, discord }: Platforms): Record<Name, Adapter> {
  const adapters = {
    telegram: createTelegramAdapter({
      apiUrl: telegram.url,
      botToken: telegram.token,
      secretToken: telegram.secretToken,
      mode: "webhook",
      userName: "bot",
      logger: quiet,
    }),
    slack: createSlackAdapter({
      apiUrl: `${slack.url}/api/`,
      botToken: slack.token,
      signingSecret: slack.signingSecret,
      webClientOptions: { retryConfig: { retries: 0 }, rejectRateLimitedCalls: true },
      logger: quiet,
    }),
    whatsapp: createWhatsAppAdapter({
      apiUrl: whatsapp.url,
      accessToken: whatsapp.accessToken,
      appSecret: whatsapp.appSecret,
      phoneNumberId: whatsapp.phoneNumberId,
      verifyToken: whatsapp.verifyToken,
      logger: quiet,
    }),
    discord: createDiscordAdapter({
      apiUrl: discord.url,
      botToken: discord.botToken,
      publicKey: discord.publicKey,
      applicationId: discord.applicationId,
      logger: quiet,
    }),
  };
  return adapters as unknown as Record<Name, Adapter>;
}

export interface Call {
  text: string;
  skipped: string[];
  message: Message;
  aborted: boolean;
}

export type Handler = (thread: Thread, message: Message, context: MessageContext | undefined) => Promise<unknown>;

/** What people write for the Chat SDK: nothing in it knows of lull. */
export function plainBot(platforms: Platforms, handler: Handler, state = memoryState()) {
  const bot = new Chat<Record<Name, Adapter>>({
    adapters: adaptersFor(platforms),
    state,
    userName: "bot",
    logger: quiet,
  });
  bot.onDirectMessage((thread, message, _channel, context) => handler(thread, message, context).then(() => {}));
  bot.onNewMention(async (thread, message, context) => {
    await thread.subscribe();
    await handler(thread, message, context);
  });
  bot.onSubscribedMessage((thread, message, context) => handler(thread, message, context).then(() => {}));
  return bot;
}

export const all = (message: Message, context: MessageContext | undefined) =>
  [...(context?.skipped ?? []), message].map(({ text }) => text);

export interface Running {
  bot: ReturnType<typeof plainBot>;
  lull: Lull;
  calls: Call[];
  /** Hands a webhook to this process. */
  hook(name: Name): (request: Request) => Promise<Response>;
  stop(): Promise<void>;
}

export async function startBot(
  platforms: Platforms,
  store: Store,
  options: Partial<WithLullOptions> & { modelMs?: number; handler?: Handler; idle?: boolean } = {},
): Promise<Running> {
  const { modelMs = 60, handler, idle = false, ...more } = options;
  const calls: Call[] = [];
  const answer: Handler = async (thread, message, context) => {
    const texts = all(message, context);
    const call: Call = { text: message.text, skipped: texts.slice(0, -1), message, aborted: false };
    calls.push(call);
    await clock.sleep(modelMs, thread.signal);
    call.aborted = thread.signal.aborted;
    await thread.post(`re: ${texts.join("+")}`);
  };
  const bot = plainBot(platforms, handler ?? answer);
  const lull = withLull(bot, {
    store,
    debounce: { quietMs: 150, startMs: 50, maxWaitMs: 2_000 },
    lease: { leaseMs: 1_000, renewMs: 300 },
    deliverBackoff: { firstMs: 50 },
    scanMs: 100,
    ...more,
  });
  if (!idle) await lull.start();
  return {
    bot,
    lull,
    calls,
    hook: (name) => (request) => bot.webhooks[name](request),
    stop: () => bot.shutdown(),
  };
}

/** Nothing is answered before `flush`, however slow the machine is; the model starts when it may. */
export const patient = (startMs = 60_000) => ({ debounce: { quietMs: 60_000, startMs, maxWaitMs: 120_000 } });

/** The person has said everything: answers now. */
export async function flush({ lull }: Pick<Running, "lull">): Promise<void> {
  for (const { id } of (await lull.list()).conversations) await lull.flush(id);
}

/** Waits until it is so, or fails with what it is instead. */
export async function until<T>(probe: () => T | Promise<T>, so: (value: T) => boolean, ms = 10_000): Promise<T> {
  const endMs = clock.monotonic() + ms;
  for (;;) {
    const value = await probe();
    if (so(value)) return value;
    if (clock.monotonic() > endMs) throw new Error(`still ${JSON.stringify(value)} after ${ms} ms`);
    await clock.sleep(15);
  }
}
