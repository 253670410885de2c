/**
 * A webhook is answered 2xx only when everything it brought is durable. Adapters answer at once and work on; what they
 * hand over while a webhook is handled is found by the context it runs in, however they pass it on.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { WebhookOptions } from "./shapes.ts";

/** What takes longer is answered 503, and comes again: seen then, if it was stored after all. */
const mostMs = 10_000;

export interface Writes {
  /** Notes a write that belongs to the webhook being handled, if any. Returns it. */
  note<T>(write: Promise<T>): Promise<T>;
  /** Handles a webhook; answers 503 when anything it brought could not be stored. */
  guard(
    options: WebhookOptions | undefined,
    handle: (options: WebhookOptions) => Promise<Response>,
    onFailure: (error: unknown) => void,
  ): Promise<Response>;
  /** A webhook is being handled, and its answer tells the platform to repeat what failed. */
  readonly repeatable: boolean;
  /** The caller's own options, for what is no message: nobody waits for it. */
  unguarded(options: WebhookOptions | undefined): WebhookOptions | undefined;
}

interface Scope {
  writes: Set<Promise<unknown>>;
}

export function trackWrites(sleep: (ms: number, signal: AbortSignal) => Promise<void>): Writes {
  const scopes = new AsyncLocalStorage<Scope>();
  const originals = new WeakMap<WebhookOptions, WebhookOptions | undefined>();
  return {
    note(write) {
      const scope = scopes.getStore();
      if (scope !== undefined) {
        scope.writes.add(write);
        write.catch(() => {});
      }
      return write;
    },
    get repeatable() {
      return scopes.getStore() !== undefined;
    },
    unguarded: (options) => (options !== undefined && originals.has(options) ? originals.get(options) : options),
    async guard(options, handle, onFailure) {
      const scope: Scope = { writes: new Set() };
      const ours: WebhookOptions = {
        ...options,
        propagateHandlerErrors: true,
        deduplicate: false,
        waitUntil(task) {
          // The adapter works on, and may hand over a message only then.
          scope.writes.add(task);
          options?.waitUntil?.(task.catch(() => {}));
          task.catch(() => {});
        },
      };
      originals.set(ours, options);
      const response = await scopes.run(scope, () => handle(ours));
      if (!response.ok) return response;
      const failed = await settled(scope.writes, sleep);
      if (failed === undefined) return response;
      onFailure(failed.reason);
      return new Response("not stored; deliver it again", { status: 503, headers: { "retry-after": "5" } });
    },
  };
}

/** Waits for all, those noted meanwhile included. The first failure, if any; not being done in time is one. */
async function settled(
  writes: ReadonlySet<Promise<unknown>>,
  sleep: (ms: number, signal: AbortSignal) => Promise<void>,
): Promise<{ reason: unknown } | undefined> {
  const done = new AbortController();
  const late = sleep(mostMs, done.signal).then((): { reason: unknown } => ({
    reason: new Error("not stored in time"),
  }));
  try {
    const seen = new Set<Promise<unknown>>();
    for (;;) {
      const fresh = [...writes].filter((write) => !seen.has(write));
      if (fresh.length === 0) return undefined;
      for (const write of fresh) seen.add(write);
      const results = await Promise.race([Promise.allSettled(fresh), late]);
      if (!Array.isArray(results)) return results;
      const failure = results.find((result) => result.status === "rejected");
      if (failure?.status === "rejected") return { reason: failure.reason };
    }
  } finally {
    done.abort();
  }
}
