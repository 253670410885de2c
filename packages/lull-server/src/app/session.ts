/**
 * A page's session: a key is exchanged for a cookie that no script can read and no other site can use.
 *
 * @module
 */
import { type Context, Hono } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { findKey, type Key, type Role, rightsOf, unauthorized } from "../auth.ts";
import { type Asked, checkSameOrigin } from "../origin.ts";
import { keyOfSession, openSession, sessionMs } from "../sessions.ts";
import { readBody } from "./body.ts";
import type { Deps, Env, Limited } from "./deps.ts";
import { addressOf, whenAnswered } from "./limits.ts";
import { Query } from "./query.ts";

const cookie = "lull_session";

/** What a page may do, and shows. */
interface Session {
  /** The key's name; null where the server has no keys. */
  name: string | null;
  roles: Role[];
  /** The only bot it is good for; null: all. */
  bot: string | null;
  /** False: what people write is not shown, only how long it is. */
  texts: boolean;
}

/**
 * The key behind a request's cookie, or null. A request that carries it must come from our own pages: a browser sends
 * a cookie along, whoever made the request.
 * @throws Problem 403 `origin-not-allowed`
 */
export function sessionKey(deps: Pick<Deps, "keys">, c: Context<Env>): Key | null {
  const value = getCookie(c, cookie);
  const key = value === undefined ? null : keyOfSession(deps.keys, value, Date.now());
  if (key !== null) checkSameOrigin(originOf(c));
  return key;
}

export function sessionRoutes(deps: Limited): Hono<Env> {
  const app = new Hono<Env>();
  const path = "/v1/session";

  const shown = (key: Key | null): Session => {
    const roles = key === null ? rightsOf(["operate"]) : rightsOf(key.roles);
    return {
      name: key?.name ?? null,
      roles: deps.adminElsewhere ? roles.filter((role) => role !== "operate") : roles,
      bot: key?.bot ?? null,
      texts: key === null || !key.roles.has("inspect"),
    };
  };

  app.get(path, (c) => {
    new Query(c, []);
    if (deps.keys.length === 0) return c.json(shown(null));
    const key = sessionKey(deps, c);
    if (key === null) throw unauthorized("No session: give one of the server's keys.");
    return c.json(shown(key));
  });

  app.post(path, async (c) => {
    new Query(c, []);
    // Guesses count like any other request of that address.
    const leave = await deps.limits.enter(addressOf(c));
    try {
      checkSameOrigin(originOf(c), { byProgram: true });
      const { key: secret } = await readBody(c, deps.schemas.session, deps.config.maxBodyBytes);
      if (deps.keys.length === 0) return c.json(shown(null));
      const key = findKey(deps.keys, secret);
      if (key === null) throw unauthorized("This is none of the server's keys.");
      setCookie(c, cookie, openSession(key, Date.now()), {
        httpOnly: true,
        sameSite: "Strict",
        path: "/",
        maxAge: sessionMs / 1_000,
        secure: isSecure(c),
      });
      return c.json(shown(key));
    } finally {
      whenAnswered(c, leave);
    }
  });

  app.delete(path, (c) => {
    new Query(c, []);
    checkSameOrigin(originOf(c), { byProgram: true });
    deleteCookie(c, cookie, { path: "/", httpOnly: true, sameSite: "Strict", secure: isSecure(c) });
    return c.body(null, 204);
  });

  return app;
}

function originOf(c: Context): Asked {
  return {
    method: c.req.method,
    host: c.req.header("host") ?? new URL(c.req.url).host,
    origin: c.req.header("origin"),
    site: c.req.header("sec-fetch-site"),
  };
}

/** The browser came by https, to us or to the proxy before us. */
function isSecure(c: Context): boolean {
  return (c.req.header("x-forwarded-proto") ?? new URL(c.req.url).protocol).split(/[,:]/)[0]?.trim() === "https";
}
