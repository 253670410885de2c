// Judges a run by its ledger alone: what people sent and were told, what the model was shown, what the channel got
// and showed, and when which plug was pulled. It knows nothing of records, versions, leases or fences.
//
// The rules. A *content* is a message as it read after some edit. A *reply* is all parts with one reply id of which
// the channel showed at least one; it *answers* the contents its text names, which are those the model was shown.
//
// - lost: at the end, a message that was acknowledged, and not taken back, whose newest accepted content no reply
//   answers.
// - twice: two replies answer the same content.
// - stale: a reply made of call K, although, before the model began to give K's answer (so, before anything of K's
//   can have been committed), the author had been told that a message, edit or retraction was accepted that K was
//   not shown. Except what came later than `maxWaitMs` after the oldest input that was then open: by then waiting is
//   over, and the answer goes out as it is. The same if the channel had turned all of the reply away, for certain,
//   and was offered it again although newer input had been acknowledged before it turned it away; here a kill,
//   freeze or outage in between excuses, because it leaves in doubt what was sent.
// - disorder: a part arrives before the part, or before the reply, that goes ahead of it was shown.
// - repeated: the channel got a part again that it had shown already, and neither did it leave the sender without an
//   answer, nor was one of the two senders killed or frozen, nor the store away, between the model's answer and then.
// - changed: the same idempotency key with another content. foreign: a part no model call has made. mixed: a reply
//   of two calls. unfinished: a reply of which not all parts were shown (a stream may be cut by a crash: not judged).
// - covers: the ids the sender says the reply covers are not those of the contents it answers.
//
// Recovery: a kill or freeze *touches* a conversation that waits for an answer if the process was the one that had
// called the model or delivered for it last, or, where nobody had yet, had acknowledged its newest message. The end
// of an outage, and the end of a moment in which no process was up, touch every conversation that waits. Counted from
// the last touch to the next model call or delivery (or question whether a part in doubt was delivered).

import { callIn } from "./ledger.mjs";

/**
 * @typedef {import("./ledger.mjs").Event} Event
 * @typedef {{ rule: string, conversation: string, at: number, why: string }} Violation
 *
 * @typedef {{ id: string, sentAt: number, ackedAt: number | null, edits: Map<number, Edit>,
 *   retraction: { ackedAt: number | null } | null }} Message
 * @typedef {{ rev: number, sentAt: number, ackedAt: number | null, accepted: boolean }} Edit
 * @typedef {{ call: string, at: number, answeredAt: number | null, seen: import("./ledger.mjs").Token[],
 *   streams: boolean, conversation: string }} Call
 * @typedef {import("./ledger.mjs").Arrived & { already: boolean }} Arrival
 * @typedef {{ replyId: string, firstAt: number, calls: Set<string>, call: Call | null, arrivals: Arrival[],
 *   parts: Map<number, { firstAt: number, shownAt: number | null }> , count: number}} Reply
 * @typedef {{ messages: Map<string, Message>, calls: Call[], replies: Map<string, Reply>, keys: Map<string, Arrival[]> }} Story
 * @typedef {{ at: number, is: string, process: string | null }} Mishap
 * @typedef {{ ms: number, conversation: string, at: number, why: string }} Sample
 */

/** @param {readonly Event[]} events @param {{ maxWaitMs: number }} limits */
export function check(events, limits) {
  /** @type {Violation[]} */
  const violations = [];
  const { stories, calls, mishaps } = tell(events);
  for (const [conversation, story] of stories) {
    /** @param {string} rule @param {number} at @param {string} why */
    const accuse = (rule, at, why) => violations.push({ rule, conversation, at, why });
    const shown = [...story.replies.values()].filter(isShown).sort((a, b) => a.firstAt - b.firstAt);
    judgeCoverage(story, shown, accuse);
    judgeFreshness(story, shown, mishaps, limits, accuse);
    judgeOrder(shown, accuse);
    judgeRepeats(story, mishaps, accuse);
    judgeContent(story, conversation, calls, shown, accuse);
  }
  const repeats = [...stories.values()].flatMap(({ keys }) =>
    [...keys.values()].map((list) => list.filter(({ already }) => already).length),
  );
  return { violations, figures: figuresOf(events, stories, repeats), recovery: recoveryOf(events) };
}

