/**
 * When, and what: quiet targets, wake-up times and the unanswered range, pure.
 *
 * With last input at *t* and first unanswered input at *o*:
 *
 * - `startAt = min(t + startMs, o + maxWaitMs)`: the model may start;
 * - `quietAt = min(t + quietMs, o + maxWaitMs)`: the answer may be committed.
 *
 * The model's own time counts towards the quiet the user is given: in real chat data what decides premature
 * answers is the total quiet until the send, not how it is split (docs/protocol.md). Typing and incomplete
 * inputs hold both within the cap, and expire by themselves; typing that brings no message holds no longer than
 * `typingMaxMs`. After `maxRestarts` discards the model starts only when its answer could also be sent.
 *
 * The quiet target is the smallest that the inputs ask for themselves. Where none does and windows adapt, it is the
 * user's own (pace.ts), shortened by a question mark; an author's judgement of `completeness` replaces either.
 *
 * @module
 */
import { leftOver } from "./drafts.ts";
import type {
  Change,
  Content,
  ConversationRecord,
  Effect,
  Fence,
  Input,
  Lease,
  Limits,
  LogBody,
  LogEntry,
  Outbox,
  OutboxPart,
  Outcomes,
  Parked,
  Part,
  PastSpan,
  QueuedSend,
  QuietReason,
  Seq,
  Version,
  Wait,
  Window,
} from "./model.ts";
import { asks, judgedQuietMs, met, ownQuietMs, questionQuietMs } from "./pace.ts";

// ---------------------------------------------------------------------------------------------
// Windows

/** What an input says about how long to wait for more. */
interface Waits {
  quietMs?: number;
  incomplete?: boolean;
  parts?: readonly Part[];
}

type Target = Pick<Window, "quietMs" | "reason">;

/** The quiet target an input asks for by itself; `baseMs` is the user's. */
function wish({ quietMs, parts = [] }: Waits, baseMs: number, limits: Limits): Target {
  if (quietMs !== undefined) return { quietMs: Math.min(quietMs, limits.maxWaitMs), reason: "message" };
  const setting = Math.min(limits.quietMs, limits.maxWaitMs);
  if (limits.adaptive === undefined) return { quietMs: setting };
  if (asks(parts)) return { quietMs: questionQuietMs(baseMs, limits), reason: "question" };
  return baseMs === setting ? { quietMs: setting } : { quietMs: baseMs, reason: "pace" };
}

/** What was learned or guessed holds until the next input; what was asked for holds until the answer. */
const guesses: readonly (QuietReason | undefined)[] = ["pace", "question", "judged"];

function merged({ count, quietMs, reason }: Window, wished: Target): Target {
  const isGuess = guesses.includes(reason) && wished.reason !== "message";
  return count === 0 || isGuess || wished.quietMs < quietMs ? wished : { quietMs, ...(reason && { reason }) };
}

/**
 * The window after one more input: opens it when there was none; never moves `openedAtMs`. `seq`: the first
 * log entry the input brings in. `baseMs`: the user's own quiet target, for a window that opens.
 */
export function push(
  window: Window | null,
  seq: Seq,
  input: Waits,
  nowMs: number,
  limits: Limits,
  baseMs = limits.quietMs,
): Window {
  const incompleteUntilMs = input.incomplete ? nowMs + limits.incompleteMs : null;
  if (window === null) {
    const times = { openedAtMs: nowMs, lastInputAtMs: nowMs, holdUntilMs: null, incompleteUntilMs };
    const base = limits.adaptive === undefined ? {} : { baseMs };
    return { fromSeq: seq, ...times, ...wish(input, baseMs, limits), ...base, count: 1 };
  }
  const { typingSinceMs: _, reason: __, ...kept } = window;
  return {
    ...kept,
    fromSeq: Math.min(window.fromSeq, seq),
    // A store's clock that went back must not shorten the quiet already granted.
    lastInputAtMs: Math.max(window.lastInputAtMs, nowMs),
    // What the user typed has arrived: the hold has done its work.
    holdUntilMs: null,
    incompleteUntilMs: later(window.incompleteUntilMs, incompleteUntilMs),
    ...merged(window, wish(input, window.baseMs ?? limits.quietMs, limits)),
    count: window.count + 1,
  };
}

