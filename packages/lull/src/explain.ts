/**
 * Why did the bot answer twice, late, or not at all? Plain sentences from the log, pure.
 *
 * @module
 */
import type { ConversationRecord, EntryOf, LogEntry, Wait } from "./model.ts";

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

/** Sentences about the entries, oldest first, and one about how things stand. Never a user's text. */
export function explain(
  record: ConversationRecord | null,
  log: readonly LogEntry[],
  nowMs: number,
  wakeAtMs: number | null,
): string[] {
  if (record === null) return ["Nobody has written in this conversation."];
  const lines: string[] = [];
  const began = new Map<number, EntryOf<"attempt">>();
  const replies = new Map<string, EntryOf<"reply">>();
  const drafted = new Set<string>();
  let last: number | null = null;
  for (const entry of log) {
    if (entry.kind === "draft") drafted.add(entry.draftId);
    // Taking a draft back goes through the outbox, and is told by its own entry.
    if (entry.kind === "receipt" && drafted.has(entry.replyId)) continue;
    const at = clockTime(entry.atMs);
    const text = sentence(entry, began, replies, last);
    if (entry.kind === "attempt") began.set(entry.fence, entry);
    if (entry.kind === "reply") replies.set(entry.replyId, entry);
    if (entry.kind === "message") last = entry.atMs;
    if (text !== null) lines.push(`${at} ${text}`);
  }
  lines.push(`${clockTime(nowMs)} ${standing(record, nowMs, wakeAtMs)}`);
  return lines;
}

function sentence(
  entry: LogEntry,
  began: Map<number, EntryOf<"attempt">>,
  replies: Map<string, EntryOf<"reply">>,
  last: number | null,
): string | null {
  switch (entry.kind) {
    case "message":
      if (entry.aside === "backlog") return `Message ${entry.version} was too old to answer: kept as context.`;
      if (entry.aside === "context") return `Message ${entry.version} was not for the bot: kept as context.`;
      if (entry.aside === "command") return `Message ${entry.version} was a control word.`;
      return `Message ${entry.version} arrived${entry.incomplete ? ", incomplete" : ""}${
        last === null ? "" : `, ${span(entry.atMs - last)} after the one before`
      }.`;
    case "edit":
      return entry.aside
        ? "An answered message was edited: kept as context."
        : `An edit arrived (version ${entry.version}).`;
    case "retraction":
      return entry.aside
        ? "An answered message was taken back."
        : `A message was taken back (version ${entry.version}).`;
    case "retry":
      return `Inputs ${entry.from + 1} to ${entry.to} were brought back${entry.by ? ` by ${entry.by}` : ""}.`;
    case "attempt": {
      const waited = last === null ? "" : ` after ${span(entry.atMs - last)} of quiet`;
      const which = entry.attempt === 1 ? "The model started" : `The model started again (attempt ${entry.attempt})`;
      const beside = entry.crossed === undefined ? "" : "; its first message had crossed the reply before";
      const seal = entry.sealed ? "; the user had waited long enough, so newer input does not restart it" : "";
      return `${which}${waited}${why(entry.wait)}, with everything up to version ${entry.to}${beside}${seal}.`;
    }
    case "absorbed":
      return `The running attempt took in newer messages, up to version ${entry.to}.`;
    case "sealed":
      return "The answer was sealed: newer input no longer discards it.";
    case "ended": {
      const start = began.get(entry.fence);
      const after = start === undefined ? "" : ` after ${span(entry.atMs - start.atMs)}`;
      const again = entry.retryAtMs === undefined ? "" : ` It is tried again at ${clockTime(entry.retryAtMs)}.`;
      const why = entry.error === undefined ? "" : `: ${entry.error}`;
      return `${endings[entry.outcome](after)}${why}.${again}`;
    }
    case "reply":
      if (entry.cause === "fallback") return "The fallback text was committed.";
      return `Answered versions ${entry.from + 1} to ${entry.to} in ${count(entry.parts.length, "part")}${
        entry.overtaken ? ", although newer input had come" : ""
      }${why(entry.wait)}.`;
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
      const reply = replies.get(entry.replyId);
      const took = reply === undefined ? "" : ` ${span(entry.atMs - reply.atMs)} after it was committed`;
      return `The reply was ${entry.outcome}${took}.`;
    }
    case "settled":
      return `${settled[entry.outcome]} (versions ${entry.from + 1} to ${entry.to})${entry.reason ? `: ${entry.reason}` : ""}.`;
    case "effect":
      return `Effect ${JSON.stringify(entry.key)} was recorded${entry.late ? ", after its turn had ended" : ""}.`;
    case "effect-unknown":
      return `Effect ${JSON.stringify(entry.key)} was begun and nobody saw its end.`;
    case "send":
      return "A message of the bot's own accord was queued.";
    case "human":
      return `A human answered everything up to version ${entry.upTo}.`;
    case "handoff":
      return `Handed off to a human until ${clockTime(entry.untilMs)}${entry.by ? ` by ${entry.by}` : ""}.`;
    case "resumed":
      return entry.backlog === "answer"
        ? "The hand-off ended; what waited is answered."
        : "The hand-off ended; what waited is kept as context.";
    case "tuned":
      return `From here on it has wishes of its own: ${JSON.stringify(entry.tuning)}${entry.by ? `, by ${entry.by}` : ""}.`;
    case "reset":
      return entry.forget ? "The conversation was reset." : "The answer was stopped.";
  }
}

const endings: Record<EntryOf<"ended">["outcome"], (after: string) => string> = {
  superseded: (after) => `Newer input discarded the attempt${after}`,
  failed: (after) => `The attempt failed${after}`,
  expired: (after) => `The attempt was lost${after}: its process stopped, and its lease expired`,
  "handed-back": (after) => `The process that answered shut down${after} and handed the turn back`,
  "handed-off": (after) => `The attempt ended${after}: a human took over`,
  "answered-by-human": (after) => `The attempt ended${after}: a human answered`,
  reset: (after) => `The attempt ended${after}: the conversation was reset`,
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
