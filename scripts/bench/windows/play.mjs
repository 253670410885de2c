// One person and one bot on virtual time: the real protocol, the real windows and the real worker. What run.ts does with
// a store, a model and a channel is done here with a variable, a delay and nothing.
import { fileURLToPath, pathToFileURL } from "node:url";
import { readingMs } from "./people.mjs";
import { dice, lognormal } from "./random.mjs";

const built = (/** @type {string} */ file) =>
  import(pathToFileURL(fileURLToPath(new URL(`../../../packages/lull/dist/${file}`, import.meta.url))).href);
/** @type {typeof import("../../../packages/lull/src/protocol.ts")} */
const { apply } = await built("protocol.js");
/** @type {typeof import("../../../packages/lull/src/worker.ts")} */
const { decide, idle, isIdle, step } = await built("worker.js");
/** @type {typeof import("../../../packages/lull/src/window.ts")} */
const { wakeAt } = await built("window.js");
/** @type {typeof import("../../../packages/lull/src/model.ts")} */
const { blank } = await built("model.js");
/** @type {typeof import("../../../packages/lull/src/pace.ts")} */
const { modelMs } = await built("pace.js");
/** @type {typeof import("../../../packages/lull/src/options.ts")} */
const { settle } = await built("options.js");
/** @type {typeof import("../../../packages/lull/src/stores/memory/index.ts")} */
const { memory } = await built("stores/memory/index.js");

/**
 * @typedef {object} Policy
 * @property {string} name
 * @property {import("lull").Debounce} debounce
 * @property {boolean} [queue]   never discards (the plain debounce)
 * @property {boolean} [typing]  the bot is told when the person types
 *
 * @typedef {object} Tally  of one person, summed
 * @property {number} turns
 * @property {number} replies
 * @property {number} interrupted  turns that got more than one reply
 * @property {number} calls        model runs
 * @property {number} wasted       of which were discarded
 * @property {number[]} delays     last message of a turn to the reply that covers it, ms
 * @property {{ true: number, found: number, right: number }} crossed  replies crossed in truth, found to be, and rightly
 */

/** Until the bot hears that somebody types, and how often the platform says so again. */
const typingDelayMs = 500;
const typingEveryMs = 3_000;

/**
 * Plays everything a person writes. Open loop: messages come when the data say, whatever the bot does. Closed loop:
 * who has not begun to type when a reply appears reads it first, and then goes on as they would have.
 * @param {import("./people.mjs").Person} person
 * @param {Policy} policy
 * @param {{ latencyMs: number, seed: number, closed?: boolean, learns: { ms: number | null } }} world
 * @returns {Tally}
 */
