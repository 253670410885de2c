/**
 * What earlier attempts of a turn did, in words for the model. Words, not tool calls: they are legal for every model, also
 * one that no longer has the tool, and no model takes them for something it said.
 *
 * @module
 */
import type { Json } from "../model.ts";
import type { EffectView } from "../turn.ts";

/** What `onceTools` records as the result of one call. */
export type CallRecord =
  | { tool: string; input: Json; output: Json; readOnly?: true }
  /** It was called and nobody knows whether it acted. */
  | { tool: string; input: Json; unknown: string };

/** Longest value that is told whole. */
const mostCharacters = 2_000;

/** Null when there is nothing to tell. Reading tools are not told: asked again, they have their answer ready. */
export function factsOf(effects: readonly EffectView[]): string | null {
  const facts = effects.flatMap((effect) => fact(effect) ?? []);
  if (facts.length === 0) return null;
  return ["[For this request the following was already done. Do not do it again.", ...facts.map((one) => `- ${one}`)]
    .join("\n")
    .concat("]");
}

function fact({ key, state, value }: EffectView): string | null {
  if (state === "unknown") return `${key}: begun, and nobody saw how it ended`;
  if (!isCallRecord(value)) return `${key}: ${short(value ?? null)}`;
  const call = `${value.tool}(${short(value.input)})`;
  if ("unknown" in value) return `${call}: it is not known whether it was done (${value.unknown})`;
  return value.readOnly ? null : `${call}: ${short(value.output)}`;
}

/** Recorded by `onceTools`. */
export function isCallRecord(value: unknown): value is CallRecord {
  if (typeof value !== "object" || value === null) return false;
  return "tool" in value && "input" in value && ("output" in value || "unknown" in value);
}

function short(value: Json): string {
  const text = JSON.stringify(value);
  return text.length <= mostCharacters ? text : `${text.slice(0, mostCharacters)}…`;
}
