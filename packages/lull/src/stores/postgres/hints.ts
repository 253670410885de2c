/**
 * Wake hints by LISTEN and NOTIFY: how other processes hear sooner that a conversation changed. Only ever hints. They
 * are sent after the write, together, at most every 50 ms, and in transactions of their own: a commit that carries a
 * notification takes a lock shared by the whole database, which must not be on the path of a write. What is lost on
 * the way is found by renewals and by the scan of the due index.
 *
 * @module
 */
import type { ConversationId } from "../../model.ts";
import type { Clock } from "../../ports.ts";
import type { Driver } from "./driver.ts";

export interface Hints {
  /** The conversation was written by this process. */
  send(id: ConversationId): void;
  listen(listener: (id: ConversationId) => void): () => void;
  close(): Promise<void>;
}

export interface HintOptions {
  /** Whose connection listens; never through a pooler. */
  driver: Driver;
  channel: string;
  clock: Clock;
  notify(payload: string): Promise<unknown>;
  togetherMs?: number;
}

/** Postgres refuses payloads of 8000 bytes. */
const mostBytes = 7_000;
/** Hints beyond this in one go are not worth their price. */
const mostPayloads = 8;
const retryMs = 1_000;

export function hints({ driver, channel, clock, notify, togetherMs = 50 }: HintOptions): Hints {
  const listeners = new Set<(id: ConversationId) => void>();
  const waiting = new Set<ConversationId>();
  const closing = new AbortController();
  /** Own hints come back too: they are not news. */
  const self = clock.id();
  let sending: Promise<void> | null = null;
  let listening: Promise<void> | null = null;

  async function sendAll(): Promise<void> {
    while (waiting.size > 0) {
      await clock.sleep(togetherMs, closing.signal);
      const ids = [...waiting];
      waiting.clear();
      if (closing.signal.aborted) break;
      for (const payload of payloads(self, ids)) await notify(payload).catch(() => {});
    }
    sending = null;
  }

  function hear(payload: string): void {
    const [from, ids] = parse(payload);
    if (from === self) return;
    for (const id of ids) for (const listener of listeners) listener(id);
  }

  /** Keeps one connection listening for as long as somebody wants to hear. */
  async function keepListening(): Promise<void> {
    while (!closing.signal.aborted && listeners.size > 0) {
      const lost = new AbortController();
      try {
        const leave = await driver.listen(channel, hear, () => lost.abort());
        await either(lost.signal, closing.signal);
        if (closing.signal.aborted) await leave().catch(() => {});
      } catch {
        // Away; the next try is soon enough for a hint.
      }
      if (!closing.signal.aborted) await clock.sleep(retryMs * (0.5 + clock.random()), closing.signal);
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

/** Resolves when one of two signals aborts. */
function either(a: AbortSignal, b: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of [a, b]) {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    }
  });
}

const bytes = new TextEncoder();

function payloads(from: string, ids: ConversationId[]): string[] {
  const made: string[] = [];
  let some: ConversationId[] = [];
  let size = 0;
  const finish = () => {
    if (some.length > 0) made.push(JSON.stringify([from, some]));
    some = [];
    size = 0;
  };
  for (const id of ids) {
    // As JSON writes it, with quotes and comma.
    const more = bytes.encode(JSON.stringify(id)).length + 1;
    if (more > mostBytes) continue;
    if (size + more > mostBytes) finish();
    some.push(id);
    size += more;
  }
  finish();
  return made.slice(0, mostPayloads);
}

function parse(payload: string): [string, ConversationId[]] {
  try {
    const [from, ids] = JSON.parse(payload) as [string, ConversationId[]];
    if (Array.isArray(ids)) return [from, ids.filter((id) => typeof id === "string")];
  } catch {
    // Not ours.
  }
  return ["", []];
}
