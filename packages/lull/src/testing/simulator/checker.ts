/**
 * Judges a finished world by what was seen from outside: what was acknowledged, what the model was given, what the
 * screen showed. The conversation's own log has to agree with that. One function for each promise.
 *
 * @module
 */
import type { ConversationRecord, EntryOf, LogEntry } from "../../model.ts";
import { settle } from "../../options.ts";
import type { Store } from "../../ports.ts";
import { wakeAt } from "../../window.ts";
import { calm } from "./calm.ts";
import type { Acked, Executed, Run, Shown } from "./ledger.ts";
import { atRest } from "./network.ts";
import { disturbing, isCalm, type Operation } from "./plan.ts";
import { optionsOf } from "./process.ts";
import type { Scene } from "./scene.ts";

/** All that is known of one conversation. */
export interface Case {
  id: string;
  record: ConversationRecord;
  log: readonly LogEntry[];
  acked: readonly Acked[];
  runs: readonly Run[];
  shown: readonly Shown[];
  executed: readonly Executed[];
  /** Operations that were asked for, whether or not anybody heard of it. */
  asked: ReadonlySet<Operation>;
}

export async function check(scene: Scene, store: Store, healedMs: number): Promise<void> {
  const { facts, plan } = scene;
  const blame = (rule: string, what: string) => void scene.violations.push({ rule, what });
  const { conversations } = await store.list({ limit: 1_000 });
  const known = new Set(conversations.map(({ id }) => id));
  for (const { conversation, id, status } of facts.acked)
    if (!known.has(conversation)) blame("I9", `${conversation} ${id} was ${status}, and there is no such conversation`);

  for (const record of conversations) {
    const { id } = record;
    const here = <T extends { conversation: string }>(all: readonly T[]) =>
      all.filter((fact) => fact.conversation === id);
    const of: Case = {
      id,
      record,
      log: (await store.load(id, { logFrom: 1 })).log,
      acked: here(facts.acked),
      runs: here(facts.runs),
      shown: here(facts.shown),
      executed: here(facts.executed),
      asked: new Set(here(facts.begun).map(({ what }) => what)),
    };
    if (!atRest(record) || record.answered !== record.version)
      blame("I5", `${id} is not at rest ${scene.ms() - healedMs} ms after the faults stopped`);
    durable(of, blame);
    if (atRest(record)) complete(of, scene, blame);
    truthful(of, blame);
    handedOver(of, blame);
    once(of, blame);
    fresh(of, blame);
    ordered(of, scene, blame);
    delivered(of, scene, blame);
    if (isCalm(plan)) calm(of, plan, blame);
  }
  effects(scene, blame);
  const { limits } = settle({ store, ...optionsOf(plan.profile) });
  const { repaired } = await store.repair({ limit: 1_000 }, (record) => wakeAt(record, limits));
  if (repaired.length > 0) blame("I5", `${repaired.join(", ")}: the timer is not what the record demands`);
}

export type Blame = (rule: string, what: string) => void;

/** I9: what was acknowledged is in the log, with the version that was told. */
function durable({ id, log, acked }: Case, blame: Blame): void {
  for (const { kind, id: message, nth, status, version } of acked) {
    if (kind === "message" && !log.some((entry) => entry.kind === "message" && entry.id === message)) {
      // An edit that came before its message stands for it.
      if (!log.some((entry) => entry.kind === "retraction" && entry.target === message))
        blame("I9", `${id} ${message} was ${status} as version ${version}, and is not in the log`);
    }
    if (
      kind === "edit" &&
      status === "accepted" &&
      !log.some((entry) => "version" in entry && entry.version === version)
    )
      blame("I9", `${id} edit ${nth} of ${message} was accepted as version ${version}, and is not in the log`);
  }
}

type InputEntry = EntryOf<"message" | "edit" | "retraction" | "retry">;

/** What counts as unanswered once it has come. */
function isInput(entry: LogEntry): entry is InputEntry {
  return "version" in entry && !("aside" in entry && entry.aside !== undefined);
}

