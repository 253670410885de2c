// `npm run bench:windows`: how well the windows guess that the user is done, by the real protocol on virtual time, over
// recorded and drawn bursts. Writes the generated part of docs/windows.md, docs/windows.svg and results.json beside
// this file; with `--quick` it prints only. Always the same figures: nothing here depends on the machine.

import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { chart } from "./chart.mjs";
import { generated, meetup } from "./people.mjs";
import { play } from "./play.mjs";
import { dice } from "./random.mjs";
import { compare, summary } from "./stats.mjs";

/**
 * @typedef {import("./play.mjs").Policy} Policy
 * @typedef {import("./play.mjs").Tally} Tally
 * @typedef {import("./stats.mjs").Point} Point
 * @typedef {{ set: string, policy: string, quietMs: number, latencyMs: number, closed?: boolean }} Task
 */

/** Quiet targets that are tried, seconds. */
const windows = [0, 1.5, 3, 5, 8, 12];
const targets = [0.5, 3, 4.5, 6, 8, 10, 13];

/** @type {Record<string, import("./stats.mjs").Question>} */
const questions = {
  meanOfDebounce: { figure: "meanMs", reference: "debounce" },
  meanOfDiscard: { figure: "meanMs", reference: "discard" },
  meanOfEager: { figure: "meanMs", reference: "eager" },
  p95OfDiscard: { figure: "p95Ms", reference: "discard" },
  p95OfEager: { figure: "p95Ms", reference: "eager" },
  callsOfDiscard: { figure: "callsPerTurn", reference: "discard" },
};

/** @type {Record<string, { about: string, seconds: number[], of(quietMs: number): Omit<Policy, "name">, only?: string[] }>} */
const policies = {
  debounce: {
    about: "plain debounce, never discards",
    seconds: windows,
    of: (quietMs) => ({ debounce: { quietMs, startMs: quietMs }, queue: true }),
  },
  discard: {
    about: "window, then the model; newer input discards",
    seconds: windows,
    of: (quietMs) => ({ debounce: { quietMs, startMs: quietMs } }),
  },
  eager: {
    about: "startMs: eager, held until the quiet target",
    seconds: targets,
    of: (quietMs) => ({ debounce: { quietMs, startMs: "eager" } }),
  },
  default: {
    about: "startMs: 1 s (default), held",
    seconds: targets,
    of: (quietMs) => ({ debounce: { quietMs } }),
  },
  frugal: {
    about: "startMs: frugal, held",
    seconds: targets,
    of: (quietMs) => ({ debounce: { quietMs, startMs: "frugal" } }),
  },
  adaptive: {
    about: "eager, adaptive",
    seconds: targets,
    of: (quietMs) => ({ debounce: { quietMs, startMs: "eager", adaptive: true } }),
  },
  typing: {
    about: "eager, told when the user types",
    seconds: [0.5, 1.5, 2.75, 4, 6, 8],
    of: (quietMs) => ({ debounce: { quietMs, startMs: "eager" }, typing: true }),
    only: ["returning", "phones"],
  },
};

/** @param {boolean} quick */
function sizeOf(quick) {
  return quick
    ? { people: 30, turns: 20, oneOff: 60, latencies: [3_000], samples: 20, sets: ["returning"] }
    : {
        people: 60,
        turns: 40,
        oneOff: 400,
        latencies: [800, 3_000, 8_000],
        samples: 200,
        sets: ["meetup", "returning", "phones", "one-off"],
      };
}

/** The sets beside the two main ones are played with one model. @param {string} set @param {number[]} latencies */
function latenciesOf(set, latencies) {
  return set === "meetup" || set === "returning" ? latencies : [3_000];
}

/** `closed`: for the detector, whose errors are rare: more people. @param {string} name @param {boolean} quick @param {boolean} closed */
function setOf(name, quick, closed) {
  if (closed && !quick) return generated(dice(11), { people: 200, turns: 40, slower: name === "phones" ? 1.43 : 1 });
  const { people, turns, oneOff } = sizeOf(quick);
  if (name === "meetup") return meetup(dice(1));
  if (name === "one-off") return generated(dice(2), { people: oneOff, turns: 5, oneOff: true });
  return generated(dice(3), { people, turns, ...(name === "phones" ? { slower: 1.43 } : {}) });
}

