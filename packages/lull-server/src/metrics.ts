/**
 * Prometheus metrics: every event as a counter, requests, and the store's own counts at scrape time. Labels
 * are of bounded number: no conversation and no text is ever one.
 *
 * @module
 */
import type { Lull } from "lull";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { type AttemptOutcome, attemptWatcher } from "./attempts.ts";
import { createSurveys } from "./survey.ts";

export interface Metrics {
  /** The text of `/metrics`. */
  text(): Promise<string>;
  readonly contentType: string;
  request(method: string, route: string, status: number, seconds: number): void;
  /** +1 when a stream opens, −1 when it closes. */
  stream(change: 1 | -1): void;
  stop(): void;
}

const outcomes: readonly AttemptOutcome[] = [
  "answered",
  "silent",
  "superseded",
  "failed",
  "expired",
  "handed-back",
  "handed-off",
  "answered-by-human",
  "reset",
];

/** Newest last; bounded, because it only feeds a histogram. */
function keep(map: Map<string, number>, key: string, atMs: number): void {
  map.delete(key);
  map.set(key, atMs);
  if (map.size > 10_000) map.delete(map.keys().next().value as string);
}

export function createMetrics(
  lull: Pick<Lull, "on" | "stats" | "list" | "paused" | "working">,
  surveys = createSurveys(lull),
): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const events = new Counter({
    name: "lull_events_total",
    help: "Transitions made or seen by this process, by type",
    labelNames: ["type"],
    registers,
  });
  const requests = new Histogram({
    name: "lull_http_request_seconds",
    help: "Requests by route; event streams and ?wait= excluded",
    labelNames: ["method", "route", "status"],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    registers,
  });
  const streams = new Gauge({ name: "lull_http_streams", help: "Event streams open", registers });
  const answers = new Histogram({
    name: "lull_answer_seconds",
    help: "From the last message to the committed answer, for windows this process armed",
    buckets: [0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 45, 60, 120],
    registers,
  });
  const conversations = new Gauge({
    name: "lull_conversations",
    help: "Conversations in the store, by state; a conversation may be in several",
    labelNames: ["state"],
    registers,
  });
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  const unanswered = gauge(
    "lull_oldest_unanswered_seconds",
    "How long the message has waited that has waited longest for an answer; without hand-offs and parked turns",
  );
  const undelivered = gauge(
    "lull_oldest_undelivered_seconds",
    "How long the answer has been on its way that has been on its way for longest",
  );
  const up = gauge("lull_store_up", "1: the store answered this scrape");
  const paused = gauge("lull_paused", "1: this process takes no new turn, because it or the whole store is paused");
  const working = gauge("lull_working", "Conversations this process works on now");
  const surveySeconds = gauge(
    "lull_survey_seconds",
    "How long the look at all active conversations took, for the above",
  );
  const attempts = new Counter({
    name: "lull_attempts_total",
    help: "Attempts to answer by how they ended; all but answered and silent were discarded or failed",
    labelNames: ["outcome"],
    registers,
  });
  const attemptSeconds = new Counter({
    name: "lull_attempt_seconds_total",
    help: "Time that attempts of this process ran, by how they ended",
    labelNames: ["outcome"],
    registers,
  });
  const tokens = new Counter({
    name: "lull_attempt_tokens_total",
    help: "Tokens that attempts were said to have used, by how they ended",
    labelNames: ["outcome"],
    registers,
  });
  for (const outcome of outcomes) for (const counter of [attempts, attemptSeconds, tokens]) counter.inc({ outcome }, 0);
  const expired = new Counter({
    name: "lull_expired_leases_total",
    help: "Leases that ran out: their holders crashed, stood still or lost the store",
    registers,
  });
  const deliveries = new Histogram({
    name: "lull_delivery_seconds",
    help: "From the committed answer to its first part sent, for answers this process committed",
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers,
  });
  const late = gauge(
    "lull_due_lateness_seconds",
    "Age of the oldest timer whose time has come; growing means that nobody works",
  );
  const watchAttempt = attemptWatcher({
    ended(outcome, seconds) {
      attempts.inc({ outcome });
      if (seconds !== null) attemptSeconds.inc({ outcome }, seconds);
      if (outcome === "expired") expired.inc();
    },
    tokens: (outcome, count) => tokens.inc({ outcome }, count),
  });

  // Last message per conversation, and answers on their way.
  const waiting = new Map<string, number>();
  const onTheirWay = new Map<string, number>();
  const off = lull.on((event) => {
    events.inc({ type: event.type });
    watchAttempt(event);
    const { entry } = event;
    if (entry?.kind === "reply") keep(onTheirWay, entry.replyId, event.atMs);
    else if (entry?.kind === "closed") onTheirWay.delete(entry.replyId);
    else if (entry?.kind === "receipt" && entry.state === "sent") {
      const since = onTheirWay.get(entry.replyId);
      if (since !== undefined) deliveries.observe(Math.max(0, event.atMs - since) / 1_000);
      onTheirWay.delete(entry.replyId);
    }
    if (event.type === "message.received") {
      keep(waiting, event.conversation, event.atMs);
    } else if (event.type === "reply.committed") {
      const since = waiting.get(event.conversation);
      if (since !== undefined) answers.observe((event.atMs - since) / 1_000);
      waiting.delete(event.conversation);
    }
  });
  /** Before everything is printed: gauges that are set by others' look would tell of the scrape before. */
  async function look(): Promise<void> {
    const stats = await lull.stats().catch(() => null);
    up.set(stats === null ? 0 : 1);
    paused.set(lull.paused ? 1 : 0);
    working.set(lull.working);
    // Numbers of a store that is away would be lies; those of this process are all the more wanted.
    conversations.reset();
    if (stats === null) return;
    conversations.set({ state: "all" }, stats.conversations);
    conversations.set({ state: "active" }, stats.active);
    conversations.set({ state: "due" }, stats.due);
    conversations.set({ state: "parked" }, stats.parked);
    conversations.set({ state: "handed_off" }, stats.handedOff);
    const since = (ms: number | null) => (ms === null ? 0 : Math.max(0, (stats.nowMs - ms) / 1_000));
    late.set(since(stats.oldestDueAtMs));
    const survey = await surveys();
    if (survey === null) return;
    for (const state of ["waiting", "answering", "delivering"] as const)
      conversations.set({ state }, survey.states[state]);
    unanswered.set(since(survey.unansweredSinceMs));
    undelivered.set(since(survey.undeliveredSinceMs));
    surveySeconds.set(survey.tookMs / 1_000);
  }

  return {
    text: async () => {
      await look();
      return registry.metrics();
    },
    contentType: registry.contentType,
    request: (method, route, status, seconds) => requests.observe({ method, route, status: String(status) }, seconds),
    stream: (change) => streams.inc(change),
    stop: () => {
      off();
      registry.clear();
    },
  };
}