type Ending = EntryOf<"closed" | "settled">;

const within = (version: number, { from, to }: { from: number; to: number }) => version > from && version <= to;

interface Range {
  from: number;
  to: number;
}

/** What a range covers: itself, and what a retry within it brought back. */
function rangesOf(range: Range, log: readonly LogEntry[]): Range[] {
  const ranges = [range];
  for (const entry of log.toReversed())
    if (entry.kind === "retry" && ranges.some((range) => within(entry.version, range))) ranges.push(entry);
  return ranges;
}

/** Endings of ranges of inputs; a reply that was withdrawn ended nothing. */
export function endingsOf(log: readonly LogEntry[]): Ending[] {
  return log.filter(
    (entry): entry is Ending => entry.kind === "settled" || (entry.kind === "closed" && entry.outcome !== "withdrawn"),
  );
}

/** All of it had been taken back: there was nothing to say, and no model was asked. */
function isEmpty(ending: Ending, log: readonly LogEntry[]): boolean {
  const ranges = rangesOf(ending, log);
  return log.every((entry) => {
    if (!isInput(entry) || (entry.kind !== "message" && entry.kind !== "edit")) return true;
    const name = entry.kind === "edit" ? entry.target : entry.id;
    return (
      !ranges.some((range) => within(entry.version, range)) ||
      log.some((other) => other.kind === "retraction" && other.target === name && other.seq < ending.seq)
    );
  });
}

/** I1: every input ended exactly once (what a retry brings back ends with the retry); each ending has its cause. */
function complete({ id, log, acked, runs, shown, asked }: Case, scene: Scene, blame: Blame): void {
  const { profile, steps } = scene.plan;
  const endings = endingsOf(log);
  for (const entry of log) {
    // A retraction asks for no answer: it ends what it takes back, an edit of it included.
    if (!isInput(entry) || entry.kind === "retraction") continue;
    const name = entry.kind === "edit" ? entry.target : entry.id;
    const takenBack = log.some((other) => other.kind === "retraction" && other.target === name && !other.aside);
    const ended = endings.filter((ending) => within(entry.version, ending));
    if (ended.length > 1 || (ended.length === 0 && !takenBack))
      blame(
        "I1",
        `${id} version ${entry.version} (${entry.kind}) ended ${ended.length} times: ${ended.map(({ outcome }) => outcome)}`,
      );
  }
  const cause: Partial<Record<Ending["outcome"], boolean>> = {
    human: asked.has("humanReply"),
    dropped: asked.has("reset"),
    context: asked.has("handoff"),
    cancelled: asked.has("handoff") || asked.has("humanReply") || asked.has("reset"),
    silent: runs.some(({ ended }) => ended?.outcome === "silent"),
    removed: acked.some(({ kind }) => kind === "retraction"),
    failed: shown.some(({ reaction }) => reaction === "refused"),
    cut:
      disturbed(scene) || runs.some(({ ended }) => ended === null || !["answered", "silent"].includes(ended.outcome)),
  };
  for (const ending of endings) {
    const { from, to, outcome } = ending;
    if (cause[outcome] === false && !(outcome === "silent" && isEmpty(ending, log)))
      blame("I1", `${id} inputs ${from}–${to} ended as ${outcome}, and nobody did that`);
  }

  const parked = endings.filter(({ outcome }) => outcome === "parked").length;
  const failures = runs.filter(
    ({ ended, atMs }) =>
      ended === null ||
      !["answered", "silent", "superseded"].includes(ended.outcome) ||
      ended.atMs - atMs >= profile.turnTimeoutMs,
  ).length;
  const lost = steps.filter(({ do: what }) => disturbing.has(what)).length + (profile.drift === 0 ? 0 : failures);
  if (parked > 0 && failures + lost < parked * profile.maxFailures)
    blame("I1", `${id} parked ${parked} times after ${failures} failed runs and ${lost} disturbances`);
}

