/**
 * The web chat's routes: `/v1/chat/…`. A visitor's token says which conversation is meant; no request names one, so none
 * can reach another's.
 *
 * @module
 */
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { readBody, readOptionalBody } from "../app/body.ts";
import type { Env, Limited } from "../app/deps.ts";
import { addressOf } from "../app/limits.ts";
import { Query } from "../app/query.ts";
import { lullOf } from "../app/scope.ts";
import { eventStream, type Frame } from "../app/stream.ts";
import { instant } from "../app/view.ts";
import { joinId } from "../bots/ids.ts";
import { invalid, Problem, problemOf, retryAfterSeconds } from "../problem.ts";
import { createDrafts, visitorAddress } from "./drafts.ts";
import { historyOf } from "./history.ts";
import { visitorLimits } from "./limits.ts";
import { chatPath, fromOrigins } from "./origins.ts";
import { type ChatSettings, chatSettings } from "./settings.ts";
import { type ReadLog, sightOf } from "./sight.ts";
import { standingOf, stateOf } from "./standing.ts";
import { seenView, visitorFrames } from "./stream.ts";
import type { IssuedToken, Visitor } from "./tokens.ts";

const historyDefault = 50;
const mostHistory = 200;

export function visitorRoutes(deps: Limited): Hono<Env> {
  const { config, schemas } = deps;
  const drafts = deps.drafts ?? createDrafts();
  const settings = chatSettings(config);
  const limits = visitorLimits(config);
  const app = new Hono<Env>();
  let open = 0;

  const isOn: MiddlewareHandler<Env> = async (_, next) => {
    chat();
    return next();
  };
  const chat = (): ChatSettings => {
    if (settings === null)
      throw new Problem(404, "not-found", "This server has no web chat; chatSecret switches it on.", { field: "path" });
    return settings;
  };
  app.use(`${chatPath}*`, isOn);
  if (settings !== null) app.use(`${chatPath}*`, fromOrigins(settings.origins));

  /** Whose request it is. @throws Problem 401, 404 or 429 */
  async function visitorOf(c: Context<Env>): Promise<Visitor> {
    const token = bearer(c);
    if (token === null) throw unauthorized();
    const visitor = await chat().tokens.read(token, Date.now());
    if (visitor.bot !== "" && !Object.hasOwn(config.bots ?? {}, visitor.bot))
      throw new Problem(404, "not-found", "No bot of this server is called as the token says.", { field: "bot" });
    c.set("bot", visitor.bot);
    await limits.request(keyOf(visitor));
    return visitor;
  }

  function callerOf(c: Context<Env>): string {
    const { chatAddressHeader } = config;
    const said = chatAddressHeader === undefined ? undefined : c.req.header(chatAddressHeader);
    // Proxies append: the last one is what ours has seen.
    return said?.split(",").at(-1)?.trim() || addressOf(c);
  }

  const readerOf =
    (c: Context<Env>, { conversation }: Visitor): ReadLog =>
    (page) =>
      lullOf(deps, c).log(conversation, page);

  app.post(`${chatPath}token`, async (c) => {
    new Query(c, []);
    await readOptionalBody(c, schemas.nothing, config.maxBodyBytes);
    const token = bearer(c);
    if (token !== null) {
      await limits.request(`renew ${callerOf(c)}`);
      return c.json(issued(await chat().tokens.renew(token, Date.now())));
    }
    if (config.chatAnonymous === "off")
      throw new Problem(
        403,
        "forbidden",
        "Visitors need a token of your site: give the page its address (token-url), or set chatAnonymous to on.",
        { field: "authorization" },
      );
    await limits.create(callerOf(c));
    return c.json(issued(await chat().tokens.create(Date.now())));
  });

  app.get(`${chatPath}history`, async (c) => {
    const query = new Query(c, ["before", "limit"]);
    const visitor = await visitorOf(c);
    const view = await lullOf(deps, c).get(visitor.conversation);
    const seq = view?.seq ?? 0;
    const before = Math.min(query.whole("before", 1, Number.MAX_SAFE_INTEGER) ?? seq + 1, seq + 1);
    const limit = query.whole("limit", 1, mostHistory) ?? historyDefault;
    const { seen, next } = await historyOf(visitor.id, readerOf(c, visitor), before, limit);
    return c.json({ events: seen.map(seenView), next, seq, state: stateOf(standingOf(view)) });
  });

  app.post(`${chatPath}messages`, async (c) => {
    new Query(c, []);
    const visitor = await visitorOf(c);
    const { id, text, sentAt } = await readBody(c, schemas.chatMessage, config.maxBodyBytes);
    await limits.message(keyOf(visitor));
    const received = await lullOf(deps, c).receive(visitor.conversation, {
      id,
      text,
      author: visitor.id,
      address: visitorAddress,
      ...(sentAt === undefined ? {} : { sentAt }),
      ...(visitor.name === undefined ? {} : { metadata: { name: visitor.name } }),
    });
    if (received.status === "rejected")
      throw new Problem(429, "full", "Too many unanswered messages wait in this conversation (maxPending).", {
        retryAfter: retryAfterSeconds(received.retryAfterMs),
      });
    return c.json({ id, status: received.status }, 202);
  });

  app.post(`${chatPath}typing`, async (c) => {
    new Query(c, []);
    const visitor = await visitorOf(c);
    const { on } = await readOptionalBody(c, schemas.chatTyping, config.maxBodyBytes);
    await lullOf(deps, c).typing(visitor.conversation, on === undefined ? {} : { on });
    return c.body(null, 204);
  });

  app.get(`${chatPath}events`, async (c) => {
    const query = new Query(c, ["after"]);
    const asked = query.whole("after", 0, Number.MAX_SAFE_INTEGER);
    const visitor = await visitorOf(c);
    const lull = lullOf(deps, c);
    const { conversation } = visitor;
    const view = await lull.get(conversation);
    const seq = view?.seq ?? 0;
    const isNew = asked !== undefined && asked > seq;
    const from = asked === undefined ? seq : isNew ? 0 : asked;
    const inside = joinId(visitor.bot, conversation);
    return stream(c.req.raw, visitor, (signal) =>
      visitorFrames({
        events: lull.events(conversation, { after: from, signal }),
        sight: sightOf(visitor.id, readerOf(c, visitor)),
        standing: standingOf(view),
        from,
        isNew,
        draft: { now: drafts.of(inside), on: (listener) => drafts.on(inside, listener) },
      }),
    );
  });

  /** Ends with the token, too: a page that may not ask any more is told nothing any more. */
  function stream(request: Request, visitor: Visitor, source: (signal: AbortSignal) => AsyncIterable<Frame>): Response {
    if (open >= config.maxStreams)
      throw new Problem(503, "too-many-streams", `${open} event streams are open (maxStreams).`, { retryAfter: 5 });
    const leave = limits.stream(keyOf(visitor));
    open += 1;
    deps.metrics.stream(1);
    const ended = new AbortController();
    const expired = new AbortController();
    const timer = setTimeout(() => expired.abort(), Math.max(0, visitor.expiresAtMs - Date.now()));
    timer.unref();
    return eventStream(source(ended.signal), {
      heartbeatMs: config.heartbeatMs,
      signal: AbortSignal.any([
        request.signal,
        expired.signal,
        deps.closing,
        ...(deps.replaced ? [deps.replaced] : []),
      ]),
      onEnd: (error) => {
        if (error !== undefined) deps.log.warn({ code: problemOf(error).code }, "a visitor's stream broke off");
        clearTimeout(timer);
        open -= 1;
        deps.metrics.stream(-1);
        leave();
        ended.abort();
      },
    });
  }

  return app;
}

/** The same person under two bots is two callers; ids hold no line feed that would make two one. */
function keyOf({ bot, id }: Visitor): string {
  return JSON.stringify([bot, id]);
}

function issued({ token, expiresAtMs }: IssuedToken): { token: string; expiresAt: string | null } {
  return { token, expiresAt: instant(expiresAtMs) };
}

/** The token of the request; null without a header. @throws Problem 400 for another scheme */
function bearer(c: Context): string | null {
  const header = c.req.header("authorization");
  if (header === undefined) return null;
  const token = /^bearer +(\S+) *$/i.exec(header)?.[1];
  if (token === undefined) throw invalid("authorization", "Send the visitor's token: Authorization: Bearer TOKEN.");
  return token;
}

function unauthorized(): Problem {
  return new Problem(401, "unauthorized", "Send the visitor's token: Authorization: Bearer TOKEN.", {
    field: "authorization",
    headers: { "www-authenticate": 'Bearer realm="lull chat"' },
  });
}
