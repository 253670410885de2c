// What all bridges do: take a platform's webhook, hand its message to lull, and take lull's deliveries back to the platform.
//
//   platform → POST /platform → lull's POST /v1/messages;   lull → POST /deliver → the platform's API
//
// Nothing but Node 20. One process; whatever it forgets when it dies, lull and the platform send again.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

/** @typedef {{ conversation: string, id: string, text?: string, parts?: unknown[], author?: string, sentAt?: string, address?: unknown, metadata?: object }} Message */
/** @typedef {{ conversation: string, idempotencyKey: string, address: any, part: { type: string, text?: string, url?: string, filename?: string } }} Delivery */
/** @typedef {{ method: string, url: string, headers: import("node:http").IncomingHttpHeaders, body: string }} Hook */
/** @typedef {{ status?: number, headers?: Record<string, string>, body?: string }} Answer */
/**
 * @typedef {object} Platform
 * @property {(hook: Hook) => boolean} isGenuine was the request made by the platform? If not, it is answered 401
 * @property {(hook: Hook, lull: typeof tellLull) => Promise<Answer | void>} hear what came; throws if it could not be handed on
 * @property {(delivery: Delivery) => Promise<string | undefined>} send sends one part; resolves to the platform's id of it
 */

/** Deliveries remembered, so that a repeated one is not sent a second time. */
const mostRemembered = 10_000;
const mostBytes = 1_000_000;

/** A setting that must be there. @param {string} name @param {string} what */
export function setting(name, what) {
  const value = process.env[name];
  if (value) return value;
  console.error(`Set ${name}: ${what}.`);
  process.exit(1);
}

const lullUrl = process.env.LULL_URL ?? "http://127.0.0.1:8080";
const lullKey = process.env.LULL_KEY;
/** How long lull may take for a message: less than what the platform waits, and that is five seconds and more. */
const patienceMs = Number(process.env.LULL_PATIENCE_MS ?? 4_000);

/**
 * A request to lull. @param {string} method @param {string} path @param {unknown} [body] @returns {Promise<void>}
 * @throws if lull does not take it: the platform's webhook is then answered 503, and most platforms repeat it.
 */
export async function tellLull(method, path, body = {}) {
  const response = await fetch(lullUrl + path, {
    method,
    headers: { "content-type": "application/json", ...(lullKey ? { authorization: `Bearer ${lullKey}` } : {}) },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(patienceMs),
  });
  if (!response.ok) throw new Error(`lull answered ${response.status} to ${method} ${path}: ${await response.text()}`);
  await response.body?.cancel();
}

/** The path of a conversation. @param {string} id */
export const pathOf = (id) => `/v1/conversations/${encodeURIComponent(id)}`;

/** Compares secrets in constant time. @param {string} a @param {string | string[] | undefined} b */
export function sameSecret(a, b) {
  const digest = (/** @type {string} */ value) => createHmac("sha256", "compare").update(value).digest();
  return typeof b === "string" && timingSafeEqual(digest(a), digest(b));
}

/** An answer of the platform's API that is not 2xx. */
export class Refused extends Error {
  /** @param {number} status @param {string} text @param {string | null} retryAfter */
  constructor(status, text, retryAfter) {
    super(`the platform answered ${status}: ${text.slice(0, 300)}`);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/**
 * A request to the platform's API; resolves to the JSON it answers. @param {string} url @param {RequestInit} init
 * @throws {Refused}
 */
export async function callPlatform(url, init) {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(10_000) });
  const text = await response.text();
  if (!response.ok) throw new Refused(response.status, text, response.headers.get("retry-after"));
  return JSON.parse(text);
}

/** The part as text: a platform's text message can say that much of any part. @param {Delivery["part"]} part */
export const textOf = (part) => part.text ?? part.url ?? part.filename ?? "";

const secret = Buffer.from(
  setting("LULL_WEBHOOK_SECRET", "the same as lull's; `npx lull secret` makes one").replace(/^whsec_/, ""),
  "base64",
);

/** Standard Webhooks: signed by lull, not older than five minutes. @param {Hook} hook */
function isFromLull({ headers, body }) {
  const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": given = "" } = headers;
  const mac = `v1,${createHmac("sha256", secret).update(`${id}.${at}.${body}`).digest("base64")}`;
  const isFresh = Math.abs(Date.now() / 1_000 - Number(at)) < 300;
  return (
    isFresh &&
    String(given)
      .split(" ")
      .some((one) => sameSecret(mac, one))
  );
}

/** What becomes of a part the platform did not take. @param {unknown} error @returns {Answer} */
function answerTo(error) {
  if (!(error instanceof Refused)) return { status: 502 }; // no answer: lull tries again
  if (error.status === 429) return { status: 429, headers: { "retry-after": error.retryAfter ?? "5" } };
  // The part itself is refused; a wrong key (401, 403) or address (404) can be mended, so that is tried again.
  return { status: [400, 413, 422].includes(error.status) ? 422 : 502 };
}

/** Serves both webhooks. @param {string} name @param {Platform} platform */
export function serve(name, platform) {
  /** @type {Map<string, Promise<string | undefined>>} */
  const sent = new Map();

  /** @param {Hook} hook @returns {Promise<Answer>} */
  async function deliver(hook) {
    if (!isFromLull(hook)) return { status: 401 };
    const delivery = JSON.parse(hook.body);
    const key = delivery.idempotencyKey;
    // A repetition that comes while the first one is still under way waits for that one.
    const under = sent.get(key) ?? platform.send(delivery);
    sent.set(key, under);
    if (sent.size > mostRemembered) sent.delete(/** @type {string} */ (sent.keys().next().value));
    try {
      return { body: JSON.stringify({ id: await under }) };
    } catch (error) {
      sent.delete(key);
      console.error(`${delivery.conversation}: ${/** @type {Error} */ (error).message}`);
      return answerTo(error);
    }
  }

  /** @param {Hook} hook @returns {Promise<Answer>} */
  async function hear(hook) {
    if (!platform.isGenuine(hook)) return { status: 401 };
    try {
      return (await platform.hear(hook, tellLull)) ?? { body: "{}" };
    } catch (error) {
      console.error(/** @type {Error} */ (error).message);
      return { status: 503 };
    }
  }

  const server = createServer(async (request, response) => {
    const chunks = [];
    let bytes = 0;
    try {
      for await (const chunk of request) {
        bytes += chunk.length;
        if (bytes > mostBytes) return response.writeHead(413, { connection: "close" }).end();
        chunks.push(chunk);
      }
    } catch {
      return; // whoever asked has gone
    }
    const url = request.url ?? "/";
    const hook = {
      method: request.method ?? "",
      url,
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    };
    const path = url.split("?")[0];
    const act = request.method !== "POST" ? null : path === "/deliver" ? deliver : path === "/platform" ? hear : null;
    /** @type {Answer} */
    const answer = act === null ? { status: 404 } : await act(hook).catch(() => ({ status: 400 }));
    const { status = 200, headers = {}, body = "" } = answer;
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
  });
  server.listen(Number(process.env.PORT ?? 9000), "127.0.0.1", () => {
    const address = /** @type {import("node:net").AddressInfo} */ (server.address());
    console.log(`${name} listens on port ${address.port}`);
  });
}
