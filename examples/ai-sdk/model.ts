// A model that needs no key and no network. In your bot: `const model = openai("gpt-5")`, or any other of the AI SDK.
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";

type StreamPart =
  Awaited<ReturnType<MockLanguageModelV3["doStream"]>>["stream"] extends ReadableStream<infer P> ? P : never;
type Script = (prompt: string, call: number) => string | { tool: string; input: object };

const usage = {
  inputTokens: { total: 12, noCache: 12, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 8, text: 8, reasoning: 0 },
};

/** Answers by a script: with a text, or with the call of a tool. */
export function offlineModel(script: Script): MockLanguageModelV3 {
  let calls = 0;
  return new MockLanguageModelV3({
    async doStream({ prompt }) {
      const said = script(JSON.stringify(prompt), ++calls);
      const chunks: StreamPart[] =
        typeof said === "string"
          ? [
              { type: "text-start", id: "1" },
              ...said.split(/(?<= )/).map((delta): StreamPart => ({ type: "text-delta", id: "1", delta })),
              { type: "text-end", id: "1" },
              { type: "finish", usage, finishReason: { unified: "stop", raw: "stop" } },
            ]
          : [
              {
                type: "tool-call",
                toolCallId: `call-${calls}`,
                toolName: said.tool,
                input: JSON.stringify(said.input),
              },
              { type: "finish", usage, finishReason: { unified: "tool-calls", raw: "tool_calls" } },
            ];
      return { stream: simulateReadableStream({ chunks, chunkDelayInMs: 20 }) };
    },
  });
}

export const model = offlineModel(() => "Order #1234 is on its way.");
