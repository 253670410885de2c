/**
 * What makes a run on virtual time the same every time, on every store: jobs are carried out one at a time, and each
 * only after everything that the one before it caused has been asked for.
 *
 * @module
 */

export interface Wires {
  /** Carries out a job when its turn comes. */
  run<T>(job: () => Promise<T>): Promise<T>;
  /** Resolves when everything that can happen without time passing has happened. */
  settle(): Promise<void>;
}

/** Resolves after all that is ready now, and what that makes ready: Node empties its microtasks before its ticks. */
export function quiet(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

export function wires(): Wires {
  const queue: (() => Promise<void>)[] = [];
  let draining: Promise<void> | null = null;

  async function drain(): Promise<void> {
    for (;;) {
      // Whoever asked for a job, or was answered by the last one, goes on first as far as possible.
      await quiet();
      const job = queue.shift();
      if (job === undefined) break;
      await job();
    }
    draining = null;
  }

  return {
    run: (job) =>
      new Promise((resolve, reject) => {
        queue.push(() => job().then(resolve, reject));
        draining ??= drain();
      }),
    async settle() {
      do {
        await draining;
        await quiet();
      } while (draining !== null);
    },
  };
}
