/**
 * Server-Sent Events as an async iterable that outlives connections: after a break it goes on behind the last event it
 * gave out, so that nothing is lost and nothing doubled.
 *
 * @module
 */
import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { EventType } from "lull";
import { LullProblem, problemOf } from "./problem.ts";

/** An event as the server shows it: instants are RFC 3339 texts. Newer servers may have types and fields of their own. */
export interface ServerEvent {
  type: EventType | (string & {});
  conversation: string;
  at: string;
  /** Place in the conversation's log; absent for what is live only (typing, drafts, armed windows). */
  seq?: number;
  /** The log's entry behind the event; absent for what is live only. */
  entry?: { kind: string; seq: number; at: string; [field: string]: unknown };
  [field: string]: unknown;
}

export interface StreamOptions {
  /** Opens the stream; is given `Last-Event-ID` once there is one. */
  open: (headers: Record<string, string>, signal: AbortSignal) => Promise<Response>;
  /** Resume behind this seq; null: a stream that cannot be resumed. */
  after: number | null;
  /** Ends the iteration, without an error. */
  signal?: AbortSignal | undefined;
  /** A connection on which nothing comes for so long, not even the server's heartbeat, is opened anew. */
  silentMs: number;
}

/** What the server asks for with `retry:`, until it has. */
const firstRetryMs = 1_000;
const mostRetryMs = 30_000;
/** Nothing is wrong with the request: it may succeed later. */
const passing = new Set([408, 425, 429, 500, 502, 503, 504]);

/** @throws LullProblem if the server refuses the stream: 400, 401, 403 … */
export async function* eventStream(options: StreamOptions): AsyncGenerator<ServerEvent, void, undefined> {
  let { after } = options;
  let retryMs = firstRetryMs;
  let failures = 0;
  const isOver = () => options.signal?.aborted === true;
  while (!isOver()) {
    let waitMs: number | null = null;
    const connection = connect(options, after);
    try {
      for await (const chunk of connection.chunks()) {
        failures = 0;
        retryMs = chunk.retryMs ?? retryMs;
        for (const { id, data } of chunk.messages) {
          // Noted before it is handed out: whoever leaves the loop has seen it.
          if (after !== null && id !== undefined) after = Number(id);
          yield JSON.parse(data) as ServerEvent;
        }
      }
    } catch (error) {
      if (isOver()) return;
      if (error instanceof LullProblem) {
        if (!passing.has(error.status)) throw error;
        waitMs = error.retryAfter === null ? null : error.retryAfter * 1_000;
      } else if (!(error instanceof Broken)) throw error;
    } finally {
      connection.close();
    }
    const backOffMs = Math.min(retryMs * 2 ** failures, mostRetryMs);
    failures += 1;
    // Clients that lost one server do not come back to the next one all at once.
    await pause(waitMs ?? backOffMs * (0.5 + Math.random() / 2), options.signal);
  }
}

/** The connection broke, was silent or could not be made: whatever it was, the next one may do. */
class Broken extends Error {}

interface Chunk {
  messages: EventSourceMessage[];
  /** The server's wish. */
  retryMs: number | null;
}

function connect({ open, signal, silentMs }: StreamOptions, after: number | null) {
  const ended = new AbortController();
  const end = () => ended.abort();
  signal?.addEventListener("abort", end, { once: true });
  let silence: ReturnType<typeof setTimeout> | undefined;
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(end, silentMs);
  };

  async function* chunks(): AsyncGenerator<Chunk, void, undefined> {
    heard();
    const headers = { accept: "text/event-stream", ...(after === null ? {} : { "last-event-id": String(after) }) };
    const response = await open(headers, ended.signal).catch((cause: unknown) => {
      throw new Broken("The stream could not be opened.", { cause });
    });
    if (!response.ok) throw await problemOf(response);
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    if (!isStream || response.body === null)
      throw new LullProblem(response, { detail: "This is not an event stream." });
    let chunk: Chunk = { messages: [], retryMs: null };
    const parser = createParser({
      onEvent: (message) => chunk.messages.push(message),
      onRetry: (ms) => {
        chunk.retryMs = ms;
      },
    });
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    while (true) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw new Broken("The stream broke off.", { cause });
      });
      if (done) return; // what the server had not finished is sent again
      heard();
      parser.feed(decoder.decode(value, { stream: true }));
      yield chunk;
      chunk = { messages: [], retryMs: null };
    }
  }

  const close = () => {
    clearTimeout(silence);
    signal?.removeEventListener("abort", end);
    end();
  };
  return { chunks, close };
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
    if (signal?.aborted === true) done();
  });
}
