// `npm run explore`: the real protocol and the real worker in every order of everything that can happen to them. Each
// configuration is explored breadth first until it has been seen whole or its share of the time is over.
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { catalogue, configOf, explore, plain } from "lull/testing";

const usage = `npm run explore -- [--seconds N] [--config NAME,…] [--inputs N] [--workers N] [--faults N] [--limit N] [--threads N] [--json]

Each configuration is seen twice: small (2 inputs, 1 fault), which mostly can be seen whole, and then as it is.

  --seconds N   how long, all together (default 600); what finishes early leaves its time to the others
  --config      only these; --list says which there are
  --inputs N    once only, with so many inputs,
  --workers N   workers,
  --faults N    and faults
  --limit N     at most so many states of each
  --threads N   default: one for each processor
  --json        the result as JSON on standard output
  --list        what there is to explore`;

/** @typedef {import("lull/testing").Config} Config */
/** @typedef {import("lull/testing").Explored} Explored */
/** @typedef {Partial<Pick<Config, "inputs" | "workers" | "faults" | "operations">>} Changes */
/** @typedef {{ name: string, config: string, changes: Changes, small: boolean }} Plan */
/** @typedef {Plan & { seconds: number, limit: number }} Task */
/** @typedef {{ states: number, depth: number, waiting: number }} Progress */

if (isMainThread) await main();
else parentPort?.on("message", work);

