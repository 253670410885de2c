// The same bot on the Chat SDK's own strategies and on lull: two processes, one Redis, a model of 2 s.
//   npm run compare:chat-sdk [-- --tries 1000] [--modes queue,burst,debounce,lull] [--rows "run's end,frozen"] [--write]
// Exit code 1 unless lull gives one reply a burst, none of it out of date or early, and loses nothing. It wants a machine
// that does nothing else, and takes eight minutes. `--write` keeps the table in result.md, row by row, and, when all of it
// is there and lull was right, in docs/chat-sdk.md.
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { redisMissing } from "../servers/redis.mjs";
import { startFleet } from "./fleet.mjs";
import { debounceMs } from "./settings.mjs";

const { values } = parseArgs({
  options: {
    tries: { type: "string", default: "1000" },
    modes: { type: "string", default: "queue,burst,debounce,lull" },
    rows: { type: "string", default: "" },
    write: { type: "boolean", default: false },
  },
});
const tries = Number(values.tries);
const missing = redisMissing();
if (missing !== null) {
  console.error(`compare: ${missing}`);
  process.exit(2);
}
const beganMs = performance.now();
const lateness = monitorEventLoopDelay({ resolution: 10 });
lateness.enable();

const modelMs = 2_000;
/** When the model is thinking: `queue` runs at once, lull's runs begin before the debounce is over, the others' after it. */
const thinking = (/** @type {string} */ mode) => (mode === "queue" ? 1_000 : debounceMs + 700);
/** A process that is gone or frozen is waited for so long. The library's lock lasts 30 s. */
const patienceMs = 45_000;
/** Where everybody lives, an answer that is not there by then never comes. */
const promptMs = 15_000;
/** @typedef {Awaited<ReturnType<typeof startFleet>>} Fleet */
/** @typedef {import("./fleet.mjs").Verdict} Verdict */
/** @typedef {Verdict & { bursts: number }} Result as many replies as bursts are right */

/** @type {Record<string, { bursts: number, run(fleet: Fleet, mode: string): Promise<Verdict> }>} */
const gentle = {
  "three messages in 0.6 s": {
    bursts: 1,
    async run(fleet) {
      for (const [at, text] of ["m1", "m2", "m3"].entries()) {
        void fleet.says("burst", text, at % 2);
        await sleep(300);
      }
      await sleep(12_000);
      return fleet.judge("burst");
    },
  },
  "a message while the model thinks": {
    bursts: 1,
    async run(fleet, mode) {
      await fleet.says("busy", "m1", 0);
      await sleep(thinking(mode));
      await fleet.says("busy", "m2", 1);
      await sleep(14_000);
      return fleet.judge("busy");
    },
  },
  "fifteen messages in 1 s": {
    bursts: 1,
    async run(fleet) {
      for (let at = 1; at <= 15; at++) {
        void fleet.says("many", `m${at}`, at % 2);
        await sleep(66);
      }
      await sleep(14_000);
      return fleet.judge("many");
    },
  },
  "four messages in three topics of a chat": {
    bursts: 3,
    async run(fleet) {
      for (const [at, topic] of ["a", "b", "c", "a"].entries()) {
        void fleet.says(`forum/${topic}`, `m${at}`, at % 2);
        await sleep(200);
      }
      await sleep(16_000);
      return fleet.judge("forum/a", "forum/b", "forum/c");
    },
  },
  "the handler throws once": {
    bursts: 1,
    async run(fleet) {
      await fleet.says("thrown", "throw", 0);
      await fleet.says("thrown", "m2", 1);
      await sleep(16_000);
      return fleet.judge("thrown");
    },
  },
};

/** The process that thinks about a message stands still for longer than the lock lasts; another message comes. @param {Fleet} fleet */
async function freeze(fleet) {
  await fleet.says("frozen", "m1", 0);
  await sleep(debounceMs + 500);
  fleet.processes[0]?.kill("SIGSTOP");
  await sleep(2_000);
  await fleet.says("frozen", "m2", 1);
  await sleep(34_000);
}

