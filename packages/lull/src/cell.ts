/**
 * One conversation's writes in one process: transitions applied to the newest record known, stored by
 * compare-and-exchange, repeated with the witness after a conflict, and settled after an answer that never came.
 * Nothing here knows what a transition means.
 *
 * @module
 */
import { LullError } from "./errors.ts";
import type {
  ConversationId,
  ConversationRecord,
  Json,
  Limits,
  LogEntry,
  Outcomes,
  ProtocolEvent,
  Revision,
} from "./model.ts";
import { blank } from "./model.ts";
import type { Clock, Duplicate, SeenKey, Store } from "./ports.ts";
import { apply } from "./protocol.ts";
import { tailFrom, wakeAt } from "./window.ts";

export type Outcome = Outcomes[keyof Outcomes];

/** What a caller wants done to a conversation, atomically. */
export interface Operation {
  /** The transitions, in order. `log` is the tail, when asked for. Called again after a conflict. */
  events(record: ConversationRecord, log: readonly LogEntry[], nowMs: number): ProtocolEvent[];
  /**
   * Keys that must be new, with what a repetition is to be answered. Remembered only when the operation writes
   * something; otherwise merely asked about, so that a repetition is told even where a first time would be refused.
   * (An operation that was refused may write all the same, the end of a hand-off say: its keys are to have expired.)
   */
  seen?(outcomes: Outcome[], nowMs: number): SeenKey[];
  /** Deciding needs the log's tail (edits, retractions, human replies). */
  needsLog?: boolean;
  /** The caller needs the log's tail afterwards (claims). */
  wantsLog?: boolean;
  /** Give up after so long without an answer from the store. Default: never. */
  patienceMs?: number;
}

export interface Performed {
  outcomes: Outcome[];
  record: ConversationRecord | null;
  /** Entries this operation appended. */
  entries: LogEntry[];
  /** The tail, when asked for. */
  log: LogEntry[];
  /** Set instead of outcomes: the keys were seen before. */
  duplicate: { key: string; value: Json }[] | null;
}

/** What a stored write showed, for whoever looks after the conversation. */
export type OnWrite = (
  id: ConversationId,
  record: ConversationRecord,
  entries: LogEntry[],
  wakeAtMs: number | null,
) => void;

interface Waiting {
  operation: Operation;
  /** Monotonic. */
  sinceMs: number;
  resolve(result: Performed): void;
  reject(error: unknown): void;
}

/** What one operation came to, before it is stored. */
interface Result {
  outcomes: Outcome[];
  entries: LogEntry[];
  seen: SeenKey[];
}

interface Lane {
  /**
   * Newest record known; undefined when it must be read. A guess until a write succeeds under it. The first is that there
   * is none: a new conversation then costs one round trip, and one that exists is told by the conflict.
   */
  record: ConversationRecord | null | undefined;
  /** Of the write that is under way. */
  writing: Revision | null;
  queue: Waiting[];
  /** Performed right now. */
  under: Waiting[];
  /** What the store said when it failed last. */
  trouble: unknown;
  running: boolean;
}

/** Receives that wait together share one exchange; more than this would make the exchange long. */
const mostTogether = 100;
/** Idle conversations whose newest record is remembered, so that the next receive is one round trip. */
const mostRemembered = 10_000;

/** Callers of a store that hangs are looked after this often. */
const watchMs = 1_000;

/** The store's clock, as far as this process knows it: the last answer, carried on by the monotonic clock. */
export interface StoreTime {
  now(): number;
  observe(nowMs: number): void;
}

export function storeTime(clock: Clock): StoreTime {
  let base: { storeMs: number; atMs: number } | null = null;
  return {
    now: () => Math.floor(base === null ? clock.now() : base.storeMs + (clock.monotonic() - base.atMs)),
    observe(nowMs) {
      base = { storeMs: nowMs, atMs: clock.monotonic() };
    },
  };
}

export interface Cells {
  perform(id: ConversationId, operation: Operation): Promise<Performed>;
  /** Reads the record and, with `from`, the log's tail. */
  load(id: ConversationId): Promise<{ record: ConversationRecord | null; log: LogEntry[] }>;
  /** The conversation's newest write, as far as this process knows, or the one it is making. */
  knows(id: ConversationId, revision: Revision): boolean;
  /** The record may have changed in a way this process cannot see (an erasure). */
  forget(id: ConversationId): void;
  /** What waits for a store that is away is not repeated any more, but rejected. */
  giveUp(): void;
}