async function main() {
  const { values } = parse();
  if (values.list) {
    for (const { name, about } of catalogue) console.log(`${name.padEnd(18)}${about}`);
    return;
  }
  const seconds = whole("--seconds", values.seconds ?? "600");
  const limit = values.limit === undefined ? Number.MAX_SAFE_INTEGER : whole("--limit", values.limit);
  const names = values.config?.split(",") ?? catalogue.map(({ name }) => name);
  for (const name of names) if (configOf(name) === undefined) fail(`There is no configuration ${name}; see --list.`);
  /** @type {Changes} */
  const changes = {};
  for (const key of /** @type {const} */ (["inputs", "workers", "faults"]))
    if (values[key] !== undefined) changes[key] = whole(`--${key}`, values[key]);
  const threads = Math.min(names.length, whole("--threads", values.threads ?? String(availableParallelism())));
  const startedAt = performance.now();
  const elapsed = () => (performance.now() - startedAt) / 1_000;

  /** @type {Plan[]} */
  const full = names.map((name) => ({ name, config: name, changes, small: false }));
  const small = Object.keys(changes).length > 0 ? [] : names.map(smaller);

  /** @type {(Explored & { small: boolean })[]} */
  const done = [];
  /** @type {Map<string, Progress>} */
  const under = new Map();
  const queue = [...small, ...full];
  const plans = queue.length;
  const bar = setInterval(() => {
    const states = sum(done, ({ states }) => states) + sum([...under.values()], ({ states }) => states);
    const now = [...under].map(([name, { depth, waiting }]) => `${name} depth ${depth}, ${waiting} waiting`).join("; ");
    const rate = Math.round(states / elapsed());
    const line = `${states} states, ${rate}/s, ${done.length}/${plans} explorations; ${now}`;
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line.slice(0, (process.stderr.columns ?? 120) - 1)}`);
    else if (Math.round(elapsed()) % 30 === 0) process.stderr.write(`${line}\n`);
  }, 1_000);

  await Promise.all(
    Array.from({ length: threads }, async () => {
      const thread = new Worker(new URL(import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: 6_000 } });
      for (let plan = queue.shift(); plan !== undefined; plan = queue.shift()) {
        // Those still to come share what is left of the time.
        const share = ((seconds - elapsed()) * threads) / (queue.length + under.size + 1);
        const { name } = plan;
        under.set(name, { states: 0, depth: 0, waiting: 0 });
        const task = { ...plan, seconds: share, limit };
        const explored = { ...(await ask(thread, task, (told) => under.set(name, told))), small: plan.small };
        under.delete(name);
        done.push(explored);
        if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
        if (!values.json) tell(explored);
      }
      await thread.terminate();
    }),
  );
  clearInterval(bar);
  const found = sum(done, (explored) => explored.found.length);
  if (values.json) console.log(JSON.stringify({ seconds: elapsed(), explored: done }, null, 2));
  else {
    console.log();
    for (const kind of [true, false]) {
      const those = done.filter((explored) => explored.small === kind);
      if (those.length === 0) continue;
      const states = sum(those, (explored) => explored.states);
      const transitions = sum(those, (explored) => explored.transitions);
      const seen = `${those.filter(({ complete }) => complete).length} of ${those.length} seen whole`;
      console.log(`${kind ? "small" : "full "}  ${states} distinct states, ${transitions} transitions; ${seen}`);
    }
    const rate = Math.round(sum(done, (explored) => explored.states) / elapsed());
    console.log(`${found} violations in ${elapsed().toFixed(0)} s (${rate} states/s)`);
  }
  process.exitCode = found > 0 ? 1 : 0;
}

/**
 * @param {string} name
 * @returns {Plan}
 */
function smaller(name) {
  const { inputs, faults, operations } = configOf(name) ?? plain;
  const changes = { inputs: Math.min(2, inputs), faults: Math.min(1, faults), operations: Math.min(1, operations) };
  return { name: `${name} (small)`, config: name, changes, small: true };
}

/** @param {Explored} explored */
function tell({ config, states, transitions, depth, complete, rests, found }) {
  const seen = complete ? "whole" : `to depth ${depth}`;
  const numbers = `${String(states).padStart(9)} states ${String(transitions).padStart(9)} transitions`;
  console.log(`${config.padEnd(24)}${numbers}  ${String(rests).padStart(5)} at rest  ${seen}`);
  for (const { invariant, message, trace } of found) {
    console.log(`  ✗ ${message}${message.startsWith(invariant) ? "" : ` (${invariant})`}`);
    for (const line of trace) console.log(`    ${line}`);
  }
}

/**
 * @param {Worker} thread
 * @param {Task} task
 * @param {(told: Progress) => void} progress
 * @returns {Promise<Explored>}
 */
function ask(thread, task, progress) {
  return new Promise((resolve, reject) => {
    /** @param {Explored | Progress} message */
    const listen = (message) => {
      if (!("config" in message)) return progress(message);
      thread.off("message", listen);
      resolve(message);
    };
    thread.on("message", listen);
    thread.once("error", reject);
    thread.postMessage(task);
  });
}

/** @param {Task} task */
function work({ config: name, name: title, changes, seconds, limit }) {
  const config = configOf(name);
  if (config === undefined) throw new Error(`no configuration ${name}`);
  const until = performance.now() + seconds * 1_000;
  let told = 0;
  const explored = explore(
    { ...config, ...changes },
    {
      limit,
      stop: () => performance.now() > until,
      progress(states, depth, waiting) {
        if (performance.now() < told + 500) return;
        told = performance.now();
        parentPort?.postMessage({ states, depth, waiting });
      },
    },
  );
  parentPort?.postMessage({ ...explored, config: title });
}

/**
 * @template T
 * @param {readonly T[]} items
 * @param {(item: T) => number} of
 */
function sum(items, of) {
  return items.reduce((total, item) => total + of(item), 0);
}

/** @param {string} flag @param {string} text */
function whole(flag, text) {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) fail(`${flag} needs a whole number.`);
  return number;
}

function parse() {
  const text = /** @type {const} */ ({ type: "string" });
  const flag = /** @type {const} */ ({ type: "boolean" });
  const numbers = { seconds: text, inputs: text, workers: text, faults: text, limit: text, threads: text };
  try {
    return parseArgs({ options: { ...numbers, config: text, json: flag, list: flag } });
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error));
  }
}

/** @param {string} why @returns {never} */
function fail(why) {
  console.error(`${why}\n\n${usage}`);
  process.exit(2);
}
