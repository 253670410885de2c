/**
 * What is left of a conversation's log when one of its authors is erased. Pure.
 *
 * @module
 */
import type { LogEntry, Part, Seq, Version } from "./model.ts";

export interface Erasure {
  /** Others wrote here too (or nobody was named): the conversation stays, with what is theirs. */
  shared: boolean;
  /** The author's messages, for taking back what is unanswered. */
  messages: { id: string; version: Version }[];
  /** Newest log entry that answers something of the author's; such a reply must not be on its way any more. */
  replyIds: ReadonlySet<string>;
  /** Replacements: the author's messages and edits, and what was said or done to answer them, without content. */
  entries: LogEntry[];
}

const nothing: Part = { type: "text", text: "" };
/** What stays is listed, not what goes: a field added later goes too. */
const inputKeys = ["kind", "seq", "atMs", "id", "target", "version", "quietMs", "incomplete", "aside"];
const replyKeys = ["kind", "seq", "atMs", "replyId", "fence", "from", "to", "open", "overtaken", "cause"];
const humanKeys = ["kind", "seq", "atMs", "id", "upTo"];

function only<T extends LogEntry>(entry: T, keys: readonly string[]): T {
  return Object.fromEntries(Object.entries(entry).filter(([key]) => keys.includes(key))) as T;
}

/**
 * Null when the author wrote nothing here. `log`: all of it, oldest first.
 *
 * A reply may quote what it answers, and an effect may have acted upon it: both lose their content too. Answers to
 * others, and messages of the bot's own accord, stay.
 */
export function erasureOf(log: readonly LogEntry[], author: string): Erasure | null {
  const messages = new Map<string, Version>();
  const versions = new Set<Version>();
  const theirSeqs = new Set<Seq>();
  let shared = false;
  for (const entry of log) {
    if (entry.kind !== "message" && entry.kind !== "edit") continue;
    const theirs = entry.author === author || (entry.kind === "edit" && messages.has(entry.target));
    if (theirs) {
      theirSeqs.add(entry.seq);
      // Merely noted, it has no version of its own.
      if (entry.aside !== "answered") versions.add(entry.version);
      if (entry.kind === "message" || !messages.has(entry.target)) messages.set(entry.id, entry.version);
    } else shared = true;
  }
  const isAgent = log.some((entry) => entry.kind === "human" && entry.author === author);
  if (theirSeqs.size === 0 && !isAgent) return null;

  const covers = (from: Version, to: Version) => [...versions].some((version) => version > from && version <= to);
  const replyIds = new Set<string>();
  /** First entries of the spans that were answered, by the end of each: effects in between acted upon them. */
  const spans: { fromSeq: Seq; toSeq: Seq }[] = [];
  const seqs = new Map<Version, Seq>();
  let ended: Version = 0;
  for (const entry of log) {
    if ((entry.kind === "message" || entry.kind === "edit") && entry.aside !== "answered")
      seqs.set(entry.version, entry.seq);
    const range =
      entry.kind === "reply"
        ? { from: entry.from, to: entry.to }
        : entry.kind === "human"
          ? { from: ended, to: entry.upTo }
          : null;
    if (range === null) continue;
    ended = Math.max(ended, range.to);
    if (!covers(range.from, range.to)) continue;
    if (entry.kind === "reply") replyIds.add(entry.replyId);
    const first = [...seqs].find(([version]) => version > range.from)?.[1] ?? entry.seq;
    spans.push({ fromSeq: first, toSeq: entry.seq });
  }
  const inSpan = (seq: Seq) => spans.some(({ fromSeq, toSeq }) => seq >= fromSeq && seq <= toSeq);

  const entries = log.flatMap((entry): LogEntry[] => {
    switch (entry.kind) {
      case "message":
      case "edit": {
        if (!theirSeqs.has(entry.seq)) return [];
        return [{ ...only(entry, inputKeys), parts: [], erased: true }];
      }
      case "reply": {
        if (!replyIds.has(entry.replyId)) return [];
        return [{ ...only(entry, replyKeys), parts: entry.parts.map(() => nothing), address: null }];
      }
      case "part":
        return replyIds.has(entry.replyId) ? [{ ...entry, part: nothing }] : [];
      case "effect":
        return inSpan(entry.seq) ? [{ ...entry, value: null }] : [];
      case "human": {
        if (entry.author !== author && !inSpan(entry.seq)) return [];
        return [{ ...only(entry, humanKeys), parts: [] }];
      }
      default:
        return [];
    }
  });
  return {
    shared: shared || theirSeqs.size === 0,
    messages: [...messages].map(([id, version]) => ({ id, version })),
    replyIds,
    entries,
  };
}
