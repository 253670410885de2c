/**
 * Small wordings both sides share.
 *
 * @module
 */
import type { Part } from "lull";

/** What a part says; what is not text is named. */
export function partsText(parts: readonly Part[]): string {
  return parts
    .map((part) => {
      if (part.type === "text") return part.text;
      return part.type === "file" ? `[file: ${part.filename ?? part.mediaType}]` : "[data]";
    })
    .join("\n");
}

/** `0.8 s`, `12 s` */
export function seconds(ms: number): string {
  return `${ms < 9_950 ? (ms / 1_000).toFixed(1).replace(/\.0$/, "") : Math.round(ms / 1_000)} s`;
}

/** The messages `from < version ≤ to`. */
export function listed(from: number, to: number): string {
  const count = to - from;
  if (count <= 1) return `message ${to}`;
  return count === 2 ? `messages ${from + 1} and ${to}` : `messages ${from + 1} to ${to}`;
}

/** `1 answer`, `3 answers` */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
