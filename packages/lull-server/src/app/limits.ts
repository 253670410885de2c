/**
 * How much one caller may ask of this process: so many requests a minute, and so many at once. A caller is a key, or,
 * without keys, an address.
 *
 * @module
 */
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { RateLimiterMemory, type RateLimiterRes } from "rate-limiter-flexible";
import { Problem, retryAfterSeconds } from "../problem.ts";
import type { Config } from "../settings.ts";

export interface Limits {
  /**
   * Counts a request in; the result counts it out.
   * @throws Problem 429
   */
  enter(caller: string): Promise<() => void>;
}

export function createLimits(config: Pick<Config, "maxRequestsPerMinute" | "maxRequestsAtOnce">): Limits {
  const perMinute = new RateLimiterMemory({ points: config.maxRequestsPerMinute, duration: 60 });
  const underWay = new Map<string, number>();
  return {
    async enter(caller) {
      const now = underWay.get(caller) ?? 0;
      if (now >= config.maxRequestsAtOnce)
        throw new Problem(429, "too-many-requests", `${now} requests are under way already (maxRequestsAtOnce).`, {
          retryAfter: 1,
        });
      underWay.set(caller, now + 1);
      const leave = () => {
        const left = (underWay.get(caller) ?? 1) - 1;
        if (left > 0) underWay.set(caller, left);
        else underWay.delete(caller);
      };
      try {
        await perMinute.consume(caller);
      } catch (error) {
        leave();
        if (error instanceof Error) throw error;
        const { msBeforeNext } = error as RateLimiterRes;
        throw new Problem(
          429,
          "too-many-requests",
          `More than ${config.maxRequestsPerMinute} requests within a minute (maxRequestsPerMinute).`,
          { retryAfter: retryAfterSeconds(msBeforeNext) },
        );
      }
      return leave;
    },
  };
}

/** Who asks, where no key says so. */
export function addressOf(c: Context): string {
  const incoming = (c.env as Partial<HttpBindings> | undefined)?.incoming;
  return incoming?.socket.remoteAddress ?? "here";
}

/** Calls `done` when the answer is out: streams and slow readers count until then. */
export function whenAnswered(c: Context, done: () => void): void {
  const outgoing = (c.env as Partial<HttpBindings> | undefined)?.outgoing;
  if (outgoing === undefined || outgoing.writableFinished || outgoing.destroyed) done();
  else outgoing.once("close", done);
}
