/**
 * A turn, for the webhook that answers it: reply later, part by part, with side effects done once. The token says which
 * attempt is meant, and is all that is needed; a key that is sent along must fit.
 *
 * @module
 */

import { setTimeout as sleep } from "node:timers/promises";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { type AttemptHandle, LullError, type TuneCall } from "lull";
import { authorize } from "../auth.ts";
import { splitId } from "../bots/ids.ts";
import { Problem, problemOf } from "../problem.ts";
import { checkId } from "../schemas.ts";
import { botOf, createTokens, invalidToken } from "../tokens.ts";
import { readBody, readOptionalBody } from "./body.ts";
import type { Env, Limited } from "./deps.ts";
import { addressOf, whenAnswered } from "./limits.ts";
import { defined, mostWaitSeconds } from "./messages.ts";
import { Query } from "./query.ts";
import { view } from "./view.ts";

/** How often `?wait=` looks for a part's receipt. */
const lookMs = 250;

export function turnRoutes(deps: Limited): Hono<Env> {
  const { lull, schemas } = deps;
  const most = deps.config.maxBodyBytes;
  const app = new Hono<Env>();
  const one = "/v1/turns/:token";
  const tokens = new Map([["", createTokens("", deps.config)]]);
  for (const [name, config] of Object.entries(deps.config.bots ?? {})) tokens.set(name, createTokens(name, config));

  const bearer: MiddlewareHandler<Env> = async (c, next) => {
    const header = c.req.header("authorization");
    if (deps.keys.length > 0 && header !== undefined) {
      const key = authorize(deps.keys, header, "send");
      if (key.bot !== undefined && key.bot !== botOf(tokenOf(c)))
        throw new Problem(403, "forbidden", `This key is good for the bot ${key.bot} only.`, {
          field: "authorization",
        });
      c.set("caller", key.name);
    }
    const leave = await deps.limits.enter(c.get("caller") ?? addressOf(c));
    try {
      await next();
    } finally {
      whenAnswered(c, leave);
    }
  };

  function attemptOf(c: Context<Env>): AttemptHandle {
    const token = tokenOf(c);
    const mine = tokens.get(botOf(token));
    if (mine === undefined) throw invalidToken();
    return lull.attempt(mine.read(token, Date.now()));
  }

  function within(c: Context<Env>): { waitMs: number; signal: AbortSignal } {
    const seconds = new Query(c, ["wait"]).whole("wait", 0, mostWaitSeconds) ?? 0;
    return { waitMs: seconds * 1_000, signal: AbortSignal.any([c.req.raw.signal, deps.closing]) };
  }

  app.get(one, bearer, async (c) => {
    new Query(c, []);
    return c.json(view(await attemptOf(c).status()) as object);
  });

  app.post(`${one}/reply`, bearer, async (c) => {
    const [attempt, wait] = [attemptOf(c), within(c)];
    const { silent, settings, ...answer } = await readBody(c, schemas.turnReply, most);
    const committed = await attempt.reply(silent ? null : (defined(answer) as never), wait).catch(explain);
    if (settings !== undefined && !committed.duplicate)
      await lull.tune(attempt.ref.conversation, { ...(defined(settings) as TuneCall), by: "bot" });
    return c.json({ status: "committed", ...committed });
  });

  app.post(`${one}/parts`, bearer, async (c) => {
    const [attempt, wait] = [attemptOf(c), within(c)];
    const { text, part, index } = await readBody(c, schemas.turnPart, most);
    const endMs = Date.now() + wait.waitMs;
    const said = await attempt
      .say((text ?? part) as never, { ...wait, ...(index === undefined ? {} : { index }) })
      .catch(explain);
    return c.json({ ...said, ...(await receiptOf(attempt, said, endMs, wait.signal)) });
  });

  /** What became of a part, so far. */
  async function receiptOf(
    attempt: AttemptHandle,
    { replyId, index }: { replyId: string; index: number },
    endMs: number,
    signal: AbortSignal,
  ): Promise<{ state: string; error?: string }> {
    for (;;) {
      const state = (await attempt.status()).reply?.parts[index];
      const settled = state !== "queued" && state !== "attempting";
      if (settled || Date.now() >= endMs || signal.aborted) {
        if (state !== undefined) return { state };
        const { conversation } = attempt.ref;
        const seq = (await lull.get(conversation))?.seq ?? 0;
        const entries = await lull.log(conversation, { before: seq + 1, limit: 200 });
        const receipt = entries.findLast(
          (entry) => entry.kind === "receipt" && entry.replyId === replyId && entry.index === index,
        );
        if (receipt?.kind !== "receipt") return { state: "unknown" };
        return { state: receipt.state, ...(receipt.error === undefined ? {} : { error: receipt.error }) };
      }
      await sleep(Math.min(lookMs, Math.max(1, endMs - Date.now())));
    }
  }

  app.put(`${one}/effects/:key`, bearer, async (c) => {
    const [attempt, wait] = [attemptOf(c), within(c)];
    const key = checkId("key", c.get("segments")[5] ?? "");
    const change = await readBody(c, schemas.turnEffect, most);
    if (change.state === "begun") {
      const begun = await attempt.begin(key, { ...wait, readOnly: change.readOnly ?? false }).catch(explain);
      return c.json({ key, ...outside(attempt, begun) });
    }
    if (change.state === "done") {
      const state = await attempt.end(key, change.value as never).catch(explain);
      return c.json({ key, state });
    }
    await attempt.drop(key);
    return c.json({ key, state: "dropped" });
  });

  app.post(`${one}/seal`, bearer, async (c) => {
    const [attempt, wait] = [attemptOf(c), within(c)];
    await readOptionalBody(c, schemas.nothing, most);
    await attempt.seal(wait).catch(explain);
    return c.body(null, 204);
  });

  app.post(`${one}/absorb`, bearer, async (c) => {
    new Query(c, []);
    const attempt = attemptOf(c);
    await readOptionalBody(c, schemas.nothing, most);
    return c.json({ messages: view(await attempt.absorb()) });
  });

  app.post(`${one}/renew`, bearer, async (c) => {
    new Query(c, []);
    const attempt = attemptOf(c);
    await readOptionalBody(c, schemas.nothing, most);
    await attempt.renew();
    return c.body(null, 204);
  });

  app.post(`${one}/fail`, bearer, async (c) => {
    new Query(c, []);
    const attempt = attemptOf(c);
    const { error, retryAfterMs } = await readBody(c, schemas.turnFail, most);
    return c.json({ status: await attempt.fail(error, defined({ retryAfterMs }) as never) });
  });

  return app;
}

function tokenOf(c: Context<Env>): string {
  return c.get("segments")[3] ?? "";
}

/** An effect's key for other services: as its bot knows the conversation. */
function outside<T extends { idempotencyKey: string }>(attempt: AttemptHandle, begun: T): T {
  const { conversation } = attempt.ref;
  const { bot, id } = splitId(conversation);
  if (bot === "") return begun;
  return { ...begun, idempotencyKey: `${bot}:${id}${begun.idempotencyKey.slice(conversation.length)}` };
}

/** When it may be tried again is worth more than that it may not be done now. */
function explain(error: unknown): never {
  if (LullError.isInstance(error) && error.code === "empty-answer")
    throw new Problem(400, error.code, "The answer has no visible text; silence is said so.", { field: "text" });
  const atMs = LullError.isInstance(error) ? error.details?.atMs : undefined;
  if (!LullError.isInstance(error) || typeof atMs !== "number") throw error;
  const { status } = problemOf(error);
  // Somebody else runs the effect: not the server's trouble.
  throw new Problem(error.code === "busy" ? 409 : status, error.code, error.message, {
    atMs,
    retryAfter: Math.max(1, Math.ceil((atMs - Date.now()) / 1_000)),
  });
}
