/**
 * The canonical form of a world: a row of numbers, equal for worlds that will behave alike. Ids, fences and ranges
 * become ranks; instants become distances from now, and what is past becomes one past; workers are sorted.
 *
 * What is left out, and why it may be: the record a process remembers (a write that rests on an old one meets a
 * conflict and is decided again, so it makes no difference; the configuration "stale" looks at it all the same), `attempt`, `tempo` and the words of errors (nothing here depends
 * on them), deadlines farther away than everything that can happen before.
 *
 * @module
 */
import type { ConversationRecord, Effect, Outbox, Window } from "../../model.ts";
import { quietAt, superseded } from "../../window.ts";
import { pending } from "./ledger.ts";
import { isSide } from "./process.ts";
import type { Asked, Process, SideAsked, World } from "./world.ts";

/** Words become numbers; there are few. */
const words = new Map<string, number>();
function word(text: string): number {
  const known = words.get(text);
  if (known !== undefined) return known;
  words.set(text, words.size + 1);
  return words.size;
}

const room = new Int32Array(8_192);
let length = 0;

function put(value: number): void {
  room[length] = value;
  length += 1;
}

function bits(...flags: boolean[]): void {
  let value = 0;
  for (const flag of flags) value = value * 2 + (flag ? 1 : 0);
  put(value);
}

/** What the numbers are relative to. */
interface Frame {
  nowMs: number;
  /** Anything longer ago makes no difference. */
  pastMs: number;
  maxWaitMs: number;
  spans: number[];
  ranges: number[];
  effects: number[];
  replies: string[];
  farMs: number;
}

function rank(list: number[], value: number): number {
  const at = list.indexOf(value);
  return at >= 0 ? at : list.push(value) - 1;
}

/** An instant to come; all that are over are alike. */
function until(frame: Frame, atMs: number | null | undefined): void {
  put(atMs === null || atMs === undefined ? -1 : Math.max(0, atMs - frame.nowMs));
}

/** An instant that was; all that are long over are alike. */
function since(frame: Frame, atMs: number): void {
  put(Math.min(frame.pastMs, frame.nowMs - atMs));
}

function putWindow(frame: Frame, world: World, window: Window | null): void {
  if (window === null) return put(-1);
  since(frame, window.openedAtMs);
  since(frame, window.lastInputAtMs);
  until(frame, window.holdUntilMs);
  until(frame, window.incompleteUntilMs);
  put(window.quietMs);
  put(window.count);
  const first = world.log.find((entry) => entry.seq >= window.fromSeq && "version" in entry);
  put(first !== undefined && "version" in first ? first.version * 8 + word(first.kind) : -1);
}

function putEffects(frame: Frame, effects: Record<string, Effect>): void {
  const all = Object.values(effects);
  put(all.length);
  for (const effect of all) {
    put(effect.state === "begun" ? 1 : 2);
    put(rank(frame.effects, effect.fence));
    if (effect.state !== "begun") continue;
    until(frame, effect.untilMs);
    bits(effect.doubt === true);
  }
}

function putParts(frame: Frame, outbox: Outbox): void {
  put(outbox.parts.length);
  for (const part of outbox.parts) {
    put(word(part.state));
    bits(part.doubt);
    put(Math.min(part.tries, 4));
    until(frame, part.nextAtMs);
  }
}

/** Its place among the replies that still matter. */
function replyOf(frame: Frame, replyId: string): number {
  return frame.replies.indexOf(replyId);
}

/** Replies under way, and those that somebody who wakes late still speaks of. */
function living({ ledger, processes }: World): string[] {
  const ids: string[] = [];
  for (const reply of ledger.replies) if (reply.outcome === null) ids.push(reply.id);
  for (const { sending, asked, unsure, worker } of processes) {
    if (sending !== null) ids.push(sending.replyId);
    for (const one of [asked, unsure?.asked]) if (one && "replyId" in one.event) ids.push(one.event.replyId);
    const replyId = worker.lease === null ? undefined : worker.record?.outbox?.replyId;
    if (replyId !== undefined) ids.push(replyId);
  }
  return ledger.replies.flatMap(({ id }) => (ids.includes(id) ? [id] : []));
}

/** A range as the protocol counts it: which of the ledger's it is, if that is known. */
function putSpan(frame: Frame, { ledger }: World, span: number): void {
  put(rank(frame.spans, span));
  const known = ledger.spanOf.find(([protocol]) => protocol === span);
  put(known === undefined ? -1 : rank(frame.ranges, known[1]));
}

