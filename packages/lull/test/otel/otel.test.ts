// Spans, as an exporter sees them: one trace for a turn, also when the message came in at another process.
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { otel } from "lull/otel";
import { virtualClock } from "lull/testing";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { Lull, type LullOptions, memory, type Part, type Store } from "../../src/index.ts";

const exporter = new InMemorySpanExporter();
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const contexts = new AsyncLocalStorageContextManager();

beforeAll(() => void context.setGlobalContextManager(contexts.enable()));
afterAll(() => context.disable());
beforeEach(() => exporter.reset());

function bench() {
  const clock = virtualClock();
  const store: Store = memory({ now: clock.now });
  const sent: string[] = [];
  const process = (options: Partial<LullOptions> = {}, captureText = false) => {
    const telemetry = otel({ name: "support", tracerProvider, captureText });
    const deliver = async (part: Part) => void sent.push(part.type === "text" ? part.text : "");
    return telemetry.observe(new Lull(telemetry.options({ store, clock, deliver, ...options })));
  };
  return { clock, store, sent, process };
}

const spans = (name: string): ReadableSpan[] => exporter.getFinishedSpans().filter((span) => span.name === name);
const one = (name: string): ReadableSpan => {
  const [span, ...more] = spans(name);
  if (span === undefined || more.length > 0) throw new Error(`${more.length + (span ? 1 : 0)} spans ${name}`);
  return span;
};

it("shows a turn as one trace, from the web tier that received to the worker that answered", async () => {
  const { clock, process, sent } = bench();
  const web = process();
  const worker = process({
    respond: async (turn) => {
      // What the model's own instrumentation would do.
      tracerProvider.getTracer("model").startSpan("chat double-1").end();
      await turn.spend(15, { details: { model: "double-1", inputTokens: 10, outputTokens: 5, estimated: false } });
      return "fine";
    },
  });
  await worker.start();
  await tracerProvider.getTracer("web").startActiveSpan("POST /webhook", async (span) => {
    await web.receive("telegram:42", { id: "m1", text: "hi" });
    span.end();
  });
  await clock.advance(800);
  await web.receive("telegram:42", { id: "m2", text: "are you there?" });
  await clock.advance(30_000);
  expect(sent).toEqual(["fine"]);

  const [first, second] = spans("receive chat");
  const [window, attempt, commit, claim] = [one("window"), one("invoke_agent support"), one("commit"), one("claim")];
  const [model, delivery] = [one("chat double-1"), one("send deliver")];
  const traceId = one("POST /webhook").spanContext().traceId;
  for (const span of [first, window, attempt, claim, commit, model, delivery])
    expect(span?.spanContext().traceId).toBe(traceId);
  expect(attempt.parentSpanContext?.spanId).toBe(first?.spanContext().spanId);
  for (const child of [claim, commit, model])
    expect(child.parentSpanContext?.spanId).toBe(attempt.spanContext().spanId);
  expect(attempt.links.map((link) => link.context.spanId)).toEqual(
    [first, second].map((span) => span?.spanContext().spanId),
  );

  expect(first?.attributes).toMatchObject({
    "messaging.system": "lull",
    "messaging.operation.type": "receive",
    "messaging.message.conversation_id": "telegram:42",
    "messaging.message.id": "m1",
    "lull.message.status": "accepted",
  });
  expect(attempt.attributes).toMatchObject({
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "support",
    "gen_ai.conversation.id": "telegram:42",
    "gen_ai.request.model": "double-1",
    "gen_ai.usage.input_tokens": 10,
    "gen_ai.usage.output_tokens": 5,
    "messaging.batch.message_count": 2,
    "lull.attempt.outcome": "committed",
    "lull.attempt.discarded": false,
  });
  expect(delivery.attributes).toMatchObject({
    "messaging.operation.type": "send",
    "messaging.destination.name": "deliver",
    "lull.receipt": "sent",
  });
  // Nobody's words.
  expect(JSON.stringify(exporter.getFinishedSpans().map(({ attributes, events }) => [attributes, events]))).not.toMatch(
    /are you there|fine/,
  );
  await worker.stop();
});

it("shows discarded attempts, and what their aborted calls cost", async () => {
  const { clock, process } = bench();
  let attempts = 0;
  const lull = process({
    debounce: { quietMs: 1_000, startMs: 1_000 },
    async respond(turn) {
      attempts += 1;
      if (attempts > 1) return "fine";
      void turn.ended.then(() =>
        turn.spend(9, { details: { model: "double-1", inputTokens: 7, outputTokens: 2, estimated: true } }),
      );
      await clock.sleep(60_000, turn.signal);
      throw turn.signal.reason;
    },
  });
  await lull.start();
  await lull.receive("c", { id: "m1", text: "hi" });
  await clock.advance(2_000);
  await lull.receive("c", { id: "m2", text: "wait" });
  await clock.advance(30_000);
  const [discarded, kept] = spans("invoke_agent support");
  expect(discarded?.attributes).toMatchObject({ "lull.attempt.outcome": "superseded", "lull.attempt.discarded": true });
  expect(kept?.attributes).toMatchObject({ "lull.attempt.number": 2, "lull.attempt.discarded": false });
  const usage = one("usage");
  expect(usage.parentSpanContext?.spanId).toBe(discarded?.spanContext().spanId);
  expect(usage.attributes).toMatchObject({
    "gen_ai.usage.input_tokens": 7,
    "gen_ai.usage.output_tokens": 2,
    "lull.usage.estimated": true,
    "lull.attempt.discarded": true,
  });
  await lull.stop();
});

it("records refusals, failures and, only when asked, texts", async () => {
  const { clock, process } = bench();
  let tries = 0;
  const channel = {
    name: "telegram",
    idempotent: true,
    async deliver() {
      tries += 1;
      if (tries === 1) return { status: "failed" as const, error: "429", retry: true };
      if (tries === 2) throw new Error("socket hang up");
    },
  };
  let attempts = 0;
  const respond = () => {
    attempts += 1;
    if (attempts === 1) throw new Error("503 from the model");
    return "fine";
  };
  const lull = process({ respond, deliver: channel }, true);
  await lull.start();
  await lull.receive("c", { id: "m1", text: "hi" });
  await clock.advance(120_000);
  const [failed, kept] = spans("invoke_agent support");
  expect(failed?.status.message).toBe("failed");
  expect(failed?.events.map(({ attributes }) => attributes?.["exception.message"])).toEqual(["503 from the model"]);
  expect(kept?.attributes["gen_ai.input.messages"]).toBe('[{"role":"user","parts":[{"type":"text","content":"hi"}]}]');
  const sends = spans("send telegram");
  expect(sends.map(({ attributes }) => attributes["lull.receipt"] ?? "threw")).toEqual(["failed", "threw", "sent"]);
  expect(sends[0]?.attributes["gen_ai.output.messages"]).toContain("fine");
  await expect(lull.receive("c", { id: "m2" })).rejects.toThrow();
  expect(spans("receive chat").at(-1)?.status.code).toBe(2);
  await lull.stop();
  trace.disable();
});
