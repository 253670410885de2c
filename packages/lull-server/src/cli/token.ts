/** `lull token`: a visitor's token, as the site's backend would sign it. For tests. */
import { ConfigError, loadConfig, type Sources } from "../config.ts";
import { Problem } from "../problem.ts";
import { signVisitor, visitorTokens } from "../visitors/tokens.ts";
import { CliError } from "./client.ts";

export interface TokenOptions {
  conversation?: string;
  bot?: string;
  name?: string;
}

export async function token(visitor: string, options: TokenOptions, sources: Sources): Promise<void> {
  try {
    const { config } = await loadConfig(sources);
    const [secret] = config.chatSecret;
    if (secret === undefined)
      throw new CliError("No secret: set LULL_CHAT_SECRET as the server has it (openssl rand -hex 32 makes one).", 2);
    const signed = await signVisitor({ sub: visitor, ...options }, secret, Date.now() + config.chatTokenMs);
    // What the server would refuse is refused here, with the same words.
    await visitorTokens(config).read(signed, Date.now());
    console.log(signed);
  } catch (error) {
    if (error instanceof ConfigError) throw new CliError(error.problems.map((line) => `lull: ${line}`).join("\n"), 2);
    throw error instanceof Problem ? new CliError(error.message, 2) : error;
  }
}
