/**
 * The library's front door: takes in what people write and what operators want, turns it into the protocol's
 * events, and answers with what became of it.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { type AttemptHandle, attemptHandle } from "./attempt.ts";
import { type Audience, audience } from "./audience.ts";
import type { Operation, Performed } from "./cell.ts";
import { systemClock } from "./clock.ts";
import { choose, messageOf } from "./delivery.ts";
import type { AttemptRef } from "./elsewhere.ts";
import { type Engine, engine } from "./engine.ts";
import { erasureOf } from "./erase.ts";
import { LullError } from "./errors.ts";
import { eventOf, type LullEvent } from "./events.ts";
import { explain } from "./explain.ts";
import {
  type Changed,
  type Checked,
  checkId,
  checkIncoming,
  checkJson,
  checkObject,
  checkParts,
  digestOf,
  type HandoffCall,
  type HumanReplyCall,
  type Incoming,
  type OperatorCall,
  type OutgoingMessage,
  type Received,
} from "./intake.ts";
import type {
  Backlog,
  ConversationId,
  ConversationRecord,
  Json,
  LogEntry,
  Outcomes,
  Part,
  ProtocolEvent,
  ReceiveEvent,
} from "./model.ts";
import { commandWord, type Logger, type LullOptions, onlyText, type Settings, settle } from "./options.ts";
import type { Clock, ListFilter, ListPage, LogPage, Pause, SeenKey, Stats, Store } from "./ports.ts";
import { redacted } from "./redact.ts";
import { type Report, reportOf } from "./report.ts";
import { busyOf } from "./tuning.ts";
import { type ConversationView, viewOf } from "./view.ts";
import { inOrder, inputsOf, keepFrom, targetOf, wakeAt } from "./window.ts";
import { type TuneCall, tuneEvent } from "./wishes.ts";

/** An edit: what the message says now. `incomplete: false` says that an incomplete message is complete. */
export type Edit = Pick<
  Incoming,
  "id" | "text" | "parts" | "author" | "sentAt" | "metadata" | "trace" | "quietMs" | "incomplete"
>;

/** The reply that covers a message, or how the message ended without one. */
export interface ReplyView {
  outcome:
    | "delivered"
    | "cut"
    | "failed"
    | "cancelled"
    | "removed"
    | "silent"
    | "human"
    | "dropped"
    | "context"
    | "parked";
  replyId: string | null;
  from: number;
  to: number;
  /** Ids of the inputs it covers. */
  covers: string[];
  parts: Part[];
  overtaken: boolean;
}

/** A caller waits this long for a store that does not answer before it is told so. */
const patienceMs = 10_000;
const upkeepMs = 600_000;

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * The turn-taking engine of one bot in one process. The constructor does no I/O and starts no timer.
 *
 * @example
 * const lull = new Lull({ store: memory(), respond: (turn) => `You said: ${turn.text}` });
 * await lull.start();
 * await lull.receive("telegram:42", { id: "m1", text: "hi" });
 */
export class Lull {
  readonly options: LullOptions;
  readonly settings: Settings;
  readonly store: Store;
  readonly #clock: Clock;
  readonly #engine: Engine;
  readonly #logger: Logger;
  readonly #audience: Audience;
  #upkeep: AbortController | null = null;
  #starting: Promise<void> | null = null;
  #stopping: Promise<void> | null = null;

