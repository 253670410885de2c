/**
 * The Turn handed to `respond()`: everything unanswered, and the few things an answer may do before it is
 * committed. Built over the engine's operations; it holds no state but what the author sees.
 *
 * @module
 */
import type { AttemptRef } from "./elsewhere.ts";
import { LullError } from "./errors.ts";
import { byteLength, checkJson, checkObject, checkPart } from "./intake.ts";
import type {
  ConversationId,
  ConversationRecord,
  Fence,
  Input,
  Json,
  JsonObject,
  LogEntry,
  Outcomes,
  Part,
  ProtocolEvent,
} from "./model.ts";
import type { Clock } from "./ports.ts";
import type { Stop } from "./stop.ts";
import { inOrder, inputsOf } from "./window.ts";
import { type TuneCall, tuneEvent } from "./wishes.ts";
import type { AbortCode, Grasp } from "./worker.ts";

/** A part as authors may write it: a plain string is a text part. */
export type PartLike = string | Part;

/**
 * What `respond()` gives back: text, parts, or `null` for a deliberate silence. `undefined` and `""` are
 * errors that say so, because they are nearly always a forgotten return or an empty model answer.
 *
 * `amends: true`: should this turn have crossed a reply (`turn.crossed`), the answer takes that reply's place on the
 * screen, where the channel can change what it sent, and both are one part. Otherwise it is sent as usual.
 */
export type Answer =
  | string
  | Part
  | PartLike[]
  | { text: string; metadata?: JsonObject; amends?: boolean }
  | { parts: PartLike[]; metadata?: JsonObject; amends?: boolean }
  | null;

/**
 * Results of the AI SDK, as they are. A stream of text (`streamText`, an agent's `stream`) is drafted while it comes and
 * answered as a whole; an object (`generateObject`, `streamObject`, an object `output`) is answered as one data part.
 */
export type ModelResult = { readonly textStream: AsyncIterable<string> } | { readonly object: unknown };

/** Answers one turn. May be called again for the same messages: after newer input, an error or a crash. */
export type Respond = (turn: Turn) => Responded | PromiseLike<Responded>;
export type Responded = Answer | ModelResult | AsyncIterable<PartLike>;

/** `turn.signal.reason` is a LullError of one of these codes. */
export type { AbortCode };

/**
 * How an attempt ended. `committed`: its answer is in the outbox. `silent`: it ended without words, by choice. The others
 * discarded it: newer input, an error, a shutdown, a human, a lost lease.
 */
export type AttemptOutcome = "committed" | "silent" | "failed" | "handed-back" | AbortCode;

/** What an earlier attempt of the same turn already did. */
export interface EffectView {
  key: string;
  /** `done`: `value` is its recorded result. `unknown`: it was begun and nobody saw its end. */
  state: "done" | "unknown";
  value?: Json;
}

export interface OnceOptions {
  /** The function only reads: it need not wait for the quiet target. Default false. */
  readOnly?: boolean;
}

export interface OnceContext {
  /** The same for every run of this effect in this turn: hand it to the service you call. */
  idempotencyKey: string;
  /** True when an earlier run was begun and nobody saw its end. */
  inDoubt: boolean;
  signal: AbortSignal;
}

/** A reply that was not read before the user went on. */
export interface CrossedReply {
  replyId: string;
  parts: readonly Part[];
  /** The texts of `parts`, one a line. */
  text: string;
}

