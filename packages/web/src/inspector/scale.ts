/**
 * From instants to pixels, pure: the stretch of time in sight, its zooming and panning, the ticks of its axis, and what is
 * drawn of many items, so that the drawing stays small however long a conversation is.
 *
 * @module
 */
import { type Item, type Lane, lanes, type Timeline, type Tone } from "./timeline/index.ts";

/** A stretch of time in sight; milliseconds since 1970. */
export interface Span {
  from: number;
  to: number;
}

/** No shorter stretch is shown: the log has whole milliseconds. */
export const shortestMs = 50;

export function xOf(at: number, { from, to }: Span, width: number): number {
  return ((at - from) / (to - from)) * width;
}

/** Zooms by `factor` (2: half as much in sight) around an instant, and stays near what there is. */
export function zoomed(span: Span, factor: number, around: number, bounds: Span): Span {
  const most = (bounds.to - bounds.from) * 1.2 + 2_000;
  const length = Math.min(most, Math.max(shortestMs, (span.to - span.from) / factor));
  const share = (around - span.from) / (span.to - span.from);
  return kept({ from: around - share * length, to: around + (1 - share) * length }, bounds);
}

/** Moves by a share of what is in sight. */
export function panned(span: Span, share: number, bounds: Span): Span {
  const by = (span.to - span.from) * share;
  return kept({ from: span.from + by, to: span.to + by }, bounds);
}

/** Moves a span that lost sight of everything back to the edge. */
function kept({ from, to }: Span, bounds: Span): Span {
  const length = to - from;
  const least = bounds.from - length * 0.9;
  const most = bounds.to + length * 0.9;
  if (from < least) return { from: least, to: least + length };
  if (to > most) return { from: most - length, to: most };
  return { from, to };
}

/** A stretch with some air around it. */
export function around(from: number, to: number): Span {
  const air = Math.max((to - from) * 0.06, 400);
  return { from: from - air, to: to + air };
}

const steps = [
  10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000,
  1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000, 172_800_000, 604_800_000,
  1_209_600_000, 2_419_200_000, 7_257_600_000, 31_536_000_000,
];

/** Round instants, at least `least` pixels apart. */
export function axisOf(span: Span, width: number, least = 90): { at: number; label: string }[] {
  const perPixel = (span.to - span.from) / width;
  const step =
    steps.find((step) => step >= perPixel * least) ?? Math.ceil((perPixel * least) / 31_536_000_000) * 31_536_000_000;
  const ticks: { at: number; label: string }[] = [];
  for (let at = Math.ceil(span.from / step) * step; at <= span.to && ticks.length < 100; at += step)
    ticks.push({ at, label: axisLabel(at, step) });
  return ticks;
}

function axisLabel(at: number, step: number): string {
  const iso = new Date(at).toISOString();
  if (step >= 86_400_000) return iso.slice(0, 10);
  if (step >= 60_000) return iso.slice(11, 16) === "00:00" ? iso.slice(5, 10) : iso.slice(11, 16);
  return step >= 1_000 ? iso.slice(11, 19) : iso.slice(11, 23);
}

/** One item, or several that are too close to be told apart. */
export interface Drawn {
  key: string;
  lane: Lane;
  row: number;
  x: number;
  width: number;
  /** Newest last. */
  items: Item[];
  tone: Tone;
}

/** What begins nearer than this to the first of a group belongs to it: a group is never wider than that. */
const leastGap = 13;
/** Bars narrower than this share of it are told apart no more. */
const narrow = 0.4;

/**
 * What to draw of a timeline: what is in sight, with what would lie on top of each other grouped, at most `most` of it.
 */
export function drawnOf({ items }: Timeline, span: Span, width: number, most = 240): Drawn[] {
  for (let gap = leastGap; ; gap *= 1.6) {
    const drawn = grouped(items, span, width, gap);
    if (drawn.length <= most) return drawn;
  }
}

function grouped(items: readonly Item[], span: Span, width: number, gap: number): Drawn[] {
  const drawn: Drawn[] = [];
  /** The last group of each row. */
  const groups = new Map<number, Drawn>();
  const perMs = width / (span.to - span.from);
  for (const item of items) {
    if (item.end < span.from || item.start > span.to) continue;
    const x = (item.start - span.from) * perMs;
    const wide = (item.end - item.start) * perMs;
    const isSmall = item.shape === "mark" || wide < gap * narrow;
    const place = lanes.indexOf(item.lane) * 8 + item.row;
    const before = isSmall ? groups.get(place) : undefined;
    // The number of many needs more room than one mark.
    const reach = before !== undefined && before.items.length > 3 ? 2 * gap : gap;
    if (before !== undefined && x - before.x < reach) {
      before.items.push(item);
      before.width = Math.max(before.width, x + wide - before.x);
      before.tone = worse(before.tone, item.tone);
      continue;
    }
    const { id: key, lane, row, tone } = item;
    const one = { key, lane, row, x, width: wide, items: [item], tone };
    drawn.push(one);
    if (isSmall) groups.set(place, one);
  }
  return drawn;
}

const order: Tone[] = ["plain", "good", "live", "human", "warn", "bad"];

/** A group is as bad as the worst in it. */
function worse(a: Tone, b: Tone): Tone {
  return order.indexOf(a) >= order.indexOf(b) ? a : b;
}

/** How much happened in each of `buckets` equal stretches, and the worst of it: the strip below the timeline. */
export function densityOf({ items }: Timeline, bounds: Span, buckets: number): { count: number; tone: Tone }[] {
  const strip = Array.from({ length: buckets }, () => ({ count: 0, tone: "plain" as Tone }));
  const length = Math.max(1, bounds.to - bounds.from);
  for (const item of items) {
    const slot = strip[Math.min(buckets - 1, Math.max(0, Math.floor(((item.start - bounds.from) / length) * buckets)))];
    if (slot === undefined) continue;
    slot.count += 1;
    slot.tone = worse(slot.tone, item.tone);
  }
  return strip;
}

/** The stretch to begin with: the last turns, as many as were close together, at most `most`. */
export function recentOf({ turns, start, end }: Timeline, most = 3): Span {
  const last = turns.at(-1);
  if (last === undefined) return around(start, end);
  let first = last;
  for (const turn of turns.slice(-most, -1).reverse()) {
    if (first.start - turn.end > 60_000) break;
    first = turn;
  }
  return around(first.start, Math.max(last.end, Math.min(end, last.end + 60_000)));
}
