/**
 * Group commit: what arrives in one turn of the event loop, or while the database is locked, shares one
 * transaction and one sync of the disk. Each job succeeds or fails on its own, and hears of it only after
 * the commit.
 *
 * Both drivers are synchronous: a transaction runs from begin to commit without yielding, so no read of this
 * process ever sees it half done, and waiting for another process's lock must not happen inside SQLite. Nor
 * does SQLite queue the waiting: a busy process could win every time. So a process that notices others steps
 * back now and then, for about the length of a transaction. Now and then, by chance: were it always, two
 * processes would take strict turns, and in a contest for one conversation the same one would come second
 * every time.
 *
 * @module
 */
import { nextTurn } from "../../clock.ts";
import type { Clock } from "../../ports.ts";
import { busyTooLong, isBusy, type SqliteLike, toStoreError } from "./driver.ts";
import { rollback } from "./schema.ts";

export interface CommitOptions {
  clock: Clock;
  /** Jobs in one transaction, at most. */
  maxBatch: number;
  /** A job that could not begin within this time is refused as `store-busy`. */
  busyTimeoutMs: number;
}

export interface Commits {
  /**
   * Runs `job` inside a transaction; resolves to its result once that is committed. A job that throws leaves
   * nothing behind and does not touch the others.
   */
  write<T>(job: () => T): Promise<T>;
  /** Runs `job` outside of transactions, again while the database is locked. */
  read<T>(job: () => T): Promise<T>;
  /** Resolves when everything that was asked for is done. */
  idle(): Promise<void>;
}

interface Job {
  run: () => unknown;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
  giveUpAt: number;
  /** Its batch failed as a whole: it gets a transaction of its own. */
  alone: boolean;
}

type Outcome = { value: unknown } | { error: unknown };

/** For this long after others were noticed, a process steps back now and then. */
const contendedMs = 1_000;
const stepBackChance = 1 / 3;

export function groupCommit(db: SqliteLike, { clock, maxBatch, busyTimeoutMs }: CommitOptions): Commits {
  const queue: Job[] = [];
  let draining: Promise<void> | null = null;
  let contendedUntil = Number.NEGATIVE_INFINITY;
  let lastBatchMs = 0;
  let dataVersion: unknown;

  async function drain(): Promise<void> {
    await nextTurn();
    while (queue.length > 0) {
      if (isContended() && clock.random() < stepBackChance) await clock.sleep(stepBackMs());
      await begin();
      if (queue.length > 0) runBatch(takeBatch());
      await nextTurn();
    }
    draining = null;
  }

  /** Returns with a transaction open, or with an empty queue. */
  async function begin(): Promise<void> {
    for (let attempt = 0; queue.length > 0; attempt++) {
      try {
        db.exec("begin immediate");
        return;
      } catch (error) {
        if (!isBusy(error)) {
          for (const job of queue.splice(0)) job.reject(toStoreError(error));
          return;
        }
        contendedUntil = clock.monotonic() + contendedMs;
        refuseExpired();
        await clock.sleep(backOffMs(attempt));
      }
    }
  }

  /** The data version of a connection changes when another connection has committed. */
  function noticeOthers(): void {
    const { data_version } = db.prepare("pragma data_version").get({}) as { data_version: unknown };
    if (dataVersion !== undefined && dataVersion !== data_version) {
      contendedUntil = clock.monotonic() + contendedMs;
    }
    dataVersion = data_version;
  }

  function refuseExpired(): void {
    const now = clock.monotonic();
    const kept = queue.filter((job) => job.giveUpAt > now);
    for (const job of queue) if (job.giveUpAt <= now) job.reject(busyTooLong(busyTimeoutMs));
    queue.splice(0, queue.length, ...kept);
  }

  function takeBatch(): Job[] {
    if (queue[0]?.alone) return queue.splice(0, 1);
    const end = queue.findIndex((job) => job.alone);
    return queue.splice(0, Math.min(maxBatch, end === -1 ? queue.length : end));
  }

  function runBatch(batch: Job[]): void {
    const startedAt = clock.monotonic();
    let outcomes: Outcome[];
    try {
      noticeOthers();
      outcomes = batch.map((job) => (batch.length === 1 ? { value: job.run() } : inSavepoint(job.run)));
      db.exec("commit");
    } catch (error) {
      rollback(db);
      if (isBusy(error)) {
        queue.unshift(...batch);
        contendedUntil = clock.monotonic() + contendedMs;
        refuseExpired();
      } else if (batch.length === 1) {
        batch[0]?.reject(toStoreError(error));
      } else {
        for (const job of batch) job.alone = true;
        queue.unshift(...batch);
      }
      return;
    }
    lastBatchMs = clock.monotonic() - startedAt;
    for (const [index, job] of batch.entries()) {
      const outcome = outcomes[index];
      if (outcome && "value" in outcome) job.resolve(outcome.value);
      else job.reject(toStoreError(outcome?.error));
    }
  }

  /** Throws only when the whole transaction is lost. */
  function inSavepoint(run: () => unknown): Outcome {
    db.exec("savepoint lull_job");
    let outcome: Outcome;
    try {
      outcome = { value: run() };
    } catch (error) {
      if (isBusy(error)) throw error;
      db.exec("rollback to lull_job");
      outcome = { error };
    }
    db.exec("release lull_job");
    return outcome;
  }

  function isContended(): boolean {
    return clock.monotonic() < contendedUntil;
  }

  function stepBackMs(): number {
    return Math.min(Math.max(lastBatchMs, 1), 20) * (0.5 + clock.random());
  }

  return {
    write: <T>(run: () => T) =>
      new Promise<T>((resolve, reject) => {
        queue.push({
          run,
          resolve: resolve as (value: unknown) => void,
          reject,
          giveUpAt: clock.monotonic() + busyTimeoutMs,
          alone: false,
        });
        draining ??= drain();
      }),

    async read<T>(run: () => T): Promise<T> {
      const giveUpAt = clock.monotonic() + busyTimeoutMs;
      for (let attempt = 0; ; attempt++) {
        try {
          return run();
        } catch (error) {
          if (!isBusy(error)) throw toStoreError(error);
          if (clock.monotonic() >= giveUpAt) throw busyTooLong(busyTimeoutMs);
          await clock.sleep(backOffMs(attempt));
        }
      }
    },

    async idle() {
      while (draining) await draining;
    },
  };

  function backOffMs(attempt: number): number {
    return Math.min(2 ** attempt, 32) * (0.5 + clock.random());
  }
}
