/**
 * Which sites' pages may use the web chat. Browsers say where a request comes from, and show an answer only to pages
 * that are named in it; so an allow-list is enough, and no cookie is involved.
 *
 * @module
 */
import type { MiddlewareHandler } from "hono";
import type { Env } from "../app/deps.ts";
import { ConfigError } from "../config.ts";
import { Problem } from "../problem.ts";

/** Where the web chat's routes are. */
export const chatPath = "/v1/chat/";

/** What pages send with a request, and may read of an answer. */
const methods = "GET, POST";
const sent = "authorization, content-type";
const shown = "retry-after, x-request-id";
const preflightSeconds = 600;

/**
 * Origins as browsers write them.
 * @throws ConfigError naming those that are none
 */
export function parseOrigins(entries: readonly string[]): ReadonlySet<string> {
  const problems = entries
    .filter((entry) => originOf(entry) !== entry.toLowerCase())
    .map(
      (entry) =>
        `chatOrigins: ${JSON.stringify(entry)} is no origin; write scheme, name and port if there is one, such as ${JSON.stringify(originOf(entry) ?? "https://www.example.com")}.`,
    );
  if (problems.length > 0) throw new ConfigError(problems);
  return new Set(entries.map((entry) => entry.toLowerCase()));
}

function originOf(entry: string): string | null {
  if (!URL.canParse(entry)) return null;
  const { protocol, origin } = new URL(entry);
  return protocol === "https:" || protocol === "http:" ? origin : null;
}

/** Answers preflights, lets pages of these origins and the server's own pass, and refuses all others. */
export function fromOrigins(allowed: ReadonlySet<string>): MiddlewareHandler<Env> {
  return async (c, next) => {
    const origin = c.req.header("origin");
    // A program: browsers always send one with what a page of another site asks for.
    if (origin === undefined) return next();
    const isListed = allowed.has(origin.toLowerCase());
    const isOwn = URL.canParse(origin) && new URL(origin).host === c.req.header("host")?.toLowerCase();
    if (!isListed && !isOwn)
      throw new Problem(
        403,
        "origin-not-allowed",
        "Pages of this site may not use the web chat; add its origin to chatOrigins.",
        { field: "origin", headers: { vary: "origin" } },
      );
    if (c.req.method === "OPTIONS")
      return c.body(null, 204, {
        ...readableBy(origin),
        "access-control-allow-methods": methods,
        "access-control-allow-headers": sent,
        "access-control-max-age": String(preflightSeconds),
      });
    await next();
    // Also what is refused further on: the page may read why.
    for (const [name, value] of Object.entries(readableBy(origin))) c.res.headers.set(name, value);
  };
}

function readableBy(origin: string): Record<string, string> {
  return { "access-control-allow-origin": origin, "access-control-expose-headers": shown, vary: "origin" };
}
