/**
 * What a visitor has seen before, a page at a time, newest page first.
 *
 * @module
 */
import type { LogEntry } from "lull";
import { type ReadLog, type Seen, sightOf } from "./sight.ts";

/** Log entries read for one request, at most: many entries say nothing to a visitor. */
const mostPages = 5;
const pageEntries = 500;

export interface HistoryPage {
  /** Oldest first. Ends of answers are left out: they were news once. */
  seen: Seen[];
  /** What is older begins below this `seq`; null: nothing is. */
  next: number | null;
}

/** Events below `before`; about `least` of them, more where a log entry or a page has more. */
export async function historyOf(visitor: string, read: ReadLog, before: number, least: number): Promise<HistoryPage> {
  let end = before;
  let seen: Seen[] = [];
  for (let page = 0; page < mostPages && end > 1 && seen.length < least; page++) {
    const entries = await read({ before: end, limit: pageEntries });
    const [first] = entries;
    // The rest was pruned.
    if (first === undefined) return { seen, next: null };
    seen = [...(await seenIn(visitor, read, entries)), ...seen];
    end = first.seq;
  }
  return { seen, next: end > 1 ? end : null };
}

async function seenIn(visitor: string, read: ReadLog, entries: readonly LogEntry[]): Promise<Seen[]> {
  const sight = sightOf(visitor, read);
  const seen: Seen[] = [];
  for (const entry of entries) seen.push(...(await sight.see(entry)).filter(({ type }) => type !== "done"));
  return seen;
}
