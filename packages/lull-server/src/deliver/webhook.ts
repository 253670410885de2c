/**
 * Delivery by webhook, one signed request per part. The receiver tells apart repeated requests by the
 * idempotency key (also `webhook-id`), so whatever is in doubt is sent again with the same key.
 *
 * | Answer | Receipt |
 * |---|---|
 * | 2xx | sent (`{ "id": … }` in the body is the platform's message id) |
 * | 400, 413, 422 | failed for good: the part itself is refused |
 * | 410 | failed, and the webhook is not called again by this process |
 * | anything else, no connection | tried again: back-off, or `Retry-After` |
 * | timeout, connection lost after sending | unknown, tried again with the same key |
 *
 * @module
 */
import type { Channel, Delivery, Part, Receipt } from "lull";
import { type Answer, RequestFailed, retryAfterMs } from "../http.ts";
import type { Logger } from "../log.ts";
import type { Config } from "../settings.ts";
import { call, createSigner, redacted, webhookId } from "../webhook.ts";

/** Nothing of an answer but an id is of use. */
const mostBytes = 65_536;
const refusals = new Set([400, 413, 422]);

/**
 * @throws ConfigError for a bad address or secret.
 */
export function webhookChannel(config: Config, log: Logger): Channel {
  const signer = createSigner(config, "deliver");
  const url = new URL(config.deliver);
  let isGone = false;

  const deliver = async (part: Part, delivery: Delivery): Promise<Receipt> => {
    if (isGone)
      return { status: "failed", error: "The webhook answered 410 before and is disabled until the server restarts." };
    const signal = AbortSignal.any([delivery.signal, AbortSignal.timeout(config.deliverTimeoutMs)]);
    let answer: Answer;
    try {
      answer = await call(url, signer, webhookId(delivery.idempotencyKey), bodyOf(part, delivery), {
        signal,
        mostBytes,
      });
    } catch (error) {
      if (!(error instanceof RequestFailed)) throw error;
      return error.sent
        ? { status: "unknown", error: error.message }
        : { status: "failed", error: error.message, retry: true };
    }
    const { status } = answer;
    if (status >= 200 && status < 300) return { status: "sent", ...idOf(answer.text) };
    const error = `The webhook answered ${status}${status >= 300 && status < 400 ? "; redirects are not followed" : ""}.`;
    if (refusals.has(status)) return { status: "failed", error };
    if (status === 410) {
      isGone = true;
      log.error(
        { webhook: redacted(config.deliver) },
        "The delivery webhook answered 410 Gone: it is DISABLED until this server restarts. Replies are marked as failed.",
      );
      return { status: "failed", error };
    }
    const after = retryAfterMs(answer.headers["retry-after"], Date.now());
    return {
      status: "failed",
      error,
      retry: true,
      ...(after === undefined ? {} : { retryAfterMs: Math.min(after, config.deliverMaxMs) }),
    };
  };

  // Longer than the request's own limit, which gives the better receipt.
  return { name: "webhook", idempotent: true, deliver, timeoutMs: config.deliverTimeoutMs + 1_000 };
}

function bodyOf(part: Part, delivery: Delivery): object {
  return {
    conversation: delivery.conversation,
    replyId: delivery.replyId,
    part: { index: delivery.index, count: delivery.count, ...part },
    idempotencyKey: delivery.idempotencyKey,
    attempt: delivery.attempt,
    covers: delivery.covers,
    overtaken: delivery.overtaken,
    cause: delivery.cause,
    address: delivery.address,
    metadata: delivery.metadata ?? {},
  };
}

/** The platform's message id, if the receiver tells it. */
function idOf(text: string): { id?: string } {
  try {
    const id = (JSON.parse(text) as { id?: unknown } | null)?.id;
    return typeof id === "string" && id !== "" && id.length <= 512 ? { id } : {};
  } catch {
    return {};
  }
}
