/**
 * What several tabs of one visitor share: who sends, and news of the queue. Where a browser lacks the means (pages that
 * are not served by https), each tab goes by itself: ids keep a message one message all the same.
 *
 * @module
 */

/** Runs `work` while no other tab runs its own under that name. */
export function aloneIn<T>(name: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  // A type of the DOM's promises less: what the lock resolves to is what `work` does.
  if (navigator.locks === undefined) return work();
  return navigator.locks.request(name, signal === undefined ? {} : { signal }, work) as Promise<T>;
}

export type News = { type: "queue" } | { type: "forget"; id: string };

export interface Tabs {
  tell(news: News): void;
  close(): void;
}

/**
 * `name`: of the queue, whose keys in the browser's storage begin with it and `|`. Tabs are different processes, and what one
 * stores the other may see only after it was told: so the storage's own event counts as news, too.
 */
export function createTabs(name: string, onNews: (news: News) => void): Tabs {
  const stored = ({ key }: StorageEvent) => {
    if (key === null || key.startsWith(`${name}|`)) onNews({ type: "queue" });
  };
  window.addEventListener("storage", stored);
  const channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel(name);
  if (channel !== null) channel.onmessage = ({ data }: MessageEvent<News>) => onNews(data);
  return {
    tell: (news) => channel?.postMessage(news),
    close() {
      window.removeEventListener("storage", stored);
      channel?.close();
    },
  };
}

/** Resolves after `ms`; at once when the browser is back online or the page is looked at again. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      document.removeEventListener("visibilitychange", seen);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const seen = () => {
      if (document.visibilityState === "visible") done();
    };
    const timer = setTimeout(done, ms);
    window.addEventListener("online", done);
    document.addEventListener("visibilitychange", seen);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}

/** An id that nobody else makes; also where `crypto.randomUUID` is kept from pages without https. */
export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
