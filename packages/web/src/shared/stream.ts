/**
 * Server-Sent Events over `fetch`, so that the page sees why a stream was refused. Comes back by itself, later and later, and
 * goes on after the last event it got.
 *
 * @module
 */
import { ApiError, problemOf } from "./api.ts";

export interface Frame {
  id: number | null;
  data: unknown;
}

/** `live`: events come. `waiting`: the connection broke; tried again at `retryAt` (milliseconds since 1970). */
export type StreamState =
  | { is: "connecting" }
  | { is: "live" }
  | { is: "waiting"; error: ApiError; retryAt: number }
  | { is: "refused"; error: ApiError };

export interface FollowOptions {
  /** The address, given the id of the last event, if there was one. */
  url: (after: number | null) => URL;
  onFrame: (frame: Frame) => void;
  onState: (state: StreamState) => void;
  signal: AbortSignal;
}

/** First wait before another try; doubled up to `longestMs`. */
const firstMs = 1_000;
const longestMs = 30_000;

/** Follows until `signal` aborts, or the server refuses for good (401, 403, 404). */
export async function follow({ url, onFrame, onState, signal }: FollowOptions): Promise<void> {
  let after: number | null = null;
  let tries = 0;
  while (!signal.aborted) {
    if (tries === 0) onState({ is: "connecting" });
    let error: ApiError;
    try {
      const response: Response = await fetch(url(after), { credentials: "same-origin", cache: "no-store", signal });
      if (!response.ok) throw await problemOf(response);
      if (response.body === null) throw new ApiError(0, "unreachable", "The stream had no content.");
      onState({ is: "live" });
      for await (const frame of frames(response.body)) {
        tries = 0;
        if (frame.id !== null) after = frame.id;
        if (frame.data !== undefined) onFrame(frame);
      }
      error = new ApiError(0, "ended", "The stream ended.");
    } catch (thrown) {
      if (signal.aborted) return;
      error =
        thrown instanceof ApiError ? thrown : new ApiError(0, "unreachable", "The connection to the server broke.");
    }
    if (signal.aborted) return;
    if ([401, 403, 404].includes(error.status)) return onState({ is: "refused", error });
    const backoffMs = Math.min(longestMs, firstMs * 2 ** tries) * (0.75 + Math.random() / 4);
    const waitMs = Math.max(backoffMs, (error.retryAfter ?? 0) * 1_000);
    tries += 1;
    onState({ is: "waiting", error, retryAt: Date.now() + waitMs });
    await pause(waitMs, signal);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    // Back from a tunnel: no reason to wait any longer.
    window.addEventListener("online", done, { once: true });
    signal.addEventListener("abort", done, { once: true });
  });
}

/** The frames of a body of type `text/event-stream`. */
export async function* frames(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const frame = frameOf(block);
        if (frame !== null) yield frame;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function frameOf(block: string): Frame | null {
  let id: number | null = null;
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const [name, value] = [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
    if (name === "id") id = Number(value);
    else if (name === "data") data.push(value);
  }
  if (id === null && data.length === 0) return null;
  return { id, data: data.length === 0 ? undefined : JSON.parse(data.join("\n")) };
}