  /** @throws LullError `invalid-options` naming the option, the rule and the bad value. */
  constructor(options: LullOptions) {
    this.settings = settle(options);
    this.options = options;
    this.store = options.store;
    this.#clock = options.clock ?? systemClock();
    this.#logger = options.logger ?? silent;
    this.#engine = engine(options, this.settings, this.#clock, this.#logger);
    this.#audience = audience(
      this.#clock,
      (listener) => this.#engine.on(listener),
      (id) => this.#newest(id),
    );
  }

  // --- life

  /** Begins to answer. Without `respond` this process only receives, and `start` does upkeep alone. */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  async #start(): Promise<void> {
    try {
      await this.ready();
    } catch (error) {
      this.#starting = null;
      throw error;
    }
    this.#engine.start();
    this.#upkeep = new AbortController();
    void this.#keepUp(this.#upkeep.signal);
  }

  /**
   * Stops gracefully: nothing new is claimed, what runs may finish within `timeoutMs` (default 10,000), the rest is
   * handed back so that another process goes on at once; for receipts of parts on their way it waits up to `settleMs`
   * more (default the same, at least 1,000). The store stays open.
   */
  async stop(options: { timeoutMs?: number; settleMs?: number } = {}): Promise<void> {
    if (this.#starting === null) return;
    // Also when `stop` is called while `start` waits for the store; one that failed has said so to its caller.
    await this.#starting.catch(() => {});
    const { timeoutMs = 10_000 } = options;
    this.#stopping ??= this.#stop(timeoutMs, options.settleMs ?? Math.max(1_000, timeoutMs));
    return this.#stopping;
  }

  async #stop(timeoutMs: number, settleMs: number): Promise<void> {
    this.#upkeep?.abort();
    if (this.#starting !== null) await this.#engine.stop(timeoutMs, settleMs);
    this.#starting = this.#stopping = null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /**
   * For cron and serverless: works off what is due, and what becomes due before the deadline, then resolves.
   * `deadlineMs` is a duration from now. Resolves to the next wake-up known, if any.
   */
  runDue(options: { deadlineMs?: number } = {}): Promise<{ nextAtMs: number | null }> {
    return this.#engine.runDue(this.#engine.time.now() + (options.deadlineMs ?? 20_000));
  }

  /** A cheap round trip. @throws what the store throws when it is away. */
  async ready(): Promise<void> {
    this.#engine.observe(await this.store.due(0, 1));
  }

  /** Takes no new turn in this process until `unpause`; receiving goes on, and other processes work on. */
  pause(): void {
    this.#engine.pause(true);
  }
  unpause(): void {
    this.#engine.pause(false);
  }
  /** This process, or the whole store as far as this process has seen, is paused. */
  get paused(): boolean {
    return this.#engine.paused;
  }

  /**
   * Pauses every process on this store, those that start later included: nothing is claimed any more, neither turns nor
   * deliveries, within one and a half `scanMs` everywhere. What runs may finish; receiving goes on. Paused already: the
   * first pause stands.
   * @throws LullError `unsupported` when the store cannot
   */
  async pauseAll(call: { by?: string; reason?: string } = {}): Promise<Pause> {
    const setPause = this.#setPause();
    const { paused, nowMs } = await this.store.due(0, 1);
    const by = call.by === undefined ? {} : { by: checkId("by", call.by, this.settings) };
    const reason = call.reason === undefined ? {} : { reason: checkId("reason", call.reason, this.settings) };
    const pause = paused ?? { sinceMs: nowMs, ...by, ...reason };
    if (!paused) await setPause(pause);
    await this.ready();
    return pause;
  }

  /**
   * Lifts the pause of the whole store. `waiting: "drop"`: what had waited since before the pause began is not answered
   * and not delivered (after a restored backup: it was, by the store that is gone); it stays in the history as
   * `dropped`. Conversations to which somebody wrote since are answered, with all that waits in them.
   * Resolves to the pause that was, and the conversations whose waiting was dropped.
   * @throws LullError `unsupported` when the store cannot
   */
  async unpauseAll(options: { waiting?: "answer" | "drop"; by?: string } = {}): Promise<{
    was: Pause | null;
    dropped: ConversationId[];
  }> {
    const setPause = this.#setPause();
    const { waiting = "answer" } = options;
    if (waiting !== "answer" && waiting !== "drop")
      throw new LullError("invalid-argument", "waiting must be answer or drop.", { details: { field: "waiting" } });
    const was = await this.pausedAll();
    const dropped = was !== null && waiting === "drop" ? await this.#dropWaiting(was, options.by) : [];
    await setPause(null);
    await this.ready();
    return { was, dropped };
  }

  /** The pause of the whole store, read now. */
  async pausedAll(): Promise<Pause | null> {
    const due = await this.store.due(0, 1);
    this.#engine.observe(due);
    return due.paused ?? null;
  }

  #setPause(): NonNullable<Store["setPause"]> {
    const { store } = this;
    if (store.setPause === undefined)
      throw new LullError("unsupported", `The store ${store.name} cannot pause all processes; stop them instead.`);
    return (pause) => (store.setPause as NonNullable<Store["setPause"]>)(pause);
  }

  /** Judged inside the exchange that drops: whoever writes meanwhile is answered. */
  async #dropWaiting({ sinceMs }: Pause, given?: string): Promise<ConversationId[]> {
    const by = given === undefined ? {} : { by: checkId("by", given, this.settings) };
    const events = (record: ConversationRecord): ProtocolEvent[] => {
      const newestMs = newestWaiting(record);
      if (newestMs === null || newestMs >= sinceMs) return [];
      return [{ type: "reset", id: `pause ${sinceMs}`, forget: false, ...by }];
    };
    const dropped: ConversationId[] = [];
    let after: ConversationId | null = "";
    while (after !== null) {
      const page: Awaited<ReturnType<Store["list"]>> = await this.store.list({ after, limit: 200 }, { active: true });
      for (const record of page.conversations) {
        if (events(record).length === 0) continue;
        const { outcomes } = await this.#engine.perform(record.id, { events, patienceMs });
        if (outcomes.length > 0) dropped.push(record.id);
      }
      after = page.next;
    }
    return dropped;
  }

  /** This process, as leases and the log name it. */
  get owner(): string {
    return this.#engine.owner;
  }

  /** Conversations this process works on now. */
  get working(): number {
    return this.#engine.working();
  }

  // --- what people write

  /**
   * Takes in one message or several, in order. Resolves once they and their wake-up are durable; nobody waits for
   * the model. The same id again gets the first answer, as `duplicate`. Works without `start()`.
   * @throws LullError `invalid-argument`, `too-large` (nothing of the call is stored), `store-…` (repeat the call).
   */
  receive(conversation: ConversationId, message: Incoming): Promise<Received>;
  receive(conversation: ConversationId, messages: Incoming[]): Promise<Received[]>;
  async receive(conversation: ConversationId, given: Incoming | Incoming[]): Promise<Received | Received[]> {
    const id = this.#conversation(conversation);
    const many = Array.isArray(given);
    const checked = (many ? given : [given]).map((message, at) =>
      checkIncoming(message, this.settings, many ? `[${at}].` : ""),
    );
    const named = await Promise.all(
      checked.map(async (message) => ({ ...message, id: await this.#idOf(id, message) })),
    );
    const received = await Promise.all(named.map((message) => this.#receiveOne(id, message)));
    return many ? received : (received[0] as Received);
  }

  async #receiveOne(conversation: ConversationId, message: Checked & { id: string }): Promise<Received> {
    const { id } = message;
    const key = `m:${id}`;
    const result = await this.#engine.perform(conversation, {
      events: (_record, _log, nowMs) => this.#eventsFor(message, nowMs),
      seen: ([outcome], nowMs) => (outcome === undefined ? [] : [this.#seen(key, first(outcome), nowMs, outcome)]),
      patienceMs,
    });
    if (result.duplicate !== null) {
      this.#engine.emit({ type: "message.duplicate", conversation, atMs: this.#engine.time.now() });
      return { status: "duplicate", id, ...(result.duplicate[0]?.value as unknown as First) };
    }
    const outcome = result.outcomes[0] as Outcomes["receive"];
    if (outcome.is === "rejected")
      return { status: "rejected", id, reason: "full", retryAfterMs: this.#retryAfter(result) };
    const { startAtMs, quietAtMs } = outcome;
    if (startAtMs !== null && quietAtMs !== null)
      this.#engine.emit({ type: "window.armed", conversation, atMs: this.#engine.time.now(), startAtMs, quietAtMs });
    if (this.options.completeness !== undefined && startAtMs !== null) void this.#judge(conversation, outcome.version);
    return { status: "accepted", id, ...first(outcome) };
  }

  /** Asks the author whether this is all. Beside the wait: nobody waits for the answer, and newer input overtakes it. */
  async #judge(conversation: ConversationId, version: number): Promise<void> {
    try {
      const { record, log } = await this.#engine.cells.load(conversation);
      if (record === null || record.version !== version || record.window === null) return;
      const completeness: unknown = await this.options.completeness?.(
        inOrder(inputsOf(log, record.answered)),
        conversation,
      );
      if (typeof completeness !== "number" || !(completeness >= 0 && completeness <= 1))
        throw new LullError("invalid-argument", `completeness() must give a number from 0 to 1; got ${completeness}.`);
      await this.#do(conversation, () => [{ type: "judge", version, completeness }]);
    } catch (error) {
      this.#logger.warn({ conversation, error: messageOf(error) }, "completeness is not known");
    }
  }

  /** Control words and old messages are told apart here, by stated rules; everything else is the protocol's. */
  #eventsFor(message: Checked & { id: string }, nowMs: number): ProtocolEvent[] {
    const { commands, backlog } = this.settings;
    const word = onlyText(message);
    const command = word === undefined ? "" : commandWord(word);
    const { context, ...content } = message;
    if (context) return [{ type: "receive", ...content, aside: "context" }];
    const event: ReceiveEvent = { type: "receive", ...content };
    for (const [words, forget] of [
      [commands.reset, true],
      [commands.stop, false],
    ] as const)
      if (words.has(command))
        return [
          { ...event, aside: "command" },
          { type: "reset", id: message.id, forget, by: "user" },
        ];
    const old = backlog !== null && message.sentAtMs !== undefined && nowMs - message.sentAtMs > backlog.maxAgeMs;
    return [old && backlog.then === "context" ? { ...event, aside: "backlog" } : event];
  }

  /**
   * A message says something else now. What is unanswered, or answered by a reply of which nothing was sent, is
   * answered as edited; for the rest see `editAfterAnswer`. An edit that arrives before its message is the message.
   * @throws LullError `invalid-argument`, `too-large`, `store-…`.
   */
  async edit(conversation: ConversationId, messageId: string, change: Edit): Promise<Changed> {
    const where = this.#conversation(conversation);
    const target = checkId("messageId", messageId, this.settings);
    const checked = checkIncoming(change, this.settings);
    const id =
      change.id ?? (checked.sentAtMs === undefined ? this.#clock.id() : digest(`${target} ${digestOf(checked)}`));
    const completes = change.incomplete === false;
    const editOf = (log: readonly LogEntry[]): ProtocolEvent => {
      const { address: _, context: __, ...content } = checked;
      return { type: "edit", ...content, id, target, completes, afterAnswer: this.settings.editAfterAnswer, log };
    };
    const { context: _, ...early } = checked;
    return this.#change(where, target, `e:${id}`, id, editOf, () => ({ type: "receive", ...early, id: target }));
  }

  /**
   * The author takes a message back. Unanswered, it is as if it had never been; answered, the log notes it. A
   * retraction that arrives before its message removes the message when it comes.
   */
  async retract(conversation: ConversationId, messageId: string, call: { id?: string } = {}): Promise<Changed> {
    const where = this.#conversation(conversation);
    const target = checkId("messageId", messageId, this.settings);
    const id = call.id === undefined ? `retraction of ${target}` : checkId("id", call.id, this.settings);
    const retraction = (log: readonly LogEntry[]): ProtocolEvent => ({ type: "retract", id, target, log });
    return this.#change(where, target, `r:${id}`, id, retraction, retraction);
  }

  /** A change of a message that is pending, or answered, or has not arrived yet. */
  async #change(
    conversation: ConversationId,
    target: string,
    key: string,
    id: string,
    change: (log: readonly LogEntry[]) => ProtocolEvent,
    early: (log: readonly LogEntry[]) => ProtocolEvent,
  ): Promise<Changed> {
    const attempt = (known: boolean): Promise<Performed> => {
      let stranger = false;
      return this.#engine.perform(conversation, {
        needsLog: true,
        patienceMs,
        events: (record, log) => {
          stranger = !known && targetOf(record, target, log) === undefined;
          return [stranger ? early(log) : change(log)];
        },
        seen: ([outcome], nowMs) => {
          if (outcome === undefined) return [];
          const told = { version: versionOf(outcome), seq: 0, startAtMs: null, quietAtMs: null };
          const keys = [this.#seen(key, told, nowMs, outcome)];
          // Taken by the message itself, if it ever arrived: then it has been answered.
          if (stranger) keys.push(this.#seen(`m:${target}`, first(outcome), nowMs, outcome));
          return keys;
        },
      });
    };
    let result = await attempt(false);
    const repeated = () => result.duplicate?.find((seen) => seen.key === key);
    if (result.duplicate !== null && repeated() === undefined) result = await attempt(true);
    const duplicate = repeated();
    if (duplicate !== undefined)
      return { status: "duplicate", id, version: (duplicate.value as unknown as First).version };
    const outcome = result.outcomes[0] as Outcomes["edit"] | Outcomes["receive"];
    return { status: outcome.is, id, version: versionOf(outcome) };
  }

  /** Somebody is typing (or stopped): holds the window, within its cap. Never fails for an unknown conversation. */
  async typing(conversation: ConversationId, call: { on?: boolean; forMs?: number } = {}): Promise<void> {
    const { on = true, forMs } = call;
    if (forMs !== undefined && (!Number.isInteger(forMs) || forMs < 0))
      throw new LullError("invalid-argument", "forMs must be a whole number of milliseconds, at least 0.", {
        details: { field: "forMs" },
      });
    const { channels } = this.#engine;
    await this.#do(conversation, ({ address }) => {
      const ms = forMs ?? choose(channels, address)?.typingMs;
      return [{ type: "typing", on, ...(ms === undefined ? {} : { forMs: ms }) }];
    });
  }

  /** Answers now, without further waiting. `by`: who wants it, for the log. */
  async flush(conversation: ConversationId, call: Pick<OperatorCall, "by"> = {}): Promise<void> {
    const by = call.by === undefined ? {} : { by: checkId("by", call.by, this.settings) };
    await this.#do(conversation, () => [{ type: "flush", ...by }]);
  }

  /**
   * An attempt whose `respond()` returned `turn.elsewhere()`, to be answered from here. Works in any process and without
   * `start()`; the process that holds the lease delivers. @throws LullError `invalid-argument`.
   * @example
   * // in respond():  await queue.add("answer", turn.ref); return turn.elsewhere();
   * // in a job:      await lull.attempt(job.data).reply("Done.", { waitMs: 10_000 });
   */
  attempt(ref: AttemptRef): AttemptHandle {
    const outside = {
      engine: this.#engine,
      store: this.store,
      settings: this.settings,
      clock: this.#clock,
      patienceMs,
    };
    return attemptHandle(ref, outside);
  }

  // --- what operators and the bot itself want

  /** A message of the bot's own accord, through the same outbox: after the current turn, or only if all is quiet. */
  async send(
    conversation: ConversationId,
    message: OutgoingMessage & Pick<OperatorCall, "by"> & { when?: "after-turn" | "if-quiet" },
  ): Promise<{ status: "queued" | "duplicate" | "dropped" | "full"; replyId: string }> {
    const id = message.id === undefined ? this.#clock.id() : checkId("id", message.id, this.settings);
    const when = message.when ?? "after-turn";
    if (when !== "after-turn" && when !== "if-quiet")
      throw new LullError("invalid-argument", "when must be after-turn or if-quiet.", { details: { field: "when" } });
    const parts = checkParts("", message, this.settings);
    const replyId = this.#clock.id();
    const by = message.by === undefined ? {} : { by: checkId("by", message.by, this.settings) };
    const address =
      message.address === undefined
        ? {}
        : { address: checkJson("address", message.address, this.settings.maxAddressBytes) };
    const metadata =
      message.metadata === undefined
        ? {}
        : { metadata: checkObject("metadata", message.metadata, this.settings.maxAddressBytes) };
    const result = await this.#do(
      conversation,
      () => [{ type: "send", id, replyId, parts, when, ...address, ...metadata, ...by }],
      ([outcome], nowMs) => [this.#seen(`s:${id}`, replyId, nowMs, outcome)],
    );
    if (result.duplicate !== null) return { status: "duplicate", replyId: String(result.duplicate[0]?.value) };
    const outcome = result.outcomes[0] as Outcomes["send"];
    return { status: outcome.is, replyId };
  }

  /** A human answers from now on, at most `forMs`; a running attempt ends, parts not yet sent are cancelled. */
  async handoff(conversation: ConversationId, call: HandoffCall = {}): Promise<void> {
    const forMs = call.forMs ?? this.settings.limits.maxHandoffMs;
    if (!Number.isInteger(forMs) || forMs < 1)
      throw new LullError("invalid-argument", "forMs must be a whole number of milliseconds, at least 1.", {
        details: { field: "forMs" },
      });
    const backlog = checkBacklog(call.backlog);
    await this.#operate(conversation, call, (id, by) => ({ type: "handoff", id, forMs, backlog, ...by }));
  }

  /** A human has answered, outside lull: settles what the human had seen; the rest stays pending. */
  async humanReply(conversation: ConversationId, call: HumanReplyCall): Promise<void> {
    const parts = checkParts("", call, this.settings);
    const author = call.author === undefined ? {} : { author: checkId("author", call.author, this.settings) };
    const metadata =
      call.metadata === undefined
        ? {}
        : { metadata: checkObject("metadata", call.metadata, this.settings.maxAddressBytes) };
    const { upTo } = call;
    if (upTo !== undefined && typeof upTo !== "string" && (!Number.isInteger(upTo) || upTo < 0))
      throw new LullError("invalid-argument", "upTo must be a message id or a version.", {
        details: { field: "upTo" },
      });
    await this.#operate(
      conversation,
      call,
      (id, by, log, answered) => {
        const version = typeof upTo === "string" ? versionIn(log, upTo, answered) : (upTo ?? null);
        return { type: "humanReply", id, upTo: version, parts, ...author, ...metadata, ...by, log };
      },
      true,
    );
  }

  /** Ends a hand-off. `backlog`: answer what waited (default), or keep it as context. */
  async resume(conversation: ConversationId, call: OperatorCall & { backlog?: Backlog } = {}): Promise<void> {
    const backlog = checkBacklog(call.backlog);
    await this.#operate(conversation, call, (id, by) => ({ type: "resume", id, backlog, ...by }));
  }

  /** Drops everything unanswered, ends the attempt and any hand-off; later prompts start after it. */
  async reset(conversation: ConversationId, call: OperatorCall = {}): Promise<void> {
    await this.#operate(conversation, call, (id, by) => ({ type: "reset", id, forget: true, ...by }));
  }

  /** Brings back what was parked, or else what was last ended without an answer. */
  async retry(conversation: ConversationId, call: OperatorCall = {}): Promise<{ revived: number }> {
    const result = await this.#operate(conversation, call, (id, by) => ({ type: "retry", id, ...by }));
    if (result.duplicate !== null) return { revived: Number(result.duplicate[0]?.value ?? 0) };
    const outcome = result.outcomes[0] as Outcomes["retry"];
    return { revived: outcome.is === "revived" ? outcome.count : 0 };
  }

  /**
   * How this conversation is to be treated, before the bot's own `debounce` and `whenBusy`: kept with it, for every
   * process, until it is erased. Undefined leaves a wish as it is; null takes it back. Times hold for what comes next,
   * `maxWaitMs` and `whenBusy` at once. @throws LullError `invalid-argument`.
   */
  async tune(conversation: ConversationId, wishes: TuneCall): Promise<void> {
    const event = tuneEvent(wishes);
    await this.#operate(conversation, wishes, (id, by) => ({ type: "tune", id, ...event, ...by }));
  }

  /** Removes everything about a conversation. Resolves to false when there was nothing. */
  async erase(conversation: ConversationId): Promise<boolean> {
    const id = this.#conversation(conversation);
    const existed = await this.store.erase(id);
    this.#engine.forget(id);
    return existed;
  }

  /**
   * Removes what one author wrote, everywhere: conversations in which nobody else wrote are erased whole; in others the
   * author's messages and edits lose their content, and so do the replies and effects that answered them. What is
   * unanswered is taken back first. Messages without an author are nobody's, and stay. Reads every log (`prefix`: of
   * conversations whose ids begin so); repeat it for conversations that come back as `busy`, where a reply to the author
   * is on its way or the conversation changes too fast.
   * @throws LullError `unsupported` for a shared conversation in a store that cannot rewrite its log
   */
  async eraseAuthor(
    author: string,
    options: { prefix?: string } = {},
  ): Promise<{ erased: number; rewritten: number; busy: ConversationId[] }> {
    const who = checkId("author", author, this.settings);
    const result = { erased: 0, rewritten: 0, busy: [] as ConversationId[] };
    let after: ConversationId | null = "";
    while (after !== null) {
      const filter = options.prefix === undefined ? {} : { prefix: options.prefix };
      const page: Awaited<ReturnType<Store["list"]>> = await this.store.list({ after, limit: 200 }, filter);
      for (const { id } of page.conversations) {
        const done = await this.#eraseAuthorIn(id, who);
        if (done === "busy") result.busy.push(id);
        else if (done !== "stranger") result[done] += 1;
      }
      after = page.next;
    }
    return result;
  }

  async #eraseAuthorIn(id: ConversationId, author: string): Promise<"erased" | "rewritten" | "busy" | "stranger"> {
    for (let tries = 0; tries < 10; tries++) {
      const { record } = await this.store.load(id);
      if (record === null) return "stranger";
      const log: LogEntry[] = [];
      for (;;) {
        const page = await this.log(id, { from: (log.at(-1)?.seq ?? 0) + 1, limit: 1_000 });
        log.push(...page);
        if (page.length < 1_000) break;
      }
      const erasure = erasureOf(log, author);
      if (erasure === null) return "stranger";
      if (!erasure.shared) return (await this.erase(id)) ? "erased" : "stranger";
      const { rewrite } = this.store;
      if (rewrite === undefined)
        throw new LullError(
          "unsupported",
          `The store ${this.store.name} cannot rewrite the log of a conversation that others wrote in too.`,
          { details: { conversation: id } },
        );
      const retracted = new Set(log.flatMap((entry) => (entry.kind === "retraction" ? [entry.target] : [])));
      const pending = erasure.messages.filter(
        ({ id: message, version }) => version > record.answered && !retracted.has(message),
      );
      for (const { id: message } of pending) await this.retract(id, message);
      if (pending.length > 0) continue;
      // Its content is still to be sent from the log.
      if (record.outbox !== null && erasure.replyIds.has(record.outbox.replyId)) return "busy";
      if (await rewrite.call(this.store, id, record.revision, erasure.entries)) {
        this.#engine.forget(id);
        return "rewritten";
      }
    }
    return "busy";
  }

  // --- looking

  async get(conversation: ConversationId): Promise<ConversationView | null> {
    const id = this.#conversation(conversation);
    const { record } = await this.store.load(id);
    return record === null ? null : viewOf(record, this.#engine.limitsOf(id, record));
  }

  async log(conversation: ConversationId, page: LogPage = {}): Promise<LogEntry[]> {
    return (await this.store.log(this.#conversation(conversation), page)).entries;
  }

  async list(
    page: ListPage = {},
    filter: ListFilter = {},
  ): Promise<{ conversations: ConversationView[]; next: ConversationId | null; nowMs: number }> {
    const { conversations, next, nowMs } = await this.store.list(page, filter);
    return {
      nowMs,
      conversations: conversations.map((record) => viewOf(record, this.#engine.limitsOf(record.id, record))),
      next,
    };
  }

  async stats(): Promise<Stats & { working: number }> {
    return { ...(await this.store.stats()), working: this.working };
  }

  /**
   * Plain sentences: what happened lately, and how things stand. `entries`: how far back, default 100. They quote errors,
   * reasons and names of operators, unless `texts` is false.
   */
  async explain(conversation: ConversationId, options: { entries?: number; texts?: boolean } = {}): Promise<string[]> {
    const id = this.#conversation(conversation);
    const { record, nowMs } = await this.store.load(id);
    if (record === null) return explain(null, [], nowMs, null);
    const { entries } = await this.store.log(id, { before: record.seq + 1, limit: options.entries ?? 100 });
    const told = options.texts === false ? redacted({ record, entries }) : { record, entries };
    return explain(told.record, told.entries, nowMs, wakeAt(record, this.#engine.limitsOf(id, record)));
  }

  /**
   * A conversation as it may be handed in with a bug: its record and the newest entries of its log (default and at most
   * 1,000), without anybody's texts, names or ids. `replayReport` of `lull/testing` plays it again. Null: there is none.
   */
  async report(
    conversation: ConversationId,
    options: { entries?: number; versions?: Record<string, string> } = {},
  ): Promise<Report | null> {
    const id = this.#conversation(conversation);
    const { record, nowMs } = await this.store.load(id);
    if (record === null) return null;
    const { entries: log } = await this.store.log(id, { before: record.seq + 1, limit: options.entries ?? 1_000 });
    const limits = this.#engine.limitsOf(id, record);
    const settings = { limits, whenBusy: busyOf(this.settings.whenBusyOf(id), record) };
    return reportOf({
      record,
      log,
      nowMs,
      wakeAtMs: wakeAt(record, limits),
      settings,
      versions: { store: this.store.name, ...options.versions },
    });
  }

  /** Calls `listener` with every event of this process. Returns what ends it. */
  on(listener: (event: LullEvent) => void): () => void {
    return this.#engine.on(listener);
  }

  /**
   * A conversation's events after the log entry `after` (default: from now on), for ever or until `signal` aborts:
   * nothing lost, nothing doubled, whichever process wrote. Live-only events (no `seq`) come as they happen here.
   */
  async *events(
    conversation: ConversationId,
    options: { after?: number; signal?: AbortSignal } = {},
  ): AsyncGenerator<LullEvent> {
    const id = this.#conversation(conversation);
    const { signal } = options;
    const ear = this.#audience.listen(id);
    const wake = () => ear.tell();
    signal?.addEventListener("abort", wake);
    try {
      let after = options.after ?? (await this.#newest(id));
      while (!signal?.aborted) {
        const page = await this.log(id, { from: Math.max(1, after), limit: 200 });
        // The last entry seen is gone: with an erased conversation numbers begin anew.
        const isErased = page.length === 0 && after > (await this.#newest(id));
        if (isErased) after = 0;
        const fresh = page.filter(({ seq }) => seq > after);
        for (const entry of fresh) {
          after = entry.seq;
          yield eventOf(id, entry);
        }
        for (const event of ear.live.splice(0)) yield event;
        if (isErased || fresh.length > 0) continue;
        ear.after = after;
        if (!signal?.aborted) await ear.news();
      }
    } finally {
      signal?.removeEventListener("abort", wake);
      this.#audience.leave(ear);
    }
  }

  async #newest(id: ConversationId): Promise<number> {
    return (await this.store.load(id)).record?.seq ?? 0;
  }

  /**
   * Waits for the reply that covers `version`, or for its end without one. Null when the time is up (default 60 s).
   * `fromSeq`: the `seq` that `receive()` gave, which saves reading the log from its beginning.
   */
  async reply(
    conversation: ConversationId,
    version: number,
    options: { signal?: AbortSignal; timeoutMs?: number; fromSeq?: number } = {},
  ): Promise<ReplyView | null> {
    const stop = new AbortController();
    const end = () => stop.abort();
    options.signal?.addEventListener("abort", end);
    if (options.signal?.aborted) end();
    const timer = new AbortController();
    void this.#clock.sleep(options.timeoutMs ?? 60_000, timer.signal).then(end);
    try {
      const entries: LogEntry[] = [];
      const after = Math.max(0, (options.fromSeq ?? 1) - 1);
      for await (const { entry } of this.events(conversation, { after, signal: stop.signal })) {
        if (entry === undefined) continue;
        entries.push(entry);
        if (endOf(entry, version, entries) === null) continue;
        // The reply may also cover what came before the place where the caller began to look.
        const before = after === 0 ? [] : await this.log(conversation, { before: after + 1, limit: 1_000 });
        return endOf(entry, version, [...before, ...entries]);
      }
      return null;
    } finally {
      timer.abort();
      options.signal?.removeEventListener("abort", end);
    }
  }

  /** Compares every timer with its record, and mends what differs. For operators after a restored backup. */
  async repair(): Promise<{ repaired: ConversationId[] }> {
    const repaired: ConversationId[] = [];
    let after: ConversationId | undefined;
    for (;;) {
      const page = await this.store.repair({ limit: 1_000, ...(after === undefined ? {} : { after }) }, (record) =>
        wakeAt(record, this.#engine.limitsOf(record.id, record)),
      );
      repaired.push(...page.repaired);
      if (page.next === null) return { repaired };
      after = page.next;
    }
  }

  // --- shared

  #conversation(id: ConversationId): ConversationId {
    return checkId("conversation", id, this.settings);
  }

  /**
   * What was refused is not remembered, even where the same write ended a hand-off: a key that has expired is only
   * asked about.
   */
  #seen(key: string, value: unknown, nowMs: number, outcome?: Outcomes[keyof Outcomes]): SeenKey {
    const refused = outcome !== undefined && ["rejected", "full", "dropped"].includes(outcome.is);
    return { key, value: value as Json, expiresAtMs: refused ? 0 : nowMs + this.settings.seenMs };
  }

  #do(conversation: ConversationId, events: Operation["events"], seen?: Operation["seen"]): Promise<Performed> {
    return this.#engine.perform(this.#conversation(conversation), { events, patienceMs, ...(seen && { seen }) });
  }

  /** Operator events have ids: done once, however often they are asked for. */
  #operate(
    conversation: ConversationId,
    call: OperatorCall,
    event: (id: string, by: { by?: string }, log: readonly LogEntry[], answered: number) => ProtocolEvent,
    needsLog = false,
  ): Promise<Performed> {
    const id = call.id === undefined ? this.#clock.id() : checkId("id", call.id, this.settings);
    const by = call.by === undefined ? {} : { by: checkId("by", call.by, this.settings) };
    return this.#engine.perform(this.#conversation(conversation), {
      events: (record, log) => [event(id, by, log, record.answered)],
      seen: ([outcome], nowMs) => [
        this.#seen(`o:${id}`, outcome?.is === "revived" && "count" in outcome ? outcome.count : 0, nowMs),
      ],
      needsLog,
      patienceMs,
    });
  }

  /** When a full conversation is worth another try: after its attempt, or its window. */
  #retryAfter({ record }: Performed): number {
    const at = record === null ? null : wakeAt(record, this.#engine.limitsOf(record.id, record));
    return Math.max(1_000, (at ?? 0) - this.#engine.time.now());
  }

  #idOf(conversation: ConversationId, message: Checked): string {
    if (message.id !== undefined) return message.id;
    return message.sentAtMs === undefined ? this.#clock.id() : digest(`${conversation}\0${digestOf(message)}`);
  }

  /** Forgets expired ids, and logs older than `history.keepMs`. */
  async #keepUp(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.#clock.sleep(upkeepMs * (0.5 + this.#clock.random()), stop);
      if (stop.aborted) return;
      const nowMs = this.#engine.time.now();
      const { keepMs } = this.settings;
      const old = keepMs === null ? {} : { logBeforeMs: nowMs - keepMs };
      try {
        await this.store.prune({ seenBeforeMs: nowMs, keepFrom, ...old });
      } catch (error) {
        this.#logger.warn({ error: String(error) }, "upkeep failed; trying again later");
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------

/** What the first arrival of a message was answered. */
interface First {
  version: number;
  seq: number;
  startAtMs: number | null;
  quietAtMs: number | null;
}

function first(outcome: Outcomes[keyof Outcomes]): First {
  if ("seq" in outcome && "version" in outcome) {
    const { version, seq, startAtMs, quietAtMs } = outcome;
    return { version, seq, startAtMs, quietAtMs };
  }
  return { version: versionOf(outcome), seq: 0, startAtMs: null, quietAtMs: null };
}

function versionOf(outcome: Outcomes[keyof Outcomes]): number {
  return "version" in outcome && typeof outcome.version === "number" ? outcome.version : 0;
}

/** A message's version, if it is still unanswered; else nothing new is settled. */
function versionIn(log: readonly LogEntry[], id: string, answered: number): number {
  const entry = log.find((candidate) => candidate.kind === "message" && candidate.id === id);
  return entry?.kind === "message" ? entry.version : answered;
}

/** When the newest of what waits came: an input, an answer not yet sent, a message of the bot's own accord. */
function newestWaiting({ window, outbox, sends }: ConversationRecord): number | null {
  const times = [window?.lastInputAtMs, outbox?.committedAtMs, outbox?.newerAtMs, ...sends.map(({ atMs }) => atMs)];
  const known = times.filter((ms) => ms !== undefined && ms !== null);
  return known.length === 0 ? null : Math.max(...known);
}

function checkBacklog(value: unknown): Backlog {
  if (value === undefined) return "answer";
  if (value !== "answer" && value !== "context")
    throw new LullError("invalid-argument", "backlog must be answer or context.", { details: { field: "backlog" } });
  return value;
}

function endOf(entry: LogEntry, version: number, log: readonly LogEntry[]): ReplyView | null {
  if (entry.kind !== "closed" && entry.kind !== "settled") return null;
  if (entry.outcome === "withdrawn" || version <= entry.from || version > entry.to) return null;
  const of = entry.kind === "closed" ? entry.replyId : null;
  const reply = log.find((other) => other.kind === "reply" && other.replyId === of);
  // What was taken back or edited after the commit was answered all the same.
  const known = log.filter(({ seq }) => reply === undefined || seq < reply.seq);
  const covers = inputsOf(known, entry.from, entry.to).map(({ id }) => id);
  const base = { outcome: entry.outcome, from: entry.from, to: entry.to, covers };
  if (entry.kind === "settled") return { ...base, replyId: null, parts: [], overtaken: false };
  const parts = log.flatMap((other): Part[] => {
    if (other.kind === "reply" && other.replyId === entry.replyId) return other.parts;
    return other.kind === "part" && other.replyId === entry.replyId ? [other.part] : [];
  });
  const overtaken = reply?.kind === "reply" && reply.overtaken;
  return { ...base, replyId: entry.replyId, parts, overtaken };
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
