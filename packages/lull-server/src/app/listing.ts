/**
 * Finding conversations, also by what no store has an index for: then a bounded number is looked at, and the caller goes
 * on from where that ended.
 *
 * @module
 */
import type { ConversationView, ListFilter } from "lull";
import type { Scoped } from "./scope.ts";

/**
 * `parked` and `handed-off`: whatever else goes on there. `overdue`: its timer should have rung 5 s ago, or the longest
 * wait is over and nobody answers. The others are what a conversation's `state` says.
 */
export const stateFilters = [
  "waiting",
  "answering",
  "delivering",
  "parked",
  "handed-off",
  "overdue",
  "resting",
] as const;
export type StateFilter = (typeof stateFilters)[number];

export interface Wanted extends ListFilter {
  state?: StateFilter;
  /** Wrote one of the newest entries of the log. */
  author?: string;
  after?: string;
  /** Default 50. */
  limit?: number;
}

export interface Found {
  conversations: ConversationView[];
  /** Go on after this one; null: there are no others. */
  next: string | null;
  /** How many were looked at; absent where an index led to exactly those. */
  scanned?: number;
}

/** A timer that rang this long ago and was not heard. */
const lateMs = 5_000;
/** How much is looked at in one request: what ends first. */
const mostScanned = 5_000;
const mostMs = 100;
/** From the store at once: more and more, since most of what is looked for is found soon or hardly ever. */
const pageSizes = { first: 100, most: 500 };
/** Looking for an author reads logs, these at once. */
const logsAtOnce = 20;
const newestEntries = 200;

/** The states that an index leads to, and those it helps with. */
const indexed: Record<StateFilter, { filter: ListFilter; exactly: boolean }> = {
  parked: { filter: { parked: true }, exactly: true },
  "handed-off": { filter: { handedOff: true }, exactly: true },
  waiting: { filter: { active: true }, exactly: false },
  answering: { filter: { active: true }, exactly: false },
  delivering: { filter: { active: true }, exactly: false },
  overdue: { filter: { active: true }, exactly: false },
  // Not by the index: where nobody rests, it would lead through everybody.
  resting: { filter: {}, exactly: false },
};

export async function findConversations(lull: Pick<Scoped, "list" | "log">, wanted: Wanted): Promise<Found> {
  const { state, author, after: from, limit = 50, ...given } = wanted;
  const index = state === undefined ? { filter: {}, exactly: true } : indexed[state];
  const filter = { ...given, ...index.filter };
  const starting = from === undefined ? {} : { after: from };
  if (index.exactly && author === undefined) {
    const { conversations, next } = await lull.list({ ...starting, limit }, filter);
    return { conversations, next };
  }
  const began = performance.now();
  const found: ConversationView[] = [];
  let scanned = 0;
  let after = from;
  let size = author === undefined ? Math.max(pageSizes.first, limit) : logsAtOnce;
  do {
    const page = await lull.list({ ...(after === undefined ? {} : { after }), limit: size }, filter);
    const fits = await Promise.all(
      page.conversations.map(
        async (view) =>
          (index.exactly || state === undefined || isIn(state, view, page.nowMs)) &&
          (author === undefined || (await hasWritten(lull, view, author))),
      ),
    );
    for (const [at, view] of page.conversations.entries()) {
      scanned += 1;
      after = view.id;
      if (fits[at] && found.push(view) === limit)
        return { conversations: found, next: at + 1 < page.conversations.length ? view.id : page.next, scanned };
    }
    if (page.next === null) return { conversations: found, next: null, scanned };
    after = page.next;
    if (author === undefined) size = Math.min(size * 2, pageSizes.most);
  } while (scanned < mostScanned && performance.now() - began < mostMs);
  return { conversations: found, next: after, scanned };
}

function isIn(state: StateFilter, view: ConversationView, nowMs: number): boolean {
  if (state !== "overdue") return view.state === state;
  const nobody = view.lease === null && view.outbox === null && view.handoff === null;
  return (
    (view.wakeAtMs !== null && view.wakeAtMs < nowMs - lateMs) ||
    (nobody && view.pending > 0 && view.capAtMs !== null && view.capAtMs < nowMs - lateMs)
  );
}

async function hasWritten(lull: Pick<Scoped, "log">, { id, seq }: ConversationView, author: string): Promise<boolean> {
  const entries = await lull.log(id, { before: seq + 1, limit: newestEntries });
  return entries.some((entry) => "author" in entry && entry.author === author);
}
