/**
 * Wakes workers and lets them work: by local alarms, by what this process writes, and by scanning the store's due
 * index for what dead processes left behind. What a worker decides is performed in run.ts.
 *
 * @module
 */
import { type Alarms, alarms } from "./alarms.ts";
import { type Cells, cells, type Operation, type Performed, type StoreTime, storeTime } from "./cell.ts";
import { channelsOf, messageOf } from "./delivery.ts";
import { eventOf, type LullEvent } from "./events.ts";
import type { ConversationId, ConversationRecord, Limits, LogEntry } from "./model.ts";
import type { Logger, LullOptions, Settings } from "./options.ts";
import { modelMs } from "./pace.ts";
import type { Channel, Clock, Due, Pause } from "./ports.ts";
import { newRun, performer, type Run } from "./run.ts";
import { busyOf, tuned } from "./tuning.ts";

/** Due timers this fresh are left to the local alarm of the process that set them. */
const scanGraceMs = 100;

export interface Engine {
  /** This process, in leases and in the log. */
  readonly owner: string;
  readonly time: StoreTime;
  readonly cells: Cells;
  readonly channels: readonly Channel[];
  /** Of a conversation as its record stands; null: as the bot has it. */
  limitsOf(id: ConversationId, record: ConversationRecord | null): Limits;
  perform(id: ConversationId, operation: Operation): Promise<Performed>;
  emit(event: LullEvent): void;
  on(listener: (event: LullEvent) => void): () => void;
  start(): void;
  stop(timeoutMs: number, settleMs: number): Promise<void>;
  /** Of this process alone. */
  pause(on: boolean): void;
  /** This process or the whole store is paused. */
  readonly paused: boolean;
  /** What a look into the store shows: its time, and whether it is paused. */
  observe(due: Due): void;
  runDue(untilMs: number): Promise<{ nextAtMs: number | null }>;
  /** The conversation was erased: whoever works on it lets go. */
  forget(id: ConversationId): void;
  /** Conversations this process works on now. */
  working(): number;
}