/** The window after its inputs changed in place (an edit, a retraction): counted anew from the fold. */
export function recount(window: Window, inputs: readonly Input[], limits: Limits): Window {
  const waiting = inputs.filter((input) => input.incomplete).map((input) => input.receivedAtMs + limits.incompleteMs);
  const { reason: _, ...kept } = window;
  const anew = { ...kept, quietMs: limits.quietMs, count: 0 };
  const { quietMs, reason } = inputs.reduce<Window>(
    (so, input) => ({ ...anew, ...merged(so, wish(input, window.baseMs ?? limits.quietMs, limits)), count: 1 }),
    anew,
  );
  return {
    ...kept,
    incompleteUntilMs: waiting.length === 0 ? null : Math.max(...waiting),
    quietMs,
    ...(reason && { reason }),
    count: inputs.length,
  };
}

/** One more input: every window that could become the unanswered range takes it; back-off ends. Changes `r`. */
export function pushAll(r: ConversationRecord, seq: Seq, input: Waits, nowMs: number, limits: Limits): void {
  r.retryAtMs = null;
  const crossed = met(r, input.parts, nowMs, limits);
  const baseMs = ownQuietMs(r, limits);
  r.window = push(r.window, seq, input, nowMs, limits, baseMs);
  if (crossed !== null) r.window.crossed ??= crossed;
  // Once a part is visible the turn is sealed, and what comes is simply the next turn's.
  if (r.lease?.purpose === "respond" && r.outbox === null)
    r.lease.newer = push(r.lease.newer, seq, input, nowMs, limits, baseMs);
  if (r.outbox === null || r.outbox.window === null) return;
  r.outbox.window = push(r.outbox.window, seq, input, nowMs, limits, baseMs);
  r.outbox.newerAtMs ??= nowMs;
}

/**
 * The same for a change in place, whose windows are counted anew. `log`: from `tailFrom(r)` on, the change included.
 * A change that is only noted, because a part of the answer is on its way, still counts should that answer be taken back.
 */
export function changeAll(
  r: ConversationRecord,
  seq: Seq,
  change: Change | null,
  log: readonly LogEntry[],
  nowMs: number,
  limits: Limits,
): void {
  const anew = (window: Window | null, after: Version) => window && recount(window, inputsOf(log, after), limits);
  if (change !== null) {
    pushAll(r, seq, change.kind === "edit" ? change : {}, nowMs, limits);
    r.window = anew(r.window, r.answered);
    if (r.lease !== null) r.lease.newer = anew(r.lease.newer, r.lease.version);
  }
  if (r.outbox !== null) r.outbox.window = anew(r.outbox.window, r.outbox.from);
}

/** What a flush makes of a window: the answer is wanted now. */
const flushed = { quietMs: 0, reason: "flush", holdUntilMs: null, incompleteUntilMs: null } as const;

/** Somebody types, or has stopped. Changes `r`. */
export function hold(
  r: ConversationRecord,
  { on, forMs }: { on: boolean; forMs?: number },
  nowMs: number,
  limits: Limits,
): Outcomes["typing"] {
  const until = typingUntil(r.window, on, forMs, nowMs, limits);
  if (r.window === null || until === r.window.holdUntilMs) return { is: "nothing" };
  for (const each of windowsOf(r)) {
    each.holdUntilMs = until;
    if (limits.typingMaxMs !== undefined) each.typingSinceMs ??= nowMs;
  }
  return { is: "held" };
}

