// Errors as clients really throw them, as receipts.
import { expect, it } from "vitest";
import { receiptOf } from "../../src/channels/receipt.ts";

const error = (message: string, fields: object = {}) => Object.assign(new Error(message), fields);
const gone = { status: "failed", error: expect.any(String) };
const later = (retryAfterMs?: number) => ({
  ...gone,
  retry: true,
  ...(retryAfterMs !== undefined && { retryAfterMs }),
});
const perhaps = expect.objectContaining({ status: "unknown" });

it.each<[string, unknown, unknown]>([
  ["grammY, 429", error("429", { error_code: 429, parameters: { retry_after: 7 } }), later(7_000)],
  ["grammY, blocked by the person", error("403", { error_code: 403, parameters: {} }), gone],
  ["grammY, never connected", error("HttpError", { error: error("x", { code: "ECONNREFUSED" }) }), later()],
  ["grammY, reset", error("HttpError", { error: error("x", { code: "ECONNRESET" }) }), perhaps],
  ["Slack, ratelimited", error("x", { code: "slack_webapi_rate_limited_error", retryAfter: 3 }), later(3_000)],
  ["Slack, a word", error("x", { code: "slack_webapi_platform_error", data: { error: "is_archived" } }), gone],
  [
    "Slack, its own fault",
    error("x", { code: "slack_webapi_platform_error", data: { error: "internal_error" } }),
    later(),
  ],
  ["Slack, 502", error("x", { code: "slack_webapi_http_error", statusCode: 502 }), later()],
  ["Slack, socket", error("x", { code: "slack_webapi_request_error", original: error("hang up") }), perhaps],
  ["discord.js, 404", error("Unknown Channel", { status: 404, code: 10_003 }), gone],
  ["discord.js, 500", error("x", { status: 500, name: "HTTPError" }), later()],
  ["discord.js, rate limit", error("x", { name: "RateLimitError[/channels]", retryAfter: 1_500 }), later(1_500)],
  ["the Chat SDK, 429", error("x", { code: "RATE_LIMITED", retryAfter: 2 }), later(2_000)],
  ["the Chat SDK, refused", error("x", { code: "VALIDATION_ERROR" }), gone],
  ["the Chat SDK, Telegram 502", error("Bad Gateway (status 502, error 502)", { code: "NETWORK_ERROR" }), later()],
  ["the Chat SDK, Discord 403", error("Discord API error: 403 {}", { code: "NETWORK_ERROR" }), gone],
  [
    "the Chat SDK, connection",
    error("Network error", { code: "NETWORK_ERROR", originalError: error("reset") }),
    perhaps,
  ],
  ["fetch, never connected", error("fetch failed", { cause: error("x", { code: "ENOTFOUND" }) }), later()],
  ["fetch, timed out", error("fetch failed", { cause: error("x", { code: "UND_ERR_HEADERS_TIMEOUT" }) }), perhaps],
  ["a response, 503", { status: 503, headers: new Headers({ "retry-after": "12" }) }, later(12_000)],
  ["a gateway that gave up waiting", { status: 504 }, perhaps],
  ["a date to wait for", { status: 429, headers: { "retry-after": "Thu, 01 Jan 1970 00:00:09 GMT" } }, later(9_000)],
  ["nothing known", "oops", perhaps],
])("%s", (_name, thrown, receipt) => {
  expect(receiptOf(thrown)).toEqual(receipt);
});
