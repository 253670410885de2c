/**
 * Windows: how long the user was heard out. The log has no entry for them; they are worked out from the inputs they opened
 * with and were pushed by, and the one that is open now is in the record.
 *
 * @module
 */
import type { Conversation } from "../../shared/shapes.ts";
import { clockTime, counted, lasting } from "../words.ts";
import type { Board } from "./board.ts";
import { end, fact, type Item, type Tone } from "./item.ts";

interface Input {
  version: number;
  at: number;
  seq: number;
}

/** What a window waited for, as attempts and replies tell it. */
export interface Wait {
  targetMs: number;
  reason: string;
}

/** What a window waited for, in words. */
const waits: Record<string, string> = {
  setting: "the setting",
  restarts: "discarded too often to start sooner",
  typing: "held while the user typed",
  incomplete: "held for an incomplete message",
  cap: "the longest wait was over",
  message: "a message asked for it",
  flush: "an answer was wanted at once",
  pace: "this user's pace",
  question: "a question",
  judged: "by completeness",
};

export function waitWords({ targetMs, reason }: Wait): string {
  return `${lasting(targetMs)} of quiet (${waits[reason] ?? reason})`;
}

export class Windows {
  readonly #board: Board;
  readonly #conversation: Conversation | null;
  /** The one that is open; null when nothing is unanswered. */
  open: Item | null = null;
  /** Unanswered inputs. */
  #pending: Input[] = [];
  /** What ended with each window that is over, should its answer be withdrawn. */
  readonly #ended = new Map<Item, Input[]>();
  /** The newest window that typing is shown to have held. */
  #held: Item | null = null;

  constructor(board: Board, conversation: Conversation | null) {
    this.#board = board;
    this.#conversation = conversation;
  }

  /** An unanswered input, from now on. */
  heard(version: number, at: number, seq: number): void {
    this.#pending.push({ version, at, seq });
    if (this.open === null) this.open = this.#opened(at, seq);
    else this.open.ticks.push({ at, name: "heard more", kind: "input" });
    this.#board.grow(at);
  }

