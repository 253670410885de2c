/**
 * A responder made of a model: the prompt is legal, tools act once, newer messages abort the call, and what it cost is
 * counted.
 *
 * @module
 */
import type { LanguageModel, ModelMessage, ToolSet } from "ai";
import { LullError } from "../errors.ts";
import { answerOf } from "../streamed.ts";
import type { Respond, Responded, Turn } from "../turn.ts";
import { answerWhenSpent, BudgetSpent, type Budgets, checkBudgets, checkSpent } from "./budget.ts";
import { type MessageOptions, toModelMessages } from "./messages.ts";
import { type CallUsage, meter } from "./meter.ts";
import { type StepState, steering } from "./steer.ts";
import { onceTools } from "./tools.ts";
import { type AttemptUsage, add, detailsOf, noTokens } from "./usage.ts";

/** The functions of the AI SDK that are called, whichever major, wrapped or not. */
// biome-ignore lint/suspicious/noExplicitAny: the options differ between the SDK's majors
export type Sdk = { streamText(options: any): unknown; generateText(options: any): unknown };

export interface AiOptions<TOOLS extends ToolSet = ToolSet> {
  model: LanguageModel;
  /** Instructions for the model, or how to make them for a turn. */
  system?: string | ((turn: Turn) => string | Promise<string>);
  /** Act once for a turn: see `onceTools`, `readOnly`, `irreversible`. */
  tools?: TOOLS;
  /** Model calls of one attempt, tools between them. Default 10. */
  maxSteps?: number;
  /** How the prompt is made. */
  messages?: MessageOptions;
  /** Hands newer messages to the model between its steps. Only with `whenBusy: "steer"`. Default false. */
  steer?: boolean;
  /**
   * Streams, so that channels that can edit show drafts. Default true; false where the provider cannot stream.
   */
  stream?: boolean;
  /** Passed on to the SDK: temperature, maxOutputTokens, providerOptions, output … */
  settings?: Record<string, unknown>;
  budget?: Budgets;
  /** Hears what each attempt cost, once it is certain whether anybody reads its answer. What it throws is ignored. */
  onUsage?: (usage: AttemptUsage) => void | Promise<void>;
  /** The AI SDK, if it is not to be the installed package `ai`: another version, or one wrapped for tracing. */
  sdk?: Sdk;
}

/** What a call of the SDK needs: `generateText({ ...call, output: … })`. */
export interface Call<TOOLS extends ToolSet = ToolSet> {
  /** Metered. */
  model: LanguageModel;
  system?: string;
  messages: ModelMessage[];
  tools: TOOLS;
  /** Aborts when the turn does. */
  abortSignal: AbortSignal;
  /** The engine repeats what failed: counted, spaced and visible. */
  maxRetries: 0;
  // biome-ignore lint/suspicious/noExplicitAny: the SDK's own type differs between its majors
  stopWhen: (state: { steps: any[] }) => boolean;
  // biome-ignore lint/suspicious/noExplicitAny: the SDK's own type differs between its majors
  prepareStep?: (state: any) => Promise<{ messages?: ModelMessage[] }>;
}

/**
 * Answers turns with a model.
 *
 * @example
 * const lull = new Lull({ store, deliver, respond: aiResponder({ model: openai("gpt-5"), system: "You sell tea." }) });
 * @example with a call of your own; whatever the SDK gives back can be returned as it is
 * aiResponder({ model, tools }, (turn, call) => generateText({ ...call, output: Output.object({ schema }) }))
 * @throws LullError `invalid-options`.
 */
export function aiResponder<TOOLS extends ToolSet>(
  options: AiOptions<TOOLS>,
  run?: (turn: Turn, call: Call<TOOLS>) => Responded | PromiseLike<Responded>,
): Respond {
  check(options);
  return async (turn) => {
    const accounts = account(turn, options);
    const attempt = async (messages: MessageOptions): Promise<Awaited<ReturnType<typeof answerOf>>> => {
      const call = await callFor(turn, options, messages, accounts.model);
      const result = run === undefined ? await ask(options, call) : await run(turn, call);
      return answerOf(result, turn);
    };
    try {
      return await attempt(options.messages ?? {}).catch((error: unknown) => {
        // A link that no longer works must not keep the conversation from being answered.
        if (!isDownloadError(error) || turn.signal.aborted) throw error;
        return attempt({ ...options.messages, files: "none" });
      });
    } catch (error) {
      const spent = accounts.spent();
      if (spent !== null && !turn.signal.aborted) return answerWhenSpent(turn, options.budget ?? {}, spent);
      throw withRetryAfter(error);
    }
  };
}

