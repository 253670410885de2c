/**
 * What the right-hand side shows, as a pure fold over a conversation's events: bubbles, a status and sentences.
 *
 * @module
 */
import type { Entry, Event } from "../shared/shapes.ts";
import { listed, partsText, seconds } from "./words.ts";

export interface Bubble {
  id: string;
  by: "you" | "bot" | "human" | "note";
  text: string;
  /** `sending`: not known to have arrived. `draft`: may still be taken back. */
  state: "sending" | "draft" | "done" | "failed";
}

export interface Line {
  key: string;
  at: number;
  text: string;
  tone: "plain" | "good" | "warn" | "bad";
}

export interface Phase {
  is: "resting" | "waiting" | "thinking" | "delivering" | "human";
  words: string;
  /** When the quiet ends, if it is being waited for, and how long it is. */
  quiet: { from: number; until: number } | null;
}

export interface Side {
  bubbles: readonly Bubble[];
  lines: readonly Line[];
  phase: Phase;
  heard: number;
  answers: number;
  /** The newest event's place in the log. */
  seq: number;
  /** When attempts began, by fence. */
  began: Readonly<Record<number, number>>;
}

const resting: Phase = { is: "resting", words: "", quiet: null };

export const empty: Side = { bubbles: [], lines: [], phase: resting, heard: 0, answers: 0, seq: 0, began: {} };

/** A page that stays open for days keeps what anybody would scroll back to. */
const mostLines = 300;
const mostBubbles = 400;

/** A message that was just written here. */
export function wrote(side: Side, id: string, text: string): Side {
  return { ...side, bubbles: [...side.bubbles, { id, by: "you", text, state: "sending" }] };
}

export function changed(side: Side, id: string, change: Partial<Bubble>): Side {
  return { ...side, bubbles: side.bubbles.map((bubble) => (bubble.id === id ? { ...bubble, ...change } : bubble)) };
}

export function next(before: Side, event: Event): Side {
  // After a reconnection some may come twice.
  if (event.seq !== undefined && event.seq <= before.seq) return before;
  const after = bounded(step(before, event));
  return event.seq === undefined ? after : { ...after, seq: event.seq };
}

function bounded(side: Side): Side {
  if (side.lines.length <= mostLines && side.bubbles.length <= mostBubbles) return side;
  return { ...side, lines: side.lines.slice(-mostLines), bubbles: side.bubbles.slice(-mostBubbles) };
}

function step(side: Side, event: Event): Side {
  const at = Date.parse(event.at);
  if (event.entry !== undefined) return ofEntry(side, event.entry, at);
  if (event.type === "window.armed" && event.quietAt !== undefined) return armed(side, at, Date.parse(event.quietAt));
  if (event.type === "draft" && event.part !== undefined)
    return put(side, { id: "draft", by: "bot", text: partsText([event.part]), state: "draft" });
  return side;
}

function armed(side: Side, at: number, until: number): Side {
  const text = `Listens until ${clock(until)}: you may not have finished.`;
  const last = side.lines.at(-1);
  // Pushed again and again, it is still one wait.
  const lines = last?.key.startsWith("armed") ? side.lines.slice(0, -1) : side.lines;
  const phase: Phase =
    side.phase.is === "thinking"
      ? { ...side.phase, quiet: { from: at, until } }
      : { is: "waiting", words: "listening", quiet: { from: at, until } };
  return say({ ...side, lines, phase }, { key: `armed ${at}`, at, text, tone: "plain" });
}

