/**
 * One outgoing JSON request, for webhooks. Not `fetch`, because delivery must know whether a request that
 * failed had been sent: refused before, it certainly did not arrive; broken after, nobody knows. Redirects
 * are not followed and there is no time limit but the caller's.
 *
 * @module
 */
import http from "node:http";
import https from "node:https";

export interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  /** Cut off at `mostBytes`. */
  text: string;
  /** True when the body was longer. */
  cut: boolean;
}

/** `sent` is false when the connection was never made. */
export class RequestFailed extends Error {
  override readonly name = "RequestFailed";
  readonly sent: boolean;
  constructor(message: string, sent: boolean, cause: unknown) {
    super(message, { cause });
    this.sent = sent;
  }
}

export interface PostOptions {
  headers: Record<string, string>;
  signal: AbortSignal;
  /** Most bytes of the answer that are read. */
  mostBytes: number;
}

/**
 * @throws RequestFailed when there is no complete answer.
 */
export function post(url: URL, body: string, options: PostOptions): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const isTls = url.protocol === "https:";
    let sent = false;
    const fail = (error: Error & { code?: string }) => {
      const why = options.signal.aborted ? "stopped waiting" : (error.code ?? error.message);
      reject(new RequestFailed(`${url.host}: ${why}`, sent, error));
    };
    const request = (isTls ? https : http).request(url, {
      method: "POST",
      // A connection of its own: on a kept one, the other side's idle close looks like a lost request.
      agent: false,
      headers: {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        accept: "application/json",
        "user-agent": "lull-server",
        ...options.headers,
      },
      signal: options.signal,
    });
    request.on("socket", (socket) => {
      socket.once(isTls ? "secureConnect" : "connect", () => {
        sent = true;
      });
    });
    request.on("error", fail);
    request.on("response", (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      const finish = (cut: boolean) =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString("utf8"),
          cut,
        });
      response.on("data", (chunk: Buffer) => {
        if (size + chunk.length > options.mostBytes) {
          chunks.push(chunk.subarray(0, options.mostBytes - size));
          finish(true);
          response.destroy();
          return;
        }
        size += chunk.length;
        chunks.push(chunk);
      });
      response.on("end", () => finish(false));
      response.on("error", fail);
    });
    request.end(body);
  });
}

/** `Retry-After` in milliseconds: seconds or an HTTP date. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1_000;
  const atMs = Date.parse(header);
  return Number.isFinite(atMs) ? Math.max(0, atMs - nowMs) : undefined;
}
