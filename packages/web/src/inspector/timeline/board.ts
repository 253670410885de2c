/**
 * Where items are put while a log is read, and the turns they belong to.
 *
 * @module
 */
import type { Item, Lane, Place } from "./item.ts";

/** One unanswered range, from its first input to the end of its answer. */
export interface Turn {
  seq: number;
  start: number;
  end: number;
}

export class Board {
  readonly items: Item[] = [];
  readonly turns: Turn[] = [];

  mark(lane: Lane, kind: string, place: Place, more: Partial<Item>): Item {
    const item: Item = {
      id: `${kind}-${place.seq ?? "now"}`,
      lane,
      row: 0,
      shape: "mark",
      kind,
      start: place.at,
      end: place.at,
      tone: "plain",
      label: "",
      title: "",
      facts: [],
      ticks: [],
      seq: place.seq,
      open: false,
      ...more,
    };
    this.items.push(item);
    return item;
  }

  bar(lane: Lane, kind: string, place: Place, more: Partial<Item>): Item {
    return this.mark(lane, kind, place, { shape: "bar", open: true, ...more });
  }

  take(item: Item): void {
    this.items.splice(this.items.indexOf(item), 1);
  }

  /** The newest turn lasts at least until then. */
  grow(at: number): void {
    const turn = this.turns.at(-1);
    if (turn) turn.end = Math.max(turn.end, at);
  }
}
