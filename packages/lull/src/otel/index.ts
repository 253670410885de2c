/**
 * OpenTelemetry for lull: one trace for a turn, from the messages that made it to the parts that answered it, across
 * processes.
 *
 * ```
 * receive chat            (the process that took the message in; its context is stored with the message)
 * ├ window                first message → the model starts
 * └ invoke_agent          an attempt, linked to every message it answers; the model's own spans are its children
 *   ├ claim               an instant: who answers, under which fence
 *   ├ commit              the model is done → the answer is in the outbox (or discarded): what is waited for quiet
 *   ├ usage               what an aborted model call cost, where it became known after the attempt's end
 *   └ send <channel>      one try of one part; in another process after a crash, under the message's context
 * ```
 *
 * Attributes follow the semantic conventions for generative AI (`gen_ai.*`) and messaging (`messaging.*`); lull's own begin
 * with `lull.`. No text of anybody is recorded unless `captureText` asks for it.
 *
 * @example
 * import { otel } from "lull/otel";
 * const telemetry = otel({ name: "support-bot" });
 * const lull = telemetry.observe(new Lull(telemetry.options({ store, respond, deliver })));
 *
 * @module
 */
import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import type { LullEvent } from "../events.ts";
import type { Incoming, Received } from "../intake.ts";
import type { Lull } from "../lull.ts";
import type { Input, Part } from "../model.ts";
import type { LullOptions } from "../options.ts";
import type { Channel, Delivery, Receipt } from "../ports.ts";
import { type AttemptOutcome, type Respond, type Turn, textOf } from "../turn.ts";

export interface OtelOptions {
  /** The bot's name: `gen_ai.agent.name`. Default "lull". */
  name?: string;
  /** Default: the global one. */
  tracerProvider?: TracerProvider;
  /** Records what people and the bot wrote (`gen_ai.input.messages`, `gen_ai.output.messages`). Default false. */
  captureText?: boolean;
}

export interface Telemetry {
  /** The same options, whose responder and channels make spans. */
  options(options: LullOptions): LullOptions;
  /** Makes spans for what is received, and ends those of attempts. Returns the same object. */
  observe(lull: Lull): Lull;
}

interface Attempt {
  span: Span;
  context: Context;
  /** From the answer to its commit. */
  commit: Span | null;
  /** The span has ended; what was spent may still come in. */
  over: boolean;
  inputTokens: number;
  outputTokens: number;
}

/** Attempts remembered: of an aborted one the costs come in after its end. */
const mostRemembered = 10_000;

