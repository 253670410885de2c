/**
 * What the settings of the web chat come to, checked together.
 *
 * @module
 */
import { ConfigError } from "../config.ts";
import type { Config } from "../settings.ts";
import { parseOrigins } from "./origins.ts";
import { type VisitorTokens, visitorTokens } from "./tokens.ts";

export interface ChatSettings {
  tokens: VisitorTokens;
  origins: ReadonlySet<string>;
}

/**
 * Null: the web chat is off.
 * @throws ConfigError with everything that is wrong
 */
export function chatSettings(config: Config): ChatSettings | null {
  const problems: string[] = [];
  const checked = <T>(make: () => T): T | undefined => {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
      return undefined;
    }
  };
  const isOn = config.chatSecret.length > 0;
  if (!isOn && (config.chatAnonymous === "on" || config.chatOrigins.length > 0))
    problems.push(
      "chatSecret is not set, so there is no web chat: chatAnonymous and chatOrigins mean nothing. openssl rand -hex 32 makes a secret.",
    );
  const tokens = checked(() => visitorTokens(config));
  const origins = checked(() => parseOrigins(config.chatOrigins));
  if (problems.length > 0 || tokens === undefined || origins === undefined) throw new ConfigError(problems);
  return isOn ? { tokens, origins } : null;
}
