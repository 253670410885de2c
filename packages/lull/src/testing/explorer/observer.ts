/**
 * Watches every write. It reads what anybody can read, log entries and the record, and says what of the promise a
 * write breaks.
 *
 * @module
 */
import type { ConversationRecord, EntryOf, LogEntry, ProtocolEvent } from "../../model.ts";
import type { Write, Writer } from "./cell.ts";
import { type Ledger, type Note, openedAt, pending, type Reply, silent, toAnswer } from "./ledger.ts";
import { breaks, Violation } from "./violation.ts";
import type { World } from "./world.ts";

/** A write was stored. */
export function stored(
  world: World,
  by: Writer,
  { event, next, append: entries, outcome }: Write,
  before: ConversationRecord | null,
): void {
  const ledger: Ledger = { ...world.ledger };
  world.ledger = ledger;
  // A hand-off that is over is ended by whatever comes, be it refused otherwise.
  // An answer given again is recognised, and changes nothing.
  const isKnown = event.type === "commit" && outcome === "committed" && !entries.some(isAnswer);
  if ((by.process !== null || by.claimId !== "") && outcome !== "lost" && !isKnown)
    exclusive(ledger, by, event, before, next);
  if (event.type === "humanReply") {
    ledger.upTo = Math.min(event.upTo ?? ledger.version, ledger.version);
    ledger.takenOver = Math.max(ledger.takenOver, ledger.upTo);
  }
  if (event.type === "typing") ledger.typingUntilMs = world.nowMs + world.config.limits.typingMs;
  if (event.type === "reset") ledger.takenOver = ledger.version;
  for (const entry of entries) {
    ignored(ledger, entry, before);
    read(world, ledger, by, entry);
  }
  if (event.type === "claim" && next.lease !== null && next.lease.claimId === by.claimId) {
    if (next.lease.fence <= ledger.fence) breaks("I4", `a fence is handed out twice`);
    ledger.fence = next.lease.fence;
    ledger.holder = by.claimId;
  }
  ledger.upTo = 0;
  if (ledger.version !== next.version) breaks("I1", "a version without an entry in the log");
  consistent(world, ledger, next);
}

function isAnswer(entry: LogEntry): boolean {
  return entry.kind === "reply" || (entry.kind === "settled" && entry.outcome === "silent");
}

/** I4: whoever wakes late is refused by every write. */
function exclusive(
  ledger: Ledger,
  by: Writer,
  event: ProtocolEvent,
  before: ConversationRecord | null,
  next: ConversationRecord,
): void {
  if (event.type === "claim" || event.type === "end") return;
  if (event.type === "renew") {
    if (before?.lease === null && next.lease !== null) breaks("I4", "a renewal brings a lost lease back");
    if (before?.lease && ledger.holder !== by.claimId && before.lease.expiresAtMs !== next.lease?.expiresAtMs)
      breaks("I4", "a renewal by somebody who is not the holder");
    return;
  }
  // A hand-off that is over is ended by whatever comes first, also by what is itself refused.
  const onlyResumed = before !== null && before.handoff !== null && before.lease === null && next.lease === null;
  if (onlyResumed && next.handoff === null && next.outbox === null) return;
  if (ledger.holder !== by.claimId) breaks("I4", `a ${event.type} by a worker that had lost its lease`);
}

/** What is set aside as too late must have been. */
function ignored(ledger: Ledger, entry: LogEntry, before: ConversationRecord | null): void {
  if ((entry.kind !== "edit" && entry.kind !== "retraction") || entry.aside === undefined) return;
  const target = ledger.notes.find((note) => note.kind === "message" && note.id === entry.target);
  if (target === undefined || target.gone) return;
  if (pending(target)) breaks("I3", `a change of ${target.id} is set aside although nothing answers it yet`);
  const completed = ledger.notes.some((note) => note.kind === "edit" && note.id === target.id);
  if (entry.kind === "edit" && target.incomplete && !completed)
    breaks("I1", `what completes ${target.id} is set aside`);
  const reply = target.reply === null ? undefined : ledger.replies[target.reply];
  if (reply === undefined || reply.sealed || reply.open || reply.shown.some((times) => times > 0)) return;
  if (before?.outbox?.parts.every(({ state, doubt }) => state === "queued" && !doubt))
    breaks("I3", `a change of ${target.id} is set aside although its answer can still be taken back`);
}

