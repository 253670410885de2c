/**
 * The pages: the playground at `/`, the inspector, and the web chat's script. Files that were built beforehand, under a
 * policy that allows nothing from elsewhere and no script or style within a page.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serveStatic } from "@hono/node-server/serve-static";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { etag } from "hono/etag";
import { Problem } from "../problem.ts";
import type { Env } from "./deps.ts";

/** Where the build puts them; the same folder from source and from `dist`. */
export const builtPages = fileURLToPath(new URL("../../web", import.meta.url));

export const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** Letters, digits and what stands between them: no folder, no hidden file, nothing encoded. */
const plainName = /^\w[\w.-]*$/;

/** `assets/*` are named after their content; everything else may be newer under the same name. */
const forEver = "public, max-age=31536000, immutable";
const askAgain = "no-cache";

/** @param folder what was built: `index.html`, `inspector/`, `playground/`, `assets/`, `widget/` */
export function pageRoutes(folder: string): Hono<Env> {
  const app = new Hono<Env>();

  const file = (path: (c: Context<Env>) => string, caching: string): MiddlewareHandler<Env> => {
    let serve: MiddlewareHandler<Env> | undefined;
    return async (c) => {
      if (!existsSync(folder)) throw missing(folder);
      serve ??= serveStatic<Env>({ root: folder, rewriteRequestPath: (_, asked) => path(asked as Context<Env>) });
      const found = await serve(c, async () => {});
      if (found === undefined) throw missing(folder);
      found.headers.set("cache-control", caching);
      found.headers.set("content-security-policy", policy);
      found.headers.set("referrer-policy", "no-referrer");
      return found;
    };
  };
  const named = (c: Context<Env>): string => {
    const [, place = "", name = "", ...deeper] = c.get("segments");
    if (deeper.length > 0 || !plainName.test(name))
      throw new Problem(404, "not-found", "There is no such file.", { field: "path" });
    return `${place}/${name}`;
  };

  app.get(
    "/",
    etag(),
    file(() => "index.html", askAgain),
  );
  for (const place of ["inspector", "playground"]) {
    // Relative: whatever path a proxy serves us under stays in front of it.
    app.get(`/${place}`, (c) => c.body(null, 302, { location: `${place}/` }));
    app.get(
      `/${place}/`,
      etag(),
      file(() => `${place}/index.html`, askAgain),
    );
  }
  app.get("/assets/:file", file(named, forEver));
  app.get("/widget/:file", etag(), async (c, next) => {
    const found = (await file(named, askAgain)(c, next)) as Response;
    // Other sites load it: it is for that.
    found.headers.set("access-control-allow-origin", "*");
    found.headers.set("cross-origin-resource-policy", "cross-origin");
    return found;
  });
  return app;
}

function missing(folder: string): Problem {
  return existsSync(join(folder, "inspector/index.html"))
    ? new Problem(404, "not-found", "There is no such file.", { field: "path" })
    : new Problem(
        404,
        "not-found",
        "The pages were not built. In a clone of lull: npm run build. The published package contains them.",
        { field: "path" },
      );
}
