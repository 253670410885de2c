// `npm run torture -- --store sqlite --minutes 5 --seed 1`: real processes, real signals, a real store. Exit code 1
// when the checker finds a violation. README.md in this folder says what is done and how it is judged.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { check, secondLook, summary } from "./checker.mjs";
import { doubles } from "./doubles.mjs";
import { ledger as newLedger } from "./ledger.mjs";
import { dice, sleep } from "./random.mjs";
import { stores } from "./stores/index.mjs";
import { supervisor } from "./supervisor.mjs";
import { ask, typists } from "./typists.mjs";

const leaseMs = 2_000;
const debounce = { quietMs: 600, startMs: 150, maxWaitMs: 6_000 };
const modelMs = 200;
const turnTimeoutMs = 3_000;
const maxFailures = 10;
/** What is still unanswered so long after the last mishap never will be. */
const patienceMs = 45_000;
/** Recovery promised: a lease, and this much to find out and begin. */
const graceMs = 2_000;

const usage = `npm run torture -- [--store NAME] [--minutes N] [--seed N] [--workers N] [--typists N] [--dist FOLDER] [--keep]

  --store NAME   ${Object.keys(stores).join(", ")} (default sqlite)
  --minutes N    how long people type and processes die (default 5); then everything has to come to rest
  --seed N       the schedule and the typists (default: a new one)
  --workers N    processes (default 3)
  --typists N    people (default 40)
  --dist FOLDER  another build of the library
  --keep         keep the store's folder`;

