/**
 * The OpenAPI 3.1 document, generated from the schemas that validate. A test compares its operations with
 * the routes.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { stateFilters } from "./app/listing.ts";
import type { Role } from "./auth.ts";
import { maxBatch, type Schemas } from "./schemas.ts";

type Json = Record<string, unknown>;

/** From source and from `dist` alike: the manifest is one folder above. */
export const version = (
  JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }
).version;

/** Answers, described loosely: clients must ignore fields they do not know. */
const answers = {
  Accepted: z.object({
    conversation: z.string(),
    id: z.string(),
    status: z.enum(["accepted", "duplicate"]),
    version: z.int().meta({ description: "Arrival counter of the conversation" }),
    duplicate: z.boolean(),
    startAt: z.iso.datetime().nullable().meta({ description: "The model may start then" }),
    quietAt: z.iso.datetime().nullable().meta({ description: "The answer may go out then" }),
  }),
  Rejected: z.object({
    conversation: z.string(),
    id: z.string(),
    status: z.literal("rejected"),
    reason: z.literal("full"),
    retryAfterMs: z.int(),
  }),
  Reply: z.object({
    conversation: z.string(),
    id: z.string(),
    version: z.int(),
    duplicate: z.boolean(),
    status: z
      .enum(["delivered", "cut", "failed", "cancelled", "removed", "silent", "human", "dropped", "context", "parked"])
      .meta({ description: "How the turn ended; `delivered` is the usual one" }),
    replyId: z.string().nullable(),
    covers: z.array(z.string()).meta({ description: "Ids of the messages this reply answers" }),
    parts: z.array(z.unknown()),
    overtaken: z.boolean().meta({ description: "Newer messages came when the reply could not be held back any more" }),
  }),
  Changed: z.object({
    conversation: z.string(),
    message: z.string(),
    status: z.enum(["accepted", "duplicate", "unchanged", "ignored"]),
    id: z.string(),
    version: z.int(),
  }),
  Conversation: z.looseObject({
    id: z.string(),
    state: z.enum(["resting", "waiting", "answering", "delivering", "handed-off", "parked"]),
    version: z.int(),
    answered: z.int(),
    seq: z.int(),
  }),
  Conversations: z.object({
    conversations: z.array(z.unknown()),
    next: z.string().nullable().meta({ description: "Pass as `after` for the next page; null at the end" }),
    scanned: z.int().optional().meta({ description: "How many were looked at, where no index led to exactly those" }),
  }),
  Health: z.looseObject({
    owner: z.string().meta({ description: "The process that was asked: `buckets` are what it did" }),
    sinceAt: z.iso.datetime(),
    bucketSeconds: z.int(),
    states: z
      .record(z.string(), z.int().nullable())
      .meta({ description: "Conversations of the whole store; null: not known" }),
    stats: z.looseObject({ working: z.int() }).meta({ description: "The store's own counts" }),
    buckets: z.array(
      z.looseObject({
        at: z.iso.datetime(),
        answers: z.int(),
        crossed: z.int().meta({ description: "Answers that the user's next message had crossed" }),
        wait: z
          .record(
            z.enum(["window", "queue", "model", "delivery", "total"]),
            z.tuple([z.number(), z.number()]).nullable(),
          )
          .meta({ description: "Median and 95th percentile in milliseconds" }),
        dueLagMs: z.int().nullable().meta({ description: "The most by which the oldest timer was overdue" }),
      }),
    ),
  }),
  Report: z.looseObject({
    schema: z.literal("lull-report/1"),
    conversation: z.string(),
    record: z.looseObject({}),
    log: z.array(z.looseObject({ kind: z.string(), seq: z.int(), atMs: z.int() })),
    sentences: z.array(z.string()),
    versions: z.record(z.string(), z.string()),
  }),
  Log: z.object({ entries: z.array(z.looseObject({ kind: z.string(), seq: z.int(), at: z.iso.datetime() })) }),
  Explanation: z.object({ sentences: z.array(z.string()) }),
  Pause: z.object({
    paused: z
      .looseObject({ sinceAt: z.iso.datetime(), by: z.string().optional(), reason: z.string().optional() })
      .nullable(),
    working: z.int().meta({ description: "Conversations this process works on now" }),
  }),
  Unpaused: z.object({
    was: z.looseObject({ sinceAt: z.iso.datetime() }).nullable(),
    dropped: z.array(z.string()).meta({ description: "Conversations whose waiting was dropped" }),
  }),
  Erased: z.object({
    erased: z.boolean(),
    left: z.string().nullable().meta({ description: "What is left to do about traces; null: nothing" }),
  }),
  AuthorErased: z.object({
    erased: z.int().meta({ description: "Conversations erased whole" }),
    rewritten: z.int().meta({ description: "Shared conversations that lost the author's content" }),
    busy: z.array(z.string()).meta({ description: "Conversations to repeat the call for" }),
    left: z.string().nullable(),
  }),
  Sent: z.object({ status: z.enum(["queued", "duplicate", "dropped"]), replyId: z.string() }),
  Revived: z.object({ revived: z.int() }),
  Turn: z.looseObject({
    wanted: z.boolean().meta({ description: "An answer is still wanted" }),
    reason: z.string().nullable().meta({ description: "Why not: superseded, answered, handed-off, reset, lost" }),
    version: z.int().nullable(),
    newer: z.array(z.unknown()).meta({ description: "Messages that came after `version`" }),
    effects: z.array(
      z.looseObject({ key: z.string(), state: z.enum(["done", "unknown"]), value: z.unknown().optional() }),
    ),
    sealed: z.boolean(),
    quietAt: z.iso.datetime().nullable().meta({ description: "The answer may be committed then; null: now, or never" }),
    deadlineAt: z.iso.datetime().nullable(),
    reply: z.looseObject({ replyId: z.string(), open: z.boolean(), parts: z.array(z.string()) }).nullable(),
  }),
  Committed: z.object({
    status: z.literal("committed"),
    replyId: z.string().nullable().meta({ description: "null: silence" }),
    duplicate: z.boolean().meta({ description: "The turn had been answered before; that answer stands" }),
  }),
  Said: z.object({
    replyId: z.string(),
    index: z.int(),
    state: z.enum(["queued", "attempting", "sent", "failed", "unknown", "cancelled"]),
    error: z.string().optional(),
  }),
  Effect: z.object({
    key: z.string(),
    state: z
      .enum(["run", "done", "recorded", "late", "dropped"])
      .meta({ description: "run: yours to do · done: `value` is an earlier run's result · late: its turn had ended" }),
    idempotencyKey: z.string().optional().meta({ description: "Hand it to the service you call" }),
    inDoubt: z.boolean().optional().meta({ description: "It may have been done before, and nobody saw its end" }),
    value: z.unknown().optional(),
  }),
  Absorbed: z.object({ messages: z.array(z.unknown()) }),
  Failed: z.object({ status: z.enum(["retry", "parked", "cut"]) }),
  ChatToken: z.object({ token: z.string(), expiresAt: z.iso.datetime() }),
  ChatHistory: z.object({
    events: z
      .array(z.looseObject({ type: z.enum(["message", "edited", "retracted", "part"]), seq: z.int(), id: z.string() }))
      .meta({ description: "Oldest first" }),
    next: z.int().nullable().meta({ description: "Pass as `before` for what is older; null: nothing is" }),
    seq: z.int().meta({ description: "Pass as `after` to the events" }),
    state: z.enum(["resting", "waiting", "answering", "human"]),
  }),
  ChatAccepted: z.object({ id: z.string(), status: z.enum(["accepted", "duplicate"]) }),
  Session: z.object({
    name: z.string().nullable().meta({ description: "The key's name; null where the server has no keys" }),
    roles: z.array(z.enum(["send", "read", "operate", "inspect"])),
    bot: z.string().nullable().meta({ description: "The only bot it is good for; null: all" }),
    texts: z.boolean().meta({ description: "false: of texts, files, values and names only their length is shown" }),
  }),
  Problem: z.looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.string().meta({ description: "Stable; branch on it" }),
    detail: z.string(),
    field: z.string().optional().meta({ description: "The field to blame" }),
    errors: z.array(z.object({ field: z.string(), detail: z.string() })).optional(),
    at: z.iso.datetime().optional().meta({ description: "When the same request may succeed" }),
  }),
} as const;

