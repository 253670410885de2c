/**
 * Prometheus metrics: every event as a counter, requests, and the store's own counts at scrape time. Labels
 * are of bounded number: no conversation and no text is ever one.
 *
 * @module
 */
import type { Lull } from "lull";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

export interface Metrics {
  /** The text of `/metrics`. */
  text(): Promise<string>;
  readonly contentType: string;
  request(method: string, route: string, status: number, seconds: number): void;
  /** +1 when a stream opens, −1 when it closes. */
  stream(change: 1 | -1): void;
  stop(): void;
}

export function createMetrics(lull: Pick<Lull, "on" | "stats">): Metrics {
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
    async collect() {
      const stats = await lull.stats();
      this.set({ state: "all" }, stats.conversations);
      this.set({ state: "active" }, stats.active);
      this.set({ state: "due" }, stats.due);
      this.set({ state: "parked" }, stats.parked);
      this.set({ state: "handed_off" }, stats.handedOff);
      late.set(stats.oldestDueAtMs === null ? 0 : Math.max(0, (stats.nowMs - stats.oldestDueAtMs) / 1_000));
    },
  });
  const late = new Gauge({
    name: "lull_due_lateness_seconds",
    help: "Age of the oldest timer whose time has come; growing means that nobody works",
    registers,
  });

  // Last message per conversation, oldest first; bounded, because it only feeds a histogram.
  const waiting = new Map<string, number>();
  const off = lull.on((event) => {
    events.inc({ type: event.type });
    if (event.type === "message.received") {
      waiting.delete(event.conversation);
      waiting.set(event.conversation, event.atMs);
      if (waiting.size > 10_000) waiting.delete(waiting.keys().next().value as string);
    } else if (event.type === "reply.committed") {
      const since = waiting.get(event.conversation);
      if (since !== undefined) answers.observe((event.atMs - since) / 1_000);
      waiting.delete(event.conversation);
    }
  });
  void conversations;
  return {
    text: () => registry.metrics(),
    contentType: registry.contentType,
    request: (method, route, status, seconds) => requests.observe({ method, route, status: String(status) }, seconds),
    stream: (change) => streams.inc(change),
    stop: () => {
      off();
      registry.clear();
    },
  };
}
