/**
 * Where replies go, by the setting `deliver`.
 *
 * @module
 */
import type { Channel } from "lull";
import { ConfigError } from "../config.ts";
import type { Logger } from "../log.ts";
import type { Config } from "../settings.ts";
import { redacted } from "../webhook.ts";
import { eventsChannel } from "./events.ts";
import { webhookChannel } from "./webhook.ts";

/** @throws ConfigError */
export function createChannel(config: Config, log: Logger): Channel {
  const { deliver } = config;
  if (deliver === "events") return eventsChannel();
  if (/^https?:/i.test(deliver)) return webhookChannel(config, log);
  throw new ConfigError([`deliver must be events or an https:// address; got ${JSON.stringify(redacted(deliver))}.`]);
}
