/**
 * Calls that wait together go together: while two batches are under way further calls gather, and the next batch takes
 * them all. One that finds nothing under way goes at once, and alone.
 *
 * @module
 */
import { nextTurn } from "../../clock.ts";
import { LullError } from "../../errors.ts";
import type { ConversationId } from "../../model.ts";
import type { Limit, Watch } from "../watch.ts";
import { isUndone, toStoreError } from "./faults.ts";
import { giveUp, type Lanes, newTrip, type OwnTrip } from "./lanes.ts";

/** What the server left out of a batch: it has to go alone. */
export const alone = Symbol("alone");

export interface Batches<Question, Answer> {
  ask(question: Question): Promise<Answer>;
}

export interface BatchOptions<Question, Answer> {
  trips: Lanes;
  watch: Watch;
  /** Of two questions about one conversation, the later goes in a later batch. */
  idOf(question: Question): ConversationId;
  /** About how much it is to send. */
  sizeOf(question: Question): number;
  /** Whether two may go together. */
  alike(one: Question, other: Question): boolean;
  one(question: Question, trip: OwnTrip): Promise<Answer>;
  /** Of questions in the order of their ids: an answer for each. Rejects when all have failed. */
  many(questions: Question[], trip: OwnTrip): Promise<(Answer | LullError | typeof alone)[]>;
}

interface Member<Question, Answer> {
  question: Question;
  trip: OwnTrip;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** Batches under way: one is being worked on while another is synced to the disk. More would only be smaller. */
const width = 2;
/** One that takes longer counts no more: a conversation that waits, or a connection that hangs, holds up no others. */
const slowMs = 100;
const most = 64;
const mostSize = 500_000;

export function batches<Question, Answer>(options: BatchOptions<Question, Answer>): Batches<Question, Answer> {
  const { trips, watch, idOf, sizeOf, alike, one, many } = options;
  let waiting: Member<Question, Answer>[] = [];
  /** When each batch under way was sent, by the monotonic clock; the oldest first. */
  const underWay = new Set<{ atMs: number }>();
  let pumping = false;
  let nudge: Limit | null = null;

  /** Not at once: what is asked in the same turn of the event loop goes together. */
  function pumpSoon(): void {
    if (pumping || waiting.length === 0) return;
    pumping = true;
    void nextTurn().then(pump);
  }

  function pump(): void {
    pumping = false;
    while (waiting.length > 0) {
      const waitMs = untilNext();
      if (waitMs > 0) return wakeIn(waitMs);
      const group = take();
      if (group.length > 0) void send(group);
    }
  }

  function wakeIn(ms: number): void {
    if (nudge !== null) return;
    nudge = watch.add(ms, () => {
      nudge = null;
      pump();
    });
  }

  /** Until the next batch may be sent, if none ends before. */
  function untilNext(): number {
    const nowMs = watch.nowMs();
    const counted = [...underWay].filter(({ atMs }) => nowMs - atMs < slowMs);
    const [oldest] = counted;
    return oldest === undefined || counted.length < width ? 0 : oldest.atMs + slowMs - nowMs;
  }

  /** Those that have waited longest, in the order of their ids, which is the same in every process. */
  function take(): Member<Question, Answer>[] {
    const group: Member<Question, Answer>[] = [];
    const rest: Member<Question, Answer>[] = [];
    const ids = new Set<ConversationId>();
    let size = 0;
    let full = false;
    for (const member of waiting) {
      if (member.trip.over !== null) continue;
      const id = idOf(member.question);
      const [first] = group;
      full ||=
        group.length === most || size > mostSize || (first !== undefined && !alike(first.question, member.question));
      if (full || ids.has(id)) rest.push(member);
      else {
        ids.add(id);
        size += sizeOf(member.question);
        group.push(member);
      }
    }
    waiting = rest;
    return group.sort((one, other) => (idOf(one.question) < idOf(other.question) ? -1 : 1));
  }

  async function send(group: Member<Question, Answer>[]): Promise<void> {
    const sent = { atMs: watch.nowMs() };
    underWay.add(sent);
    const over = () => {
      underWay.delete(sent);
      pumpSoon();
    };
    try {
      const [only] = group;
      if (group.length === 1 && only) await sendAlone(only);
      else await sendTogether(group, over);
    } finally {
      over();
    }
  }

  function sendAlone({ question, trip, resolve, reject }: Member<Question, Answer>): Promise<void> {
    trip.onOver = null;
    return one(question, trip).then(resolve, reject);
  }

  async function sendTogether(group: Member<Question, Answer>[], over: () => void): Promise<void> {
    const trip = newTrip();
    let left = group.length;
    for (const member of group) {
      member.trip.onOver = () => {
        left -= 1;
        if (left === 0 && member.trip.over) giveUp(trip, member.trip.over);
      };
    }
    const again: Promise<void>[] = [];
    try {
      const answers = await many(
        group.map(({ question }) => question),
        trip,
      );
      for (const [index, member] of group.entries()) {
        const answer = answers[index];
        if (answer === alone || answer === undefined) again.push(sendAlone(member));
        else if (LullError.isInstance(answer)) member.reject(answer);
        else member.resolve(answer as Answer);
      }
    } catch (error) {
      // What one of them brought about must not fail the others.
      if (isUndone(error)) again.push(...group.map(sendAlone));
      else for (const { reject } of group) reject(toStoreError(error));
    }
    if (again.length > 0) {
      over();
      await Promise.all(again);
    }
  }

  return {
    ask: (question) =>
      trips.call(
        (trip) =>
          new Promise((resolve, reject) => {
            waiting.push({ question, trip, resolve, reject });
            pumpSoon();
          }),
      ),
  };
}
