/**
 * Wake hints by PUBLISH: how other processes hear sooner that a conversation changed. Only ever hints. They are sent
 * after the write, together, at most every 50 ms, and heard on a connection of their own. In a cluster they are sharded:
 * a plain PUBLISH would go to every node. What is lost on the way is found by renewals and by the scan of the due index.
 *
 * @module
 */
import type { ConversationId } from "../../model.ts";
import type { Clock } from "../../ports.ts";
import type { Driver } from "./driver.ts";
import type { Keys } from "./keys.ts";

export interface Hints {
  /** The conversation was written by this process. */
  send(id: ConversationId): void;
  listen(listener: (id: ConversationId) => void): () => void;
  close(): Promise<void>;
}

/** Ids in one message; more in one go are not worth their price. */
const mostIds = 500;
const retryMs = 1_000;

export function hints(driver: Driver, keys: Keys, clock: Clock, togetherMs = 50): Hints {
  const listeners = new Set<(id: ConversationId) => void>();
  const waiting = new Set<ConversationId>();
  const closing = new AbortController();
  /** Own hints come back too: they are not news. */
  const self = clock.id();
  let sending: Promise<void> | null = null;
  let listening: Promise<void> | null = null;

  /** Channel → ids. */
  function byChannel(ids: Iterable<ConversationId>): Map<string, ConversationId[]> {
    const grouped = new Map<string, ConversationId[]>();
    for (const id of ids) {
      const channel = driver.cluster ? keys.channel(keys.of(id).shard) : keys.channel();
      const group = grouped.get(channel) ?? [];
      if (group.length < mostIds) group.push(id);
      grouped.set(channel, group);
    }
    return grouped;
  }

  async function sendAll(): Promise<void> {
    const publish = driver.cluster ? "SPUBLISH" : "PUBLISH";
    while (waiting.size > 0) {
      await clock.sleep(togetherMs, closing.signal);
      const grouped = byChannel(waiting);
      waiting.clear();
      if (closing.signal.aborted) break;
      const sent = [...grouped].map(([channel, ids]) =>
        driver.call(channel, [publish, channel, JSON.stringify([self, ids])]),
      );
      await Promise.allSettled(sent);
    }
    sending = null;
  }

  function hear(message: string): void {
    const [from, ids] = parse(message);
    if (from === self) return;
    for (const id of ids) for (const listener of listeners) listener(id);
  }

  /** The connection mends itself; only the first try may have to be repeated. */
  async function keepListening(): Promise<void> {
    const channels = driver.cluster
      ? Array.from({ length: keys.shards }, (_, shard) => keys.channel(shard))
      : [keys.channel()];
    while (!closing.signal.aborted && listeners.size > 0) {
      try {
        const leave = await driver.listen(channels, hear);
        await aborted(closing.signal);
        await leave().catch(() => {});
      } catch {
        await clock.sleep(retryMs * (0.5 + clock.random()), closing.signal);
      }
    }
    listening = null;
  }

  return {
    send(id) {
      if (closing.signal.aborted) return;
      waiting.add(id);
      sending ??= sendAll();
    },
    listen(listener) {
      listeners.add(listener);
      listening ??= keepListening();
      return () => listeners.delete(listener);
    },
    async close() {
      closing.abort();
      await Promise.all([sending, listening]);
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function parse(message: string): [string, ConversationId[]] {
  try {
    const [from, ids] = JSON.parse(message) as [string, ConversationId[]];
    if (Array.isArray(ids)) return [from, ids.filter((id) => typeof id === "string")];
  } catch {
    // Not ours.
  }
  return ["", []];
}