/** @param {Task} task @param {boolean} quick @returns {Tally[]} */
function run({ set, policy, quietMs, latencyMs, closed = false }, quick) {
  // One bot: what it learns of its model's pace serves all its people.
  const learns = { ms: null };
  const given = policies[policy];
  if (given === undefined) throw new Error(`no policy ${policy}`);
  return setOf(set, quick, closed).people.map((person, index) =>
    play(person, { name: policy, ...given.of(quietMs) }, { latencyMs, seed: index + 1, closed, learns }),
  );
}

/** @param {Task[]} tasks @param {boolean} quick @returns {Promise<Tally[][]>} */
async function runAll(tasks, quick) {
  /** @type {Tally[][]} */
  const results = [];
  let next = 0;
  const threads = Math.min(availableParallelism(), tasks.length);
  await Promise.all(
    Array.from({ length: threads }, async () => {
      const thread = new Worker(fileURLToPath(import.meta.url), { workerData: { quick } });
      while (next < tasks.length) {
        const index = next++;
        thread.postMessage(tasks[index]);
        // Rejects when the thread fails.
        [results[index]] = await once(thread, "message");
      }
      await thread.terminate();
    }),
  );
  return results;
}

async function main() {
  const { values } = parseArgs({ options: { quick: { type: "boolean" }, help: { type: "boolean" } } });
  if (values.help) return console.log("npm run bench:windows [-- --quick]   quick: one small set, printed only");
  const quick = values.quick === true;
  const { latencies, samples, sets } = sizeOf(quick);
  const began = performance.now();
  const tasks = sets.flatMap((set) =>
    latenciesOf(set, latencies).flatMap((latencyMs) =>
      Object.entries(policies).flatMap(([policy, { seconds, only }]) =>
        only === undefined || only.includes(set)
          ? seconds.map((s) => ({ set, latencyMs, policy, quietMs: s * 1_000 }))
          : [],
      ),
    ),
  );
  const detecting = ["returning", "phones"]
    .filter((set) => sets.includes(set))
    .map((set) => ({ set, latencyMs: 3_000, policy: "eager", quietMs: 6_000, closed: true }));
  const results = await runAll([...tasks, ...detecting], quick);
  /** @param {string} set @param {number} latencyMs @param {string} policy @returns {Point[]} */
  const curve = (set, latencyMs, policy) =>
    tasks.flatMap((task, index) =>
      task.set === set && task.latencyMs === latencyMs && task.policy === policy
        ? [{ quietMs: task.quietMs, tallies: /** @type {Tally[]} */ (results[index]) }]
        : [],
    );
  /** @type {Record<string, unknown>[]} */
  const rows = [];
  /** @type {Record<string, unknown>[]} */
  const comparisons = [];
  for (const set of sets)
    for (const latencyMs of latenciesOf(set, latencies)) {
      for (const policy of Object.keys(policies))
        for (const { quietMs, tallies } of curve(set, latencyMs, policy))
          rows.push({ set, latencyMs, policy, quietMs, ...summary(tallies) });
      const curves = Object.fromEntries(Object.keys(policies).map((policy) => [policy, curve(set, latencyMs, policy)]));
      for (const compared of compare(curves, [3_000, 5_000], questions, samples))
        comparisons.push({ set, latencyMs, ...compared });
    }
  const detector = detecting.map(({ set }, index) => {
    const all = (results[tasks.length + index] ?? []).map(({ crossed }) => crossed);
    const sum = (/** @type {"true" | "found" | "right"} */ key) => all.reduce((total, each) => total + each[key], 0);
    return { set, crossed: sum("true"), precision: sum("right") / sum("found"), recall: sum("right") / sum("true") };
  });
  const text = report(sets, latencies, rows, comparisons, detector);
  console.log(text);
  console.log(`${tasks.length + detecting.length} runs in ${Math.round((performance.now() - began) / 1_000)} s`);
  if (quick) return;
  publish(text, rows, { rows, comparisons, detector });
}

const seconds = (/** @type {number} */ ms) => (ms / 1_000).toFixed(2);
const percent = (/** @type {import("./stats.mjs").Change | null} */ c) =>
  c === null ? "–" : `${signed(c.change)} % [${signed(c.low)}, ${signed(c.high)}]${c.clipped ? "\\*" : ""}`;