/** Threads on a process that is treated badly. */
const five = [1, 2, 3, 4, 5];
/** @type {typeof gentle} */
const rough = {
  "kill -9 in the window": {
    bursts: 5,
    async run(fleet) {
      const threads = five.map((n) => `window ${n}`);
      await Promise.all(threads.map((thread) => fleet.says(thread, "m1", 0)));
      await Promise.all(threads.map((thread) => fleet.says(thread, "m2", 1)));
      await sleep(300);
      fleet.processes[0]?.kill("SIGKILL");
      await sleep(patienceMs);
      return fleet.judge(...threads);
    },
  },
  "kill -9 while the model thinks": {
    bursts: 5,
    async run(fleet, mode) {
      const threads = five.map((n) => `handler ${n}`);
      await Promise.all(threads.map((thread) => fleet.says(thread, "m1", 0)));
      await sleep(thinking(mode));
      fleet.processes[0]?.kill("SIGKILL");
      await sleep(patienceMs);
      return fleet.judge(...threads);
    },
  },
  "frozen past the lock, then awake": {
    bursts: 1,
    async run(fleet) {
      await freeze(fleet);
      fleet.processes[0]?.kill("SIGCONT");
      await sleep(promptMs);
      return fleet.judge("frozen");
    },
  },
  // The lock is over, so the other process works by then as well; and what was asked before is long answered, or not.
  "frozen past the lock, a question after that, then awake": {
    bursts: 2,
    async run(fleet) {
      await freeze(fleet);
      await fleet.says("frozen", "m3", 1);
      await sleep(2_500);
      fleet.processes[0]?.kill("SIGCONT");
      await sleep(promptMs);
      return fleet.judge("frozen");
    },
  },
  "Redis down, the platform posts again": {
    bursts: 1,
    async run(fleet) {
      await fleet.says("warm", "m0", 0);
      await sleep(5_000);
      await fleet.server.stop();
      const said = fleet.says("down", "m1", 0);
      await sleep(4_000);
      await fleet.server.start();
      await said;
      await sleep(20_000);
      return fleet.judge("down");
    },
  },
};

const beforeName = `a message at the very end of a run, ${tries} tries`;
const afterName = "a message just after it, two bursts a try";

/**
 * A second message about the moment a run's answer is decided, again and again. What came before that moment belongs to
 * the answer, what came after it wants one of its own: two rows. The aim is corrected by what happened.
 * @param {Fleet} fleet @param {string} mode @returns {Promise<Record<string, Result>>}
 */
async function atTheEnd(fleet, mode) {
  // `queue` runs at once; lull's run is over when its answer may go out.
  let aimMs = { queue: 100, lull: debounceMs }[mode] ?? debounceMs + 100;
  const [leastMs, mostMs] = [aimMs - 100, aimMs + 500];
  const [spreadMs, seenMs] = [25, 700];
  /** @type {string[]} */
  const names = [];
  let before = 0;
  async function attempt() {
    const name = `end ${names.length}`;
    const offsetMs = (names.push(name) % (2 * spreadMs + 1)) - spreadMs;
    void fleet.says(name, "quick1", 0);
    await sleep(aimMs + offsetMs);
    void fleet.says(name, "quick2", 1).then(async () => {
      await sleep(seenMs);
      const crossed = fleet.judge(name).crossed > 0;
      if (!crossed) before += 1;
      aimMs = Math.min(mostMs, Math.max(leastMs, aimMs + (crossed ? -1 : 0.5)));
    });
  }
  async function lane() {
    while (before < tries && names.length < 5 * tries) await attempt();
  }
  const progress = setInterval(() => console.error(`${mode}: ${before} of ${tries} tries at a run's end`), 10_000);
  await Promise.all(Array.from({ length: 20 }, lane));
  clearInterval(progress);
  await fleet.told();
  for (let waited = 0; waited < promptMs && fleet.judge(...names).lost > 0; waited += 500) await sleep(500);
  // Nor may anything more come.
  await sleep(3_000);
  const ended = names.filter((name) => fleet.judge(name).crossed === 0);
  const after = names.filter((name) => fleet.judge(name).crossed > 0);
  return {
    [beforeName]: { ...fleet.judge(...ended.slice(0, tries)), bursts: Math.min(tries, ended.length) },
    [afterName]: { ...fleet.judge(...after), bursts: 2 * after.length },
  };
}

/** @type {Map<string, Map<string, Result>>} */
const results = new Map();
const wantedRows = values.rows.split(",").filter((text) => text !== "");
const wanted = (/** @type {string} */ name) =>
  wantedRows.length === 0 || wantedRows.some((text) => name.includes(text));
const wantsEnd = wanted(beforeName) || wanted(afterName);
const rows = [...Object.keys(gentle), ...(wantsEnd ? [beforeName, afterName] : []), ...Object.keys(rough)].filter(
  (name) => wanted(name) || name === beforeName || name === afterName,
);

