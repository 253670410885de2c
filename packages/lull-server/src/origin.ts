/**
 * Did one of our own pages make this request? Browsers say where a request comes from, and let no page change it.
 *
 * @module
 */
import { Problem } from "./problem.ts";

/** What is known of where a request comes from. */
export interface Asked {
  method: string;
  host: string;
  origin: string | undefined;
  /** `Sec-Fetch-Site` */
  site: string | undefined;
}

const reading = new Set(["GET", "HEAD"]);

/**
 * For requests that a browser sends a cookie along with. What changes something must be known to come from our own page;
 * what reads must not be known to come from another one. By `Sec-Fetch-Site` where the browser sends it (https and
 * localhost), else by `Origin` against `Host`.
 *
 * `byProgram`: the request may also come from a program, which says neither, because it brings its own right.
 * @throws Problem 403 `origin-not-allowed`
 */
export function checkSameOrigin({ method, host, origin, site }: Asked, { byProgram = false } = {}): void {
  if (site !== undefined) {
    // `none`: typed by a person, or a bookmark.
    if (site === "same-origin" || (site === "none" && reading.has(method))) return;
  } else if (origin !== undefined) {
    if (hostOf(origin) === host.toLowerCase()) return;
  } else if (byProgram || reading.has(method)) return;
  throw new Problem(
    403,
    "origin-not-allowed",
    "With a session, requests are taken from this server's own pages only.",
    {
      field: site === undefined ? "origin" : "sec-fetch-site",
    },
  );
}

/** Host and port of an origin, whatever its scheme: TLS may end at a proxy. */
function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
