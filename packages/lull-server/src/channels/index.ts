/**
 * The server on chat platforms: webhooks in, replies out, beside its own HTTP.
 *
 * @module
 */
import type { Channel, Lull, Part, Respond, Responded, Turn } from "lull";
import { platformOf, splitParts } from "lull/channels";
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
    fitting: (respond) => (byName.size === 0 ? respond : (turn) => cutToFit(respond, turn)),
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

/** Longer texts become several parts: each has a receipt of its own. */
async function cutToFit(respond: Respond, turn: Turn): Promise<Responded> {
  const limit = platformOf(addressOf(turn.address)?.channel ?? "")?.textLimit;
  const answer = await respond(turn);
  if (limit === undefined || answer === null || answer === undefined) return answer;
  if (typeof answer === "string") return splitParts([answer], limit);
  if (Array.isArray(answer)) return splitParts(answer, limit);
  if ("textStream" in answer) return splitParts([await whole(answer.textStream, turn)], limit);
  if (Symbol.asyncIterator in answer) return split(answer, limit);
  if ("type" in answer) return splitParts([answer], limit);
  // Not text: what becomes of it is not known yet.
  if ("object" in answer) return answer;
  const { metadata } = answer;
  const parts = splitParts("parts" in answer ? answer.parts : [answer.text], limit);
  return { parts, ...(metadata !== undefined && { metadata }) };
}

async function* split(stream: AsyncIterable<string | Part>, limit: number): AsyncGenerator<Part> {
  for await (const part of stream) yield* splitParts([part], limit);
}

async function whole(stream: AsyncIterable<string>, turn: Turn): Promise<string> {
  let text = "";
  for await (const delta of stream) {
    turn.signal.throwIfAborted();
    text += delta;
  }
  // An aborted stream ends as if it were complete.
  turn.signal.throwIfAborted();
  return text.trim();
}
