/**
 * Wishes for one conversation, checked.
 *
 * @module
 */
import { LullError } from "./errors.ts";
import type { OperatorCall } from "./intake.ts";
import type { EventOf, WhenBusy } from "./model.ts";
import { checkDebounce, type Debounce, type Preset, type Waiting } from "./options.ts";

export interface TuneCall extends OperatorCall {
  debounce?: Preset | Debounce | null;
  whenBusy?: WhenBusy | null;
}

const ways: readonly unknown[] = ["interrupt", "queue", "steer", null, undefined];

/** @throws LullError `invalid-argument`; `details.field` names the wish. */
export function tuneEvent({ debounce, whenBusy }: TuneCall): Pick<EventOf<"tune">, "debounce" | "whenBusy"> {
  if (!ways.includes(whenBusy))
    throw new LullError("invalid-argument", "whenBusy must be interrupt, queue, steer or null.", {
      details: { field: "whenBusy" },
    });
  // How long the model takes is each process's own estimate, and no wish.
  const { leadMs: _, ...times } = debounce == null ? {} : waitingOf(debounce);
  return {
    ...(debounce === undefined ? {} : { debounce: debounce === null ? null : times }),
    ...(whenBusy === undefined ? {} : { whenBusy }),
  };
}

function waitingOf(debounce: Preset | Debounce): Partial<Waiting> {
  try {
    return checkDebounce(debounce);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new LullError("invalid-argument", message, { cause: error, details: { field: "debounce" } });
  }
}
