/**
 * How the bot does: what this process did over time, and how the whole store stands.
 *
 * @module
 */
import type { Lull, Stats } from "lull";
import type { Survey } from "../survey.ts";
import { type Bucket, Buckets, mostMinutes } from "./buckets.ts";

export { mostMinutes } from "./buckets.ts";

export interface Report {
  /** The process that was asked: `buckets` are what it did. */
  owner: string;
  sinceAtMs: number;
  bucketSeconds: number;
  /** Of the whole store, and all processes; a conversation may be in several. Null: not known yet, or the store is away. */
  states: Record<"waiting" | "answering" | "delivering" | "handed-off" | "parked" | "resting", number | null>;
  /** The store's own counts; empty while it is away. */
  stats: Partial<Omit<Stats, "nowMs">> & { working: number };
  buckets: Bucket[];
}

export interface Health {
  /** The last `minutes` (at most a day), in at most 144 buckets. */
  report(minutes: number): Promise<Report>;
  stop(): void;
}

/** What it looks at: the engine of the newest settings, and the events of all. */
export interface Watched extends Pick<Lull, "on" | "stats" | "working"> {
  readonly current: Pick<Lull, "store" | "owner">;
}

/** How often it asks the store whether a timer is overdue. */
const lookMs = 10_000;

/** A bucket is a minute, or five, or ten. */
function minutesOf(minutes: number): number {
  return minutes <= 120 ? 1 : minutes <= 720 ? 5 : 10;
}

export function createHealth(lull: Watched, surveys: () => Promise<Survey | null>): Health {
  const buckets = new Buckets();
  const sinceAtMs = Date.now();
  const off = lull.on((event) => buckets.take(event));
  const timer = setInterval(() => void look().catch(() => {}), lookMs).unref();

  /** One read of an index. A store that is away has metrics of its own. */
  async function look(): Promise<void> {
    const { timers, nowMs } = await lull.current.store.due(Date.now(), 1);
    buckets.lag(timers[0] === undefined ? 0 : Math.max(0, nowMs - timers[0].wakeAtMs), nowMs);
  }

  return {
    async report(minutes) {
      const [stats, survey] = await Promise.all([lull.stats().catch(() => null), surveys(), look().catch(() => {})]);
      const { nowMs = Date.now(), ...counts } = stats ?? {};
      const bucketMinutes = minutesOf(minutes);
      const fromMs = Math.max(sinceAtMs, nowMs - Math.min(minutes, mostMinutes) * 60_000 + 60_000);
      const known = stats === null ? null : survey?.states;
      return {
        owner: lull.current.owner,
        sinceAtMs,
        bucketSeconds: bucketMinutes * 60,
        states: {
          waiting: known?.waiting ?? null,
          answering: known?.answering ?? null,
          delivering: known?.delivering ?? null,
          "handed-off": stats?.handedOff ?? null,
          parked: stats?.parked ?? null,
          resting: stats === null ? null : Math.max(0, stats.conversations - stats.active - stats.parked),
        },
        stats: { working: lull.working, ...counts },
        buckets: buckets.between(Math.min(fromMs, nowMs), nowMs, bucketMinutes),
      };
    },
    stop() {
      clearInterval(timer);
      off();
    },
  };
}
