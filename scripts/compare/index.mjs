// The same bot on the Chat SDK's own strategies and on lull: two processes, one Redis, a model of 2 s.
//   npm run compare:chat-sdk [-- --tries 1000] [--modes queue,burst,debounce,lull] [--write]
// Exit code 1 unless lull gives one reply a burst, none of it out of date, and loses nothing.
import { writeFileSync } from "node:fs";
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
    write: { type: "boolean", default: false },
  },
});
const tries = Number(values.tries);
const missing = redisMissing();
if (missing !== null) {
  console.error(`compare: ${missing}`);
  process.exit(2);
}

const modelMs = 2_000;
/** When the model is thinking: `queue` runs at once, lull's runs begin before the debounce is over, the others' after it. */
const thinking = (/** @type {string} */ mode) => (mode === "queue" ? 1_000 : debounceMs + 700);
/** A process that is gone or frozen is waited for so long. The library's lock lasts 30 s. */
const patienceMs = 45_000;
/** @typedef {Awaited<ReturnType<typeof startFleet>>} Fleet */
/** @typedef {{ replies: number, stale: number, lost: number, late: number }} Verdict */

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
      await fleet.says("frozen", "m1", 0);
      await sleep(debounceMs + 500);
      fleet.processes[0]?.kill("SIGSTOP");
      await sleep(2_000);
      await fleet.says("frozen", "m2", 1);
      await sleep(34_000);
      await fleet.says("frozen", "m3", 1);
      await sleep(2_500);
      fleet.processes[0]?.kill("SIGCONT");
      await sleep(14_000);
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

/** A second message about the end of a run, again and again. @param {Fleet} fleet @param {string} mode @returns {Promise<Verdict>} */
async function atTheEnd(fleet, mode) {
  // `queue` runs at once; lull's run is over when its answer may go out.
  const endMs = { queue: 100, lull: debounceMs }[mode] ?? debounceMs + 100;
  const sum = { replies: 0, stale: 0, lost: 0, late: 0 };
  const lane = async (/** @type {number} */ from) => {
    for (let nth = from; nth < tries; nth += 20) {
      const thread = `end ${nth}`;
      void fleet.says(thread, "quick1", 0);
      await sleep(endMs + (nth % 51) - 25);
      void fleet.says(thread, "quick2", 1);
    }
  };
  await Promise.all(Array.from({ length: 20 }, (_, from) => lane(from)));
  // "Never" takes a while: as long as elsewhere, unless everybody has got an answer.
  const names = Array.from({ length: tries }, (_, nth) => `end ${nth}`);
  for (let waited = 0; waited < patienceMs && (waited < 10_000 || fleet.judge(...names).lost > 0); waited += 1_000)
    await sleep(1_000);
  for (let nth = 0; nth < tries; nth++) {
    const { replies, stale, lost, late } = fleet.judge(`end ${nth}`);
    sum.replies += replies;
    sum.stale += stale;
    sum.lost += lost;
    sum.late += late;
  }
  return sum;
}

/** @param {string} mode */
async function measure(mode) {
  /** @type {Map<string, Verdict>} */
  const verdicts = new Map();
  const told = (/** @type {string} */ name, /** @type {Verdict} */ verdict) => {
    verdicts.set(name, verdict);
    console.error(`${mode}: ${name}: ${JSON.stringify(verdict)}`);
  };
  const shared = await startFleet(mode, { modelMs });
  try {
    await Promise.all(Object.entries(gentle).map(async ([name, { run }]) => told(name, await run(shared, mode))));
    told(endName, await atTheEnd(shared, mode));
  } finally {
    await shared.close();
  }
  for (const [name, { run }] of Object.entries(rough)) {
    const own = await startFleet(mode, { modelMs });
    try {
      told(name, await run(own, mode));
    } finally {
      await own.close();
    }
  }
  return verdicts;
}

const endName = `a message within 25 ms of a run's end, ${tries} times`;
const bursts = new Map([
  ...Object.entries(gentle).map(([name, { bursts: count }]) => /** @type {const} */ ([name, count])),
  [endName, tries],
  ...Object.entries(rough).map(([name, { bursts: count }]) => /** @type {const} */ ([name, count])),
]);
const modes = values.modes.split(",");
// Side by side: they mostly sleep.
const results = new Map(
  await Promise.all(modes.map(async (mode) => /** @type {const} */ ([mode, await measure(mode)]))),
);

const cell = (/** @type {Verdict | undefined} */ verdict) =>
  verdict === undefined ? "" : `${verdict.replies} · ${verdict.stale} · ${verdict.lost}`;
const table = [
  `| replies · stale · never answered | bursts | ${modes.join(" | ")} |`,
  `| --- | --- | ${modes.map(() => "---").join(" | ")} |`,
  ...[...bursts].map(
    ([name, count]) =>
      `| ${name} | ${count} | ${modes.map((mode) => cell(results.get(mode)?.get(name))).join(" | ")} |`,
  ),
].join("\n");
console.log(table);
if (values.write)
  writeFileSync(
    fileURLToPath(new URL("result.md", import.meta.url)),
    `<!-- npm run compare:chat-sdk -- --write -->\n\n${table}\n`,
  );

const wrong = [...(results.get("lull") ?? [])].filter(
  ([name, { replies, stale, lost, late }]) => stale > 0 || lost > 0 || replies - late > (bursts.get(name) ?? 0),
);
for (const [name, verdict] of wrong)
  console.error(`lull: ${name}: ${JSON.stringify(verdict)} is not one reply a burst`);
process.exitCode = wrong.length > 0 ? 1 : 0;
