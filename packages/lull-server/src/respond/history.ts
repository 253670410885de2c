/**
 * A conversation's log as the alternating messages a model is given. Pure.
 *
 * @module
 */
import type { LogEntry, Part } from "lull";

export interface Said {
  role: "user" | "assistant";
  parts: Part[];
}

interface Reply {
  said: Said;
  states: Map<number, string>;
  /** Parts that were not sent are left out: the user never read them. */
  onlySent: boolean;
}

/**
 * What was said before: edits and retractions applied, withdrawn and unsent answers left out, neighbours of
 * one role merged. A reset that forgets begins anew.
 */
export function history(log: readonly LogEntry[]): Said[] {
  let said: Said[] = [];
  const messages = new Map<string, Said>();
  const replies = new Map<string, Reply>();
  const add = (entry: Said): Said => {
    said.push(entry);
    return entry;
  };
  for (const entry of log) {
    switch (entry.kind) {
      case "message":
        if (entry.aside !== "command") messages.set(entry.id, add({ role: "user", parts: entry.parts }));
        break;
      case "edit": {
        const target = messages.get(entry.target);
        const isAnswered = target !== undefined && said.slice(said.indexOf(target)).some(isAnswer);
        // An edit of what had been answered was an input of its own, unless it was only noted.
        if (target !== undefined && (!isAnswered || entry.aside === "answered")) target.parts = entry.parts;
        else messages.set(entry.id, add({ role: "user", parts: entry.parts }));
        break;
      }
      case "retraction": {
        const target = messages.get(entry.target);
        if (target !== undefined) target.parts = [];
        break;
      }
      case "reply":
        replies.set(entry.replyId, {
          said: add({ role: "assistant", parts: [...entry.parts] }),
          states: new Map(),
          onlySent: false,
        });
        break;
      case "part":
        replies.get(entry.replyId)?.said.parts.push(entry.part);
        break;
      case "receipt":
        replies.get(entry.replyId)?.states.set(entry.index, entry.state);
        break;
      case "closed": {
        const reply = replies.get(entry.replyId);
        if (reply === undefined) break;
        if (entry.outcome === "withdrawn") reply.said.parts = [];
        else if (entry.outcome !== "delivered") reply.onlySent = true;
        break;
      }
      case "human":
        add({ role: "assistant", parts: entry.parts });
        break;
      case "reset":
        if (!entry.forget) break;
        said = [];
        messages.clear();
        replies.clear();
        break;
    }
  }
  for (const reply of replies.values())
    if (reply.onlySent)
      reply.said.parts = reply.said.parts.filter((_, index) =>
        ["sent", "unknown"].includes(reply.states.get(index) ?? ""),
      );
  return merge(said);
}

function isAnswer({ role, parts }: Said): boolean {
  return role === "assistant" && parts.length > 0;
}

/** Neighbours of one role become one: models expect user and assistant to alternate. */
export function merge(said: readonly Said[]): Said[] {
  const merged: Said[] = [];
  for (const { role, parts } of said) {
    if (parts.length === 0) continue;
    const last = merged.at(-1);
    if (last?.role === role) last.parts = [...last.parts, ...parts];
    else merged.push({ role, parts });
  }
  return merged;
}

/** The text of parts, one a line; what is not text is named. */
export function textOf(parts: readonly Part[]): string {
  return parts.map(partText).join("\n");
}

export function partText(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "file":
      return `[file: ${part.filename ?? "unnamed"}, ${part.mediaType}]`;
    case "data":
      return `[data: ${JSON.stringify(part.data)}]`;
  }
}
