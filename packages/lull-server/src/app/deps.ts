/**
 * What the routes need, handed in: tests give the same things the real server does.
 *
 * @module
 */
import type { Lull } from "lull";
import type { Key } from "../auth.ts";
import type { Channels } from "../channels/index.ts";
import type { Health } from "../health/index.ts";
import type { Logger } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import type { Schemas } from "../schemas.ts";
import type { Config } from "../settings.ts";
import type { Drafts } from "../visitors/drafts.ts";
import type { Limits } from "./limits.ts";

export interface Deps {
  lull: Lull;
  config: Config;
  schemas: Schemas;
  keys: readonly Key[];
  metrics: Metrics;
  health: Health;
  /** Chat platforms, on the port for everybody. */
  channels?: Channels;
  log: Logger;
  /** Leaves no trace of what was erased in the store's files; resolves to what is left for others to do, or null. */
  scrub: () => Promise<string | null>;
  /** Whatever needs the role operate, and metrics, are served on another port. */
  adminElsewhere: boolean;
  /** What visitors of the web chat are shown before it is said. Default: nothing is. */
  drafts?: Drafts;
  /** The folder with the built pages. Default: the package's own. */
  web?: string;
  /** Aborts when the server shuts down: streams end, waits are over. */
  closing: AbortSignal;
  /** Aborts when other settings have taken over: streams end, and clients resume them there. */
  replaced?: AbortSignal;
}

/** The same with the limits that one application keeps. */
export type Limited = Deps & { limits: Limits };

/** What a request carries from the first middleware to its route. */
export interface Env {
  Variables: {
    /** Path segments, decoded one by one: `%2F` in an id stays part of the id. */
    segments: string[];
    /** Name of the key that was used; null without keys. */
    caller: string | null;
    /** What they write may be shown; false for keys with the role `inspect`. */
    texts: boolean;
    /** Whose conversations are meant; "" for the bot without a name. */
    bot: string;
    requestId: string;
  };
}
