/**
 * What the server accepts and answers, as Zod schemas: the same ones validate requests and make the OpenAPI
 * document. They check everything the engine would refuse, so that a batch is refused whole, before
 * anything of it is stored.
 *
 * @module
 */

import { defaults, presets } from "lull";
import { z } from "zod";
import { type FieldError, invalid, Problem } from "./problem.ts";
import type { Config } from "./settings.ts";

const encoder = new TextEncoder();
function bytes(value: unknown): number {
  return encoder.encode(typeof value === "string" ? value : JSON.stringify(value)).length;
}

/** What is wrong with an id, or null. */
export function idFault(value: string): string | null {
  return value === "." || value === ".." ? 'must not be "." or ".." (paths would collapse)' : labelFault(value);
}

/** The same for names that are never part of a path. */
function labelFault(value: string): string | null {
  if (value === "") return "must not be empty";
  if (value.includes("\0")) return "must not contain NUL";
  if (!value.isWellFormed()) return "must not contain lone surrogates";
  if (bytes(value) > defaults.maxIdBytes) return `must be at most ${defaults.maxIdBytes} bytes`;
  return null;
}

/** An id from a path. @throws Problem 400. */
export function checkId(field: string, value: string): string {
  const fault = idFault(value);
  if (fault !== null) throw invalid(field, `${field} ${fault}.`);
  return value;
}

function isInstant(value: string): boolean {
  const ms = Date.parse(value);
  return Number.isFinite(ms) && ms >= 0;
}

export type Schemas = ReturnType<typeof createSchemas>;

/** The largest batch: more would make one request's durable write slow for everybody else. */
export const maxBatch = 1_000;