/** @param {string} mode */
async function measure(mode) {
  /** @type {Map<string, Result>} */
  const mine = new Map();
  results.set(mode, mine);
  const told = (/** @type {string} */ name, /** @type {Result} */ result) => {
    mine.set(name, result);
    console.error(
      `${Math.round((performance.now() - beganMs) / 1_000)} s: ${mode}: ${name}: ${JSON.stringify(result)}`,
    );
    save(false);
  };
  const run = async (/** @type {Fleet} */ fleet, /** @type {string} */ name) => {
    const row = gentle[name] ?? rough[name];
    if (row !== undefined && wanted(name)) told(name, { ...(await row.run(fleet, mode)), bursts: row.bursts });
  };
  const shared = await startFleet(mode, { modelMs });
  try {
    await Promise.all(Object.keys(gentle).map((name) => run(shared, name)));
    if (wantsEnd) for (const [name, result] of Object.entries(await atTheEnd(shared, mode))) told(name, result);
  } finally {
    await shared.close();
  }
  for (const name of Object.keys(rough).filter(wanted)) {
    const own = await startFleet(mode, { modelMs });
    try {
      await run(own, name);
    } finally {
      await own.close();
    }
  }
}

const modes = values.modes.split(",");

function table() {
  const cell = (/** @type {string} */ mode, /** @type {string} */ name) => {
    const result = results.get(mode)?.get(name);
    if (result === undefined) return "";
    const { replies, stale, lost, bursts } = result;
    return `${name === afterName ? `${replies} of ${bursts}` : replies} · ${stale} · ${lost}`;
  };
  const bursts = (/** @type {string} */ name) =>
    name === afterName ? "" : name === beforeName ? tries : (gentle[name] ?? rough[name])?.bursts;
  return [
    `| replies · stale · never answered | bursts | ${modes.join(" | ")} |`,
    `| --- | --- | ${modes.map(() => "---").join(" | ")} |`,
    ...rows.map((name) => `| ${name} | ${bursts(name)} | ${modes.map((mode) => cell(mode, name)).join(" | ")} |`),
  ].join("\n");
}

/** What is not one reply a burst, in time, up to date, with nothing lost. */
function wrongs() {
  const wrong = [...(results.get("lull") ?? [])].filter(
    ([, { replies, stale, lost, early, bursts }]) => replies !== bursts || stale > 0 || lost > 0 || early > 0,
  );
  const short = (results.get("lull")?.get(beforeName)?.bursts ?? tries) < tries;
  return [
    ...wrong.map(([name, result]) => `lull: ${name}: ${JSON.stringify(result)} is not one reply a burst`),
    ...(short ? ["lull: too few of the tries came at a run's end"] : []),
  ];
}

/** @param {boolean} done */
function save(done) {
  if (!values.write) return;
  const machine = `Node ${process.versions.node}, ${availableParallelism()} cores, timers at most ${Math.ceil(lateness.max / 1e6)} ms late.`;
  const text = `${table()}\n\n${machine}`;
  const state = done ? "" : " (unfinished)";
  const write = (/** @type {string} */ path, /** @type {string} */ content) =>
    writeFileSync(fileURLToPath(new URL(path, import.meta.url)), content);
  write("result.md", `<!-- npm run compare:chat-sdk -- --write${state} -->\n\n${text}\n`);
  const whole = wantedRows.length === 0 && modes.includes("lull") && tries >= 1_000;
  if (!done || !whole || wrongs().length > 0) return;
  const page = "../../docs/chat-sdk.md";
  const marks = /(<!-- Generated: npm run compare:chat-sdk -- --write -->\n)[\s\S]*?(\n## What was wrong)/;
  const before = readFileSync(fileURLToPath(new URL(page, import.meta.url)), "utf8");
  if (!marks.test(before)) throw new Error("docs/chat-sdk.md has lost the mark in front of its table.");
  write(
    page,
    before.replace(marks, (_all, mark, after) => `${mark}\n${text}\n${after}`),
  );
}

// Side by side: they mostly sleep.
await Promise.all(modes.map(measure));
save(true);
console.log(table());
console.error(`The machine's timers were at most ${Math.ceil(lateness.max / 1e6)} ms late.`);
for (const line of wrongs()) console.error(line);
process.exitCode = wrongs().length > 0 ? 1 : 0;
