/**
 * An account of its own: what was accepted, what the author's code was given, what users saw and what every input
 * came to, kept apart from the protocol's bookkeeping. `observer.ts` and `sight.ts` write it and compare.
 *
 * @module
 */
import type { Fence, PartState } from "../../model.ts";

/** One input, as it arrived. */
export interface Note {
  kind: "message" | "edit" | "retraction" | "retry";
  /** The message it is, or speaks of. */
  id: string;
  version: number;
  text: string;
  /** From which version on it is to be answered: its own, or that of the retry that brought it back. */
  since: number;
  /** From when its waiting counts. */
  atMs: number;
  aside: boolean;
  /** Its author took it back. */
  gone: boolean;
  incomplete: boolean;
  quietMs: number;
  /** What it came to. */
  label: string | null;
  /** The reply under way that covers it. */
  reply: number | null;
  /** The reply users saw that answers it. */
  answer: number | null;
  /** For a retry: what it brought back. */
  revives: { from: number; to: number } | null;
}

export interface Reply {
  id: string;
  cause: "turn" | "fallback" | "send";
  from: number;
  to: number;
  sealed: boolean;
  open: boolean;
  /** How often each part was shown. */
  shown: readonly number[];
  states: readonly PartState[];
  outcome: string | null;
  /** The unanswered range it answers, and what that one had been through. */
  span: number;
  failures: number;
}

export interface Attempt {
  claimId: string;
  fence: Fence;
  from: number;
  to: number;
  sealed: boolean;
}

export interface Ledger {
  /** In the order of the log. */
  notes: readonly Note[];
  replies: readonly Reply[];
  /** Whose claim was granted last. */
  holder: string;
  attempt: Attempt | null;
  /** Every input up to here has ended or is in a reply. */
  end: number;
  version: number;
  seq: number;
  fence: Fence;
  /** The unanswered range, counted from 1. */
  span: number;
  spans: number;
  /** Which of the protocol's ranges are which of these. */
  spanOf: readonly (readonly [protocol: number, ledger: number])[];
  /** Ranges of which the effect has a result. */
  results: readonly number[];
  /** Failures in this range. */
  failures: number;
  /** The latest part shown. */
  latest: { reply: number; part: number } | null;
  /** Up to where the attempts of this range knew its inputs. */
  tried: number;
  /** A failure asked for a pause until then. */
  notBeforeMs: number;
  /** The user was typing. */
  typingUntilMs: number;
  /** Something went wrong after which a lease may run out under its holder. */
  lapsed: boolean;
  /** A human, a reset or the end of a hand-off has ended everything up to here. */
  takenOver: number;
  /** What the human had seen. */
  upTo: number;
  /** Since when a human answers; null while the bot does. */
  handedOff: boolean;
}

export function newLedger(): Ledger {
  const counts = { end: 0, version: 0, seq: 0, fence: 0, span: 1, spans: 1, failures: 0, takenOver: 0, upTo: 0 };
  const lists = { notes: [], replies: [], spanOf: [], results: [] };
  const attempts = { tried: 0, notBeforeMs: 0, typingUntilMs: 0, lapsed: false };
  return { ...counts, ...lists, ...attempts, holder: "", attempt: null, latest: null, handedOff: false };
}

/** Nobody waits for an answer to it. */
export function silent(ledger: Ledger, note: Note): boolean {
  const { revives } = note;
  if (revives === null) return note.aside || note.gone || note.kind === "retraction";
  return ledger.notes.every(
    (other) =>
      other.version >= note.version ||
      other.version <= revives.from ||
      other.version > revives.to ||
      silent(ledger, other),
  );
}

/** It has not ended, and no reply covers it. */
export function pending(note: Note): boolean {
  return !note.aside && note.label === null && note.reply === null;
}

/** What must be answered, up to a version: an account of its own of what edits and retractions do. */
export function toAnswer(ledger: Ledger, upTo: number): string {
  const items: { id: string; text: string }[] = [];
  for (const note of ledger.notes) {
    if (note.version > upTo) continue;
    const at = items.findIndex(({ id }) => id === note.id);
    if (note.kind === "retraction") {
      if (at >= 0) items.splice(at, 1);
    } else if (note.kind === "edit" && at >= 0) items[at] = { id: note.id, text: note.text };
    else if (note.kind !== "retry" && pending(note) && note.since <= upTo) items.push({ id: note.id, text: note.text });
  }
  return items.map(({ id, text }) => `${id}=${text}`).join(" ");
}

/** The first that waits for an answer; null when none does. `all`: what was taken back included. */
export function openedAt(ledger: Ledger, all: boolean): number | null {
  let first: number | null = null;
  for (const note of ledger.notes)
    if (pending(note) && (all || !silent(ledger, note)) && (first === null || note.atMs < first)) first = note.atMs;
  return first;
}
