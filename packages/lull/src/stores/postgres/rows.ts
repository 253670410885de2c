/**
 * Values on their way to the server and back.
 *
 * @module
 */
import { LullError } from "../../errors.ts";

/** A number that came as a text, a number or a bigint, whatever the driver makes of `bigint`. */
export function integer(value: unknown): number {
  const number = typeof value === "string" || typeof value === "bigint" ? Number(value) : value;
  if (Number.isSafeInteger(number)) return number as number;
  throw new LullError("store-damaged", `Postgres answered ${String(value)} where a whole number belongs.`);
}

export function integerOrNull(value: unknown): number | null {
  return value === null || value === undefined ? null : integer(value);
}

/** An array as Postgres writes it: a text, because drivers differ in how they encode arrays. */
export function arrayText(values: readonly (string | number | null)[]): string {
  const items = values.map((value) =>
    value === null ? "NULL" : typeof value === "number" ? value : `"${value.replace(/["\\]/g, "\\$&")}"`,
  );
  return `{${items.join()}}`;
}

const lastCodePoint = 0x10ffff;

/**
 * The least text that comes after every text with this prefix, in the order of code points; null when there is none.
 */
export function afterPrefix(prefix: string): string | null {
  const points = Array.from(prefix, (character) => character.codePointAt(0) as number);
  while (points.length > 0) {
    const last = points.pop() as number;
    if (last === lastCodePoint) continue;
    // The surrogates are no characters.
    const next = last === 0xd7ff ? 0xe000 : last + 1;
    return String.fromCodePoint(...points, next);
  }
  return null;
}