export function createSchemas(config: Config) {
  const checked = (faultOf: (value: string) => string | null) =>
    z.string().superRefine((value, context) => {
      const fault = faultOf(value);
      if (fault !== null) context.addIssue({ code: "custom", message: fault });
    });
  const id = checked(idFault);
  const label = checked(labelFault);
  const conversation = id.meta({ description: "Any string: lull never parses it", examples: ["web:42"] });
  const small = (what: string) =>
    z
      .unknown()
      .refine((value) => value === undefined || bytes(value) <= defaults.maxAddressBytes, {
        message: `must be at most ${defaults.maxAddressBytes} bytes of JSON`,
      })
      .meta({ description: what });
  const metadata = z.record(z.string(), z.unknown()).refine((value) => bytes(value) <= defaults.maxAddressBytes, {
    message: `must be at most ${defaults.maxAddressBytes} bytes of JSON`,
  });
  const part = z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("text"), text: z.string() }),
    z
      .strictObject({
        type: z.literal("file"),
        mediaType: z.string(),
        url: z.string().optional(),
        ref: z.unknown().optional(),
        filename: z.string().optional(),
      })
      .refine((value) => value.url !== undefined || value.ref !== undefined, {
        path: ["url"],
        message: "url or ref is required",
      }),
    z.strictObject({
      type: z.literal("data"),
      data: z.unknown().refine((value) => value !== undefined, "is required"),
    }),
  ]);
  const parts = z
    .array(z.union([z.string(), part]))
    .min(1)
    .max(config.maxParts);
  const text = z.string();
  const content = {
    text: text.optional(),
    parts: parts.optional().meta({ description: "Give text or parts; a plain string is a text part" }),
  };
  type Content = { text?: string | undefined; parts?: unknown[] | undefined };
  /** Exactly one of `text` and `parts`, within the size limit. */
  const oneContent = (value: Content, context: z.RefinementCtx) => {
    if (value.text === undefined && value.parts === undefined)
      context.addIssue({ code: "custom", path: ["text"], message: "text or parts is required" });
    if (value.text !== undefined && value.parts !== undefined)
      context.addIssue({ code: "custom", path: ["parts"], message: "text and parts exclude each other" });
    const field = value.text === undefined ? "parts" : "text";
    const given = value.text === undefined ? value.parts : [{ type: "text", text: value.text }];
    if (given !== undefined && bytes(given) > config.maxTextBytes)
      context.addIssue({ code: "custom", path: [field], message: `must be at most ${config.maxTextBytes} bytes` });
  };
  const longest = config.maxWaitMs ?? Math.max(defaults.maxWaitMs, config.quietMs);
  const duration = (most: number) => z.int().min(0).max(most);
  const input = {
    author: label.optional().meta({ description: "Who wrote it; opaque" }),
    metadata: metadata.optional(),
    quietMs: duration(longest).optional().meta({ description: "This message's own quiet target; 0 = answer now" }),
    incomplete: z.boolean().optional().meta({ description: "More of it is on the way; complete it with PATCH" }),
  };
  const sentAt = z.iso
    .datetime({ offset: true })
    .refine(isInstant, "must be an RFC 3339 time, not before 1970")
    .optional();
  const call = {
    id: id.optional().meta({ description: "Makes the call repeatable" }),
    by: label.optional().meta({ description: "Who does it, for the log" }),
  };

  const waits = z
    .strictObject({
      quietMs: duration(315_360_000_000).optional(),
      startMs: z.union([duration(315_360_000_000), z.enum(["eager", "frugal"])]).optional(),
      maxWaitMs: duration(315_360_000_000).optional(),
      adaptive: z.boolean().optional(),
    })
    .meta({ description: "quietMs, startMs, maxWaitMs as in the server's settings" });
  const wishes = {
    debounce: z
      .union([z.enum(Object.keys(presets) as (keyof typeof presets)[]), waits])
      .nullable()
      .optional()
      .meta({ description: "How long to hear this user out; null: as the bot has it" }),
    whenBusy: z
      .enum(["interrupt", "queue", "steer"])
      .nullable()
      .optional()
      .meta({ description: "What a newer message does to an answer in the making; null: as the bot has it" }),
  };

  const message = z
    .strictObject({
      conversation,
      id: id.optional().meta({ description: "The platform's id: the same message sent twice is one message" }),
      ...content,
      ...input,
      sentAt: sentAt.meta({ description: "The platform's own time of the message" }),
      replyTo: id.optional().meta({ description: "Id of the message this one answers" }),
      address: small("Where and how to reply; handed to the channel as it is").optional(),
    })
    .superRefine(oneContent);

  return {
    message,
    messages: z.array(message).min(1).max(maxBatch),
    edit: z
      .strictObject({
        id: id.optional().meta({ description: "The platform's id of the edit" }),
        ...content,
        ...input,
        sentAt: sentAt.meta({ description: "The platform's own time of the edit" }),
      })
      .superRefine(oneContent),
    retraction: z.strictObject({ id: call.id }),
    typing: z.strictObject({ on: z.boolean().optional(), forMs: duration(86_400_000).optional() }),
    flush: z.strictObject({ by: call.by }),
    nothing: z.strictObject({}),
    session: z.strictObject({ key: z.string().min(1).max(1_000) }),
    chatMessage: z.strictObject({
      id: id.meta({ description: "Made by the page: the same message sent twice is one message" }),
      text: text
        .refine((value) => value.trim() !== "", "must not be blank")
        .refine((value) => bytes(value) <= config.chatMaxTextBytes, `must be at most ${config.chatMaxTextBytes} bytes`),
      sentAt: sentAt.meta({ description: "When it was written, on the visitor's clock" }),
    }),
    chatTyping: z.strictObject({ on: z.boolean().optional() }),
    send: z
      .strictObject({
        ...call,
        ...content,
        address: small("Default: the newest message's").optional(),
        metadata: metadata.optional(),
        when: z.enum(["after-turn", "if-quiet"]).optional(),
      })
      .superRefine(oneContent),
    handoff: z.strictObject({
      ...call,
      forMs: z.int().min(1).max(config.maxHandoffMs).optional(),
      backlog: z.enum(["answer", "context"]).optional(),
    }),
    humanReply: z
      .strictObject({
        ...call,
        ...content,
        author: label.optional(),
        metadata: metadata.optional(),
        upTo: z
          .union([z.int().min(0), id])
          .optional()
          .meta({ description: "The newest message the human had seen: its version or its id. Default: all" }),
      })
      .superRefine(oneContent),
    resume: z.strictObject({ ...call, backlog: z.enum(["answer", "context"]).optional() }),
    operator: z.strictObject(call),
    tune: z.strictObject({ ...call, ...wishes }),
    turnReply: z
      .strictObject({
        settings: z.strictObject(wishes).optional().meta({ description: "This conversation's own, from now on" }),
        ...content,
        silent: z.literal(true).optional().meta({ description: "No answer; after parts were said: nothing further" }),
        metadata: metadata.optional(),
      })
      .superRefine((value, context) => {
        if (value.silent === undefined) return oneContent(value, context);
        for (const field of ["text", "parts"] as const)
          if (value[field] !== undefined)
            context.addIssue({ code: "custom", path: [field], message: `${field} and silent exclude each other` });
      }),
    turnPart: z
      .strictObject({
        text: text.optional(),
        part: part.optional(),
        index: z
          .int()
          .min(0)
          .max(config.maxParts - 1)
          .optional()
          .meta({ description: "Its place in the reply: makes the call repeatable. Default: the next one" }),
      })
      .superRefine((value, context) => {
        if ((value.text === undefined) === (value.part === undefined))
          context.addIssue({ code: "custom", path: ["text"], message: "exactly one of text and part is required" });
        if (bytes(value.text ?? value.part ?? "") > config.maxTextBytes)
          context.addIssue({ code: "custom", path: ["text"], message: `must be at most ${config.maxTextBytes} bytes` });
      }),
    turnEffect: z.discriminatedUnion("state", [
      z.strictObject({
        state: z.literal("begun"),
        readOnly: z.boolean().optional().meta({ description: "It only looks: need not wait for quiet" }),
      }),
      z.strictObject({
        state: z.literal("done"),
        value: z.unknown().refine((value) => value !== undefined, "is required"),
      }),
      z.strictObject({ state: z.literal("failed") }),
    ]),
    turnFail: z.strictObject({
      error: z.string().min(1).max(1_000),
      retryAfterMs: duration(86_400_000).optional(),
    }),
    pause: z.strictObject({ by: call.by, reason: label.optional().meta({ description: "Why, for whoever looks" }) }),
    unpause: z.strictObject({
      by: call.by,
      waiting: z
        .enum(["answer", "drop"])
        .optional()
        .meta({ description: "drop: what had waited when the pause began is not answered; after a restored backup" }),
    }),
  };
}

