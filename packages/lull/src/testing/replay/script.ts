/**
 * What happens to a bot in a replayed burst, as its author writes it down.
 *
 * @module
 */
import type { Incoming } from "../../intake.ts";

/**
 * One thing that happens, at `atMs` after the beginning; without it `gapMs` after the one before. A plain string is a
 * message. Messages without an id are called m1, m2, m3 … in their order.
 */
export type BurstStep =
  | string
  | ({ atMs?: number } & (
      | (Omit<Incoming, "sentAt"> & ({ text: string } | { parts: NonNullable<Incoming["parts"]> }))
      /** The message `edit` says something else now. `incomplete: false`: and is complete with that. */
      | { edit: string; text: string; incomplete?: boolean }
      /** The message was taken back. */
      | { retract: string }
      /** Somebody is typing, or stopped. */
      | { typing: boolean }
      /** A human takes over, for so long. */
      | { handoff: number }
      /** A human has answered. */
      | { human: string }
      /** The hand-off is over. */
      | { resume: true }
      /** Answer now. */
      | { flush: true }
      /** Somebody drops what is unanswered. */
      | { reset: true }
      /** Somebody brings back what was given up. */
      | { retry: true }
      /** The bot writes of its own accord. */
      | { send: string }
      /** The process is killed; another one starts after so long. */
      | { crash: number }
      /** The process stands still for so long, timers and heartbeats included. */
      | { freeze: number }
    ));

/** A step with its time, and its name if it is a message. */
export interface Timed {
  atMs: number;
  step: Exclude<BurstStep, string>;
}

/** In order, with every time and every id filled in. */
export function timed(script: readonly BurstStep[], gapMs: number): Timed[] {
  let atMs = -gapMs;
  let messages = 0;
  const steps = script.map((given): Timed => {
    const step = typeof given === "string" ? { text: given } : given;
    atMs = step.atMs ?? Math.max(0, atMs + gapMs);
    if (!isMessage(step)) return { atMs, step };
    messages += 1;
    return { atMs, step: { id: `m${messages}`, ...step } };
  });
  return steps.sort((a, b) => a.atMs - b.atMs);
}

export function isMessage(step: Timed["step"]): step is Incoming & { atMs?: number; text: string } {
  return "parts" in step || ("text" in step && !("edit" in step));
}

/** What the step is, in a few words. */
export function stepText(step: Timed["step"]): string {
  if (isMessage(step)) return `${step.id}: ${step.text ?? JSON.stringify(step.parts)}`;
  const { atMs: _, ...rest } = step;
  return Object.entries(rest)
    .map(([name, value]) => (value === true ? name : `${name} ${value}`))
    .join(", ");
}
