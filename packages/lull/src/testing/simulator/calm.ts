/**
 * What must hold when nothing goes wrong: nothing is thrown away without need, and everything happens at the exact
 * moment at which it has to.
 *
 * @module
 */
import type { EntryOf } from "../../model.ts";
import type { Blame, Case } from "./checker.ts";
import type { Acked } from "./ledger.ts";
import type { Plan } from "./plan.ts";
import { epochMs } from "./scene.ts";

export function calm(of: Case, plan: Plan, blame: Blame): void {
  needed(of, plan, blame);
  bounded(of, plan, blame);
  if (!isPlain(of, plan)) return;
  hushed(of, plan, blame);
  if (of.runs.every(({ style }) => !lasting.has(style))) exact(of, plan, blame);
}

/** A run is discarded only because something newer came while it ran; every other run is an answer. */
function needed({ id, runs, acked, asked, log }: Case, { profile }: Plan, blame: Blame): void {
  for (const run of runs) {
    const end = log.find((entry): entry is EntryOf<"ended"> => entry.kind === "ended" && entry.fence === run.fence);
    if (end === undefined) continue;
    const endMs = end.atMs - epochMs;
    const newer = acked.some(({ status, order, atMs }) => status === "accepted" && order > run.order && atMs <= endMs);
    // An effect that has begun is not broken off.
    const listens = !run.deaf && !run.style.endsWith("once");
    // What another process did to it the holder hears with its next renewal, if not sooner.
    const toldByMs = endMs + (end.outcome === "superseded" ? 0 : Math.ceil(profile.leaseMs / 3));
    if (listens && (run.ended === null || run.ended.atMs > toldByMs))
      blame("calm", `${id} run ${run.nth} was discarded at ${endMs}, and nobody told it`);
    // A retry brings back what is to be answered as well: newer input, if it came while the run went on.
    const begun = log.find((entry) => entry.kind === "attempt" && entry.fence === run.fence);
    const revived = log.some(
      ({ kind, seq }) => kind === "retry" && begun !== undefined && seq > begun.seq && seq < end.seq,
    );
    const operated = ["handoff", "humanReply", "reset"].some((what) => asked.has(what as never));
    if (!newer && !revived && !operated)
      blame("calm", `${id} run ${run.nth} was discarded, and nothing newer had come`);
  }
  for (const entry of log)
    if (
      entry.kind === "ended" &&
      (entry.outcome === "failed" || entry.outcome === "expired" || entry.outcome === "handed-back")
    )
      blame("calm", `${id} an attempt ended as ${entry.outcome}`);
}

/** I6: from the first unanswered input to the commit of its answer. */
function bounded({ id, log, asked }: Case, { profile }: Plan, blame: Blame): void {
  if (asked.has("handoff") || asked.has("retry")) return;
  const { turnTimeoutMs, leaseMs, debounce, sendMs } = profile;
  const deliveryMs = 8 * 2 * sendMs;
  const worstMs = turnTimeoutMs + Math.max(debounce.maxWaitMs, turnTimeoutMs + deliveryMs) + leaseMs / 3;
  for (const reply of log) {
    if (reply.kind !== "reply" || reply.cause !== "turn") continue;
    for (const input of log) {
      if (input.kind !== "message" || input.version <= reply.from || input.version > reply.to) continue;
      const waitedMs = reply.atMs - input.atMs;
      if (waitedMs > worstMs)
        blame("I6", `${id} ${input.id} waited ${waitedMs} ms for its answer; ${worstMs} is the worst`);
    }
  }
}

/** Messages only, answers only: then every instant can be told beforehand. */
function isPlain({ id, acked, asked }: Case, { steps, profile }: Plan): boolean {
  const simple = ({ kind, status }: Acked) => kind === "message" && status === "accepted";
  const special = steps.some(
    (step) =>
      "conversation" in step &&
      step.conversation === id &&
      (step.do === "typing" || (step.do === "write" && (step.quietMs !== undefined || step.incomplete))),
  );
  return acked.every(simple) && asked.size === 0 && !special && profile.whenBusy !== "steer";
}

