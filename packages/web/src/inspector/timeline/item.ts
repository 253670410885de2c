/**
 * What is on the timeline: bars and marks in lanes, each with its facts. Instants are milliseconds since 1970.
 *
 * @module
 */
export const lanes = ["people", "window", "lease", "attempt", "effect", "reply", "part", "operator"] as const;
export type Lane = (typeof lanes)[number];

/** `warn`: worth a look, and as it should be (discarded, tried again). `bad`: something was lost, failed or is in doubt. */
export type Tone = "plain" | "good" | "warn" | "bad" | "human" | "live";

export interface Fact {
  name: string;
  value: string;
}

/** An instant within a bar: a quiet target, a cap, a lease's end. */
export interface Tick {
  at: number;
  name: string;
  kind: "quiet" | "cap" | "expiry" | "input";
}

/** Something that happened (`start === end`) or lasted. */
export interface Item {
  /** The same as long as the conversation is: for permalinks. */
  id: string;
  lane: Lane;
  /** Within its lane: what overlaps is drawn below each other. */
  row: number;
  shape: "bar" | "mark";
  kind: string;
  start: number;
  end: number;
  tone: Tone;
  /** A few words, drawn. Never a user's. */
  label: string;
  /** What people wrote, if anything: drawn, and left out of what is exported. */
  text?: string;
  /** One sentence, for those who hear it. */
  title: string;
  facts: Fact[];
  ticks: Tick[];
  /** The log entry it began with; null for what only the record knows. */
  seq: number | null;
  /** It goes on. */
  open: boolean;
}

/** Where an entry of the log is; `seq` null: only the record knows of it. */
export interface Place {
  at: number;
  seq: number | null;
}

/** Ends a bar that goes on. */
export function end(item: Item | null | undefined, at: number, more: Partial<Item> = {}): void {
  if (!item?.open) return;
  Object.assign(item, { end: Math.max(item.start, at), open: false }, more);
}

/** Adds a fact that is known. */
export function fact(item: Item | null | undefined, name: string, value: string | undefined): void {
  if (item && value !== undefined && value !== "") item.facts.push({ name, value });
}
