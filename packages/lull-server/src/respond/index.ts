/**
 * Who answers, by the setting `respond`.
 *
 * @module
 */
import type { Respond } from "lull";
import { ConfigError, suggestion } from "../config.ts";
import type { Config } from "../settings.ts";
import { redacted } from "../webhook.ts";
import { demo } from "./demo.ts";
import { openai } from "./openai.ts";
import { respondWebhook } from "./webhook.ts";

/**
 * Undefined for `none`: this process only receives.
 * @throws ConfigError
 */
export function createRespond(config: Config): Respond | undefined {
  const { respond } = config;
  if (respond === "none") return undefined;
  if (respond === "demo") return demo(config.demoMs);
  if (respond === "openai") return openai(config);
  if (/^https?:/i.test(respond)) return respondWebhook(config);
  throw new ConfigError([
    `respond must be demo, openai, none or an https:// address; got ${JSON.stringify(redacted(respond))}.${suggestion(respond, ["demo", "openai", "none"])}`,
  ]);
}