const signed = (/** @type {number} */ share) => `${share < 0 ? "−" : "+"}${Math.abs(share * 100).toFixed(1)}`;

/**
 * @param {string[]} sets @param {number[]} latencies
 * @param {Record<string, any>[]} rows @param {Record<string, any>[]} comparisons @param {Record<string, any>[]} detector
 */
function report(sets, latencies, rows, comparisons, detector) {
  const out = ["### At equal replies per turn", ""];
  for (const set of sets)
    for (const latencyMs of latenciesOf(set, latencies)) {
      out.push(`**${set}, model ${seconds(latencyMs)} s**`, "");
      out.push(
        "| anchor | policy | mean s | p95 s | calls per turn | wasted per reply | mean, by plain debounce | mean, by window + discard | mean, by eager | p95, by window + discard | p95, by eager | calls, by window + discard |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
      );
      for (const c of comparisons.filter((each) => each.set === set && each.latencyMs === latencyMs)) {
        const fit = c.at;
        const cells =
          fit === null
            ? ["–", "–", "–", "–"]
            : [seconds(fit.meanMs), seconds(fit.p95Ms), fit.callsPerTurn.toFixed(3), fit.wastedPerReply.toFixed(3)];
        out.push(
          `| ${c.anchorMs / 1_000} s | ${c.policy} | ${cells.join(" | ")} | ${Object.keys(questions)
            .map((name) => percent(c.changes[name]))
            .join(" | ")} |`,
        );
      }
      out.push("");
    }
  out.push("### Every quiet target", "");
  for (const set of sets)
    for (const latencyMs of latenciesOf(set, latencies)) {
      out.push(`**${set}, model ${seconds(latencyMs)} s**`, "");
      out.push(
        "| policy | target s | replies per turn | turns interrupted | calls per turn | wasted per reply | mean s | p50 s | p95 s |",
        "|---|---|---|---|---|---|---|---|---|",
      );
      for (const row of rows.filter((each) => each.set === set && each.latencyMs === latencyMs))
        out.push(
          `| ${row.policy} | ${row.quietMs / 1_000} | ${row.repliesPerTurn.toFixed(3)} | ${(row.interrupted * 100).toFixed(1)} % | ${row.callsPerTurn.toFixed(3)} | ${row.wastedPerReply.toFixed(3)} | ${seconds(row.meanMs)} | ${seconds(row.p50Ms)} | ${seconds(row.p95Ms)} |`,
        );
      out.push("");
    }
  out.push("### Crossed replies, found by time and length alone", "");
  out.push("| set | replies crossed | precision | recall |", "|---|---|---|---|");
  for (const d of detector)
    out.push(`| ${d.set} | ${d.crossed} | ${d.precision.toFixed(2)} | ${d.recall.toFixed(2)} |`);
  return `${out.join("\n")}\n`;
}

/** @param {string} text @param {Record<string, any>[]} rows @param {object} json */
function publish(text, rows, json) {
  const page = fileURLToPath(new URL("../../../docs/windows.md", import.meta.url));
  const [begin, end] = ["<!-- windows: generated by npm run bench:windows -->", "<!-- /windows -->"];
  const old = readFileSync(page, "utf8");
  const [before, rest] = old.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`docs/windows.md lacks ${begin} … ${end}`);
  writeFileSync(page, `${before}${begin}\n\n${text}\n${end}${after}`);
  const panels = ["meetup", "returning"].map((set) => ({
    title: `${set}, model 3 s`,
    series: Object.entries(policies).flatMap(([policy, { about }]) => {
      const points = rows.filter((row) => row.set === set && row.latencyMs === 3_000 && row.policy === policy);
      return points.length === 0
        ? []
        : [
            {
              name: `${policy}: ${about}`,
              points: points.map((row) => ({ x: row.repliesPerTurn, y: row.meanMs / 1_000 })),
            },
          ];
    }),
  }));
  writeFileSync(
    fileURLToPath(new URL("../../../docs/windows.svg", import.meta.url)),
    chart(panels, { x: "replies per turn", y: "mean delay, s" }),
  );
  writeFileSync(fileURLToPath(new URL("results.json", import.meta.url)), `${JSON.stringify(json)}\n`);
}

if (isMainThread) await main();
else parentPort?.on("message", (task) => parentPort?.postMessage(run(task, workerData.quick)));
