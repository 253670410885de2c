// `npm run simulate -- --seed 1 --seeds 1000 --store memory`: many seeds, one summary; the first one that fails is made
// small and told step by step. `--trace` prints the trace of a single seed.
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { report, shrinkFailure, simulate } from "lull/testing";

const usage = `npm run simulate -- [--seed N] [--seeds N] [--store memory|sqlite] [--workers N] [--trace]

  --seed N      the first seed (default 1)
  --seeds N     how many (default 1000)
  --store NAME  memory (default) or sqlite: the trace of a seed is the same on both
  --workers N   threads (default: one for each processor)
  --trace       print what was planned and what happened, for each seed`;

/** @typedef {import("lull/testing").MakeStore} MakeStore */
/** @typedef {import("lull/testing").Figures} Figures */
/** @typedef {{ seed: number, hash: string, figures: Figures, broken: string[] }} Told */

if (isMainThread) await main();
else await work();

async function main() {
  const { values } = parse();
  const first = whole("--seed", values.seed ?? "1", 0);
  const count = whole("--seeds", values.seeds ?? (values.seed === undefined || !values.trace ? "1000" : "1"), 1);
  const kind = values.store ?? "memory";
  if (kind !== "memory" && kind !== "sqlite") fail(`--store is memory or sqlite, not ${kind}.`);
  const threads = Math.min(count, whole("--workers", values.workers ?? String(availableParallelism()), 1));
  const startedAt = performance.now();

  if (values.trace) {
    const store = await makeStore(kind);
    let broken = 0;
    for (let seed = first; seed < first + count; seed += 1) {
      const simulated = await simulate(seed, { ...store, lines: true });
      for (const line of report(simulated)) console.log(line);
      broken += simulated.violations.length;
    }
    process.exitCode = broken > 0 ? 1 : 0;
    return;
  }

  /** @type {Told[]} */
  const failed = [];
  const sum = { done: 0, transitions: 0, storeCalls: 0, runs: 0, discards: 0, replies: 0, parts: 0, virtualMs: 0 };
  /** @type {Record<string, number>} */
  const faults = {};
  const seconds = () => (performance.now() - startedAt) / 1_000;
  const bar = progress(count);

  /** @param {Told} told */
  const take = (told) => {
    sum.done += 1;
    for (const name of /** @type {const} */ ([
      "transitions",
      "storeCalls",
      "runs",
      "discards",
      "replies",
      "parts",
      "virtualMs",
    ]))
      sum[name] += told.figures[name];
    for (const [name, times] of Object.entries(told.figures.faults)) faults[name] = (faults[name] ?? 0) + times;
    if (told.broken.length > 0) {
      failed.push(told);
      console.log(`\nseed ${told.seed}: ${told.broken[0]}`);
    }
    bar.show(
      sum.done,
      `${figure(sum.transitions / seconds())} transitions/s${failed.length > 0 ? `, ${failed.length} FAILED` : ""}`,
    );
  };

  let next = first;
  await Promise.all(
    Array.from({ length: threads }, () => {
      const worker = new Worker(new URL(import.meta.url), { workerData: { kind } });
      return new Promise((resolve, reject) => {
        const hand = () => {
          const seeds = [];
          while (seeds.length < 10 && next < first + count) seeds.push(next++);
          worker.postMessage(seeds);
          if (seeds.length === 0) resolve(worker.terminate());
        };
        worker.on("message", (/** @type {Told | "more"} */ told) => (told === "more" ? hand() : take(told)));
        worker.on("error", reject);
        hand();
      });
    }),
  );
  bar.end();

  const took = seconds();
  console.log(`${figure(count)} seeds from ${first} on ${kind}: ${figure(took)} s, ${threads} threads`);
  console.log(
    `  ${figure(sum.transitions)} transitions (${figure(sum.transitions / took)}/s), ${figure(sum.storeCalls)} calls of the store, ${figure(sum.virtualMs / 3_600_000)} h of virtual time`,
  );
  console.log(
    `  ${figure(sum.runs)} runs of the model, ${figure(sum.discards)} of them discarded; ${figure(sum.replies)} replies, ${figure(sum.parts)} parts shown`,
  );
  const kinds = Object.entries(faults).sort((a, b) => b[1] - a[1]);
  console.log(
    `  ${figure(kinds.reduce((total, [, times]) => total + times, 0))} faults: ${kinds.map(([name, times]) => `${name} ${figure(times)}`).join(", ")}`,
  );
  if (failed.length === 0) {
    console.log("  0 promises broken");
    return;
  }

  process.exitCode = 1;
  failed.sort((a, b) => a.seed - b.seed);
  console.log(`\n${failed.length} seeds FAILED:`);
  for (const { seed, broken } of failed.slice(0, 20)) console.log(`  seed ${seed}: ${broken[0]}`);
  const { seed } = /** @type {Told} */ (failed[0]);
  console.log(`\nMaking seed ${seed} small …\n`);
  const store = await makeStore(kind);
  const smallest = await shrinkFailure(await simulate(seed, store), store);
  for (const line of report(smallest)) console.log(line);
  console.log(`\nAgain: npm run simulate -- --seed ${seed} --seeds 1 --store ${kind}`);
}

