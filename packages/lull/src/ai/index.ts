/**
 * lull for the AI SDK (package `ai`, majors 6 and 7): prompts that are always legal, tools that act once, costs told
 * apart, budgets.
 *
 * @example
 * import { openai } from "@ai-sdk/openai";
 * import { Lull } from "lull";
 * import { aiResponder } from "lull/ai";
 * const lull = new Lull({ store, deliver, respond: aiResponder({ model: openai("gpt-5"), system: "You sell tea." }) });
 *
 * @module
 */

// Budgets and costs
export {
  type Budget,
  BudgetSpent,
  type Budgets,
  type Ledger,
  ledgerIn,
  ledgerInMemory,
} from "./budget.ts";
// Prompts
export { type CallRecord, factsOf, isCallRecord } from "./facts.ts";
export { type FileOptions, pictures } from "./files.ts";
export { historyOf, type Said } from "./history.ts";
// Memories that are not the log
export { branch, type LastAnswer, lastAnswer, lastAnswerIn } from "./memory.ts";
export { type MessageOptions, toModelMessages } from "./messages.ts";
export { type CallUsage, type Meter, meter } from "./meter.ts";
// The responder
export { type AiOptions, aiResponder, type Call, type Sdk } from "./respond.ts";
export { steering } from "./steer.ts";
// Tools
export { type Irreversible, irreversible, onceContext, onceTools, readOnly } from "./tools.ts";
export { type AttemptUsage, type Spent, type Tokens, usageOf } from "./usage.ts";