function putRecord(frame: Frame, world: World, r: ConversationRecord | null): void {
  if (r === null) return put(-1);
  const { limits } = world.config;
  put(r.version);
  put(r.answered);
  putSpan(frame, world, r.span);
  putWindow(frame, world, r.window);
  put(Math.min(r.restarts, limits.maxRestarts));
  put(r.failures);
  until(frame, r.retryAtMs);
  putEffects(frame, r.effects);
  if (r.lease === null) put(-1);
  else {
    put(word(r.lease.purpose));
    put(r.lease.version);
    until(frame, r.lease.expiresAtMs);
    until(frame, r.lease.deadlineMs);
    put(rank(frame.effects, r.lease.fence));
    putWindow(frame, world, r.lease.newer);
    bits(r.lease.sealed, superseded({ ...r, lease: { ...r.lease, sealed: false } }, limits));
  }
  if (r.outbox === null) put(-1);
  else {
    const { outbox } = r;
    put(replyOf(frame, outbox.replyId));
    putParts(frame, outbox);
    put(word(outbox.ending ?? ""));
    putSpan(frame, world, outbox.span);
    put(Math.min(outbox.restarts, limits.maxRestarts));
    putEffects(frame, outbox.effects);
    putWindow(frame, world, outbox.window);
    const { newerAtMs, window } = outbox;
    const inTime = window !== null && newerAtMs !== null && newerAtMs <= window.openedAtMs + limits.maxWaitMs;
    bits(outbox.sealed, outbox.open, newerAtMs !== null, inTime);
    put(Math.min(frame.farMs, outbox.committedAtMs + limits.deliverMaxMs - frame.nowMs));
  }
  put(r.sends.length);
  for (const { replyId, seq } of r.sends)
    put(replyOf(frame, replyId) * 2 + (r.window !== null && seq < r.window.fromSeq ? 1 : 0));
  if (r.handoff === null) put(-1);
  else {
    until(frame, r.handoff.untilMs);
    put(word(r.handoff.backlog));
  }
  for (const past of [r.parked, r.last]) {
    put(past?.from ?? -1);
    put(past?.to ?? -1);
  }
}

function putLedger(frame: Frame, world: World): void {
  const { ledger, config, record } = world;
  let opened = Number.POSITIVE_INFINITY;
  let visible = Number.POSITIVE_INFINITY;
  let openedAll = Number.POSITIVE_INFINITY;
  for (const note of ledger.notes) {
    if (note.aside || note.label !== null) continue;
    openedAll = Math.min(openedAll, note.atMs);
    if (!pending(note)) continue;
    opened = Math.min(opened, note.atMs);
    if (!note.gone) visible = Math.min(visible, note.atMs);
  }
  const changes = config.kinds.includes("edit") || config.kinds.includes("retraction");
  const revives = config.operators.includes("retry");
  for (const note of ledger.notes) {
    const ended = note.label !== null || note.aside;
    // What has ended can only be spoken of, or brought back.
    if (ended && !changes && !revives) continue;
    put(word(note.kind) * 1_000 + word(note.id));
    bits(note.aside, note.gone, note.incomplete, ended);
    if (ended && !revives && note.kind === "message") continue;
    put(word(note.text) * 100 + note.since);
    put(note.revives === null ? -1 : note.revives.from * 100 + note.revives.to);
    if (ended) continue;
    put(note.reply === null ? -1 : replyOf(frame, ledger.replies[note.reply]?.id ?? ""));
    put(note.answer === null ? -1 : replyOf(frame, ledger.replies[note.answer]?.id ?? ""));
    const early = note.atMs <= opened + frame.maxWaitMs;
    const earlyAll = note.atMs <= openedAll + frame.maxWaitMs;
    bits(early, earlyAll, note.atMs <= visible + frame.maxWaitMs, note.version <= ledger.takenOver);
    since(frame, note.atMs);
  }
  put(-9);
  for (const id of frame.replies) {
    const reply = ledger.replies.find((one) => one.id === id);
    if (reply === undefined) continue;
    put(word(reply.cause));
    put(word(reply.outcome ?? ""));
    put(reply.from * 100 + reply.to);
    bits(reply.sealed, reply.open);
    for (const times of reply.shown) put(Math.min(times, 2));
    for (const state of reply.states) put(word(state));
    put(rank(frame.ranges, reply.span));
    put(reply.failures);
  }
  put(ledger.end);
  put(rank(frame.ranges, ledger.span));
  put(ledger.failures);
  const { latest } = ledger;
  const last = latest === null ? -1 : replyOf(frame, ledger.replies[latest.reply]?.id ?? "");
  put(latest === null || last < 0 ? -1 : last * 10 + latest.part);
  until(frame, ledger.notBeforeMs);
  until(frame, ledger.typingUntilMs);
  put(ledger.tried);
  bits(ledger.lapsed, ledger.handedOff, ledger.holder === record?.lease?.claimId);
  const { attempt } = ledger;
  if (attempt === null) put(-1);
  else {
    put(attempt.from * 100 + attempt.to);
    bits(attempt.sealed, attempt.claimId === record?.lease?.claimId, attempt.claimId === ledger.holder);
  }
}

