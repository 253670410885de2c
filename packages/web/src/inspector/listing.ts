/**
 * The list of conversations as it is loaded: page by page, kept up to date by the server's live events, and looked at again
 * now and then, since those are only of the process that answers.
 *
 * @module
 */
import { signal } from "@preact/signals";
import { ApiError, pathOf } from "../shared/api.ts";
import type { Conversation, Event, Listed, ListPage } from "../shared/shapes.ts";
import { follow, type StreamState } from "../shared/stream.ts";
import { api, lostSession } from "./server.ts";

export interface Filter {
  prefix: string;
  author: string;
  state: string;
}

const pageSize = 100;
/** Requests without a hit after which it is the reader who says whether to look on. */
const mostEmpty = 20;
/** Conversations looked at again in one go after events. */
const mostAtOnce = 12;
const afterEventsMs = 600;
const lookAgainMs = 15_000;
/** Events remembered for the feed. */
const mostEvents = 40;

export class Listing {
  readonly rows = signal<Listed[]>([]);
  /** Is there more, as far as is known? */
  readonly more = signal(true);
  readonly loading = signal(false);
  readonly scanned = signal(0);
  readonly error = signal<ApiError | null>(null);
  readonly stream = signal<StreamState>({ is: "connecting" });
  readonly events = signal<Event[]>([]);

  readonly #filter: Filter;
  readonly #end = new AbortController();
  #after: string | null = null;
  #empty = 0;
  #dirty = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #fresh: Event[] = [];
  #sight: [first: number, last: number] = [0, 30];

  constructor(filter: Filter) {
    this.#filter = filter;
    void this.load();
    void follow({
      url: () => api.url("v1/events"),
      onFrame: ({ data }) => this.#heard(data as Event),
      onState: (state) => {
        this.stream.value = state;
        if (state.is === "refused") lostSession(state.error);
      },
      signal: this.#end.signal,
    });
    const again = setInterval(() => void this.#look(), lookAgainMs);
    this.#end.signal.addEventListener("abort", () => clearInterval(again));
  }

  close(): void {
    this.#end.abort();
    clearTimeout(this.#timer);
  }

  /** Loads on, until something is found. `again`: also where nothing was found for long. */
  async load(again = false): Promise<void> {
    if (this.loading.value || !this.more.value) return;
    if (again) this.#empty = 0;
    if (this.#empty >= mostEmpty) return;
    this.loading.value = true;
    try {
      do {
        const page = await this.#page(this.#after, pageSize);
        this.#after = page.next;
        this.scanned.value += page.scanned ?? page.conversations.length;
        this.#empty = page.conversations.length === 0 ? this.#empty + 1 : 0;
        const known = new Set(this.rows.value.map(({ id }) => id));
        this.rows.value = [...this.rows.value, ...page.conversations.filter(({ id }) => !known.has(id))];
        this.more.value = page.next !== null;
      } while (this.more.value && this.#empty > 0 && this.#empty < mostEmpty);
      this.error.value = null;
    } catch (error) {
      this.#failed(error);
    } finally {
      this.loading.value = false;
    }
  }

  /** Did it stop, because nothing was found for long? */
  get isTired(): boolean {
    return this.more.value && this.#empty >= mostEmpty;
  }

  /** Which rows are in sight. */
  readonly sight = (first: number, last: number): void => {
    this.#sight = [first, last];
    if (last >= this.rows.value.length - 20 && this.error.value === null) void this.load();
  };

  #page(after: string | null, limit: number): Promise<ListPage> {
    return api.get<ListPage>("v1/conversations", { ...this.#filter, after, limit }, this.#end.signal);
  }

  #failed(error: unknown): void {
    if (this.#end.signal.aborted || lostSession(error)) return;
    if (!(error instanceof ApiError)) throw error;
    this.error.value = error;
  }

  #heard(event: Event): void {
    this.#fresh.unshift(event);
    this.#dirty.add(event.conversation);
    this.#timer ??= setTimeout(() => void this.#catchUp(), afterEventsMs);
  }

  /** Shows what was heard, and looks at the conversations it was about. */
  async #catchUp(): Promise<void> {
    this.events.value = [...this.#fresh, ...this.events.value].slice(0, mostEvents);
    this.#fresh = [];
    const ids = [...this.#dirty].filter((id) => this.#concerns(id)).slice(0, mostAtOnce);
    // What is left out is found by looking again.
    this.#dirty.clear();
    const found = await Promise.all(
      ids.map((id) => api.get<Conversation>(pathOf(id), {}, this.#end.signal).catch(() => null)),
    );
    this.#timer = undefined;
    if (!this.#end.signal.aborted) for (const conversation of found) if (conversation !== null) this.#put(conversation);
  }

  #concerns(id: string): boolean {
    if (this.#index(id) >= 0) return true;
    const last = this.rows.value.at(-1)?.id;
    return (
      id.startsWith(this.#filter.prefix) &&
      this.#filter.author === "" &&
      (!this.more.value || (last !== undefined && id < last))
    );
  }

  #index(id: string): number {
    return this.rows.value.findIndex((row) => row.id === id);
  }

  #put({ record, ...row }: Conversation): void {
    const rows = [...this.rows.value];
    const index = this.#index(row.id);
    const openedAt = record.window?.openedAt ?? null;
    const listed: Listed = { ...row, openedAt, dueAt: row.wakeAt };
    const { state } = this.#filter;
    // `overdue` is no state of its own; the list says it anew when it is looked at again.
    const fits = state === "" || state === row.state || (state === "overdue" && index >= 0);
    if (index >= 0) rows.splice(index, 1, ...(fits ? [listed] : []));
    else if (fits) {
      const place = rows.findIndex(({ id }) => id > row.id);
      rows.splice(place < 0 ? rows.length : place, 0, listed);
    } else return;
    this.rows.value = rows;
  }

  /** Looks again at what is in sight. */
  async #look(): Promise<void> {
    if (document.hidden || this.loading.value) return;
    if (this.error.value !== null) {
      this.error.value = null;
      return this.load();
    }
    const [first, last] = this.#sight;
    const before = this.rows.value[first - 1]?.id ?? null;
    const shown = this.rows.value.slice(first, last + 1);
    try {
      const page = await this.#page(before, Math.min(1_000, Math.max(1, last - first + 1)));
      const rows = [...this.rows.value];
      const from = before === null ? 0 : this.#index(before) + 1;
      const until = page.conversations.at(-1)?.id ?? shown.at(-1)?.id ?? "";
      const to = rows.findIndex(({ id }, index) => index >= from && id > until);
      rows.splice(from, (to < 0 ? rows.length : to) - from, ...page.conversations);
      this.rows.value = rows;
      if (page.next === null) this.more.value = false;
    } catch (error) {
      this.#failed(error);
    }
  }
}
