/**
 * What a visitor sees of a conversation: their own messages and what is said to them. Everything else in the log is
 * nobody's business outside: attempts, errors, costs, other authors, names of operators, metadata, addresses.
 *
 * An allow-list by kind and by field: what is not named here is not shown.
 *
 * @module
 */
import type { LogEntry, Part } from "lull";
import { textOf } from "lull";

/** One part of a message, as pages get it: files by address only, never by a reference that needs our credentials. */
export type SeenPart =
  | { type: "text"; text: string }
  | { type: "file"; mediaType: string; url: string | null; filename: string | null }
  | { type: "data"; data: unknown };

/** How an answer ended: `none`, because nothing was to be said; `failed`: given up. */
export type SeenOutcome = "answered" | "none" | "failed" | "human";

interface Place {
  /** Of the log; numbers what can be resumed from. */
  seq: number;
  atMs: number;
}

export type Seen = Place &
  (
    | { type: "message"; id: string; text: string }
    | { type: "edited"; id: string; text: string }
    | { type: "retracted"; id: string }
    /** `id` is the same however often it is told. `edits`: the part whose place it takes. */
    | { type: "part"; id: string; by: "bot" | "human"; part: SeenPart; edits?: string }
    | { type: "done"; replyId: string | null; outcome: SeenOutcome }
  );

interface Reply {
  parts: Part[];
  amends: string | null;
}

/** The log in pieces, newest first; as `lull.log`. */
export type ReadLog = (page: { before: number; limit: number }) => Promise<LogEntry[]>;

/** How far back content is looked for that was stored long before it was sent. */
const mostPages = 5;
const pageEntries = 1_000;
/** Replies and authors remembered, so that a stream that lasts does not grow. */
const mostRemembered = 500;

export interface Sight {
  /** What a visitor sees of an entry. Entries come in the log's order. */
  see(entry: LogEntry): Promise<Seen[]>;
}

export function sightOf(visitor: string, read: ReadLog): Sight {
  const replies = new Map<string, Reply>();
  /** Is the message of that id the visitor's own? */
  const own = new Map<string, boolean>();

  function learn(entry: LogEntry): void {
    if (entry.kind === "message") remember(own, entry.id, entry.author === visitor);
    else if (entry.kind === "reply" || entry.kind === "send") {
      const amends = entry.kind === "reply" ? (entry.amends?.externalId ?? null) : null;
      remember(replies, entry.replyId, { parts: [...entry.parts], amends });
    } else if (entry.kind === "part") {
      const reply = replies.get(entry.replyId);
      if (reply !== undefined) reply.parts[entry.index] = entry.part;
    }
  }

  /** From memory, or from further back in the log. */
  async function find<T>(look: () => T | undefined, before: number): Promise<T | undefined> {
    let end = before;
    const pages: LogEntry[][] = [];
    for (let page = 0; look() === undefined && page < mostPages && end > 1; page++) {
      const entries = await read({ before: end, limit: pageEntries });
      if (entries.length === 0) break;
      pages.unshift(entries);
      // Parts that were added to a reply come after it.
      for (const entry of pages.flat()) learn(entry);
      end = entries[0]?.seq ?? 1;
    }
    return look();
  }

  const isOwn = async (id: string, before: number) => (await find(() => own.get(id), before)) === true;

  return {
    async see(entry) {
      learn(entry);
      const { seq, atMs } = entry;
      const place = { seq, atMs };
      switch (entry.kind) {
        case "message":
          if (entry.author !== visitor || entry.erased) return [];
          return [{ ...place, type: "message", id: entry.id, text: textOf(entry.parts) }];
        case "edit":
          if (entry.erased || !(await isOwn(entry.target, seq))) return [];
          return [{ ...place, type: "edited", id: entry.target, text: textOf(entry.parts) }];
        case "retraction":
          return (await isOwn(entry.target, seq)) ? [{ ...place, type: "retracted", id: entry.target }] : [];
        case "receipt": {
          if (entry.state !== "sent" && entry.state !== "unknown") return [];
          const reply = await find(() => {
            const known = replies.get(entry.replyId);
            return known?.parts[entry.index] === undefined ? undefined : known;
          }, seq);
          const part = reply?.parts[entry.index];
          if (reply === undefined || part === undefined) return [];
          const id = `${entry.replyId}:${entry.index}`;
          const edits = reply.amends !== null && entry.index === 0 ? { edits: reply.amends } : {};
          return [{ ...place, type: "part", id, by: "bot", part: seenPart(part), ...edits }];
        }
        case "human":
          return entry.parts.map((part, index) => ({
            ...place,
            type: "part",
            id: `${entry.id}:${index}`,
            by: "human",
            part: seenPart(part),
          }));
        case "closed":
          replies.delete(entry.replyId);
          if (entry.outcome === "withdrawn") return [];
          return [{ ...place, type: "done", replyId: entry.replyId, outcome: closedAs[entry.outcome] }];
        case "settled":
          return [{ ...place, type: "done", replyId: null, outcome: settledAs[entry.outcome] }];
        default:
          return [];
      }
    },
  };
}

const closedAs = { delivered: "answered", cut: "answered", failed: "failed", cancelled: "none" } as const;
const settledAs = {
  removed: "none",
  silent: "none",
  dropped: "none",
  context: "none",
  human: "human",
  parked: "failed",
} as const;

function seenPart(part: Part): SeenPart {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type === "data") return { type: "data", data: part.data };
  const { mediaType, url = null, filename = null } = part;
  return { type: "file", mediaType, url, filename };
}

function remember<T>(known: Map<string, T>, id: string, value: T): void {
  known.delete(id);
  known.set(id, value);
  for (const oldest of known.keys()) {
    if (known.size <= mostRemembered) return;
    known.delete(oldest);
  }
}
