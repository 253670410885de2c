// A language model behind HTTP: the kept mock server of npm, spoken to by the AI SDK's own provider package.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { LLMock } from "@copilotkit/aimock";
import type { LanguageModel } from "ai";

export interface Served {
  mock: LLMock;
  model: LanguageModel;
  /** What was sent, request by request. */
  bodies(): { messages: { role: string; content: unknown }[] }[];
  stop(): Promise<void>;
}

export async function served(): Promise<Served> {
  const mock = new LLMock({ port: 0, host: "127.0.0.1" });
  await mock.start();
  const provider = createOpenAICompatible({ name: "mock", baseURL: `${mock.url}/v1`, apiKey: "-", includeUsage: true });
  return {
    mock,
    model: provider("mock-1") as LanguageModel,
    bodies: () => mock.getRequests().map(({ body }) => body as never),
    stop: () => mock.stop(),
  };
}