async function work() {
  const store = await makeStore(workerData.kind);
  const port = /** @type {import("node:worker_threads").MessagePort} */ (parentPort);
  port.on("message", async (/** @type {number[]} */ seeds) => {
    for (const seed of seeds) {
      const { violations, figures, hash } = await simulate(seed, store).catch((error) => {
        throw new Error(`seed ${seed}: ${error.stack}`);
      });
      const broken = violations.map(({ rule, what }) => `${rule} ${what}`);
      port.postMessage({ seed, hash, figures, broken });
    }
    port.postMessage("more");
  });
}

/**
 * @param {"memory" | "sqlite"} kind
 * @returns {Promise<{ store?: MakeStore, restart?: import("lull/testing").RestartStore }>}
 */
async function makeStore(kind) {
  if (kind === "memory") return {};
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const builtIn = major > 22 || (major === 22 && minor >= 13);
  const { DatabaseSync } = await import(builtIn ? "node:sqlite" : "@photostructure/sqlite");
  const { sqlite } = await import("lull/sqlite");
  /** @type {import("lull/sqlite").SqliteLike} */
  let database;
  return {
    store({ now, clock }) {
      database = new DatabaseSync(":memory:");
      return sqlite(database, { now, clock, closeDatabase: true });
    },
    async restart(_store, { now, clock }) {
      return sqlite(database, { now, clock, closeDatabase: true });
    },
  };
}

/** @param {number} total */
function progress(total) {
  const { stdout } = process;
  let shownAt = 0;
  return {
    /** @param {number} done @param {string} more */
    show(done, more) {
      const now = performance.now();
      // Into a file or a pipe: a line now and then.
      if (now - shownAt < (stdout.isTTY ? 100 : 10_000) && done < total) return;
      shownAt = now;
      const full = Math.round((24 * done) / total);
      const line = `${"█".repeat(full)}${"░".repeat(24 - full)} ${figure(done)}/${figure(total)} seeds, ${more}`;
      stdout.write(stdout.isTTY ? `\r\x1b[K${line}` : `${line}\n`);
    },
    end() {
      if (stdout.isTTY) stdout.write("\r\x1b[K");
    },
  };
}

/** @param {number} value */
function figure(value) {
  return value.toLocaleString("en", { maximumFractionDigits: value < 100 ? 1 : 0 });
}

function parse() {
  try {
    return parseArgs({
      options: {
        seed: { type: "string" },
        seeds: { type: "string" },
        store: { type: "string" },
        workers: { type: "string" },
        trace: { type: "boolean" },
      },
    });
  } catch (error) {
    fail(/** @type {Error} */ (error).message);
  }
}

/**
 * @param {string} name
 * @param {string} text
 * @param {number} least
 */
function whole(name, text, least) {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least) fail(`${name} is a whole number from ${least}, not ${text}.`);
  return value;
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  console.error(`${message}\n\n${usage}`);
  process.exit(2);
}
