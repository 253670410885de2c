/**
 * The HTTP application: pure request → response, so that tests call it without a socket.
 *
 * @module
 */
import { Hono } from "hono";
import { methodNotAllowed } from "hono/method-not-allowed";
import { Problem, problemResponse } from "../problem.ts";
import { visitorRoutes } from "../visitors/routes.ts";
import { adminRoutes } from "./admin.ts";
import { channelRoutes } from "./channels.ts";
import { conversationRoutes } from "./conversations.ts";
import type { Deps, Env } from "./deps.ts";
import { eventRoutes } from "./events.ts";
import { answerError, guard } from "./guard.ts";
import { healthRoutes } from "./health.ts";
import { houseRoutes } from "./house.ts";
import { createLimits } from "./limits.ts";
import { messageRoutes } from "./messages.ts";
import { builtPages, pageRoutes } from "./pages.ts";
import { sessionRoutes } from "./session.ts";
import { turnRoutes } from "./turns.ts";

export type { Deps } from "./deps.ts";

export function createApp(given: Deps): Hono<Env> {
  const deps = { ...given, limits: createLimits(given.config) };
  const app = new Hono<Env>();
  app.use(guard(deps));
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (c, methods) =>
        problemResponse(
          new Problem(405, "method-not-allowed", `${c.req.method} is not possible here; ${methods.join(", ")} is.`, {
            field: "method",
            headers: { allow: methods.join(", ") },
          }),
        ),
    }),
  );
  app.use(async (c, next) => {
    await next();
    c.res.headers.set("x-content-type-options", "nosniff");
    if (!c.res.headers.has("cache-control")) c.res.headers.set("cache-control", "no-store");
  });
  for (const routes of [
    houseRoutes(deps),
    messageRoutes(deps),
    conversationRoutes(deps),
    turnRoutes(deps),
    adminRoutes(deps),
    eventRoutes(deps),
    channelRoutes(deps),
    healthRoutes(deps),
    sessionRoutes(deps),
    visitorRoutes(deps),
    pageRoutes(given.web ?? builtPages),
  ])
    app.route("/", routes);
  app.notFound(() =>
    problemResponse(
      new Problem(404, "not-found", "There is nothing at this path; see /openapi.json.", { field: "path" }),
    ),
  );
  app.onError((error, c) => answerError(deps, error, c.get("requestId")));
  return app;
}
