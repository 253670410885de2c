/**
 * Replies, from their commit to the end of their delivery, part by part; drafts; the bot's own messages. Who delivers after the
 * first holder is gone the log does not say.
 *
 * @module
 */
import type { EntryOf } from "../../shared/shapes.ts";
import { clockTime, counted, excerpt, lasting } from "../words.ts";
import type { Attempts } from "./attempt.ts";
import type { Board } from "./board.ts";
import { closings, receipts, settlings } from "./endings.ts";
import { end, fact, type Item } from "./item.ts";
import { type Windows, waitWords } from "./window.ts";

/** A reply on its way. */
interface Sending {
  bar: Item;
  fence: number | null;
  open: boolean;
  /** From when the part that is next is on its way. */
  since: number;
  /** The window it answered, in case it is withdrawn. */
  window: Item | null;
}

export class Replies {
  readonly #board: Board;
  readonly #windows: Windows;
  readonly #attempts: Attempts;
  readonly #sendings = new Map<string, Sending>();
  readonly #drafts = new Map<string, Item>();

  constructor(board: Board, windows: Windows, attempts: Attempts) {
    this.#board = board;
    this.#windows = windows;
    this.#attempts = attempts;
  }

  committed(entry: EntryOf<"reply">, at: number): void {
    const { replyId, fence, from, to, wait, overtaken, open } = entry;
    const fallback = entry.cause === "fallback";
    const place = { at, seq: entry.seq };
    if (!fallback) this.#windows.waited(wait, at);
    const label = fallback ? "fallback" : counted(entry.parts.length, "part");
    const text = excerpt(entry.parts);
    const bar = this.#board.bar("reply", "reply", place, {
      tone: "good",
      label,
      text,
      title: fallback ? "The fallback text" : `Reply to inputs ${from + 1} to ${to}, ${label}`,
    });
    fact(bar, "Reply", replyId);
    fact(bar, "Covers inputs", `${from + 1} to ${to}`);
    fact(bar, "Fence", String(fence));
    fact(bar, "Committed after", wait && waitWords(wait));
    if (overtaken) fact(bar, "Overtaken", "newer input had come; it is answered next");
    fact(bar, "Text", text);
    const what = fallback ? "The fallback text was committed" : "The answer was committed";
    this.#board.mark("attempt", "commit", place, {
      tone: "good",
      label: "commit",
      title: `${what} at ${clockTime(at)}${overtaken ? ", overtaken by newer input" : ""}`,
      facts: [...bar.facts],
    });
    this.#sendings.set(replyId, { bar, fence, open, since: at, window: this.#windows.open });
    this.#board.grow(at);
    if (fallback) return;
    // A streamed answer is still being written.
    if (!open) this.#attempts.end(fence, at, "committed", "good");
    this.#windows.answered(to, at, "answered", "good");
  }

  /** A message of the bot's own accord. */
  send({ replyId, parts, when, seq }: EntryOf<"send">, at: number): void {
    const bar = this.#board.bar(
      "reply",
      "send",
      { at, seq },
      { label: "own message", text: excerpt(parts), title: `A message of the bot's own accord (${when})` },
    );
    fact(bar, "When", when);
    this.#sendings.set(replyId, { bar, fence: null, open: false, since: at, window: null });
  }

  part({ replyId, index }: EntryOf<"part">, at: number): void {
    fact(this.#sendings.get(replyId)?.bar, `Part ${index + 1}`, `said at ${clockTime(at)}`);
  }

  receipt(entry: EntryOf<"receipt">, at: number): void {
    const { replyId, index, state, error, retryAt, seq } = entry;
    const sending = this.#sendings.get(replyId);
    const [words, tone] = receipts[state];
    const from = Math.min(sending?.since ?? at, at);
    const bar = this.#board.bar(
      "part",
      "part",
      { at: from, seq },
      {
        end: at,
        open: false,
        tone,
        label: `${index + 1} ${words}`,
        title: `Part ${index + 1} ${words}${error ? `: ${error}` : ""}`,
      },
    );
    fact(bar, "Part", String(index + 1));
    fact(bar, "Receipt", words);
    fact(bar, "Took", lasting(at - from));
    fact(bar, "Platform's id", entry.externalId);
    fact(bar, "Why", error);
    fact(bar, "Next try", retryAt && clockTime(Date.parse(retryAt)));
    this.#board.grow(at);
    if (sending === undefined) return;
    sending.since = retryAt ? Date.parse(retryAt) : at;
    // A refusal gives the lease back; the timer wakes whoever tries again.
    if (state === "queued" && !sending.open)
      this.#attempts.endLease(sending.fence, at, "given back until the next try");
  }

  closed({ replyId, outcome }: EntryOf<"closed">, at: number): void {
    const sending = this.#sendings.get(replyId);
    const [words, tone] = closings[outcome];
    this.#board.grow(at);
    if (sending === undefined) return;
    const { bar, fence, open, window } = sending;
    if (fence !== null) {
      if (open) this.#attempts.end(fence, at, outcome === "cut" ? "cut short" : "committed", tone);
      this.#attempts.endLease(fence, at, words);
    }
    fact(bar, "Ended", words);
    fact(bar, "Delivery took", lasting(at - bar.start));
    end(bar, at, { tone, label: `${bar.label} ${words}` });
    bar.title = `${bar.title}: ${words} after ${lasting(at - bar.start)}`;
    this.#sendings.delete(replyId);
    if (outcome !== "withdrawn") return;
    // Its inputs wait again, in the window they had.
    this.#attempts.withdrawn(fence);
    if (window !== null) this.#windows.goesOn(window, at);
  }

  /** Inputs ended without a reply. */
  settled({ from, to, outcome, reason, seq }: EntryOf<"settled">, at: number): void {
    const [words, tone] = settlings[outcome];
    if (outcome === "silent") this.#attempts.silent(at);
    const mark = this.#board.mark(
      "reply",
      "settled",
      { at, seq },
      {
        tone,
        label: words,
        title: `Inputs ${from + 1} to ${to} ended without a reply: ${words}${reason ? `, ${reason}` : ""}`,
      },
    );
    fact(mark, "Inputs", `${from + 1} to ${to}`);
    fact(mark, "Ended", words);
    fact(mark, "Why", reason);
    this.#board.grow(at);
    this.#windows.answered(to, at, words, tone === "bad" ? "bad" : "plain");
  }

  /** Provisional text on the screen. */
  draft(entry: EntryOf<"draft">, at: number): void {
    if (entry.state === "shown") {
      const bar = this.#board.bar(
        "reply",
        "draft",
        { at, seq: entry.seq },
        { tone: "live", label: "draft", title: "Provisional text was on the screen" },
      );
      fact(bar, "Fence", String(entry.fence));
      this.#drafts.set(entry.draftId, bar);
      return;
    }
    const bar = this.#drafts.get(entry.draftId);
    end(bar, at, { tone: entry.state === "left" ? "bad" : entry.state === "retracted" ? "warn" : "plain" });
    if (bar) bar.title = `Provisional text was on the screen for ${lasting(at - bar.start)}, then ${entry.state}`;
    fact(bar, "Then", entry.state);
    fact(bar, "Why", entry.error);
  }

  /** How things stand at `now`; `last`: the log's newest instant, for where the record is not known. */
  stand(isKnown: boolean, now: number, last: number): void {
    for (const { bar } of this.#sendings.values()) if (bar.open) bar.end = isKnown ? now : Math.max(last, bar.start);
    for (const draft of this.#drafts.values()) if (draft.open) draft.end = now;
  }
}
