/**
 * One conversation as the page knows it: its record, its log, its timeline and its explanation, kept up to date by its own
 * stream of events, which every process's entries come through.
 *
 * @module
 */
import { signal } from "@preact/signals";
import { ApiError, pathOf } from "../shared/api.ts";
import type { Conversation, Entry, Event } from "../shared/shapes.ts";
import { follow, type StreamState } from "../shared/stream.ts";
import { Log, pageSize } from "./log.ts";
import { api, lostSession } from "./server.ts";
import { type Timeline, timelineInSlices } from "./timeline/index.ts";

/** The record is asked for again so long after an event, and now and then without one. */
const afterEventMs = 200;
const lookAgainMs = 10_000;
/** So long the timeline waits for pages that are on their way. */
const mostLoadingMs = 2_000;

export class Inspected {
  readonly id: string;
  readonly log: Log;
  readonly conversation = signal<Conversation | null>(null);
  readonly sentences = signal<string[] | null>(null);
  readonly timeline = signal<Timeline | null>(null);
  readonly error = signal<ApiError | null>(null);
  readonly stream = signal<StreamState>({ is: "connecting" });
  /** The log entry that the timeline is made around; null: the newest. */
  readonly focus = signal<number | null>(null);

  readonly #end = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #followed = false;
  #building = false;
  #stale = false;
  #explained: ReturnType<typeof setTimeout> | undefined;
  /** How far ahead of this machine's the server's clock is. */
  #aheadMs = 0;

  constructor(id: string, entry: number | null) {
    this.id = id;
    this.focus.value = entry;
    this.log = new Log(api, id, this.#end.signal);
    this.log.version.subscribe(() => void this.#build());
    void this.refresh();
    const again = setInterval(() => {
      if (!document.hidden) void this.refresh();
    }, lookAgainMs);
    this.#end.signal.addEventListener("abort", () => clearInterval(again));
  }

  close(): void {
    this.#end.abort();
    clearTimeout(this.#timer);
    clearTimeout(this.#explained);
  }

  /** The server's time, as near as is known. */
  now(): number {
    return Date.now() + this.#aheadMs;
  }

  /** Once there is a conversation: its log, and what is added to it. */
  async #follow(): Promise<void> {
    if (this.#followed) return;
    this.#followed = true;
    const seq = this.log.seq.value;
    await this.show(this.focus.value);
    void follow({
      url: (after) => api.url(pathOf(this.id, "/events"), { after: after ?? seq }),
      onFrame: ({ data }) => this.#heard(data as Event),
      onState: (state) => {
        this.stream.value = state;
        if (state.is === "refused" && !lostSession(state.error)) this.error.value = state.error;
        // Entries that came while it was away come again; the record is read anew.
        if (state.is === "live") this.#soon();
      },
      signal: this.#end.signal,
    });
  }

  /** Loads the log around an entry, or its end, and makes the timeline of it. */
  async show(entry: number | null): Promise<void> {
    const seq = this.log.seq.value;
    const around = entry === null || entry > seq ? null : entry;
    this.focus.value = around;
    await this.#trying(() =>
      around === null
        ? this.log.need(Math.max(1, seq - pageSize + 1), seq)
        : this.log.need(around - pageSize / 2, around + pageSize / 2),
    );
    void this.#build();
  }

  /** Loads a page of what comes before the timeline's beginning. */
  async older(): Promise<void> {
    const from = this.stretch()[0]?.seq;
    if (from === undefined || from <= this.log.first || this.log.loading.value > 0) return;
    await this.#trying(() => this.log.need(from - pageSize, from - 1));
  }

  /** The entries the timeline is made of. */
  stretch(): Entry[] {
    return this.log.stretch(this.focus.value ?? this.log.seq.value);
  }

  /** Does the timeline reach to now? */
  get reachesNow(): boolean {
    return this.stretch().at(-1)?.seq === this.log.seq.value;
  }

  #heard(event: Event): void {
    const at = Date.parse(event.at);
    const ahead = at - Date.now();
    // Events are on their way for a moment, so a clock is ahead only by more than that.
    if (ahead > this.#aheadMs || ahead < this.#aheadMs - 5_000) this.#aheadMs = Math.abs(ahead) < 1_500 ? 0 : ahead;
    if (event.entry !== undefined) this.log.heard(event.entry);
    this.#soon();
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.refresh();
    }, afterEventMs);
  }

  /** Reads the record anew, and what explains it. */
  async refresh(): Promise<void> {
    await this.#trying(async () => {
      const conversation = await api.get<Conversation>(pathOf(this.id), {}, this.#end.signal);
      this.log.reaches(conversation.seq);
      this.conversation.value = conversation;
      this.error.value = null;
      // Without the stream, what is new has to be asked for.
      if (this.#followed && this.stream.value.is === "waiting") await this.log.need(conversation.seq, conversation.seq);
    });
    if (this.conversation.value === null) return;
    void this.#follow();
    void this.#build();
    // A long log is long to explain.
    this.#explained ??= setTimeout(() => void this.#explain(), this.log.seq.value > 1_000 ? 2_000 : 0);
  }

  async #explain(): Promise<void> {
    this.#explained = undefined;
    await this.#trying(async () => {
      const { sentences } = await api.get<{ sentences: string[] }>(pathOf(this.id, "/explain"), {}, this.#end.signal);
      this.sentences.value = sentences;
    });
  }

  async #trying(what: () => Promise<void>): Promise<void> {
    try {
      await what();
    } catch (error) {
      if (this.#end.signal.aborted || lostSession(error)) return;
      if (!(error instanceof ApiError)) throw error;
      this.error.value = error;
    }
  }

  /** Makes the timeline anew; once more, if something changed meanwhile. */
  async #build(): Promise<void> {
    this.#stale = true;
    if (this.#building) return;
    this.#building = true;
    const { signal } = this.#end;
    while (this.#stale && !signal.aborted) {
      // Several changes of one moment are one timeline; and so are pages of the log that are loaded one after the other.
      await pause();
      for (const since = performance.now(); this.log.loading.value > 0 && performance.now() - since < mostLoadingMs; )
        await pause(20);
      this.#stale = false;
      const entries = this.stretch();
      const conversation = this.reachesNow ? this.conversation.value : null;
      const made = await timelineInSlices(entries, conversation, this.now(), { pause, signal });
      if (made !== null && (entries.length > 0 || this.conversation.value?.seq === 0)) this.timeline.value = made;
    }
    this.#building = false;
  }
}

function pause(ms = 0): Promise<unknown> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
