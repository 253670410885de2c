/**
 * Answers through any OpenAI-compatible endpoint, by the AI SDK. The request is aborted as soon as the turn
 * is: a newer message costs no tokens that nobody will read. Retries are the engine's, so that they are
 * counted, spaced and visible.
 *
 * @module
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, type LanguageModel, type LanguageModelUsage, type ModelMessage, streamText } from "ai";
import type { Part, Respond } from "lull";
import { ConfigError } from "../config.ts";
import type { Config } from "../settings.ts";
import { isVisitors } from "../visitors/drafts.ts";
import { history, merge, partText, type Said, textOf } from "./history.ts";

/**
 * @throws ConfigError without a model's name.
 */
export function openai(config: Config): Respond {
  if (config.model === undefined)
    throw new ConfigError([
      "respond=openai needs the model's name: set LULL_MODEL (and LULL_MODEL_KEY, LULL_MODEL_URL).",
    ]);
  const provider = createOpenAICompatible({
    name: "openai-compatible",
    includeUsage: true,
    baseURL: config.modelUrl.replace(/\/+$/, ""),
    ...(config.modelKey === undefined ? {} : { apiKey: config.modelKey }),
  });
  return answerWith(provider(config.model), { system: config.system, historyEntries: config.historyEntries });
}

/** The same for any model of the AI SDK. */
export function answerWith(
  model: LanguageModel,
  options: { system?: string | undefined; historyEntries: number },
): Respond {
  return async (turn) => {
    const before = options.historyEntries === 0 ? [] : history(await turn.log(options.historyEntries));
    const asked = turn.messages.map((message): Said => ({ role: "user", parts: message.parts }));
    const spend = async ({ inputTokens = 0, outputTokens = 0 }: LanguageModelUsage) => {
      const tokens = inputTokens + outputTokens;
      if (tokens > 0) await turn.spend(tokens);
    };
    const call = {
      model,
      messages: merge([...before, ...asked]).map(modelMessage),
      abortSignal: turn.signal,
      maxRetries: 0,
      ...(options.system === undefined ? {} : { system: options.system }),
    };
    // Visitors of the web chat read along: what is shown to them can be taken back. The engine reports what goes wrong.
    if (isVisitors(turn.address))
      return streamText({ ...call, onError: () => {}, onFinish: ({ totalUsage }) => spend(totalUsage) });
    const { text, totalUsage } = await generateText(call);
    await spend(totalUsage);
    return text;
  };
}

function modelMessage({ role, parts }: Said): ModelMessage {
  if (role === "assistant") return { role, content: textOf(parts) };
  if (parts.every((part) => !isPicture(part))) return { role, content: textOf(parts) };
  return {
    role,
    content: parts.map((part) =>
      isPicture(part)
        ? { type: "file", mediaType: part.mediaType, data: new URL(part.url) }
        : { type: "text", text: partText(part) },
    ),
  };
}

/** Pictures by public URL reach the model; other files are only named. */
function isPicture(part: Part): part is Part & { type: "file"; url: string } {
  return part.type === "file" && part.mediaType.startsWith("image/") && URL.canParse(part.url ?? "");
}