/** @param {Reply} reply */
const isShown = (reply) => [...reply.parts.values()].some(({ shownAt }) => shownAt !== null);

/** The events by conversation. @param {readonly Event[]} events */
function tell(events) {
  /** @type {Map<string, Story>} */
  const stories = new Map();
  /** @type {Map<string, Call>} */
  const calls = new Map();
  /** @type {Mishap[]} */
  const mishaps = [];
  const storyOf = (/** @type {string} */ conversation) => {
    /** @type {Story} */
    const none = { messages: new Map(), calls: [], replies: new Map(), keys: new Map() };
    const story = stories.get(conversation) ?? none;
    stories.set(conversation, story);
    return story;
  };
  for (const event of events) {
    switch (event.is) {
      case "sent":
      case "acked":
        input(storyOf(event.conversation), event);
        break;
      case "called": {
        const { call, at, seen, streams, conversation } = event;
        const made = { call, at, answeredAt: null, seen, streams, conversation };
        calls.set(call, made);
        storyOf(conversation).calls.push(made);
        break;
      }
      case "answered": {
        const call = calls.get(event.call);
        if (call) call.answeredAt = event.at;
        break;
      }
      case "arrived":
        arrival(storyOf(event.conversation), event, calls);
        break;
      case "killed":
      case "frozen":
      case "thawed":
      case "died":
        mishaps.push({ at: event.at, is: event.is, process: event.process });
        break;
      case "outage":
      case "restored":
        mishaps.push({ at: event.at, is: event.is, process: null });
        break;
      default:
    }
  }
  return { stories, calls, mishaps };
}

/** @param {Story} story @param {import("./ledger.mjs").Input} event */
function input({ messages }, { is, op, id, rev, at, status }) {
  if (op === "message" && !messages.has(id))
    messages.set(id, { id, sentAt: at, ackedAt: null, edits: new Map(), retraction: null });
  const message = messages.get(id);
  if (message === undefined) return;
  if (op === "message") {
    if (is === "acked") message.ackedAt ??= at;
  } else if (op === "edit") {
    const edit = message.edits.get(rev) ?? { rev, sentAt: at, ackedAt: null, accepted: false };
    message.edits.set(rev, edit);
    if (is !== "acked") return;
    edit.ackedAt = at;
    edit.accepted = status === "accepted";
  } else if (is === "acked" && message.retraction === null) message.retraction = { ackedAt: at };
}

/** @param {Story} story @param {import("./ledger.mjs").Arrived} event @param {Map<string, Call>} calls */
function arrival({ replies, keys }, event, calls) {
  const earlier = keys.get(event.key) ?? [];
  const already = earlier.some(({ outcome }) => outcome !== "refused");
  const arrived = { ...event, already };
  keys.set(event.key, [...earlier, arrived]);
  const named = callIn(event.text);
  /** @type {Reply} */
  const none = {
    replyId: event.replyId,
    firstAt: event.at,
    calls: new Set(),
    call: calls.get(named?.call ?? "") ?? null,
    arrivals: [],
    parts: new Map(),
    count: event.count,
  };
  const reply = replies.get(event.replyId) ?? none;
  replies.set(event.replyId, reply);
  reply.arrivals.push(arrived);
  reply.calls.add(named?.call ?? "");
  reply.count = Math.max(reply.count, event.count);
  const part = reply.parts.get(event.index) ?? { firstAt: event.at, shownAt: null };
  reply.parts.set(event.index, part);
  if (event.outcome !== "refused") part.shownAt ??= event.at;
}