function read(world: World, ledger: Ledger, by: Writer, entry: LogEntry): void {
  if (entry.seq !== ledger.seq + 1) breaks("I1", "the log has a gap");
  ledger.seq = entry.seq;
  switch (entry.kind) {
    case "message":
      return arrive(world, ledger, entry, entry.id, entry.aside !== undefined);
    case "edit":
      return arrive(world, ledger, entry, entry.target, entry.aside !== undefined);
    case "retraction": {
      arrive(world, ledger, entry, entry.target, entry.aside !== undefined);
      ledger.notes = ledger.notes.map((note) => (note.id === entry.target ? { ...note, gone: true } : note));
      return;
    }
    case "retry":
      arrive(world, ledger, entry, entry.id, false);
      return revive(ledger, entry);
    case "attempt":
      return begun(world, ledger, by, entry);
    case "absorbed":
      if (ledger.attempt?.fence !== entry.fence) breaks("I4", "somebody absorbs who does not answer");
      ledger.attempt = ledger.attempt && { ...ledger.attempt, to: entry.to };
      return;
    case "sealed":
      if (ledger.attempt?.fence !== entry.fence) breaks("I4", "somebody seals who does not answer");
      if (newerThan(ledger, ledger.attempt?.to ?? 0, world.config.limits.maxWaitMs).inTime)
        breaks("I3", "sealed although newer input had been accepted");
      ledger.attempt = ledger.attempt && { ...ledger.attempt, sealed: true };
      return;
    case "ended":
      return ended(world, ledger, entry);
    case "reply":
      return committed(world, ledger, by, entry);
    case "part":
      return change(ledger, entry.replyId, (reply) => {
        if (!reply.open) breaks("I8", "a part is appended to a reply that is complete");
        return { ...reply, shown: [...reply.shown, 0], states: [...reply.states, "queued"] };
      });
    case "receipt":
      return receipt(ledger, entry);
    case "closed":
      return closed(world, ledger, entry);
    case "settled":
      return settled(world, ledger, entry);
    case "effect":
      return recorded(ledger, entry);
    case "send":
      ledger.replies = [
        ...ledger.replies,
        { ...blankReply, id: entry.replyId, cause: "send", shown: [0], states: ["queued"] },
      ];
      return;
    case "handoff":
      ledger.handedOff = true;
      return;
    case "resumed":
      ledger.handedOff = false;
      // By the owner's rule all of it is context from now on, what a cancelled reply covered included.
      if (entry.backlog === "context") ledger.takenOver = ledger.version;
      return;
  }
}

const blankReply: Reply = {
  id: "",
  cause: "turn",
  from: 0,
  to: 0,
  sealed: true,
  open: false,
  shown: [],
  states: [],
  outcome: null,
  span: 0,
  failures: 0,
};

function arrive(
  { config }: World,
  ledger: Ledger,
  entry: EntryOf<"message" | "edit" | "retraction" | "retry">,
  id: string,
  aside: boolean,
): void {
  if (!aside && entry.version !== ledger.version + 1) breaks("I1", "versions count by one");
  ledger.version = entry.version;
  const part = entry.kind === "message" || entry.kind === "edit" ? entry.parts[0] : undefined;
  const waits = entry.kind === "message" || entry.kind === "edit" ? entry : null;
  const note: Note = {
    kind: entry.kind,
    id,
    version: entry.version,
    since: entry.version,
    text: part?.type === "text" ? part.text : "",
    atMs: entry.atMs,
    aside,
    gone: entry.kind === "retraction",
    incomplete: waits?.incomplete === true,
    quietMs: waits?.quietMs ?? config.limits.quietMs,
    label: null,
    reply: null,
    answer: null,
    revives: null,
  };
  ledger.notes = [...ledger.notes, note];
  if (!aside) ledger.notBeforeMs = ledger.typingUntilMs = 0;
}

/** What was given up is unanswered again; its waiting counts from now. */
function revive(ledger: Ledger, { version, from, to, atMs }: EntryOf<"retry">): void {
  const ranges = [{ from, to }];
  const back = (v: number) => ranges.some((range) => v > range.from && v <= range.to);
  for (const note of ledger.notes.toReversed())
    if (note.revives !== null && note.version < version && back(note.version)) ranges.push(note.revives);
  ledger.notes = ledger.notes.map((note) => {
    if (note.version === version) return { ...note, revives: { from, to } };
    if (!back(note.version) || note.aside) return note;
    if (note.label === null && !silent(ledger, note))
      breaks("I1", `version ${note.version} is revived and had not ended`);
    return { ...note, label: null, answer: null, atMs, since: version };
  });
}