/** Spans for one bot in one process. */
export function otel({ name = "lull", tracerProvider, captureText = false }: OtelOptions = {}): Telemetry {
  const tracer = (tracerProvider ?? trace).getTracer("lull");
  const attempts = new Map<string, Attempt>();
  const keyOf = (conversation: string, fence: number) => `${fence} ${conversation}`;

  // --- receiving

  async function received(
    conversation: string,
    given: Incoming | Incoming[],
    receive: (message: Incoming | Incoming[]) => Promise<Received | Received[]>,
  ): Promise<Received | Received[]> {
    const many = Array.isArray(given) ? given : [given];
    const attributes = { ...about(conversation, "receive"), "messaging.batch.message_count": many.length };
    return tracer.startActiveSpan("receive chat", { kind: SpanKind.CONSUMER, attributes }, async (span) => {
      try {
        const own = traceparentOf(context.active());
        const marked = many.map((message) => ({ ...(own !== undefined && { trace: own }), ...message }));
        const result = await receive(Array.isArray(given) ? marked : (marked[0] as Incoming));
        const all = Array.isArray(result) ? result : [result];
        span.setAttribute("lull.message.status", all.map(({ status }) => status).join(" "));
        const [first] = all;
        if (all.length === 1 && first !== undefined) span.setAttribute("messaging.message.id", first.id);
        return result;
      } catch (error) {
        fail(span, error);
        throw error;
      } finally {
        span.end();
      }
    });
  }

  // --- answering

  function responding(respond: Respond): Respond {
    return async (turn) => {
      const parent = parentOf(turn.messages.map(({ trace: of }) => of));
      const attributes = attemptAttributes(turn);
      const first = Math.min(...turn.messages.map(({ receivedAtMs }) => receivedAtMs));
      const window = tracer.startSpan("window", { startTime: first, attributes: about(turn.conversation) }, parent);
      window.setAttribute("lull.window.messages", turn.messages.length);
      window.end();
      const links = linksOf(turn.messages);
      const span = tracer.startSpan(`invoke_agent ${name}`, { kind: SpanKind.INTERNAL, attributes, links }, parent);
      const inside = trace.setSpan(parent, span);
      tracer.startSpan("claim", { attributes: { "lull.fence": turn.fence } }, inside).end();
      if (captureText)
        span.setAttribute("gen_ai.input.messages", messagesOf("user", [{ type: "text", text: turn.text }]));
      const tokens = { inputTokens: 0, outputTokens: 0 };
      const attempt: Attempt = { span, context: inside, commit: null, over: false, ...tokens };
      attempts.set(keyOf(turn.conversation, turn.fence), attempt);
      const [oldest] = attempts.keys();
      if (attempts.size > mostRemembered && oldest !== undefined) attempts.delete(oldest);
      void turn.ended.then((why) => ended(attempt, why));
      try {
        const result = await context.with(inside, () => respond(turn));
        attempt.commit = tracer.startSpan("commit", { attributes: about(turn.conversation) }, inside);
        return result;
      } catch (error) {
        if (!attempt.over) fail(span, error);
        throw error;
      }
    };
  }

  /** The final decision. */
  function ended(attempt: Attempt, why: AttemptOutcome): void {
    const { span, commit } = attempt;
    const discarded = why !== "committed" && why !== "silent";
    const status = { code: SpanStatusCode.ERROR, message: why };
    for (const one of [commit, span]) {
      one?.setAttributes({ "lull.attempt.outcome": why, "lull.attempt.discarded": discarded });
      if (discarded) one?.setStatus(status);
      one?.end();
    }
    attempt.over = true;
  }

  /** Costs are entries of the log, so they come as events: those of an aborted attempt after its end. */
  function heard({ entry, conversation }: LullEvent): void {
    if (entry?.kind !== "usage") return;
    const attempt = attempts.get(keyOf(conversation, entry.fence));
    if (attempt === undefined) return;
    const { inputTokens, outputTokens, model, estimated } = (entry.details ?? {}) as Partial<Record<string, unknown>>;
    const said = {
      ...(typeof model === "string" && { "gen_ai.request.model": model }),
      ...(estimated === true && { "lull.usage.estimated": true }),
    };
    const cost = {
      inputTokens: typeof inputTokens === "number" ? inputTokens : 0,
      outputTokens: typeof outputTokens === "number" ? outputTokens : entry.tokens,
    };
    if (attempt.over) {
      const attributes = { ...said, ...usageAttributes(cost), "lull.attempt.discarded": true };
      tracer.startSpan("usage", { attributes }, attempt.context).end();
      return;
    }
    attempt.inputTokens += cost.inputTokens;
    attempt.outputTokens += cost.outputTokens;
    attempt.span.setAttributes({ ...said, ...usageAttributes(attempt) });
  }

  function attemptAttributes({ conversation, attempt, fence, version, messages }: Turn): Attributes {
    return {
      ...about(conversation, "process"),
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": name,
      "gen_ai.conversation.id": conversation,
      "messaging.batch.message_count": messages.length,
      "lull.attempt.number": attempt,
      "lull.fence": fence,
      "lull.version": version,
    };
  }

  // --- delivering

  function delivering(channel: Channel): Channel {
    return {
      ...channel,
      async deliver(part: Part, delivery: Delivery) {
        const parent = parentOf(delivery.traces ?? []);
        const attributes: Attributes = {
          ...about(delivery.conversation, "send"),
          "messaging.destination.name": channel.name,
          "messaging.message.id": delivery.idempotencyKey,
          "lull.reply.id": delivery.replyId,
          "lull.part.index": delivery.index,
          "lull.part.attempt": delivery.attempt,
          "lull.reply.overtaken": delivery.overtaken,
          "lull.reply.cause": delivery.cause,
        };
        const span = tracer.startSpan(`send ${channel.name}`, { kind: SpanKind.PRODUCER, attributes }, parent);
        if (captureText) span.setAttribute("gen_ai.output.messages", messagesOf("assistant", [part]));
        try {
          const receipt = await context.with(trace.setSpan(parent, span), () => channel.deliver(part, delivery));
          settle(span, receipt);
          return receipt;
        } catch (error) {
          fail(span, error);
          throw error;
        } finally {
          span.end();
        }
      },
    };
  }

  function settle(span: Span, receipt: Receipt | void): void {
    const status = receipt?.status ?? "sent";
    span.setAttribute("lull.receipt", status);
    if (receipt !== undefined && "error" in receipt)
      span.setStatus({ code: SpanStatusCode.ERROR, message: receipt.error });
  }

  return {
    options(options) {
      const { respond, deliver, channels } = options;
      return {
        ...options,
        ...(respond !== undefined && { respond: responding(respond) }),
        ...(typeof deliver === "function" && {
          deliver: delivering({ name: "deliver", idempotent: false, deliver }),
        }),
        ...(typeof deliver === "object" && { deliver: delivering(deliver) }),
        ...(channels !== undefined && { channels: channels.map(delivering) }),
      };
    },
    observe(lull) {
      const receive = lull.receive.bind(lull) as (id: string, given: Incoming | Incoming[]) => Promise<never>;
      lull.receive = (id: string, given: Incoming | Incoming[]) =>
        received(id, given, (message) => receive(id, message)) as Promise<never>;
      lull.on(heard);
      return lull;
    },
  };
}