/** The answer is wanted now. Changes `r`. */
export function flush(
  r: ConversationRecord,
  { by }: { by?: string },
  note: (body: LogBody) => void,
): Outcomes["flush"] {
  if (r.window === null) return { is: "nothing" };
  // Programs do it with every button; a person who does is to be found in the log.
  if (by !== undefined) note({ kind: "flushed", by });
  for (const each of windowsOf(r)) Object.assign(each, flushed);
  return { is: "flushed" };
}

/** How complete the author finds what was said. A judgement that newer input overtook, or that is against a wish, is none. */
export function judge(
  r: ConversationRecord,
  { version, completeness }: { version: Version; completeness: number },
  limits: Limits,
): Outcomes["judge"] {
  const asked = r.window?.reason === "message" || r.window?.reason === "flush";
  if (r.window === null || asked || version !== r.version) return { is: "nothing" };
  const quietMs = judgedQuietMs(r.window.baseMs ?? limits.quietMs, completeness, limits);
  for (const each of windowsOf(r)) Object.assign(each, { quietMs, reason: "judged" });
  return { is: "judged" };
}

/** Every window that is, or could become, the unanswered range. */
export function windowsOf(r: ConversationRecord): Window[] {
  return [r.window, r.lease?.newer, r.outbox?.window].filter((each) => each != null);
}

/** The end of all waiting, whatever the user does. */
export function capAt(window: Window, limits: Limits): number {
  return window.openedAtMs + limits.maxWaitMs;
}

/** The answer may be committed from then on. */
export function quietAt(window: Window, limits: Limits): number {
  return held(window, window.quietMs, limits);
}

/** The model may start from then on. */
export function startAt(window: Window, limits: Limits, restarts: number): number {
  return held(window, startMs(window, limits, restarts), limits);
}

/** After this much quiet. With `leadMs` so early that the answer is ready when it may go out. */
function startMs({ quietMs }: Window, limits: Limits, restarts: number): number {
  if (restarts >= limits.maxRestarts) return quietMs;
  return limits.leadMs === undefined ? Math.min(limits.startMs, quietMs) : Math.max(0, quietMs - limits.leadMs);
}

/** What was waited for until the model started, now. */
export function startWait(window: Window, limits: Limits, restarts: number, nowMs: number): Wait {
  const targetMs = startMs(window, limits, restarts);
  return waited(window, targetMs, restarts >= limits.maxRestarts ? "restarts" : undefined, nowMs, limits);
}

/** What was waited for until the answer was committed, now. */
export function quietWait(window: Window, nowMs: number, limits: Limits): Wait {
  return waited(window, window.quietMs, undefined, nowMs, limits);
}

function waited(
  window: Window,
  targetMs: number,
  reason: Wait["reason"] | undefined,
  nowMs: number,
  limits: Limits,
): Wait {
  if (nowMs >= capAt(window, limits)) return { targetMs, reason: "cap" };
  const target = window.lastInputAtMs + targetMs;
  const incompleteMs = window.incompleteUntilMs ?? 0;
  const holdMs = Math.max(window.holdUntilMs ?? 0, incompleteMs);
  if (holdMs > target) return { targetMs, reason: holdMs === incompleteMs ? "incomplete" : "typing" };
  return { targetMs, reason: reason ?? window.reason ?? "setting" };
}

/** Both targets of the pending window, or nulls. */
export function targets(r: ConversationRecord, limits: Limits): { startAtMs: number | null; quietAtMs: number | null } {
  if (r.window === null) return { startAtMs: null, quietAtMs: null };
  return { startAtMs: startAt(r.window, limits, r.restarts), quietAtMs: quietAt(r.window, limits) };
}

function held(window: Window, waitMs: number, limits: Limits): number {
  const quiet = Math.max(window.lastInputAtMs + waitMs, window.holdUntilMs ?? 0, window.incompleteUntilMs ?? 0);
  return Math.min(quiet, capAt(window, limits));
}

