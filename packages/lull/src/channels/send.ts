/**
 * The two things nearly every channel does on the way out: cut texts to what the platform takes, and turn a client's call
 * into a receipt.
 *
 * @module
 */
import type { Part } from "../model.ts";
import type { Receipt } from "../ports.ts";
import type { Respond, Responded, Turn } from "../turn.ts";
import { receiptOf } from "./receipt.ts";
import { splitParts } from "./split.ts";

/**
 * Sends a text part by a function that resolves to the platform's id of the message. What it throws becomes a receipt;
 * a part of another kind is refused for good.
 */
export async function sendText(part: Part, send: (text: string) => Promise<string | undefined>): Promise<Receipt> {
  if (part.type !== "text")
    return { status: "failed", error: `this channel sends text, and no parts of type ${part.type}` };
  try {
    const id = await send(part.text);
    return { status: "sent", ...(id !== undefined && { id }) };
  } catch (error) {
    return receiptOf(error);
  }
}

/**
 * The same responder, whose texts are cut to parts of at most `limitOf(turn)` characters, each with a receipt of its own;
 * undefined leaves the answer alone. A text that is streamed is cut when it is whole.
 */
export function fitting(respond: Respond, limitOf: (turn: Turn) => number | undefined): Respond {
  return async (turn): Promise<Responded> => {
    const limit = limitOf(turn);
    const answer = await respond(turn);
    if (limit === undefined || answer === null || answer === undefined) return answer;
    if (typeof answer === "string") return splitParts([answer], limit);
    if (Array.isArray(answer)) return splitParts(answer, limit);
    if ("textStream" in answer) return splitParts([await whole(answer.textStream, turn)], limit);
    if (Symbol.asyncIterator in answer) return split(answer, limit);
    if ("type" in answer) return splitParts([answer], limit);
    // Not text: what becomes of it is not known yet.
    if ("object" in answer) return answer;
    const { metadata } = answer;
    const parts = splitParts("parts" in answer ? answer.parts : [answer.text], limit);
    return { parts, ...(metadata !== undefined && { metadata }) };
  };
}

async function* split(stream: AsyncIterable<string | Part>, limit: number): AsyncGenerator<Part> {
  for await (const part of stream) yield* splitParts([part], limit);
}

async function whole(stream: AsyncIterable<string>, turn: Turn): Promise<string> {
  let text = "";
  for await (const delta of stream) {
    turn.signal.throwIfAborted();
    text += delta;
  }
  // An aborted stream ends as if it were complete.
  turn.signal.throwIfAborted();
  return text.trim();
}
