/**
 * Shows one attempt's drafts on a channel that can take them back: not before the quiet target, one change at a time,
 * the newest text only, never under a lease that ran out.
 *
 * @module
 */
import { enough } from "./clock.ts";
import { deliverTimeoutMs, draftDelivery, messageOf } from "./delivery.ts";
import { LullError } from "./errors.ts";
import type { ConversationId, Draft, Outcomes, Part, ProtocolEvent } from "./model.ts";
import type { Logger } from "./options.ts";
import type { Channel, Clock } from "./ports.ts";

/** Least time between two changes where the channel names none: what chat platforms bear. */
export const draftMs = 1_000;
/** A channel that refuses so often in a row is not asked again by this attempt. */
const mostFailures = 3;

export interface DraftingPort {
  conversation: ConversationId;
  channel: Channel;
  /** The attempt's. */
  signal: AbortSignal;
  clock: Clock;
  logger: Logger;
  now(): number;
  /** Until when this process may show anything. */
  expiresAtMs(): number;
  exchange(event: DraftEvent): Promise<Outcomes["draft"]>;
  undraft(draftId: string): Promise<void>;
}

type DraftEvent = Omit<Extract<ProtocolEvent, { type: "draft" }>, "fence" | "claimId">;

export interface Drafting {
  /** Shows it as soon as it may; a later call replaces it. */
  show(part: Part): void;
  /** No more changes; resolves when none is under way. After newer input what is shown is taken back first. */
  finish(): Promise<void>;
}

export function drafting(port: DraftingPort): Drafting {
  const { conversation, channel, signal, clock } = port;
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  let newest: Part | null = null;
  let draft: Draft | null = null;
  /** A process that crashed may have shown it; or an earlier call did, whose answer was lost. */
  let maybeShown = false;
  let running: Promise<void> | null = null;
  let retracting: Promise<void> | null = null;
  /** The platform refuses, or the attempt may show nothing any more. */
  let over = false;

  async function call(part: Part | null, of: Draft, inDoubt: boolean): Promise<string | undefined> {
    // Taking back needs no lease: nobody else goes on with what newer input stands below.
    if (part !== null && port.now() >= port.expiresAtMs()) throw new LullError("lost", "the lease ran out");
    const over = new AbortController();
    const timeoutMs = channel.timeoutMs ?? deliverTimeoutMs;
    const late = clock.sleep(timeoutMs, over.signal).then(() => {
      if (!over.signal.aborted) throw new LullError("timed-out", `no answer from the channel within ${timeoutMs} ms`);
    });
    try {
      const context = { ...draftDelivery(conversation, of), inDoubt, signal: over.signal };
      const told = await Promise.race([channel.draft?.(part, context), late]);
      return told?.id;
    } finally {
      over.abort(enough);
      late.catch(() => {});
    }
  }

  /** The draft to change; null when there may be none. */
  async function take(): Promise<Draft | null> {
    const draftId = clock.id();
    while (!either.aborted) {
      const outcome = await port.exchange({ type: "draft", draftId });
      if (outcome.is === "drafted") {
        maybeShown = outcome.draft.id !== draftId;
        if (!either.aborted || maybeShown) return outcome.draft;
        // Never shown, so there is nothing to take back.
        await port.undraft(draftId);
      } else if (outcome.is === "stale") await takeBack(outcome.draft);
      else if (outcome.is === "early") await clock.sleep(Math.max(1, outcome.atMs - port.now()), either);
      else return null;
    }
    return null;
  }

  async function takeBack(old: Draft): Promise<void> {
    await call(null, old, old.externalId === undefined);
    await port.undraft(old.id);
  }

  /** Shows the newest text; false when no more can be shown. */
  async function change(): Promise<boolean> {
    draft ??= await take();
    const part = newest;
    if (draft === null || part === null || either.aborted) return false;
    newest = null;
    const inDoubt = draft.externalId === undefined && maybeShown;
    maybeShown = true;
    const id = await call(part, draft, inDoubt);
    if (id === undefined || id === draft.externalId) return true;
    draft = { ...draft, externalId: id };
    const outcome = await port.exchange({ type: "draft", draftId: draft.id, externalId: id });
    return outcome.is === "drafted";
  }

  async function work(): Promise<void> {
    let failures = 0;
    while (newest !== null && !either.aborted) {
      try {
        over = !(await change());
        failures = 0;
      } catch (error) {
        failures += 1;
        over = failures === mostFailures;
        port.logger.warn({ conversation, error: messageOf(error) }, "a draft could not be shown");
      }
      if (over) return;
      await clock.sleep(channel.draftMs ?? draftMs, either);
    }
  }

  /** At once, where newer input stands below it; what fails here is done by the next attempt, or the turn's end. */
  async function retract(old: Draft): Promise<void> {
    try {
      await takeBack(old);
    } catch (error) {
      port.logger.warn({ conversation, error: messageOf(error) }, "a draft could not be taken back yet");
    }
  }

  return {
    show(part) {
      newest = part;
      if (over || stop.signal.aborted) return;
      running ??= work().finally(() => {
        running = null;
      });
    },
    async finish() {
      stop.abort(enough);
      await running;
      const newer = LullError.isInstance(signal.reason) && signal.reason.code === "superseded";
      if (!signal.aborted || !newer || draft === null) return;
      retracting ??= retract(draft);
      await retracting;
    },
  };
}
