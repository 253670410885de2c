/**
 * A conversation's log as far as it is loaded: pages anywhere in it, the newest entries live, and a stretch without gaps from
 * which the timeline is made.
 *
 * @module
 */
import { signal } from "@preact/signals";
import { type Api, pathOf } from "../shared/api.ts";
import type { Entry } from "../shared/shapes.ts";

/** Entries in a request. */
export const pageSize = 500;

export class Log {
  /** Goes up with every change. */
  readonly version = signal(0);
  /** The newest entry's place; also how many there are. */
  readonly seq = signal(0);
  /** Pages under way. */
  readonly loading = signal(0);

  readonly #api: Api;
  readonly #id: string;
  readonly #signal: AbortSignal;
  readonly #known = new Map<number, Entry>();
  /** Pages that were asked for, by the place of their first entry. */
  readonly #asked = new Map<number, Promise<void>>();
  /** Where the log begins: entries before may have been pruned. */
  #first = 1;

  constructor(api: Api, id: string, signal: AbortSignal) {
    this.#api = api;
    this.#id = id;
    this.#signal = signal;
  }

  /** The oldest place there is. */
  get first(): number {
    return this.#first;
  }

  at(seq: number): Entry | undefined {
    return this.#known.get(seq);
  }

  /** How long the log is, as its record says. */
  reaches(seq: number): void {
    if (seq > this.seq.value) this.seq.value = seq;
  }

  /** An entry that was heard live. */
  heard(entry: Entry): void {
    this.#known.set(entry.seq, entry);
    this.reaches(entry.seq);
    this.version.value += 1;
  }

  /** Loads what is missing of `from … to`, at most one page at a time. */
  async need(from: number, to: number): Promise<void> {
    const firstPage = Math.floor((Math.max(from, this.#first) - 1) / pageSize);
    const lastPage = Math.floor((Math.min(to, this.seq.value) - 1) / pageSize);
    for (let page = firstPage; page <= lastPage; page++) {
      const start = page * pageSize + 1;
      const end = Math.min(start + pageSize - 1, this.seq.value);
      if (this.#has(Math.max(start, this.#first), end)) continue;
      const under = this.#asked.get(start) ?? this.#load(start);
      this.#asked.set(start, under);
      try {
        await under;
      } finally {
        this.#asked.delete(start);
      }
    }
  }

  #has(from: number, to: number): boolean {
    for (let seq = from; seq <= to; seq++) if (!this.#known.has(seq)) return false;
    return true;
  }

  async #load(start: number): Promise<void> {
    this.loading.value += 1;
    try {
      const query = { from: start, before: start + pageSize, limit: pageSize };
      const { entries } = await this.#api.get<{ entries: Entry[] }>(pathOf(this.#id, "/log"), query, this.#signal);
      for (const entry of entries) this.#known.set(entry.seq, entry);
      const oldest = entries[0]?.seq ?? start + pageSize;
      // Nothing before it: retention has been here.
      if (oldest > start && start <= this.#first) this.#first = Math.min(oldest, this.seq.value + 1);
      this.version.value += 1;
    } finally {
      this.loading.value -= 1;
    }
  }

  /** The known entries around a place, without gaps; empty if that one is not known. */
  stretch(around: number): Entry[] {
    let from = around;
    if (!this.#known.has(around)) return [];
    while (this.#known.has(from - 1)) from -= 1;
    const entries: Entry[] = [];
    for (let seq = from; ; seq++) {
      const entry = this.#known.get(seq);
      if (entry === undefined) return entries;
      entries.push(entry);
    }
  }
}
