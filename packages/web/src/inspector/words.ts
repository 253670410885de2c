/**
 * Times, durations and texts, in words. Instants are shown in UTC, as the API's own sentences are.
 *
 * @module
 */
import type { Part } from "lull";

/** `12:01:04.250`. */
export function clockTime(at: number): string {
  return Number.isFinite(at) && Math.abs(at) < 8.64e15 ? new Date(at).toISOString().slice(11, 23) : "?";
}

/** `2026-11-30 12:01:04`. */
export function dateTime(at: number): string {
  return Number.isFinite(at) && Math.abs(at) < 8.64e15
    ? new Date(at).toISOString().slice(0, 19).replace("T", " ")
    : "?";
}

/** `250 ms`, `6.0 s`, `3 min 5 s`, `2 h 3 min`, `4 d 2 h`. */
export function lasting(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 100_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / 1_440)} d ${Math.floor((minutes % 1_440) / 60)} h`;
}

const numbers = new Intl.NumberFormat("en");

/** `10,000`. */
export function grouped(n: number): string {
  return n < 1_000 ? String(n) : numbers.format(n);
}

/** `1 part`, `2 parts`. */
export function counted(n: number, noun: string): string {
  return `${grouped(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/** A process's name: the first part of an id that nobody reads. */
export function ownerName(owner: string): string {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-/.test(owner) ? owner.slice(0, 8) : owner;
}

/** What the parts say, in a line of at most 160 characters. */
export function excerpt(parts: readonly Part[]): string {
  const line = parts
    .map((part) => {
      if (part.type === "text") return part.text;
      return part.type === "file" ? `[${part.filename ?? part.mediaType}]` : "[data]";
    })
    .join(" ")
    .replace(/\s+/g, " ")
    .trim();
  return line.length > 160 ? `${line.slice(0, 159)}…` : line;
}
