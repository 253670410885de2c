/**
 * Webhooks of chat platforms. No key is asked for: each platform signs what it posts, and its adapter checks that.
 *
 * @module
 */
import { Hono } from "hono";
import { readBytes } from "./body.ts";
import type { Env, Limited } from "./deps.ts";
import { addressOf, whenAnswered } from "./limits.ts";

export function channelRoutes(deps: Limited): Hono<Env> {
  const app = new Hono<Env>();
  const { channels } = deps;
  if (channels === undefined) return app;
  // GET: WhatsApp's challenge, when the webhook is set up.
  app.all("/channels/:name", async (c) => {
    const leave = await deps.limits.enter(addressOf(c));
    try {
      const { method } = c.req;
      const body = method === "POST" ? await readBytes(c.req.raw, deps.config.maxBodyBytes) : null;
      const request = new Request(c.req.url, { method, headers: c.req.raw.headers, body });
      const response = await channels.webhook(c.req.param("name"), request);
      return new Response(response.body, response);
    } finally {
      whenAnswered(c, leave);
    }
  });
  return app;
}
