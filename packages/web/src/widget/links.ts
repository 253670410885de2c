/**
 * Addresses in a text, so that they can be followed. Pure.
 *
 * @module
 */

export interface Piece {
  text: string;
  /** Where it leads; null: plain text. */
  href: string | null;
}

const schemes = new Set(["http:", "https:", "mailto:"]);
const address = /\b(?:https?:\/\/|mailto:)[^\s<>"'`\p{Cc}\p{Cf}]+/giu;

/** The address, if a page may lead there: never `javascript:`, `data:` or anything else. */
export function safeHref(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  return schemes.has(url.protocol) ? url.href : null;
}

/** The text in pieces; together they are the text. */
export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(address)) {
    const found = withoutTail(match[0]);
    const href = safeHref(found);
    if (href === null) continue;
    if (match.index > end) pieces.push({ text: text.slice(end, match.index), href: null });
    pieces.push({ text: found, href });
    end = match.index + found.length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), href: null });
  return pieces;
}

/** Without what ends the sentence, and without a bracket that was opened before the address. */
function withoutTail(found: string): string {
  for (;;) {
    const last = found.at(-1) ?? "";
    const opening = { ")": "(", "]": "[", "}": "{" }[last];
    const closes = opening !== undefined && found.split(last).length > found.split(opening).length;
    const isTail = closes || ".,;:!?…。、，".includes(last);
    if (!isTail || found === "") return found;
    found = found.slice(0, -1);
  }
}
