/**
 * Answering from outside: what `turn` offers to `respond()`, for whoever holds the attempt's name, in any process.
 * Every call is one exchange under the attempt's fence; an attempt that has ended refuses all of them.
 *
 * @module
 */
import { wholeAnswer } from "./answer.ts";
import type { Operation, Performed } from "./cell.ts";
import { type AttemptRef, answerEvents, claimOf, holds, replyUnder, sayEvents } from "./elsewhere.ts";
import type { Engine } from "./engine.ts";
import { LullError } from "./errors.ts";
import { checkId, checkPart } from "./intake.ts";
import type {
  ConversationRecord,
  Fallback,
  Held,
  Input,
  Json,
  LogEntry,
  Outcomes,
  PartState,
  ProtocolEvent,
} from "./model.ts";
import type { Settings } from "./options.ts";
import type { Clock, Store } from "./ports.ts";
import {
  type Answer,
  abortReason,
  type EffectView,
  effectsOf,
  effectValue,
  idempotencyKeyOf,
  inTime,
  isBlank,
  isEffectKey,
  type OnceOptions,
  type PartLike,
} from "./turn.ts";
import { effectOf, inOrder, inputsOf, quietAt, superseded } from "./window.ts";
import { type AbortCode, reasonOf } from "./worker.ts";

/** For calls that have to wait until the user has been quiet. */
export interface Within {
  /** How long the call may wait. Default 0: it is refused as `early`, and `details.atMs` says when it is time. */
  waitMs?: number;
  /** Ends the wait early. */
  signal?: AbortSignal;
}

export interface AttemptStatus {
  /** An answer is still wanted, and may still be committed. */
  wanted: boolean;
  /** Why not. `superseded`: newer input came, and the turn starts over. */
  reason: AbortCode | null;
  /** The attempt covers inputs up to here. */
  version: number | null;
  /** Inputs that came after `version`; empty once the attempt has ended. */
  newer: readonly Input[];
  effects: readonly EffectView[];
  sealed: boolean;
  /** The answer may be committed from then on; null: now, or never. */
  quietAtMs: number | null;
  /** When the attempt is given up; null once it has ended. */
  deadlineMs: number | null;
  /** What was answered so far, while it is being delivered. */
  reply: { replyId: string; open: boolean; parts: PartState[] } | null;
}

/**
 * `run`: it is yours to do, with this key; `inDoubt`: it may have been done before, and nobody saw its end.
 * `done`: an earlier run has this result.
 */
export type Begun =
  | { state: "run"; idempotencyKey: string; inDoubt: boolean }
  | { state: "done"; idempotencyKey: string; value: Json };

/**
 * An attempt, seen from outside its process. Calls that come too late reject with a LullError of the code
 * `superseded`, `answered`, `handed-off`, `reset` or `lost`; calls that may be repeated say so.
 */
export interface AttemptHandle {
  readonly ref: AttemptRef;
  /** Is the answer still wanted? What came meanwhile, what was done? Writes nothing, and never rejects for being late. */
  status(): Promise<AttemptStatus>;
  /**
   * The answer, or what follows the parts that were said; null: silence, or nothing further. Ends the attempt. Given
   * again: `duplicate`, and the first one stands. @throws LullError also `early`, `full`, `empty-answer`.
   */
  reply(answer: Answer, options?: Within): Promise<{ replyId: string | null; duplicate: boolean }>;
  /**
   * Sends a part now, as the beginning of the reply or its next part; the first waits for quiet, and seals the turn.
   * `index`, its place in the reply, makes the call repeatable. @throws LullError also `early`, `full`, `empty-answer`.
   */
  say(part: PartLike, options?: Within & { index?: number }): Promise<{ replyId: string; index: number }>;
  /** Before a side effect. Waits for quiet unless `readOnly`. @throws LullError also `early`, `busy`, `effects-full`. */
  begin(key: string, options?: Within & OnceOptions): Promise<Begun>;
  /**
   * After it: its result, which every later attempt is given instead of running it. Needs no lease, and may be
   * repeated. `late`: its turn had ended; the value is in the log. @throws LullError `effect-too-large`.
   */
  end(key: string, value: Json): Promise<"recorded" | "late">;
  /** It certainly did not happen: it may be begun again. */
  drop(key: string): Promise<void>;
  /** Newer input no longer discards this attempt; waits for quiet. @throws LullError also `early`. */
  seal(options?: Within): Promise<void>;
  /** Takes newer input into this attempt. Resolves to everything it is to answer. */
  absorb(): Promise<readonly Input[]>;
  /** A side effect under way takes long: its mark stays for another `leaseMs`, until `ref.deadlineMs`. */
  renew(): Promise<void>;
  /** The attempt has failed: it is repeated later, or the turn is parked. */
  fail(error: string, options?: { retryAfterMs?: number }): Promise<"retry" | "parked" | "cut">;
}