function later(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.max(a, b);
}

// ---------------------------------------------------------------------------------------------
// Questions about a record

/** When somebody must look at this conversation again; null at rest. A pure function of the record. */
export function wakeAt(r: ConversationRecord, limits: Limits): number | null {
  if (r.lease !== null) return r.lease.expiresAtMs;
  if (r.outbox !== null) return tryAt(r.outbox);
  const draft = leftOver(r);
  if (draft !== null) return draft.atMs;
  if (r.handoff !== null && (r.window !== null || r.sends.length > 0)) return r.handoff.untilMs;
  const send = nextSend(r);
  if (send !== undefined) return send.atMs;
  return r.window === null ? null : dueAt(r, r.window, limits);
}

/** The message of the bot's own accord that has its place now: after the turn it was queued in, before any later one. */
export function nextSend({ sends, outbox, handoff, window }: ConversationRecord): QueuedSend | undefined {
  const [next] = sends;
  if (next === undefined || outbox !== null || handoff !== null) return undefined;
  return window === null || next.seq < window.fromSeq ? next : undefined;
}

/** When the next part may be tried; at once where none is left to try, so that somebody finds out. */
export function tryAt(outbox: Outbox): number {
  return outbox.parts.find((part) => part.state === "queued")?.nextAtMs ?? outbox.committedAtMs;
}

/** When the model may start: quiet, back-off, effects that still run, and the hourly guard. */
export function dueAt(r: ConversationRecord, window: Window, limits: Limits): number {
  const running = Object.values(r.effects).map((effect) => (effect.state === "begun" ? effect.untilMs : 0));
  const guard = r.tempo.replies >= limits.repliesPerHour ? r.tempo.sinceMs + 3_600_000 : 0;
  return Math.max(startAt(window, limits, r.restarts), r.retryAtMs ?? 0, guard, ...running);
}

/** First log entry a worker needs: unanswered inputs, the reply being sent, messages that wait. */
export function tailFrom(r: ConversationRecord): Seq {
  const none = r.seq + 1;
  const { window, outbox, sends } = r;
  return Math.min(
    window?.fromSeq ?? none,
    outbox?.window?.fromSeq ?? none,
    outbox?.parts[0]?.seq ?? none,
    sends[0]?.seq ?? none,
  );
}

/** First log entry that retention must keep: the tail, and what `retry` can bring back. */
export function keepFrom(r: ConversationRecord): Seq {
  return Math.min(tailFrom(r), r.parked?.fromSeq ?? r.seq + 1, r.last?.fromSeq ?? r.seq + 1);
}

/** Newer input discards the running attempt. Input that came after the cap never does. */
export function superseded(r: ConversationRecord, limits: Limits): boolean {
  if (r.lease === null || r.lease.sealed || r.lease.newer === null || r.window === null) return false;
  return r.lease.newer.openedAtMs <= capAt(r.window, limits);
}

/** The holder settles a part again, because the answer was lost: it goes on from what the record says. */
export function settledBefore(part: OutboxPart | undefined, outbox: Outbox): Outcomes["settle"] {
  if (part === undefined) return { is: "lost" };
  return part.state === "queued" ? { is: "retry", atMs: part.nextAtMs, held: outbox.open } : { is: "next" };
}

/** What a renewal tells the holder. */
export function standing(r: ConversationRecord, { newer, expiresAtMs }: Lease, limits: Limits) {
  const cancelled = r.outbox?.ending === "cancelled";
  return { superseded: superseded(r, limits), newer: newer !== null, cancelled, expiresAtMs };
}

/** Nothing of the reply was sent or is in doubt, it was not sealed, and it is complete. */
export function withdrawable(outbox: Outbox): boolean {
  if (outbox.window === null || outbox.sealed || outbox.open) return false;
  return outbox.parts.every((part) => part.state === "queued" && !part.doubt);
}

