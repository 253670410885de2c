// Starts the workers and pulls the plugs: kill -9, SIGSTOP and SIGCONT, all of them at once, the store's lock. Every
// signal goes to a process this file started, by its id.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { sleep } from "./random.mjs";

const script = fileURLToPath(new URL("worker.mjs", import.meta.url));

/** How often what happens, on average, and for how long. Frozen is always longer than the lease. */
const rhythm = (/** @type {number} */ leaseMs) => ({
  killEveryMs: 1_400,
  restartMs: [50, 800],
  freezeEveryMs: 4_700,
  frozenMs: [leaseMs * 1.1, leaseMs * 2],
  outageEveryMs: 18_000,
  outageMs: [300, leaseMs * 1.7],
  /** Share of the kills that takes every process at once. */
  blackouts: 0.03,
});

/**
 * @typedef {{ slot: number, name: string, child: import("node:child_process").ChildProcess, port: number | null,
 *   frozen: boolean, held: boolean }} Worker
 *
 * @param {{ ledger: import("./ledger.mjs").Ledger, random: import("./random.mjs").Dice, count: number, leaseMs: number,
 *   settings: Record<string, unknown>, prepared: import("./stores/index.mjs").Prepared }} options
 */
export function supervisor({ ledger, random, count, leaseMs, settings, prepared }) {
  /** @type {(Worker | null)[]} */
  const slots = Array.from({ length: count }, () => null);
  const times = rhythm(leaseMs);
  let started = 0;
  let quiet = false;
  let closing = false;
  /** @type {Set<Promise<void>>} */
  const under = new Set();
  let cutting = false;
  /** Outages of each kind, where the store has several. @type {Record<string, number>} */
  const kinds = {};
  const counts = { kills: 0, freezes: 0, outages: 0, held: 0, blackouts: 0, kinds };
  /** Processes that ended without being told to. @type {string[]} */
  const deaths = [];

  /** @param {number} slot */
  function start(slot) {
    const name = `w${slot + 1}#${++started}`;
    const child = fork(script, [JSON.stringify({ name, ...settings })], { stdio: ["ignore", "ignore", "pipe", "ipc"] });
    /** @type {Worker} */
    const worker = { slot, name, child, port: null, frozen: false, held: false };
    slots[slot] = worker;
    let complaint = "";
    child.stderr?.on("data", (chunk) => {
      complaint = (complaint + chunk).slice(-2_000);
    });
    child.on("message", (/** @type {any} */ { ready }) => {
      worker.port = ready;
      ledger.note({ is: "ready", process: name });
    });
    child.on("error", () => {});
    child.on("exit", (code, signal) => {
      if (slots[slot] === worker) slots[slot] = null;
      if (closing) return;
      if (signal !== "SIGKILL") {
        ledger.note({ is: "died", process: name });
        deaths.push(`${name} ended by itself (${code ?? signal}): ${complaint}`);
      }
      track(
        sleep(random.between(times.restartMs[0] ?? 0, times.restartMs[1] ?? 0)).then(() => {
          if (!closing) start(slot);
        }),
      );
    });
  }

  /** @param {Promise<void>} promise */
  function track(promise) {
    under.add(promise);
    void promise.finally(() => under.delete(promise));
  }

  const alive = () => slots.filter((worker) => worker !== null);
  const healthy = () => alive().filter(({ port, frozen }) => port !== null && !frozen);

  /** @param {Worker} worker @param {NodeJS.Signals} signal */
  function send({ child }, signal) {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    try {
      process.kill(child.pid, signal);
    } catch {
      // It has ended by itself, and its event is still to come.
    }
  }

  /** @param {Worker} worker */
  function kill(worker) {
    counts.kills += 1;
    ledger.note({ is: "killed", process: worker.name });
    slots[worker.slot] = null;
    send(worker, "SIGKILL");
    release(worker);
  }

  /** @param {Worker} worker */
  async function freeze(worker) {
    counts.freezes += 1;
    worker.frozen = true;
    ledger.note({ is: "frozen", process: worker.name });
    send(worker, "SIGSTOP");
    const held = holds(worker);
    await sleep(random.between(times.frozenMs[0] ?? 0, times.frozenMs[1] ?? 0));
    // Now and then what was frozen dies instead of waking.
    if (!quiet && slots[worker.slot] === worker && random.chance(0.15)) kill(worker);
    worker.frozen = false;
    if (slots[worker.slot] === worker) {
      ledger.note({ is: "thawed", process: worker.name });
      send(worker, "SIGCONT");
    }
    await held;
    release(worker);
  }

  /** Frozen with the store's lock in its hand, it takes the store away from everybody. @param {Worker} worker */
  async function holds(worker) {
    if (!(await prepared.held?.()) || !worker.frozen || slots[worker.slot] !== worker) return;
    counts.held += 1;
    worker.held = true;
    ledger.note({ is: "outage" });
  }

  /** Awake or dead, it holds nothing any more. @param {Worker} worker */
  function release(worker) {
    if (worker.held) ledger.note({ is: "restored" });
    worker.held = false;
  }

  async function outage() {
    counts.outages += 1;
    cutting = true;
    ledger.note({ is: "outage" });
    const kind = await prepared.cut(random);
    if (typeof kind === "string") kinds[kind] = (kinds[kind] ?? 0) + 1;
    await sleep(random.between(times.outageMs[0] ?? 0, times.outageMs[1] ?? 0));
    await prepared.restore();
    ledger.note({ is: "restored" });
    cutting = false;
  }

  /** One stream of mishaps. @param {number} everyMs @param {() => boolean} strike  false: not now, try again soon */
  async function keep(everyMs, strike) {
    while (!quiet) {
      await sleep(random.exponential(everyMs));
      while (!quiet && !strike()) await sleep(50);
    }
  }

  return {
    counts,
    deaths,
    async begin() {
      for (let slot = 0; slot < count; slot += 1) start(slot);
      while (healthy().length < count) await sleep(20);
    },

    /** Resolves when `end` was called. */
    async torment() {
      /** Whether the next kill takes them all. @type {boolean | null} */
      let all = null;
      await Promise.all([
        keep(times.killEveryMs, () => {
          all ??= random.chance(times.blackouts);
          if (all) {
            counts.blackouts += 1;
            for (const worker of alive()) kill(worker);
            all = null;
            return true;
          }
          // Somebody else is left to carry on; the moments in which nobody is are the blackouts.
          const victims = alive().filter((one) => one.port !== null && healthy().some((other) => other !== one));
          if (victims.length === 0) return false;
          kill(random.pick(victims));
          all = null;
          return true;
        }),
        keep(times.freezeEveryMs, () => {
          const victims = healthy();
          if (victims.length < 2) return false;
          track(freeze(random.pick(victims)));
          return true;
        }),
        keep(times.outageEveryMs, () => {
          if (cutting) return false;
          track(outage());
          return true;
        }),
      ]);
    },

    /** No more mishaps; resolves when every process is up and well. */
    async calm() {
      quiet = true;
      while (under.size > 0) await Promise.all(under);
      while (healthy().length < count) await sleep(20);
    },

    /** Where a platform would send the next message: anywhere a process is thought to listen, frozen or not. */
    target(/** @type {string | null} */ not) {
      const up = alive().filter(({ port }) => port !== null);
      const others = up.filter(({ name }) => name !== not);
      const worker = others.length > 0 ? random.pick(others) : up[0];
      return worker?.port == null ? null : { process: worker.name, port: worker.port };
    },

    standing: () =>
      slots.map((worker) => (worker === null ? "-" : worker.frozen ? "~" : worker.port === null ? "." : "+")).join(""),

    /** Ends every process, whatever state it is in. */
    close() {
      closing = true;
      quiet = true;
      for (const worker of alive()) send(worker, "SIGKILL");
    },
  };
}
