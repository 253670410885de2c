/**
 * Visitors' tokens: who writes, signed by the site's backend with the shared secret, or by this server for somebody
 * anonymous. JSON Web Tokens, HS256 and nothing else; short-lived, since nobody can take one back.
 *
 * @module
 */
import { createHmac, randomUUID } from "node:crypto";
import { decodeJwt, errors, type JWTPayload, jwtVerify, SignJWT } from "jose";
import { ConfigError } from "../config.ts";
import { Problem } from "../problem.ts";
import { idFault } from "../schemas.ts";
import type { Config } from "../settings.ts";

/** Who writes, and where: everything that a request of theirs may touch. */
export interface Visitor {
  /** `sub` of the token; the author of their messages. */
  id: string;
  /** Their only conversation, as its bot calls it. */
  conversation: string;
  /** "" for the bot without a name. */
  bot: string;
  /** For the bot, if the site says so. */
  name: string | undefined;
  isAnonymous: boolean;
  /** The token is good for nothing from then on. */
  expiresAtMs: number;
}

export interface IssuedToken {
  token: string;
  expiresAtMs: number;
}

export interface VisitorTokens {
  /** @throws Problem 401 `invalid-token` or `token-expired` */
  read(token: string, nowMs: number): Promise<Visitor>;
  /** A new anonymous visitor. */
  create(nowMs: number): Promise<IssuedToken>;
  /**
   * An anonymous visitor's next token; an expired one will do for a while.
   * @throws Problem 401
   */
  renew(token: string, nowMs: number): Promise<IssuedToken>;
}

/** RFC 7518: a key for HS256 has at least the size of its hash. */
const leastSecretBytes = 32;
const mostNameBytes = 200;
/** Of an id, of a name's conversation and of marks there must be room beside it. */
const mostIdBytes = 200;
/** Clocks of two machines. */
const toleranceSeconds = 5;
/** The issuer of what this server signs; under a key of its own, so that no site's token is taken for one. */
const ourselves = "lull";
const anonymousPrefix = "anonymous:";

/** What a site's backend says of a visitor; what it leaves out is absent. */
export interface VisitorClaims {
  sub: string;
  conversation?: string;
  bot?: string;
  name?: string;
}

/** A token as a site's backend makes it: `secret` is the first of chatSecret. */
export function signVisitor(claims: VisitorClaims, secret: string, expiresAtMs: number): Promise<string> {
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .setIssuedAt()
    .setExpirationTime(Math.floor(expiresAtMs / 1_000))
    .sign(Buffer.from(secret, "utf8"));
}

type TokenSettings = Pick<Config, "chatSecret" | "chatTokenMs" | "chatRenewMs">;

/** @throws ConfigError for secrets that can be guessed. */
export function visitorTokens({ chatSecret, chatTokenMs, chatRenewMs }: TokenSettings): VisitorTokens {
  const secrets = chatSecret.map((secret) => Buffer.from(secret, "utf8"));
  if (secrets.some((secret) => secret.length < leastSecretBytes))
    throw new ConfigError([
      `chatSecret: a secret must have at least ${leastSecretBytes} bytes; openssl rand -hex 32 makes one.`,
    ]);
  const ours = secrets.map((secret) => createHmac("sha256", secret).update("lull anonymous visitors 1").digest());

  /** The claims, if one of the secrets has signed them. `graceMs`: how long it may be expired. */
  async function claimsOf(
    token: string,
    nowMs: number,
    graceMs: number,
  ): Promise<{ claims: JWTPayload; own: boolean }> {
    const own = issuerOf(token) === ourselves;
    let last: unknown;
    for (const secret of own ? ours : secrets) {
      try {
        const { payload } = await jwtVerify(token, secret, {
          algorithms: ["HS256"],
          requiredClaims: ["sub", "exp"],
          currentDate: new Date(nowMs),
          clockTolerance: toleranceSeconds + Math.floor((own ? graceMs : 0) / 1_000),
        });
        return { claims: payload, own };
      } catch (error) {
        // While rotating, the other secret may fit; what has expired was signed by this one.
        if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw refusal(error);
        last = error;
      }
    }
    throw refusal(last);
  }

  function sign(id: string, nowMs: number): Promise<IssuedToken> {
    const expiresAtMs = Math.floor((nowMs + chatTokenMs) / 1_000) * 1_000;
    return new SignJWT({})
      .setProtectedHeader({ alg: "HS256", typ: "JWT" })
      .setIssuer(ourselves)
      .setSubject(id)
      .setIssuedAt(Math.floor(nowMs / 1_000))
      .setExpirationTime(expiresAtMs / 1_000)
      .sign(ours[0] as Buffer)
      .then((token) => ({ token, expiresAtMs }));
  }

  return {
    async read(token, nowMs) {
      const { claims, own } = await claimsOf(token, nowMs, 0);
      return visitorOf(claims, own, nowMs + chatTokenMs + toleranceSeconds * 1_000);
    },
    create: (nowMs) => sign(`${anonymousPrefix}${randomUUID()}`, nowMs),
    async renew(token, nowMs) {
      const { claims, own } = await claimsOf(token, nowMs, chatRenewMs);
      if (!own)
        throw invalidToken("Only anonymous visitors' tokens are renewed here; ask your site's backend for another.");
      return sign(claims.sub as string, nowMs);
    },
  };
}

function visitorOf(claims: JWTPayload, own: boolean, latestMs: number): Visitor {
  const { sub, exp, conversation, bot, name } = claims;
  const id = text("sub", sub, mostIdBytes);
  if (!own && id.startsWith(anonymousPrefix)) throw invalidToken(`sub must not begin with "${anonymousPrefix}".`);
  const expiresAtMs = (exp as number) * 1_000;
  if (expiresAtMs > latestMs) throw invalidToken("The token lives too long: exp lies beyond chatTokenMs from now.");
  return {
    id,
    conversation: conversation === undefined ? `web:${id}` : text("conversation", conversation, mostIdBytes + 4),
    bot: bot === undefined ? "" : text("bot", bot, mostIdBytes),
    name: name === undefined ? undefined : text("name", name, mostNameBytes),
    isAnonymous: own,
    expiresAtMs,
  };
}

function text(claim: string, value: unknown, mostBytes: number): string {
  if (typeof value !== "string") throw invalidToken(`The claim ${claim} must be a string.`);
  const fault = idFault(value) ?? (Buffer.byteLength(value) > mostBytes ? `must be at most ${mostBytes} bytes` : null);
  if (fault !== null) throw invalidToken(`The claim ${claim} ${fault}.`);
  return value;
}

/** Whose token it says to be; not proved. */
function issuerOf(token: string): unknown {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

function refusal(error: unknown): Problem {
  if (error instanceof errors.JWTExpired) return problem("token-expired", "The token has expired: get another.");
  if (error instanceof errors.JWTClaimValidationFailed)
    return invalidToken(`The claim ${error.claim} is missing or wrong.`);
  if (error instanceof errors.JOSEError)
    return invalidToken("This is no token that the site's secret (chatSecret) has signed with HS256.");
  throw error;
}

function invalidToken(detail: string): Problem {
  return problem("invalid-token", detail);
}

function problem(code: "invalid-token" | "token-expired", detail: string): Problem {
  return new Problem(401, code, detail, {
    field: "authorization",
    headers: { "www-authenticate": 'Bearer realm="lull chat"' },
  });
}
