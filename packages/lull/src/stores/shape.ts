/**
 * Says whether a value has the shape that was written, and if not, where it differs. Only what the code
 * relies on is checked; fields that a shape does not name are let through, so that they survive a
 * read-change-write by an older release.
 *
 * @module
 */

/** Null when the value fits, else the path of the first misfit ("" is the value itself). */
export type Shape = (value: unknown) => string | null;

export const when =
  (fits: (value: unknown) => boolean): Shape =>
  (value) =>
    fits(value) ? null : "";

export const text = when((value) => typeof value === "string");
export const flag = when((value) => typeof value === "boolean");
export const integer = when((value) => Number.isSafeInteger(value));
/** Whole milliseconds that are a date: sums of instants and durations stay far from 2⁵³. */
export const instant = when((value) => Number.isSafeInteger(value) && Math.abs(Number(value)) <= 8.64e15);
/** Any JSON value; null included, absence not. */
export const present = when((value) => value !== undefined);

export function oneOf(...values: unknown[]): Shape {
  return when((value) => values.includes(value));
}

export function nullable(shape: Shape): Shape {
  return (value) => (value === null ? null : shape(value));
}

export function optional(shape: Shape): Shape {
  return (value) => (value === undefined ? null : shape(value));
}

export function list(shape: Shape): Shape {
  return (value) => (Array.isArray(value) ? firstMisfit(value.entries(), () => shape) : "");
}

/** Any keys, one shape for all values. */
export function dictionary(shape: Shape): Shape {
  return (value) => (isObject(value) ? firstMisfit(Object.entries(value), () => shape) : "");
}

/** With a type parameter, the compiler asks for a shape of each of its fields and refuses others. */
export function object<T = Record<string, unknown>>(fields: { [Key in keyof T]-?: Shape }): Shape {
  const shapes = Object.entries<Shape>(fields);
  return (value) => {
    if (!isObject(value)) return "";
    for (const [key, shape] of shapes) {
      const misfit = shape(value[key]);
      if (misfit !== null) return join(key, misfit);
    }
    return null;
  };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function firstMisfit(
  entries: Iterable<[string | number, unknown]>,
  shapeOf: (key: string | number) => Shape,
): string | null {
  for (const [key, value] of entries) {
    const misfit = shapeOf(key)(value);
    if (misfit !== null) return join(key, misfit);
  }
  return null;
}

function join(key: string | number, rest: string): string {
  return rest === "" ? String(key) : `${key}.${rest}`;
}