interface Operation {
  method: "get" | "post" | "put" | "patch" | "delete";
  path: string;
  summary: string;
  /** null: no key is needed; `visitor`: a visitor's token. */
  role: Role | "visitor" | null;
  body?: { schema: keyof Schemas | "batch"; required: boolean };
  query?: Record<string, Json>;
  header?: Record<string, Json>;
  /** Status → schema name, media type, or nothing. */
  responses: Record<number, { description: string; schema?: keyof typeof answers | Json; type?: string }>;
}

const whole = (description: string, maximum?: number) => ({
  description,
  schema: { type: "integer", minimum: 0, ...(maximum === undefined ? {} : { maximum }) },
});
const text = (description: string) => ({ description, schema: { type: "string" } });
const flag = (description: string) => ({ description, schema: { type: "boolean" } });
const one = "/v1/conversations/{id}";
const turn = "/v1/turns/{token}";
const pathTexts: Record<string, string> = {
  id: "The conversation's id, percent-encoded",
  token: "`turn.token` of the request that the webhook was sent: whoever has it may act for that attempt",
  key: "The side effect's name within the turn, percent-encoded",
};
const patience = { wait: whole("Seconds to wait until the user has been quiet", 300) };
const done = { 204: { description: "Done" } };
const events = { 200: { description: "Server-Sent Events", type: "text/event-stream", schema: { type: "string" } } };