export function cells(
  store: Store,
  clock: Clock,
  time: StoreTime,
  /** Asked once for each exchange; the record may have wishes of its own. */
  limitsOf: (id: ConversationId) => (record: ConversationRecord | null) => Limits,
  onWrite: OnWrite,
): Cells {
  const lanes = new Map<ConversationId, Lane>();
  const busy = new Set<Lane>();
  let watching: AbortController | null = null;
  /** Operations of an older one were given up. */
  let generation = 0;

  function laneOf(id: ConversationId): Lane {
    const lane = lanes.get(id) ?? newLane();
    // Re-inserting keeps the map in order of use.
    lanes.delete(id);
    lanes.set(id, lane);
    if (lanes.size > mostRemembered)
      for (const [oldest, { running }] of lanes) {
        if (running) continue;
        lanes.delete(oldest);
        if (lanes.size <= mostRemembered) break;
      }
    return lane;
  }

  function newLane(): Lane {
    return { record: null, writing: null, queue: [], under: [], trouble: undefined, running: false };
  }

  async function read(id: ConversationId, logFrom?: number) {
    const loaded = await store.load(id, logFrom === undefined ? {} : { logFrom });
    time.observe(loaded.nowMs);
    return loaded;
  }

  /** Record and tail as of one moment. The cached record only guesses where the tail begins. */
  async function readWithTail(id: ConversationId, guess: ConversationRecord | null | undefined) {
    let from = guess ? tailFrom(guess) : 1;
    for (;;) {
      const { record, log } = await read(id, from);
      const first = record === null ? 1 : tailFrom(record);
      if (from <= first) return { record, log: log.filter((entry) => entry.seq >= first) };
      from = first;
    }
  }

  async function drain(id: ConversationId, lane: Lane): Promise<void> {
    busy.add(lane);
    if (watching === null) void watch();
    while (lane.queue.length > 0) {
      const alone = special(lane.queue[0]);
      const until = alone ? 1 : lane.queue.findIndex(special);
      lane.under = lane.queue.splice(0, Math.min(until < 0 ? mostTogether : until, mostTogether));
      await together(id, lane, lane.under);
    }
    lane.under = [];
    lane.trouble = undefined;
    lane.running = false;
    busy.delete(lane);
  }

  /** A store that neither answers nor fails must not keep its callers for ever. One watch for all: receives are many. */
  async function watch(): Promise<void> {
    const stop = new AbortController();
    watching = stop;
    while (busy.size > 0 && !stop.signal.aborted) {
      await clock.sleep(watchMs, stop.signal);
      for (const lane of busy) {
        const kept = lane.queue.filter((waiting) => !expired(waiting, lane.trouble));
        lane.queue.splice(0, lane.queue.length, ...kept);
        // What is under way cannot be called back; if it was stored after all, a repetition is recognised.
        for (const waiting of lane.under) expired(waiting, lane.trouble);
      }
    }
    if (watching === stop) watching = null;
  }

  function special(waiting: Waiting | undefined): boolean {
    return waiting?.operation.needsLog === true || waiting?.operation.wantsLog === true;
  }

  /** Performs operations in one exchange, whatever it takes. */
  async function together(id: ConversationId, lane: Lane, batch: Waiting[]): Promise<void> {
    const mine = generation;
    let failures = 0;
    try {
      const limitsFor = limitsOf(id);
      const wants = {
        needsLog: batch.some(({ operation }) => operation.needsLog),
        wantsLog: batch.some(({ operation }) => operation.wantsLog),
      };
      let left = batch;
      while (left.length > 0) {
        try {
          left = await once(id, lane, left, limitsFor, wants);
        } catch (error) {
          if (mine !== generation || (LullError.isInstance(error) && !error.retryable)) throw error;
          lane.record = undefined;
          lane.trouble = error;
          failures += 1;
          left = left.filter((waiting) => !expired(waiting, error));
          if (left.length === 0) return;
          await clock.sleep(Math.min(2_000, 20 * 2 ** Math.min(failures, 7)) * (0.5 + clock.random()));
        }
      }
    } catch (error) {
      lane.record = undefined;
      for (const waiting of batch) waiting.reject(error);
    }
  }

  /** One try of one exchange. Resolves to what is still to be done. */
  async function once(
    id: ConversationId,
    lane: Lane,
    batch: Waiting[],
    limitsFor: (record: ConversationRecord | null) => Limits,
    { needsLog, wantsLog }: { needsLog: boolean; wantsLog: boolean },
  ): Promise<Waiting[]> {
    /** The record was read for this call, so an outcome that writes nothing may rest on it. */
    let certain = false;
    let log: LogEntry[] = [];
    if (lane.record === undefined || needsLog) {
      const loaded = needsLog ? await readWithTail(id, lane.record) : await read(id);
      lane.record = loaded.record;
      log = loaded.log;
      certain = true;
    }
    const nowMs = time.now();
    const before = lane.record ?? null;
    const start = before ?? blank(id, nowMs);
    let record = start;
    const keys = new Set<string>();
    const sharing: { waiting: Waiting; result: Result }[] = [];
    const asking: { waiting: Waiting; result: Result }[] = [];
    /** Judged by the store once this exchange is done. */
    const later: Waiting[] = [];
    for (const waiting of batch) {
      const result: Result = { outcomes: [], entries: [], seen: [] };
      let after = record;
      for (const event of waiting.operation.events(after, log, nowMs)) {
        const step = apply(after, event, nowMs, limitsFor(after));
        after = step.next ?? after;
        result.outcomes.push(step.outcome);
        result.entries.push(...step.entries);
      }
      result.seen = waiting.operation.seen?.(result.outcomes, nowMs) ?? [];
      if (after === record && result.seen.length > 0) asking.push({ waiting, result });
      // The same message twice in one moment: the second is a duplicate of the first.
      else if (result.seen.some(({ key }) => keys.has(key))) later.push(waiting);
      else {
        for (const { key } of result.seen) keys.add(key);
        sharing.push({ waiting, result });
        record = after;
      }
    }
    const finish = (those: typeof sharing, stored: ConversationRecord | null, tail: LogEntry[]): Waiting[] => {
      for (const { waiting, result } of those)
        waiting.resolve({
          outcomes: result.outcomes,
          entries: result.entries,
          record: stored,
          log: tail,
          duplicate: null,
        });
      return later;
    };
    /** Resolves those whose keys were seen before; the others are left. */
    const withoutRepeated = (those: typeof sharing, answer: Duplicate): typeof sharing => {
      const values = new Map(answer.seen.map(({ key, value }) => [key, value]));
      return those.filter(({ waiting, result }) => {
        const mine = result.seen.filter(({ key }) => values.has(key));
        if (mine.length === 0) return true;
        const duplicate = mine.map(({ key }) => ({ key, value: values.get(key) ?? null }));
        waiting.resolve({ outcomes: [], entries: [], record: answer.record, log, duplicate });
        return false;
      });
    };
    if (record === start) {
      if (!certain) {
        // From a cached record only writes: an outcome that writes nothing needs one read for this call.
        lane.record = undefined;
        return batch;
      }
      let fresh = asking;
      if (asking.length > 0 && before !== null) {
        // No revision is called so, hence nothing can be written: the store tells duplicates before conflicts.
        const expected = clock.id();
        const next = { ...before, revision: clock.id() };
        const seen = asking.flatMap(({ result }) => result.seen);
        const answer = await store.exchange({ id, next, expected, wakeAtMs: null, seen, nowMs });
        time.observe(answer.nowMs);
        if (answer.kind === "skewed") return batch;
        if (answer.kind === "duplicate") fresh = withoutRepeated(asking, answer);
      }
      const tail = wantsLog ? (await readWithTail(id, before)).log : log;
      return finish([...sharing, ...fresh], before, tail);
    }
    later.push(...asking.map(({ waiting }) => waiting));

    const next = { ...record, revision: clock.id() };
    const wakeAtMs = wakeAt(next, limitsFor(next));
    const append = sharing.flatMap(({ result }) => result.entries);
    const seen = sharing.flatMap(({ result }) => result.seen);
    const logFrom = Math.min(before === null ? 1 : tailFrom(before), tailFrom(next));
    const stored = (tail: LogEntry[]): Waiting[] => {
      lane.record = next;
      onWrite(id, next, append, wakeAtMs);
      return finish(sharing, next, tail);
    };
    const expected = before?.revision ?? null;
    const write = { id, next, expected, wakeAtMs, append, seen, nowMs, ...(wantsLog ? { logFrom } : {}) };
    let answer: Awaited<ReturnType<Store["exchange"]>>;
    lane.writing = next.revision;
    try {
      answer = await store.exchange(write);
    } catch (error) {
      if (LullError.isInstance(error) && !error.retryable) throw error;
      // The answer was lost, not necessarily the write: its revision tells. Otherwise it is decided again, and
      // the protocol recognises what was done before.
      await clock.sleep(20 * (0.5 + clock.random()));
      const loaded = await readWithTail(id, next);
      if (loaded.record?.revision === next.revision) return stored(loaded.log);
      throw error;
    }
    time.observe(answer.nowMs);
    switch (answer.kind) {
      case "stored":
        return stored(answer.log);
      case "conflict":
        lane.record = answer.record;
        return batch;
      case "skewed":
        return batch;
      case "duplicate":
        lane.record = answer.record;
        return [...withoutRepeated(sharing, answer).map(({ waiting }) => waiting), ...later];
    }
  }

  /** Rejects an operation whose patience is at an end. */
  function expired(waiting: Waiting, cause: unknown): boolean {
    const { patienceMs } = waiting.operation;
    if (patienceMs === undefined || clock.monotonic() - waiting.sinceMs < patienceMs) return false;
    const message = "The store did not answer in time. Repeat the call: what was stored already is recognised.";
    waiting.reject(LullError.isInstance(cause) ? cause : new LullError("store-unavailable", message, { cause }));
    return true;
  }

  return {
    perform(id, operation) {
      const lane = laneOf(id);
      return new Promise((resolve, reject) => {
        lane.queue.push({ operation, sinceMs: clock.monotonic(), resolve, reject });
        if (lane.running) return;
        lane.running = true;
        // What arrives in the same turn of the event loop shares the exchange.
        queueMicrotask(() => void drain(id, lane));
      });
    },
    async load(id) {
      const lane = lanes.get(id);
      return readWithTail(id, lane?.record);
    },
    giveUp() {
      generation += 1;
      if (busy.size > 0) return;
      watching?.abort();
      watching = null;
    },
    knows(id, revision) {
      const lane = lanes.get(id);
      return lane !== undefined && (lane.writing === revision || lane.record?.revision === revision);
    },
    forget(id) {
      const lane = lanes.get(id);
      if (lane !== undefined) lane.record = undefined;
    },
  };
}
