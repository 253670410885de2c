/**
 * An abort controller that is made when somebody asks for its signal: most authors and channels never do, and making one
 * and aborting it costs as much as a transition of the protocol.
 *
 * @module
 */

export interface Stop {
  readonly signal: AbortSignal;
  readonly aborted: boolean;
  /** Of the first `abort`. */
  readonly reason: unknown;
  /** Without a reason the signal gets the usual one, an `AbortError`. */
  abort(reason?: unknown): void;
}

export function newStop(): Stop {
  let controller: AbortController | null = null;
  let aborted = false;
  let why: unknown;
  return {
    get signal() {
      if (controller === null) {
        controller = new AbortController();
        if (aborted) controller.abort(why);
      }
      return controller.signal;
    },
    get aborted() {
      return aborted;
    },
    get reason() {
      return why;
    },
    abort(reason) {
      if (aborted) return;
      aborted = true;
      why = reason;
      controller?.abort(reason);
    },
  };
}