/** Could anybody have lost a lease, or not heard of a write, through no fault of the model or the channel? */
function disturbed({ plan: { steps, profile } }: Scene): boolean {
  return profile.drift > 0 || profile.latencyMs > 0 || steps.some(({ do: what }) => disturbing.has(what));
}

/** I1 and I2, as the screen has it: what a delivered reply covers is in its text, in the newest wording it had to know. */
function truthful({ id, log, shown, runs, acked, executed }: Case, blame: Blame): void {
  const replies = log.filter((entry): entry is EntryOf<"reply"> => entry.kind === "reply" && entry.cause === "turn");
  const withdrawn = new Set(
    log.flatMap((entry) => (entry.kind === "closed" && entry.outcome === "withdrawn" ? [entry.replyId] : [])),
  );
  const takenBack = (target: string, before: number) =>
    log.some((entry) => entry.kind === "retraction" && entry.target === target && entry.seq < before);
  for (const reply of replies) {
    const tries = shown.filter(({ replyId }) => replyId === reply.replyId);
    if (withdrawn.has(reply.replyId) && tries.some(({ shownAtMs }) => shownAtMs !== null))
      blame("I2", `${id} ${reply.replyId} was withdrawn after it had been shown`);
    const [first] = tries;
    if (first === undefined) continue;
    const nth = Number(/^r(\d+)\//.exec(first.text)?.[1]);
    const run = runs.find((candidate) => candidate.nth === nth);
    if (run === undefined) {
      blame("I2", `${id} shows "${first.text}", which no run of the model said`);
      continue;
    }
    const claimed = log.findLast((entry) => entry.kind === "attempt" && entry.seq < reply.seq);
    if (run.fence !== reply.fence || (claimed?.kind === "attempt" && claimed.fence !== run.fence))
      blame("I4", `${id} ${reply.replyId} is the answer of run ${nth}, whose lease had been taken by another`);
    const tokens = new Set(first.text.split(" "));
    const done = / with (\S+)$/.exec(first.text)?.[1];
    if (done !== undefined && !executed.some(({ value }) => value === done))
      blame("I7", `${id} ${reply.replyId} tells of the effect ${done}, which never was`);
    const ranges = rangesOf(reply, log);
    for (const message of acked) {
      if (message.kind !== "message" || !ranges.some((range) => within(message.version, range))) continue;
      // Taken back before it came: it never was.
      if (!log.some((entry) => entry.kind === "message" && entry.id === message.id)) continue;
      const changes = log.filter(
        (entry) =>
          (entry.kind === "edit" || entry.kind === "retraction") &&
          entry.target === message.id &&
          // What was only noted counts, too, once its target is brought back.
          (entry.aside === undefined || (ranges.length > 1 && entry.seq < reply.seq)) &&
          entry.version <= reply.to,
      );
      // Changes may have come in any order; only simple cases are judged by text.
      const [change] = changes;
      if (changes.length > 1 || takenBack(message.id, reply.seq)) continue;
      const wording = change?.kind === "edit" ? change.id : message.id;
      // An edit that came before its message is the message.
      const early = change === undefined && [...tokens].some((token) => token.startsWith(`${message.id}~`));
      if (!tokens.has(wording) && !early)
        blame("I2", `${id} ${reply.replyId} covers ${wording} and says "${first.text}"`);
    }
    const texts = new Map<number, string>();
    for (const { index, text } of tries) {
      if ((texts.get(index) ?? text) !== text) blame("I10", `${id} ${reply.replyId}:${index} was sent with two texts`);
      texts.set(index, text);
    }
  }
}

/** While a human answers, the model is not asked; what a human has answered, the bot does not answer. */
function handedOver({ id, log }: Case, blame: Blame): void {
  let human = false;
  for (const entry of log) {
    if (entry.kind === "handoff") human = true;
    if (entry.kind === "resumed" || (entry.kind === "reset" && entry.forget)) human = false;
    const late =
      entry.kind === "human" &&
      log.find((reply) => reply.kind === "reply" && reply.seq > entry.seq && reply.from < entry.upTo);
    if (late) blame("human", `${id} the bot answers at ${late.seq} what a human had answered at ${entry.seq}`);
    if (entry.kind === "attempt" && human) blame("human", `${id} attempt ${entry.fence} began while a human answered`);
  }
}

/** I2: on the screen, a message is answered by one reply only, unless somebody asked for it again. */
function once({ id, log, shown, asked }: Case, blame: Blame): void {
  if (asked.has("retry")) return;
  const answeredBy = new Map<string, string>();
  for (const { text, replyId, shownAtMs, cause } of shown) {
    if (cause !== "turn" || shownAtMs === null) continue;
    for (const token of text.split(" ")) {
      if (!/^m\d+(~\d+)?$/.test(token)) continue;
      const other = answeredBy.get(token) ?? replyId;
      if (other !== replyId) blame("I2", `${id} ${token} is answered by ${other} and by ${replyId}`);
      answeredBy.set(token, replyId);
    }
  }
  let last = 0;
  for (const reply of log) {
    if (reply.kind !== "reply" || reply.cause !== "turn") continue;
    const taken = log.some(
      (entry) => entry.kind === "closed" && entry.replyId === reply.replyId && entry.outcome === "withdrawn",
    );
    if (taken) continue;
    if (reply.from < last) blame("I2", `${id} ${reply.replyId} covers ${reply.from}–${reply.to}, after ${last}`);
    last = reply.to;
  }
}

/** I3: what had been acknowledged before an answer was given is in it, or the reply says that it was overtaken. */
function fresh({ id, shown, runs, acked, log }: Case, blame: Blame): void {
  for (const reply of log) {
    if (reply.kind !== "reply" || reply.cause !== "turn") continue;
    const newer = log.filter(
      (entry) =>
        "version" in entry &&
        !("aside" in entry && entry.aside !== undefined) &&
        entry.seq < reply.seq &&
        entry.version > reply.to,
    );
    // What ended otherwise meanwhile (taken back, dropped) is not newer input any more.
    const pending = newer.filter(
      (entry) =>
        !endingsOf(log).some((ending) => ending.seq < reply.seq && "version" in entry && within(entry.version, ending)),
    );
    if (pending.length > 0 && !reply.overtaken && !pending.every(({ kind }) => kind === "retraction"))
      blame(
        "I3",
        `${id} ${reply.replyId} does not say that it was overtaken by ${pending.map(({ kind, seq }) => `${kind} ${seq}`)}`,
      );
  }
  for (const { text, cause, overtaken, replyId, shownAtMs } of shown) {
    if (cause !== "turn" || overtaken || shownAtMs === null) continue;
    const run = runs.find((candidate) => candidate.texts.includes(text));
    if (run === undefined || run.ended === null || run.style === "say" || run.style === "stream") continue;
    // The process that waited learned of it later.
    if (run.style.startsWith("elsewhere")) continue;
    const { order } = run.ended;
    const missed = acked.find(
      (input) =>
        input.kind === "message" && input.status === "accepted" && input.order < order && input.version > run.version,
    );
    const gone = missed && acked.some((input) => input.kind === "retraction" && input.id === missed.id);
    if (missed !== undefined && !gone)
      blame(
        "I3",
        `${id} ${replyId} was shown without ${missed.id}, which had been acknowledged before the model answered`,
      );
  }
}

/** I8: parts in order, replies in order, one at a time. */
function ordered({ id, shown }: Case, scene: Scene, blame: Blame): void {
  // A process that was frozen in the middle of a send finishes it late: no platform can refuse that (I4).
  if (disturbed(scene)) return;
  let last: Shown | undefined;
  const firsts = new Set<string>();
  for (const now of shown) {
    if (last !== undefined && (last.endedAtMs ?? Number.POSITIVE_INFINITY) > now.atMs)
      blame("I8", `${id} ${now.key} was sent while ${last.key} was on its way`);
    if (last?.replyId === now.replyId && now.index < last.index)
      blame("I8", `${id} ${now.key} was sent after ${last.key}`);
    if (last?.replyId !== now.replyId && firsts.has(now.replyId))
      blame("I8", `${id} ${now.replyId} goes on after ${last?.replyId}`);
    firsts.add(now.replyId);
    last = now;
  }
}

/** I10: a receipt says what happened; what may be shown once only is. */
function delivered({ id, log, shown, asked }: Case, scene: Scene, blame: Blame): void {
  const { channel } = scene.plan.profile;
  const last = new Map<string, EntryOf<"receipt">["state"]>();
  for (const entry of log) if (entry.kind === "receipt") last.set(`${entry.replyId}:${entry.index}`, entry.state);
  for (const [key, state] of last) {
    const tries = shown.filter((other) => `${other.replyId}:${other.index}` === key);
    const visible = tries.filter(({ shownAtMs }) => shownAtMs !== null).length;
    if (state === "sent" && visible === 0) blame("I10", `${id} ${key} is called sent, and was never shown`);
    if (state === "failed" && visible > 0) blame("I10", `${id} ${key} is called failed, and was shown`);
    if (state === "cancelled" && visible > 0) blame("I10", `${id} ${key} is called cancelled, and was shown`);
    const doubtful = disturbed(scene) || tries.some(({ reaction }) => /timeout|broken/.test(reaction));
    if (state === "unknown" && !doubtful) blame("I10", `${id} ${key} is called unknown, and there was no doubt`);
  }
  const keys = new Set(shown.map(({ key }) => key));
  for (const key of keys) {
    const tries = shown.filter((other) => other.key === key);
    const visible = tries.filter(({ shownAtMs }) => shownAtMs !== null).length;
    const perhaps = tries.filter(({ reaction }) => !["busy", "error", "refused"].includes(reaction)).length;
    const doubtful = disturbed(scene) || tries.some(({ reaction }) => /timeout|broken/.test(reaction));
    if (channel === "at-most-once" && perhaps > 1)
      blame("I10", `${id} ${key} was sent ${perhaps} times on an at-most-once channel`);
    if (channel === "idempotent" && visible > 1) blame("I10", `${id} ${key} was shown ${visible} times`);
    if (visible > 1 && !doubtful) blame("I10", `${id} ${key} was shown ${visible} times, and there was no doubt`);
    if (visible > 1 && channel === "searchable" && !disturbed(scene))
      blame("I10", `${id} ${key} was shown ${visible} times, though it could be asked for`);
  }
  // What the bot wanted to say of its own accord arrives, unless somebody or the platform stopped it.
  const stopped = asked.has("reset") || asked.has("handoff") || asked.has("humanReply");
  for (const { what, id: call, answer, conversation } of scene.facts.operated) {
    if (what !== "send" || answer !== "queued" || conversation !== id || stopped) continue;
    const tries = shown.filter(({ text }) => text === `send ${call}`);
    const refused = tries.some(({ reaction }) => reaction === "refused");
    const inDoubt = channel === "at-most-once" && (tries.length > 0 || disturbed(scene));
    if (!tries.some(({ shownAtMs }) => shownAtMs !== null) && !refused && !inDoubt)
      blame("I10", `${id} send ${call} was queued, and never shown`);
  }
}

/** I7: an effect whose result was given back is not run again; without a disturbance it runs only once anyway. */
function effects(scene: Scene, blame: Blame): void {
  const { facts } = scene;
  for (const first of facts.executed) {
    if (first.recorded === null && disturbed(scene)) continue;
    const since = first.recorded ?? first.order;
    const again = facts.executed.find((other) => other.key === first.key && other.order > since);
    const threw = facts.executed.some((other) => other.key === first.key && (other.threw || other.hangs));
    if (again !== undefined && !threw)
      blame("I7", `effect ${first.key} gave ${first.value}, and was run again for ${again.value}`);
  }
}
