/**
 * The variables that switch a server's channels on, for platforms on loopback.
 *
 * @module
 */
import type { Platforms } from "../../../lull/test/channels/person.ts";

export function channelSettings({ telegram, slack, whatsapp, discord }: Platforms): Record<string, string> {
  return {
    TELEGRAM_BOT_TOKEN: telegram.token,
    TELEGRAM_WEBHOOK_SECRET_TOKEN: telegram.secretToken,
    TELEGRAM_API_BASE_URL: telegram.url,
    SLACK_BOT_TOKEN: slack.token,
    SLACK_SIGNING_SECRET: slack.signingSecret,
    SLACK_API_URL: `${slack.url}/api/`,
    WHATSAPP_ACCESS_TOKEN: whatsapp.accessToken,
    WHATSAPP_APP_SECRET: whatsapp.appSecret,
    WHATSAPP_PHONE_NUMBER_ID: whatsapp.phoneNumberId,
    WHATSAPP_VERIFY_TOKEN: whatsapp.verifyToken,
    WHATSAPP_API_URL: whatsapp.url,
    DISCORD_BOT_TOKEN: discord.botToken,
    DISCORD_PUBLIC_KEY: discord.publicKey,
    DISCORD_APPLICATION_ID: discord.applicationId,
    DISCORD_API_URL: discord.url,
  };
}