/** The newest content people were told is accepted. @param {Message} message */
const newest = ({ edits }) =>
  Math.max(0, ...[...edits.values()].filter(({ accepted }) => accepted).map(({ rev }) => rev));

/** @typedef {(rule: string, at: number, why: string) => void} Accuse */

/** @param {Story} story @param {Reply[]} shown @param {Accuse} accuse */
function judgeCoverage({ messages }, shown, accuse) {
  /** @type {Map<string, Reply[]>} */
  const answers = new Map();
  for (const reply of shown)
    for (const { id, rev } of reply.call?.seen ?? []) {
      const token = `${id} r${rev}`;
      answers.set(token, [...(answers.get(token) ?? []), reply]);
    }
  for (const [token, replies] of answers)
    if (replies.length > 1)
      accuse(
        "twice",
        replies[1]?.firstAt ?? 0,
        `${token} is answered by ${replies.map(({ call }) => call?.call).join(", ")}`,
      );
  for (const message of messages.values()) {
    if (message.ackedAt === null || message.retraction?.ackedAt != null) continue;
    const least = newest(message);
    const isAnswered = shown.some(({ call }) => call?.seen.some(({ id, rev }) => id === message.id && rev >= least));
    if (!isAnswered) accuse("lost", message.ackedAt, `${message.id} r${least} was acknowledged and never answered`);
  }
}

/**
 * What the author had been told is accepted before `before`, in time to be waited for, and the call was not shown.
 * @param {Story} story @param {Call} call @param {Reply[]} shownBefore @param {number} before @param {number} cap
 */
function missed({ messages }, { seen }, shownBefore, before, cap) {
  const intime = (/** @type {number | null} */ at) => at !== null && at < before && at < cap;
  for (const message of messages.values()) {
    const { id, ackedAt, edits, retraction } = message;
    const known = Math.max(-1, ...seen.filter((token) => token.id === id).map(({ rev }) => rev));
    const answered = Math.max(
      -1,
      ...shownBefore
        .flatMap(({ call }) => call?.seen ?? [])
        .filter((token) => token.id === id)
        .map(({ rev }) => rev),
    );
    if (retraction !== null) {
      if (known >= 0 && intime(retraction.ackedAt)) return `${id} had been taken back`;
      continue;
    }
    if (known < 0 && answered < 0 && intime(ackedAt)) return `${id} had been acknowledged`;
    for (const { rev, accepted, ackedAt: at } of edits.values())
      if (accepted && rev > known && rev > answered && intime(at)) return `edit ${rev} of ${id} had been accepted`;
  }
  return null;
}

/** @param {Story} story @param {Reply[]} shown @param {Mishap[]} mishaps @param {{ maxWaitMs: number }} limits @param {Accuse} accuse */
function judgeFreshness(story, shown, mishaps, limits, accuse) {
  shown.forEach((reply, place) => {
    const { call } = reply;
    if (call === null || call.answeredAt === null) return;
    const before = shown.slice(0, place);
    const cap = openedAt(story, before) + limits.maxWaitMs;
    const miss = missed(story, call, before, call.answeredAt, cap);
    if (miss !== null) accuse("stale", call.answeredAt, `${call.call} answers without knowing that ${miss}`);
    const refusals = reply.arrivals.filter(({ outcome, told }) => outcome === "refused" && told === "answer");
    const [last] = refusals.slice(-1);
    const next = reply.arrivals[refusals.length];
    // Everything so far was turned away, and then it was offered again.
    if (last === undefined || next === undefined || call.streams || reply.arrivals[refusals.length - 1] !== last)
      return;
    // Whoever died meanwhile may have had it in hand: nobody sees a holder that dies before it has sent.
    if (mishaps.some(({ at }) => at > call.at && at < next.at)) return;
    const late = missed(story, call, before, last.at, cap);
    if (late !== null) accuse("stale", next.at, `${call.call} is offered again after ${late}`);
  });
}

