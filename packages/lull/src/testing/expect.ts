/**
 * Matchers for runners that have none (node:test, or none at all): just those that `storeContract` needs.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Matchers } from "./store-contract.ts";

/** Like Jest's: `toEqual` takes a property that is undefined for one that is not there. */
export function expect(actual: unknown, message?: string): Matchers {
  const told = message === undefined ? [] : [message];
  return {
    toBe: (expected) => assert.strictEqual(actual, expected, ...told),
    toEqual: (expected) => assert.deepStrictEqual(plain(actual), plain(expected), ...told),
    toMatchObject: (expected) => assert.deepStrictEqual(part(plain(actual), expected), plain(expected), ...told),
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).flatMap(([key, of]) => (of === undefined ? [] : [[key, plain(of)]])));
}

/** What of `value` the pattern speaks of. */
function part(value: unknown, pattern: unknown): unknown {
  if (Array.isArray(value) && Array.isArray(pattern)) return value.map((item, index) => part(item, pattern[index]));
  if (!isObject(value) || !isObject(pattern)) return value;
  const keys = Object.keys(plain(pattern) as object).filter((key) => key in value);
  return Object.fromEntries(keys.map((key) => [key, part(value[key], pattern[key])]));
}
