/**
 * How the bot does, for charts.
 *
 * @module
 */
import { Hono } from "hono";
import { mostMinutes } from "../health/index.ts";
import type { Env, Limited } from "./deps.ts";
import { may } from "./guard.ts";
import { Query } from "./query.ts";
import { view } from "./view.ts";

export function healthRoutes(deps: Limited): Hono<Env> {
  const app = new Hono<Env>();
  app.get("/v1/health", may(deps, "read"), async (c) => {
    const minutes = new Query(c, ["minutes"]).whole("minutes", 1, mostMinutes) ?? 60;
    return c.json(view(await deps.health.report(minutes)) as object);
  });
  return app;
}
