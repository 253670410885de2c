/**
 * The library's plain data as HTTP shows it: instants become RFC 3339 (`startAtMs` → `startAt`), everything
 * else stays. What users and authors gave (`parts`, `metadata`, `address`, values) is never touched.
 *
 * @module
 */
import type { LullEvent } from "lull";

/** Instants whose names in the library do not end in `AtMs`. */
const instants: Record<string, string> = {
  atMs: "at",
  untilMs: "untilAt",
  sinceMs: "sinceAt",
  deadlineMs: "deadlineAt",
  holdUntilMs: "holdUntilAt",
  incompleteUntilMs: "incompleteUntilAt",
};
/** Fields whose content belongs to others. */
const opaque = new Set(["parts", "part", "metadata", "address", "value"]);

export function instant(ms: number): string;
export function instant(ms: number | null): string | null;
export function instant(ms: number | null): string | null {
  if (ms === null) return null;
  // Beyond what a Date can say; nothing of ours is, but a record must stay showable.
  if (Math.abs(ms) > 8.64e15) return ms < 0 ? "-271821-04-20T00:00:00.000Z" : "+275760-09-13T00:00:00.000Z";
  return new Date(ms).toISOString();
}

function nameOf(key: string): string | null {
  return instants[key] ?? (key.endsWith("AtMs") ? key.slice(0, -2) : null);
}

/** A copy with every instant renamed and written out. */
export function view(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(view);
  if (typeof value !== "object" || value === null) return value;
  const shown: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    const name = typeof item === "number" || item === null ? nameOf(key) : null;
    if (name !== null) shown[name] = instant(item as number | null);
    else if (key === "effects" && typeof item === "object" && item !== null && !Array.isArray(item))
      // Keys are the author's names, so only the values are looked at.
      shown[key] = Object.fromEntries(Object.entries(item).map(([effect, state]) => [effect, view(state)]));
    else define(shown, key, opaque.has(key) && !isOutboxParts(key, item) ? item : view(item));
  }
  return shown;
}

/** The outbox has `parts` too, but those are ours: states and times, no content. */
function isOutboxParts(key: string, item: unknown): boolean {
  return (
    key === "parts" &&
    Array.isArray(item) &&
    item.every((part) => typeof part === "object" && part !== null && "state" in part && "tries" in part)
  );
}

function define(target: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

/** An event as a stream shows it. */
export function eventView(event: LullEvent): unknown {
  return view(event);
}