/** I2: a range begins where the last one ended; what nobody waits for may lie between. */
function begins(ledger: Ledger, from: number): void {
  if (from < ledger.end) breaks("I2", `inputs up to ${ledger.end} have ended, and it goes on from ${from}`);
  for (const note of ledger.notes)
    if (note.version > ledger.end && note.version <= from && !note.aside && !silent(ledger, note))
      breaks("I1", `version ${note.version} was passed over`);
  ledger.end = from;
}

function begun(world: World, ledger: Ledger, by: Writer, entry: EntryOf<"attempt">): void {
  if (ledger.attempt !== null) breaks("I4", "two attempts at once");
  begins(ledger, entry.from);
  const opened = openedAt(ledger, false);
  const capMs = (opened ?? entry.atMs) + world.config.limits.maxWaitMs;
  if (entry.atMs >= capMs && !entry.sealed) breaks("I6", "claimed after the end of all waiting, and not sealed");
  const fine = world.budget.faults === world.config.faults;
  if (fine && world.processes.some(({ tools }) => tools.some(({ ledgerSpan }) => ledgerSpan === ledger.span)))
    breaks("I7", "an attempt begins while an earlier one's side effect is still under way");
  if (entry.atMs < ledger.notBeforeMs && !world.config.faultKinds.includes("clock"))
    breaks("I5", "an attempt begins before the pause after a failure is over");
  const { fence, from, to, sealed } = entry;
  ledger.attempt = { claimId: by.claimId, fence, from, to, sealed };
}

/**
 * What came after a version: anything, and anything within the time that input may still discard an answer. Whether
 * that time counts from what was taken back is the protocol's affair, so there are two answers.
 */
function newerThan(ledger: Ledger, version: number, maxWaitMs: number) {
  const firstOfAll = openedAt(ledger, true);
  const first = openedAt(ledger, false);
  const newer = { any: false, inTime: false, perhapsInTime: false };
  for (const note of ledger.notes) {
    if (note.aside || note.since <= version) continue;
    newer.any = true;
    newer.inTime ||= firstOfAll === null || note.atMs <= firstOfAll + maxWaitMs;
    newer.perhapsInTime ||= first === null || note.atMs <= first + maxWaitMs;
  }
  return newer;
}

function ended(world: World, ledger: Ledger, entry: EntryOf<"ended">): void {
  const { attempt } = ledger;
  if (entry.outcome === "expired" && !ledger.lapsed)
    breaks("I5", "a lease runs out although nothing happened to its holder: it does not know that it holds it");
  if (attempt === null || attempt.fence !== entry.fence) {
    // A delivery that ended: nothing of the range depends on it.
    if (attempt !== null) breaks("I4", "somebody else's attempt is ended");
    return;
  }
  ledger.attempt = null;
  ledger.tried = attempt.to;
  ledger.notBeforeMs = entry.retryAtMs ?? 0;
  if (entry.outcome === "failed" || entry.outcome === "expired") ledger.failures += 1;
  if (entry.outcome !== "superseded") return;
  if (attempt.sealed) breaks("I6", "a sealed attempt is discarded");
  if (!newerThan(ledger, attempt.to, world.config.limits.maxWaitMs).perhapsInTime)
    breaks("I6", "an attempt is discarded by input that came after the end of all waiting, or by none");
}

