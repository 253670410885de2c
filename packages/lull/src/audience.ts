/**
 * Who listens to which conversation. An event of this process wakes those who listen to its conversation, however many
 * listen to others; for what other processes write, one loop asks the store on behalf of all. So a listener to whom
 * nothing happens costs no timer, and leaves nothing behind that has to be collected.
 *
 * @module
 */
import { enough } from "./clock.ts";
import type { LullEvent } from "./events.ts";
import type { ConversationId } from "./model.ts";
import type { Clock } from "./ports.ts";

/** Each conversation that is listened to is asked about this often. */
const everyMs = 1_000;
/** What is due within this is asked together, at most so much at once: stores make one round trip of it. */
const togetherMs = 20;
const atOnce = 100;
/** Live-only events that are kept for a listener that is slow; more are dropped. */
const mostLive = 1_000;

/** Somebody who listens to one conversation. */
export class Ear {
  readonly conversation: ConversationId;
  /** The newest log entry its owner has got; null: not known yet, and then the store is not asked for newer ones. */
  after: number | null = null;
  /** Events that are not in the log, not yet taken by the owner. */
  readonly live: LullEvent[] = [];
  #isTold = false;
  #error: unknown;
  #wake: (() => void) | null = null;

  constructor(conversation: ConversationId) {
    this.conversation = conversation;
  }

  hear(event: LullEvent): void {
    if (event.seq === undefined && this.live.length < mostLive) this.live.push(event);
    this.tell();
  }

  /** There may be something new. */
  tell(error?: unknown): void {
    this.#isTold = true;
    this.#error ??= error;
    this.#wake?.();
  }

  /** Resolves when there may be something new since the last time. @throws what the store threw that was asked. */
  async news(): Promise<void> {
    if (!this.#isTold)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    this.#wake = null;
    this.#isTold = false;
    if (this.#error !== undefined) throw this.#error;
  }
}

interface Row {
  readonly ears: Set<Ear>;
  dueMs: number;
}

export interface Audience {
  listen(conversation: ConversationId): Ear;
  leave(ear: Ear): void;
}

/**
 * @param on Calls with every event of this process; used while anybody listens.
 * @param newest A conversation's newest log entry as the store has it, 0 if there is none.
 */
export function audience(
  clock: Clock,
  on: (listener: (event: LullEvent) => void) => () => void,
  newest: (id: ConversationId) => Promise<number>,
): Audience {
  /** In the order of when they are due. */
  const rows = new Map<ConversationId, Row>();
  let leave: (() => void) | null = null;

  async function watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const now = clock.monotonic();
      const due: [ConversationId, Row][] = [];
      for (const entry of rows) {
        if (entry[1].dueMs > now || due.length === atOnce) break;
        due.push(entry);
      }
      await Promise.all(due.map(([id, row]) => ask(id, row)));
      for (const [id, row] of due) {
        if (rows.get(id) !== row) continue;
        rows.delete(id);
        row.dueMs = clock.monotonic() + everyMs;
        rows.set(id, row);
      }
      const [first] = rows.values();
      const waitMs = (first?.dueMs ?? 0) - clock.monotonic();
      if (waitMs > 0) await clock.sleep(Math.max(togetherMs, waitMs), signal);
    }
  }

  async function ask(id: ConversationId, { ears }: Row): Promise<void> {
    try {
      const seq = await newest(id);
      for (const ear of ears) if (ear.after !== null && ear.after !== seq) ear.tell();
    } catch (error) {
      for (const ear of ears) ear.tell(error);
    }
  }

  function open(): void {
    const stop = new AbortController();
    const off = on((event) => {
      for (const ear of rows.get(event.conversation)?.ears ?? []) ear.hear(event);
    });
    leave = () => {
      off();
      stop.abort(enough);
    };
    void watch(stop.signal);
  }

  return {
    listen(conversation) {
      const ear = new Ear(conversation);
      const row = rows.get(conversation) ?? { ears: new Set(), dueMs: clock.monotonic() + everyMs };
      row.ears.add(ear);
      rows.set(conversation, row);
      if (leave === null) open();
      return ear;
    },
    leave(ear) {
      const row = rows.get(ear.conversation);
      row?.ears.delete(ear);
      if (row?.ears.size === 0) rows.delete(ear.conversation);
      if (rows.size > 0) return;
      leave?.();
      leave = null;
    },
  };
}