/** Input came after the commit, and not after the cap, of a reply that can still be taken back. */
export function overtaken(outbox: Outbox, limits: Limits): boolean {
  if (outbox.window === null || outbox.newerAtMs === null || !withdrawable(outbox)) return false;
  return outbox.newerAtMs <= capAt(outbox.window, limits);
}

/** A typing hold's new end. Typing events come every few seconds: one that moves it by less than a second is not worth a write. */
export function typingUntil(
  window: Window | null,
  on: boolean,
  forMs: number | undefined,
  nowMs: number,
  limits: Limits,
): number | null {
  if (window === null || !on) return null;
  // Whoever types for so long and sends nothing has probably left it: a draft in a box nobody looks at.
  const abandonedAtMs = (window.typingSinceMs ?? nowMs) + (limits.typingMaxMs ?? Number.POSITIVE_INFINITY);
  const until = Math.min(nowMs + (forMs ?? limits.typingMs), capAt(window, limits), abandonedAtMs);
  return until > (window.holdUntilMs ?? window.lastInputAtMs) + 1_000 ? until : window.holdUntilMs;
}

/** How long a lease taken now lives without renewal, and with. */
export function term(nowMs: number, limits: Limits): Pick<Lease, "expiresAtMs" | "deadlineMs"> {
  const deadlineMs = nowMs + limits.turnTimeoutMs;
  return { expiresAtMs: Math.min(nowMs + limits.leaseMs, deadlineMs), deadlineMs };
}

/** Marks a part as on its way, before it is. The attempt makes progress, so its deadline moves. False without a part. */
export function launch(lease: Lease, part: OutboxPart | undefined, nowMs: number, limits: Limits): boolean {
  if (part !== undefined) Object.assign(part, { state: "attempting", tries: part.tries + 1 });
  Object.assign(lease, term(nowMs, limits));
  return part !== undefined;
}

/** What a lease just taken, or asked for again, is for. */
export function granted(r: ConversationRecord, { fence, version, deadlineMs, sealed }: Lease): Outcomes["claim"] {
  if (r.outbox !== null) return { is: "deliver", fence, replyId: r.outbox.replyId, deadlineMs };
  return { is: "respond", fence, version, from: r.answered, attempt: r.attempts, span: r.span, sealed, deadlineMs };
}

/**
 * A renewal: the lease, and the effects its attempt has begun and not ended, live on; neither beyond its
 * deadline. Without a lease only the effects do. Changes `r`.
 */
export function extend(
  r: ConversationRecord,
  lease: Lease | null,
  renewal: { fence: Fence; held: boolean; deadlineMs: number },
  nowMs: number,
  limits: Limits,
): void {
  // Waiting for the quiet target is not the attempt's fault.
  if (lease !== null && renewal.held && r.window !== null)
    lease.deadlineMs = Math.max(lease.deadlineMs, capAt(r.window, limits) + limits.leaseMs);
  const until = Math.min(nowMs + limits.leaseMs, lease?.deadlineMs ?? renewal.deadlineMs);
  const effects = [...Object.values(r.effects), ...Object.values(r.outbox?.effects ?? {})];
  for (const effect of effects)
    if (effect.state === "begun" && effect.fence === renewal.fence) effect.untilMs = Math.max(effect.untilMs, until);
  if (lease !== null) lease.expiresAtMs = Math.max(lease.expiresAtMs, until);
}

/** Keys are the author's own: `constructor` is one like any other. */
export function effectOf(effects: Record<string, Effect>, key: string): Effect | undefined {
  return Object.hasOwn(effects, key) ? effects[key] : undefined;
}