export interface Turn {
  readonly conversation: ConversationId;
  /** All unanswered inputs, in the order people meant them (platform time where known, else arrival). */
  readonly messages: readonly Input[];
  /** The texts of `messages`, one a line. */
  readonly text: string;
  /** The answer will cover inputs up to this version. */
  readonly version: number;
  /** 1 for the first attempt of this turn. */
  readonly attempt: number;
  readonly fence: Fence;
  /** What earlier attempts of this turn already did. */
  readonly effects: readonly EffectView[];
  readonly address: Json;
  /**
   * The reply that the first of these messages crossed: the user was typing it when the reply appeared, and may not
   * have read it. Say what changes, instead of answering again. Null: nothing was crossed. Told from the time the
   * message came and its length, so it is a good guess (docs/windows.md).
   */
  readonly crossed: CrossedReply | null;
  /** The newest message's metadata. */
  readonly metadata: JsonObject;
  /** Clock time (milliseconds since 1970) at which this attempt is given up. */
  readonly deadlineMs: number;
  /**
   * Aborts when this attempt is superseded, lost, answered from elsewhere, timed out, stopped, handed off, reset or
   * undeliverable.
   */
  readonly signal: AbortSignal;
  /** Names this attempt to `lull.attempt(ref)`, in any process. Plain JSON. Who has it can answer: keep it as a secret. */
  readonly ref: AttemptRef;
  /**
   * The conversation's last `n` log entries after the last reset, oldest first, without this turn's own messages and
   * attempts: what a prompt's history is made of. Default 50.
   */
  log(n?: number): Promise<LogEntry[]>;
  /**
   * Runs `fn` at most once for this turn, over all attempts; later attempts get the recorded result (as JSON:
   * nothing becomes null). What threw runs again when asked again; what ran and could not be recorded is in doubt.
   * Waits for the quiet target first, unless `readOnly`. `key` names the effect within the turn. A function that
   * throws counts as not having happened: return a value for "perhaps".
   * @throws LullError `superseded`, `lost`, `effects-full`, `effect-too-large`; whatever `fn` throws.
   */
  once<T extends Json | undefined>(
    key: string,
    fn: (context: OnceContext) => T | PromiseLike<T>,
    options?: OnceOptions,
  ): Promise<T>;
  /** From here on newer input no longer discards this attempt; waits for the quiet target. @throws LullError `superseded`, `lost`. */
  seal(): Promise<void>;
  /** Takes newer input into this attempt; `messages` and `text` are renewed. @throws LullError `lost`. */
  absorb(): Promise<readonly Input[]>;
  /**
   * Sends a part now, as the beginning of this turn's reply or the next part of it; the first waits for the quiet
   * target and seals the turn. Resolves once the channel has answered the first try: a part that it refused for now
   * is tried again in its place, while the model may go on.
   * @throws LullError the code of `signal.reason` when the attempt has ended; `undeliverable` when the channel refused
   * a part for good; `full` beyond `limits.maxParts`; `empty-answer`; `invalid-argument`.
   */
  say(part: PartLike): Promise<void>;
  /**
   * Shows provisional text; the next call replaces it. Listeners hear of it at once (the event `draft`). A channel that
   * can take it back shows it from the quiet target on, and not after `say`; the reply then takes its place.
   */
  draft(part: PartLike): void;
  /**
   * Notes what this attempt has cost, in the log and in the sum of the running period (`everyMs`; default a day, UTC).
   * Works after the attempt has ended too. Resolves to the period's sum; `tokens: 0` only asks.
   */
  spend(
    tokens: number,
    options?: { everyMs?: number; details?: JsonObject },
  ): Promise<{ sinceMs: number; tokens: number }>;
  /** How this conversation is to be treated from now on, as by `lull.tune`. @throws LullError `invalid-argument`. */
  tune(wishes: Pick<TuneCall, "debounce" | "whenBusy">): Promise<void>;
  /** Resolves when this attempt's answer was committed or discarded. */
  readonly ended: Promise<AttemptOutcome>;
  /**
   * For `return turn.elsewhere()`: the answer is given through `lull.attempt(turn.ref)`, by any process, until the
   * attempt's deadline. This process keeps the lease, and delivers. Never resolves; rejects with `signal.reason`,
   * `answered` when the answer has come. Without hints from the store the record is looked at every `scanMs`.
   */
  elsewhere(): Promise<never>;
}

// ---------------------------------------------------------------------------------------------

/** What a turn needs from the engine. */
export interface TurnPort {
  conversation: ConversationId;
  grasp: Grasp;
  record: ConversationRecord;
  /** The tail of the log as of the claim. */
  tail: readonly LogEntry[];
  crossed: readonly Part[] | null;
  stop: Stop;
  ended: Promise<AttemptOutcome>;
  maxEffectBytes: number;
  now(): number;
  exchange<E extends ProtocolEvent>(event: E): Promise<{ outcome: Outcomes[E["type"]]; log: readonly LogEntry[] }>;
  /** Resolves at that store time, or when the attempt is aborted; the attempt's deadline waits meanwhile. */
  hold(untilMs: number): Promise<void>;
  /** The answer comes from outside: look out for it. */
  elsewhere(): void;
  say(part: Part): Promise<void>;
  draft(part: Part): void;
  entry(seq: number): Promise<LogEntry | undefined>;
  logBefore(seq: number, n: number): Promise<LogEntry[]>;
  /** Runs while an effect is under way, so that its mark stays alive. */
  during<T>(effect: Promise<T>): Promise<T>;
}

const abortReasons: Record<AbortCode, string> = {
  superseded: "Newer input came: this answer is discarded, and the turn starts over with everything.",
  lost: "The lease was lost: another worker answers this conversation.",
  answered: "The turn has been answered.",
  "timed-out": "The attempt took longer than turnTimeoutMs.",
  stopped: "This process is stopping: the turn goes on elsewhere.",
  "handed-off": "A human has taken over the conversation.",
  reset: "The conversation was reset.",
  undeliverable: "The channel refused a part of this reply for good: what follows would not be sent either.",
};

