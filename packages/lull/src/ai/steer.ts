/**
 * Steering: newer messages are handed to the model between its steps, where the bot runs with `whenBusy: "steer"`.
 *
 * @module
 */
import type { ModelMessage } from "ai";
import type { Input } from "../model.ts";
import type { Turn } from "../turn.ts";
import { type MessageOptions, merged, promptOf, type Spoken, userMessages } from "./messages.ts";

/** What both majors of the SDK tell `prepareStep`; only what is used. */
export interface StepState {
  stepNumber: number;
  /** Major 6: each step has the responses of all steps so far. */
  steps: readonly { response: { messages: readonly ModelMessage[] } }[];
  /** Major 7. */
  responseMessages?: readonly ModelMessage[];
}

const allTakenBack = "[the user took the message back]";

/**
 * For `prepareStep`: before every step but the first it takes in what came meanwhile. New messages stand where they came,
 * behind the tool results the model already has; what was edited or taken back is changed where it stood.
 *
 * @example
 * generateText({ model, tools, messages: await toModelMessages(turn), prepareStep: steering(turn) });
 */
export function steering(turn: Turn, options: MessageOptions = {}) {
  /** Which messages came before the first step, and then before which responses. */
  const joins: { after: number; ids: Set<string> }[] = [{ after: 0, ids: idsOf(turn.messages) }];
  let shown = fingerprint(turn.messages);
  let steered = false;
  return async ({ stepNumber, steps, responseMessages }: StepState): Promise<{ messages?: ModelMessage[] }> => {
    if (stepNumber === 0) return {};
    const inputs = await turn.absorb();
    steered ||= fingerprint(inputs) !== shown;
    if (!steered) return {};
    shown = fingerprint(inputs);
    const responses = responseMessages ?? steps.at(-1)?.response.messages ?? [];
    const known = new Set(joins.flatMap(({ ids }) => [...ids]));
    const fresh = new Set([...idsOf(inputs)].filter((id) => !known.has(id)));
    if (fresh.size > 0) joins.push({ after: responses.length, ids: fresh });
    const [first, ...later] = joins.map(({ after, ids }) => ({
      after,
      inputs: inputs.filter(({ id }) => ids.has(id)),
    }));
    const messages = await promptOf(turn, first?.inputs ?? [], options);
    if (messages.at(-1)?.role !== "user") messages.push({ role: "user", content: allTakenBack });
    let from = 0;
    for (const join of later) {
      messages.push(...responses.slice(from, join.after));
      from = join.after;
      const spoken: Spoken[] = await userMessages(turn, join.inputs, options);
      messages.push(...merged(spoken));
    }
    messages.push(...responses.slice(from));
    return { messages };
  };
}

function idsOf(inputs: readonly Input[]): Set<string> {
  return new Set(inputs.map(({ id }) => id));
}

function fingerprint(inputs: readonly Input[]): string {
  return JSON.stringify(inputs.map(({ id, parts }) => [id, parts]));
}
