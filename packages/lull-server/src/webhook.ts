/**
 * Webhooks we call: their address, their signature after Standard Webhooks, their tokens.
 *
 * @module
 */
import { createHash, randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { isLoopback } from "./auth.ts";
import { ConfigError } from "./config.ts";
import { type Answer, post } from "./http.ts";
import type { Config } from "./settings.ts";

const leastSecretBytes = 24;

/** What is wrong with a signing secret, or null. The library takes "hello" for a key of three bytes, so we look first. */
export function secretFault(secret: string): string | null {
  if (!secret.startsWith("whsec_")) return "must begin with whsec_";
  const encoded = secret.slice(6);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded) || encoded.length % 4 !== 0) return "must be base64 after whsec_";
  const length = Buffer.from(encoded, "base64").length;
  return length < leastSecretBytes ? `must hold at least ${leastSecretBytes} bytes; it holds ${length}` : null;
}

/** A new signing secret. */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

/** What is wrong with a webhook's address, or null. */
export function addressFault(text: string): string | null {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return "is not a URL";
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") return "must be an https:// or http:// address";
  if (url.username !== "" || url.password !== "") return "must not carry a password; set webhookAuthorization";
  return null;
}

export interface Signer {
  /** Headers that prove a body to be ours. `id` stays the same when the same thing is sent again. */
  headers(id: string, body: string): Record<string, string>;
}

/**
 * The signer of a configured webhook.
 * @throws ConfigError when secrets are malformed, or none is set for a webhook outside this machine.
 */
export function createSigner(config: Config, setting: "respond" | "deliver"): Signer {
  const fault = addressFault(config[setting]);
  if (fault !== null) throw new ConfigError([`${setting} ${fault}; got ${JSON.stringify(redacted(config[setting]))}.`]);
  const secrets = config.webhookSecret;
  const problems = secrets.flatMap((secret, index) => {
    const wrong = secretFault(secret);
    return wrong === null ? [] : [`webhookSecret: value ${index + 1} ${wrong}. \`lull secret\` makes one.`];
  });
  if (secrets.length > 2) problems.push("webhookSecret: at most two values, the new one and the one it replaces.");
  if (
    secrets.length === 0 &&
    config.webhookAuthorization === undefined &&
    !isLoopback(new URL(config[setting]).hostname)
  )
    problems.push(
      `${setting} is a webhook on another machine, which could not tell our requests from anybody's. Set LULL_WEBHOOK_SECRET (\`lull secret\` makes one) or LULL_WEBHOOK_AUTHORIZATION.`,
    );
  if (/[\r\n]/.test(config.webhookAuthorization ?? "")) problems.push("webhookAuthorization must be one line.");
  if (problems.length > 0) throw new ConfigError(problems);
  const hooks = secrets.map((secret) => new Webhook(secret));
  const authorization = config.webhookAuthorization;
  return {
    headers(id, body) {
      const now = new Date();
      return {
        "webhook-id": id,
        "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
        // While rotating, one signature per secret: receivers accept any that fits.
        ...(hooks.length === 0 ? {} : { "webhook-signature": hooks.map((hook) => hook.sign(id, now, body)).join(" ") }),
        ...(authorization === undefined ? {} : { authorization }),
      };
    },
  };
}

/** An address without what may be secret in it. */
export function redacted(text: string): string {
  try {
    const url = new URL(text);
    return `${url.protocol}//${url.host}${url.pathname}${url.search === "" ? "" : "?…"}`;
  } catch {
    return text;
  }
}

/** `webhook-id` must be plain ASCII without a full stop, since it is part of what is signed. */
export function webhookId(key: string): string {
  return /^[A-Za-z0-9_:\-/]{1,200}$/.test(key) ? key : `msg_${createHash("sha256").update(key).digest("base64url")}`;
}

/** Signs and posts one JSON value. */
export function call(
  url: URL,
  signer: Signer,
  id: string,
  value: unknown,
  options: { signal: AbortSignal; mostBytes: number },
): Promise<Answer> {
  const body = JSON.stringify(value);
  return post(url, body, { ...options, headers: signer.headers(id, body) });
}
