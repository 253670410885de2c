/**
 * Tokens that let a webhook act for the attempt it was called for, at any process of the same bot: the attempt's name,
 * signed. What a token is good for is decided by the record: it dies with its attempt.
 *
 * @module
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { AttemptRef } from "lull";
import { Problem } from "./problem.ts";

/** Ours alone: without a secret in the settings, no other process knows these tokens. */
const ownSecret = randomBytes(32);

/** A late result is still taken by then; afterwards a token is good for nothing. */
const graceMs = 86_400_000;

export interface Secrets {
  webhookSecret: readonly string[];
  webhookAuthorization?: string | undefined;
}

export interface Tokens {
  make(ref: AttemptRef): string;
  /** @throws Problem 403 `invalid-token` or `token-expired`. */
  read(token: string, nowMs: number): AttemptRef;
}

/** @param bot its name; "" for the bot that has none */
export function createTokens(bot: string, { webhookSecret, webhookAuthorization }: Secrets): Tokens {
  const secrets = webhookSecret.length > 0 ? webhookSecret : [webhookAuthorization ?? ownSecret];
  // While rotating, what the old secret has signed is still good.
  const keys = secrets.map((secret) => createHmac("sha256", secret).update(`lull turn token 2\0${bot}`).digest());
  const sign = (key: Buffer, claims: string) => createHmac("sha256", key).update(claims).digest();
  return {
    make({ conversation, fence, span, deadlineMs }) {
      const claims = Buffer.from(JSON.stringify([bot, conversation, fence, span, deadlineMs])).toString("base64url");
      return `${claims}.${sign(keys[0] as Buffer, claims).toString("base64url")}`;
    },
    read(token, nowMs) {
      const [claims = "", signature = "", ...rest] = token.split(".");
      const given = Buffer.from(signature, "base64url");
      const fits = keys.map((key) => {
        const wanted = sign(key, claims);
        return wanted.length === given.length && timingSafeEqual(wanted, given);
      });
      if (rest.length > 0 || !fits.includes(true)) throw invalidToken();
      const [, conversation, fence, span, deadlineMs] = JSON.parse(
        Buffer.from(claims, "base64url").toString("utf8"),
      ) as [string, string, number, number, number];
      if (nowMs > deadlineMs + graceMs)
        throw new Problem(403, "token-expired", "This token's turn is long over.", { field: "token" });
      return { conversation, fence, span, deadlineMs };
    },
  };
}

/** Whose token it says to be; not proved. "" for what is none. */
export function botOf(token: string): string {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString("utf8"));
    const bot: unknown = Array.isArray(claims) ? claims[0] : "";
    return typeof bot === "string" ? bot : "";
  } catch {
    return "";
  }
}

export function invalidToken(): Problem {
  const detail =
    "This is no token of this server: use `turn.token` as the webhook was given it. Tokens outlive a restart, and are good for every process, only with the same webhookSecret: `lull secret` makes one. The turn is called for again with a new token.";
  return new Problem(403, "invalid-token", detail, { field: "token" });
}