export const operations: readonly Operation[] = [
  {
    method: "post",
    path: "/v1/messages",
    summary: "Hand in one message, or an array of them",
    role: "send",
    body: { schema: "batch", required: true },
    query: { wait: whole("Seconds to wait for the reply that covers the message; one message only", 300) },
    responses: {
      200: { description: "wait: the reply came", schema: "Reply" },
      202: {
        description: "Durable; for an array one item per message, in order",
        schema: {
          oneOf: [
            { $ref: "#/components/schemas/Accepted" },
            {
              type: "array",
              items: { oneOf: [{ $ref: "#/components/schemas/Accepted" }, { $ref: "#/components/schemas/Rejected" }] },
            },
          ],
        },
      },
    },
  },
  {
    method: "get",
    path: "/v1/conversations",
    summary: "Conversations, a page at a time",
    role: "read",
    query: {
      after: text("`next` of the page before"),
      limit: whole("Default 50", 1_000),
      prefix: text("Only ids that begin so"),
      author: text("Only those in which that author wrote one of the newest 200 entries; looks at a bounded number"),
      state: {
        description:
          "Only those; `overdue`: a timer rang 5 s ago and nobody came, or the longest wait is over and nobody answers. Where no index helps, a bounded number is looked at, and `next` goes on",
        schema: { type: "string", enum: [...stateFilters] },
      },
      active: flag("Only those that are not at rest"),
      parked: flag("Only those with a turn that was given up"),
      handedOff: flag("Only those a human answers"),
    },
    responses: { 200: { description: "A page", schema: "Conversations" } },
  },
  {
    method: "get",
    path: one,
    summary: "One conversation",
    role: "read",
    responses: { 200: { description: "It", schema: "Conversation" } },
  },
  {
    method: "delete",
    path: one,
    summary: "Erase everything of a conversation",
    role: "operate",
    query: { scrub: flag("Also leave no trace in the store's files; may take as long as copying them") },
    responses: { 204: { description: "Erased" }, 200: { description: "scrub: erased", schema: "Erased" } },
  },
  {
    method: "get",
    path: `${one}/log`,
    summary: "Its log, a page at a time, oldest first",
    role: "read",
    query: {
      from: whole("First seq wanted"),
      before: whole("The entries just below that seq"),
      limit: whole("Default 100", 1_000),
    },
    responses: { 200: { description: "A page", schema: "Log" } },
  },
  {
    method: "get",
    path: `${one}/events`,
    summary: "Its events: nothing lost, nothing doubled when resumed",
    role: "read",
    query: { after: whole("Events after this seq; default: from now on") },
    header: { "Last-Event-ID": whole("The same, sent by clients that reconnect") },
    responses: events,
  },
  {
    method: "get",
    path: `${one}/explain`,
    summary: "What it is doing and why, in plain sentences",
    role: "read",
    responses: { 200: { description: "Sentences", schema: "Explanation" } },
  },
  {
    method: "get",
    path: `${one}/report`,
    summary: "Its record and newest entries for a bug report: without texts, names and ids; `lull/testing` replays it",
    role: "read",
    responses: { 200: { description: "It, with instants in milliseconds", schema: "Report" } },
  },
  {
    method: "patch",
    path: `${one}/messages/{message}`,
    summary: "The author edited a message",
    role: "send",
    body: { schema: "edit", required: true },
    responses: { 200: { description: "What became of it", schema: "Changed" } },
  },
  {
    method: "delete",
    path: `${one}/messages/{message}`,
    summary: "The author took a message back",
    role: "send",
    body: { schema: "retraction", required: false },
    responses: { 200: { description: "What became of it", schema: "Changed" } },
  },
  {
    method: "post",
    path: `${one}/typing`,
    summary: "The user is typing",
    role: "send",
    body: { schema: "typing", required: false },
    responses: done,
  },
  {
    method: "post",
    path: `${one}/flush`,
    summary: "Answer now",
    role: "send",
    body: { schema: "flush", required: false },
    responses: done,
  },
  {
    method: "post",
    path: `${one}/send`,
    summary: "A message of the bot's own accord",
    role: "operate",
    body: { schema: "send", required: true },
    responses: { 202: { description: "Queued", schema: "Sent" } },
  },
  {
    method: "post",
    path: `${one}/handoff`,
    summary: "A human answers from now on",
    role: "operate",
    body: { schema: "handoff", required: false },
    responses: done,
  },
  {
    method: "post",
    path: `${one}/human-replies`,
    summary: "What a human answered",
    role: "operate",
    body: { schema: "humanReply", required: true },
    responses: done,
  },
  {
    method: "post",
    path: `${one}/resume`,
    summary: "The bot answers again",
    role: "operate",
    body: { schema: "resume", required: false },
    responses: done,
  },
  {
    method: "post",
    path: `${one}/reset`,
    summary: "Forget what is unanswered",
    role: "operate",
    body: { schema: "operator", required: false },
    responses: done,
  },
  {
    method: "put",
    path: `${one}/settings`,
    summary: "How this conversation is to be treated, before the bot's own settings",
    role: "operate",
    body: { schema: "tune", required: true },
    responses: done,
  },
  {
    method: "post",
    path: `${one}/retry`,
    summary: "Bring a turn that was given up back to be answered",
    role: "operate",
    body: { schema: "operator", required: false },
    responses: { 200: { description: "How many messages were revived", schema: "Revived" } },
  },
  {
    method: "get",
    path: "/v1/pause",
    summary: "Is the whole store paused?",
    role: "read",
    responses: { 200: { description: "The pause, or null", schema: "Pause" } },
  },
  {
    method: "post",
    path: "/v1/pause",
    summary: "Every process on the store takes no new turn and delivers nothing anew; receiving goes on",
    role: "operate",
    body: { schema: "pause", required: false },
    responses: { 200: { description: "The pause that stands", schema: "Pause" } },
  },
  {
    method: "post",
    path: "/v1/unpause",
    summary: "Lift the pause of the whole store",
    role: "operate",
    body: { schema: "unpause", required: false },
    responses: { 200: { description: "Lifted", schema: "Unpaused" } },
  },
  {
    method: "delete",
    path: "/v1/authors/{author}",
    summary: "Erase what one author wrote, in all conversations",
    role: "operate",
    query: {
      prefix: text("Only in conversations whose ids begin so"),
      scrub: flag("Also leave no trace in the store's files; may take as long as copying them"),
    },
    responses: { 200: { description: "Done, but for those that are busy", schema: "AuthorErased" } },
  },
  {
    method: "get",
    path: turn,
    summary: "A turn, for the webhook that answers it: still wanted? newer messages? effects?",
    role: null,
    responses: { 200: { description: "How it stands", schema: "Turn" } },
  },
  {
    method: "post",
    path: `${turn}/reply`,
    summary: "The answer of a webhook that had answered 202; 409: superseded, answered or lost; 425: too early",
    role: null,
    body: { schema: "turnReply", required: true },
    query: patience,
    responses: { 200: { description: "Committed", schema: "Committed" } },
  },
  {
    method: "post",
    path: `${turn}/parts`,
    summary: "Say a part now; the first one seals the turn",
    role: null,
    body: { schema: "turnPart", required: true },
    query: { wait: whole("Seconds to wait for quiet, and then for what the channel says", 300) },
    responses: { 200: { description: "What became of it", schema: "Said" } },
  },
  {
    method: "put",
    path: `${turn}/effects/{key}`,
    summary: "A side effect, done once: begin it, then say what came of it",
    role: null,
    body: { schema: "turnEffect", required: true },
    query: patience,
    responses: { 200: { description: "What to do, or what was recorded", schema: "Effect" } },
  },
  {
    method: "post",
    path: `${turn}/seal`,
    summary: "From here on newer messages do not discard the answer",
    role: null,
    body: { schema: "nothing", required: false },
    query: patience,
    responses: done,
  },
  {
    method: "post",
    path: `${turn}/absorb`,
    summary: "Take newer messages into the turn",
    role: null,
    body: { schema: "nothing", required: false },
    responses: { 200: { description: "All messages the answer is to cover", schema: "Absorbed" } },
  },
  {
    method: "post",
    path: `${turn}/renew`,
    summary: "A side effect takes long, and is still under way",
    role: null,
    body: { schema: "nothing", required: false },
    responses: done,
  },
  {
    method: "post",
    path: `${turn}/fail`,
    summary: "No answer this time: try again, or give up",
    role: null,
    body: { schema: "turnFail", required: true },
    responses: { 200: { description: "What comes next", schema: "Failed" } },
  },
  {
    method: "get",
    path: "/v1/health",
    summary: "What this process did over time, and how the whole store stands",
    role: "read",
    query: { minutes: whole("How far back; default 60", 1_440) },
    responses: { 200: { description: "It", schema: "Health" } },
  },
  {
    method: "get",
    path: "/v1/session",
    summary: "What the page that asks may do",
    role: null,
    responses: { 200: { description: "It", schema: "Session" } },
  },
  {
    method: "post",
    path: "/v1/session",
    summary: "Exchange a key for a cookie: for pages, 12 hours long",
    role: null,
    body: { schema: "session", required: true },
    responses: { 200: { description: "What the page may do; with Set-Cookie", schema: "Session" } },
  },
  {
    method: "delete",
    path: "/v1/session",
    summary: "Forget the cookie",
    role: null,
    responses: done,
  },
  {
    method: "post",
    path: "/v1/chat/token",
    summary: "Web chat: become an anonymous visitor, or, with an anonymous visitor's token, its next token",
    role: null,
    body: { schema: "nothing", required: false },
    responses: { 200: { description: "It", schema: "ChatToken" } },
  },
  {
    method: "get",
    path: "/v1/chat/history",
    summary: "Web chat: what the visitor wrote and was told, newest page first",
    role: "visitor",
    query: { before: whole("`next` of the page before"), limit: whole("About how many; default 50", 200) },
    responses: { 200: { description: "A page", schema: "ChatHistory" } },
  },
  {
    method: "post",
    path: "/v1/chat/messages",
    summary: "Web chat: hand in a message",
    role: "visitor",
    body: { schema: "chatMessage", required: true },
    responses: { 202: { description: "Durable", schema: "ChatAccepted" } },
  },
  {
    method: "post",
    path: "/v1/chat/typing",
    summary: "Web chat: the visitor is typing",
    role: "visitor",
    body: { schema: "chatTyping", required: false },
    responses: done,
  },
  {
    method: "get",
    path: "/v1/chat/events",
    summary: "Web chat: what happens, for the visitor: nothing lost, nothing doubled when resumed; ends with the token",
    role: "visitor",
    query: { after: whole("Events after this seq; default: from now on") },
    responses: events,
  },
  {
    method: "get",
    path: "/v1/events",
    summary: "Events of all conversations, live only",
    role: "read",
    responses: events,
  },
  {
    method: "get",
    path: "/healthz",
    summary: "The process is alive",
    role: null,
    responses: { 200: { description: "Alive" } },
  },
  {
    method: "get",
    path: "/readyz",
    summary: "The store answers",
    role: null,
    responses: { 200: { description: "Ready" } },
  },
  {
    method: "get",
    path: "/metrics",
    summary: "Prometheus metrics",
    role: "read",
    responses: { 200: { description: "Metrics", type: "text/plain", schema: { type: "string" } } },
  },
  {
    method: "get",
    path: "/openapi.json",
    summary: "This document",
    role: null,
    responses: { 200: { description: "OpenAPI 3.1", type: "application/json", schema: { type: "object" } } },
  },
];

