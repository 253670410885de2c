/**
 * Why did the bot answer twice, late, or not at all? Plain sentences from the log, pure.
 *
 * @module
 */
import type { ConversationRecord, EntryOf, LogEntry, Version, Wait } from "./model.ts";

/** `12:01:04.250` of an instant, UTC. */
function clockTime(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 23);
}

/** `6.0 s`, `250 ms`. */
function span(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

/** `input 3`, `inputs 1 to 3`: those with `from < version ≤ to`. */
function inputs(from: Version, to: Version): string {
  return to - from === 1 ? `input ${to}` : `inputs ${from + 1} to ${to}`;
}

function byWhom(by: string | undefined): string {
  return by === undefined ? "" : by === "user" ? " by the user" : ` by ${by}`;
}

/** What the entries so far have come to. */
interface Story {
  attempts: Map<number, EntryOf<"attempt">>;
  replies: Map<string, EntryOf<"reply">>;
  /** What people did last, and when. */
  last: { what: "message" | "edit" | "retraction"; atMs: number } | null;
  /** When each input came. */
  came: Map<Version, number>;
  /** What became of the attempts at what is unanswered. */
  mishaps: string[];
}

/** Sentences about the entries, oldest first, and one about how things stand. Never a user's text. */
export function explain(
  record: ConversationRecord | null,
  log: readonly LogEntry[],
  nowMs: number,
  wakeAtMs: number | null,
): string[] {
  if (record === null) return ["Nobody has written in this conversation."];
  const lines: string[] = [];
  const story: Story = { attempts: new Map(), replies: new Map(), last: null, came: new Map(), mishaps: [] };
  const drafted = new Set<string>();
  for (const entry of log) {
    if (entry.kind === "draft") drafted.add(entry.draftId);
    // Taking a draft back goes through the outbox, and is told by its own entry.
    if (entry.kind === "receipt" && drafted.has(entry.replyId)) continue;
    const text = sentence(entry, story);
    follow(entry, story);
    if (text !== null) lines.push(`${clockTime(entry.atMs)} ${text}`);
  }
  lines.push(`${clockTime(nowMs)} ${standing(record, nowMs, wakeAtMs)}`);
  return lines;
}

/** Takes the entry into the story. Changes it. */
function follow(entry: LogEntry, story: Story): void {
  switch (entry.kind) {
    case "message":
    case "edit":
    case "retraction":
      story.last = { what: entry.kind, atMs: entry.atMs };
      story.came.set(entry.version, entry.atMs);
      return;
    case "attempt":
      story.attempts.set(entry.fence, entry);
      return;
    case "ended":
      if (!hasAnswered(entry, story)) story.mishaps.push(ending(entry, story));
      return;
    case "reply":
      story.replies.set(entry.replyId, entry);
      if (entry.cause !== "send") story.mishaps = [];
      return;
    case "settled":
    case "reset":
      story.mishaps = [];
      return;
    default:
  }
}

function sentence(entry: LogEntry, story: Story): string | null {
  const { last } = story;
  switch (entry.kind) {
    case "message":
      if (entry.aside === "backlog") return `Message ${entry.version} was too old to answer: kept as context.`;
      if (entry.aside === "context") return `Message ${entry.version} was not for the bot: kept as context.`;
      if (entry.aside === "command") return `Message ${entry.version} was a control word.`;
      return `Message ${entry.version} arrived${entry.incomplete ? ", incomplete" : ""}${
        last === null ? "" : `, ${span(entry.atMs - last.atMs)} after the one before`
      }.`;
    case "edit":
      return entry.aside
        ? "An answered message was edited: kept as context."
        : `An edit arrived (input ${entry.version}).`;
    case "retraction":
      return entry.aside ? "An answered message was taken back." : `A message was taken back (input ${entry.version}).`;
    case "retry":
      return `${capital(inputs(entry.from, entry.to))} ${entry.to - entry.from === 1 ? "was" : "were"} brought back${byWhom(entry.by)}.`;
    case "flushed":
      return `An answer was wanted at once${byWhom(entry.by)}.`;
    case "attempt": {
      const waited = last === null ? "" : ` after ${span(entry.atMs - last.atMs)} of quiet`;
      const which = entry.attempt === 1 ? "The model started" : `The model started again (attempt ${entry.attempt})`;
      const beside = entry.crossed === undefined ? "" : "; its first message had crossed the reply before";
      const seal = entry.sealed ? "; the user had waited long enough, so newer input does not restart it" : "";
      return `${which}${waited}${why(entry.wait)}, with ${inputs(entry.from, entry.to)}${beside}${seal}.`;
    }
    case "absorbed":
      return `The running attempt took in newer messages, up to input ${entry.to}.`;
    case "sealed":
      return "The answer was sealed: newer input no longer discards it.";
    case "ended": {
      const again = entry.retryAtMs === undefined ? "" : ` It is tried again at ${clockTime(entry.retryAtMs)}.`;
      return `${capital(ending(entry, story))}.${again}`;
    }
    case "reply":
      return entry.cause === "fallback" ? "The fallback text was committed." : answered(entry, story);
    case "part":
      return `Part ${entry.index + 1} was added to the reply.`;
    case "draft":
      return drafts[entry.state](entry.state === "left" && entry.error !== undefined ? `: ${entry.error}` : "");
    case "usage":
      return `The attempt cost ${count(entry.tokens, "token")}.`;
    case "receipt":
      return `Part ${entry.index + 1} ${states[entry.state]}${entry.error === undefined ? "" : ` (${entry.error})`}${
        entry.retryAtMs === undefined ? "" : `; next try at ${clockTime(entry.retryAtMs)}`
      }.`;
    case "closed": {
      const reply = story.replies.get(entry.replyId);
      const took = reply === undefined ? "" : ` ${span(entry.atMs - reply.atMs)} after it was committed`;
      return `The reply was ${entry.outcome}${took}.`;
    }
    case "settled":
      return `${settled[entry.outcome]} (${inputs(entry.from, entry.to)})${entry.reason ? `: ${entry.reason}` : ""}.`;
    case "effect":
      return `Effect ${JSON.stringify(entry.key)} was recorded${entry.late ? ", after its turn had ended" : ""}.`;
    case "effect-unknown":
      return `Effect ${JSON.stringify(entry.key)} was begun and nobody saw its end.`;
    case "send":
      return `A message of the bot's own accord was queued${byWhom(entry.by)}.`;
    case "human":
      return `A human answered everything up to input ${entry.upTo}${entry.by === undefined ? "" : `, told${byWhom(entry.by)}`}.`;
    case "handoff":
      return `Handed off to a human until ${clockTime(entry.untilMs)}${byWhom(entry.by)}.`;
    case "resumed":
      return `The hand-off was ended${byWhom(entry.by)}; what waited is ${
        entry.backlog === "answer" ? "answered" : "kept as context"
      }.`;
    case "tuned":
      return `From here on it has wishes of its own: ${JSON.stringify(entry.tuning)}${entry.by ? `, by ${entry.by}` : ""}.`;
    case "reset":
      return `${entry.forget ? "The conversation was reset" : "The answer was stopped"}${byWhom(entry.by)}.`;
  }
}

/** The whole turn, in one sentence: `Waited 6.0 s of quiet; a message at … discarded attempt 1 after 2.1 s; answered …`. */
function answered(reply: EntryOf<"reply">, { came, mishaps }: Story): string {
  const parts = reply.parts.length === 1 ? "" : ` in ${count(reply.parts.length, "part")}`;
  if (reply.to === reply.from) return `A message of the bot's own accord was committed${parts}.`;
  const lastMs = came.get(reply.to);
  const waited = lastMs === undefined ? [] : [`waited ${span(reply.atMs - lastMs)} of quiet${why(reply.wait)}`];
  const all = reply.overtaken || reply.to - reply.from === 1 ? "" : `all ${reply.to - reply.from}: `;
  const newer = reply.overtaken ? ", although newer input had come" : "";
  return `${capital([...waited, ...mishaps, `answered ${all}${inputs(reply.from, reply.to)}${parts}${newer}`].join("; "))}.`;
}

/** How an attempt ended, to stand in the middle of a sentence. */
function ending(entry: EntryOf<"ended">, story: Story): string {
  const { fence, atMs, outcome, error } = entry;
  const { attempts, last } = story;
  const start = attempts.get(fence);
  if (hasAnswered(entry, story) && outcome === "expired")
    return "the process that was sending stopped, and its lease expired";
  const which = start === undefined ? "the attempt" : `attempt ${start.attempt}`;
  const after = start === undefined ? "" : ` after ${span(atMs - start.atMs)}`;
  const what =
    last === null ? "newer input" : `${last.what === "edit" ? "an" : "a"} ${last.what} at ${clockTime(last.atMs)}`;
  // Of an expired lease the error says no more.
  const why = error === undefined || outcome === "expired" ? "" : `: ${error}`;
  return `${endings[outcome](which, after, what)}${why}`;
}

/** Its answer was committed: what ended was its delivery. */
function hasAnswered({ fence }: EntryOf<"ended">, { replies }: Story): boolean {
  return [...replies.values()].some((reply) => reply.fence === fence);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const endings: Record<EntryOf<"ended">["outcome"], (attempt: string, after: string, newer: string) => string> = {
  superseded: (attempt, after, newer) => `${newer} discarded ${attempt}${after}`,
  failed: (attempt, after) => `${attempt} failed${after}`,
  expired: (attempt, after) => `${attempt} was lost${after}, when its lease expired: its process had stopped`,
  "handed-back": (attempt, after) => `${attempt} was handed back${after}, because its process shut down`,
  "handed-off": (attempt, after) => `${attempt} ended${after}, because a human took over`,
  "answered-by-human": (attempt, after) => `${attempt} ended${after}, because a human answered`,
  reset: (attempt, after) => `${attempt} ended${after}, because the conversation was reset`,
};

/** What is worth saying about a wait: nothing, where it simply was the setting's. */
function why(wait: Wait | undefined): string {
  return wait === undefined || wait.reason === "setting" ? "" : ` (${waits[wait.reason](span(wait.targetMs))})`;
}

const waits: Record<Exclude<Wait["reason"], "setting">, (target: string) => string> = {
  restarts: (target) => `discarded so often that it waited for all of ${target}`,
  typing: () => "held while the user typed",
  incomplete: () => "held for an incomplete message",
  cap: () => "the longest wait was over",
  message: (target) => `a message asked for ${target}`,
  flush: () => "an answer was wanted at once",
  pace: (target) => `this user's pace asks for ${target}`,
  question: (target) => `a question asks for ${target}`,
  judged: (target) => `by completeness ${target}`,
};

const drafts: Record<EntryOf<"draft">["state"], (why: string) => string> = {
  shown: () => "Provisional text is being shown.",
  replaced: () => "The reply took the draft's place.",
  retracted: () => "The draft was taken back.",
  left: (why) => `The draft could not be taken back${why}.`,
};

const states: Record<EntryOf<"receipt">["state"], string> = {
  queued: "was refused for now",
  attempting: "is on its way",
  sent: "was sent",
  failed: "failed for good",
  unknown: "may or may not have arrived",
  cancelled: "was cancelled",
};

const settled: Record<EntryOf<"settled">["outcome"], string> = {
  removed: "Everything unanswered was taken back by its author",
  silent: "The bot chose to stay silent",
  human: "Ended by a human's answer",
  dropped: "Dropped by a command",
  context: "Kept as context, not answered",
  parked: "Given up",
};

function standing(record: ConversationRecord, nowMs: number, wakeAtMs: number | null): string {
  const { lease, outbox, handoff, window } = record;
  if (lease !== null) {
    const what = lease.purpose === "respond" ? "is answering" : "is sending";
    const until =
      lease.expiresAtMs > nowMs ? `its lease ends in ${span(lease.expiresAtMs - nowMs)}` : "its lease has expired";
    return `Now: ${lease.owner} ${what} (fence ${lease.fence}); ${until}.`;
  }
  const due = wakeAtMs === null ? "" : wakeAtMs > nowMs ? ` in ${span(wakeAtMs - nowMs)}` : ", due now";
  if (outbox !== null) return `Now: a part waits for its next try${due}.`;
  if (handoff !== null) return `Now: a human answers until ${clockTime(handoff.untilMs)}.`;
  if (window !== null)
    return `Now: ${count(window.count, "message")} wait${window.count === 1 ? "s" : ""}; the model may start${due}.`;
  return record.parked === null ? "Now: at rest." : "Now: at rest; the last inputs were given up and can be retried.";
}
