/**
 * The way in: messages, edits, retractions, typing.
 *
 * @module
 */
import { type Context, Hono } from "hono";
import type { Incoming, Received } from "lull";
import type { z } from "zod";
import { invalid, Problem, retryAfterSeconds } from "../problem.ts";
import { checkId, type Schemas, validate } from "../schemas.ts";
import { readBody, readJson, readOptionalBody } from "./body.ts";
import type { Env, Limited } from "./deps.ts";
import { may, operatorOf } from "./guard.ts";
import { Query } from "./query.ts";
import { lullOf, type Scoped } from "./scope.ts";
import { instant } from "./view.ts";

/** Longest `?wait=`, in seconds: proxies cut longer requests anyway. */
export const mostWaitSeconds = 300;

type Message = z.output<Schemas["message"]>;

/** Leaves out what is undefined, as the library's types demand. */
export function defined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as never;
}

function incoming({ conversation: _, ...message }: Message): Incoming {
  return defined(message) as Incoming;
}

function receivedView(conversation: string, received: Received): Record<string, unknown> {
  if (received.status === "rejected")
    return {
      conversation,
      id: received.id,
      status: received.status,
      reason: received.reason,
      retryAfterMs: received.retryAfterMs,
    };
  return {
    conversation,
    id: received.id,
    status: received.status,
    version: received.version,
    duplicate: received.status === "duplicate",
    startAt: instant(received.startAtMs),
    quietAt: instant(received.quietAtMs),
  };
}

function full(retryAfterMs: number): Problem {
  return new Problem(429, "full", "Too many unanswered messages wait in this conversation (maxPending).", {
    retryAfter: retryAfterSeconds(retryAfterMs),
  });
}

/** Hands in a batch: each conversation's messages in one call and in order; different conversations side by side. */
async function receiveAll(lull: Scoped, messages: Message[]): Promise<Received[]> {
  const places = new Map<string, number[]>();
  messages.forEach((message, index) => {
    const list = places.get(message.conversation);
    if (list === undefined) places.set(message.conversation, [index]);
    else list.push(index);
  });
  const results = new Array<Received>(messages.length);
  await Promise.all(
    [...places].map(async ([conversation, indexes]) => {
      const received = await lull.receive(
        conversation,
        indexes.map((index) => incoming(messages[index] as Message)),
      );
      indexes.forEach((index, position) => {
        results[index] = received[position] as Received;
      });
    }),
  );
  return results;
}

export function messageRoutes(deps: Limited): Hono<Env> {
  const { schemas } = deps;
  const of = (c: Context<Env>) => lullOf(deps, c);
  const most = deps.config.maxBodyBytes;
  const app = new Hono<Env>();
  const send = may(deps, "send");

  app.post("/v1/messages", send, async (c) => {
    const wait = new Query(c, ["wait"]).whole("wait", 0, mostWaitSeconds) ?? 0;
    const body = await readJson(c, most);
    if (body === undefined) throw new Problem(400, "invalid-argument", "A JSON body is required.", { field: "body" });
    if (Array.isArray(body)) {
      if (wait > 0) throw invalid("wait", "wait works with a single message, not with an array.");
      const messages = validate(schemas.messages, body);
      const received = await receiveAll(of(c), messages);
      const rejected = received.filter((item) => item.status === "rejected");
      if (rejected.length === received.length)
        throw full(Math.max(...rejected.map((item) => (item.status === "rejected" ? item.retryAfterMs : 0))));
      return c.json(
        received.map((item, index) => receivedView((messages[index] as Message).conversation, item)),
        202,
      );
    }
    const message = validate(schemas.message, body);
    const received = await of(c).receive(message.conversation, incoming(message));
    if (received.status === "rejected") throw full(received.retryAfterMs);
    const accepted = receivedView(message.conversation, received);
    if (wait === 0) return c.json(accepted, 202);
    const signal = AbortSignal.any([c.req.raw.signal, deps.closing]);
    const reply = await of(c)
      .reply(message.conversation, received.version, { timeoutMs: wait * 1_000, signal })
      .catch((error) => {
        // The message is stored; that the wait was cut short by a shutdown does not undo it.
        if (signal.aborted) return null;
        throw error;
      });
    if (reply === null) return c.json(accepted, 202);
    return c.json({
      conversation: message.conversation,
      id: received.id,
      version: received.version,
      duplicate: received.status === "duplicate",
      status: reply.outcome,
      replyId: reply.replyId,
      covers: reply.covers,
      parts: reply.parts,
      overtaken: reply.overtaken,
    });
  });

  app.patch("/v1/conversations/:id/messages/:message", send, async (c) => {
    const [conversation, message] = target(c.get("segments"));
    const change = await readBody(c, schemas.edit, most);
    const changed = await of(c).edit(conversation, message, defined(change) as never);
    if (changed.status === "rejected") throw full(1_000);
    return c.json({ conversation, message, ...changed });
  });

  app.delete("/v1/conversations/:id/messages/:message", send, async (c) => {
    const [conversation, message] = target(c.get("segments"));
    const changed = await of(c).retract(
      conversation,
      message,
      defined(await readOptionalBody(c, schemas.retraction, most)) as never,
    );
    if (changed.status === "rejected") throw full(1_000);
    return c.json({ conversation, message, ...changed });
  });

  app.post("/v1/conversations/:id/typing", send, async (c) => {
    const conversation = checkId("conversation", c.get("segments")[3] ?? "");
    await of(c).typing(conversation, defined(await readOptionalBody(c, schemas.typing, most)) as never);
    return c.body(null, 204);
  });

  app.post("/v1/conversations/:id/flush", send, async (c) => {
    const conversation = checkId("conversation", c.get("segments")[3] ?? "");
    const { by = operatorOf(c) } = await readOptionalBody(c, schemas.flush, most);
    await of(c).flush(conversation, { by });
    return c.body(null, 204);
  });

  return app;
}

function target(segments: readonly string[]): [conversation: string, message: string] {
  return [checkId("conversation", segments[3] ?? ""), checkId("message", segments[5] ?? "")];
}
