/**
 * What was seen from outside: acknowledgements, calls of the model, what the channel was asked for and showed, what
 * effects did. The checker judges by these facts; the protocol's own log has to agree with them.
 *
 * @module
 */
import type { ChannelFault, Operation } from "./plan.ts";

/** Place among all facts: what came first in one millisecond. */
export interface Placed {
  conversation: string;
  atMs: number;
  order: number;
}

/** The platform was told that this was taken in. */
export interface Acked extends Placed {
  kind: "message" | "edit" | "retraction";
  /** The message it is, or speaks of. */
  id: string;
  /** 0 for a message, 1 for its first edit … */
  nth: number;
  /** As first told: accepted, unchanged, ignored, or duplicate when the first answer was lost. */
  status: string;
  version: number;
}

export interface Run extends Placed {
  nth: number;
  process: string;
  fence: number;
  attempt: number;
  /** What the model was given, as tokens: `m3`, or `m3~1` once edited. */
  tokens: string[];
  version: number;
  ended: { atMs: number; order: number; outcome: string } | null;
  style: string;
  /** It does not listen to `turn.signal`. */
  deaf: boolean;
  /** The answer, or what was said, was given so. */
  texts: string[];
}

export interface Shown extends Placed {
  key: string;
  replyId: string;
  index: number;
  process: string;
  text: string;
  cause: "turn" | "fallback" | "send";
  overtaken: boolean;
  covers: string[];
  reaction: ChannelFault | "sent" | "repeated";
  /** When it became visible, if it did. */
  shownAtMs: number | null;
  /** When the caller was told, or gave up. */
  endedAtMs: number | null;
}

export interface Executed extends Placed {
  key: string;
  run: number;
  value: string;
  /** Place of the moment when `once` gave its value back: from then on it is recorded. */
  recorded: number | null;
  threw: boolean;
  /** It never ended. */
  hangs: boolean;
}

export interface Operated extends Placed {
  what: Operation;
  id: string;
  answer: string;
}

export interface Ledger {
  acked: Acked[];
  runs: Run[];
  shown: Shown[];
  executed: Executed[];
  operated: Operated[];
  /** Operations begun, acknowledged or not: what may have had an effect. */
  begun: { conversation: string; what: Operation }[];
}

export function ledger(): Ledger {
  return { acked: [], runs: [], shown: [], executed: [], operated: [], begun: [] };
}
