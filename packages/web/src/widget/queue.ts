/**
 * Messages on their way to the server: kept in the browser until the server has them, sent in order, one at a time, by one
 * tab, each under the id it was given when it was written. So whatever is sent twice is one message.
 *
 * @module
 */
import type { Storage } from "./storage.ts";
import type { Unsent } from "./talk.ts";

/** What came of a try. `later`: nothing is known of it; the same again, after `retryMs` or when the queue thinks fit. */
export type Tried = { is: "accepted" } | { is: "later"; retryMs: number | null } | { is: "refused"; why: string };

export interface QueueOptions {
  storage: Storage;
  /** Names this visitor's queue among all that are kept here. */
  prefix: string;
  send(message: Unsent): Promise<Tried>;
  /** Runs `work` once no other tab runs its own. Rejects when `signal` aborts before. */
  alone(work: () => Promise<void>, signal: AbortSignal): Promise<void>;
  /** Resolves after `ms`, or as soon as another try is worth it. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
  /** Something in the queue changed here: show it, and tell the other tabs. */
  onChange(): void;
}

export interface Queue {
  add(message: Unsent): void;
  list(): Unsent[];
  /** Takes a refused message back out. */
  remove(id: string): void;
  /** Tries a refused message again. */
  retry(id: string): void;
  /** Sends whatever waits; also what another tab has put in. */
  work(): void;
  stop(): void;
}

const firstMs = 1_000;
const longestMs = 30_000;

/** One key for each message: no tab can undo what another writes at the same time. */
export function createQueue(options: QueueOptions): Queue {
  const { storage, prefix } = options;
  const stop = new AbortController();
  let isWorking = false;
  let again = false;

  function list(): Unsent[] {
    return storage
      .keys(prefix)
      .flatMap((key) => parsed(storage.get(key)) ?? [])
      .sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
  }

  function write(message: Unsent): void {
    storage.set(prefix + message.id, JSON.stringify(message));
    options.onChange();
  }

  async function sendAll(): Promise<void> {
    let tries = 0;
    while (!stop.signal.aborted) {
      const next = list().find(({ refused }) => refused === undefined);
      if (next === undefined) return;
      const tried = await options.send(next);
      if (stop.signal.aborted) return;
      if (tried.is === "later") {
        const backoffMs = Math.min(longestMs, firstMs * 2 ** tries) * (0.75 + Math.random() / 4);
        tries += 1;
        await options.pause(Math.max(backoffMs, tried.retryMs ?? 0), stop.signal);
        continue;
      }
      tries = 0;
      if (tried.is === "accepted") {
        storage.remove(prefix + next.id);
        options.onChange();
      } else write({ ...next, refused: tried.why });
    }
  }

  function work(): void {
    if (stop.signal.aborted || list().every(({ refused }) => refused !== undefined)) return;
    again = true;
    if (!isWorking) void workOn();
  }

  async function workOn(): Promise<void> {
    isWorking = true;
    // The lock may be another tab's, or this queue's end may come first.
    while (again && !stop.signal.aborted) {
      again = false;
      await options.alone(sendAll, stop.signal).catch(() => {});
    }
    isWorking = false;
  }

  return {
    add(message) {
      write(message);
      work();
    },
    list,
    remove(id) {
      storage.remove(prefix + id);
      options.onChange();
    },
    retry(id) {
      const message = parsed(storage.get(prefix + id));
      if (message === null) return;
      const { refused: _, ...fresh } = message;
      write(fresh);
      work();
    },
    work,
    stop: () => stop.abort(),
  };
}

/** What another release, or another script of the site, may have left there is passed over. */
function parsed(stored: string | null): Unsent | null {
  try {
    const value: unknown = JSON.parse(stored ?? "null");
    if (typeof value !== "object" || value === null) return null;
    const { id, text, at, refused } = value as Record<string, unknown>;
    if (typeof id !== "string" || typeof text !== "string" || typeof at !== "number") return null;
    return { id, text, at, ...(typeof refused === "string" ? { refused } : {}) };
  } catch {
    return null;
  }
}
