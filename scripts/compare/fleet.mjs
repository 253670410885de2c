// Two processes of a bot and one Redis; a platform that posts to them, and what the person sees.
import { fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startRedis } from "../servers/redis.mjs";

const script = fileURLToPath(new URL("bot.mjs", import.meta.url));
/** A platform waits so long for its webhook's answer, and pauses so long between its tries. */
const hookMs = 3_000;
const againMs = [1_000, 2_000, 4_000, 8_000];

/** @typedef {{ id: string, text: string, sentMs: number, storedMs: number }} Said */
/** @typedef {{ text: string, atMs: number }} Shown */
/** @typedef {ReturnType<typeof processOf>} Process */

/** @param {string} mode @param {string} url @param {number} modelMs @param {(thread: string, text: string) => void} posted */
function processOf(mode, url, modelMs, posted) {
  const child = fork(script, [mode, url, String(modelMs)], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  /** @type {Map<number, (status: number) => void>} */
  const waiting = new Map();
  let count = 0;
  const ready = new Promise((resolve, reject) => {
    child.on("message", (/** @type {any} */ message) => {
      if (message.ready) resolve(undefined);
      if (message.posted) posted(message.posted.thread, message.posted.text);
      if (message.nth !== undefined) waiting.get(message.nth)?.(message.status);
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
    /** The status it answers with; 0 for none in time. @param {object} hook */
    async post(hook) {
      const nth = ++count;
      const answer = new Promise((resolve) => waiting.set(nth, resolve));
      if (!child.connected) return 0;
      child.send({ nth, hook }, () => {});
      return Number(await Promise.race([answer, sleep(hookMs, 0)]));
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
  const posted = (/** @type {string} */ thread, /** @type {string} */ text) =>
    void of(thread).shown.push({ text, atMs: performance.now() });
  const make = () => processOf(mode, server.url, modelMs, posted);
  const processes = [make(), make()];
  await Promise.all(processes.map(({ ready }) => ready));
  let ids = 0;
  return {
    server,
    processes,
    /** Somebody writes; the platform posts to that process first, and then to whoever lives, until it is told 2xx. */
    async says(/** @type {string} */ thread, /** @type {string} */ text, to = 0) {
      const said = { id: `${thread} ${++ids}`, text, sentMs: performance.now(), storedMs: Number.POSITIVE_INFINITY };
      of(thread).said.push(said);
      for (const [nth, pauseMs] of [0, ...againMs].entries()) {
        await sleep(pauseMs);
        const wanted = /** @type {Process} */ (processes[to]);
        const process = nth === 0 || wanted.alive ? wanted : processes.find(({ alive }) => alive);
        const status = (await process?.post({ thread, id: said.id, text })) ?? 0;
        if (status < 200 || status > 299) continue;
        said.storedMs = performance.now();
        return;
      }
    },
    /**
     * What the people of these threads got. `late`: replies after which something was stored, on a machine too busy to
     * keep to the script: what came after a reply wants one of its own.
     * @param {string[]} names
     */
    judge(...names) {
      let [replies, stale, lost, late] = [0, 0, 0, 0];
      for (const { said, shown } of names.map(of)) {
        replies += shown.length;
        const covered = new Set();
        for (const { text, atMs } of shown) {
          for (const word of text.split("+")) covered.add(word);
          // Something was acknowledged a while before, and the reply does not know it.
          if (said.some((one) => one.storedMs < atMs - 250 && !covered.has(one.text))) stale += 1;
          if (said.some((one) => one.storedMs > atMs - 250 && !covered.has(one.text))) late += 1;
        }
        // Only what was acknowledged: the rest its platform still has.
        lost += said.filter((one) => Number.isFinite(one.storedMs) && !covered.has(one.text)).length;
      }
      return { replies, stale, lost, late };
    },
    async close() {
      for (const process of processes) process.kill("SIGKILL");
      await server.end();
    },
  };
}
