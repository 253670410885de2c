/**
 * Leaves no trace of what was erased or pruned in the files of a database. SQLite overwrites deleted content
 * (`secure_delete`), but not the copies that it left behind in pages it split or merged before, nor what its
 * write-ahead log still holds. So the whole file is written anew, and the log is emptied.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import type { Clock } from "../../ports.ts";
import { busyTooLong, isBusy, type SqliteLike, toStoreError } from "./driver.ts";

export interface ScrubOptions {
  /** How long to wait for others to let go of the database, in each of the two steps. Default 60 000. */
  busyTimeoutMs?: number;
  /** Default: the machine's. */
  clock?: Clock;
}

/**
 * `VACUUM`, then an emptied write-ahead log. Takes as long as copying the file, needs as much free space, and blocks the
 * calling thread; writers of other connections wait. So give it a connection, and best a thread or process, of its own.
 * Safe to repeat.
 *
 * @throws LullError `store-busy` when others held the database for too long; `store-…` for what SQLite refuses
 */
export async function scrub(db: SqliteLike, options: ScrubOptions = {}): Promise<void> {
  const { busyTimeoutMs = 60_000, clock = systemClock() } = options;
  const patiently = async (step: () => boolean): Promise<void> => {
    const giveUpAt = clock.monotonic() + busyTimeoutMs;
    for (;;) {
      try {
        if (step()) return;
      } catch (error) {
        if (!isBusy(error)) throw toStoreError(error);
      }
      if (clock.monotonic() >= giveUpAt) throw busyTooLong(busyTimeoutMs);
      await clock.sleep(20);
    }
  };
  db.exec("pragma busy_timeout = 50");
  await patiently(() => {
    db.exec("vacuum");
    return true;
  });
  // Busy while somebody still reads from it: that is told by a column, not by an error.
  await patiently(() => (db.prepare("pragma wal_checkpoint(truncate)").get({}) as { busy: number }).busy === 0);
}
