/**
 * The line to the server: history first, then the stream; again, from where it broke off, whenever that ends.
 *
 * @module
 */
import { ApiError } from "../shared/api.ts";
import { frames } from "../shared/stream.ts";
import type { Access } from "./access.ts";
import type { ChatEvent, HistoryPage } from "./events.ts";

/** `refused`: for good, as long as the page does not change its settings. */
export type LineState =
  | { is: "connecting" }
  | { is: "live" }
  | { is: "broken"; error: ApiError }
  | { is: "refused"; error: ApiError };

export interface LineOptions {
  access: Access;
  /** The log up to here is known; null: nothing is, and history is asked for. */
  seq(): number | null;
  onPage(page: HistoryPage): void;
  onEvent(event: ChatEvent): void;
  onState(state: LineState): void;
  /** Resolves after `ms`, or as soon as another try is worth it. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
  signal: AbortSignal;
}

const firstMs = 500;
const longestMs = 15_000;
/** A live stream says something every 15 s, unless the server is told otherwise. */
const silentMs = 50_000;
const requestMs = 20_000;

/** Holds the line until `signal` aborts or the server refuses for good. */
export async function holdLine(options: LineOptions): Promise<void> {
  const { access, signal, onState } = options;
  let tries = 0;
  while (!signal.aborted) {
    if (tries === 0) onState({ is: "connecting" });
    let error: ApiError;
    try {
      if (options.seq() === null) options.onPage(await pageOf(access, {}, signal));
      // A stream that says nothing for long is dead, though nobody told us.
      const silent = new AbortController();
      const either = AbortSignal.any([signal, silent.signal]);
      const { body } = await access.ask(`v1/chat/events?after=${options.seq() ?? 0}`, { signal: either });
      if (body === null) throw new ApiError(0, "unreachable", "The stream had no content.");
      onState({ is: "live" });
      let timer = setTimeout(() => silent.abort(), silentMs);
      const watched = body.pipeThrough(
        new TransformStream<Uint8Array, Uint8Array>({
          transform(chunk, controller) {
            clearTimeout(timer);
            timer = setTimeout(() => silent.abort(), silentMs);
            controller.enqueue(chunk);
          },
        }),
      );
      try {
        for await (const { data } of frames(watched)) {
          if (signal.aborted) return;
          tries = 0;
          if (data !== undefined) options.onEvent(data as ChatEvent);
        }
      } finally {
        clearTimeout(timer);
      }
      error = new ApiError(0, "ended", "The stream ended.");
    } catch (thrown) {
      error = thrown instanceof ApiError ? thrown : new ApiError(0, "unreachable", "The connection broke.");
    }
    if (signal.aborted) return;
    // 429 and 5xx pass; what else is refused stays refused.
    if (error.status >= 400 && error.status < 500 && error.status !== 429) return onState({ is: "refused", error });
    onState({ is: "broken", error });
    const backoffMs = Math.min(longestMs, firstMs * 2 ** tries) * (0.75 + Math.random() / 4);
    tries += 1;
    await options.pause(Math.max(backoffMs, (error.retryAfter ?? 0) * 1_000), signal);
  }
}

/** A page of history; without `before` the newest. @throws ApiError */
export async function pageOf(access: Access, page: { before?: number }, signal?: AbortSignal): Promise<HistoryPage> {
  const query = page.before === undefined ? "" : `?before=${page.before}`;
  const timely = AbortSignal.timeout(requestMs);
  const either = signal === undefined ? timely : AbortSignal.any([signal, timely]);
  return (await access.ask(`v1/chat/history${query}`, { signal: either })).json();
}
