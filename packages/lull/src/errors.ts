/**
 * Every error that lull itself raises. Branch on `code`, never on the message.
 *
 * @module
 */

/** All codes, so that a table of answers (HTTP status, advice) can be checked for completeness. */
export const lullErrorCodes = [
  // The caller's mistakes
  "invalid-argument",
  "invalid-options",
  "too-large",
  "not-found",
  "not-started",
  "stopped",
  // An attempt that may not go on
  "early",
  "superseded",
  "lost",
  "answered",
  "timed-out",
  "handed-off",
  "reset",
  "undeliverable",
  "busy",
  "empty-answer",
  "effect-too-large",
  "effects-full",
  // Limits
  "full",
  // A store that lacks an optional word of the port
  "unsupported",
  // Stores
  "store-unavailable",
  "store-busy",
  "store-closed",
  "store-damaged",
  "store-newer-schema",
  "store-not-contiguous",
  "clock-skew",
] as const;

export type LullErrorCode = (typeof lullErrorCodes)[number];

/** The same call may succeed later, unchanged. */
const retryableCodes: ReadonlySet<LullErrorCode> = new Set<LullErrorCode>([
  "early",
  "busy",
  "full",
  "store-unavailable",
  "store-busy",
  "clock-skew",
]);

export interface LullErrorOptions {
  cause?: unknown;
  /** Facts for logs and answers: ids, numbers, limits. Never a user's text. */
  details?: Record<string, unknown>;
  /** Default: by code. */
  retryable?: boolean;
}

/** Shared by all copies of the package in one process. */
const marker = Symbol.for("lull.error");

/**
 * @example
 * try {
 *   await lull.receive(id, message);
 * } catch (error) {
 *   if (LullError.isInstance(error) && error.retryable) return new Response(null, { status: 503 });
 *   throw error;
 * }
 */
export class LullError extends Error {
  override readonly name = "LullError";
  readonly code: LullErrorCode;
  /** True when the same call may succeed later, unchanged. */
  readonly retryable: boolean;
  declare readonly details?: Record<string, unknown>;

  constructor(code: LullErrorCode, message: string, options: LullErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.retryable = options.retryable ?? retryableCodes.has(code);
    if (options.details) this.details = options.details;
    // Not `instanceof`: two versions of the package in one process have two classes. Not enumerable: logs stay clean.
    Object.defineProperty(this, marker, { value: true });
  }

  /** True for errors of any copy of this package. */
  static isInstance(value: unknown): value is LullError {
    return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[marker] === true;
  }
}