/** Marks an effect as begun. `inDoubt`: an earlier run of it may have happened. `forMs`: so long nobody else begins it. */
export function beginEffect(
  place: { span: number; effects: Record<string, Effect> },
  key: string,
  { fence, expiresAtMs: untilMs }: Lease,
  nowMs: number,
): { inDoubt: boolean; span: number; forMs: number } {
  const before = effectOf(place.effects, key);
  // Sticky: who asks again after a lost answer is told the same, and so is whoever comes after a run that failed.
  const doubt = before?.state === "begun" && (before.fence !== fence || before.doubt === true);
  const mark: Effect = { state: "begun", fence, untilMs, ...(doubt && { doubt }) };
  // In a literal even `__proto__` is a key like any other.
  place.effects = { ...place.effects, [key]: mark };
  return { inDoubt: doubt, span: place.span, forMs: untilMs - nowMs };
}

/** A run that failed has not happened; of one before it that nobody saw the end of, nothing more is known. */
export function failEffect(effects: Record<string, Effect>, key: string, nowMs: number): void {
  const effect = effectOf(effects, key);
  if (effect?.state === "begun" && effect.doubt === true) effect.untilMs = nowMs;
  else delete effects[key];
}

/** A dead letter. One that follows the last without a gap joins it: an outage is revived as a whole. */
export function parkedWith(old: Parked | null, past: PastSpan, nowMs: number, reason: string): Parked {
  const parked = { from: past.from, to: past.to, fromSeq: past.fromSeq, atMs: nowMs, reason };
  return old?.to === past.from ? { ...parked, from: old.from, fromSeq: Math.min(old.fromSeq, past.fromSeq) } : parked;
}

/** One more reply in the running hour. */
export function counted(tempo: ConversationRecord["tempo"], nowMs: number): ConversationRecord["tempo"] {
  if (nowMs >= tempo.sinceMs + 3_600_000) return { sinceMs: nowMs, replies: 1 };
  return { ...tempo, replies: tempo.replies + 1 };
}

/** A reply that was not delivered by then is given up, so that it cannot keep the next turn waiting for ever. */
export function giveUpAt(outbox: Outbox, limits: Limits): number {
  return outbox.committedAtMs + limits.deliverMaxMs;
}

/** Back-off before the n-th repeat of a failed attempt. `random` in 0 ≤ x < 1. */
export function retryMs(n: number, limits: Limits, random: number): number {
  return backoffMs(n, limits.backoffFirstMs, limits.backoffMaxMs, random);
}

/** Back-off before the n-th repeat of a refused part. */
export function redeliverMs(n: number, limits: Limits, random: number): number {
  return backoffMs(n, limits.deliverBackoffFirstMs, limits.deliverBackoffMaxMs, random);
}

/** `firstMs · 2ⁿ⁻¹`, at most `maxMs`, of which a random part up to half is taken away. */
function backoffMs(n: number, firstMs: number, maxMs: number, random: number): number {
  const full = Math.min(maxMs, firstMs * 2 ** Math.min(n - 1, 40));
  return Math.round(full * (0.5 + random / 2));
}

// ---------------------------------------------------------------------------------------------
// The fold

/**
 * The visible inputs with `after < version ≤ upTo`: what a model must see, folded from a contiguous stretch
 * of the log. Later edits replace content, retractions remove, inputs set aside do not count; an edit whose
 * target is not among them stands for itself. Arrival order.
 */
export function inputsOf(log: readonly LogEntry[], after: Version, upTo: Version = Number.MAX_SAFE_INTEGER): Input[] {
  const ranges: Pick<PastSpan, "from" | "to">[] = [{ from: after, to: upTo }];
  const counts = (version: Version) => ranges.some(({ from, to }) => version > from && version <= to);
  // Newest first: what a retry brings back may itself be a retry.
  for (const entry of log.toReversed()) if (entry.kind === "retry" && counts(entry.version)) ranges.push(entry);
  const inputs = new Map<string, Input>();
  for (const entry of log) {
    if (entry.kind === "message") {
      if (entry.aside === undefined && counts(entry.version)) inputs.set(entry.id, inputOf(entry, entry.id));
    } else if (entry.kind === "edit") {
      if (entry.version > upTo) continue;
      const target = inputs.get(entry.target);
      // Even one that was only noted: the answer it came too late for was taken back, or its target brought back.
      if (target !== undefined) inputs.set(entry.target, edited(target, entry));
      else if (entry.aside === undefined && counts(entry.version))
        inputs.set(entry.target, { ...inputOf(entry, entry.id), editOf: entry.target });
    } else if (entry.kind === "retraction" && entry.version <= upTo) inputs.delete(entry.target);
  }
  return [...inputs.values()];
}