const componentNames: Record<keyof Schemas, string> = {
  message: "Message",
  messages: "Messages",
  edit: "Edit",
  retraction: "Retraction",
  typing: "Typing",
  flush: "FlushCall",
  nothing: "Nothing",
  session: "SessionCall",
  chatMessage: "ChatMessage",
  chatTyping: "ChatTyping",
  send: "Send",
  handoff: "Handoff",
  humanReply: "HumanReply",
  resume: "Resume",
  operator: "OperatorCall",
  tune: "ConversationSettings",
  turnReply: "TurnReply",
  turnPart: "TurnPart",
  turnEffect: "TurnEffect",
  turnFail: "TurnFailure",
  pause: "PauseCall",
  unpause: "UnpauseCall",
};

function schemaOf(schema: z.ZodType): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", target: "draft-2020-12" }) as Json;
  return rest;
}

const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

function bodyOf(body: NonNullable<Operation["body"]>): Json {
  const schema =
    body.schema === "batch" ? { oneOf: [ref("Message"), ref("Messages")] } : ref(componentNames[body.schema]);
  return { required: body.required, content: { "application/json": { schema } } };
}

function securityOf(role: Operation["role"]): Json {
  if (role === null) return { security: [] };
  return role === "visitor" ? { security: [{ visitor: [] }] } : { description: `Role: ${role}.` };
}

