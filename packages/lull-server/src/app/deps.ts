/**
 * What the routes need, handed in: tests give the same things the real server does.
 *
 * @module
 */
import type { Lull } from "lull";
import type { Key } from "../auth.ts";
import type { Logger } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import type { Schemas } from "../schemas.ts";
import type { Config } from "../settings.ts";

export interface Deps {
  lull: Lull;
  config: Config;
  schemas: Schemas;
  keys: readonly Key[];
  metrics: Metrics;
  log: Logger;
  /** Aborts when the server shuts down: streams end, waits are over. */
  closing: AbortSignal;
}

/** What a request carries from the first middleware to its route. */
export interface Env {
  Variables: {
    /** Path segments, decoded one by one: `%2F` in an id stays part of the id. */
    segments: string[];
    /** Name of the key that was used; null without keys. */
    caller: string | null;
  };
}
