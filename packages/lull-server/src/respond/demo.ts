/**
 * The responder of a server without a model: thinks for a while, then says which messages it was given. It
 * shows what lull does, and never pretends to be a model.
 *
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Input, Respond } from "lull";
import { isVisitors } from "../visitors/drafts.ts";

/** The longest that a message may ask it to think. */
const longestMs = 60_000;

/** @param thinkMs How long it pretends to think, unless the newest message asks for another time (`metadata.thinkMs`). */
export function demo(thinkMs: number): Respond {
  return async (turn) => {
    const asked = turn.metadata.thinkMs;
    const isTime = typeof asked === "number" && asked >= 0 && asked <= longestMs;
    const ms = isTime ? asked : thinkMs;
    const answer = demoAnswer(turn.messages);
    const words = isVisitors(turn.address) ? answer.split(/(?<=\s)/) : [];
    const pauseMs = ms / (words.length + 1);
    // Visitors of the web chat see it written, as a model writes.
    for (let n = 1; n <= words.length; n++) {
      await sleep(pauseMs, undefined, { signal: turn.signal });
      turn.draft(words.slice(0, n).join(""));
    }
    await sleep(pauseMs, undefined, { signal: turn.signal });
    return answer;
  };
}

export function demoAnswer(messages: readonly Input[]): string {
  const lines = messages.map((message, index) => `${index + 1}. ${excerpt(message)}`);
  const count = messages.length === 1 ? "1 message" : `${messages.length} messages, read together`;
  return [`[demo, no model is connected] One answer to ${count}:`, ...lines].join("\n");
}

function excerpt(message: Input): string {
  const text = message.parts
    .map((part) =>
      part.type === "text" ? part.text : part.type === "file" ? `(${part.filename ?? part.mediaType})` : "(data)",
    )
    .join(" ");
  const shown = text.length > 200 ? `${text.slice(0, 199)}…` : text;
  return message.edited ? `${shown} (edited)` : shown;
}
