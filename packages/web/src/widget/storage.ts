/**
 * Storage that may be refused, full or gone: then it lasts as long as the page.
 *
 * @module
 */

export interface Storage {
  get(key: string): string | null;
  set(key: string, value: string): void;
  remove(key: string): void;
  /** All keys that begin so. */
  keys(prefix: string): string[];
}

/** What `localStorage` has of a Storage. */
export type Backing = Pick<globalThis.Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

/** @param backing throws where a browser forbids it */
export function storageOn(backing: () => Backing): Storage {
  /** What could not be written; wins over what could. */
  const kept = new Map<string, string>();
  const attempt = <T>(act: (storage: Backing) => T, otherwise: T): T => {
    try {
      return act(backing());
    } catch {
      return otherwise;
    }
  };
  return {
    get: (key) => kept.get(key) ?? attempt((storage) => storage.getItem(key), null),
    set(key, value) {
      kept.delete(key);
      const isWritten = attempt((storage) => {
        storage.setItem(key, value);
        return true;
      }, false);
      if (!isWritten) kept.set(key, value);
    },
    remove(key) {
      kept.delete(key);
      attempt((storage) => storage.removeItem(key), undefined);
    },
    keys(prefix) {
      const stored = attempt((storage) => Array.from({ length: storage.length }, (_, at) => storage.key(at) ?? ""), []);
      return [...new Set([...stored, ...kept.keys()])].filter((key) => key.startsWith(prefix));
    },
  };
}