/** What a handle works with. */
export interface Outside {
  engine: Engine;
  store: Store;
  settings: Settings;
  clock: Clock;
  patienceMs: number;
}

/** How long a call of `say` is recognised when the store is asked again. */
const callMs = 3_600_000;
/** Longest error that is kept. */
const mostError = 1_000;

const early = (atMs: number) =>
  new LullError("early", "The user has not been quiet for long enough: repeat the call then.", { details: { atMs } });

/** @throws LullError `invalid-argument`. */
export function attemptHandle(
  given: AttemptRef,
  { engine, store, settings, clock, patienceMs }: Outside,
): AttemptHandle {
  const ref = checkRef(given, settings);
  const { conversation, fence, span } = ref;
  const now = () => engine.time.now();

  function perform(events: Operation["events"], more: Partial<Operation> = {}): Promise<Performed> {
    // What was erased meanwhile must not come back.
    const unless: Operation["events"] = (record, log, nowMs) =>
      record.revision === "" ? [] : events(record, log, nowMs);
    return engine.perform(conversation, { events: unless, patienceMs, ...more });
  }

  /** One event of the holder's. */
  async function asHolder<E extends ProtocolEvent>(event: (held: Held, record: ConversationRecord) => E) {
    const result = await perform((record) => {
      const held = claimOf(record, fence);
      return held === null ? [] : [event(held, record)];
    });
    return { ...result, outcome: result.outcomes[0] as Outcomes[E["type"]] | undefined };
  }

  function refuse(record: ConversationRecord | null): never {
    throw abortReason(reasonOf(record, fence));
  }

  /** Asks again once the time has come, for as long as the caller waits. */
  async function insist<T>(
    { waitMs = 0, signal }: Within,
    ask: () => Promise<T | { atMs: number; error: LullError }>,
  ): Promise<T> {
    const endMs = now() + waitMs;
    for (;;) {
      const answer = await ask();
      if (!isEarly(answer)) return answer;
      if (answer.atMs > endMs || now() >= endMs || signal?.aborted) throw answer.error;
      // In steps: a flush ends the wait sooner, typing later.
      await clock.sleep(Math.max(1, Math.min(answer.atMs - now(), 1_000)), signal);
    }
  }

  /** Waiting for quiet is not the attempt's fault: its deadline waits too. */
  async function tooEarly(
    record: ConversationRecord | null,
    atMs: number,
  ): Promise<{ atMs: number; error: LullError }> {
    const { leaseMs } = settings.limits;
    if (record?.lease?.fence === fence && record.lease.deadlineMs < atMs + leaseMs)
      await asHolder((held) => ({ type: "renew", held: true, deadlineMs: ref.deadlineMs, ...held }));
    return { atMs, error: early(atMs) };
  }

  async function endEffect(key: string, result: { value: Json } | null): Promise<"recorded" | "late"> {
    checkKey(key);
    let known = true;
    const done = await perform(
      (record) => {
        const effects =
          record.span === span ? record.effects : record.outbox?.span === span ? record.outbox.effects : null;
        known = effects === null || effectOf(effects, key) !== undefined;
        return known ? [{ type: "end", fence, span, key, result }] : [];
      },
      // However often a late result is handed in, the log has it once.
      result === null
        ? {}
        : {
            seen: ([outcome], nowMs) =>
              outcome === undefined
                ? []
                : [{ key: `x:${fence}:${key}`, value: outcome.is, expiresAtMs: nowMs + settings.seenMs }],
          },
    );
    if (done.duplicate !== null) return done.duplicate[0]?.value === "late" ? "late" : "recorded";
    if (!known && result !== null)
      throw new LullError("invalid-argument", "The effect was not begun: begin it before it is done.", {
        details: { field: "key" },
      });
    return (done.outcomes[0] as Outcomes["end"] | undefined)?.is ?? "late";
  }

  return {
    ref,

    async status() {
      const { record, log } = await engine.cells.load(conversation);
      const lease = record !== null && holds(record, fence) ? record.lease : null;
      const reply = record === null ? null : replyUnder(record, fence);
      const isLate = record !== null && superseded(record, engine.limitsOf(conversation, record));
      const open = lease !== null && reply?.open !== false && reply?.ending == null;
      const reason = !open ? reasonFor(record, reply !== null) : isLate ? "superseded" : null;
      const waits = lease !== null && !lease.sealed && reply === null && record?.window;
      return {
        wanted: reason === null,
        reason,
        version: lease?.version ?? null,
        newer: lease === null ? [] : inOrder(inputsOf(log, lease.version)),
        effects: record === null ? [] : effectsOf(record, log, span),
        sealed: lease !== null && (lease.sealed || reply?.sealed === true),
        quietAtMs: waits ? quietAt(waits, engine.limitsOf(conversation, record)) : null,
        deadlineMs: lease?.deadlineMs ?? null,
        reply: reply && { replyId: reply.replyId, open: reply.open, parts: reply.parts.map(({ state }) => state) },
      };
    },

    async reply(answer, options = {}) {
      // Which reply was crossed is known to the process that holds the turn.
      const { amends: _, ...whole } = wholeAnswer(answer, settings);
      return insist(options, async () => {
        let full = false;
        let claim: Held | null = null;
        const { outcomes, record, entries } = await perform((before) => {
          const said = replyUnder(before, fence);
          full = said?.open === true && said.parts.length + (whole.parts?.length ?? 0) > settings.limits.maxParts;
          claim = claimOf(before, fence);
          return full ? [] : answerEvents(before, fence, whole);
        });
        if (full) throw new LullError("full", "A reply has at most limits.maxParts parts.");
        const outcome = outcomes.at(-1) as Outcomes["commit"] | Outcomes["close"] | undefined;
        if (outcome?.is === "superseded") throw abortReason("superseded");
        if (outcome?.is === "early") return tooEarly(record, outcome.atMs);
        if (outcome === undefined || outcome.is === "lost") return refuse(record);
        const named = outcome.is === "committed" ? outcome.replyId : ((claim as Held | null)?.claimId ?? null);
        const replyId = (record === null ? null : replyUnder(record, fence)?.replyId) ?? named;
        return { replyId, duplicate: outcome.is === "committed" && !entries.some(isAnswer) };
      });
    },

    async say(given, options = {}) {
      if (isBlank(given)) throw new LullError("empty-answer", "A part needs a text that is not empty.");
      const part = checkPart("part", given);
      const call = `a:${clock.id()}`;
      return insist(options, async () => {
        let place = { replyId: "", index: 0, isNext: true };
        const { outcomes, record, duplicate } = await perform(
          (before) => {
            const said = replyUnder(before, fence);
            const next = said?.parts.length ?? 0;
            const index = options.index ?? next;
            const claim = claimOf(before, fence);
            place = { replyId: said?.replyId ?? claim?.claimId ?? "", index, isNext: index <= next };
            return place.isNext ? sayEvents(before, fence, part, options.index) : [];
          },
          // Should the store's answer be lost, this very call is recognised.
          {
            seen: ([outcome], nowMs) =>
              outcome?.is === "committed" || outcome?.is === "appended"
                ? [{ key: call, value: place.index, expiresAtMs: nowMs + callMs }]
                : [],
          },
        );
        const { replyId } = place;
        if (duplicate !== null) return { replyId, index: Number(duplicate[0]?.value) };
        if (!place.isNext)
          throw new LullError("invalid-argument", "index must be that of the next part, or of one that was said.", {
            details: { field: "index" },
          });
        const outcome = outcomes[0] as Outcomes["commit"] | Outcomes["append"] | undefined;
        if (outcome?.is === "superseded") throw abortReason("superseded");
        if (outcome?.is === "early") return tooEarly(record, outcome.atMs);
        if (outcome?.is === "full") throw new LullError("full", "A reply has at most limits.maxParts parts.");
        if (outcome === undefined || outcome.is === "lost") return refuse(record);
        return { replyId, index: place.index };
      });
    },

    async begin(key, options = {}) {
      checkKey(key);
      return insist<Begun>(options, async () => {
        let again: boolean | null = null;
        const ask = () =>
          asHolder((held, before) => {
            const effect = effectOf((before.outbox ?? before).effects, key);
            again ??= effect?.state === "begun" && effect.fence === fence;
            return { type: "begin", key, readOnly: options.readOnly === true, elsewhere: true, ...held };
          });
        const { outcome, record } = await inTime(clock, ask, (asked) => asked.outcome);
        const idempotencyKey = idempotencyKeyOf(conversation, span, key);
        switch (outcome?.is) {
          case "run":
            // Begun before under this very name: whoever asks again cannot know how far the first one came.
            return { state: "run", idempotencyKey, inDoubt: outcome.inDoubt || again === true };
          case "done": {
            const [entry] = (await store.log(conversation, { from: outcome.seq, limit: 1 })).entries;
            if (entry?.kind !== "effect")
              throw new LullError("store-damaged", `The result of effect ${key} is missing.`);
            return { state: "done", idempotencyKey, value: entry.value };
          }
          case "busy": {
            const message = "An earlier attempt's run of this effect is still under way.";
            return {
              atMs: outcome.untilMs,
              error: new LullError("busy", message, { details: { atMs: outcome.untilMs } }),
            };
          }
          case "early":
            return tooEarly(record, outcome.atMs);
          case "full":
            throw new LullError("effects-full", "Too many effects in one turn (limits.maxEffects).");
          case "superseded":
            throw abortReason("superseded");
          default:
            return refuse(record);
        }
      });
    },

    end: async (key, value) => endEffect(key, { value: effectValue(key, value, settings.maxEffectBytes) }),

    async drop(key) {
      await endEffect(key, null);
    },

    seal: (options = {}) =>
      insist(options, async () => {
        const { outcome, record } = await asHolder((held) => ({ type: "seal", elsewhere: true, ...held }));
        if (outcome?.is === "early") return tooEarly(record, outcome.atMs);
        if (outcome?.is === "superseded") throw abortReason("superseded");
        return outcome?.is === "sealed" ? undefined : refuse(record);
      }),

    async absorb() {
      const { outcome, record } = await asHolder((held) => ({ type: "absorb", ...held }));
      if (record === null || !holds(record, fence)) return refuse(record);
      const reply = replyUnder(record, fence);
      if (outcome?.is === "lost" && reply === null) return refuse(record);
      const { log } = await engine.cells.load(conversation);
      const [from, to] = reply === null ? [record.answered, record.lease?.version] : [reply.from, reply.to];
      return inOrder(inputsOf(log, from, to));
    },

    async renew() {
      // Not as the holder: whoever works outside must not keep the lease of a process that died.
      await perform(() => [{ type: "renew", fence, claimId: "", held: false, deadlineMs: ref.deadlineMs }]);
    },

    async fail(error, options = {}) {
      if (typeof error !== "string" || error === "")
        throw new LullError("invalid-argument", "error must say what went wrong.", { details: { field: "error" } });
      const said = error.slice(0, mostError).toWellFormed();
      const retryAfterMs = options.retryAfterMs === undefined ? {} : { retryAfterMs: options.retryAfterMs };
      const [random, replyId] = [clock.random(), clock.id()];
      const { outcome, record } = await asHolder((held, before) => {
        const fallback = before.failures + 1 < settings.limits.maxFailures ? null : fallbackOf(said, replyId);
        return { type: "fail", error: said, random, fallback, ...retryAfterMs, ...held };
      });
      return outcome === undefined || outcome.is === "lost" ? refuse(record) : outcome.is;
    },
  };

  function fallbackOf(error: string, replyId: string): Fallback | null {
    const text = settings.fallbackOf(conversation, error);
    return text === null ? null : { replyId, parts: [{ type: "text", text }] };
  }

  function reasonFor(record: ConversationRecord | null, isReplied: boolean): AbortCode {
    return isReplied ? "answered" : reasonOf(record, fence);
  }
}

/** Anything else was written by the way, the end of a hand-off say. */
function isAnswer(entry: LogEntry): boolean {
  return entry.kind === "reply" || (entry.kind === "settled" && entry.outcome === "silent");
}

function isEarly<T>(answer: T | { atMs: number; error: LullError }): answer is { atMs: number; error: LullError } {
  return typeof answer === "object" && answer !== null && "error" in answer && LullError.isInstance(answer.error);
}

function checkKey(key: unknown): void {
  if (!isEffectKey(key))
    throw new LullError("invalid-argument", "An effect's key must be a non-empty string.", {
      details: { field: "key" },
    });
}

function checkRef(given: AttemptRef, settings: Settings): AttemptRef {
  const whole = (field: "fence" | "span" | "deadlineMs"): number => {
    const value: unknown = (given as Partial<AttemptRef> | null)?.[field];
    if (typeof value === "number" && Number.isSafeInteger(value)) return value;
    throw new LullError("invalid-argument", "Hand in turn.ref as it was given.", {
      details: { field: `ref.${field}` },
    });
  };
  const [fence, span, deadlineMs] = [whole("fence"), whole("span"), whole("deadlineMs")];
  return { conversation: checkId("ref.conversation", given.conversation, settings), fence, span, deadlineMs };
}
