/**
 * Several bots on one engine: who answers, where replies go, how long to wait and whose keys they are is each bot's
 * own; the store, the limits and the process are shared.
 *
 * @module
 */
import { timingSafeEqual } from "node:crypto";
import { type Channel, type Debounce, Lull, type LullOptions, memory, type Respond, type Turn } from "lull";
import { type Key, parseKeys } from "../auth.ts";
import { ConfigError } from "../config.ts";
import { createChannel } from "../deliver/index.ts";
import type { Logger } from "../log.ts";
import { createRespond } from "../respond/index.ts";
import type { Config } from "../settings.ts";
import { mostMarkBytes, splitId } from "./ids.ts";

export interface Bots {
  respond: Respond | undefined;
  deliver: Channel;
  keys: Key[];
  /** What the engine must ask per conversation; empty where there is one bot. */
  options: Pick<LullOptions, "debounce" | "whenBusy" | "fallback" | "limits">;
}

interface Bot {
  config: Config;
  respond: Respond | undefined;
  deliver: Channel;
}

/** An attempt of a bot that this process does not know is repeated this late: another process may be newer. */
const strangerMs = 60_000;

export function debounceOf({ quietMs, startMs, maxWaitMs, adaptive }: Config): Debounce {
  return {
    quietMs,
    ...(startMs === undefined ? {} : { startMs }),
    ...(maxWaitMs === undefined ? {} : { maxWaitMs }),
    ...(adaptive === "on" && { adaptive: true }),
  };
}

/** @throws ConfigError with every problem of every bot. */
export function createBots(config: Config, log: Logger, limits: NonNullable<LullOptions["limits"]>): Bots {
  const problems: string[] = [];
  const attempt = <T>(where: string, make: () => T): T | undefined => {
    try {
      return make();
    } catch (error) {
      const told = error instanceof ConfigError ? error.problems : [(error as Error).message];
      problems.push(...told.map((problem) => (where === "" ? problem : `bots.${where}: ${problem}`)));
      return undefined;
    }
  };
  const keys: Key[] = [];
  const bots = new Map<string, Bot>();
  const all = Object.entries({ "": config, ...config.bots });
  for (const [name, own] of all) {
    const respond = attempt(name, () => createRespond(own));
    const deliver = attempt(name, () => createChannel(own, log));
    attempt(name, () => new Lull({ store: memory(), debounce: debounceOf(own) }));
    const parsed = attempt(name, () => parseKeys(own.apiKeys)) ?? [];
    for (const key of parsed) {
      // Within one list the parser looks itself.
      if (keys.some((other) => other.bot !== (name || undefined) && timingSafeEqual(other.digest, key.digest)))
        problems.push(`bots.${name}: the key ${key.name} has the same secret as another bot's.`);
      keys.push(name === "" ? key : { ...key, name: `${name}/${key.name}`, bot: name });
    }
    if (deliver !== undefined) bots.set(name, { config: own, respond, deliver });
  }
  const receiving = all.filter(([, own]) => own.respond === "none");
  if (receiving.length > 0 && receiving.length < all.length)
    problems.push('respond: "none" makes a process that only receives; it must be none for all bots, or for no one.');
  if (problems.length > 0) throw new ConfigError(problems);

  const first = bots.get("") as Bot;
  const shared = {
    // Also where there is one bot: another process, or another day, may have written down more.
    respond: receiving.length > 0 ? undefined : (turn: Turn) => respondFor(bots, turn),
    deliver: channelFor(bots, first.deliver),
    keys,
  };
  if (bots.size === 1) return { ...shared, options: {} };
  // A bot that is gone: its conversations wait as the server's own would.
  const botOf = (conversation: string) => bots.get(splitId(conversation).bot) ?? first;
  return {
    ...shared,
    options: {
      debounce: (conversation) => debounceOf(botOf(conversation).config),
      whenBusy: (conversation) => botOf(conversation).config.whenBusy,
      fallback: (conversation) => botOf(conversation).config.fallback ?? null,
      limits: { ...limits, maxIdBytes: 512 + mostMarkBytes },
    },
  };
}

function respondFor(bots: ReadonlyMap<string, Bot>, turn: Turn): ReturnType<Respond> {
  const { bot: name, id } = splitId(turn.conversation);
  const bot = bots.get(name);
  if (bot?.respond === undefined)
    throw Object.assign(new Error(`No bot of this server is called ${name}.`), { retryAfterMs: strangerMs });
  if (name === "") return bot.respond(turn);
  // The same turn, under the name that its bot knows.
  return bot.respond(Object.create(turn, { conversation: { value: id, enumerable: true } }) as Turn);
}

function channelFor(bots: ReadonlyMap<string, Bot>, own: Channel): Channel {
  const channels = [...bots.values()].map(({ deliver }) => deliver);
  return {
    ...own,
    idempotent: channels.every(({ idempotent }) => idempotent),
    timeoutMs: Math.max(...channels.map(({ timeoutMs }) => timeoutMs ?? 30_000)),
    async deliver(part, delivery) {
      const { bot: name, id } = splitId(delivery.conversation);
      const bot = bots.get(name);
      if (bot === undefined)
        return {
          status: "failed",
          retry: true,
          retryAfterMs: strangerMs,
          error: `no bot of this server is called ${name}`,
        };
      return bot.deliver.deliver(part, name === "" ? delivery : { ...delivery, conversation: id });
    },
  };
}
