/**
 * How much one visitor may ask of this process, and one address that wants to become visitors.
 *
 * @module
 */
import { RateLimiterMemory, type RateLimiterRes } from "rate-limiter-flexible";
import { Problem, retryAfterSeconds } from "../problem.ts";
import type { Config } from "../settings.ts";

type LimitSettings = Pick<
  Config,
  "chatVisitorsPerHour" | "chatMessagesPerMinute" | "chatRequestsPerMinute" | "chatStreams"
>;

/** Each throws Problem 429 with `Retry-After`. */
export interface VisitorLimits {
  request(visitor: string): Promise<void>;
  message(visitor: string): Promise<void>;
  /** An address becomes a visitor. */
  create(address: string): Promise<void>;
  /** Counts a stream in; the result counts it out. */
  stream(visitor: string): () => void;
}

export function visitorLimits(config: LimitSettings): VisitorLimits {
  const limit = (points: number, duration: number, setting: keyof LimitSettings, what: string) => {
    const limiter = new RateLimiterMemory({ points, duration });
    return async (who: string): Promise<void> => {
      try {
        await limiter.consume(who);
      } catch (error) {
        if (error instanceof Error) throw error;
        const { msBeforeNext } = error as RateLimiterRes;
        throw tooMany(`${what} (${setting}).`, retryAfterSeconds(msBeforeNext));
      }
    };
  };
  const open = new Map<string, number>();
  return {
    request: limit(config.chatRequestsPerMinute, 60, "chatRequestsPerMinute", "Too many requests within a minute"),
    message: limit(config.chatMessagesPerMinute, 60, "chatMessagesPerMinute", "Too many messages within a minute"),
    create: limit(config.chatVisitorsPerHour, 3_600, "chatVisitorsPerHour", "Too many visitors from one address"),
    stream(visitor) {
      const now = open.get(visitor) ?? 0;
      if (now >= config.chatStreams) throw tooMany(`${now} streams of this visitor are open (chatStreams).`, 5);
      open.set(visitor, now + 1);
      return () => {
        const left = (open.get(visitor) ?? 1) - 1;
        if (left > 0) open.set(visitor, left);
        else open.delete(visitor);
      };
    },
  };
}

function tooMany(detail: string, retryAfter: number): Problem {
  return new Problem(429, "too-many-requests", detail, { retryAfter });
}
