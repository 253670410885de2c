/**
 * What model libraries give back, read structurally: results of the AI SDK can be returned by `respond()` as they are.
 *
 * - a stream of text is drafted while it comes, and answered as a whole;
 * - an object is answered as one data part;
 * - a stream that broke or was aborted is an error: half a text must not pass for an answer.
 *
 * @module
 */
import type { Json } from "./model.ts";
import type { Answer, ModelResult, Responded, Turn } from "./turn.ts";

type Result = Partial<Record<"textStream" | "stream" | "fullStream" | "object" | "output" | "steps", unknown>>;

type StreamPart = Partial<Record<"type" | "text" | "error" | "finishReason" | "rawFinishReason", unknown>>;

/** The answer a result stands for. Anything else is handed back as it is. */
export async function answerOf(given: Responded, turn: Turn): Promise<Exclude<Responded, ModelResult>> {
  if (typeof given !== "object" || given === null || "type" in given || Array.isArray(given)) return given as Answer;
  const result = given as Result;
  if (isStream(result.textStream) && !("object" in given)) return streamed(result, turn);
  if ("object" in given) return dataOf(await result.object);
  const output = outputOf(result);
  return typeof output === "object" && output !== null ? dataOf(output) : (given as Answer);
}

/** The text of the last step, as `result.text` has it: what was said between tool calls is not the answer. */
async function streamed(result: Result, turn: Turn): Promise<Answer> {
  let text = "";
  const add = (delta: unknown) => {
    // Some models begin with a line feed: a message never does.
    if (typeof delta === "string") text = text === "" ? delta.trimStart() : text + delta;
    // What begins like JSON is an object in the making: nothing to show.
    if (!/^[{[]/.test(text)) turn.draft(text);
  };
  const parts = [result.stream, result.fullStream].find(isStream);
  if (parts === undefined) for await (const delta of result.textStream as AsyncIterable<unknown>) add(delta);
  else
    for await (const part of parts as AsyncIterable<StreamPart>) {
      if (turn.signal.aborted) throw turn.signal.reason;
      if (part.type === "start-step") text = "";
      else if (part.type === "text-delta") add(part.text);
      else if (part.type === "error") throw part.error;
      else if (part.type === "abort") throw new Error("the model's stream was aborted");
      else if (part.type === "finish" && endedEarly(part)) throw new Error("the model's stream ended early");
    }
  // An aborted stream may end as if it were complete.
  turn.signal.throwIfAborted();
  const output = await result.output;
  return typeof output === "object" && output !== null ? dataOf(output) : text;
}

/** A connection that closed without a word: some providers' packages say so, others give no reason at all. */
function endedEarly({ finishReason, rawFinishReason }: StreamPart): boolean {
  if (finishReason === "interrupted" || finishReason === "error") return true;
  return (finishReason === "other" || finishReason === "unknown") && rawFinishReason === undefined;
}

function dataOf(object: unknown): Answer {
  return { type: "data", data: object as Json };
}

/** `generateText` without an output of its own throws here. */
function outputOf(result: Result): unknown {
  try {
    return "steps" in result ? result.output : undefined;
  } catch {
    return undefined;
  }
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
