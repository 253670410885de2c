/**
 * Looking at conversations, and what an operator does with them.
 *
 * @module
 */
import { type Context, Hono } from "hono";
import type { ConversationView } from "lull";
import { version } from "../openapi.ts";
import { Problem } from "../problem.ts";
import { checkId } from "../schemas.ts";
import { readBody, readOptionalBody } from "./body.ts";
import type { Env, Limited } from "./deps.ts";
import { may, operatorOf } from "./guard.ts";
import { findConversations, stateFilters } from "./listing.ts";
import { defined } from "./messages.ts";
import { Query } from "./query.ts";
import { lullOf } from "./scope.ts";
import { view } from "./view.ts";

export function idOf(c: Context<Env>): string {
  return checkId("conversation", c.get("segments")[3] ?? "");
}

export function unknownConversation(): Problem {
  return new Problem(404, "not-found", "There is no such conversation.", { field: "conversation" });
}

export function conversationRoutes(deps: Limited): Hono<Env> {
  const { schemas } = deps;
  const of = (c: Context<Env>) => lullOf(deps, c);
  const most = deps.config.maxBodyBytes;
  const app = new Hono<Env>();
  const read = may(deps, "read");
  const operate = may(deps, "operate");

  /** An operator's call, with who it was. */
  const signed = (c: Context<Env>, call: { by?: string | undefined }) =>
    defined({ ...call, by: call.by ?? operatorOf(c) }) as never;

  app.get("/v1/conversations", read, async (c) => {
    const query = new Query(c, ["after", "limit", "prefix", "author", "state", "active", "parked", "handedOff"]);
    const [after, prefix, author] = [query.text("after"), query.text("prefix"), query.text("author")];
    if (author && !c.get("texts"))
      throw new Problem(403, "forbidden", "This key may not see who writes, so it cannot look for somebody.", {
        field: "author",
      });
    // Empty fields of a form ask for nothing.
    const id = (name: string, value: string | undefined) => (value ? checkId(name, value) : undefined);
    const { conversations, next, scanned } = await findConversations(
      of(c),
      defined({
        after: after === undefined ? undefined : checkId("after", after),
        limit: query.whole("limit", 1, 1_000),
        prefix: id("prefix", prefix),
        author: id("author", author),
        state: query.choice("state", stateFilters),
        active: query.flag("active"),
        parked: query.flag("parked"),
        handedOff: query.flag("handedOff"),
      }),
    );
    return c.json({ conversations: conversations.map(summary), next, ...defined({ scanned }) });
  });

  app.get("/v1/conversations/:id", read, async (c) => {
    new Query(c, []);
    const conversation = await of(c).get(idOf(c));
    if (conversation === null) throw unknownConversation();
    return c.json(view(conversation) as object);
  });

  app.get("/v1/conversations/:id/log", read, async (c) => {
    const query = new Query(c, ["from", "before", "limit"]);
    const page = defined({
      from: query.whole("from", 1, Number.MAX_SAFE_INTEGER),
      before: query.whole("before", 1, Number.MAX_SAFE_INTEGER),
      limit: query.whole("limit", 1, 1_000),
    });
    const id = idOf(c);
    const entries = await of(c).log(id, page);
    if (entries.length === 0 && (await of(c).get(id)) === null) throw unknownConversation();
    return c.json({ entries: entries.map(view) });
  });

  app.get("/v1/conversations/:id/explain", read, async (c) => {
    new Query(c, []);
    const id = idOf(c);
    if ((await of(c).get(id)) === null) throw unknownConversation();
    return c.json({ sentences: await of(c).explain(id) });
  });

  app.get("/v1/conversations/:id/report", read, async (c) => {
    new Query(c, []);
    const report = await of(c).report(idOf(c), { versions: { "lull-server": version, node: process.version } });
    if (report === null) throw unknownConversation();
    return c.json(report);
  });

  app.post("/v1/conversations/:id/send", operate, async (c) => {
    const message = await readBody(c, schemas.send, most);
    const sent = await of(c).send(idOf(c), signed(c, message));
    if (sent.status === "full")
      throw new Problem(429, "full", "Too many of the bot's own messages wait in this conversation (maxSends).", {
        retryAfter: 5,
      });
    return c.json(sent, 202);
  });

  app.post("/v1/conversations/:id/handoff", operate, async (c) => {
    await of(c).handoff(idOf(c), signed(c, await readOptionalBody(c, schemas.handoff, most)));
    return c.body(null, 204);
  });

  app.post("/v1/conversations/:id/human-replies", operate, async (c) => {
    await of(c).humanReply(idOf(c), signed(c, await readBody(c, schemas.humanReply, most)));
    return c.body(null, 204);
  });

  app.post("/v1/conversations/:id/resume", operate, async (c) => {
    await of(c).resume(idOf(c), signed(c, await readOptionalBody(c, schemas.resume, most)));
    return c.body(null, 204);
  });

  app.post("/v1/conversations/:id/reset", operate, async (c) => {
    await of(c).reset(idOf(c), signed(c, await readOptionalBody(c, schemas.operator, most)));
    return c.body(null, 204);
  });

  app.put("/v1/conversations/:id/settings", operate, async (c) => {
    await of(c).tune(idOf(c), signed(c, await readBody(c, schemas.tune, most)));
    return c.body(null, 204);
  });

  app.post("/v1/conversations/:id/retry", operate, async (c) => {
    return c.json(await of(c).retry(idOf(c), signed(c, await readOptionalBody(c, schemas.operator, most))));
  });

  app.delete("/v1/conversations/:id", operate, async (c) => {
    const scrub = new Query(c, ["scrub"]).flag("scrub") ?? false;
    const existed = await of(c).erase(idOf(c));
    // Also where there was nothing: traces of an earlier erasure may be what the caller is after.
    if (scrub) return c.json({ erased: existed, left: await deps.scrub() });
    if (!existed) throw unknownConversation();
    return c.body(null, 204);
  });

  return app;
}

/** A conversation in a list: of the record only since when somebody waits, and when its timer rings. */
function summary({ record, ...rest }: ConversationView): unknown {
  return view({ ...rest, openedAtMs: record.window?.openedAtMs ?? null, dueAtMs: rest.wakeAtMs });
}
