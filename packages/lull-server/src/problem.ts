/**
 * Errors as RFC 9457 problems: `application/problem+json` with a stable `code`, and `field` where one field
 * is to blame (`errors` lists all of them). Branch on `code`; `detail` is for people.
 *
 * @module
 */
import { LullError, type LullErrorCode } from "lull";

export interface FieldError {
  field: string;
  detail: string;
}

export interface ProblemBody {
  type: "about:blank";
  title: string;
  status: number;
  code: string;
  detail: string;
  field?: string;
  errors?: FieldError[];
  /** When the same request may succeed. */
  at?: string;
}

export type ProblemCode =
  | LullErrorCode
  | "invalid-json"
  | "unauthorized"
  | "forbidden"
  | "host-not-allowed"
  | "origin-not-allowed"
  | "invalid-token"
  | "token-expired"
  | "method-not-allowed"
  | "unsupported-media-type"
  | "too-many-streams"
  | "too-many-requests"
  | "internal";

const titles: Record<number, string> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  425: "Too Early",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  503: "Service Unavailable",
};

export interface ProblemOptions {
  field?: string;
  errors?: FieldError[];
  headers?: Record<string, string>;
  /** Seconds for `Retry-After`. */
  retryAfter?: number;
  /** Told as `at`. */
  atMs?: number;
}

/** Thrown anywhere in a request; becomes its answer. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly status: number;
  readonly code: ProblemCode;
  readonly options: ProblemOptions;
  constructor(status: number, code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    super(detail);
    this.status = status;
    this.code = code;
    this.options = options;
  }
}

/** The caller's mistake in one named field. */
export function invalid(field: string, detail: string): Problem {
  return new Problem(400, "invalid-argument", detail, { field });
}

/** Seconds for a `Retry-After` header, never 0: a client that obeys must not spin. */
export function retryAfterSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}

const statuses: Record<LullErrorCode, number> = {
  "invalid-argument": 400,
  "invalid-options": 500,
  "too-large": 413,
  "not-found": 404,
  "not-started": 503,
  stopped: 503,
  early: 425,
  superseded: 409,
  lost: 409,
  answered: 409,
  "timed-out": 503,
  "handed-off": 409,
  reset: 409,
  undeliverable: 409,
  busy: 503,
  "empty-answer": 500,
  "effect-too-large": 413,
  "effects-full": 429,
  full: 429,
  unsupported: 501,
  "store-unavailable": 503,
  "store-busy": 503,
  "store-closed": 503,
  "store-damaged": 500,
  "store-newer-schema": 500,
  "store-not-contiguous": 503,
  "clock-skew": 503,
};

/** Any thrown value as a problem. What is not ours tells nothing about itself. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (LullError.isInstance(error)) {
    const status = statuses[error.code] ?? 500;
    const field = error.details?.field;
    return new Problem(status, error.code, error.message, {
      ...(typeof field === "string" ? { field } : {}),
      ...(status === 503 || status === 429 ? { retryAfter: 1 } : {}),
    });
  }
  return new Problem(500, "internal", "Something went wrong inside the server; its log says what.");
}

export function problemBody(problem: Problem): ProblemBody {
  const field = problem.options.field ?? problem.options.errors?.[0]?.field;
  return {
    type: "about:blank",
    title: titles[problem.status] ?? "Error",
    status: problem.status,
    code: problem.code,
    detail: problem.message,
    ...(field === undefined ? {} : { field }),
    ...(problem.options.errors === undefined ? {} : { errors: problem.options.errors }),
    ...(problem.options.atMs === undefined ? {} : { at: new Date(problem.options.atMs).toISOString() }),
  };
}

export function problemResponse(problem: Problem): Response {
  return new Response(JSON.stringify(problemBody(problem)), {
    status: problem.status,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...(problem.options.retryAfter === undefined ? {} : { "retry-after": String(problem.options.retryAfter) }),
      ...problem.options.headers,
    },
  });
}
