/**
 * What operators do to the whole store: pause it, and erase an author.
 *
 * @module
 */
import { Hono } from "hono";
import { checkId } from "../schemas.ts";
import { readOptionalBody } from "./body.ts";
import type { Env, Limited } from "./deps.ts";
import { may } from "./guard.ts";
import { defined } from "./messages.ts";
import { Query } from "./query.ts";
import { view } from "./view.ts";

export function adminRoutes(deps: Limited): Hono<Env> {
  const { lull, schemas } = deps;
  const most = deps.config.maxBodyBytes;
  const app = new Hono<Env>();
  const operate = may(deps, "operate");

  app.get("/v1/pause", may(deps, "read", { admin: true }), async (c) => {
    new Query(c, []);
    return c.json({ paused: view(await lull.pausedAll()), working: lull.working });
  });

  app.post("/v1/pause", operate, async (c) => {
    const call = await readOptionalBody(c, schemas.pause, most);
    const caller = c.get("caller");
    const paused = await lull.pauseAll(defined({ ...call, by: call.by ?? caller ?? undefined }));
    return c.json({ paused: view(paused), working: lull.working });
  });

  app.post("/v1/unpause", operate, async (c) => {
    const call = await readOptionalBody(c, schemas.unpause, most);
    const caller = c.get("caller");
    const { was, dropped } = await lull.unpauseAll(defined({ ...call, by: call.by ?? caller ?? undefined }));
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
