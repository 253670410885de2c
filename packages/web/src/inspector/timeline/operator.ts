/**
 * What people who run the bot did: hand-offs, their own answers, resets, retries, settings.
 *
 * @module
 */
import type { Conversation, EntryOf } from "../../shared/shapes.ts";
import { clockTime, dateTime, excerpt } from "../words.ts";
import type { Board } from "./board.ts";
import { end, fact, type Item, type Place } from "./item.ts";

const backlogs = { answer: "answered", context: "kept as context" };

/** Kinds that are no more than a mark. */
const marks: Record<string, [words: string, title: string]> = {
  flushed: ["flushed", "What was there was wanted answered at once"],
};

export class Operators {
  readonly #board: Board;
  /** The hand-off that goes on. */
  #handoff: Item | null = null;

  constructor(board: Board) {
    this.#board = board;
  }

  #did(place: Place, kind: string, label: string, title: string, by: string | undefined): Item {
    const more = { tone: "human" as const, label, title: `${title}${by ? `, by ${by}` : ""}` };
    const item = this.#board.mark("operator", kind, place, more);
    fact(item, "What", title);
    fact(item, "By", by);
    return item;
  }

  retry({ from, to, by, seq }: EntryOf<"retry">, at: number): void {
    this.#did({ at, seq }, "retry", "brought back", `Inputs ${from + 1} to ${to} were brought back`, by);
  }

  human({ upTo, author, parts, seq }: EntryOf<"human">, at: number): void {
    const title = `A human answered everything up to version ${upTo}`;
    fact(this.#did({ at, seq }, "human", "human answered", title, author), "Text", excerpt(parts));
  }

  handoff({ untilAt, by, seq }: EntryOf<"handoff">, at: number): void {
    const until = dateTime(Date.parse(untilAt));
    end(this.#handoff, at);
    this.#handoff = this.#board.bar(
      "operator",
      "handoff",
      { at, seq },
      { tone: "human", label: "handed off", title: `Handed off to a human until ${until}` },
    );
    fact(this.#handoff, "Until", until);
    fact(this.#handoff, "By", by);
  }

  resumed({ backlog, by, seq }: EntryOf<"resumed">, at: number): void {
    fact(this.#handoff, "Ended", `at ${clockTime(at)}${by ? ` by ${by}` : ""}`);
    end(this.#handoff, at);
    this.#handoff = null;
    const title = `The bot answers again; what waited is ${backlogs[backlog]}`;
    this.#did({ at, seq }, "resumed", "resumed", title, by);
  }

  tuned({ tuning, by, seq }: EntryOf<"tuned">, at: number): void {
    this.#did({ at, seq }, "tuned", "tuned", `Its own settings from here on: ${JSON.stringify(tuning)}`, by);
  }

  reset({ forget, by, seq }: EntryOf<"reset">, at: number): void {
    const [label, title] = forget
      ? ["reset", "The conversation was reset"]
      : (["stopped", "The answer was stopped"] as const);
    this.#did({ at, seq }, "reset", label, title, by);
  }

  /** Kinds that came later than this code, or are no more than a mark. */
  other({ kind, by, seq }: { kind: string; by?: string; seq: number }, at: number): void {
    const [label, title] = marks[kind] ?? [kind, `An entry of the kind ${kind}`];
    this.#did({ at, seq }, kind, label, title, by);
  }

  /** How things stand at `now`, by the record; `last`: the log's newest instant. */
  stand(conversation: Conversation | null, now: number, last: number): void {
    if (this.#handoff === null) return;
    const isOn = conversation?.handoff != null;
    Object.assign(this.#handoff, { end: isOn ? now : Math.max(last, this.#handoff.start), open: isOn });
  }
}