/** The earliest that the oldest input then open can have been accepted. @param {Story} story @param {Reply[]} before */
function openedAt({ messages, calls }, before) {
  // Whoever is told "duplicate", because the first answer was lost, does not learn whether the edit counts; a model that was
  // shown it proves that it does.
  /** @param {string} id @param {Edit} edit */
  const counts = (id, { accepted, rev }) =>
    accepted || calls.some(({ seen: shown }) => shown.some((token) => token.id === id && token.rev === rev));
  const seen = before.flatMap(({ call }) => call?.seen ?? []);
  const since = before.at(-1)?.firstAt ?? Number.NEGATIVE_INFINITY;
  let oldest = Number.POSITIVE_INFINITY;
  for (const { id, sentAt, edits, retraction } of messages.values()) {
    if (retraction?.ackedAt != null && retraction.ackedAt < since) continue;
    const known = Math.max(-1, ...seen.filter((token) => token.id === id).map(({ rev }) => rev));
    if (known < 0) oldest = Math.min(oldest, sentAt);
    for (const edit of edits.values()) if (edit.rev > known && counts(id, edit)) oldest = Math.min(oldest, edit.sentAt);
  }
  return oldest;
}

/** @param {Reply[]} shown @param {Accuse} accuse */
function judgeOrder(shown, accuse) {
  let lastAt = Number.NEGATIVE_INFINITY;
  for (const { replyId, parts, firstAt } of shown) {
    if (firstAt < lastAt) accuse("disorder", firstAt, `${replyId} begins before the reply ahead of it was out`);
    for (const [index, part] of parts) {
      lastAt = Math.max(lastAt, part.firstAt);
      if (index === 0) continue;
      const ahead = parts.get(index - 1)?.shownAt ?? Number.POSITIVE_INFINITY;
      if (ahead > part.firstAt)
        accuse("disorder", part.firstAt, `part ${index} of ${replyId} comes before part ${index - 1}`);
    }
  }
}

/** @param {Story} story @param {Mishap[]} mishaps @param {Accuse} accuse */
function judgeRepeats({ keys, replies }, mishaps, accuse) {
  for (const [key, arrivals] of keys)
    for (const [place, again] of arrivals.entries()) {
      if (!again.already) continue;
      const earlier = arrivals.slice(0, place).filter(({ outcome }) => outcome !== "refused");
      if (earlier.some(({ told }) => told === "nothing")) continue;
      const senders = new Set([again.process, ...earlier.map(({ process }) => process)]);
      const since = replies.get(again.replyId)?.call?.answeredAt ?? again.at;
      const excuse = mishaps.some(
        ({ at, process }) => at > since && at < again.at && (process === null || senders.has(process)),
      );
      // Before the answer, too: an outage that is not over, a process that is still frozen.
      const standing = mishaps.filter(({ at }) => at <= since);
      const away = standing.findLast(({ process }) => process === null)?.is === "outage";
      const frozen = [...senders].some((name) => standing.findLast(({ process }) => process === name)?.is === "frozen");
      if (!excuse && !away && !frozen)
        accuse("repeated", again.at, `${key} came again from ${again.process}, and nothing had happened to its sender`);
    }
}

