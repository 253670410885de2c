// Language models for tests, of the specification that the SDK under test speaks (3 for major 6, 4 for major 7).
import type { LanguageModel } from "ai";
import * as sdk from "ai";

/** Which major of the AI SDK this run tests. */
export const major = "isStepCount" in sdk ? 7 : 6;

/** What a model is sent, in the shape both specifications share. */
export interface Prompt {
  role: "system" | "user" | "assistant" | "tool";
  content: string | PromptPart[];
}
export interface PromptPart {
  type: string;
  text?: string;
  toolCallId?: string;
  toolName?: string;
  input?: unknown;
  output?: { type: string; value?: unknown };
  data?: unknown;
  mediaType?: string;
}
export interface ModelCall {
  prompt: Prompt[];
  abortSignal?: AbortSignal;
  tools?: { name: string }[];
}

/** What the model does in one call. */
export type Said =
  | string
  | {
      text?: string;
      calls?: { tool: string; input: unknown }[];
      usage?: { inputTokens: number; outputTokens: number };
      /** Ends so, and the provider gave no reason of its own. */
      finish?: string;
    };

export interface Scripted {
  /** Answers one call; may take its time, throw, and listen to `call.abortSignal`. */
  answer(call: ModelCall, nth: number): Said | Promise<Said>;
  /** Between the deltas of a stream, each of `deltaLength` characters (default 4). */
  pause?(call: ModelCall): Promise<void>;
  deltaLength?: number;
  /** Looks at each prompt first. */
  check?(call: ModelCall): void;
}

let ids = 0;

/** A model that does what the script says. `calls` are the prompts it was sent. */
export function scripted({ answer, pause, deltaLength = 4, check }: Scripted): LanguageModel & { calls: ModelCall[] } {
  const calls: ModelCall[] = [];
  const usageOf = (said: Exclude<Said, string>) => {
    const { inputTokens = 10, outputTokens = 5 } = said.usage ?? {};
    return {
      inputTokens: { total: inputTokens, noCache: inputTokens, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
    };
  };
  const once = async (options: ModelCall) => {
    check?.(options);
    calls.push(options);
    const said = await answer(options, calls.length);
    const full = typeof said === "string" ? { text: said } : said;
    const toolCalls = (full.calls ?? []).map(({ tool, input }) => ({
      type: "tool-call" as const,
      toolCallId: `call-${++ids}`,
      toolName: tool,
      input: JSON.stringify(input),
    }));
    const unified = toolCalls.length > 0 ? "tool-calls" : "stop";
    const finishReason = { unified: full.finish ?? unified, raw: full.finish === undefined ? unified : undefined };
    return { full, toolCalls, usage: usageOf(full), finishReason };
  };
  const model = {
    specificationVersion: major === 7 ? "v4" : "v3",
    provider: "double",
    modelId: "double-1",
    supportedUrls: { "image/*": [/^https:\/\/files\.example\//] },
    calls,
    async doGenerate(options: ModelCall) {
      const { full, toolCalls, usage, finishReason } = await once(options);
      const text = full.text === undefined ? [] : [{ type: "text", text: full.text }];
      return { content: [...text, ...toolCalls], usage, finishReason, warnings: [] };
    },
    async doStream(options: ModelCall) {
      const { full, toolCalls, usage, finishReason } = await once(options);
      async function* parts() {
        yield { type: "stream-start", warnings: [] };
        const { text } = full;
        if (text !== undefined) {
          yield { type: "text-start", id: "t" };
          for (let at = 0; at < text.length; at += deltaLength) {
            await pause?.(options);
            options.abortSignal?.throwIfAborted();
            yield { type: "text-delta", id: "t", delta: text.slice(at, at + deltaLength) };
          }
          yield { type: "text-end", id: "t" };
        }
        yield* toolCalls;
        yield { type: "finish", usage, finishReason };
      }
      return { stream: ReadableStream.from(parts()) };
    },
  };
  return model as unknown as LanguageModel & { calls: ModelCall[] };
}

/** The texts of a prompt, a message a line: `user: hi`. */
export function lines(prompt: readonly Prompt[]): string[] {
  return prompt.map(({ role, content }) => {
    const parts = typeof content === "string" ? [content] : content.map((part) => part.text ?? `<${part.type}>`);
    return `${role}: ${parts.join(" | ")}`;
  });
}
