/**
 * The server on chat platforms: webhooks in, replies out, beside its own HTTP.
 *
 * @module
 */
import type { Channel, Lull, Respond } from "lull";
import { fitting, platformOf } from "lull/channels";
import { addressOf, hostAdapters } from "lull/chat-sdk";
import { ConfigError } from "../config.ts";
import type { Logger } from "../log.ts";
import type { Config } from "../settings.ts";
import { channelsOn, kinds, loadAdapters } from "./adapters.ts";

export interface Channels {
  /** Names and titles of those that are on. */
  names: readonly { name: string; title: string }[];
  /** Handles a webhook of a platform, which checks the signature. */
  webhook(name: string, request: Request): Promise<Response>;
  /** The same channel; what came over a platform is answered there. */
  with(main: Channel): Channel;
  /** The same responder, whose texts fit the platform they go to. */
  fitting(respond: Respond): Respond;
  /** Whose engine stores what comes in. */
  bind(lull: () => Lull): void;
  /** Connects to the platforms, where that is needed before anything comes in. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** @throws ConfigError */
export async function createChannels(
  config: Config,
  log: Logger,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Channels> {
  const on = channelsOn(config.channels, env);
  let engine: (() => Lull) | null = null;
  const host =
    on.length === 0
      ? null
      : hostAdapters({
          adapters: await loadAdapters(on, log),
          state: await createState(),
          typing: true,
          logger: log,
          lull() {
            if (engine === null) throw new Error("a webhook came before the engine was there");
            return engine();
          },
        });
  const byName = new Map((host?.channels ?? []).map((channel) => [channel.name, channel] as const));
  const channelFor = (address: unknown) => byName.get(addressOf(address as never)?.channel ?? "");
  return {
    names: on.map((name) => ({ name, title: kinds[name]?.title ?? name })),
    webhook: (name, request) =>
      host?.webhook(name, request) ?? Promise.resolve(new Response("There is no such channel.", { status: 404 })),
    with(main) {
      if (byName.size === 0) return main;
      return {
        ...main,
        name: main.name,
        // True of all or of none: a part in doubt is sent again either way.
        idempotent: false,
        deliver: (part, delivery) => (channelFor(delivery.address) ?? main).deliver(part, delivery),
        typing: (shown, context) => (channelFor(context.address) ?? main).typing?.(shown, context),
      };
    },
    fitting: (respond) =>
      byName.size === 0
        ? respond
        : fitting(respond, ({ address }) => platformOf(addressOf(address)?.channel ?? "")?.textLimit),
    bind(lull) {
      engine = lull;
    },
    async start() {
      // A platform that is away must not keep the server from serving the others; it is asked again with each webhook.
      await host?.initialize().catch((error: unknown) => {
        log.warn({ err: (error as Error).message }, "a chat platform did not answer; it is asked again");
      });
    },
    close: async () => host?.close(),
  };
}

async function createState(): Promise<unknown> {
  try {
    const { createMemoryState } = await import("@chat-adapter/state-memory");
    return createMemoryState();
  } catch {
    const name = "@chat-adapter/state-memory";
    throw new ConfigError([`Channels need the package ${name}: npm install ${name}@~4.41.0`]);
  }
}
