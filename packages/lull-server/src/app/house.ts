/**
 * Is the server alive, its metrics, and the API's description.
 *
 * @module
 */
import { Hono } from "hono";
import { LullError } from "lull";
import { openApi } from "../openapi.ts";
import { Problem } from "../problem.ts";
import type { Env, Limited } from "./deps.ts";
import { may } from "./guard.ts";

/** A store that has not answered by then counts as away. */
const readyMs = 2_000;

export function houseRoutes(deps: Limited): Hono<Env> {
  const app = new Hono<Env>();
  let description: object | null = null;

  app.get("/healthz", (c) => c.json({ status: "alive" }));

  app.get("/readyz", async (c) => {
    if (deps.closing.aborted) throw new Problem(503, "stopped", "The server is shutting down.", { retryAfter: 1 });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        reject,
        readyMs,
        new LullError("store-unavailable", `The store did not answer within ${readyMs} ms.`),
      );
    });
    try {
      await Promise.race([deps.lull.ready(), late]);
    } catch (error) {
      throw LullError.isInstance(error)
        ? error
        : new LullError("store-unavailable", "The store is away.", { cause: error });
    } finally {
      clearTimeout(timer);
    }
    return c.json({ status: "ready" });
  });

  app.get("/metrics", may(deps, "read", { admin: true }), async (c) => {
    const text = await deps.metrics.text();
    return c.body(text, 200, { "content-type": deps.metrics.contentType });
  });

  app.get("/openapi.json", (c) => {
    description ??= openApi(deps.schemas, deps.keys.length > 0);
    return c.json(description);
  });

  return app;
}
