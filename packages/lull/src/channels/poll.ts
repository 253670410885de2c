/**
 * Asking a platform for updates, for bots without a webhook: an offset that moves only when what came is durable, and a
 * loop that says when it does not receive and recovers by itself.
 *
 * @module
 */
import type { Clock } from "../ports.ts";

export interface PollOptions<Update> {
  /** Asks for what comes after `offset`; may wait long. Rejecting means that nothing is received. */
  fetch(offset: number | null, signal: AbortSignal): Promise<readonly Update[]>;
  /** The place after this update. */
  offsetOf(update: Update): number;
  /** Resolves when the update is durable: `hear`. Rejecting keeps the offset where it is. */
  take(update: Update): Promise<unknown>;
  clock: Pick<Clock, "now" | "sleep">;
  /** Pauses after failures: from `firstMs`, doubled up to `maxMs`. Defaults 1,000 and 30,000. */
  backoff?: { firstMs?: number; maxMs?: number };
  /** Called when receiving stops and when it works again. */
  onHealth?(health: PollHealth): void;
}

/** For a health check: a process that sends but is deaf is not healthy. */
export type PollHealth = { receiving: true } | { receiving: false; sinceMs: number; error: string };

export interface Poller {
  readonly health: PollHealth;
  /** Resolves when the update at hand has been taken. */
  stop(): Promise<void>;
}

export function poll<Update>(options: PollOptions<Update>): Poller {
  const { fetch, offsetOf, take, clock, onHealth } = options;
  const { firstMs = 1_000, maxMs = 30_000 } = options.backoff ?? {};
  const stop = new AbortController();
  let health: PollHealth = { receiving: true };
  let offset: number | null = null;
  let failures = 0;

  function tell(next: PollHealth): void {
    const changed = next.receiving !== health.receiving;
    health = next;
    if (changed) onHealth?.(next);
  }

  async function round(): Promise<void> {
    const updates = await fetch(offset, stop.signal);
    for (const update of updates) {
      if (stop.signal.aborted) return;
      await take(update);
      offset = offsetOf(update);
    }
  }

  const loop = (async () => {
    while (!stop.signal.aborted) {
      try {
        await round();
        failures = 0;
        tell({ receiving: true });
      } catch (error) {
        if (stop.signal.aborted) return;
        failures += 1;
        const before = health as PollHealth;
        const sinceMs = before.receiving ? clock.now() : before.sinceMs;
        tell({ receiving: false, sinceMs, error: error instanceof Error ? error.message : String(error) });
        await clock.sleep(Math.min(firstMs * 2 ** (failures - 1), maxMs), stop.signal);
      }
    }
  })();

  return {
    get health() {
      return health;
    },
    async stop() {
      stop.abort();
      await loop;
    },
  };
}