/** The reason of `turn.signal`. */
export function abortReason(code: AbortCode): LullError {
  return new LullError(code, abortReasons[code]);
}

/** Names an effect within its turn: any text but nothing, and what JSON objects and stores cannot hold. */
export function isEffectKey(key: unknown): key is string {
  return typeof key === "string" && key !== "" && key !== "__proto__" && key.isWellFormed() && !key.includes("\0");
}

/**
 * Asks whether an effect may run. This process may have stood still until the mark of the effect had passed, and a later
 * attempt may have run it meanwhile: who is told so late asks again, and learns whether the attempt is still there.
 */
export async function inTime<T>(
  clock: Pick<Clock, "monotonic">,
  ask: () => Promise<T>,
  outcomeOf: (answer: T) => Outcomes[keyof Outcomes] | undefined,
): Promise<T> {
  const beganMs = clock.monotonic();
  const answer = await ask();
  const outcome = outcomeOf(answer);
  return outcome?.is === "run" && clock.monotonic() - beganMs >= outcome.forMs ? ask() : answer;
}

/** What the idempotency key of an effect is. */
export function idempotencyKeyOf(conversation: ConversationId, span: number, key: string): string {
  return `${conversation}:${span}:${key}`;
}

/** A text without a visible character. */
export function isBlank(part: PartLike): boolean {
  const text = typeof part === "string" ? part : part?.type === "text" ? part.text : undefined;
  return typeof text === "string" && text.trim() === "";
}

/** The texts of all text parts, one a line. */
export function textOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

function crossedReply(replyId: string, parts: readonly Part[]): CrossedReply {
  return { replyId, parts, text: textOf(parts) };
}

/** Builds the turn of an attempt. */
export function turnOf(port: TurnPort): Turn {
  const { grasp, record, stop } = port;
  const { fence, claimId, span } = grasp;
  const held = { fence, claimId };
  const crossing = record.window?.crossed;
  let messages = inOrder(inputsOf(port.tail, grasp.from, grasp.version));
  let version = grasp.version;
  const calls = new Map<string, Promise<unknown>>();

  function stopIfAborted(): void {
    if (stop.aborted) throw stop.reason;
  }

  function refuse(code: "superseded" | "lost"): never {
    stopIfAborted();
    throw abortReason(code);
  }

  async function seal(): Promise<void> {
    for (;;) {
      stopIfAborted();
      const { outcome } = await port.exchange({ type: "seal", ...held });
      if (outcome.is === "sealed") return;
      if (outcome.is !== "early") return refuse(outcome.is);
      await port.hold(outcome.atMs);
    }
  }

  async function perform(key: string, fn: (context: OnceContext) => unknown, readOnly: boolean): Promise<unknown> {
    for (;;) {
      stopIfAborted();
      const { outcome } = await port.exchange({ type: "begin", key, readOnly, ...held });
      switch (outcome.is) {
        case "run":
          return port.during(run(key, fn, outcome.inDoubt, outcome.span));
        case "done": {
          const entry = await port.entry(outcome.seq);
          if (entry?.kind !== "effect") throw new LullError("store-damaged", `The result of effect ${key} is missing.`);
          return entry.value;
        }
        case "busy":
          await port.hold(outcome.untilMs);
          break;
        case "early":
          await port.hold(outcome.atMs);
          break;
        case "full":
          throw new LullError("effects-full", "Too many effects in one turn (limits.maxEffects).");
        default:
          return refuse(outcome.is);
      }
    }
  }

  async function run(
    key: string,
    fn: (context: OnceContext) => unknown,
    inDoubt: boolean,
    of: number,
  ): Promise<unknown> {
    const end = (result: { value: Json } | null) => port.exchange({ type: "end", fence, span: of, key, result });
    const idempotencyKey = idempotencyKeyOf(port.conversation, of, key);
    let value: unknown;
    try {
      value = await fn({
        idempotencyKey,
        inDoubt,
        get signal() {
          return stop.signal;
        },
      });
    } catch (error) {
      await end(null);
      throw error;
    }
    // What cannot be recorded was done all the same: its mark stays, and the next attempt finds it in doubt.
    const recorded = effectValue(key, value, port.maxEffectBytes);
    await end({ value: recorded });
    return recorded;
  }

  return {
    conversation: port.conversation,
    get messages() {
      return messages;
    },
    get text() {
      return messages
        .map((message) => textOf(message.parts))
        .filter(Boolean)
        .join("\n");
    },
    get version() {
      return version;
    },
    attempt: grasp.attempt,
    fence,
    effects: effectsOf(record, port.tail, span),
    address: record.address,
    crossed: crossing === undefined || port.crossed === null ? null : crossedReply(crossing.replyId, port.crossed),
    get metadata() {
      return messages.at(-1)?.metadata ?? {};
    },
    get deadlineMs() {
      return grasp.deadlineMs;
    },
    get signal() {
      return stop.signal;
    },
    ref: { conversation: port.conversation, fence, span, deadlineMs: grasp.deadlineMs },
    elsewhere() {
      port.elsewhere();
      return new Promise((_, reject) => {
        const { signal } = stop;
        const end = () => reject(signal.reason);
        signal.addEventListener("abort", end, { once: true });
        if (signal.aborted) end();
      });
    },
    async log(n = 50) {
      const fromSeq = record.window?.fromSeq ?? record.seq + 1;
      // Answers to what came before may stand behind this turn's first message.
      const beside = port.tail.filter((entry) => isHistory(entry, grasp.from));
      const before = n > beside.length ? await port.logBefore(fromSeq, n - beside.length) : [];
      const entries = [...before, ...beside].slice(-n);
      // A reset means: as if nothing had been said before.
      return entries.slice(entries.findLastIndex((entry) => entry.kind === "reset" && entry.forget) + 1);
    },
    once(key, fn, options = {}) {
      if (!isEffectKey(key))
        return Promise.reject(new LullError("invalid-argument", "once() needs a non-empty string as its key."));
      const again = calls.get(key) as ReturnType<typeof fn> | undefined;
      if (again !== undefined) return Promise.resolve(again);
      const call = perform(key, fn as (context: OnceContext) => unknown, options.readOnly === true);
      calls.set(key, call);
      // What failed may be tried again within the attempt.
      call.catch(() => calls.delete(key));
      return call as Promise<Awaited<ReturnType<typeof fn>>>;
    },
    seal,
    async absorb() {
      stopIfAborted();
      const { outcome, log } = await port.exchange({ type: "absorb", ...held });
      if (outcome.is === "lost") return refuse("lost");
      if (outcome.is === "absorbed") {
        version = outcome.version;
        messages = inOrder(inputsOf(log, grasp.from, version));
      }
      return messages;
    },
    async say(part) {
      stopIfAborted();
      if (isBlank(part)) throw new LullError("empty-answer", "say() needs a text that is not empty.");
      await port.say(checkPart("part", part));
    },
    draft(part) {
      if (!stop.aborted && !isBlank(part)) port.draft(checkPart("part", part));
    },
    async spend(tokens, { everyMs = 86_400_000, details } = {}) {
      for (const [name, value] of Object.entries({ tokens, everyMs: everyMs - 1 }))
        if (!Number.isSafeInteger(value) || value < 0)
          throw new LullError("invalid-argument", `spend(): ${name} must be a whole number, not negative.`);
      const more = details === undefined ? {} : { details: checkObject("details", details, port.maxEffectBytes) };
      const { outcome } = await port.exchange({ type: "spend", fence, tokens, everyMs, ...more });
      return { sinceMs: outcome.sinceMs, tokens: outcome.tokens };
    },
    async tune(wishes) {
      await port.exchange({ type: "tune", id: `attempt ${fence}`, by: "bot", ...tuneEvent(wishes) });
    },
    ended: port.ended,
  };
}

