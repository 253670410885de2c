/**
 * What operators do to the whole store: pause it, and erase an author.
 *
 * @module
 */
import { type Context, Hono } from "hono";
import { redacted } from "lull";
import { checkId } from "../schemas.ts";
import { readOptionalBody } from "./body.ts";
import type { Env, Limited } from "./deps.ts";
import { may, operatorOf } from "./guard.ts";
import { defined } from "./messages.ts";
import { Query } from "./query.ts";
import { view } from "./view.ts";

export function adminRoutes(deps: Limited): Hono<Env> {
  const { lull, schemas } = deps;
  const most = deps.config.maxBodyBytes;
  const app = new Hono<Env>();
  const operate = may(deps, "operate");
  const by = (c: Context<Env>, call: { by?: string | undefined }) => call.by ?? operatorOf(c);

  app.get("/v1/pause", may(deps, "read", { admin: true }), async (c) => {
    new Query(c, []);
    const paused = await lull.pausedAll();
    return c.json({ paused: view(c.get("texts") ? paused : redacted(paused)), working: lull.working });
  });

  app.post("/v1/pause", operate, async (c) => {
    const call = await readOptionalBody(c, schemas.pause, most);
    const paused = await lull.pauseAll(defined({ ...call, by: by(c, call) }));
    return c.json({ paused: view(paused), working: lull.working });
  });

  app.post("/v1/unpause", operate, async (c) => {
    const call = await readOptionalBody(c, schemas.unpause, most);
    const { was, dropped } = await lull.unpauseAll(defined({ ...call, by: by(c, call) }));
    return c.json({ was: view(was), dropped });
  });

  app.delete("/v1/authors/:author", operate, async (c) => {
    const query = new Query(c, ["prefix", "scrub"]);
    const prefix = query.text("prefix");
    const author = checkId("author", c.get("segments")[3] ?? "");
    const erased = await lull.eraseAuthor(
      author,
      prefix === undefined || prefix === "" ? {} : { prefix: checkId("prefix", prefix) },
    );
    return c.json({ ...erased, left: query.flag("scrub") ? await deps.scrub() : null });
  });

  return app;
}
