// Two processes of a bot and one Redis; a platform that posts to them, and what the person sees.
import { fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startRedis } from "../servers/redis.mjs";
import { debounceMs } from "./settings.mjs";

const script = fileURLToPath(new URL("bot.mjs", import.meta.url));
/** A platform waits so long for its webhook's answer, and pauses so long between its tries. */
const hookMs = 3_000;
const againMs = [1_000, 2_000, 4_000, 8_000];

/** Times of different processes are compared, and rounded to milliseconds. */
const roundingMs = 5;

// All times are those of the machine's clock, as the process that did it read it.
/** @typedef {{ id: string, text: string, sentMs: number, acknowledgedMs: number }} Said Infinity: never acknowledged */
/** @typedef {{ text: string, decidedMs: number }} Shown */
/** @typedef {ReturnType<typeof processOf>} Process */
/**
 * What some people got.
 * @typedef {object} Verdict
 * @property {number} replies
 * @property {number} stale replies without a message that was acknowledged before the reply was decided
 * @property {number} lost messages that no reply answered
 * @property {number} early replies decided before the person had been quiet for the debounce
 * @property {number} crossed replies after which something more was acknowledged, which wants a reply of its own
 */

/** @param {string} mode @param {string} url @param {number} modelMs @param {(thread: string, shown: Shown) => void} posted */
function processOf(mode, url, modelMs, posted) {
  const child = fork(script, [mode, url, String(modelMs)], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  /** @type {Map<number, (answer: { status: number, atMs: number }) => void>} */
  const waiting = new Map();
  let count = 0;
  const ready = new Promise((resolve, reject) => {
    child.on("message", (/** @type {any} */ message) => {
      if (message.ready) resolve(undefined);
      if (message.posted) posted(message.posted.thread, message.posted);
      if (message.nth !== undefined) {
        waiting.get(message.nth)?.(message);
        waiting.delete(message.nth);
      }
    });
    child.once("exit", (code) => reject(new Error(`a bot ended with ${code} before it was ready`)));
  });
  ready.catch(() => {});
  return {
    ready,
    kill: (/** @type {NodeJS.Signals} */ signal) => child.kill(signal),
    get alive() {
      return child.exitCode === null && child.signalCode === null;
    },
    /**
     * The status it answers with, and when; 0 for none in time.
     * @param {object} hook @returns {Promise<{ status: number, atMs: number }>}
     */
    async post(hook) {
      const nth = ++count;
      const none = { status: 0, atMs: 0 };
      if (!child.connected) return none;
      /** @type {Promise<typeof none>} */
      const answer = new Promise((resolve) => waiting.set(nth, resolve));
      child.send({ nth, hook }, () => {});
      return Promise.race([answer, sleep(hookMs, none)]);
    },
  };
}

/** @param {string} mode @param {{ modelMs: number }} options */
export async function startFleet(mode, { modelMs }) {
  // On its disk before it is acknowledged: what is lost is not Redis's fault.
  const server = await startRedis({ settings: { appendonly: "yes", appendfsync: "always" } });
  /** @type {Map<string, { said: Said[], shown: Shown[] }>} */
  const threads = new Map();
  const of = (/** @type {string} */ thread) => {
    const found = threads.get(thread) ?? { said: [], shown: [] };
    threads.set(thread, found);
    return found;
  };
  const posted = (/** @type {string} */ thread, /** @type {Shown} */ shown) => void of(thread).shown.push(shown);
  const make = () => processOf(mode, server.url, modelMs, posted);
  const processes = [make(), make()];
  await Promise.all(processes.map(({ ready }) => ready));
  let ids = 0;
  /** @type {Set<Promise<void>>} */
  const saying = new Set();

  /** @param {Said} said @param {string} thread @param {number} to */
  async function deliver(said, thread, to) {
    for (const [nth, pauseMs] of [0, ...againMs].entries()) {
      await sleep(pauseMs);
      const wanted = /** @type {Process} */ (processes[to]);
      const process = nth === 0 || wanted.alive ? wanted : processes.find(({ alive }) => alive);
      if (process === undefined) continue;
      const { status, atMs } = await process.post({ thread, id: said.id, text: said.text });
      if (status < 200 || status > 299) continue;
      said.acknowledgedMs = atMs;
      return;
    }
  }

  return {
    server,
    processes,
    /** Somebody writes; the platform posts to that process first, and then to whoever lives, until it is told 2xx. */
    async says(/** @type {string} */ thread, /** @type {string} */ text, to = 0) {
      const never = Number.POSITIVE_INFINITY;
      const said = { id: `${thread} ${++ids}`, text, sentMs: Date.now(), acknowledgedMs: never };
      of(thread).said.push(said);
      const delivered = deliver(said, thread, to);
      saying.add(delivered);
      await delivered;
      saying.delete(delivered);
    },
    /** The platform has delivered everything, or given up. */
    async told() {
      await Promise.all(saying);
    },
    /** What these people got. @param {string[]} names @returns {Verdict} */
    judge(...names) {
      const verdict = { replies: 0, stale: 0, lost: 0, early: 0, crossed: 0 };
      for (const { said, shown } of names.map(of)) {
        verdict.replies += shown.length;
        const covered = new Set();
        for (const { text, decidedMs } of shown) {
          const answered = said.filter((one) => text.split("+").includes(one.text));
          for (const one of answered) covered.add(one);
          const missing = said.filter((one) => !covered.has(one));
          if (missing.some(({ acknowledgedMs }) => acknowledgedMs < decidedMs)) verdict.stale += 1;
          else if (missing.length > 0) verdict.crossed += 1;
          const lastMs = Math.max(...answered.map(({ sentMs }) => sentMs));
          if (decidedMs < lastMs + debounceMs - roundingMs) verdict.early += 1;
        }
        verdict.lost += said.filter((one) => !covered.has(one)).length;
      }
      return verdict;
    },
    async close() {
      for (const process of processes) process.kill("SIGKILL");
      await server.end();
    },
  };
}
