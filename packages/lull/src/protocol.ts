/**
 * The whole protocol, pure: (record, event, now, limits) → (next record, log entries, outcome). No clock, no
 * random source, no store. Everything atomic is one compare-and-exchange of what `apply` returns.
 *
 * Words. The *holder* is whoever knows the fence of the record's lease; a lease that has expired but was not
 * taken still has its holder, so clocks decide only efficiency. A *span* is the unanswered range; it ends by
 * reply, human, silence, park, drop or emptiness, and every ending sets the counters to 0 and forgets the
 * effects. An attempt is *superseded* when input came after its version and not after the cap, and the turn
 * is not sealed. A reply is *withdrawable* while nothing of it was sent or is in doubt, it was not sealed, and
 * it is not open.
 *
 * A conversation is in exactly one of these states:
 *
 * - **rest**: no window, no lease, no outbox, nothing queued. No timer.
 * - **waiting**: a window. Timer at its start, a back-off, a running effect's end or the end of a hand-off.
 * - **answering**: a lease to respond. Timer at the lease's expiry: the watchdog. Input adds to the window and
 *   to `lease.newer`; it never touches the timer.
 * - **delivering**: an outbox, with a lease while somebody sends. Timer at the lease's expiry or the next try.
 *   Input opens the next window.
 *
 * | Event | Precondition | Effect | Outcome |
 * |---|---|---|---|
 * | receive | id not seen (store) | version+1, log entry, windows pushed, back-off cleared | accepted · rejected |
 * | edit, retract | target known | the same, windows counted anew; an answered target: a note in the log, or new input | accepted · unchanged · ignored · rejected |
 * | typing | window | holds it; written only when it moves the hold by more than a second | held · nothing |
 * | flush | window | quiet target 0, holds dropped | flushed · nothing |
 * | judge | window, no newer input, no wish | quiet target by the author's judgement | judged · nothing |
 * | claim | due, no live lease | expired lease settled; fence = max(fence+1, now); lease at `version` | deliver · respond · nothing |
 * | renew | holder | expiry pushed, never beyond the deadline; own running effects too, even after the lease | renewed · lost |
 * | discard | holder, superseded or handing back | lease dropped, window re-armed | superseded · handed-back · current · lost |
 * | absorb | holder, not sealed, no reply | lease.version = version | absorbed · sealed · lost |
 * | seal | holder, fresh, quiet | sealed | sealed · early · superseded · lost |
 * | begin | holder; fresh and quiet unless read-only | effect begun | run · done · busy · early · superseded · full · lost |
 * | end | begun in this span | value to the log, or the mark removed when it failed | recorded · late |
 * | commit | holder | superseded: as discard. Before quiet: early. Else answered = lease.version, reply to log and outbox | committed · superseded · early · lost |
 * | append, close | holder of the open reply | a further part · no further parts | appended · closed · full · lost |
 * | attempt | holder, earlier parts settled | part marked before it is sent; or the reply withdrawn; or given up by age | attempting · withdrawn · early · settled · lost |
 * | settle | holder, part attempting | receipt recorded; last part of a closed reply ends it | next · retry · closed · lost |
 * | fail | holder | no reply yet: failure counted, back-off or park. Open reply: closed as cut | retry · parked · cut · lost |
 * | handoff, humanReply, resume, reset, retry | — | attempt ended, queued parts cancelled; a part being attempted keeps its lease until settled | done … |
 * | send | key not used (store) | queued for its place | queued · dropped · full |
 * | draft | holder, fresh, quiet, no reply yet | the record knows the draft before it is shown | drafted · stale · early · superseded · lost |
 * | undraft, spend | — | the draft is gone · a cost is noted | ended · nothing · spent |
 * | tune | — | the conversation's own times and `whenBusy` from now on | tuned · unchanged |
 *
 * @module
 */
import * as drafts from "./drafts.ts";
import * as m from "./model.ts";
import * as pace from "./pace.ts";
import * as tuning from "./tuning.ts";
import * as window from "./window.ts";

const lost = { is: "lost" } as const;

type Verbs = { [T in m.ProtocolEvent["type"]]: (event: m.EventOf<T>) => m.Outcomes[T] };

