/**
 * What the server tells a visitor's page, as JSON (docs/web-chat.md). A page must bear events it does not know.
 *
 * @module
 */

/** `waiting`: heard, and heard out · `answering`: the bot is at it · `human`: a person will answer. */
export type State = "resting" | "waiting" | "answering" | "human";

export type Part =
  | { type: "text"; text: string }
  | { type: "file"; mediaType: string; url: string | null; filename: string | null }
  | { type: "data"; data: unknown };

/** In the log, and numbered by it. `at` is RFC 3339. */
export type Logged = { seq: number; at: string } & (
  | { type: "message"; id: string; text: string }
  | { type: "edited"; id: string; text: string }
  | { type: "retracted"; id: string }
  | { type: "part"; id: string; by: "bot" | "human"; part: Part; edits?: string }
  | { type: "done"; replyId: string | null; outcome: "answered" | "none" | "failed" | "human" }
);

/** Of now only: told anew to every stream that opens. */
export type Passing =
  | { type: "state"; state: State }
  | { type: "draft"; text: string | null }
  /** Everything known was erased. */
  | { type: "cleared" };

export type ChatEvent = Logged | Passing;

export interface HistoryPage {
  /** Oldest first. */
  events: Logged[];
  next: number | null;
  seq: number;
  state: State;
}