  #opened(at: number, seq: number): Item {
    this.#board.turns.push({ seq, start: at, end: at });
    return this.#board.bar("window", "window", { at, seq }, { label: "window", title: "Hearing the user out" });
  }

  /** What the window waited for, known once its answer is committed. */
  waited(wait: Wait | undefined, at: number): void {
    const bar = this.open;
    if (bar === null || wait === undefined) return;
    const lastInput = this.#pending.filter((input) => input.at <= at).at(-1)?.at ?? bar.start;
    const quiet = lastInput + wait.targetMs;
    bar.ticks = bar.ticks.filter((tick) => tick.kind !== "quiet");
    bar.ticks.push({ at: quiet, name: `quiet target ${lasting(wait.targetMs)}`, kind: "quiet" });
    if (wait.reason === "typing") this.#typed(bar, quiet, at);
  }

  /** The user typed: all the log keeps of it is that the window was held. */
  #typed(window: Item, from: number, to: number): void {
    if (to <= from || this.#held === window) return;
    this.#held = window;
    const held = lasting(to - from);
    this.#board.bar(
      "people",
      "typing",
      { at: from, seq: window.seq },
      {
        end: to,
        open: false,
        label: "typing",
        title: `Typing held the window for ${held}`,
        facts: [{ name: "Held for", value: held }],
      },
    );
  }

  /** Inputs up to `to` have ended: their window is over, and what came later has one of its own. */
  answered(to: number, at: number, how: string, tone: Tone): void {
    const covered = this.#pending.filter(({ version }) => version <= to);
    const rest = this.#pending.filter(({ version }) => version > to);
    if (this.open !== null) this.#close(this.open, covered, at, how, tone);
    this.open = null;
    this.#pending = rest;
    const [first, ...later] = rest;
    if (first === undefined) return;
    this.open = this.#opened(first.at, first.seq);
    for (const { at: cameAt } of later) {
      this.open.ticks.push({ at: cameAt, name: "heard more", kind: "input" });
      this.#board.grow(cameAt);
    }
  }

  #close(bar: Item, covered: readonly Input[], at: number, how: string, tone: Tone): void {
    this.#ended.set(bar, [...covered]);
    this.#cap(bar, at);
    end(bar, at, { tone });
    bar.ticks = bar.ticks.filter((tick) => tick.kind !== "input" || covered.some((input) => input.at === tick.at));
    const first = covered[0]?.at ?? bar.start;
    const newest = covered.at(-1)?.at ?? bar.start;
    bar.label = `${counted(covered.length, "input")} heard out for ${lasting(at - first)}`;
    bar.title = `Heard ${counted(covered.length, "input")} out for ${lasting(at - first)}: ${how}`;
    fact(bar, "Inputs", String(covered.length));
    fact(bar, "Open for", lasting(at - first));
    fact(bar, "Quiet given", lasting(at - newest));
    for (const tick of bar.ticks) if (tick.kind === "quiet") fact(bar, "Quiet target", clockTime(tick.at));
    fact(bar, "Ended", how);
  }

  /** The cap is drawn where the window came to it; by the settings of today, since the log does not have it. */
  #cap(bar: Item, until: number): void {
    const maxWaitMs = this.#conversation?.waits?.maxWaitMs;
    if (maxWaitMs === undefined) return;
    const at = bar.start + maxWaitMs;
    fact(bar, "Hard cap", `${clockTime(at)}${at <= until ? "" : ", not reached"}`);
    if (at <= until) bar.ticks.push({ at, name: `hard cap ${lasting(maxWaitMs)}`, kind: "cap" });
  }

  /** An answer was withdrawn: the window it had ended goes on, and that of what came meanwhile was the same all along. */
  goesOn(before: Item, at: number): void {
    if (this.open !== null) {
      this.#board.take(this.open);
      this.#board.turns.pop();
    }
    const ticks = before.ticks.filter((tick) => tick.kind === "input");
    ticks.push({ at, name: "answer withdrawn", kind: "input" });
    this.open = Object.assign(before, { open: true, tone: "plain" as const, facts: [], ticks });
    for (const input of this.#pending) {
      this.open.ticks.push({ at: input.at, name: "heard more", kind: "input" });
      this.#board.grow(input.at);
    }
    this.#pending = [...(this.#ended.get(before) ?? []), ...this.#pending];
  }

  /** How things stand at `now`, by the record; `last`: the log's newest instant. */
  stand(now: number, last: number): void {
    const window = this.#conversation?.record?.window ?? null;
    if (window === null) {
      if (this.open !== null) end(this.open, Math.max(last, this.open.start));
      return;
    }
    const openedAt = Date.parse(window.openedAt);
    this.open ??= this.#opened(openedAt, 0);
    const bar = this.open;
    Object.assign(bar, { end: now, tone: "live" as const, label: "hearing the user out" });
    bar.title = `Hearing the user out since ${clockTime(bar.start)}, ${counted(window.count, "input")} so far`;
    bar.ticks = bar.ticks.filter((tick) => tick.kind !== "quiet");
    const quietAt = this.#conversation?.quietAt;
    if (quietAt != null) this.#target(bar, "quiet target", "quiet", Date.parse(quietAt));
    const maxWaitMs = this.#conversation?.waits?.maxWaitMs;
    if (maxWaitMs !== undefined) this.#target(bar, "hard cap", "cap", openedAt + maxWaitMs);
    fact(bar, "Inputs", String(window.count));
    if (window.holdUntilAt === null) return;
    const hold = Date.parse(window.holdUntilAt);
    const since = window.typingSinceMs ?? Date.parse(window.lastInputAt);
    if (hold <= since) return;
    this.#typed(bar, since, Math.min(hold, now));
    fact(bar, "Typing holds it until", clockTime(hold));
  }

  #target(bar: Item, name: string, kind: "quiet" | "cap", at: number): void {
    bar.ticks.push({ at, name: `${name} ${clockTime(at)}`, kind });
    fact(bar, `${name.charAt(0).toUpperCase()}${name.slice(1)}`, clockTime(at));
  }
}
