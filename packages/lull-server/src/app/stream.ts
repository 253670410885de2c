/**
 * Server-Sent Events over any async source. Nothing is read from the source before the client has taken what
 * came before, so a slow reader costs one event of memory; one that takes nothing for long is cut off and
 * resumes with `Last-Event-ID`.
 *
 * @module
 */

export interface Frame {
  /** `id:`; what a resuming client sends back. Absent for events that cannot be resumed from. */
  id?: number;
  event?: string;
  /** One JSON value. */
  data?: unknown;
}

export interface StreamOptions {
  heartbeatMs: number;
  /** Ends the stream: shutdown, client gone. */
  signal: AbortSignal;
  /** Called once, however the stream ends; with the error if the source broke. */
  onEnd: (error?: unknown) => void;
  /** A reader that takes nothing for this long is cut off. Default 60,000. */
  stalledMs?: number;
}

const encoder = new TextEncoder();

export function frameText(frame: Frame): string {
  let text = "";
  if (frame.id !== undefined) text += `id: ${frame.id}\n`;
  if (frame.event !== undefined) text += `event: ${frame.event}\n`;
  // JSON has no raw line breaks, so one data line is enough.
  if (frame.data !== undefined) text += `data: ${JSON.stringify(frame.data)}\n`;
  return `${text}\n`;
}

/** `source` is told to stop through the signal it was made with and through its `return()`. */
export function eventStream(source: AsyncIterable<Frame>, options: StreamOptions): Response {
  const iterator = source[Symbol.asyncIterator]();
  const stalledMs = options.stalledMs ?? 60_000;
  let out: ReadableStreamDefaultController<Uint8Array> | null = null;
  /** Resolves when the reader has got something; null while it wants nothing. */
  let served: (() => void) | null = null;
  /** The source was asked, and has not answered. Never raced against: each race would leave something at its promise. */
  let isAsked = false;
  let ended = false;
  let takenAt = performance.now();

  const end = (error?: unknown) => {
    if (ended) return;
    ended = true;
    clearTimeout(timer);
    options.signal.removeEventListener("abort", onAbort);
    try {
      out?.close();
    } catch {
      // Cancelled by the reader.
    }
    serve();
    // A generator in the middle of an await takes its `return` only later; nobody waits for it here.
    void Promise.resolve(iterator.return?.()).catch(() => {});
    options.onEnd(error);
  };
  const onAbort = () => end();
  const serve = (text?: string) => {
    if (text !== undefined) out?.enqueue(encoder.encode(text));
    served?.();
    served = null;
  };
  // One timer for a stream's whole life: it is the heartbeat while the reader waits, and watches over it while it does not.
  const timer = setTimeout(() => {
    if (served !== null) serve(": still here\n\n");
    else if (performance.now() - takenAt > stalledMs + options.heartbeatMs) end();
    if (!ended) timer.refresh();
  }, options.heartbeatMs).unref();
  options.signal.addEventListener("abort", onAbort, { once: true });

  const ask = async () => {
    isAsked = true;
    try {
      const { done, value } = await iterator.next();
      isAsked = false;
      if (ended) return;
      if (done) end();
      else serve(frameText(value));
    } catch (error) {
      // A plain end: the client connects again and resumes.
      end(error);
    }
  };

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        out = controller;
        controller.enqueue(encoder.encode("retry: 1000\n\n"));
        if (options.signal.aborted) end();
      },
      pull() {
        takenAt = performance.now();
        timer.refresh();
        return new Promise<void>((resolve) => {
          served = resolve;
          if (!isAsked) void ask();
        });
      },
      cancel() {
        end();
      },
    },
    { highWaterMark: 1 },
  );
  return new Response(body, {
    headers: {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      // Some reverse proxies hold back streams unless told not to.
      "x-accel-buffering": "no",
    },
  });
}

/**
 * A push source as an async iterable with a bound; listens from the call on. A reader that falls behind by
 * more than `most` gets what is queued and then the end: it learns that it missed something by being
 * disconnected. Ends when `signal` aborts.
 */
export function bounded<T>(
  subscribe: (push: (item: T) => void) => () => void,
  most: number,
  signal: AbortSignal,
): AsyncIterable<T> {
  const queue: T[] = [];
  let full = false;
  let wake: (() => void) | null = null;
  const off = subscribe((item) => {
    if (queue.length >= most) full = true;
    else if (!full) queue.push(item);
    wake?.();
  });
  const onAbort = () => {
    off();
    wake?.();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  return (async function* () {
    try {
      while (!signal.aborted) {
        const item = queue.shift();
        if (item !== undefined) yield item;
        else if (full) return;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      off();
      signal.removeEventListener("abort", onAbort);
    }
  })();
}
