/**
 * Notices a store that went back in time: a failover to a replica that lacked something, a restored backup, a log file
 * that lost its end. Every shard counts the writes it was given; each process has one of a few dozen counts, and remembers
 * the highest it was told. An answer with a lower one is proof that an acknowledged write is gone.
 *
 * @module
 */

/** Counts in one shard. Processes that share one notice less, never more, than there is. */
const buckets = 64;

export interface Ledger {
  /** The field that this process counts in. */
  readonly bucket: string;
  /** Before a call is sent. */
  before(shard: number): Mark;
  /** Its answer's count. `wrote`: the call itself has added to it. Tells how many acknowledged writes are gone, at least. */
  after(mark: Mark, count: number, wrote: boolean): number;
  /** The shard begins anew. */
  forget(shard: number): void;
}

export interface Mark {
  shard: number;
  count: number;
  epoch: number;
}

export function ledger(random: () => number): Ledger {
  const highest = new Map<number, { count: number; epoch: number }>();
  const of = (shard: number) => highest.get(shard) ?? { count: 0, epoch: 0 };
  return {
    bucket: `w${Math.floor(random() * buckets)}`,
    before: (shard) => ({ shard, ...of(shard) }),
    after(mark, count, wrote) {
      const now = of(mark.shard);
      // A loss that was noticed already.
      if (mark.epoch !== now.epoch) return 0;
      const gone = mark.count + (wrote ? 1 : 0) - count;
      if (gone > 0) {
        highest.set(mark.shard, { count, epoch: now.epoch + 1 });
        return gone;
      }
      if (count > now.count) highest.set(mark.shard, { count, epoch: now.epoch });
      return 0;
    },
    forget(shard) {
      highest.set(shard, { count: 0, epoch: of(shard).epoch + 1 });
    },
  };
}