function committed(world: World, ledger: Ledger, by: Writer, entry: EntryOf<"reply">): void {
  const { limits } = world.config;
  const base = {
    ...blankReply,
    id: entry.replyId,
    cause: entry.cause,
    from: entry.from,
    to: entry.to,
    open: entry.open,
  };
  const parts = { shown: entry.parts.map(() => 0), states: entry.parts.map(() => "queued" as const) };
  const reply: Reply = { ...base, ...parts, span: ledger.span, failures: ledger.failures };
  if (ledger.replies.some(({ id }) => id === entry.replyId)) breaks("I2", "a reply is committed twice");
  if (entry.cause !== "turn") {
    if (entry.from !== entry.to) breaks("I2", "only a turn's reply answers inputs");
    ledger.replies = [...ledger.replies, reply];
    return;
  }
  const { attempt } = ledger;
  if (attempt === null || attempt.fence !== entry.fence || attempt.claimId !== by.claimId)
    throw new Violation("I4", "an answer is committed by an attempt that had ended");
  begins(ledger, entry.from);
  if (entry.to !== attempt.to) breaks("I2", `it covers up to ${entry.to}, the attempt knew up to ${attempt.to}`);
  const newer = newerThan(ledger, entry.to, limits.maxWaitMs);
  if (newer.any !== entry.overtaken) breaks("I3", "a reply must say whether it was overtaken");
  if (newer.inTime && !attempt.sealed) breaks("I3", "newer input had been accepted, and nothing had sealed the turn");
  const saw = by.saw ?? by.process?.run?.saw;
  const all = toAnswer(ledger, entry.to);
  if (saw !== all) breaks("I3", `it covers [${all}], and the author's code was given [${saw ?? "nothing"}]`);
  if (!attempt.sealed) quiet(world, ledger, entry);
  if (world.processes.some(({ tools }) => tools.some(({ fence }) => fence === entry.fence)))
    breaks("I7", "an answer is committed while its own side effect is under way");
  const index = ledger.replies.length;
  ledger.replies = [...ledger.replies, { ...reply, sealed: attempt.sealed || entry.open }];
  ledger.notes = ledger.notes.map((note) =>
    pending(note) && note.since <= entry.to ? { ...note, reply: index } : note,
  );
  ledger.end = entry.to;
  ledger.attempt = null;
  nextSpan(ledger);
}

/** Waiting is not cut short: clocks may differ by what the store tolerates. */
function quiet({ config }: World, ledger: Ledger, { atMs, to }: EntryOf<"reply">): void {
  const { notes } = ledger;
  if (config.faultKinds.includes("clock") || config.operators.includes("flush")) return;
  if (notes.some(({ kind }) => kind === "retry" || kind === "retraction")) return;
  const covered = notes.filter((note) => pending(note) && note.since <= to);
  const last = Math.max(...covered.map((note) => note.atMs)) + Math.min(...covered.map((note) => note.quietMs));
  const cap = Math.min(...covered.map((note) => note.atMs)) + config.limits.maxWaitMs;
  if (atMs < Math.min(Math.max(last, ledger.typingUntilMs), cap))
    breaks("I3", "an answer is committed before the user had been quiet for long enough");
}

function nextSpan(ledger: Ledger): void {
  ledger.notBeforeMs = 0;
  ledger.spans += 1;
  ledger.span = ledger.spans;
  ledger.failures = 0;
}

function change(ledger: Ledger, replyId: string, how: (reply: Reply) => Reply): void {
  ledger.replies = ledger.replies.map((reply) => (reply.id === replyId ? how(reply) : reply));
}

/** I10: what is said of a part is what happened to it. */
function receipt(ledger: Ledger, { replyId, index, state }: EntryOf<"receipt">): void {
  change(ledger, replyId, (reply) => {
    const shown = reply.shown[index] ?? 0;
    const was = reply.states[index];
    if (was === "sent" || was === "failed" || was === "unknown" || was === "cancelled")
      breaks("I10", `a part that was ${was} becomes ${state}`);
    if (state === "sent" && shown === 0) breaks("I10", "a part counts as sent that no user saw");
    if ((state === "failed" || state === "cancelled") && shown > 0)
      breaks("I10", `a part counts as ${state} that users saw`);
    return { ...reply, states: reply.states.map((old, at) => (at === index ? state : old)) };
  });
}

function closed(world: World, ledger: Ledger, { replyId, outcome, from, to }: EntryOf<"closed">): void {
  const index = ledger.replies.findIndex(({ id }) => id === replyId);
  const reply = ledger.replies[index];
  if (reply === undefined || reply.outcome !== null) throw new Violation("I2", "a reply ends that is not under way");
  const shown = reply.shown.some((times) => times > 0);
  ledger.replies = ledger.replies.map((other) => (other === reply ? { ...reply, outcome, open: false } : other));
  if (reply.cause !== "turn") return;
  if (from !== reply.from || to !== reply.to) breaks("I2", "a reply ends with another range than it began with");
  if (outcome === "withdrawn") {
    if (shown) breaks("I2", "a reply is taken back that users saw a part of");
    if (reply.sealed && !ledger.handedOff && world.config.operations === 0)
      breaks("I6", "a sealed reply is taken back");
    if (world.processes.some((process) => process.sending?.replyId === replyId && !process.frozen))
      if (world.budget.faults === world.config.faults) breaks("I2", "a reply is taken back while a part is on its way");
    if (ledger.end !== to) breaks("I2", "only the newest reply can be taken back");
    const covered = ledger.notes.filter((note) => note.reply === index && !note.gone).map((note) => note.atMs);
    const cap = Math.min(...covered) + world.config.limits.maxWaitMs;
    const newer = ledger.notes.some((note) => !note.aside && note.since > to && note.atMs <= cap);
    if (!newer && world.config.operations === 0)
      breaks("I6", "a reply is taken back by input that came after the end of all waiting, or by none");
    ledger.end = from;
    ledger.span = reply.span;
    ledger.failures = reply.failures;
    ledger.notes = ledger.notes.map((note) => (note.reply === index ? { ...note, reply: null } : note));
    return;
  }
  const seen = reply.states.some((state) => state === "sent" || state === "unknown");
  ledger.notes = ledger.notes.map((note) => {
    if (note.reply !== index) return note;
    if (outcome === "cancelled" && !seen && note.version > ledger.takenOver && !silent(ledger, note))
      breaks("I1", `version ${note.version} ends as cancelled: nobody answered it, and no human had seen it`);
    return label({ ...note, reply: null }, outcome);
  });
}

