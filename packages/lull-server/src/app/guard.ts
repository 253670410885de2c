/**
 * What every request passes first: its path is decoded strictly, its origin and its key are checked, its
 * time is measured, and whatever is thrown becomes a problem.
 *
 * @module
 */
import type { HttpBindings } from "@hono/node-server";
import type { Context, MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import { authorize, checkBrowser, checkRole, type Key, type Role } from "../auth.ts";
import { invalid, Problem, problemOf, problemResponse } from "../problem.ts";
import { chatPath } from "../visitors/origins.ts";
import type { Deps, Env, Limited } from "./deps.ts";
import { addressOf, whenAnswered } from "./limits.ts";
import { requestIdOf } from "./request-id.ts";
import { sessionKey } from "./session.ts";

/** The path as it was sent. Over a socket it is read raw, because URL parsers resolve `..` and `%2e%2e` away. */
function rawPath(c: Context): string {
  const incoming = (c.env as Partial<HttpBindings> | undefined)?.incoming;
  const target = incoming?.url ?? c.req.url.replace(/^[a-z]+:\/\/[^/]*/i, "");
  return target.replace(/^[a-z]+:\/\/[^/]*/i, "").replace(/[?#].*$/s, "");
}

function decodePath(c: Context): string[] {
  return rawPath(c)
    .split("/")
    .map((segment) => {
      let decoded: string;
      try {
        decoded = decodeURIComponent(segment);
      } catch {
        throw invalid("path", "The path has a broken percent-encoding; ids must be encoded as UTF-8.");
      }
      if (decoded === "." || decoded === "..") throw invalid("path", 'Ids must not be "." or "..".');
      return decoded;
    });
}

const routeLabels = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]);

export function guard(deps: Deps): MiddlewareHandler<Env> {
  return async (c, next) => {
    const began = performance.now();
    const requestId = requestIdOf(c.req.header("x-request-id"));
    c.set("requestId", requestId);
    // A platform's webhook comes through a tunnel under that one's name, and is signed.
    const signed = deps.channels !== undefined && c.req.path.startsWith("/channels/");
    // The web chat is for pages of other sites: its script is anybody's, its routes look at origins and tokens themselves.
    const forSites = c.req.path.startsWith(chatPath) || c.req.path.startsWith("/widget/");
    const origin = forSites ? undefined : c.req.header("origin");
    if (deps.keys.length === 0 && !signed) checkBrowser(c.req.header("host") ?? new URL(c.req.url).host, origin);
    c.set("segments", decodePath(c));
    c.set("caller", null);
    c.set("texts", true);
    c.set("bot", "");
    await next();
    c.res.headers.set("x-request-id", requestId);
    const ms = performance.now() - began;
    // Only this middleware matched: nobody's path, and its label must not be the caller's to choose.
    const matched = routePath(c, -1);
    const route = matched === "/*" ? "unmatched" : matched;
    const method = routeLabels.has(c.req.method) ? c.req.method : "other";
    const isLong =
      c.res.headers.get("content-type")?.startsWith("text/event-stream") || c.req.query("wait") !== undefined;
    if (!isLong) deps.metrics.request(method, route, c.res.status, ms / 1_000);
    deps.log.debug(
      { requestId, method, route, status: c.res.status, ms: Math.round(ms), key: c.get("caller") },
      "request",
    );
  };
}

/**
 * Lets a request through that has a key with `role` and keeps within its limits; without keys everyone on this machine
 * may. `admin`: only on the port for operators, if there is one.
 */
export function may(deps: Limited, role: Role, { admin = role === "operate" } = {}): MiddlewareHandler<Env> {
  return async (c, next) => {
    if (admin && deps.adminElsewhere)
      throw new Problem(404, "not-found", "This is served on the admin port only (adminPort).", { field: "path" });
    const key = deps.keys.length > 0 ? keyOf(deps, c, role) : null;
    c.set("caller", key?.name ?? null);
    c.set("texts", key === null || !key.roles.has("inspect"));
    c.set("bot", botFor(deps, key, c));
    const leave = await deps.limits.enter(c.get("caller") ?? addressOf(c));
    try {
      await next();
    } finally {
      whenAnswered(c, leave);
    }
  };
}

/** The key that a request brings, in its header or as a page's session. @throws Problem 401 or 403. */
function keyOf(deps: Limited, c: Context<Env>, role: Role): Key {
  const header = c.req.header("authorization");
  const key = header === undefined ? sessionKey(deps, c) : null;
  if (key === null) return authorize(deps.keys, header, role);
  checkRole(key, role);
  return key;
}

/** Everything else concerns the whole server. */
const ofBots = new Set(["messages", "conversations", "events"]);

/** The bot that the request is for: the key's, or the one that the header `lull-bot` names. */
function botFor({ config }: Deps, key: Key | null, c: Context<Env>): string {
  const wanted = c.req.header("lull-bot");
  const bound = key?.bot;
  if (bound !== undefined && (!ofBots.has(c.get("segments")[2] ?? "") || (wanted !== undefined && wanted !== bound)))
    throw new Problem(403, "forbidden", `This key is good for the bot ${bound} only.`, { field: "authorization" });
  const bot = bound ?? wanted ?? "";
  if (bot !== "" && !Object.hasOwn(config.bots ?? {}, bot))
    throw new Problem(404, "not-found", "No bot of this server is called so.", { field: "lull-bot" });
  return bot;
}

/** Who does it, for the log, where the call does not say: the key's name; without keys whoever is at this machine. */
export function operatorOf(c: Context<Env>): string {
  return c.get("caller") ?? "local";
}

/** The answer to anything thrown. Only what is our fault is logged, with its stack. */
export function answerError(deps: Deps, error: unknown, requestId: string): Response {
  const problem = problemOf(error);
  if (problem.status >= 500) deps.log.error({ requestId, code: problem.code, err: shown(error) }, "request failed");
  const response = problemResponse(problem);
  response.headers.set("x-request-id", requestId);
  return response;
}

/** Name, code and stack; messages of foreign errors may quote what they were given. */
function shown(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error };
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return { name: error.name, code: (error as { code?: unknown }).code, stack: frames.slice(0, 8).join("\n") };
}
