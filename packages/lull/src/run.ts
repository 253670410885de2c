/**
 * One conversation being worked at: performs what its worker decides — exchanges, a model run, deliveries, waits —
 * and reports back. It decides nothing.
 *
 * @module
 */
import { call, partsOf } from "./answer.ts";
import type { Cells, StoreTime } from "./cell.ts";
import { addressOf, choose, contentOf, deliveryOf, messageOf, retractingBy, tryPart, whenInDoubt } from "./delivery.ts";
import { type Drafting, drafting } from "./drafting.ts";
import { LullError } from "./errors.ts";
import type { LullEvent } from "./events.ts";
import type {
  Amends,
  ConversationId,
  ConversationRecord,
  Fallback,
  Limits,
  LogEntry,
  Outbox,
  Outcomes,
  Part,
  PartReceipt,
  ProtocolEvent,
  Seq,
  WhenBusy,
} from "./model.ts";
import { type Nap, naps } from "./naps.ts";
import type { Logger, Settings } from "./options.ts";
import type { Channel, Clock, Store } from "./ports.ts";
import { newStop, type Stop } from "./stop.ts";
import { type AttemptOutcome, abortReason, inTime, type Respond, type Turn, turnOf } from "./turn.ts";
import { inputsOf, quietAt } from "./window.ts";
import {
  type AbortCode,
  decide,
  type Exchange,
  type Grasp,
  idle,
  isIdle,
  step,
  type Worker,
  type WorkerEvent,
} from "./worker.ts";

/** A store gives the log in pages of at most this size. */
const logPage = 1_000;

/** How long a claim waits for a store that does not answer; the due index brings the conversation back. */
const claimPatienceMs = 10_000;

/** A model run. Events of earlier runs are recognised by it, and ignored. */
export interface Attempt {
  grasp: Grasp;
  stop: Stop;
  /** Nobody looks at its deadline any more, nor out for an answer from elsewhere. */
  over: boolean;
  /** Of those who do. */
  looks: Set<Nap>;
  /** Side effects that wait for the quiet target: the deadline waits too. */
  holds: Set<{ untilMs: number; nap: Nap }>;
  effects: number;
  /** When the model was asked; monotonic. */
  sinceMs: number;
  /** Parts said: after one, returning nothing is a legal end. */
  said: number;
  drafts: Drafting | null;
  /** Resolves `turn.ended`, once. */
  end(outcome: AttemptOutcome): void;
  ended: Promise<AttemptOutcome>;
}

/** A reply that the user may not have read. */
interface Crossed {
  replyId: string;
  parts: Part[];
  /** The platform's id of its first part, if it said one. */
  externalId: string | undefined;
}

/** A part said, until its first try is settled. */
interface Said {
  part: Part;
  index: number | null;
  resolve(): void;
  reject(error: unknown): void;
}

/** A conversation somebody looks after. */
export interface Run {
  id: ConversationId;
  worker: Worker;
  /** How this conversation is to be treated, as its record stands. */
  manners(record: ConversationRecord | null): { limits: Limits; whenBusy: WhenBusy };
  attempt: Attempt | null;
  log: Map<Seq, LogEntry>;
  said: Said[];
  wait: { untilMs: number; nap: Nap } | null;
  beat: { fence: number; nap: Nap | null } | null;
  typing: { channel: Channel; address: ConversationRecord["address"] } | null;
  pumping: boolean;
}

/** What a run works with, and whom it tells. */
export interface Place {
  store: Store;
  respond: Respond | undefined;
  channels: readonly Channel[];
  owner: string;
  settings: Settings;
  clock: Clock;
  time: StoreTime;
  logger: Logger;
  writes: Cells;
  emit(event: LullEvent): void;
  /** The model took so long until there was something to send. */
  thought(ms: number): void;
  /** Nothing is left to do. */
  retire(run: Run): void;
  /** Look again then. */
  remind(id: ConversationId, atMs: number): void;
}

export interface Performer {
  dispatch(run: Run, event: WorkerEvent): void;
  noticed(run: Run, record: ConversationRecord | null): void;
  /** Reads the record anew. */
  refresh(run: Run): Promise<void>;
}

