/**
 * Texts longer than a platform takes, cut where it hurts least; and texts that a platform's app cut, put together.
 *
 * @module
 */
import type { Input, Part } from "../model.ts";

/** Opens or closes a block of code. */
const fence = /^ {0,3}(`{3,}|~{3,})[^\n]*$/;

/**
 * Pieces of at most `limit` UTF-16 units, which together say the same: cut between paragraphs, else lines, else
 * sentences, else words, and never inside a character. A block of code that has to be cut is closed and opened again.
 * @param limit at least 64
 */
export function splitText(text: string, limit: number): string[] {
  const pieces: string[] = [];
  let rest = text;
  let open = "";
  while (rest.length + open.length > limit) {
    // Room for the end of the block that the cut would leave open.
    const room = limit - open.length - 8;
    const at = cutAt(rest, Math.max(room, 16));
    const piece = open + rest.slice(0, at);
    const inside = openFence(piece);
    pieces.push(inside === null ? piece.trimEnd() : `${piece.trimEnd()}\n${inside.mark}`);
    open = inside === null ? "" : `${inside.line}\n`;
    // Inside code, indentation means something.
    rest = inside === null ? rest.slice(at).trimStart() : rest.slice(at).replace(/^\n/, "");
  }
  const last = (open + rest).trimEnd();
  if (last !== "") pieces.push(last);
  return pieces.filter((piece) => piece.trim() !== "");
}

/** Where to cut: after the last good place that leaves a piece of at least half the room. */
function cutAt(text: string, room: number): number {
  const head = text.slice(0, room);
  for (const place of [/\n\s*\n/g, /\n/g, /[.!?…。！？]["'”’)\]]*\s/gu, /\s/g]) {
    let at = 0;
    for (const found of head.matchAll(place)) at = found.index + found[0].length;
    if (at >= room / 2) return at;
  }
  return wholeCharacter(text, room);
}

/** Not between the halves of a surrogate pair, nor before what joins or marks the character in front of it. */
function wholeCharacter(text: string, at: number): number {
  const breaks = (place: number) =>
    /^[\udc00-\udfff]/.test(text.slice(place, place + 1)) ||
    /^(?:\p{M}|\u200d|\ufe0f|[\u{1f3fb}-\u{1f3ff}])/u.test(text.slice(place, place + 2)) ||
    text[place - 1] === "\u200d";
  let place = at;
  while (place > at / 2 && breaks(place)) place -= 1;
  return place;
}

function openFence(text: string): { mark: string; line: string } | null {
  let open: { mark: string; line: string } | null = null;
  for (const line of text.split("\n")) {
    const mark = fence.exec(line)?.[1];
    if (mark === undefined) continue;
    if (open === null) open = { mark, line: line.trim() };
    else if (mark.startsWith(open.mark)) open = null;
  }
  return open;
}

/** Parts that all fit: long texts become several parts, each with a receipt of its own. */
export function splitParts(parts: readonly (string | Part)[], limit: number): Part[] {
  return parts.flatMap((part): Part[] => {
    const one: Part = typeof part === "string" ? { type: "text", text: part } : part;
    if (one.type !== "text" || one.text.length <= limit) return [one];
    return splitText(one.text, limit).map((text) => ({ type: "text", text }));
  });
}

/** An app that cuts looks for a space near its limit. */
const slack = 96;
/** Pieces of one text are sent at once. */
const piecesMs = 2_000;

/**
 * The turn's text, where an app cuts long texts at `limit`: pieces of one text are put together without the line break
 * that `turn.text` would put between messages.
 */
export function textWithoutCuts(messages: readonly Input[], limit: number): string {
  let text = "";
  let before: Input | null = null;
  for (const message of messages) {
    const own = textIn(message);
    if (own === "") continue;
    const continues =
      before !== null &&
      before.author === message.author &&
      textIn(before).length >= limit - slack &&
      (message.sentAtMs ?? message.receivedAtMs) - (before.sentAtMs ?? before.receivedAtMs) <= piecesMs;
    text += before === null || continues ? own : `\n${own}`;
    before = message;
  }
  return text;
}

function textIn({ parts }: Input): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
