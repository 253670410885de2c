/**
 * The timeline's arithmetic, pure: from a conversation's log and record to lanes of bars and marks. Nothing here knows pixels
 * (scale.ts does) or drawing. Each entry of the log is handed to whoever keeps its lane.
 *
 * @module
 */
import type { Conversation, Entry } from "../../shared/shapes.ts";
import { Attempts } from "./attempt.ts";
import { Board, type Turn } from "./board.ts";
import { effectInDoubt, effectRecorded, effectsUnderWay } from "./effect.ts";
import { type Item, type Lane, lanes } from "./item.ts";
import { Operators } from "./operator.ts";
import { tookBack, wrote } from "./people.ts";
import { Replies } from "./reply.ts";
import { Windows } from "./window.ts";

export type { Turn } from "./board.ts";
export { type Fact, type Item, type Lane, lanes, type Tick, type Tone } from "./item.ts";

export interface Timeline {
  items: Item[];
  /** Rows each lane needs; lanes without items are left out. */
  rows: { lane: Lane; rows: number }[];
  turns: Turn[];
  start: number;
  end: number;
}

/** The most rows a lane grows to: beyond, bars lie over each other. */
const mostRows = 4;

/**
 * @param entries Oldest first. May begin anywhere in the log; what began before is shown from where it is seen.
 * @param conversation How things stand; null if that is not known, and then nothing is said to go on.
 * @param now The instant up to which what goes on is drawn.
 */
export function timelineOf(entries: readonly Entry[], conversation: Conversation | null, now: number): Timeline {
  const reading = new Reading(conversation, now);
  for (const entry of entries) reading.take(entry);
  return laidOut(reading.finish(), now);
}

/**
 * The same for long logs, in slices of about `sliceMs` with a pause after each, so that a page stays quick to answer.
 *
 * @returns null when `signal` aborted.
 */
export async function timelineInSlices(
  entries: readonly Entry[],
  conversation: Conversation | null,
  now: number,
  { pause, signal, sliceMs = 10 }: { pause: () => Promise<unknown>; signal: AbortSignal; sliceMs?: number },
): Promise<Timeline | null> {
  const reading = new Reading(conversation, now);
  let since = performance.now();
  for (const [index, entry] of entries.entries()) {
    reading.take(entry);
    if (index % 20 !== 0 || performance.now() - since < sliceMs) continue;
    await pause();
    if (signal.aborted) return null;
    since = performance.now();
  }
  await pause();
  return signal.aborted ? null : laidOut(reading.finish(), now);
}

function laidOut({ items, turns }: Board, now: number): Timeline {
  items.sort((a, b) => a.start - b.start || (a.seq ?? 0) - (b.seq ?? 0));
  const rows = pack(items);
  let start = Number.POSITIVE_INFINITY;
  let end = Number.NEGATIVE_INFINITY;
  for (const item of items) {
    start = Math.min(start, item.start);
    end = Math.max(end, item.end);
  }
  return items.length === 0 ? { items, rows, turns, start: now, end: now } : { items, rows, turns, start, end };
}

/** Gives every bar the first row of its lane that is free; marks stay in the first. */
function pack(items: readonly Item[]): Timeline["rows"] {
  const free = new Map<Lane, number[]>();
  for (const item of items) {
    const ends = free.get(item.lane) ?? [];
    free.set(item.lane, ends);
    if (item.shape === "mark") {
      ends[0] ??= Number.NEGATIVE_INFINITY;
      continue;
    }
    const found = ends.findIndex((end) => end <= item.start);
    item.row = found >= 0 ? found : Math.min(ends.length, mostRows - 1);
    ends[item.row] = Math.max(ends[item.row] ?? Number.NEGATIVE_INFINITY, item.end);
  }
  return lanes.flatMap((lane) => {
    const ends = free.get(lane);
    return ends === undefined ? [] : [{ lane, rows: ends.length }];
  });
}

/** A log being read, entry by entry. */
class Reading {
  readonly #conversation: Conversation | null;
  readonly #now: number;
  readonly #board = new Board();
  readonly #windows: Windows;
  readonly #attempts: Attempts;
  readonly #replies: Replies;
  readonly #operators: Operators;
  /** The newest instant read. */
  #last = Number.NEGATIVE_INFINITY;

  constructor(conversation: Conversation | null, now: number) {
    this.#conversation = conversation;
    this.#now = now;
    this.#windows = new Windows(this.#board, conversation);
    this.#attempts = new Attempts(this.#board);
    this.#replies = new Replies(this.#board, this.#windows, this.#attempts);
    this.#operators = new Operators(this.#board);
  }

  take(entry: Entry): void {
    const at = Date.parse(entry.at);
    this.#last = Math.max(this.#last, at);
    switch (entry.kind) {
      case "message":
      case "edit":
        wrote(this.#board, entry, at);
        if (entry.aside === undefined) this.#windows.heard(entry.version, at, entry.seq);
        return;
      case "retraction":
        tookBack(this.#board, entry, at);
        if (entry.aside === undefined) this.#windows.heard(entry.version, at, entry.seq);
        return;
      case "retry":
        this.#operators.retry(entry, at);
        return this.#windows.heard(entry.version, at, entry.seq);
      case "attempt":
        this.#attempts.begin(entry, at);
        return this.#windows.waited(entry.wait, at);
      case "absorbed":
        return this.#attempts.absorbed(entry, at);
      case "sealed":
        return this.#attempts.sealed(entry, at);
      case "ended":
        return this.#attempts.ended(entry, at);
      case "usage":
        return this.#attempts.spent(entry);
      case "reply":
        return this.#replies.committed(entry, at);
      case "part":
        return this.#replies.part(entry, at);
      case "receipt":
        return this.#replies.receipt(entry, at);
      case "closed":
        return this.#replies.closed(entry, at);
      case "settled":
        return this.#replies.settled(entry, at);
      case "draft":
        return this.#replies.draft(entry, at);
      case "send":
        return this.#replies.send(entry, at);
      case "effect":
        return effectRecorded(this.#board, entry, at);
      case "effect-unknown":
        return effectInDoubt(this.#board, entry, at);
      case "human":
        return this.#operators.human(entry, at);
      case "handoff":
        return this.#operators.handoff(entry, at);
      case "resumed":
        return this.#operators.resumed(entry, at);
      case "tuned":
        return this.#operators.tuned(entry, at);
      case "reset":
        return this.#operators.reset(entry, at);
      default:
        return this.#operators.other(entry, at);
    }
  }

  /** What goes on, by the record; and what the log left open. */
  finish(): Board {
    const [conversation, now, last] = [this.#conversation, this.#now, this.#last];
    this.#attempts.stand(conversation, now, last);
    this.#replies.stand(conversation !== null, now, last);
    effectsUnderWay(this.#board, conversation, now, (fence) => this.#attempts.startOf(fence));
    this.#windows.stand(now, last);
    this.#operators.stand(conversation, now, last);
    for (const item of this.#board.items) if (item.open && item.end < item.start) item.end = item.start;
    return this.#board;
  }
}