function operationOf(operation: Operation): Json {
  const parameter =
    (place: string) =>
    ([name, described]: [string, Json]) => ({ name, in: place, required: place === "path", ...described });
  const ids = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match): [string, Json] => [
    match[1] as string,
    text(pathTexts[match[1] as string] ?? `The ${match[1]}'s id, percent-encoded`),
  ]);
  const parameters = [
    ...ids.map(parameter("path")),
    ...Object.entries(operation.query ?? {}).map(parameter("query")),
    ...Object.entries(operation.header ?? {}).map(parameter("header")),
  ];
  const responses: Json = {};
  for (const [status, { description, schema, type = "application/json" }] of Object.entries(operation.responses))
    responses[status] = {
      description,
      ...(schema === undefined
        ? {}
        : { content: { [type]: { schema: typeof schema === "string" ? ref(schema) : schema } } }),
    };
  responses.default = {
    description: "A problem (RFC 9457)",
    content: { "application/problem+json": { schema: ref("Problem") } },
  };
  return {
    summary: operation.summary,
    ...securityOf(operation.role),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.body === undefined ? {} : { requestBody: bodyOf(operation.body) }),
    responses,
  };
}

export function openApi(schemas: Schemas, withKeys: boolean): Json {
  const components: Json = {};
  for (const [name, schema] of Object.entries(schemas))
    components[componentNames[name as keyof Schemas]] = schemaOf(schema);
  components.Messages = { type: "array", items: ref("Message"), minItems: 1, maxItems: maxBatch };
  for (const [name, schema] of Object.entries(answers)) components[name] = schemaOf(schema);
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: operationOf(operation) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "lull",
      version,
      description:
        "Makes a chat bot hear the user out and then answer once. Hand in messages; read replies from events or a webhook.",
      license: { name: "MIT", identifier: "MIT" },
    },
    ...(withKeys ? { security: [{ key: [] }, { session: [] }] } : {}),
    paths,
    components: {
      schemas: components,
      securitySchemes: {
        key: { type: "http", scheme: "bearer" },
        visitor: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
        session: { type: "apiKey", in: "cookie", name: "lull_session" },
      },
    },
  };
}