/** Entries of the running span that belong to what was said before it, and not to the turn. */
function isHistory(entry: LogEntry, answered: number): boolean {
  switch (entry.kind) {
    case "message":
    case "edit":
    case "retraction":
      return entry.aside !== undefined || entry.version <= answered;
    case "reply":
    case "part":
    case "receipt":
    case "closed":
    case "settled":
    case "human":
    case "send":
    case "reset":
      return true;
    default:
      return false;
  }
}

/** What was done under a range of inputs, as its attempts are told. `log`: at least the results' entries. */
export function effectsOf(record: ConversationRecord, tail: readonly LogEntry[], span: number): EffectView[] {
  const effects = record.span === span ? record.effects : record.outbox?.span === span ? record.outbox.effects : {};
  return Object.entries(effects).map(([key, effect]): EffectView => {
    if (effect.state === "begun") return { key, state: "unknown" };
    const entry = tail.find(({ seq }) => seq === effect.seq);
    return { key, state: "done", ...(entry?.kind === "effect" ? { value: entry.value } : {}) };
  });
}

/** A recorded result must survive JSON; `undefined` becomes null. @throws LullError `effect-too-large`. */
export function effectValue(key: string, value: unknown, mostBytes: number): Json {
  if (value === undefined) return null;
  const json = checkJson(`The result of effect ${key}`, value, Number.POSITIVE_INFINITY);
  const bytes = byteLength(JSON.stringify(json));
  if (bytes > mostBytes) {
    const advice = "Return an id and keep the rest elsewhere.";
    const message = `The result of effect ${key} has ${bytes} bytes; at most ${mostBytes} (limits.maxEffectBytes). ${advice}`;
    throw new LullError("effect-too-large", message);
  }
  return json;
}
