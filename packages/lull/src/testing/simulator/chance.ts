/**
 * Chance from a seed: the same labels give the same numbers, whatever else was drawn before.
 *
 * @module
 */
import { dice } from "../clock.ts";
import type { Lognormal } from "../typing.ts";

export interface Chance {
  /** 0 ≤ x < 1. */
  next(): number;
  /** True so often. */
  is(probability: number): boolean;
  /** A whole number, both ends included. */
  whole(least: number, most: number): number;
  pick<T>(from: readonly T[]): T;
  lognormal(of: Lognormal): number;
  /** 0 to 1. */
  beta(of: { a: number; b: number }): number;
}

/** FNV-1a over the labels. */
export function hashOf(...labels: readonly (string | number)[]): number {
  let hash = 0x811c9dc5;
  for (const label of labels)
    for (const letter of `${label}\0`) {
      hash ^= letter.charCodeAt(0);
      hash = Math.imul(hash, 0x01000193);
    }
  return hash >>> 0;
}

export function chanceOf(...labels: readonly (string | number)[]): Chance {
  const next = dice(hashOf(...labels));
  const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  /** Marsaglia and Tsang; for shapes below 1 by one more draw. */
  function gamma(shape: number): number {
    if (shape < 1) return gamma(shape + 1) * (1 - next()) ** (1 / shape);
    const d = shape - 1 / 3;
    const c = 1 / Math.sqrt(9 * d);
    for (;;) {
      const x = normal();
      const v = (1 + c * x) ** 3;
      if (v > 0 && Math.log(1 - next()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
    }
  }
  const whole = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    is: (probability) => next() < probability,
    whole,
    pick: (from) => from[whole(0, from.length - 1)] as (typeof from)[number],
    lognormal: ({ mu, sigma }) => Math.exp(mu + sigma * normal()),
    beta({ a, b }) {
      const x = gamma(a);
      return x / (x + gamma(b));
    },
  };
}
