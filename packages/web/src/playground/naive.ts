/**
 * The bot of the left-hand side, the way most are written: every message that comes in starts an answer of its own. It runs
 * in the page and thinks for as long as the demo responder does.
 *
 * @module
 */
import type { Bubble, Line } from "./right.ts";
import { counted } from "./words.ts";

export interface NaiveSide {
  bubbles: readonly Bubble[];
  lines: readonly Line[];
  heard: number;
  answers: number;
  /** Answers in the making. */
  thinking: number;
}

export const silence: NaiveSide = { bubbles: [], lines: [], heard: 0, answers: 0, thinking: 0 };

export function heard(side: NaiveSide, id: string, text: string, at: number): NaiveSide {
  const number = side.heard + 1;
  const busy =
    side.thinking > 0
      ? `, though ${counted(side.thinking, "answer")} ${side.thinking === 1 ? "is" : "are"} in the making`
      : "";
  return {
    ...side,
    heard: number,
    thinking: side.thinking + 1,
    bubbles: [...side.bubbles, { id, by: "you", text, state: "done" }],
    lines: [
      ...side.lines,
      { key: `heard ${id}`, at, text: `Asks the model about message ${number}${busy}.`, tone: "plain" },
    ],
  };
}

/** The answer to the message `id`, which was the `number`-th. */
export function answered(side: NaiveSide, id: string, number: number, text: string, at: number): NaiveSide {
  const newer = side.heard - number;
  const stale = newer > 0 ? ` ${counted(newer, "newer message")} had come meanwhile.` : "";
  return {
    ...side,
    thinking: side.thinking - 1,
    answers: side.answers + 1,
    bubbles: [...side.bubbles, { id: `answer ${id}`, by: "bot", text: answerTo(text), state: "done" }],
    lines: [
      ...side.lines,
      { key: `answered ${id}`, at, text: `Answers message ${number}.${stale}`, tone: newer > 0 ? "warn" : "plain" },
    ],
  };
}

/** What the demo responder of the server would say to this one message. */
export function answerTo(text: string): string {
  const shown = text.length > 200 ? `${text.slice(0, 199)}…` : text;
  return `${demoMark}One answer to 1 message:\n1. ${shown}`;
}

/** How answers without a model begin; the server's demo responder says the same. */
export const demoMark = "[demo, no model is connected] ";
