/**
 * Chat platforms the server can listen on, each switched on by the environment variables that its adapter (of the Chat
 * SDK) reads. Without what checks a webhook's signature a channel is refused.
 *
 * @module
 */
import type { ChatAdapterLike } from "lull/chat-sdk";
import { ConfigError } from "../config.ts";
import type { Logger } from "../log.ts";

type Env = Readonly<Record<string, string | undefined>>;

interface Kind {
  title: string;
  /** Any of these switches it on. */
  on: readonly string[];
  /** All of these must be set; each with what it is. */
  needs: Readonly<Record<string, string>>;
  package: string;
  /** The adapter's function that makes one, and what it is given besides its variables. */
  create: string;
  options?(): object;
}

export const kinds: Readonly<Record<string, Kind>> = {
  telegram: {
    title: "Telegram",
    on: ["TELEGRAM_BOT_TOKEN"],
    needs: { TELEGRAM_WEBHOOK_SECRET_TOKEN: "a secret of your own, given to setWebhook as secret_token" },
    package: "@chat-adapter/telegram",
    create: "createTelegramAdapter",
    options: () => ({ mode: "webhook", allowUnverifiedWebhooks: false }),
  },
  slack: {
    title: "Slack",
    on: ["SLACK_BOT_TOKEN"],
    needs: { SLACK_SIGNING_SECRET: "the app's signing secret" },
    package: "@chat-adapter/slack",
    create: "createSlackAdapter",
    options: () => ({
      // Retries are the outbox's: the client's own would wait under a lease.
      webClientOptions: { retryConfig: { retries: 0 }, rejectRateLimitedCalls: true },
      // With any option given, the adapter does not look for its token by itself.
      botToken: process.env.SLACK_BOT_TOKEN,
    }),
  },
  whatsapp: {
    title: "WhatsApp",
    on: ["WHATSAPP_ACCESS_TOKEN"],
    needs: {
      WHATSAPP_APP_SECRET: "the app's secret",
      WHATSAPP_PHONE_NUMBER_ID: "the id of the number",
      WHATSAPP_VERIFY_TOKEN: "a word of your own, given when the webhook is set up",
    },
    package: "@chat-adapter/whatsapp",
    create: "createWhatsAppAdapter",
  },
  discord: {
    title: "Discord",
    on: ["DISCORD_BOT_TOKEN"],
    needs: { DISCORD_PUBLIC_KEY: "the application's public key", DISCORD_APPLICATION_ID: "the application's id" },
    package: "@chat-adapter/discord",
    create: "createDiscordAdapter",
  },
};

/**
 * Which channels are on: those whose variables are set, or those that `channels` names; `none` switches all off.
 * @throws ConfigError naming every variable that is missing, and what it is
 */
export function channelsOn(wanted: readonly string[], env: Env): string[] {
  const problems: string[] = [];
  const auto = wanted.length === 0;
  if (wanted.includes("none")) {
    if (wanted.length > 1) problems.push("channels: none excludes all others.");
  } else
    for (const name of wanted)
      if (!Object.hasOwn(kinds, name))
        problems.push(`channels: ${JSON.stringify(name)} is not one of ${Object.keys(kinds).join(", ")}, none.`);
  const named = auto ? Object.keys(kinds) : wanted;
  const on = named.filter((name) => {
    const kind = kinds[name];
    if (kind === undefined) return false;
    const isOn = kind.on.some((variable) => env[variable]);
    if (!isOn && !auto) problems.push(`channels: ${name} needs ${kind.on.join(" or ")}.`);
    return isOn;
  });
  for (const name of on)
    for (const [variable, what] of Object.entries(kinds[name]?.needs ?? {}))
      if (!env[variable])
        problems.push(
          `${kinds[name]?.title} is switched on by ${kinds[name]?.on[0]} and needs ${variable}, ${what}; or set LULL_CHANNELS=none.`,
        );
  if (problems.length > 0) throw new ConfigError(problems);
  return on;
}

/** @throws ConfigError for an adapter that is not installed, or that refuses its settings. */
export async function loadAdapters(on: readonly string[], log: Logger): Promise<Record<string, ChatAdapterLike>> {
  const adapters: Record<string, ChatAdapterLike> = {};
  for (const name of on) {
    const kind = kinds[name] as Kind;
    let module: Record<string, unknown>;
    try {
      module = (await import(kind.package)) as Record<string, unknown>;
    } catch {
      throw new ConfigError([`${kind.title} needs the package ${kind.package}: npm install ${kind.package}@~4.41.0`]);
    }
    try {
      const create = module[kind.create] as (options: object) => ChatAdapterLike;
      adapters[name] = create({ logger: loggerOf(name, log), ...kind.options?.() });
    } catch (error) {
      throw new ConfigError([`${kind.title}: ${(error as Error).message}`]);
    }
  }
  return adapters;
}

/** What goes wrong is told, what adapters do all day is not; their fields may hold people's texts. */
function loggerOf(channel: string, log: Logger): object {
  const told = (level: "warn" | "error") => (message: string) => log[level]({ channel }, message);
  const own = { debug() {}, info() {}, warn: told("warn"), error: told("error"), child: () => own };
  return own;
}
