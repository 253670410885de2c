/**
 * What `respond()` gave back, checked and made parts. A wrong shape is an error that says what to return.
 *
 * @module
 */
import { LullError } from "./errors.ts";
import { checkObject, checkParts } from "./intake.ts";
import type { JsonObject, Part } from "./model.ts";
import type { Settings } from "./options.ts";
import { answerOf } from "./streamed.ts";
import { type Answer, isBlank, type PartLike, type Respond, type Responded, type Turn } from "./turn.ts";

/** `amends`: it may take the place of the reply that the turn crossed. */
export interface Whole {
  parts: Part[] | null;
  metadata?: JsonObject;
  amends?: boolean;
}

/** So that a synchronous throw is an error like any other. */
export async function call(respond: Respond, turn: Turn): Promise<Responded> {
  return respond(turn);
}

/** What `respond()` gave back, as parts. A stream is said part by part. */
export async function partsOf(given: Responded, turn: Turn, settings: Settings, spoke: () => boolean): Promise<Whole> {
  const result = await answerOf(given, turn);
  if (typeof result === "object" && result !== null && Symbol.asyncIterator in result) {
    let count = 0;
    for await (const part of result) {
      if (isBlank(part)) continue;
      await turn.say(part);
      count += 1;
    }
    if (count === 0) throw new LullError("empty-answer", "respond() gave an empty stream; return null to stay silent.");
    return { parts: [] };
  }
  if (result === undefined && spoke()) return { parts: [] };
  return wholeAnswer(result, settings);
}

/** An answer given at once, as parts; null is silence. @throws LullError `empty-answer`, `invalid-argument`, `too-large`. */
export function wholeAnswer(result: Answer, settings: Settings): Whole {
  if (result === null) return { parts: null };
  if (result === undefined) {
    const advice = "Return text, parts, or null to stay silent.";
    throw new LullError("empty-answer", `respond() returned undefined. ${advice}`);
  }
  const { parts, metadata, amends } = shapeOf(result);
  // No channel takes an empty text.
  const some = parts.filter((part) => !isBlank(part));
  if (some.length === 0)
    throw new LullError("empty-answer", "respond() returned an empty answer; return null to stay silent.");
  return {
    parts: checkParts("answer.", { parts: some }, settings),
    ...(metadata === undefined ? {} : { metadata: checkObject("answer.metadata", metadata, settings.maxAddressBytes) }),
    ...(amends && { amends }),
  };
}

function shapeOf(result: Exclude<Answer, null>): { parts: PartLike[]; metadata?: JsonObject; amends?: boolean } {
  if (typeof result === "string") return { parts: [result] };
  if (Array.isArray(result)) return { parts: result };
  if (typeof result === "object" && "type" in result) return { parts: [result] };
  const { text, parts, metadata, amends } = Object(result) as Record<string, unknown> & { metadata?: JsonObject };
  const more = { ...(metadata !== undefined && { metadata }), ...(amends === true && { amends }) };
  if (Array.isArray(parts)) return { parts, ...more };
  if (typeof text === "string") return { parts: [text], ...more };
  throw new LullError("invalid-argument", "respond() must return text, parts, { text }, { parts } or null.");
}