/** The input an edit or a retraction speaks of, if it can still change what is answered. */
export function targetOf(r: ConversationRecord, target: string, log: readonly LogEntry[]): Input | undefined {
  const after = r.outbox !== null && withdrawable(r.outbox) ? r.outbox.from : r.answered;
  return inputsOf(log, after).find((input) => (input.editOf ?? input.id) === target);
}

type Written = Extract<LogEntry, { kind: "message" | "edit" }>;

function inputOf(entry: Written, id: string): Input {
  return {
    ...contentOf(entry),
    id,
    version: entry.version,
    seq: entry.seq,
    receivedAtMs: entry.atMs,
    edited: entry.kind === "edit",
    incomplete: entry.incomplete === true,
    ...(entry.quietMs === undefined ? {} : { quietMs: entry.quietMs }),
  };
}

/** An edit replaces what was said, not who said it or when. */
function edited(input: Input, edit: Written): Input {
  const quietMs = edit.quietMs ?? input.quietMs;
  return {
    ...input,
    parts: edit.parts,
    ...(edit.metadata === undefined ? {} : { metadata: edit.metadata }),
    edited: true,
    incomplete: edit.incomplete === true,
    ...(quietMs === undefined ? {} : { quietMs }),
  };
}

/** What stays of a window when everything up to `upTo` has ended; empty when what came since was taken back, null when nothing came. */
export function windowAfter(upTo: Version, window: Window, log: readonly LogEntry[], limits: Limits): Window | null {
  const inputs = inputsOf(log, upTo);
  const [first] = inputs;
  if (first === undefined) return log.some((entry) => isLater(entry, upTo)) ? { ...window, count: 0 } : null;
  return recount({ ...window, fromSeq: first.seq, openedAtMs: first.receivedAtMs }, inputs, limits);
}

function isLater(entry: LogEntry, than: Version): boolean {
  const isInput = entry.kind === "message" || entry.kind === "edit" || entry.kind === "retraction";
  return isInput && entry.version > than && entry.aside === undefined;
}

/** Would this edit change nothing a model could see? */
export function sameContent(input: Input, edit: Content & { incomplete?: true }): boolean {
  const now = [edit.parts, edit.metadata ?? input.metadata, edit.incomplete === true];
  return JSON.stringify([input.parts, input.metadata, input.incomplete]) === JSON.stringify(now);
}

function contentOf(entry: Content): Content {
  const { parts, author, sentAtMs, replyTo, metadata, trace } = entry;
  const content: Content = { parts };
  if (author !== undefined) content.author = author;
  if (sentAtMs !== undefined) content.sentAtMs = sentAtMs;
  if (replyTo !== undefined) content.replyTo = replyTo;
  if (metadata !== undefined) content.metadata = metadata;
  if (trace !== undefined) content.trace = trace;
  return content;
}

/**
 * The order people meant: by the platform's time where it is known; an input without one stays behind the
 * input it arrived after. Ties keep arrival order, so every process sorts alike.
 */
export function inOrder(inputs: readonly Input[]): Input[] {
  let last = Number.NEGATIVE_INFINITY;
  const keyed = inputs.map((input) => {
    last = input.sentAtMs ?? last;
    return { input, key: last };
  });
  return keyed.sort((a, b) => (a.key === b.key ? 0 : a.key - b.key)).map(({ input }) => input);
}