/** @param {Story} story @param {string} conversation @param {Map<string, Call>} calls @param {Reply[]} shown @param {Accuse} accuse */
function judgeContent({ keys, replies }, conversation, calls, shown, accuse) {
  for (const [key, arrivals] of keys)
    if (new Set(arrivals.map(({ text }) => text)).size > 1)
      accuse("changed", arrivals[0]?.at ?? 0, `${key} came with different contents`);
  for (const reply of replies.values()) {
    if (reply.calls.size > 1)
      accuse("mixed", reply.firstAt, `${reply.replyId} is made of ${[...reply.calls].join(", ")}`);
    for (const { text, index, at } of reply.arrivals) {
      const named = callIn(text);
      const call = calls.get(named?.call ?? "");
      if (call?.conversation !== conversation || call.answeredAt === null || named?.index !== index)
        accuse(
          "foreign",
          at,
          `part ${index} of ${reply.replyId} is none the model gave for this conversation: ${text}`,
        );
    }
    const said = new Set(reply.call?.seen.map(({ id }) => id));
    for (const { covers, at } of reply.arrivals) {
      const ids = new Set(covers.map((id) => id.split("~")[0] ?? id));
      if (ids.size !== said.size || [...ids].some((id) => !said.has(id)))
        accuse(
          "covers",
          at,
          `${reply.replyId} says it covers ${[...ids].join(" ")}; it answers ${[...said].join(" ")}`,
        );
    }
  }
  for (const { replyId, parts, count, call, firstAt } of shown) {
    const missing = Array.from({ length: count }, (_, index) => index).filter(
      (index) => parts.get(index)?.shownAt == null,
    );
    if (!call?.streams && missing.length > 0)
      accuse("unfinished", firstAt, `parts ${missing.join(", ")} of ${count} of ${replyId} were never shown`);
  }
}

/** @param {readonly Event[]} events @param {Map<string, Story>} stories @param {number[]} repeats */
function figuresOf(events, stories, repeats) {
  /** @param {(event: Event) => boolean} is */
  const count = (is) => events.filter(is).length;
  const replies = [...stories.values()].flatMap((story) => [...story.replies.values()]);
  return {
    conversations: stories.size,
    messages: count((e) => e.is === "acked" && e.op === "message"),
    edits: count((e) => e.is === "acked" && e.op === "edit"),
    retractions: count((e) => e.is === "acked" && e.op === "retract"),
    redeliveries: count((e) => e.is === "sent") - count((e) => e.is === "acked"),
    modelCalls: count((e) => e.is === "called"),
    replies: replies.filter(isShown).length,
    overtaken: replies.filter((reply) => isShown(reply) && reply.arrivals.some(({ overtaken }) => overtaken)).length,
    withdrawnOrNeverShown: replies.filter((reply) => !isShown(reply)).length,
    parts: count((e) => e.is === "arrived" && e.outcome !== "refused") - repeats.reduce((a, b) => a + b, 0),
    repeatedKeys: repeats.filter((times) => times > 0).length,
    shownTwice: [...stories.values()]
      .flatMap(({ keys }) => [...keys.values()])
      .filter((list) => list.filter(({ outcome }) => outcome === "took").length > 1).length,
    kills: count((e) => e.is === "killed"),
    freezes: count((e) => e.is === "frozen"),
    outages: count((e) => e.is === "outage"),
  };
}