function label(note: Note, outcome: string): Note {
  if (note.label !== null) breaks("I1", `version ${note.version} ended as ${note.label}, and then as ${outcome}`);
  return { ...note, label: outcome };
}

function settled(world: World, ledger: Ledger, { from, to, outcome }: EntryOf<"settled">): void {
  begins(ledger, from);
  const there = ledger.notes.filter((note) => pending(note) && note.since <= to);
  const waited = there.filter((note) => !silent(ledger, note));
  if (outcome === "removed" && toAnswer(ledger, to) !== "")
    breaks("I1", "inputs count as removed that nobody took back");
  if (outcome === "human" && waited.some(({ version }) => version > ledger.upTo))
    breaks("I1", "an input counts as answered by a human who had not seen it");
  if (outcome === "parked" && ledger.failures < world.config.limits.maxFailures)
    breaks("I1", `parked after ${ledger.failures} failures`);
  if (outcome === "parked" && to > ledger.tried) breaks("I1", "an input is parked that no attempt ever knew");
  if (outcome === "silent" && ledger.attempt?.to !== to) breaks("I2", "silence covers what the attempt did not know");
  if (outcome === "silent" && newerThan(ledger, to, world.config.limits.maxWaitMs).inTime && !ledger.attempt?.sealed)
    breaks("I3", "silence, although newer input had been accepted");
  ledger.notes = ledger.notes.map((note) => (there.includes(note) ? label(note, outcome) : note));
  ledger.end = to;
  if (outcome === "silent") ledger.attempt = null;
  nextSpan(ledger);
}

/** I7: at most one recorded result over all attempts at a range. */
function recorded(ledger: Ledger, { span, late }: EntryOf<"effect">): void {
  if (late) return;
  const mine = ledger.spanOf.find(([protocol]) => protocol === span)?.[1];
  if (mine === undefined) throw new Violation("I7", "a result is recorded for a range that began no effect");
  if (ledger.results.includes(mine)) breaks("I7", "a second result is recorded for the same range");
  ledger.results = [...ledger.results, mine];
}

/** What must hold of every record. */
function consistent(world: World, ledger: Ledger, next: ConversationRecord): void {
  const busy = next.window !== null || next.lease !== null || next.outbox !== null || next.sends.length > 0;
  if (busy && world.timerMs === null) breaks("I5", "not at rest, and no wake-up is stored");
  begins(ledger, next.answered);
  let waits = false;
  let visible: number | null = null;
  for (const note of ledger.notes) {
    if (!pending(note) || silent(ledger, note)) continue;
    waits = true;
    if (note.since <= next.answered) breaks("I1", `version ${note.version} (${note.id}) was lost`);
    if (visible === null || note.atMs < visible) visible = note.atMs;
  }
  if (waits && next.window === null) breaks("I1", "an input is unanswered, and nothing waits for it");
  if (next.window !== null && visible !== null && next.window.openedAtMs > visible)
    breaks("I6", "the end of all waiting was put off");
  // What was taken back, and the taking back, have ended in the log as well.
  if (!busy)
    for (const note of ledger.notes)
      if (note.label === null && !note.aside)
        breaks("I1", `at rest, and version ${note.version} (${note.id}) has come to nothing`);
  if (!busy && (Object.keys(next.effects).length > 0 || next.failures > 0))
    breaks("I7", "at rest, and what the ended range had been through is not forgotten");
  if (!busy && ledger.replies.some(({ outcome }) => outcome === null))
    breaks("I1", "at rest, and a reply has not ended");
}
