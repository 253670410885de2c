/**
 * What the server refused or could not do, as an error.
 *
 * @module
 */
import type { components } from "./schema.ts";

type ProblemBody = components["schemas"]["Problem"];

/**
 * Every answer that is not 2xx. Branch on `code`; the message is for people.
 *
 * | `code` | |
 * |---|---|
 * | any of the server's | as in the API's problems: `invalid-argument`, `unauthorized`, `superseded`, `early`, `full` … |
 * | `unexpected-answer` | an answer that is none of lull's: something in between (a proxy, another program) gave it |
 *
 * A server that cannot be reached is not a problem of the server's: then `fetch`'s own error passes through.
 */
export class LullProblem extends Error {
  override readonly name = "LullProblem";
  readonly code: string;
  /** HTTP status. */
  readonly status: number;
  /** The field to blame, as `parts[0].text`; null: none. */
  readonly field: string | null;
  /** Every field that is to blame. */
  readonly errors: readonly { field: string; detail: string }[];
  /** Seconds after which the same request may succeed (`Retry-After`); null: the server does not say. */
  readonly retryAfter: number | null;
  /** When the same request may succeed, by the server's clock; null: the server does not say. */
  readonly at: Date | null;
  /** Names the request in the server's log; null: none was sent. */
  readonly requestId: string | null;

  constructor(response: Response, body: Partial<ProblemBody>) {
    super(body.detail ?? `The server answered ${response.status} ${response.statusText}`.trim());
    this.code = body.code ?? "unexpected-answer";
    this.status = response.status;
    this.field = body.field ?? null;
    this.errors = body.errors ?? [];
    this.retryAfter = secondsOf(response.headers.get("retry-after"));
    this.at = body.at === undefined ? null : new Date(body.at);
    this.requestId = response.headers.get("x-request-id");
  }
}

/** The problem that an answer is. Reads its body. */
export async function problemOf(response: Response): Promise<LullProblem> {
  const text = await response.text().catch(() => "");
  const isProblem = response.headers.get("content-type")?.startsWith("application/problem+json") === true;
  if (!isProblem) return new LullProblem(response, {});
  try {
    return new LullProblem(response, JSON.parse(text) as ProblemBody);
  } catch {
    return new LullProblem(response, {}); // cut off on its way
  }
}

/** `Retry-After` in seconds: a number, or a date. */
function secondsOf(header: string | null): number | null {
  if (header === null) return null;
  const seconds = /^\d+$/.test(header.trim()) ? Number(header) : (Date.parse(header) - Date.now()) / 1_000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}