/** @param {readonly Event[]} events */
function recoveryOf(events) {
  /**
   * @typedef {{ open: Set<string>, holder: string | null, acker: string | null, touchedAt: number | null, why: string,
   *   shown: Map<string, { parts: Set<number>, count: number, seen: string[], streams: boolean }> }} State
   */
  /** @type {Map<string, State>} */
  const states = new Map();
  /** @type {Set<string>} */
  const waiting = new Set();
  /** Processes that are up, and not frozen. @type {Set<string>} */
  const up = new Set();
  /** @type {Sample[]} */
  const samples = [];
  let dark = false;

  const stateOf = (/** @type {string} */ conversation) => {
    const state = states.get(conversation) ?? {
      open: new Set(),
      holder: null,
      acker: null,
      touchedAt: null,
      why: "",
      shown: new Map(),
    };
    states.set(conversation, state);
    return state;
  };
  /** @param {number} at @param {string} why @param {(state: State) => boolean} which */
  const touch = (at, why, which) => {
    for (const conversation of waiting) {
      const state = stateOf(conversation);
      if (!which(state)) continue;
      state.touchedAt = at;
      state.why = why;
    }
  };
  /** @type {Set<string>} */
  const answered = new Set();
  /** @param {string} conversation @param {State} state @param {string[]} ids */
  const settle = (conversation, state, ids) => {
    for (const id of ids) {
      answered.add(id);
      state.open.delete(id);
    }
    if (state.open.size > 0) return;
    waiting.delete(conversation);
    state.holder = state.touchedAt = null;
  };
  /** @param {string} conversation @param {State} state @param {number} at @param {string} process */
  const sign = (conversation, state, at, process) => {
    if (state.touchedAt !== null) samples.push({ ms: at - state.touchedAt, conversation, at, why: state.why });
    state.touchedAt = null;
    state.holder = process;
  };

  for (const event of events) {
    switch (event.is) {
      case "acked": {
        const state = stateOf(event.conversation);
        state.acker = event.process;
        if (event.op === "retract") settle(event.conversation, state, [event.id]);
        else if (event.op === "message" && !answered.has(event.id)) {
          state.open.add(event.id);
          waiting.add(event.conversation);
        }
        break;
      }
      case "called":
      case "asked":
        sign(event.conversation, stateOf(event.conversation), event.at, event.process);
        break;
      case "arrived": {
        const state = stateOf(event.conversation);
        sign(event.conversation, state, event.at, event.process);
        if (event.outcome === "refused") break;
        const reply = state.shown.get(event.replyId) ?? { parts: new Set(), count: 0, seen: [], streams: false };
        state.shown.set(event.replyId, reply);
        reply.parts.add(event.index);
        reply.count = Math.max(reply.count, event.count);
        reply.seen = callIn(event.text)?.seen.map(({ id }) => id) ?? [];
        if (reply.parts.size >= reply.count) settle(event.conversation, state, reply.seen);
        break;
      }
      case "killed":
      case "frozen":
      case "died":
        up.delete(event.process);
        dark ||= up.size === 0;
        touch(event.at, event.is, ({ holder, acker }) => (holder ?? acker) === event.process);
        break;
      case "ready":
      case "thawed":
        if (dark) touch(event.at, "nobody up", () => true);
        dark = false;
        up.add(event.process);
        break;
      case "restored":
        touch(event.at, "outage", () => true);
        break;
      default:
    }
  }
  return { samples, waiting: [...waiting] };
}

/** Figures of some samples. @param {Sample[]} samples */
export function summary(samples) {
  const sorted = samples.map(({ ms }) => ms).sort((a, b) => a - b);
  const at = (/** @type {number} */ p) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.ceil(p * sorted.length) - 1)] ?? 0);
  return { touched: samples.length, p50: at(0.5), p99: at(0.99), worst: Math.round(sorted.at(-1) ?? 0) };
}

/**
 * A second look at a slow recovery. From outside nobody sees a process take a conversation and die before it has called
 * the model or delivered anything, although that touched the conversation, too. The stored log shows it: a lease that
 * was taken after the last touch, and found expired before the sign of life. Then recovery counts from what befell its
 * holder: the first mishap after it was taken that hit the holder, or, where the log does not name it, anybody.
 *
 * @param {Sample} sample @param {readonly any[]} log the conversation's entries @param {readonly Event[]} events
 * @param {number} began the ledger's zero on the store's clock
 * @returns {Sample}
 */
export function secondLook(sample, log, events, began) {
  const lost = log.filter(({ kind, outcome, fence, atMs }) => {
    const inside = fence - began > sample.at - sample.ms && atMs - began < sample.at;
    return kind === "ended" && outcome === "expired" && inside;
  });
  for (const { fence } of lost.reverse()) {
    const holder = log.find((entry) => entry.kind === "attempt" && entry.fence === fence)?.owner;
    const hit = events.find(
      (event) =>
        (event.is === "killed" || event.is === "frozen" || event.is === "died") &&
        event.at >= fence - began &&
        event.at < sample.at &&
        (holder === undefined || event.process === holder),
    );
    if (hit !== undefined) return { ...sample, ms: sample.at - hit.at, why: `${sample.why}, then ${hit.is}` };
  }
  return sample;
}