export function play(person, policy, { latencyMs, seed, closed = false, learns }) {
  const random = dice(seed);
  const settings = settle({ store: memory(), debounce: policy.debounce, limits: { repliesPerHour: 1_000_000 } });
  const limitsNow = () => {
    const limits = settings.limitsOf("c", learns.ms);
    return policy.queue ? { ...limits, startMs: limits.quietMs, leadMs: 0 } : limits;
  };
  let limits = limitsNow();
  let now = 1_000_000_000_000;
  let record = blank("c", now);
  let worker = idle(limits, false);
  let ids = 0;
  /** @type {{ atMs: number, beganMs: number } | null} */
  let model = null;
  let waitMs = Number.POSITIVE_INFINITY;
  let shownAtMs = 0;
  /** @type {Tally} */
  const tally = {
    turns: 0,
    replies: 0,
    interrupted: 0,
    calls: 0,
    wasted: 0,
    delays: [],
    crossed: { true: 0, found: 0, right: 0 },
  };
  /** Of the running turn. */
  let replies = 0;
  let lastVersion = 0;
  let lastAtMs = 0;
  let toCome = 0;

  /** @param {import("lull").ProtocolEvent} event */
  function write(event) {
    const { next, entries, outcome } = apply(record, event, now, limits);
    if (next !== null) record = { ...next, revision: String(++ids) };
    for (const entry of entries) {
      if (entry.kind === "ended" && entry.outcome === "superseded") tally.wasted += 1;
      if (entry.kind === "reply") {
        replies += 1;
        tally.replies += 1;
        shownAtMs = now;
        if (entry.to === lastVersion && toCome === 0) tally.delays.push(now - lastAtMs);
      }
    }
    return outcome;
  }

  /** @param {import("../../../packages/lull/src/worker.ts").WorkerEvent} event */
  function tell(event) {
    step(worker, event);
    pump();
  }

  function pump() {
    for (;;) {
      const command = decide(worker, now);
      if (command === null) break;
      if (command.do === "wait") {
        waitMs = command.untilMs;
        break;
      }
      if (command.do === "abort") {
        model = null;
        step(worker, { type: "threw", error: command.code });
      } else if (command.do === "respond") {
        tally.calls += 1;
        model = { atMs: now + Math.round(latencyMs * lognormal(random, 0, 0.45)), beganMs: now };
      } else if (command.do === "send") step(worker, { type: "sent", receipt: { state: "sent" } });
      else {
        const claimId = `id${++ids}`;
        const outcome = write(eventFor(command, claimId));
        step(worker, { type: "exchanged", command, outcome, record, claimId });
      }
    }
    if (worker.lease === null) waitMs = Number.POSITIVE_INFINITY;
  }

  /** @param {import("../../../packages/lull/src/worker.ts").Exchange} command @param {string} id @returns {import("lull").ProtocolEvent} */
  function eventFor(command, id) {
    const held = { fence: worker.lease?.fence ?? 0, claimId: worker.lease?.claimId ?? "" };
    const replyId = record.outbox?.replyId ?? "";
    const { do: type, ...rest } = command;
    switch (command.do) {
      case "claim":
        return { type: "claim", owner: "w", claimId: id, random: 0, seals: policy.queue === true };
      case "commit":
        return { type: "commit", replyId: id, parts: command.parts, open: command.open, ...held };
      case "attempt":
        return { type: "attempt", replyId, index: command.index, inDoubt: "retry", ...held };
      case "settle":
        return { type: "settle", replyId, index: command.index, receipt: command.receipt, random: 0, ...held };
      case "discard":
        return { type: "discard", reason: command.reason, ...held };
      default:
        throw new Error(`the bench has no ${type} ${JSON.stringify(rest)}`);
    }
  }

  /** Lets the bot work until then, and the person's own clock go on. @param {number} untilMs @param {() => boolean} [stop] */
  function pass(untilMs, stop = () => false) {
    while (!stop()) {
      const wake =
        record.lease === null ? (wakeAt(record, limits) ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
      const next = Math.min(wake, model?.atMs ?? Number.POSITIVE_INFINITY, waitMs);
      if (next > untilMs || next === Number.POSITIVE_INFINITY) break;
      now = Math.max(now, next);
      if (model !== null && model.atMs <= now) {
        learns.ms = modelMs(learns.ms, now - model.beganMs);
        model = null;
        tell({ type: "answered", parts: [{ type: "text", text: "an answer" }] });
      } else if (waitMs <= now) {
        waitMs = Number.POSITIVE_INFINITY;
        pump();
      } else {
        if (isIdle(worker)) {
          limits = limitsNow();
          worker = idle(limits, false);
        }
        tell({ type: "wake" });
      }
    }
    if (untilMs !== Number.POSITIVE_INFINITY) now = Math.max(now, untilMs);
  }

  /** Types and sends. Resolves what was crossed. @param {import("./people.mjs").Message} message @param {number} dueMs */
  function write1(message, dueMs) {
    const seenMs = shownAtMs;
    const typingMs = message.typingMs ?? 0;
    let atMs = dueMs;
    if (closed) {
      // A reply that appears before the first key is read before anything is typed.
      pass(atMs - typingMs, () => shownAtMs > seenMs);
      if (shownAtMs > seenMs && shownAtMs < atMs - typingMs) atMs = Math.max(atMs, shownAtMs + readingMs + typingMs);
    }
    const beganMs = atMs - typingMs;
    if (policy.typing && message.typingMs !== null)
      for (let typed = beganMs + typingDelayMs; typed < atMs; typed += typingEveryMs) {
        pass(typed);
        notice(write({ type: "typing", on: true }));
      }
    pass(atMs);
    const reacts = shownAtMs > 0 && beganMs < shownAtMs;
    const before = record.pace?.shown ?? null;
    const id = `m${++ids}`;
    const crossedBefore = record.pace?.crossed ?? 0;
    lastVersion = record.version + 1;
    lastAtMs = now;
    toCome -= 1;
    notice(write({ type: "receive", id, parts: [{ type: "text", text: message.text }] }));
    if (before !== null && message.typingMs !== null) {
      const found = (record.pace?.crossed ?? 0) > crossedBefore;
      tally.crossed.true += reacts ? 1 : 0;
      tally.crossed.found += found ? 1 : 0;
      tally.crossed.right += found && reacts ? 1 : 0;
    }
  }

  /** @param {unknown} _outcome */
  function notice(_outcome) {
    tell({ type: "noticed", record });
  }

  for (const turn of person.turns) {
    replies = 0;
    toCome = turn.messages.length;
    for (const [index, message] of turn.messages.entries()) {
      const own = index === 0 ? turn.reactionMs + (message.typingMs ?? 4_000) : message.gapMs;
      write1(message, now + own);
    }
    if (turn.abandonsMs > 0 && policy.typing) {
      const beganMs = now + 1_000;
      for (let typed = beganMs + typingDelayMs; typed < beganMs + turn.abandonsMs; typed += typingEveryMs) {
        pass(typed, () => record.window === null);
        if (record.window === null) break;
        notice(write({ type: "typing", on: true }));
      }
    }
    pass(Number.POSITIVE_INFINITY);
    tally.turns += 1;
    if (replies > 1) tally.interrupted += 1;
  }
  return tally;
}