/** Ways to answer whose end cannot be told beforehand. */
const lasting: ReadonlySet<string> = new Set(["absorb", "silent", "say", "stream"]);

/** Nothing is shown, and no effect begins, before the quiet that the user is given is over. */
function hushed({ id, acked, shown, runs, executed }: Case, { profile }: Plan, blame: Blame): void {
  const { quietMs, maxWaitMs } = profile.debounce;
  const quietFor = (nth: number, order: number): number => {
    const run = runs.find((candidate) => candidate.nth === nth);
    const waiting = acked.filter((message) => run?.tokens.includes(message.id) && message.order < order);
    const [first] = waiting;
    return first === undefined
      ? 0
      : Math.min(Math.max(...waiting.map(({ atMs }) => atMs)) + quietMs, first.atMs + maxWaitMs);
  };
  for (const { text, atMs, order, cause } of shown) {
    const nth = Number(/^r(\d+)\//.exec(text)?.[1]);
    if (cause === "turn" && atMs < quietFor(nth, order))
      blame("calm", `${id} "${text}" was sent before the quiet was over`);
  }
  for (const { run, order, atMs, value } of executed) {
    if (runs.find(({ nth }) => nth === run)?.style === "read-once") continue;
    if (atMs < quietFor(run, order)) blame("calm", `${id} effect ${value} was run before the quiet was over`);
  }
}

/** When each run has to begin, and when its answer has to go out. */
function exact({ id, acked, runs, shown, log }: Case, { profile }: Plan, blame: Blame): void {
  const { quietMs, maxWaitMs } = profile.debounce;
  const startMs = profile.whenBusy === "queue" ? quietMs : profile.debounce.startMs;
  const messages = [...acked].sort((a, b) => a.order - b.order);
  let discards = 0;
  /** The conversation is busy until then: with a run, or with the delivery of its answer. */
  let busyUntilMs = 0;
  for (const run of runs) {
    const given = messages.filter(({ id: message }) => run.tokens.includes(message));
    const first = given[0];
    const last = given.at(-1);
    if (first === undefined || last === undefined) return;
    const capMs = first.atMs + maxWaitMs;
    const quietAtMs = Math.min(last.atMs + quietMs, capMs);
    const startAtMs = discards >= profile.maxRestarts ? quietAtMs : Math.min(last.atMs + startMs, capMs);
    const dueMs = Math.max(startAtMs, busyUntilMs);
    if (run.atMs !== dueMs) blame("calm", `${id} run ${run.nth} began at ${run.atMs}, not at ${dueMs}`);
    const known = messages.filter(({ atMs }) => atMs < run.atMs && atMs >= first.atMs);
    if (known.length > given.length) blame("calm", `${id} run ${run.nth} was not given all that had come`);
    const reply = shown.find(({ text }) => run.texts.includes(text));
    if (reply === undefined) {
      const end = log.find((entry) => entry.kind === "ended" && entry.fence === run.fence);
      discards += 1;
      busyUntilMs = end === undefined ? Number.NaN : end.atMs - epochMs;
      if (!run.style.endsWith("once")) continue;
      // The next run waits for an effect that has begun; when that ended only a run that listens tells.
      if (run.deaf || run.ended === null) return;
      busyUntilMs = Math.max(busyUntilMs, run.ended.atMs);
      continue;
    }
    const sentMs = Math.max(run.ended?.atMs ?? 0, run.atMs >= capMs || profile.whenBusy === "queue" ? 0 : quietAtMs);
    if (reply.atMs !== sentMs) blame("calm", `${id} run ${run.nth} was answered at ${reply.atMs}, not at ${sentMs}`);
    const parts = shown.filter(({ replyId }) => replyId === reply.replyId);
    busyUntilMs = Math.max(...parts.map(({ endedAtMs }) => endedAtMs ?? 0));
    discards = 0;
  }
}
