/**
 * The Turn handed to `respond()`: everything unanswered, and the few things an answer may do before it is
 * committed. Types here; `turnOf` (below) builds one over the engine's operations.
 *
 * @module
 */
import type { ConversationId, Fence, Input, Json, JsonObject, LogEntry, Part } from "./model.ts";

/** A part as authors may write it: a plain string is a text part. */
export type PartLike = string | Part;

/**
 * What `respond()` gives back: text, parts, or `null` for a deliberate silence. `undefined` and `""` are
 * errors that say so, because they are nearly always a forgotten return or an empty model answer.
 */
export type Answer =
  | string
  | Part
  | PartLike[]
  | { text: string; metadata?: JsonObject }
  | { parts: PartLike[]; metadata?: JsonObject }
  | null;

/** Answers one turn. May be called again for the same messages: after newer input, an error or a crash. */
export type Respond = (turn: Turn) => Answer | PromiseLike<Answer> | AsyncIterable<PartLike>;

/** Why `turn.signal` aborted; `signal.reason` is a LullError with the code of the same name. */
export type AbortCode = "superseded" | "lost" | "timed-out" | "stopped" | "handed-off" | "reset";

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
  /** The newest message's metadata. */
  readonly metadata: JsonObject;
  /** Id of the reply that these messages crossed on its way to the user, if any. */
  readonly crossed: string | null;
  /** Clock time (milliseconds since 1970) at which this attempt is given up. */
  readonly deadlineMs: number;
  /** Aborts when this attempt is superseded, lost, timed out, stopped or handed off. */
  readonly signal: AbortSignal;
  /** The conversation's last `n` log entries before this turn, oldest first. Default 50. */
  log(n?: number): Promise<LogEntry[]>;
  /**
   * Runs `fn` at most once for this turn, over all attempts; later attempts get the recorded result.
   * Waits for the quiet target first, unless `readOnly`. `key` names the effect within the turn.
   * @throws LullError `superseded`, `lost`, `effects-full`, `effect-too-large`; whatever `fn` throws.
   */
  once<T extends Json | undefined | void>(
    key: string,
    fn: (context: OnceContext) => T | PromiseLike<T>,
    options?: OnceOptions,
  ): Promise<T>;
  /** From here on newer input no longer discards this attempt; waits for the quiet target. @throws LullError `superseded`, `lost`. */
  seal(): Promise<void>;
  /** Takes newer input into this attempt; `messages` and `text` are renewed. @throws LullError `lost`. */
  absorb(): Promise<readonly Input[]>;
  /** Sends a part now, as the beginning of this turn's reply; waits for the quiet target and seals the turn. @throws LullError `superseded`, `lost`. */
  say(part: PartLike): Promise<void>;
  /** Shows provisional text to channels that can take it back (an event; never stored). */
  draft(part: PartLike): void;
}
