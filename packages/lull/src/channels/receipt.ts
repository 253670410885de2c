/**
 * What a platform's client threw, as a receipt: refused for good, refused for now, or perhaps delivered. Works by shape,
 * so that it fits every client: fetch, grammY, discord.js, Slack's Web API, the Chat SDK's adapters.
 *
 * @module
 */
import type { Receipt } from "../ports.ts";

/** The request never left: nothing can have been delivered. */
const neverLeft = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
]);

/** Words of clients that keep no status. */
const wordsOf: Record<string, number> = {
  RATE_LIMITED: 429,
  AUTH_FAILED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  VALIDATION_ERROR: 400,
  // Slack answers 200 with a word.
  ratelimited: 429,
  rate_limited: 429,
  internal_error: 500,
  fatal_error: 500,
  service_unavailable: 503,
  request_timeout: 504,
};

/** Status codes of gateways that gave up waiting: what stands behind them may have acted. */
const gaveUpWaiting = new Set([408, 504, 524]);

type Loose = Record<string, unknown>;

/** An error, and what it says caused it, outermost first; at most 5. */
function chain(error: unknown): Loose[] {
  const found: Loose[] = [];
  let next: unknown = error;
  while (typeof next === "object" && next !== null && found.length < 5) {
    const one = next as Loose;
    found.push(one);
    next = one.cause ?? one.originalError ?? one.original ?? one.error;
  }
  return found;
}

function numberOf(...values: unknown[]): number | undefined {
  return values.map(Number).find((value) => Number.isFinite(value) && value > 0);
}

function statusOf(one: Loose): number | undefined {
  const response = one.response as Loose | undefined;
  const status = [one.status, one.statusCode, one.error_code, response?.status].find(
    (value) => typeof value === "number" && value >= 300 && value < 600,
  );
  if (status !== undefined) return status as number;
  const word = (one.data as Loose | undefined)?.error;
  for (const name of [word, one.code])
    if (typeof name === "string" && Object.hasOwn(wordsOf, name)) return wordsOf[name];
  // A word of Slack's that is in no list is a refusal: `channel_not_found`, `is_archived`.
  if (typeof word === "string" && one.code === "slack_webapi_platform_error") return 400;
  if (one.code === "slack_webapi_rate_limited_error") return 429;
  if (one.code !== "NETWORK_ERROR") return undefined;
  // The adapters of the Chat SDK name a status only in words.
  const said = /(?:status |error: |message: )([345]\d\d)\b/.exec(String(one.message));
  return said === null ? undefined : Number(said[1]);
}

/** The platform's wish, in milliseconds. */
function retryAfterOf(errors: readonly Loose[], nowMs: number): number | undefined {
  for (const one of errors) {
    const parameters = one.parameters as Loose | undefined;
    const raw = one.rawError as Loose | undefined;
    const headers = (one.headers ?? (one.response as Loose | undefined)?.headers) as Loose | undefined;
    const header =
      typeof headers?.get === "function"
        ? (headers.get as (name: string) => unknown).call(headers, "retry-after")
        : headers?.["retry-after"];
    const date = typeof header === "string" && Number.isNaN(Number(header)) ? Date.parse(header) - nowMs : Number.NaN;
    if (date >= 0) return date;
    // discord.js counts in milliseconds, everybody else in seconds.
    if (one.name === "RateLimitError" || String(one.name).startsWith("RateLimitError["))
      return numberOf(one.retryAfter, one.timeToReset);
    const seconds = numberOf(parameters?.retry_after, raw?.retry_after, one.retryAfter, header, told(one));
    if (seconds !== undefined) return Math.ceil(seconds * 1_000);
  }
  return undefined;
}

/** Discord's answer, which the adapter keeps as text. */
function told(one: Loose): unknown {
  return /"retry_after":\s*([\d.]+)/.exec(String(one.message))?.[1];
}

/**
 * A 4xx is a refusal for good; 429 and 5xx are refusals for now; what never left is repeated; everything else (a
 * connection lost after the request left, a gateway that gave up waiting) may have been delivered.
 *
 * @example
 * deliver: (part, delivery) => api.sendMessage(chat, text).then(({ id }) => ({ status: "sent", id }), receiptOf)
 */
export function receiptOf(error: unknown, nowMs = 0): Receipt {
  const errors = chain(error);
  const text = error instanceof Error ? error.message : String(error);
  const status = errors.map(statusOf).find((value) => value !== undefined);
  const retryAfterMs = retryAfterOf(errors, nowMs);
  const later = retryAfterMs === undefined ? {} : { retryAfterMs };
  if (status === 429 || errors.some(({ name }) => String(name).startsWith("RateLimitError")))
    return { status: "failed", error: text, retry: true, ...later };
  if (status !== undefined && gaveUpWaiting.has(status)) return { status: "unknown", error: text, ...later };
  if (status !== undefined && status >= 500) return { status: "failed", error: text, retry: true, ...later };
  if (status !== undefined && status >= 400) return { status: "failed", error: text };
  if (errors.some(({ code }) => neverLeft.has(String(code)))) return { status: "failed", error: text, retry: true };
  return { status: "unknown", error: text };
}