/** Which of the ranges that were spoken of have a result. */
function putResults(frame: Frame, { ledger }: World): void {
  for (const range of frame.ranges)
    bits(
      ledger.results.includes(range),
      ledger.spanOf.some(([, mine]) => mine === range),
    );
}

/** What a lease means to everybody else: it stands, it was remembered how it ended, or it is forgotten. */
function putClaim(world: World, claimId: string): void {
  const lease = world.record?.lease ?? null;
  const ended = world.record?.ended ?? [];
  const at = ended.findIndex((attempt) => attempt.claimId === claimId);
  put(at < 0 ? -1 : (ended.length - at) * 100 + word(ended[at]?.outcome ?? ""));
  bits(lease?.claimId === claimId, world.ledger.holder === claimId);
}

/** How a record looks to a worker that has not seen a newer one. */
function putView(frame: Frame, world: World, process: Process): void {
  const { record, lease } = process.worker;
  if (lease === null) return put(-3);
  if (record === null) return put(-2);
  if (record.revision === world.record?.revision) return put(-1);
  bits(record.lease?.fence === lease.fence, superseded(record, world.config.limits), record.outbox !== null);
  until(frame, record.lease?.expiresAtMs);
  bits(record.lease?.sealed === true);
  until(frame, record.window && quietAt(record.window, world.config.limits));
  if (record.outbox === null) return;
  put(replyOf(frame, record.outbox.replyId));
  put(word(record.outbox.ending ?? ""));
  bits(record.outbox.open);
  putParts(frame, record.outbox);
}

function putProcess(frame: Frame, world: World, process: Process): void {
  const { worker, run, sending, asked, unsure, tools } = process;
  const mine: number[] = [];
  // Where reads from before are looked at, so is what a process remembers.
  if (world.config.faultKinds.includes("stale"))
    put(process.cache === undefined ? 0 : process.cache?.revision === world.record?.revision ? 1 : 2);
  bits(process.frozen, worker.stopping, worker.lease !== null, unsure !== null, asked !== null, sending !== null);
  if (worker.lease !== null) putHolder(frame, world, process, mine);
  if (asked !== null) putAsked(frame, world, asked);
  if (unsure !== null) {
    putAsked(frame, world, unsure.asked);
    const wrote = unsure.tried?.wrote;
    bits(unsure.tried !== null, wrote != null && wrote.revision === world.record?.revision);
  }
  if (run !== null) {
    put(rank(mine, run.fence));
    put(word(run.saw));
    put(word(run.program.join()));
    put(run.at);
    put(frame.ranges.indexOf(run.span));
    until(frame, run.holdUntilMs);
    bits(run.done, run.waits === "say", run.waits === "tool", run.waits === "away");
  }
  for (const tool of tools) {
    put(rank(mine, tool.fence));
    put(frame.effects.indexOf(tool.fence));
    put(frame.spans.indexOf(tool.span) * 100 + frame.ranges.indexOf(tool.ledgerSpan));
    until(frame, tool.deadlineMs);
    putClaim(world, tool.claimId);
  }
  if (sending === null) return;
  put(rank(mine, sending.fence));
  put(replyOf(frame, sending.replyId) * 100 + sending.index * 2 + (sending.doubt ? 1 : 0));
  bits(sending.begun, sending.fence === world.record?.lease?.fence);
}