function ofEntry(side: Side, entry: Entry, at: number): Side {
  const tell = (of: Side, text: string, tone: Line["tone"] = "plain") =>
    say(of, { key: `entry ${entry.seq}`, at, text, tone });
  const rest = (of: Side): Side => ({ ...of, phase: resting });
  switch (entry.kind) {
    case "message": {
      const heard = put(side, { id: entry.id, by: "you", text: partsText(entry.parts), state: "done" });
      if (entry.aside !== undefined) return tell(heard, `Message ${entry.version} is set aside (${entry.aside}).`);
      const phase: Phase =
        side.phase.is === "resting" ? { is: "waiting", words: "listening", quiet: null } : side.phase;
      return tell({ ...heard, heard: side.heard + 1, phase }, `Hears message ${entry.version}.`);
    }
    case "edit":
      return tell(changed(side, entry.target, { text: partsText(entry.parts) }), "A message was edited.");
    case "retraction":
      return tell(without(side, entry.target), "A message was taken back.");
    case "attempt": {
      const phase: Phase = { is: "thinking", words: "thinking", quiet: side.phase.quiet };
      const again = entry.attempt > 1 ? `, attempt ${entry.attempt}` : "";
      return tell(
        { ...side, phase, began: { ...side.began, [entry.fence]: at } },
        `Asks the model about ${listed(entry.from, entry.to)}${again}.`,
      );
    }
    case "absorbed":
      return tell(side, `The running answer takes in everything up to message ${entry.to}.`);
    case "ended":
      return attemptEnded(side, entry, at, tell);
    case "reply": {
      const bubbles = entry.parts.map(
        (part, index): Bubble => ({
          id: `${entry.replyId} ${index}`,
          by: "bot",
          text: partsText([part]),
          state: "draft",
        }),
      );
      const shown = bubbles.reduce(put, without(side, "draft"));
      const phase: Phase = { is: "delivering", words: "answering", quiet: null };
      const said: Side = { ...shown, phase, answers: side.answers + 1 };
      if (entry.cause === "send") return tell(said, "The bot writes of its own accord.");
      const late = entry.overtaken ? " More came too late to wait any longer; it is answered next." : "";
      return tell(said, `Answers ${listed(entry.from, entry.to)} at once.${late}`, "good");
    }
    case "part":
      return put(side, {
        id: `${entry.replyId} ${entry.index}`,
        by: "bot",
        text: partsText([entry.part]),
        state: "draft",
      });
    case "receipt": {
      const id = `${entry.replyId} ${entry.index}`;
      if (entry.state === "sent") return changed(side, id, { state: "done" });
      if (entry.state === "failed" || entry.state === "unknown")
        return tell(changed(side, id, { state: "failed" }), `Delivery ${entry.state}${why(entry.error)}.`, "bad");
      return side;
    }
    case "closed": {
      if (entry.outcome !== "withdrawn") return side.phase.is === "delivering" ? rest(side) : side;
      const bubbles = side.bubbles.filter(({ id }) => !id.startsWith(`${entry.replyId} `));
      const waiting: Phase = { is: "waiting", words: "listening", quiet: null };
      return tell(
        { ...side, bubbles, answers: side.answers - 1, phase: waiting },
        "You wrote more before the answer was shown: it was taken back.",
        "warn",
      );
    }
    case "settled":
      if (entry.outcome === "parked")
        return tell(
          note(rest(side), entry.seq, `Given up${why(entry.reason)}.`),
          `Gave up${why(entry.reason)}.`,
          "bad",
        );
      return tell(rest(side), `Ended without an answer: ${entry.outcome}.`);
    case "human": {
      const said = put(side, { id: entry.id, by: "human", text: partsText(entry.parts), state: "done" });
      return tell(
        { ...said, answers: side.answers + 1 },
        `A human answers${entry.author ? ` (${entry.author})` : ""}.`,
        "good",
      );
    }
    case "handoff":
      return tell(
        { ...side, phase: { is: "human", words: "a human has taken over", quiet: null } },
        "A human takes over: the bot is silent.",
        "warn",
      );
    case "resumed":
      return tell(rest(side), "The bot answers again.");
    case "tuned":
      return tell(side, tuned(entry.tuning));
    case "reset":
      return tell(
        note(rest(side), entry.seq, "Everything so far was forgotten."),
        "Reset: what was unanswered is dropped.",
        "warn",
      );
    case "retry":
      return tell(side, "What was given up is tried again.");
    case "draft":
      return entry.state === "shown" ? side : without(side, "draft");
    default:
      return side;
  }
}

function attemptEnded(
  side: Side,
  entry: Extract<Entry, { kind: "ended" }>,
  at: number,
  tell: (side: Side, text: string, tone?: Line["tone"]) => Side,
): Side {
  const waiting: Side = { ...side, phase: { is: "waiting", words: "listening", quiet: side.phase.quiet } };
  const began = side.began[entry.fence];
  const after = began === undefined ? "" : ` after ${seconds(at - began)}`;
  switch (entry.outcome) {
    case "superseded":
      return tell(waiting, `You wrote more: discards the answer in the making${after}. Nobody saw it.`, "warn");
    case "failed":
      return tell(waiting, `The attempt failed${after}${why(entry.error)}. It is tried again.`, "bad");
    case "expired":
      return tell(waiting, "The process that was answering is gone: another one takes over.", "bad");
    default:
      return tell(waiting, `The attempt ended${after}: ${entry.outcome}.`);
  }
}

function tuned({ quietMs }: { quietMs?: number }): string {
  return quietMs === undefined
    ? "The conversation's settings changed."
    : `The quiet window is ${seconds(quietMs)} from now on.`;
}

function put(side: Side, bubble: Bubble): Side {
  const isThere = side.bubbles.some(({ id }) => id === bubble.id);
  return isThere ? changed(side, bubble.id, bubble) : { ...side, bubbles: [...side.bubbles, bubble] };
}

function without(side: Side, id: string): Side {
  return { ...side, bubbles: side.bubbles.filter((bubble) => bubble.id !== id) };
}

function note(side: Side, seq: number, text: string): Side {
  return put(side, { id: `note ${seq}`, by: "note", text, state: "done" });
}

function say(side: Side, line: Line): Side {
  return { ...side, lines: [...side.lines, line] };
}

function why(reason: string | undefined): string {
  return reason ? `: ${reason.replace(/\.$/, "")}` : "";
}

/** @param at milliseconds since 1970 */
export function clock(at: number): string {
  return new Date(at).toLocaleTimeString([], { hour12: false });
}