const { values } = parse({
  options: {
    help: { type: "boolean", default: false },
    store: { type: "string", default: "sqlite" },
    minutes: { type: "string", default: "5" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    workers: { type: "string", default: "3" },
    typists: { type: "string", default: "40" },
    dist: { type: "string", default: fileURLToPath(new URL("../packages/lull/dist", import.meta.url)) },
    keep: { type: "boolean", default: false },
  },
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const number = (/** @type {"minutes" | "seed" | "workers" | "typists"} */ name) => {
  const value = Number(values[name]);
  if (!(value > 0 && Number.isFinite(value))) fail(`--${name} must be a positive number; got ${values[name]}.`);
  return value;
};
const [minutes, seed, workers, people] = [number("minutes"), number("seed"), number("workers"), number("typists")];
const adapter = await stores[values.store]?.();
if (adapter === undefined) fail(`--store must be one of ${Object.keys(stores).join(", ")}; got ${values.store}.`);

/**
 * @template {import("node:util").ParseArgsConfig} T
 * @param {T} config
 */
function parse(config) {
  try {
    return parseArgs(config);
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : error}\n\n${usage}`);
  }
}

/** @param {string} message @returns {never} */
function fail(message) {
  console.error(message);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), "lull-torture-"));
// A copy: somebody may build while this runs, and every process of a run must be the same program.
const dist = join(folder, "dist");
cpSync(values.dist, dist, { recursive: true });
writeFileSync(join(dist, "package.json"), '{ "type": "module" }');

const random = dice(seed);
const ledger = newLedger();
const prepared = await adapter.prepare(folder);
let over = false;
let calm = false;
const services = await doubles({ ledger, random: dice(seed + 1), modelMs, calm: () => calm });
const settings = { dist, store: adapter.name, place: prepared.place, doubles: services.url };
const boss = supervisor({
  ledger,
  random,
  count: workers,
  leaseMs,
  prepared,
  settings: { ...settings, leaseMs, debounce, turnTimeoutMs, maxFailures },
});
process.on("exit", () => boss.close());
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]))
  process.on(signal, () => {
    console.error(`ended by ${signal}`);
    process.exit(130);
  });

console.log(
  `torture: ${adapter.name}, ${minutes} min, seed ${seed}, ${workers} processes, ${people} typists, ` +
    `lease ${leaseMs} ms, quiet ${debounce.quietMs} ms, load ${load()} on ${cpus().length} processors`,
);
const loadBefore = load();
await boss.begin();
const crowd = typists({
  ledger,
  random: dice(seed + 2),
  count: people,
  quietMs: debounce.quietMs,
  target: (not) => boss.target(not),
  isOver: () => over,
});
void boss.torment();
const progress = report(minutes * 60_000);
await sleep(minutes * 60_000);
over = calm = true;
await boss.calm();
await crowd.all;
await settled();
progress();
const state = await ending();
boss.close();
await prepared.close();
await services.close();
finish(state);

function load() {
  return loadavg()
    .map((value) => value.toFixed(1))
    .join(" ");
}

/** A line on a terminal, a line every ten seconds elsewhere. @param {number} ms @returns {() => void} what ends it */
function report(ms) {
  const counts = { acked: 0, called: 0, shown: 0 };
  ledger.on((event) => {
    if (event.is === "acked" && event.op === "message") counts.acked += 1;
    if (event.is === "called") counts.called += 1;
    if (event.is === "arrived" && event.outcome === "took") counts.shown += 1;
  });
  const line = () => {
    const { kills, freezes, outages } = boss.counts;
    const done = Math.min(1, ledger.now() / ms);
    const bar = "#".repeat(Math.round(done * 20)).padEnd(20, ".");
    return (
      `[${bar}] ${(ledger.now() / 1_000).toFixed(0).padStart(4)} s  ${boss.standing()}  kills ${kills}  ` +
      `freezes ${freezes}  outages ${outages}  messages ${counts.acked}  calls ${counts.called}  parts ${counts.shown}`
    );
  };
  const live = process.stdout.isTTY;
  const timer = setInterval(
    () => (live ? process.stdout.write(`\r${line()}`) : console.log(line())),
    live ? 500 : 10_000,
  );
  return () => {
    clearInterval(timer);
    if (live) process.stdout.write(`\r${line()}\n`);
    else console.log(line());
  };
}

/** Waits until the store is at rest, or nothing has moved for long; says what it waits for. */
async function settled() {
  const began = ledger.now();
  for (let said = false; ledger.now() < began + patienceMs; await sleep(500)) {
    const stats = await anyone({ op: "stats" });
    if (stats?.active === 0) return;
    if (!said && ledger.now() > began + 15_000) {
      said = true;
      console.log(`still not at rest: ${JSON.stringify(stats)}`);
    }
  }
}

/** @param {Record<string, unknown>} body */
async function anyone(body) {
  for (let tries = 0; tries < 20; tries += 1) {
    const to = boss.target(null);
    const answer = to === null ? null : await ask(to.port, body, 5_000);
    if (answer !== null) return answer;
    await sleep(200);
  }
  return null;
}

/** What the store says at the end; and, for every conversation in which something went wrong, all there is to know. */
async function ending() {
  const { violations, figures, recovery } = check(ledger.events, debounce);
  const stats = await anyone({ op: "stats" });
  const promised = leaseMs + graceMs;
  /** @type {Map<string, any>} */
  const stored = new Map();
  const read = async (/** @type {string} */ conversation) => {
    if (!stored.has(conversation)) stored.set(conversation, await anyone({ op: "log", conversation }));
    return stored.get(conversation);
  };
  /** @type {import("./checker.mjs").Sample[]} */
  const samples = [];
  for (const sample of recovery.samples) {
    const log = sample.ms > promised ? ((await read(sample.conversation))?.log ?? []) : [];
    samples.push(secondLook(sample, log, ledger.events, ledger.wallMs));
  }
  samples.sort((a, b) => b.ms - a.ms);
  const accused = [...new Set(violations.map(({ conversation }) => conversation))].slice(0, 10);
  const slow = samples.slice(0, 3).map(({ conversation }) => conversation);
  /** @type {Record<string, unknown>} */
  const evidence = {};
  for (const conversation of new Set([...accused, ...slow])) {
    const events = ledger.events.filter((event) => !("conversation" in event) || event.conversation === conversation);
    evidence[conversation] = { events, stored: await read(conversation) };
  }
  const seen = summary(recovery.samples);
  return {
    violations,
    figures,
    recovery: { ...summary(samples), seen, slowest: samples.slice(0, 20) },
    stats,
    evidence,
  };
}

/** A row for the outages of a store that has several kinds. @param {Record<string, number>} kinds */
function kindsOf(kinds) {
  const counted = Object.entries(kinds).map(([kind, count]) => `${kind} ${count}`);
  return counted.length === 0 ? {} : { "outages by kind": counted.sort().join(", ") };
}

/** @param {Awaited<ReturnType<typeof ending>>} state */
function finish({ violations: found, figures, recovery, stats, evidence }) {
  const violations = [...found];
  const add = (/** @type {string} */ rule, /** @type {string} */ why) =>
    violations.push({ rule, conversation: "", at: 0, why });
  if (stats === null) add("ending", "no process answered at the end");
  else {
    if (stats.parked > 0) add("parked", `${stats.parked} conversations were given up`);
    if (stats.active > 0) add("restless", `${stats.active} conversations are not at rest`);
  }
  for (const death of boss.deaths) add("died", death);
  if (recovery.p99 > leaseMs + graceMs)
    add("slow", `recovery p99 ${recovery.p99} ms is more than ${leaseMs + graceMs} ms`);
  const of = (/** @type {string} */ rule) => violations.filter((violation) => violation.rule === rule).length;
  const rows = {
    ...figures,
    ...kindsOf(boss.counts.kinds),
    "outages by a frozen process": boss.counts.held,
    blackouts: boss.counts.blackouts,
    lost: of("lost"),
    stale: of("stale"),
    "answered twice": of("twice"),
    parked: stats?.parked ?? "unknown",
    "recovery p50 ms": recovery.p50,
    "recovery p99 ms": recovery.p99,
    "recovery worst ms": recovery.worst,
    "as seen from outside": `${recovery.seen.p50} / ${recovery.seen.p99} / ${recovery.seen.worst}`,
    "conversations touched": recovery.touched,
    "violations in all": violations.length,
    "load before": loadBefore,
    "load after": load(),
  };
  const width = Math.max(...Object.keys(rows).map((key) => key.length));
  console.log("");
  for (const [name, value] of Object.entries(rows)) console.log(`  ${name.padEnd(width)}  ${value}`);
  const run = {
    store: adapter?.name,
    minutes,
    seed,
    workers,
    typists: people,
    leaseMs,
    debounce,
    node: process.version,
  };
  const place = fileURLToPath(new URL(`report-${adapter?.name}-${seed}.json`, import.meta.url));
  writeFileSync(place, JSON.stringify({ run, rows, recovery, violations, evidence }, null, 1));
  console.log(`\n  report: ${relative(process.cwd(), place)}`);
  for (const { rule, conversation, why } of violations.slice(0, 20)) console.log(`  ${rule}: ${conversation} ${why}`);
  if (values.keep) console.log(`  kept: ${folder}`);
  else rmSync(folder, { recursive: true, force: true });
  process.exit(violations.length === 0 ? 0 : 1);
}