function usageAttributes({ inputTokens, outputTokens }: Pick<Attempt, "inputTokens" | "outputTokens">): Attributes {
  return { "gen_ai.usage.input_tokens": inputTokens, "gen_ai.usage.output_tokens": outputTokens };
}

function about(conversation: string, operation?: "receive" | "process" | "send"): Attributes {
  return {
    "messaging.system": "lull",
    "messaging.message.conversation_id": conversation,
    ...(operation !== undefined && { "messaging.operation.type": operation, "messaging.operation.name": operation }),
  };
}

/** What is stored with a message: W3C trace context, or undefined outside any trace. */
function traceparentOf(of: Context): string | undefined {
  const span = trace.getSpanContext(of);
  if (span === undefined || !isSpanContextValid(span)) return undefined;
  return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, "0")}`;
}

/** The context of the first message that has one: so one trace shows the whole turn. */
function parentOf(traces: readonly (string | undefined)[]): Context {
  const [first] = traces.filter((one) => one !== undefined);
  return first === undefined ? ROOT_CONTEXT : contextOf(first);
}

function contextOf(traceparent: string): Context {
  const [, traceId = "", spanId = "", flags = "00"] = traceparent.split("-");
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) || 0, isRemote: true };
  return isSpanContextValid(span) ? trace.setSpanContext(ROOT_CONTEXT, span) : ROOT_CONTEXT;
}

function linksOf(messages: readonly Input[]): Link[] {
  return messages.flatMap(({ trace: of, id }) => {
    const span = of === undefined ? undefined : trace.getSpanContext(contextOf(of));
    return span === undefined ? [] : [{ context: span, attributes: { "messaging.message.id": id } }];
  });
}

/** In the shape of the conventions: a JSON text of messages with parts. */
function messagesOf(role: "user" | "assistant", parts: readonly Part[]): string {
  return JSON.stringify([{ role, parts: [{ type: "text", content: textOf(parts) }] }]);
}

function fail(span: Span, error: unknown): void {
  if (error instanceof Error) span.recordException(error);
  span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.message : String(error) });
}
