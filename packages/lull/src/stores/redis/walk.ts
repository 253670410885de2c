/**
 * Reading over all shards: what is due, and what there is, in one order.
 *
 * @module
 */
import type { ConversationId } from "../../model.ts";
import type { ListFilter } from "../../ports.ts";
import type { Keys } from "./keys.ts";

/** The order of ids everywhere in lull: that of their UTF-8, which is that of their code points. */
export function compareIds(a: ConversationId, b: ConversationId): number {
  const most = Math.min(a.length, b.length);
  for (let at = 0; at < most; at++) {
    const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Surrogates stand for the highest code points, but not for the highest numbers. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

export interface Timer {
  id: ConversationId;
  wakeAtMs: number;
}

export function compareTimers(a: Timer, b: Timer): number {
  return a.wakeAtMs - b.wakeAtMs || compareIds(a.id, b.id);
}

/** Asks shards for some more of their soonest timers, from `skip` on. */
export type AskDue = (
  shards: readonly { shard: number; skip: number }[],
  most: number,
) => Promise<Map<number, readonly Timer[]>>;

/**
 * The soonest timers of all shards, soonest first, piece by piece: each shard is asked for a few, and for more only when
 * all of these are among the soonest.
 */
export async function* soonest(ask: AskDue, shards: number, wanted: number): AsyncGenerator<Timer> {
  const most = Math.max(16, Math.ceil((2 * wanted) / shards));
  const streams = Array.from({ length: shards }, (_, shard) => ({
    shard,
    skip: 0,
    timers: [] as Timer[],
    done: false,
  }));
  for (;;) {
    const hungry = streams.filter(({ timers, done }) => !done && timers.length === 0);
    if (hungry.length > 0) {
      const answers = await ask(hungry, most);
      for (const stream of hungry) {
        const timers = answers.get(stream.shard) ?? [];
        // Times that are equal come in the order of bytes from one shard, too.
        stream.timers = [...timers];
        stream.skip += timers.length;
        stream.done = timers.length < most;
      }
    }
    let next: (typeof streams)[0] | null = null;
    for (const stream of streams) {
      const [head] = stream.timers;
      if (head !== undefined && (next?.timers[0] === undefined || compareTimers(head, next.timers[0]) < 0))
        next = stream;
    }
    const timer = next?.timers.shift();
    if (timer === undefined) return;
    yield timer;
  }
}

/** The smallest set that holds all matches of a filter. */
export function walkedSet(keys: Keys, shard: number, filter: ListFilter): string {
  const { ids, active, parked, handed } = keys.shard(shard);
  if (filter.parked) return parked;
  if (filter.handedOff) return handed;
  return filter.active ? active : ids;
}

/** Asks one shard for ids behind `after`; `more`: the last one looked at, when there may be more. */
export type AskIds = (shard: number, after: ConversationId, most: number) => Promise<{ ids: string[]; more: string }>;

/** The first `most` ids behind `after` of all shards. */
export async function firstIds(
  ask: AskIds,
  shards: number,
  after: ConversationId,
  most: number,
): Promise<ConversationId[]> {
  const found = await Promise.all(
    Array.from({ length: shards }, async (_, shard) => {
      const all: ConversationId[] = [];
      let from = after;
      for (;;) {
        const { ids, more } = await ask(shard, from, most - all.length);
        all.push(...ids);
        if (more === "" || all.length >= most) return all;
        from = more;
      }
    }),
  );
  return found.flat().sort(compareIds).slice(0, most);
}