/** `["parts", 0, "text"]` → `parts[0].text`. */
export function fieldName(path: readonly PropertyKey[]): string {
  let name = "";
  for (const step of path)
    name += typeof step === "number" ? `[${step}]` : name === "" ? String(step) : `.${String(step)}`;
  return name === "" ? "body" : name;
}

type Issue = z.core.$ZodIssue;

/** One line per fault; of a union's alternatives the one that got furthest speaks. */
function faults(issues: readonly Issue[], prefix: readonly PropertyKey[]): FieldError[] {
  return issues.flatMap((issue): FieldError[] => {
    const path = [...prefix, ...issue.path];
    if (issue.code === "unrecognized_keys")
      return issue.keys.map((key) => {
        const field = fieldName([...path, key]);
        return { field, detail: `${field} is not a known field.` };
      });
    if (issue.code === "invalid_union" && issue.errors.length > 0) {
      const depth = (list: readonly Issue[]) =>
        Math.max(0, ...list.map((item) => item.path.length + (item.code === "unrecognized_keys" ? 1 : 0)));
      const furthest = [...issue.errors].sort((a, b) => depth(b) - depth(a))[0];
      if (furthest !== undefined && depth(furthest) > 0) return faults(furthest, path);
    }
    const field = fieldName(path);
    return [{ field, detail: `${field}: ${issue.message}${issue.message.endsWith(".") ? "" : "."}` }];
  });
}

/** Faults listed in one answer; a batch of a thousand bad messages need not be told a thousand times. */
const mostFaults = 20;

/**
 * @throws Problem 400 naming the fields.
 */
export function validate<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const errors = faults(result.error.issues, []).slice(0, mostFaults);
  throw new Problem(400, "invalid-argument", errors[0]?.detail ?? "The request is not valid.", { errors });
}