export function engine(options: LullOptions, settings: Settings, clock: Clock, logger: Logger): Engine {
  const { store } = options;
  const owner = options.owner ?? clock.id();
  const respond = options.respond;
  const channels = channelsOf(options);
  const time = storeTime(clock);
  const listeners = new Set<(event: LullEvent) => void>();
  const runs = new Map<ConversationId, Run>();
  const waiting = new Set<ConversationId>();
  const idlers = new Set<() => void>();
  let active = false;
  /** By `pause()`, and by the store's pause as it was at the last look. */
  let here = false;
  let everywhere: Pause | null = null;
  let stopping = false;
  /** A running estimate; null until an answer has come. */
  let modelTakesMs: number | null = null;
  let scanning: AbortController | null = null;

  const local: Alarms = alarms(clock, () => time.now(), wake);
  const writes = cells(store, clock, time, limitsFor, onWrite);
  const work = performer({
    store,
    respond,
    channels,
    owner,
    settings,
    clock,
    time,
    logger,
    writes,
    emit,
    retire,
    thought(ms) {
      modelTakesMs = modelMs(modelTakesMs, ms);
    },
    remind(id, atMs) {
      if (active) local.set(id, atMs);
    },
  });
  store.wake?.((id, revision) => {
    const run = runs.get(id);
    if (run === undefined || (revision !== undefined && writes.knows(id, revision))) return;
    // An answer that waits for quiet may be out of date as well.
    if (run.worker.model === "running" || run.worker.answer) void work.refresh(run);
  });

  function isPaused(): boolean {
    return here || everywhere !== null;
  }

  function holdOrGo(on: boolean): void {
    for (const run of runs.values()) work.dispatch(run, { type: "pause", on });
  }

  function observe({ nowMs, paused = null }: Due): void {
    time.observe(nowMs);
    const was = isPaused();
    everywhere = paused;
    if (isPaused() !== was) holdOrGo(isPaused());
  }

  /** The author's functions are asked here, once; what comes back only looks at the record. */
  function limitsFor(id: ConversationId): (record: ConversationRecord | null) => Limits {
    const [limits, busy] = [settings.limitsOf(id, modelTakesMs), settings.whenBusyOf(id)];
    return (record) => tuned(limits, busy, record);
  }

  function manners(id: ConversationId): Run["manners"] {
    const [limitsOf, busy] = [limitsFor(id), settings.whenBusyOf(id)];
    return (record) => ({ limits: limitsOf(record), whenBusy: busyOf(busy, record) });
  }

  function emit(event: LullEvent): void {
    for (const listener of listeners) {
      try {
        listener(event);
      } catch (error) {
        logger.error({ error: messageOf(error), type: event.type }, "an event listener threw");
      }
    }
  }

  function onWrite(id: ConversationId, record: ConversationRecord, entries: LogEntry[], wakeAtMs: number | null): void {
    if (listeners.size > 0) for (const entry of entries) emit(eventOf(id, entry));
    const run = runs.get(id);
    if (run !== undefined) {
      for (const entry of entries) run.log.set(entry.seq, entry);
      work.noticed(run, record);
    }
    if (active) local.set(id, wakeAtMs);
  }

  // --- waking

  function wake(id: ConversationId): void {
    if (!active || isPaused() || stopping || respond === undefined) return;
    const run = runs.get(id);
    if (run !== undefined) return work.dispatch(run, { type: "wake" });
    if (runs.size >= settings.concurrency) {
      waiting.add(id);
      return;
    }
    try {
      const fresh = newRun(id, manners(id));
      runs.set(id, fresh);
      work.dispatch(fresh, { type: "wake" });
    } catch (error) {
      // An author's function (debounce, whenBusy): one conversation's trouble, not the scan's.
      logger.error({ conversation: id, error: messageOf(error) }, "an option's function threw");
    }
  }

  function retire(run: Run): void {
    if (runs.get(run.id) !== run) return;
    runs.delete(run.id);
    const [next] = waiting;
    if (next !== undefined) {
      waiting.delete(next);
      wake(next);
    }
    if (runs.size === 0) for (const done of [...idlers]) done();
  }

  // --- the safety net

  async function scan(stop: AbortSignal): Promise<void> {
    let failures = 0;
    // The first look is at once: whoever starts after a crash finds what is due already.
    for (let pauseMs = 0; !stop.aborted; pauseMs = settings.scanMs * 2 ** Math.min(failures, 5)) {
      await clock.sleep(pauseMs * (0.5 + clock.random()), stop);
      if (stop.aborted) return;
      try {
        const due = await store.due(time.now() - scanGraceMs, Math.min(1_000, 2 * settings.concurrency));
        observe(due);
        failures = 0;
        for (const { id } of due.timers) wake(id);
      } catch (error) {
        failures += 1;
        if (failures === 1) logger.warn({ error: messageOf(error) }, "the store does not answer; trying again");
      }
    }
  }

  function whenIdle(stop: AbortSignal): Promise<void> {
    if (runs.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        idlers.delete(done);
        stop.removeEventListener("abort", done);
        resolve();
      };
      idlers.add(done);
      stop.addEventListener("abort", done);
      if (stop.aborted) done();
    });
  }

  async function idleWithin(ms: number): Promise<void> {
    const stop = new AbortController();
    const timer = new AbortController();
    void clock.sleep(ms, timer.signal).then(() => stop.abort());
    await whenIdle(stop.signal);
    timer.abort();
  }

  return {
    owner,
    time,
    cells: writes,
    channels,
    limitsOf: (id, record) => limitsFor(id)(record),
    perform: (id, operation) => writes.perform(id, operation),
    emit,
    on(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    start() {
      active = true;
      scanning = new AbortController();
      void scan(scanning.signal);
    },
    async stop(timeoutMs, settleMs) {
      stopping = true;
      scanning?.abort();
      waiting.clear();
      local.clear();
      for (const run of runs.values()) work.dispatch(run, { type: "pause", on: true });
      await idleWithin(timeoutMs);
      for (const run of [...runs.values()]) work.dispatch(run, { type: "stop" });
      // A part on its way is waited for: its receipt is worth more than a quick exit.
      await idleWithin(settleMs);
      active = stopping = false;
      local.clear();
      writes.giveUp();
    },
    pause(on) {
      here = on;
      holdOrGo(isPaused());
    },
    get paused() {
      return isPaused();
    },
    observe,
    async runDue(untilMs) {
      const was = active;
      active = true;
      try {
        while (respond !== undefined && !here) {
          const due = await store.due(untilMs, 1_000);
          observe(due);
          const { timers, nowMs } = due;
          if (isPaused() || time.now() >= untilMs) break;
          for (const { id, wakeAtMs } of timers) if (wakeAtMs <= nowMs && !runs.has(id)) wake(id);
          const next = timers.find(({ wakeAtMs }) => wakeAtMs > nowMs)?.wakeAtMs;
          if (runs.size === 0 && next === undefined && timers.length === 0) break;
          // What is due and yet cannot be done now (a damaged row) must not spin.
          const leastMs = 50;
          const leftMs = untilMs - time.now();
          if (runs.size > 0) await idleWithin(Math.min(leftMs, 250));
          if (runs.size === 0) await clock.sleep(Math.min(leftMs, Math.max(leastMs, (next ?? 0) - time.now())));
        }
        const [earliest] = (await store.due(Number.MAX_SAFE_INTEGER, 1)).timers;
        return { nextAtMs: earliest?.wakeAtMs ?? null };
      } finally {
        active = was;
        if (!was) local.clear();
      }
    },
    forget(id) {
      writes.forget(id);
      local.set(id, null);
      const run = runs.get(id);
      if (run !== undefined) work.noticed(run, null);
    },
    working: () => runs.size,
  };
}