/** A run that has not begun. */
export function newRun(id: ConversationId, manners: Run["manners"]): Run {
  const { limits, whenBusy } = manners(null);
  const worker = idle(limits, whenBusy === "steer");
  const base = { attempt: null, wait: null, beat: null, typing: null, pumping: false };
  return { id, worker, manners, log: new Map(), said: [], ...base };
}

export function performer(place: Place): Performer {
  const { store, respond, channels, owner, settings, clock, time, logger, writes, emit, retire, remind, thought } =
    place;
  const nap = naps(clock);
  /** Conversations whose record cannot be read: said once. */
  const unreadable = new Set<ConversationId>();

  /** The record has changed: the worker sees it, and so does what waits for a quiet that came sooner. */
  function noticed(run: Run, record: ConversationRecord | null): void {
    dispatch(run, { type: "noticed", record });
    const quiet = record?.window ? quietAt(record.window, run.worker.limits) : 0;
    for (const hold of run.attempt?.holds ?? []) if (quiet < hold.untilMs) hold.nap.end();
  }

  /** Takes in an event and performs what follows from it. */
  function dispatch(run: Run, event: WorkerEvent): void {
    if ("record" in event && event.record !== null) {
      const { limits, whenBusy } = run.manners(event.record);
      Object.assign(run.worker, { limits, steers: whenBusy === "steer" });
    }
    step(run.worker, event);
    pump(run);
  }

  function pump(run: Run): void {
    // Performing a command may bring the next event at once; the loop below takes it up.
    if (run.pumping) return;
    run.pumping = true;
    for (;;) {
      const command = decide(run.worker, time.now());
      if (command === null) break;
      if (command.do === "wait") {
        waitUntil(run, command.untilMs);
        break;
      }
      if (command.do === "abort") abort(run, command.code);
      else if (command.do === "respond") void answer(run);
      else if (command.do === "send") void send(run, command);
      else void exchange(run, command);
    }
    run.pumping = false;
    if (run.worker.lease === null) letGo(run);
    if (isIdle(run.worker) && !run.worker.busy) retire(run);
  }

  /** The lease is gone: nobody waits for it any more. */
  function letGo(run: Run): void {
    // An error with its stack costs as much as a transition of the protocol: made only where somebody is to hear it.
    const told = run.attempt?.stop.reason as LullError | undefined;
    for (const said of run.said.splice(0)) said.reject(told ?? abortReason("lost"));
    // Unless it was told by what was written.
    run.attempt?.end((told?.code as AbortCode | undefined) ?? "lost");
    if (run.typing !== null) showTyping(run, false);
    run.wait?.nap.end();
    run.wait = null;
    lookAway(run.attempt);
    if ((run.attempt?.effects ?? 0) === 0) run.beat?.nap?.end();
  }

  function lookAway(attempt: Attempt | null): void {
    if (attempt === null) return;
    attempt.over = true;
    for (const look of attempt.looks) look.end();
  }

  /** Sleeps, unless nobody looks any more; then it is over at once. */
  async function look(attempt: Attempt, ms: number): Promise<void> {
    if (attempt.over) return;
    const mine = nap(ms);
    attempt.looks.add(mine);
    await mine.over;
    attempt.looks.delete(mine);
  }

  function waitUntil(run: Run, untilMs: number): void {
    if (run.wait?.untilMs === untilMs) return;
    run.wait?.nap.end();
    const mine = { untilMs, nap: nap(untilMs - time.now()) };
    run.wait = mine;
    void mine.nap.over.then(() => {
      if (run.wait !== mine) return;
      run.wait = null;
      pump(run);
    });
  }

  // --- exchanges

  async function exchange(run: Run, command: Exchange): Promise<void> {
    const claimId = clock.id();
    const claiming = command.do === "claim";
    try {
      const event = eventFor(run, command, claimId);
      const fallback = fallbackFor(run);
      const given = (about: MayPark, record: ConversationRecord) => ({
        fallback: fallback(about, record),
        ...(about.type === "claim" && { seals: run.manners(record).whenBusy === "queue" }),
      });
      const result = await writes.perform(run.id, {
        events: (record) => [mayPark(event) ? { ...event, ...given(event, record) } : event],
        wantsLog: claiming,
        ...(claiming ? { patienceMs: claimPatienceMs } : {}),
      });
      for (const entry of [...result.log, ...result.entries]) run.log.set(entry.seq, entry);
      const outcome = result.outcomes[0] as Outcomes[keyof Outcomes];
      unreadable.delete(run.id);
      settleSaid(run, command, outcome);
      const ended = endingBy(command, outcome);
      if (ended !== null) run.attempt?.end(ended);
      const done: WorkerEvent = { type: "exchanged", command, outcome, record: result.record, claimId };
      if (claiming) claimed(run, outcome as Outcomes["claim"]);
      dispatch(run, done);
      if (claiming && run.worker.lease !== null) void beat(run, run.worker.lease);
    } catch (error) {
      // What cannot be read will not mend itself: said once, and left to the scan.
      const mends = !LullError.isInstance(error) || error.retryable;
      if (mends || !unreadable.has(run.id))
        logger.warn({ conversation: run.id, step: command.do, error: messageOf(error) }, "a write failed");
      if (!mends) unreadable.add(run.id);
      else if (claiming) remind(run.id, time.now() + settings.scanMs);
      dispatch(run, { type: "unanswered" });
    }
  }

  function claimed(run: Run, outcome: Outcomes["claim"]): void {
    if (outcome.is !== "nothing" || outcome.wakeAtMs === null) return;
    const now = time.now();
    // Due, and yet nothing to do for us: never in a hot loop.
    remind(run.id, outcome.wakeAtMs > now ? outcome.wakeAtMs : now + 50);
  }

  function eventFor(run: Run, command: Exchange, claimId: string): ProtocolEvent {
    const { lease, record } = run.worker;
    const held = { fence: lease?.fence ?? 0, claimId: lease?.claimId ?? "" };
    const replyId = record?.outbox?.replyId ?? "";
    const random = clock.random();
    switch (command.do) {
      case "claim":
        return { type: "claim", owner, claimId, random };
      case "discard":
        return { type: "discard", reason: command.reason, ...held };
      case "fail": {
        const { do: _, ...failure } = command;
        return { type: "fail", ...failure, random, ...held };
      }
      case "commit": {
        const { do: _, ...reply } = command;
        return { type: "commit", replyId: clock.id(), ...reply, ...held };
      }
      case "append":
        return { type: "append", replyId, index: command.index, part: command.part, ...held };
      case "close":
        return { type: "close", replyId, ...held };
      case "attempt": {
        const channel = choose(channels, addressOf(record, run.log));
        const inDoubt = channel === undefined ? "retry" : whenInDoubt(channel);
        return { type: "attempt", replyId, index: command.index, inDoubt, ...held };
      }
      case "settle":
        return { type: "settle", replyId, index: command.index, receipt: command.receipt, random, ...held };
    }
  }

  /** What to say should this be the span's last failure. The author is asked once, and only then. */
  function fallbackFor(run: Run): (event: MayPark, record: ConversationRecord) => Fallback | null {
    let made: Fallback | null | undefined;
    return (event, record) => {
      if (record.lease === null || record.failures + 1 < run.worker.limits.maxFailures) return null;
      if (made !== undefined) return made;
      let text: string | null = null;
      try {
        text = settings.fallbackOf(run.id, event.type === "fail" ? event.error : "the process crashed");
      } catch (error) {
        logger.error({ conversation: run.id, error: messageOf(error) }, "fallback() threw");
      }
      made = text === null ? null : { replyId: clock.id(), parts: [{ type: "text", text }] };
      return made;
    };
  }

  /** A write of the turn's own (once, seal, absorb): the worker sees the record it left. */
  async function sideExchange(run: Run, event: ProtocolEvent) {
    const write = () =>
      writes.perform(run.id, {
        // What was erased meanwhile must not come back because an effect's result comes in late.
        events: (record) => (record.revision === "" ? [] : [event]),
        wantsLog: event.type === "absorb",
      });
    const result = await inTime(clock, write, ({ outcomes }) => outcomes[0]);
    for (const entry of [...result.log, ...result.entries]) run.log.set(entry.seq, entry);
    dispatch(run, { type: "noticed", record: result.record });
    return { outcome: result.outcomes[0] ?? ({ is: "lost" } as Outcomes[keyof Outcomes]), log: result.log };
  }

  /** Keeps the lease, and the marks of effects that outlive it, alive. */
  async function beat(run: Run, grasp: Grasp): Promise<void> {
    if (run.beat?.fence === grasp.fence) return;
    const { fence, claimId } = grasp;
    const me: NonNullable<Run["beat"]> = { fence, nap: null };
    run.beat = me;
    const attempt = () => (run.attempt?.grasp === grasp ? run.attempt : null);
    const mine = () => run.worker.lease?.fence === fence;
    const needed = () => mine() || ((attempt()?.effects ?? 0) > 0 && time.now() < grasp.deadlineMs);
    while (needed()) {
      me.nap = nap(settings.renewMs);
      await me.nap.over;
      if (!needed()) break;
      const held = isHeld(run, attempt()) || run.worker.model === "ended";
      const event: ProtocolEvent = { type: "renew", fence, claimId, held, deadlineMs: grasp.deadlineMs };
      try {
        const result = await writes.perform(run.id, { events: () => [event], patienceMs: settings.renewMs });
        if (mine()) noticed(run, result.record);
      } catch (error) {
        logger.warn({ conversation: run.id, error: messageOf(error) }, "a renewal failed");
      }
    }
    if (run.beat === me) run.beat = null;
  }

  /** Something waits for the quiet target: that is not the attempt's fault. */
  function isHeld(run: Run, attempt: Attempt | null): boolean {
    return attempt !== null && (attempt.holds.size > 0 || run.said.some(({ index }) => index === null));
  }

  async function refresh(run: Run): Promise<void> {
    try {
      // In line with this process's own writes, so that it never shows an older record than they did.
      const { record } = await writes.perform(run.id, { events: () => [], patienceMs: settings.renewMs });
      noticed(run, record);
    } catch {
      // A hint is only a hint; the next renewal tells.
    }
  }

  /** The answer may come through any process; a renewal would tell late. */
  async function lookOut(run: Run, attempt: Attempt): Promise<void> {
    for (;;) {
      await look(attempt, settings.scanMs * (0.5 + clock.random()));
      if (attempt.over) return;
      await refresh(run);
    }
  }

  // --- the model

  function tailOf(run: Run): LogEntry[] {
    return [...run.log.values()].sort((a, b) => a.seq - b.seq);
  }

  async function answer(run: Run): Promise<void> {
    const { lease: grasp, record } = run.worker;
    if (grasp === null || record === null || respond === undefined) return;
    const attempt: Attempt = {
      grasp,
      stop: newStop(),
      over: false,
      looks: new Set(),
      holds: new Set(),
      sinceMs: 0,
      effects: 0,
      said: 0,
      drafts: null,
      ...ending(),
    };
    run.attempt = attempt;
    const current = () => run.attempt === attempt && run.worker.lease?.fence === grasp.fence;
    try {
      const tail = await wholeTail(run, record);
      if (!current()) return;
      if (inputsOf(tail, grasp.from, grasp.version).length === 0) {
        return dispatch(run, { type: "answered", parts: null });
      }
      void deadline(run, attempt);
      showTyping(run, true);
      const crossed = await crossedReply(run, record);
      if (!current()) return;
      const turn = turnFor(run, attempt, record, tail, crossed?.parts ?? null);
      attempt.sinceMs = clock.monotonic();
      const result = await partsOf(await call(respond, turn), turn, settings, () => attempt.said > 0);
      if (attempt.said === 0) thought(clock.monotonic() - attempt.sinceMs);
      await attempt.drafts?.finish();
      const { amends, ...whole } = result;
      if (current()) dispatch(run, { type: "answered", ...whole, ...(amends && amended(run, crossed, whole.parts)) });
    } catch (error) {
      await attempt.drafts?.finish();
      if (!current()) return;
      const retryAfterMs = (error as { retryAfterMs?: unknown } | null)?.retryAfterMs;
      const wish =
        typeof retryAfterMs === "number" && retryAfterMs >= 0 ? Math.min(Math.ceil(retryAfterMs), 86_400_000) : null;
      dispatch(run, { type: "threw", error: messageOf(error), ...(wish === null ? {} : { retryAfterMs: wish }) });
    } finally {
      lookAway(attempt);
    }
  }

  /** What the lease covers was read: a stale replica must not make an answer cover what nobody saw. */
  async function wholeTail(run: Run, record: ConversationRecord): Promise<LogEntry[]> {
    const from = record.window?.fromSeq ?? record.seq + 1;
    for (let tries = 0; ; tries += 1) {
      let complete = true;
      for (let seq = from; seq <= record.seq; seq += 1) complete &&= run.log.has(seq);
      if (complete) return tailOf(run).filter(({ seq }) => seq >= from && seq <= record.seq);
      if (tries === 3) throw new LullError("store-damaged", `The log of ${run.id} has a gap behind entry ${from}.`);
      await clock.sleep(100 * tries);
      for (const entry of (await writes.load(run.id)).log) run.log.set(entry.seq, entry);
    }
  }

  /** Waiting for quiet moves the deadline, so it is looked at again when it has come. */
  async function deadline(run: Run, attempt: Attempt): Promise<void> {
    const running = () => run.attempt === attempt && run.worker.lease?.fence === attempt.grasp.fence;
    for (;;) {
      const left = attempt.grasp.deadlineMs - time.now();
      if (left <= 0 && !isHeld(run, attempt)) break;
      await look(attempt, Math.max(left, 50));
      if (attempt.over || !running()) return;
    }
    if (running()) dispatch(run, { type: "timed-out" });
  }

  /** The reply that the turn's first message crossed; null if there is none, or the log has lost it. */
  async function crossedReply(run: Run, { window, seq: newest }: ConversationRecord): Promise<Crossed | null> {
    const crossed = window?.crossed;
    if (crossed === undefined) return null;
    const { entries } = await store.log(run.id, { from: crossed.seq, limit: Math.min(newest - crossed.seq + 1, 100) });
    const mine = entries.filter((entry) => "replyId" in entry && entry.replyId === crossed.replyId);
    const parts = mine.flatMap((entry) =>
      entry.kind === "reply" ? entry.parts : entry.kind === "part" ? [entry.part] : [],
    );
    const sent = mine.find((entry) => entry.kind === "receipt" && entry.externalId !== undefined);
    const externalId = sent?.kind === "receipt" ? sent.externalId : undefined;
    return parts.length === 0 ? null : { replyId: crossed.replyId, parts, externalId };
  }

  /** The crossed reply as the platform knows it, if one message can become the other there. */
  function amended(run: Run, crossed: Crossed | null, parts: readonly Part[] | null): { amends: Amends } | null {
    const channel = choose(channels, run.worker.record?.address);
    if (crossed?.externalId === undefined || channel?.draft === undefined) return null;
    if (crossed.parts.length !== 1 || parts?.length !== 1) return null;
    return { amends: { replyId: crossed.replyId, externalId: crossed.externalId } };
  }

  function turnFor(
    run: Run,
    attempt: Attempt,
    record: ConversationRecord,
    tail: LogEntry[],
    crossed: readonly Part[] | null,
  ): Turn {
    return turnOf({
      conversation: run.id,
      grasp: attempt.grasp,
      record,
      tail,
      crossed,
      stop: attempt.stop,
      ended: attempt.ended,
      maxEffectBytes: settings.maxEffectBytes,
      now: () => time.now(),
      exchange: (event) => sideExchange(run, event) as never,
      async hold(untilMs) {
        if (attempt.stop.aborted) return;
        const hold = { untilMs, nap: nap(Math.max(1, untilMs - time.now())) };
        attempt.holds.add(hold);
        await hold.nap.over;
        attempt.holds.delete(hold);
      },
      async say(part) {
        await attempt.drafts?.finish();
        await new Promise<void>((resolve, reject) => {
          if (run.attempt !== attempt || run.worker.lease?.fence !== attempt.grasp.fence)
            return reject(abortReason("lost"));
          if (attempt.said === 0) thought(clock.monotonic() - attempt.sinceMs);
          attempt.said += 1;
          run.said.push({ part, index: null, resolve, reject });
          dispatch(run, { type: "said", part });
        });
      },
      draft(part) {
        emit({ type: "draft", conversation: run.id, atMs: time.now(), part });
        attempt.drafts ??= draftsOf(run, attempt);
        if (attempt.said === 0) attempt.drafts?.show(part);
      },
      elsewhere: () => void lookOut(run, attempt),
      entry: async (seq) => run.log.get(seq) ?? (await store.log(run.id, { from: seq, limit: 1 })).entries[0],
      async logBefore(seq, n) {
        const pages: LogEntry[][] = [];
        let [before, wanted] = [seq, n];
        while (wanted > 0 && before > 1) {
          const limit = Math.min(wanted, logPage);
          const { entries } = await store.log(run.id, { before, limit });
          pages.unshift(entries);
          wanted -= entries.length;
          before = entries[0]?.seq ?? 1;
        }
        return pages.flat();
      },
      async during(effect) {
        attempt.effects += 1;
        void beat(run, attempt.grasp);
        try {
          return await effect;
        } finally {
          attempt.effects -= 1;
          if (run.worker.lease?.fence !== attempt.grasp.fence && attempt.effects === 0) run.beat?.nap?.end();
        }
      },
    });
  }

  /** For channels that can take back what they showed. */
  function draftsOf(run: Run, attempt: Attempt): Drafting | null {
    const { fence, claimId } = attempt.grasp;
    const channel = choose(channels, run.worker.record?.address);
    if (channel?.draft === undefined) return null;
    const write = (event: ProtocolEvent) => sideExchange(run, event);
    return drafting({
      conversation: run.id,
      channel,
      signal: attempt.stop.signal,
      clock,
      logger,
      now: () => time.now(),
      expiresAtMs() {
        const lease = run.worker.record?.lease;
        return lease?.fence === fence ? lease.expiresAtMs : 0;
      },
      exchange: async (event) => (await write({ ...event, fence, claimId })).outcome as Outcomes["draft"],
      undraft: async (draftId) => void (await write({ type: "undraft", draftId, ending: "retracted" })),
    });
  }

  function abort(run: Run, code: Parameters<typeof abortReason>[0]): void {
    run.attempt?.stop.abort(abortReason(code));
    for (const hold of run.attempt?.holds ?? []) hold.nap.end();
    lookAway(run.attempt);
    void run.attempt?.drafts?.finish();
    showTyping(run, false);
  }

  function showTyping(run: Run, on: boolean): void {
    if (on === (run.typing !== null)) return;
    const address = run.worker.record?.address ?? null;
    const channel = on ? choose(channels, address) : run.typing?.channel;
    const place = { conversation: run.id, address: on ? address : (run.typing?.address ?? null) };
    run.typing = on && channel !== undefined ? { channel, address } : null;
    emit({ type: "typing", conversation: run.id, atMs: time.now(), on });
    void (async () => channel?.typing?.(on, place))().catch(() => {});
  }

  /** Resolves or rejects what was said, once its place in the log or its first try is known. */
  function settleSaid(run: Run, command: Exchange, outcome: Outcomes[keyof Outcomes]): void {
    const { is } = outcome;
    const unplaced = run.said.find(({ index }) => index === null);
    if (command.do === "commit" && command.open && "sends" in outcome && outcome.sends && unplaced) unplaced.index = 0;
    if (command.do === "append" && unplaced?.part === command.part) {
      if (is === "appended") unplaced.index = command.index;
      else if (is === "full") {
        run.said.splice(run.said.indexOf(unplaced), 1);
        unplaced.reject(new LullError("full", "A reply has at most limits.maxParts parts."));
      }
    }
    // A part in doubt that the author does not want to be sent twice is settled without another try.
    if (command.do !== "settle" && (command.do !== "attempt" || is !== "settled")) return;
    const failed = command.do === "settle" ? command.receipt.state === "failed" : "done" in outcome && outcome.done;
    for (const said of run.said.filter(({ index }) => index === command.index)) {
      run.said.splice(run.said.indexOf(said), 1);
      if (failed) said.reject(abortReason("undeliverable"));
      else said.resolve();
    }
  }

  // --- delivery

  async function send(
    run: Run,
    { index, tries, doubt }: { index: number; tries: number; doubt: boolean },
  ): Promise<void> {
    const { record } = run.worker;
    const outbox = record?.outbox ?? null;
    const fence = run.worker.lease?.fence;
    const place = outbox?.parts[index];
    if (record === null || outbox === null || place === undefined) return;
    const missing: PartReceipt = { state: "failed", error: "the reply's content is not in the log" };
    let receipt: PartReceipt = missing;
    try {
      const at = [place.seq, outbox.parts[0]?.seq ?? place.seq];
      for (const seq of at)
        if (!run.log.has(seq))
          for (const entry of (await store.log(run.id, { from: seq, limit: 1 })).entries) run.log.set(entry.seq, entry);
      await readCovered(run, outbox);
      const part = contentOf(run.log.get(place.seq), place.index);
      const retracts = outbox.cause === "retract";
      const named = choose(channels, retracts ? record.draft?.address : addressOf(record, run.log));
      const channel = named !== undefined && retracts ? retractingBy(named, record) : named;
      if (channel === undefined) {
        const error = `no channel is named as in the address; known: ${channels.map(({ name }) => name).join(", ")}`;
        // Not the platform's refusal: another process may have the channel, an older or a newer release.
        receipt = { state: "refused", error };
      } else if (time.now() >= (run.worker.record?.lease?.expiresAtMs ?? 0)) {
        // This process stood still so long that others may have taken over: nothing visible any more.
        receipt = { state: "refused", error: "the lease ran out before the part was sent" };
      } else if (part !== undefined || retracts) {
        const context = deliveryOf(record, outbox, run.log, index, tries);
        receipt = await tryPart(channel, part ?? { type: "text", text: "" }, context, doubt, nap);
      }
    } catch (error) {
      receipt = { state: "refused", error: messageOf(error) };
    }
    if (run.worker.lease?.fence === fence) dispatch(run, { type: "sent", receipt });
  }

  /** What the reply answers may have been taken in from outside this process. */
  async function readCovered(run: Run, { window, parts: [first] }: Outbox): Promise<void> {
    for (let seq = window?.fromSeq ?? Number.POSITIVE_INFINITY; seq < (first?.seq ?? 0); seq += 1)
      if (!run.log.has(seq)) {
        for (const entry of (await writes.load(run.id)).log) run.log.set(entry.seq, entry);
        return;
      }
  }

  return { dispatch, noticed, refresh };
}

/** `turn.ended`: the first to tell counts. */
function ending(): Pick<Attempt, "end" | "ended"> {
  let end: Attempt["end"] = () => {};
  const ended = new Promise<AttemptOutcome>((resolve) => {
    end = resolve;
  });
  return { end, ended };
}

/** What a write said of the attempt it belongs to; null when it goes on. */
function endingBy(command: Exchange, outcome: Outcomes[keyof Outcomes]): AttemptOutcome | null {
  const { is } = outcome;
  if (command.do === "commit" && is === "committed")
    return "replyId" in outcome && outcome.replyId === null ? "silent" : "committed";
  if (command.do === "commit" && is === "superseded") return is;
  if (command.do === "discard" && (is === "superseded" || is === "handed-back")) return is;
  if (command.do === "fail" && (is === "retry" || is === "parked")) return "failed";
  return null;
}

type MayPark = Extract<ProtocolEvent, { type: "claim" | "fail" }>;

/** Events that may end a span as parked, and then say so to the user. */
function mayPark(event: ProtocolEvent): event is MayPark {
  return event.type === "claim" || event.type === "fail";
}
