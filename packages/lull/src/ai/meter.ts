/**
 * What model calls cost, also of those that were aborted or cut: counted at the model, where every call of every step
 * passes. A provider that says what it used is believed; of a call that ended early it says nothing, so that is estimated
 * from what was sent and what came.
 *
 * @module
 */

/** One model call. */
export interface CallUsage {
  model: string;
  inputTokens: number;
  outputTokens: number;
  /** The provider did not say: the call was aborted or cut. */
  estimated: boolean;
  /** How it ended. A call that the provider refused costs nothing. */
  outcome: "done" | "aborted" | "failed";
}

/** The part of a language model (specification 2, 3 or 4) that is metered. */
interface Model {
  provider: string;
  modelId: string;
  doGenerate(options: CallOptions): PromiseLike<{ usage?: unknown }>;
  doStream(options: CallOptions): PromiseLike<{ stream: ReadableStream<StreamPart> }>;
}
interface CallOptions {
  prompt: unknown;
  abortSignal?: AbortSignal | undefined;
}
interface StreamPart {
  type: string;
  delta?: unknown;
  usage?: unknown;
}

/** English text: providers' tokenizers differ by a fifth, other scripts take more. */
const charactersPerToken = 4;
/** A picture of middle size; its bytes say little. */
const tokensPerFile = 500;

export interface Meter {
  /** The same model, metered. A model's name (a string) cannot be metered: see {@link meter}. */
  readonly model: unknown;
  /** Resolves when every call that was begun has been told of. Calls still under way count as aborted. */
  close(): Promise<void>;
}

/**
 * Meters one model.
 * @param before asked before each call; what it throws ends the call before it costs anything.
 * @param told hears of each call once it has ended.
 */
export function meter(
  model: unknown,
  before: () => Promise<void> | void,
  told: (usage: CallUsage) => Promise<void> | void,
): Meter {
  const open = new Set<Call>();
  const telling: Promise<void>[] = [];
  const inner = model as Model;

  interface Call {
    inputs: number;
    outputs: number;
    end(outcome: CallUsage["outcome"], usage?: unknown): void;
  }

  function begin(options: CallOptions): Call {
    const call: Call = {
      inputs: tokensOf(options.prompt),
      outputs: 0,
      end(outcome, usage) {
        if (!open.delete(call)) return;
        const said = usageOf(usage);
        const estimate = { inputTokens: call.inputs, outputTokens: Math.ceil(call.outputs / charactersPerToken) };
        const cost = said ?? (outcome === "failed" && call.outputs === 0 ? nothing : estimate);
        const tokens = { inputTokens: cost.inputTokens, outputTokens: cost.outputTokens };
        const estimated = said === null && cost !== nothing;
        telling.push((async () => told({ model: inner.modelId, ...tokens, estimated, outcome }))());
      },
    };
    open.add(call);
    return call;
  }

  async function doGenerate(options: CallOptions) {
    await before();
    const call = begin(options);
    try {
      const result = await inner.doGenerate(options);
      call.end("done", result.usage);
      return result;
    } catch (error) {
      call.end(options.abortSignal?.aborted ? "aborted" : "failed");
      throw error;
    }
  }

  async function doStream(options: CallOptions) {
    await before();
    const call = begin(options);
    const ending = () => (options.abortSignal?.aborted ? "aborted" : "failed");
    try {
      const result = await inner.doStream(options);
      return { ...result, stream: counted(result.stream, call, ending) };
    } catch (error) {
      call.end(ending());
      throw error;
    }
  }

  function counted(stream: ReadableStream<StreamPart>, call: Call, ending: () => "aborted" | "failed") {
    const reader = stream.getReader();
    return new ReadableStream<StreamPart>({
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            call.end(ending());
            return controller.close();
          }
          if (typeof value.delta === "string") call.outputs += value.delta.length;
          if (value.type === "finish") call.end("done", value.usage);
          controller.enqueue(value);
        } catch (error) {
          call.end(ending());
          controller.error(error);
        }
      },
      async cancel(reason) {
        call.end("aborted");
        await reader.cancel(reason);
      },
    });
  }

  const metered = new Proxy(inner, {
    get(target, property) {
      if (property === "doGenerate") return doGenerate;
      if (property === "doStream") return doStream;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });

  return {
    model: metered,
    async close() {
      for (const call of [...open]) call.end("aborted");
      await Promise.all(telling);
    },
  };
}

const nothing = { inputTokens: 0, outputTokens: 0 };

/** The counts of any specification: numbers, or objects with a total. Null where the provider said nothing. */
function usageOf(usage: unknown): { inputTokens: number; outputTokens: number } | null {
  if (typeof usage !== "object" || usage === null) return null;
  const { inputTokens, outputTokens } = usage as Record<string, unknown>;
  const [inputs, outputs] = [total(inputTokens), total(outputTokens)];
  return inputs === null && outputs === null ? null : { inputTokens: inputs ?? 0, outputTokens: outputs ?? 0 };
}

function total(count: unknown): number | null {
  const value = typeof count === "object" && count !== null ? (count as { total?: unknown }).total : count;
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.round(value) : null;
}

/** An estimate of a prompt, in whatever shape. */
function tokensOf(prompt: unknown): number {
  let [characters, files] = [0, 0];
  const walk = (value: unknown): void => {
    if (typeof value === "string") characters += value.length;
    else if (Array.isArray(value)) for (const one of value) walk(one);
    else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
      const { type, text, content, input, output, value: inner } = value as Record<string, unknown>;
      if (type === "file" || type === "image") files += 1;
      else for (const one of [text, content, input, output, inner]) walk(typeof one === "object" ? one : (one ?? ""));
      if (type === "tool-call") characters += JSON.stringify(input ?? "").length;
      if (type === "tool-result") characters += JSON.stringify(output ?? "").length;
    }
  };
  walk(prompt);
  return Math.ceil(characters / charactersPerToken) + files * tokensPerFile;
}
