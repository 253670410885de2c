/**
 * Query parameters, strictly: unknown ones and repeated ones are refused, numbers are whole and bounded.
 *
 * @module
 */
import type { Context } from "hono";
import { invalid } from "../problem.ts";

export class Query {
  readonly #values: Record<string, string[]>;

  constructor(c: Context, known: readonly string[]) {
    this.#values = c.req.queries();
    for (const [name, values] of Object.entries(this.#values)) {
      if (!known.includes(name))
        throw invalid(name, `${name} is not a known query parameter; known: ${known.join(", ") || "none"}.`);
      if (values.length > 1) throw invalid(name, `${name} is given more than once.`);
    }
  }

  text(name: string): string | undefined {
    return this.#values[name]?.[0];
  }

  whole(name: string, least: number, most: number): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= least && value <= most))
      throw invalid(name, `${name} must be a whole number from ${least} to ${most}.`);
    return value;
  }

  choice<const T extends string>(name: string, choices: readonly T[]): T | undefined {
    const text = this.text(name);
    if (text === undefined || text === "") return undefined;
    if (!choices.includes(text as T)) throw invalid(name, `${name} must be one of ${choices.join(", ")}.`);
    return text as T;
  }

  flag(name: string): boolean | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    if (text !== "true" && text !== "false") throw invalid(name, `${name} must be true or false.`);
    return text === "true";
  }
}
