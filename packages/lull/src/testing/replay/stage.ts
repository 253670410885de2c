/**
 * What a bot did in a replayed burst, and what its users saw.
 *
 * @module
 */
import { LullError } from "../../errors.ts";
import type { Json, Part } from "../../model.ts";
import type { Clock, Delivery } from "../../ports.ts";
import { type EffectView, type OnceContext, type Respond, type Turn, textOf } from "../../turn.ts";
import type { Watch } from "./watch.ts";

/** What `respond` is handed beside the turn, for doubles of models and tools. */
export interface Bench {
  /** Takes so long, on virtual time; rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Virtual milliseconds since the beginning. */
  now(): number;
}

export type BenchRespond = (turn: Turn, bench: Bench) => ReturnType<Respond>;

export interface ReplayedAttempt {
  atMs: number;
  endedAtMs: number | null;
  /**
   * `answered`, `silent`, the code of what ended it (`superseded`, `lost`, `timed-out` …), or the message of what it
   * threw; null: its process died.
   */
  outcome: string | null;
  /** The texts it was given, in order. */
  prompt: string[];
  /** Ids of the messages it was given. */
  messages: string[];
  /** What earlier attempts of the same turn had done. */
  effects: readonly EffectView[];
  attempt: number;
}

export interface ReplayedEffect {
  key: string;
  idempotencyKey: string;
  /** When it was last begun. */
  atMs: number;
  /** Null as long as it has none: it threw, or its process died. */
  value: Json;
  /** Runs of its function. More than one: it threw, or its process died in the middle. */
  runs: number;
}

export interface ReplayedReply {
  replyId: string;
  /** When its first part was shown. */
  atMs: number;
  /** Its text parts, one a line. */
  text: string;
  parts: Part[];
  /** Ids of the messages it answers. */
  covers: string[];
  overtaken: boolean;
}

export interface Stage {
  readonly attempts: ReplayedAttempt[];
  readonly effects: Map<string, ReplayedEffect>;
  readonly replies: Map<string, ReplayedReply>;
  readonly timeline: string[];
  say(who: string, what: string): void;
  /** The author's `respond`, watched. `modelMs`: its answer takes at least so long. */
  respondWith(respond: BenchRespond, clock: Clock, modelMs: number): Respond;
  show(part: Part, delivery: Delivery): void;
}

export function stage(watch: Watch, now: () => number): Stage {
  const attempts: ReplayedAttempt[] = [];
  const effects = new Map<string, ReplayedEffect>();
  const replies = new Map<string, ReplayedReply>();
  const timeline: string[] = [];
  const say = (who: string, what: string) => {
    const seconds = (now() / 1_000).toFixed(3).padStart(9);
    timeline.push(`${seconds} ${who}: ${what.replaceAll("\n", " | ")}`);
  };

  /** The turn as the author sees it: waiting for lull is not the author's work, and effects are noted. */
  function watched(turn: Turn): Turn {
    const once: Turn["once"] = (key, fn, options) => {
      const run = (context: OnceContext) => effect(key, context, () => watch.work(() => fn(context)));
      return watch.wait(turn.once<never>(key, run as never, options));
    };
    const own: Partial<Turn> = {
      once,
      seal: () => watch.wait(turn.seal()),
      absorb: () => watch.wait(turn.absorb()),
      say: (part) => watch.wait(turn.say(part)),
      log: (n) => watch.wait(turn.log(n)),
    };
    // What is not overridden is the turn's own, getters included.
    return Object.assign(Object.create(turn) as object, own) as Turn;
  }

  async function effect(key: string, { idempotencyKey }: OnceContext, run: () => Promise<unknown>): Promise<unknown> {
    const before = effects.get(idempotencyKey);
    const noted = { key, idempotencyKey, atMs: now(), value: null as Json, runs: (before?.runs ?? 0) + 1 };
    effects.set(idempotencyKey, noted);
    say("bot", `does ${key}`);
    const value = await run();
    noted.value = (value ?? null) as Json;
    return value;
  }

  return {
    attempts,
    effects,
    replies,
    timeline,
    say,
    respondWith: (respond, clock, modelMs) => (turn) => {
      const noted: ReplayedAttempt = {
        atMs: now(),
        endedAtMs: null,
        outcome: null,
        prompt: turn.messages.map(({ parts }) => textOf(parts)),
        messages: turn.messages.map(({ id }) => id),
        effects: turn.effects,
        attempt: turn.attempt,
      };
      attempts.push(noted);
      say("bot", `thinks about ${noted.messages.join(", ")}${turn.attempt > 1 ? ` (attempt ${turn.attempt})` : ""}`);
      const end = (outcome: string) => {
        if (noted.outcome !== null) return;
        Object.assign(noted, { outcome, endedAtMs: now() });
        if (outcome !== "answered") say("bot", outcome);
      };
      const failed = (error: unknown): never => {
        end(LullError.isInstance(error) ? error.code : error instanceof Error ? error.message : String(error));
        throw error;
      };
      const bench: Bench = {
        now,
        async sleep(ms, signal) {
          await watch.wait(clock.sleep(ms, signal));
          signal?.throwIfAborted();
        },
      };
      const thought = (async () => {
        await clock.sleep(modelMs, turn.signal);
        turn.signal.throwIfAborted();
      })();
      // Looked at when the author's own code is done, which may be never.
      thought.catch(() => {});

      async function answer() {
        const given = await watch.work(() => respond(watched(turn), bench) as Awaited<ReturnType<Respond>>);
        if (isStream(given)) return stream(given);
        await thought;
        end(given === null ? "silent" : "answered");
        return given;
      }

      async function* stream(parts: AsyncIterable<never>): AsyncGenerator<never> {
        try {
          await thought;
          const source = parts[Symbol.asyncIterator]();
          for (;;) {
            const { done, value } = await watch.work(() => source.next());
            if (done) break;
            yield value;
          }
          end("answered");
        } catch (error) {
          failed(error);
        }
      }
      return answer().catch(failed) as ReturnType<Respond>;
    },
    show(part, { replyId, covers, overtaken }) {
      const known = replies.get(replyId);
      const parts = [...(known?.parts ?? []), part];
      replies.set(replyId, { replyId, atMs: known?.atMs ?? now(), text: textOf(parts), parts, covers, overtaken });
      say("bot", `» ${part.type === "text" ? part.text : JSON.stringify(part)}`);
    },
  };
}

function isStream(value: unknown): value is AsyncIterable<never> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
