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
  let next: Promise<IteratorResult<Frame>> | null = null;
  let ended = false;
  let takenAt = performance.now();
  const stalledMs = options.stalledMs ?? 60_000;
  let cut: (() => void) | null = null;

  const end = (error?: unknown) => {
    if (ended) return;
    ended = true;
    clearInterval(watchdog);
    options.signal.removeEventListener("abort", onAbort);
    // A generator in the middle of an await takes its `return` only later; nobody waits for it here.
    void Promise.resolve(iterator.return?.()).catch(() => {});
    options.onEnd(error);
  };
  const onAbort = () => {
    cut?.();
    end();
  };
  const watchdog = setInterval(
    () => {
      if (performance.now() - takenAt > stalledMs + options.heartbeatMs) onAbort();
    },
    Math.min(stalledMs, 5_000),
  );
  watchdog.unref();
  options.signal.addEventListener("abort", onAbort, { once: true });

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        cut = () => {
          try {
            controller.close();
          } catch {
            // Closed or cancelled already.
          }
        };
        controller.enqueue(encoder.encode("retry: 1000\n\n"));
        if (options.signal.aborted) onAbort();
      },
      async pull(controller) {
        takenAt = performance.now();
        next ??= iterator.next();
        let timer: NodeJS.Timeout | undefined;
        const beat = new Promise<null>((resolve) => {
          timer = setTimeout(resolve, options.heartbeatMs, null);
        });
        try {
          const result = await Promise.race([next, beat]);
          if (ended) return;
          if (result === null) {
            controller.enqueue(encoder.encode(": still here\n\n"));
            return;
          }
          next = null;
          if (result.done) {
            controller.close();
            end();
          } else controller.enqueue(encoder.encode(frameText(result.value)));
        } catch (error) {
          // A plain end: the client connects again and resumes.
          if (!ended) controller.close();
          end(error);
        } finally {
          clearTimeout(timer);
        }
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
