// People who type in bursts, and a platform that hands what they typed to some process of the bot, again and again
// until one has acknowledged it.
import { request } from "node:http";
import { callIn, textOf } from "./ledger.mjs";
import { sleep } from "./random.mjs";

/**
 * Fitted to two-party chats (the MeetUp! corpus, 3,630 turns): chance that one more message follows the first, the
 * second, …, and the gap between two. Gaps are scaled, because the quiet target is shorter here than in life.
 */
const pMore = [0.326, 0.304, 0.322, 0.379];
const gap = { mu: 2.065, sigma: 0.846 };
const livesQuietMs = 6_000;

const channels = ["keyed", "keyed", "keyed", "plain", "plain", "asked"];

/**
 * @param {{ ledger: import("./ledger.mjs").Ledger, random: import("./random.mjs").Dice, count: number, quietMs: number,
 *   target: (not: string | null) => { process: string, port: number } | null, isOver: () => boolean }} options
 */
export function typists({ ledger, random, count, quietMs, target, isOver }) {
  let conversations = 0;
  let waiting = 0;
  /** Contents that a shown reply has answered. @type {Map<string, Set<string>>} */
  const answered = new Map();
  ledger.on((event) => {
    if (event.is !== "arrived" || event.outcome === "refused") return;
    for (const { id } of callIn(event.text)?.seen ?? []) answered.get(event.conversation)?.add(id);
  });

  /**
   * As a platform delivers: to any process, again with the same id until it is acknowledged.
   * @param {Omit<import("./ledger.mjs").Input, "at" | "is" | "process" | "status">} input
   * @param {Record<string, unknown>} body
   */
  async function handIn(input, body) {
    waiting += 1;
    /** @type {string | null} */
    let last = null;
    for (;;) {
      const to = target(last);
      if (to === null) {
        await sleep(50);
        continue;
      }
      last = to.process;
      ledger.note({ is: "sent", ...input, process: to.process });
      const answer = await ask(to.port, body, 2_500);
      if (answer !== null && answer.status !== "rejected") {
        ledger.note({ is: "acked", ...input, process: to.process, status: answer.status });
        waiting -= 1;
        return;
      }
      await sleep(random.between(50, 300));
    }
  }

  async function typist() {
    // Not all at once.
    await sleep(random.between(0, 2_000));
    while (!isOver()) {
      const channel = random.pick(channels);
      const conversation = `${channel}${random.chance(0.15) ? "-stream" : ""}-${++conversations}`;
      answered.set(conversation, new Set());
      let messages = 0;
      for (let bursts = Math.ceil(random.between(2, 12)); bursts > 0 && !isOver(); bursts -= 1) {
        /** @type {string[]} */
        const ids = [];
        /** @type {Promise<void>[]} */
        const sends = [];
        for (let index = 0; ; index += 1) {
          const id = `${conversation}.m${++messages}`;
          ids.push(id);
          const text = textOf({ id, rev: 0 });
          const body = { op: "message", conversation, id, text, sentAt: Date.now(), address: { channel } };
          sends.push(handIn({ conversation, op: "message", id, rev: 0 }, body));
          if (!random.chance(pMore[Math.min(index, 3)] ?? 0) || isOver()) break;
          await sleep(gapMs());
        }
        if (random.chance(0.2)) await secondThoughts(conversation, random.pick(ids), sends);
        await Promise.all(sends);
        // Most wait for the answer before they go on; the rest talk on.
        if (random.chance(0.75)) await until(() => ids.every((id) => answered.get(conversation)?.has(id)), 8_000);
        await sleep(random.between(100, 2_500));
      }
    }
  }

  /** An edit or two, or a retraction. @param {string} conversation @param {string} id @param {Promise<void>[]} sends */
  async function secondThoughts(conversation, id, sends) {
    await Promise.all(sends);
    await sleep(random.between(0, 1_500));
    if (random.chance(0.35)) {
      await handIn({ conversation, op: "retract", id, rev: 0 }, { op: "retract", conversation, id });
      answered.get(conversation)?.add(id);
      return;
    }
    for (let rev = 1; rev === 1 || random.chance(0.3); rev += 1) {
      const body = { op: "edit", conversation, id, edit: `${id}~${rev}`, text: textOf({ id, rev }) };
      await handIn({ conversation, op: "edit", id, rev }, body);
    }
  }

  const gapMs = () =>
    Math.min(Math.max((random.lognormal(gap.mu, gap.sigma) * 1_000 * quietMs) / livesQuietMs, 15), 5_000);

  /** @param {() => boolean} done @param {number} ms */
  async function until(done, ms) {
    for (const end = ledger.now() + ms; !done() && ledger.now() < end && !isOver(); ) await sleep(50);
  }

  return {
    /** Resolves when everybody has stopped and everything typed is acknowledged. */
    all: Promise.all(Array.from({ length: count }, typist)),
    waiting: () => waiting,
    conversations: () => conversations,
  };
}

/**
 * A call to a worker: its answer, or null when it did not answer in time or refused.
 * @param {number} port @param {Record<string, unknown>} body @param {number} timeoutMs @returns {Promise<any>}
 */
export function ask(port, body, timeoutMs) {
  return new Promise((resolve) => {
    const call = request({ host: "127.0.0.1", port, method: "POST", agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => end(response.statusCode === 200 && response.complete ? JSON.parse(text) : null));
      response.on("error", () => end(null));
    });
    const timer = setTimeout(() => end(null), timeoutMs);
    /** @param {any} answer */
    const end = (answer) => {
      clearTimeout(timer);
      call.destroy();
      resolve(answer);
    };
    call.on("error", () => end(null));
    call.end(JSON.stringify(body));
  });
}