type Common = Omit<AiOptions, "tools">;

function check({ model, maxSteps, budget }: Common): void {
  if (model === undefined || model === null)
    throw new LullError("invalid-options", "aiResponder({ model }) needs a model.");
  if (maxSteps !== undefined && (!Number.isInteger(maxSteps) || maxSteps < 1))
    throw new LullError("invalid-options", `maxSteps must be a whole number of at least 1; got ${maxSteps}.`);
  if (budget !== undefined) checkBudgets(budget);
}

/** Counts, tells and limits what one attempt costs. */
function account(turn: Turn, { model, budget = {}, onUsage }: Common) {
  const sums = noTokens();
  let spent: BudgetSpent | null = null;
  const everyMs = budget.perConversation?.everyMs;
  const calls = meter(
    resolved(model),
    async () => {
      try {
        await checkSpent(turn, budget);
      } catch (error) {
        if (error instanceof BudgetSpent) spent = error;
        throw error;
      }
    },
    async (usage: CallUsage) => {
      const tokens = usage.inputTokens + usage.outputTokens;
      add(sums, usage);
      if (tokens === 0) return;
      await turn.spend(tokens, { details: detailsOf(usage), ...(everyMs !== undefined && { everyMs }) });
      if (budget.perBot !== undefined) await budget.perBot.ledger.spend(tokens, budget.perBot.everyMs ?? 86_400_000);
    },
  );
  void turn.ended.then(async (why) => {
    await calls.close();
    const { conversation, fence, attempt } = turn;
    const outcome = why === "committed" || why === "silent" ? "committed" : "discarded";
    try {
      await onUsage?.({ conversation, fence, attempt, outcome, why, ...sums });
    } catch {
      // The author's own: nobody is left to hear of it.
    }
  });
  return { model: calls.model as LanguageModel, spent: () => spent };
}

/** A model's name is looked up as the SDK does, so that its calls can be counted. */
function resolved(model: LanguageModel): unknown {
  if (typeof model !== "string") return model;
  const provider = (globalThis as { AI_SDK_DEFAULT_PROVIDER?: { languageModel(id: string): unknown } })
    .AI_SDK_DEFAULT_PROVIDER;
  if (provider !== undefined) return provider.languageModel(model);
  const advice = `Give a model object such as gateway(${JSON.stringify(model)}), or set AI_SDK_DEFAULT_PROVIDER.`;
  throw new LullError("invalid-options", `The model ${JSON.stringify(model)} is only a name. ${advice}`);
}

async function callFor<TOOLS extends ToolSet>(
  turn: Turn,
  { system, tools, maxSteps = 10, steer = false }: AiOptions<TOOLS>,
  messages: MessageOptions,
  model: LanguageModel,
): Promise<Call<TOOLS>> {
  const instructions = typeof system === "function" ? await system(turn) : system;
  const steered = steer ? steering(turn, messages) : null;
  return {
    model,
    ...(instructions !== undefined && { system: instructions }),
    messages: await toModelMessages(turn, messages),
    tools: onceTools(turn, tools ?? ({} as TOOLS)),
    abortSignal: turn.signal,
    maxRetries: 0,
    stopWhen: ({ steps }) => steps.length >= maxSteps,
    ...(steered !== null && { prepareStep: (state: StepState) => steered(state) }),
  };
}

async function ask({ sdk, stream = true, settings }: Common, call: Call<ToolSet>): Promise<Responded> {
  const { streamText, generateText }: Sdk = sdk ?? (await import("ai"));
  const { tools, ...rest } = call;
  const given = { ...settings, ...rest, ...(Object.keys(tools).length > 0 && { tools }) };
  // Errors of a stream are thrown where it is read; the SDK would also print them.
  const result = stream ? streamText({ onError: () => {}, ...given }) : await generateText(given);
  return result as Responded;
}

function isDownloadError(error: unknown): boolean {
  return error instanceof Error && error.name === "AI_DownloadError";
}

/** What a provider said of when to come back, where the engine looks for it. */
function withRetryAfter(error: unknown): unknown {
  if (typeof error !== "object" || error === null || "retryAfterMs" in error) return error;
  const headers = (error as { responseHeaders?: Record<string, string> }).responseHeaders;
  const ms = Number.parseFloat(headers?.["retry-after-ms"] ?? "");
  const seconds = Number.parseFloat(headers?.["retry-after"] ?? "");
  const retryAfterMs = Number.isFinite(ms) ? ms : seconds * 1_000;
  if (Number.isFinite(retryAfterMs) && retryAfterMs >= 0) Object.assign(error, { retryAfterMs });
  return error;
}