function putErrands(frame: Frame, world: World): void {
  put(world.errands.length);
  for (const errand of world.errands) {
    put(rank(frame.effects, errand.fence));
    putClaim(world, errand.claimId);
    put(word(errand.saw));
    put(word(errand.program.join()));
    put(errand.at);
    put(rank(frame.ranges, errand.span));
    until(frame, errand.holdUntilMs);
    if (errand.tool === null) put(-1);
    else putSpan(frame, world, errand.tool);
  }
}

/** What a worker that holds a lease keeps in mind; a free one keeps nothing. */
function putHolder(frame: Frame, world: World, process: Process, mine: number[]): void {
  const { worker } = process;
  const { lease, grant, receipt } = worker;
  if (lease === null) return;
  put(word(lease.purpose));
  put(lease.version * 100 + lease.from);
  put(rank(mine, lease.fence));
  putClaim(world, lease.claimId);
  bits(worker.aborted, worker.sending, worker.failure !== null);
  put(word(worker.model));
  put(word(worker.ending ?? ""));
  put(worker.says.length);
  put(worker.answer === null ? -1 : (worker.answer.parts?.length ?? -2));
  put(grant === null ? -1 : grant.index * 100 + Math.min(grant.tries, 4) * 2 + (grant.doubt ? 1 : 0));
  put(receipt === null ? 0 : word(receipt.state));
  putView(frame, world, process);
  until(frame, process.waitMs);
}

function putAsked(frame: Frame, world: World, asked: Asked | SideAsked): void {
  if (isSide(asked)) {
    put(word(asked.side));
    put(asked.tool);
  } else {
    const { command } = asked;
    put(word(command.do));
    if ("index" in command) put(command.index);
    if ("receipt" in command) put(word(command.receipt.state));
    if ("reason" in command) put(word(command.reason));
    if (command.do === "commit") put((command.parts?.length ?? -1) * 2 + (command.open ? 1 : 0));
  }
  const { event } = asked;
  putClaim(world, "claimId" in event ? event.claimId : "");
  if ("replyId" in event) put(replyOf(frame, event.replyId));
}

/** Two 32-bit hashes of a stretch of the row. */
function hash(from: number, to: number, out: [number, number]): void {
  let a = 0x9e3779b9 ^ (to - from);
  let b = 0x85ebca6b;
  for (let at = from; at < to; at += 1) {
    const value = room[at] as number;
    a = Math.imul(a ^ value, 0x85ebca6b);
    a ^= a >>> 15;
    b = Math.imul(b + value, 0xc2b2ae35) ^ (b >>> 13);
    b = (b << 11) | (b >>> 21);
  }
  a = Math.imul(a ^ (a >>> 16), 0x7feb352d);
  a = Math.imul(a ^ (a >>> 15), 0x846ca68b);
  b = Math.imul(b ^ (b >>> 15), 0x2c1b3c6d);
  b = Math.imul(b ^ (b >>> 12), 0x297a2d39);
  out[0] = a ^ (a >>> 16);
  out[1] = b ^ (b >>> 15);
}

const pair: [number, number] = [0, 0];

/** The 64-bit name of a world's form; `out` is overwritten. */
export function nameOf(world: World, out: [number, number]): void {
  const { maxWaitMs, deliverMaxMs } = world.config.limits;
  // Farther away than two lost leases and all waiting.
  const farMs = deliverMaxMs >= 300_000 ? 0 : deliverMaxMs;
  const ranks = { spans: [], ranges: [], effects: [] };
  const frame: Frame = {
    nowMs: world.nowMs,
    pastMs: maxWaitMs + 1,
    maxWaitMs,
    farMs,
    ...ranks,
    replies: living(world),
  };
  const hashes: [number, number][] = [];
  length = 0;
  const { inputs, operations, faults, renewals } = world.budget;
  put(((inputs * 16 + operations) * 16 + faults) * 16 + renewals);
  putRecord(frame, world, world.record);
  if (world.config.faultKinds.includes("stale") || world.config.faultKinds.includes("rollback"))
    if (faults > 0) {
      putRecord(frame, world, world.previous);
      bits(world.lastWrite?.ledger === world.ledger);
    }
  putLedger(frame, world);
  putErrands(frame, world);
  putResults(frame, world);
  const end = length;
  for (const process of world.processes) {
    length = end;
    putProcess(frame, world, process);
    hash(end, length, pair);
    hashes.push([pair[0], pair[1]]);
  }
  hashes.sort((x, y) => x[0] - y[0] || x[1] - y[1]);
  length = end;
  for (const [a, b] of hashes) {
    put(a);
    put(b);
  }
  hash(0, length, out);
}
