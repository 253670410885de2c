/**
 * Platforms on loopback, for tests of channels. They follow what the platforms publish; nothing here was recorded.
 *
 * @module
 */
export { type DiscordDouble, type DiscordMessage, discordDouble } from "./discord.ts";
export type { ApiCall, DoubleOptions, Mood, OnScreen, PlatformDouble, Receiver, WebhookPost } from "./double.ts";
export { type SlackDouble, type SlackMessage, slackDouble } from "./slack.ts";
export { type TelegramDouble, type TelegramMessage, telegramDouble } from "./telegram.ts";
export { type WhatsAppDouble, type WhatsAppMessage, whatsappDouble } from "./whatsapp.ts";
