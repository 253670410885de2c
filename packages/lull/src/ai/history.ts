/**
 * What was said before, as people saw it: a fold over the log. Pure.
 *
 * @module
 */
import type { LogEntry, Part, PartState } from "../model.ts";

/** One message of a conversation, as it stood on the screen. */
export interface Said {
  role: "user" | "assistant";
  /** `human`: a person answered in the bot's place. */
  by: "user" | "bot" | "human";
  parts: Part[];
  author?: string;
  /** The platform's time where it is known, else when it was received or committed. */
  atMs: number;
}

interface Reply {
  said: Said;
  states: Map<number, PartState>;
  /** Answers inputs up to here: what arrived later stands after it, whenever it was committed. */
  to: number;
  /** Withdrawn, or never shown: nobody read it. */
  gone: boolean;
  /** No more is sent than was. */
  over: boolean;
}

interface Written {
  said: Said;
  version: number;
}

const seen: ReadonlySet<PartState> = new Set(["sent", "unknown"]);

/**
 * Messages with their edits and without what was taken back; answers as far as they were shown, so neither discarded nor
 * withdrawn ones; people who answered in the bot's place; the bot's own messages. A reset that forgets begins anew;
 * control words are left out. An answer stands behind what it answers, before what came while it was made.
 * @param log entries oldest first, such as `turn.log()` gives.
 */
export function historyOf(log: readonly LogEntry[]): Said[] {
  let order: (Written | Reply)[] = [];
  const messages = new Map<string, Written>();
  const replies = new Map<string, Reply>();
  /** Messages of the bot's own accord wait for their place: they stand where they were first tried. */
  const sends = new Map<string, Reply>();
  const placed = (reply: Reply) => {
    let at = order.length;
    for (let last = order[at - 1]; last !== undefined && "version" in last && last.version > reply.to; ) {
      at -= 1;
      last = order[at - 1];
    }
    order.splice(at, 0, reply);
  };
  const write = (id: string, said: Said, version: number) => {
    const written = { said, version };
    order.push(written);
    messages.set(id, written);
  };
  for (const entry of log) {
    switch (entry.kind) {
      case "message":
        if (entry.aside !== "command") write(entry.id, userSaid(entry), entry.version);
        break;
      case "edit": {
        const target = messages.get(entry.target);
        // Of something answered before, it was an input of its own, unless it was only noted.
        const answered =
          target !== undefined && [...replies.values()].some(({ gone, to }) => !gone && to >= target.version);
        if (target !== undefined && (!answered || entry.aside === "answered")) target.said.parts = entry.parts;
        else write(target === undefined ? entry.target : entry.id, userSaid(entry), entry.version);
        break;
      }
      case "retraction": {
        const target = messages.get(entry.target);
        if (target !== undefined) target.said.parts = [];
        break;
      }
      case "reply": {
        const reply = replyOf("bot", entry.parts, entry.atMs, entry.to);
        replies.set(entry.replyId, reply);
        placed(reply);
        break;
      }
      case "send":
        sends.set(entry.replyId, replyOf("bot", entry.parts, entry.atMs, Number.POSITIVE_INFINITY));
        break;
      case "part":
        replies.get(entry.replyId)?.said.parts.push(entry.part);
        break;
      case "receipt": {
        const waiting = sends.get(entry.replyId);
        if (waiting !== undefined && !replies.has(entry.replyId)) {
          waiting.over = true;
          replies.set(entry.replyId, waiting);
          placed(waiting);
        }
        replies.get(entry.replyId)?.states.set(entry.index, entry.state);
        break;
      }
      case "closed": {
        const reply = replies.get(entry.replyId);
        if (reply === undefined) break;
        reply.gone = entry.outcome === "withdrawn";
        reply.over = true;
        break;
      }
      case "human":
        placed(replyOf("human", entry.parts, entry.atMs, entry.upTo, entry.author));
        break;
      case "reset":
        if (!entry.forget) break;
        order = [];
        messages.clear();
        replies.clear();
        break;
    }
  }
  return order.map(shown).filter(({ parts }) => parts.length > 0);
}

function userSaid(entry: { parts: Part[]; author?: string; sentAtMs?: number; atMs: number }): Said {
  const { parts, sentAtMs, atMs } = entry;
  const who = entry.author === undefined ? {} : { author: entry.author };
  return { role: "user", by: "user", parts, atMs: sentAtMs ?? atMs, ...who };
}

function replyOf(by: "bot" | "human", parts: readonly Part[], atMs: number, to: number, author?: string): Reply {
  const said: Said = { role: "assistant", by, parts: [...parts], atMs, ...(author !== undefined && { author }) };
  return { said, states: new Map(), to, gone: false, over: false };
}

function shown(one: Written | Reply): Said {
  if ("version" in one) return one.said;
  const { said, states, gone, over } = one;
  if (gone) return { ...said, parts: [] };
  if (said.by === "human") return said;
  const parts = said.parts.filter((_, index) => {
    const state = states.get(index);
    // What is on its way will be read by whoever reads the answer to come.
    return state === undefined || state === "queued" || state === "attempting" ? !over : seen.has(state);
  });
  return { ...said, parts };
}
