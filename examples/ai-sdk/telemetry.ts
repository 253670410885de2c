import { context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { Lull, memory } from "lull";
import { aiResponder } from "lull/ai";
import { otel } from "lull/otel";
import { model } from "./model.ts";

// In your bot the SDK for Node does this, and exports to where you look.
const exporter = new InMemorySpanExporter();
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());

const telemetry = otel({ name: "parcel-bot", tracerProvider });
const lull = telemetry.observe(
  new Lull(
    telemetry.options({
      store: memory(),
      respond: aiResponder({ model }),
      deliver: async () => {},
      debounce: { quietMs: 100, startMs: 50 },
    }),
  ),
);
await lull.start();
await lull.receive("ada", { id: "m1", text: "where is my parcel?" });
await lull.reply("ada", 1, { timeoutMs: 10_000 });
await lull.stop();
context.disable();
for (const { name, attributes } of exporter.getFinishedSpans())
  console.log(name, attributes["gen_ai.usage.output_tokens"] ?? attributes["messaging.operation.type"] ?? "");
