/**
 * Looks at every conversation that is not at rest, now and then: how many are in which state, and who has waited longest.
 * The stores' own counts cannot tell, because they are kept for finding work, not for people. A look happens only when
 * somebody asks for metrics, takes a quarter of the time at most, and costs nothing for conversations at rest.
 *
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { ConversationState, ConversationView, Lull } from "lull";

export interface Survey {
  states: Readonly<Record<ConversationState, number>>;
  /** When the message came that has been unanswered for longest; hand-offs and parked turns do not count. Null: none. */
  unansweredSinceMs: number | null;
  /** When the answer was committed that has been on its way for longest. Null: none. */
  undeliveredSinceMs: number | null;
  /** How long the look took. */
  tookMs: number;
}

/** Sees conversations one by one. Pure but for its own fields. */
export class Tally {
  readonly states: Record<ConversationState, number> = {
    resting: 0,
    waiting: 0,
    answering: 0,
    delivering: 0,
    "handed-off": 0,
    parked: 0,
  };
  unansweredSinceMs: number | null = null;
  undeliveredSinceMs: number | null = null;

  add({ state, pending, record }: Pick<ConversationView, "state" | "pending" | "record">): void {
    this.states[state] += 1;
    if (record.window !== null && pending > 0 && record.handoff === null)
      this.unansweredSinceMs = earliest(this.unansweredSinceMs, record.window.openedAtMs);
    if (record.outbox !== null)
      this.undeliveredSinceMs = earliest(this.undeliveredSinceMs, record.outbox.committedAtMs);
  }
}

function earliest(a: number | null, b: number): number {
  return a === null ? b : Math.min(a, b);
}

const pageSize = 200;
/** A survey this young is told again. */
const freshMs = 10_000;
/** So long a scrape waits for a new one; then it is told the last one. */
const patienceMs = 1_000;

/** The newest survey, or null before the first is complete. */
export function createSurveys(lull: Pick<Lull, "list">): () => Promise<Survey | null> {
  let latest: { survey: Survey; atMs: number } | null = null;
  let running: Promise<void> | null = null;

  async function look(): Promise<void> {
    const began = performance.now();
    const tally = new Tally();
    for (let after: string | null = ""; after !== null; ) {
      const pageBegan = performance.now();
      const page: Awaited<ReturnType<Lull["list"]>> = await lull.list(
        { limit: pageSize, ...(after === "" ? {} : { after }) },
        { active: true },
      );
      for (const conversation of page.conversations) tally.add(conversation);
      after = page.next;
      if (after !== null) await sleep(3 * (performance.now() - pageBegan), undefined, { ref: false });
    }
    const { states, unansweredSinceMs, undeliveredSinceMs } = tally;
    const atMs = performance.now();
    latest = { survey: { states, unansweredSinceMs, undeliveredSinceMs, tookMs: atMs - began }, atMs };
  }

  return async () => {
    if (latest === null || performance.now() - latest.atMs > freshMs) {
      // A store that is away has metrics of its own; the last survey stands.
      running ??= look()
        .catch(() => {})
        .finally(() => {
          running = null;
        });
      await Promise.race([running, sleep(patienceMs, undefined, { ref: false })]);
    }
    return latest === null ? null : (latest as { survey: Survey }).survey;
  };
}