/** One transition in the making: `r` is a copy of the record, free to change; `entries` go to the log. */
function transition(r: m.ConversationRecord, now: number, limits: m.Limits) {
  const entries: m.LogEntry[] = [];

  function note(body: m.LogBody): m.Seq {
    r.seq += 1;
    entries.push({ ...body, seq: r.seq, atMs: now });
    return r.seq;
  }

  /** The lease, when the caller is its holder. */
  function holder(by: m.Held): m.Lease | null {
    return r.lease?.fence === by.fence && r.lease.claimId === by.claimId ? r.lease : null;
  }

  /** A verb that only the holder may use; everybody else has lost. */
  function held<E extends m.Held, O>(verb: (e: E, lease: m.Lease) => O): (e: E) => O | typeof lost {
    return (e) => (r.lease !== null && holder(e) !== null ? verb(e, r.lease) : lost);
  }

  /** The same, for the reply in the outbox. */
  function owned<E extends m.Held & { replyId: string }, O>(verb: (e: E, outbox: m.Outbox, lease: m.Lease) => O) {
    return held((e: E, lease) => (r.outbox?.replyId === e.replyId ? verb(e, r.outbox, lease) : lost));
  }

  /** An edit or a retraction: counted anew, or a note about something answered before. */
  function change(body: m.Change, ignored: boolean, most: number, log: readonly m.LogEntry[]): m.Changed {
    if (!ignored && r.version - r.answered >= most) return { is: "rejected", version: r.version };
    if (!ignored) r.version += 1;
    const seq = note({ ...body, version: r.version, ...(ignored && { aside: "answered" }) });
    window.changeAll(r, seq, ignored ? null : body, [...log, ...entries], now, limits);
    rest();
    return { is: ignored ? "ignored" : "accepted", version: r.version };
  }

  // --- how spans and attempts end

  /** The span is over: counters to 0, effects forgotten (their values stay in the log). */
  function endSpan(): void {
    forget(r.span, r.effects);
    const counters = { attempts: 0, restarts: 0, failures: 0, retryAtMs: null };
    Object.assign(r, counters, { span: Math.max(r.span + 1, now), effects: {}, last: null });
  }

  function forget(span: number, effects: m.ConversationRecord["effects"]): void {
    for (const [key, { state }] of Object.entries(effects))
      if (state === "begun") note({ kind: "effect-unknown", key, span });
  }

  /** Ends the unanswered range, if there is one, up to `to` without a reply; `left` is what stays pending. `reason`: parked. */
  function settleUpTo(to: m.Version, left: m.Window | null, outcome: m.SpanEnding, reason?: string): void {
    if (r.window === null) return;
    const past = { from: r.answered, to, fromSeq: r.window.fromSeq };
    note({ kind: "settled", from: past.from, to, outcome, reason });
    endSpan();
    Object.assign(r, { answered: to, window: left });
    if (outcome === "silent" || outcome === "context") r.last = past;
    if (reason !== undefined) r.parked = window.parkedWith(r.parked, past, now, reason);
    rest();
  }

  /** Nothing pending and nobody at work: every version has ended. */
  function rest(): void {
    if (r.lease !== null || r.outbox !== null) return;
    if (r.window?.count === 0) settleUpTo(r.version, null, "removed");
    if (r.window === null) r.answered = r.version;
  }

  /** The record remembers how the last four attempts ended. */
  function remember({ fence, claimId }: m.Held, outcome: m.EndedAttempt["outcome"]): void {
    r.ended = [...r.ended, { fence, claimId, outcome }].slice(-4);
  }

  /** Drops the lease of an attempt that did not answer. */
  function endAttempt(lease: m.Lease, outcome: m.AttemptEnding, error?: string): void {
    note({ kind: "ended", fence: lease.fence, outcome, error, retryAtMs: r.retryAtMs ?? undefined });
    remember(lease, outcome);
    if (outcome === "superseded") r.restarts += 1;
    r.lease = null;
    rest();
  }

  /** Counts a failure: back-off; at the limit what the attempt knew is parked, and the rest is a span of its own. */
  function countFailure(lease: m.Lease, outcome: "failed" | "expired", e: m.Failure, delayMs: number): boolean {
    r.failures += 1;
    const park = r.failures >= limits.maxFailures;
    if (!park && delayMs > 0) r.retryAtMs = now + delayMs;
    endAttempt(lease, outcome, e.error);
    // All of it may have been taken back meanwhile.
    if (!park || r.window === null) return false;
    settleUpTo(lease.version, lease.newer, "parked", e.error);
    if (e.fallback) post({ ...e.fallback, cause: "fallback", fence: lease.fence, to: r.answered });
    return true;
  }

  // --- the outbox

  /** To the log and into the outbox. */
  function post({ parts, overtaken = false, sealed = true, open = false, metadata, amends, ...reply }: m.NewReply) {
    const wait = reply.cause === "turn" && r.window !== null ? window.quietWait(r.window, now, limits) : undefined;
    const content = { parts: [...parts], open, overtaken, metadata, amends, wait, address: r.address };
    const seq = note({ kind: "reply", from: r.answered, ...reply, ...content });
    r.outbox = m.outboxOf(r, { ...reply, ...drafts.place(r, reply.to), sealed, open }, seq, parts.length, now);
    return r.outbox;
  }

  function mark(outbox: m.Outbox, part: m.OutboxPart, state: m.PartState, more: m.ReceiptNotes = {}): void {
    Object.assign(part, { state, ...(state === "sent" && { doubt: false }) });
    if (state === "sent" || state === "unknown") pace.showed(r, outbox, part, now, limits);
    note({ kind: "receipt", replyId: outbox.replyId, index: outbox.parts.indexOf(part), state, ...more });
  }

  /** Nothing more of it will be sent. */
  function cancelQueued(outbox: m.Outbox): void {
    outbox.open = false;
    for (const part of outbox.parts)
      if (part.state === "queued") mark(outbox, part, part.doubt ? "unknown" : "cancelled");
  }

  /** Ends a complete reply of which nothing is left to attempt. */
  function closeIfSettled(outbox: m.Outbox): boolean {
    const { ending, parts, from, to } = outbox;
    if (outbox.open || parts.some(m.unsettled)) return false;
    const shown = parts.some(({ state }) => state === "sent" || state === "unknown");
    // A hand-off before anything was shown: the inputs are unanswered again.
    if (!shown && ending === "cancelled" && outbox.window !== null) return withdraw(outbox);
    const outcome = shown ? (ending ?? "delivered") : ending === "cancelled" ? ending : "failed";
    const fromSeq = outbox.window?.fromSeq;
    if (outcome === "failed" && fromSeq)
      r.parked = window.parkedWith(r.parked, { from, to, fromSeq }, now, "delivery failed");
    forget(outbox.span, outbox.effects);
    return vacate(outbox, outcome);
  }

  /** Takes a reply back of which nothing was shown: everything is as it was before the commit. */
  function withdraw(outbox: m.Outbox): true {
    const { from, span, effects, restarts } = outbox;
    Object.assign(r, { answered: from, window: outbox.window, span, effects, restarts: restarts + 1 });
    r.tempo.replies = Math.max(0, r.tempo.replies - 1);
    return vacate(outbox, "withdrawn");
  }

  function vacate(outbox: m.Outbox, outcome: m.ReplyEnding): true {
    drafts.vacated(r, outbox, outcome, note);
    r.outbox = r.lease = null;
    rest();
    return true;
  }

  /** Nobody will settle what is on its way: it is in doubt for good. */
  function abandon(outbox: m.Outbox, delayMs: (tries: number) => number): void {
    for (const part of outbox.parts) {
      if (part.state !== "attempting") continue;
      const nextAtMs = Math.min(now + delayMs(part.tries), window.giveUpAt(outbox, limits));
      Object.assign(part, { state: "queued", doubt: true, nextAtMs });
      if (outbox.ending === "cancelled") mark(outbox, part, "unknown");
    }
    cut(outbox);
  }

  /** Nothing will be appended any more; what was said stands. */
  function cut(outbox: m.Outbox): { is: "cut" } {
    if (outbox.open) outbox.ending ??= "cut";
    outbox.open = false;
    closeIfSettled(outbox);
    return { is: "cut" };
  }

  /** Somebody takes over: the attempt ends, what was not sent is cancelled, a part on its way keeps its lease. */
  function interrupt(outcome: "handed-off" | "answered-by-human" | "reset", endedUpTo: m.Version): void {
    const { outbox, lease } = r;
    if (outbox === null) return void (lease && endAttempt(lease, outcome));
    outbox.ending = "cancelled";
    // So that a model that is still talking learns why.
    if (lease !== null && outbox.open) remember(lease, outcome);
    cancelQueued(outbox);
    // What whoever took over has ended stays so. The rest comes back should nothing of the reply be shown.
    if (!closeIfSettled(outbox) && endedUpTo >= outbox.to) outbox.window = null;
  }

  /** What may become visible or irreversible must be fresh and quiet. `ends`: who is told otherwise goes away, and the attempt ends. */
  function unfit(lease: m.Lease, ends = false): { is: "early"; atMs: number } | { is: "superseded" } | null {
    const isLate = window.superseded(r, limits);
    if (isLate && ends) endAttempt(lease, "superseded");
    if (isLate) return { is: "superseded" };
    const atMs = lease.sealed || r.window === null || r.outbox !== null ? now : window.quietAt(r.window, limits);
    return now < atMs ? { is: "early", atMs } : null;
  }

  // --- claiming

  /** The holder crashed, or is so late that it counts as crashed. The first two repeats wait for nothing. */
  function expire(lease: m.Lease, { random, fallback }: m.EventOf<"claim">): void {
    const delayMs = (n: number, backOff: typeof window.retryMs) => (n <= 2 ? 0 : backOff(n - 2, limits, random));
    const failure = { error: "the lease expired: its holder stopped", fallback };
    const { outbox } = r;
    if (outbox === null) countFailure(lease, "expired", failure, delayMs(r.failures + 1, window.retryMs));
    else endAttempt(lease, "expired");
    if (outbox !== null) abandon(outbox, (tries) => delayMs(tries, window.redeliverMs));
  }

  function take({ owner, claimId }: m.EventOf<"claim">, purpose: m.Lease["purpose"], sealed: boolean): m.Lease {
    // At least the clock: a store that came back older than it was cannot hand out a fence twice.
    r.fence = Math.max(r.fence + 1, now);
    const mine = { owner, claimId, fence: r.fence, purpose, version: r.version, sealed, newer: null };
    r.lease = { ...mine, ...window.term(now, limits) };
    return r.lease;
  }

  function endHandoff(id: string, backlog: m.Backlog, by?: string): void {
    r.handoff = null;
    note({ kind: "resumed", id, backlog, by });
    if (backlog === "answer") return;
    if (r.outbox !== null) r.outbox.window = null;
    settleUpTo(r.version, null, "context");
  }

  // The mapped type makes the table exhaustive: a new event does not compile without its verb.
  const verbs: Verbs = {
    receive({ type: _, address, ...message }) {
      if (!message.aside && r.version - r.answered >= limits.maxPending) return { is: "rejected", reason: "full" };
      r.version += 1;
      const seq = note({ kind: "message", ...message, version: r.version });
      if (address !== undefined) r.address = address;
      if (!message.aside) window.pushAll(r, seq, message, now, limits);
      rest();
      return { is: "accepted", version: r.version, seq, ...window.targets(r, limits) };
    },

    edit({ type: _, completes, afterAnswer, log, ...edit }) {
      const target = window.targetOf(r, edit.target, log);
      if (target !== undefined && window.sameContent(target, edit)) return { is: "unchanged", version: r.version };
      const ignored = target === undefined && afterAnswer === "ignore" && !completes;
      return change({ kind: "edit", ...edit }, ignored, limits.maxPending, log);
    },

    // Taking back must be possible when the conversation is full, yet bounded.
    retract({ type: _, log, ...retraction }) {
      const ignored = window.targetOf(r, retraction.target, log) === undefined;
      return change({ kind: "retraction", ...retraction }, ignored, 2 * limits.maxPending, log);
    },

    typing: (e) => window.hold(r, e, now, limits),

    flush: (e) => window.flush(r, e, note),

    judge: (e) => window.judge(r, e, limits),

    claim(e) {
      const nothing = () => ({ is: "nothing", wakeAtMs: window.wakeAt(r, limits) }) as const;
      if (r.lease?.claimId === e.claimId) return window.granted(r, r.lease);
      if (r.ended.some(({ claimId }) => claimId === e.claimId)) return nothing();
      if (r.lease !== null && r.lease.expiresAtMs > now) return nothing();
      if (r.lease !== null) expire(r.lease, e);
      const left = drafts.leftOver(r);
      if (left !== null) r.outbox = m.outboxOfDraft(r, left, now);
      const next = window.nextSend(r);
      if (next !== undefined) [r.outbox, r.sends] = [m.outboxOfSend(r, next, now), r.sends.slice(1)];
      if (r.outbox !== null)
        return window.tryAt(r.outbox) > now ? nothing() : window.granted(r, take(e, "deliver", r.outbox.sealed));
      if (r.handoff !== null || r.window === null || window.dueAt(r, r.window, limits) > now) return nothing();
      Object.assign(r, { attempts: r.attempts + 1, retryAtMs: null });
      const lease = take(e, "respond", e.seals === true || now >= window.capAt(r.window, limits));
      const { fence, owner, version: to, sealed } = lease;
      const wait = window.startWait(r.window, limits, r.restarts, now);
      const told = { sealed, wait, crossed: r.window.crossed?.replyId };
      note({ kind: "attempt", fence, owner, from: r.answered, to, attempt: r.attempts, ...told });
      return window.granted(r, lease);
    },

    renew(e) {
      const lease = holder(e);
      window.extend(r, lease, e, now, limits);
      return lease === null ? lost : { is: "renewed", ...window.standing(r, lease, limits) };
    },

    discard: held(({ reason }, lease) => {
      if (reason === "superseded" && !window.superseded(r, limits)) return { is: "current" };
      endAttempt(lease, reason);
      if (r.outbox !== null) abandon(r.outbox, () => 0);
      return { is: reason };
    }),

    absorb: held((_, lease) => {
      if (r.outbox !== null) return lost;
      if (lease.sealed) return { is: "sealed" };
      if (r.version > lease.version) note({ kind: "absorbed", fence: lease.fence, to: r.version });
      Object.assign(lease, { version: r.version, newer: null });
      return { is: "absorbed", version: lease.version };
    }),

    seal: held(({ elsewhere }, lease) => {
      const not = unfit(lease, elsewhere);
      if (not !== null) return not;
      if (!lease.sealed) note({ kind: "sealed", fence: lease.fence });
      lease.sealed = true;
      return { is: "sealed" };
    }),

    begin: held(({ key, fence, readOnly, elsewhere }, lease) => {
      // After the first visible part the span has moved into the outbox, and its effects with it.
      const place = r.outbox ?? r;
      const effect = window.effectOf(place.effects, key);
      if (effect?.state === "ended") return { is: "done", seq: effect.seq };
      if (effect && effect.fence !== fence && effect.untilMs > now) return { is: "busy", untilMs: effect.untilMs };
      const not = readOnly ? null : unfit(lease, elsewhere);
      if (not !== null) return not;
      if (effect === undefined && Object.keys(place.effects).length >= limits.maxEffects) return { is: "full" };
      return { is: "run", ...window.beginEffect(place, key, lease, now) };
    }),

    end({ span, key, fence, result }) {
      const effects = r.span === span ? r.effects : r.outbox?.span === span ? r.outbox.effects : {};
      const effect = window.effectOf(effects, key);
      const running = effect?.state === "begun";
      // Asked again after a lost answer: the value is in the log already.
      if (effect?.state === "ended" && effect.fence === fence) return { is: "recorded" };
      if (result !== null) {
        const seq = note({ kind: "effect", key, span, fence, value: result.value, late: running ? undefined : true });
        if (running) effects[key] = { state: "ended", fence, seq };
      } else if (running && effect.fence === fence) window.failEffect(effects, key, now);
      return { is: running ? "recorded" : "late" };
    },

    commit({ replyId, parts, open, metadata, ...e }) {
      const lease = holder(e);
      const before = r.ended.find(({ fence, claimId }) => fence === e.fence && claimId === e.claimId)?.outcome;
      const first = r.outbox?.replyId === replyId ? r.outbox.parts[0] : undefined;
      if (before === "settled") return { is: "committed", replyId: null, sends: false };
      if (before === "committed")
        return { is: before, replyId, sends: lease !== null && first?.state === "attempting" };
      if (before === "superseded") return { is: "superseded" };
      if (lease === null || lease.purpose !== "respond") return lost;
      const not = unfit(lease, true);
      if (not !== null) return not;
      const { fence, version: to, newer } = lease;
      const silent = parts === null || (parts.length === 0 && !open);
      remember(lease, silent ? "settled" : "committed");
      if (silent) {
        r.lease = null;
        settleUpTo(to, newer, "silent");
        return { is: "committed", replyId: null, sends: false };
      }
      const flags = { sealed: lease.sealed || open, open, overtaken: newer !== null };
      const outbox = post({ cause: "turn", replyId, fence, to, parts, metadata, amends: e.amends, ...flags });
      Object.assign(r, { answered: to, window: newer, effects: {} });
      endSpan();
      r.tempo = window.counted(r.tempo, now);
      Object.assign(lease, { purpose: open ? "respond" : "deliver", newer: null });
      return {
        is: "committed",
        replyId,
        sends: window.launch(lease, e.elsewhere ? undefined : outbox.parts[0], now, limits),
      };
    },

    append: owned(({ index, part, replyId }, outbox) => {
      if (index < outbox.parts.length) return { is: "appended" };
      if (!outbox.open || index > outbox.parts.length) return lost;
      if (outbox.parts.length >= limits.maxParts) return { is: "full" };
      outbox.parts.push(m.queued(note({ kind: "part", replyId, index, part }), 0, now));
      return { is: "appended" };
    }),

    close: owned((_, outbox) => {
      outbox.open = false;
      return { is: "closed", done: closeIfSettled(outbox) };
    }),

    attempt: owned(({ index, inDoubt }, outbox, lease) => {
      const part = outbox.parts[index];
      if (part === undefined || outbox.parts.slice(0, index).some(m.unsettled)) return lost;
      const { state, tries, doubt, nextAtMs } = part;
      if (state === "attempting") return { is: "attempting", tries, doubt };
      if (state !== "queued") return { is: "settled", done: false };
      if (window.overtaken(outbox, limits)) return { is: "withdrawn", done: withdraw(outbox) };
      const tooOld = now >= window.giveUpAt(outbox, limits);
      if (tooOld || (doubt && inDoubt === "give-up")) {
        const error = tooOld ? `not delivered within ${limits.deliverMaxMs} ms` : "in doubt, and not to be sent twice";
        mark(outbox, part, doubt ? "unknown" : "failed", { error });
        if (tooOld) cancelQueued(outbox);
        return { is: "settled", done: closeIfSettled(outbox) };
      }
      if (nextAtMs > now) return { is: "early", atMs: nextAtMs };
      window.launch(lease, part, now, limits);
      return { is: "attempting", tries: tries + 1, doubt };
    }),

    settle: owned(({ index, receipt, random }, outbox) => {
      const part = outbox.parts[index];
      if (part?.state !== "attempting") return window.settledBefore(part, outbox);
      const { state, retryAfterMs, ...notes } = receipt;
      part.doubt ||= state === "in-doubt";
      const again = state === "in-doubt" || state === "refused";
      if (again && outbox.ending !== "cancelled") {
        const delayMs = retryAfterMs ?? window.redeliverMs(part.tries, limits, random);
        part.nextAtMs = Math.min(now + delayMs, window.giveUpAt(outbox, limits));
        mark(outbox, part, "queued", { ...notes, retryAtMs: part.nextAtMs });
        if (!outbox.open) r.lease = null;
        return { is: "retry", atMs: part.nextAtMs, held: outbox.open };
      }
      mark(outbox, part, part.doubt && state !== "sent" ? "unknown" : again ? "cancelled" : state, notes);
      // What follows a part that was refused for good would make no sense without it.
      if (state === "failed") cancelQueued(outbox);
      return { is: closeIfSettled(outbox) ? "closed" : "next" };
    }),

    fail: held(({ retryAfterMs, random, ...failure }, lease) => {
      if (r.outbox !== null) return cut(r.outbox);
      const delayMs = retryAfterMs ?? window.retryMs(r.failures + 1, limits, random);
      return countFailure(lease, "failed", failure, delayMs) ? { is: "parked" } : { is: "retry", atMs: now + delayMs };
    }),

    handoff({ id, forMs, backlog, by }) {
      const untilMs = now + Math.min(forMs, limits.maxHandoffMs);
      note({ kind: "handoff", id, untilMs, by });
      r.handoff = { sinceMs: r.handoff?.sinceMs ?? now, untilMs, backlog, ...(by && { by }) };
      interrupt("handed-off", 0);
      return { is: "handed-off", untilMs };
    },

    humanReply({ type: _, log, ...human }) {
      const upTo = Math.min(human.upTo ?? r.version, r.version);
      interrupt("answered-by-human", upTo);
      note({ kind: "human", ...human, upTo, parts: [...human.parts] });
      if (r.window === null || upTo <= r.answered) return { is: "answered" };
      settleUpTo(upTo, window.windowAfter(upTo, r.window, [...log, ...entries], limits), "human");
      return { is: "answered" };
    },

    resume({ id, backlog, by }) {
      if (r.handoff !== null) endHandoff(id, backlog, by);
      return { is: entries.length > 0 ? "resumed" : "nothing" };
    },

    reset({ type: _, ...reset }) {
      interrupt("reset", r.version);
      const nowhere = { from: r.answered, to: r.answered, outcome: "cancelled" } as const;
      for (const { replyId } of r.sends.splice(0)) note({ kind: "closed", replyId, ...nowhere });
      settleUpTo(r.version, null, "dropped");
      if (reset.forget) r.parked = r.last = r.handoff = null;
      note({ kind: "reset", ...reset });
      return { is: "reset" };
    },

    retry({ type: _, ...retry }) {
      const past = r.parked ?? r.last;
      if (past === null) return { is: "nothing" };
      r.version += 1;
      note({ kind: "retry", ...retry, version: r.version, from: past.from, to: past.to });
      window.pushAll(r, past.fromSeq, { quietMs: 0 }, now, limits);
      r.parked = r.last = null;
      return { is: "revived", count: past.to - past.from };
    },

    draft: held((e, lease) => drafts.show(r, e, lease, unfit(lease), note, now)),

    undraft: (e) => drafts.end(r, e, note),

    spend: (e) => drafts.spend(r, e, note, now),

    tune: (e) => tuning.tune(r, e, note),

    send({ type: _, ...send }) {
      const { replyId, when, parts } = send;
      if (when === "if-quiet" && (r.handoff ?? window.wakeAt(r, limits)) !== null) return { is: "dropped", replyId };
      if (r.sends.length >= limits.maxSends) return { is: "full", replyId };
      const seq = note({ kind: "send", ...send, parts: [...parts] });
      r.sends.push({ replyId, seq, parts: parts.length, atMs: now });
      return { is: "queued", replyId };
    },
  };

  // First of all, whatever comes: with nothing waiting no timer did it, and what comes now must not count as waiting.
  if (r.handoff !== null && r.handoff.untilMs <= now) endHandoff("hand-off-over", r.handoff.backlog);
  return { verbs, entries };
}

/**
 * One transition. Never changes `record`; `next` is null when there is nothing to write. The caller names the
 * write by setting `next.revision`, and stores `wakeAt(next)` beside it.
 * @throws TypeError for an event outside the types.
 */
export function apply<E extends m.ProtocolEvent>(r: m.ConversationRecord, e: E, nowMs: number, limits: m.Limits) {
  const before = { ...r, updatedAtMs: Math.floor(nowMs) };
  const next = m.copyOf(before);
  const { verbs, entries } = transition(next, next.updatedAtMs, limits);
  const outcome = (verbs[e.type] as (e: m.ProtocolEvent) => unknown)(e);
  // Every entry moves `seq`; where there is none, the records tell whether anything changed.
  const same = entries.length === 0 && m.isSame(next, before);
  return { next: same ? null : next, entries, outcome } as m.Step<E["type"]>;
}
