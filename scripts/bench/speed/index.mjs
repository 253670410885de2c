// `npm run bench`: lull on each of its stores, what people would take instead, and what the stores can do at all, with the
// same work in one run. Bursts of 3, a window of 500 ms, a model of 50 ms. Repeats are interleaved, so that whatever else
// the machine does hits all alike; the page has medians, ratios and their spread. Absolute numbers belong to the machine.
//
//   npm run bench [-- --quick] [--repeats 5] [--only "lull redis,bullmq"] [--modes full,paced,idle] [--no-page]
//
// Writes docs/performance.md (the generated part), docs/performance.svg and results.json beside this file. Peers are
// installed into scripts/bench/peers at the first run. Needs Debian's redis-server and postgresql.
import { execFileSync, fork } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readArgs } from "../../args.mjs";
import { startPostgres } from "../../servers/postgres.mjs";
import { startRedis } from "../../servers/redis.mjs";
import { publish, report } from "./report.mjs";
import { systems } from "./systems/index.mjs";

const peers = fileURLToPath(new URL("../peers", import.meta.url));

const text = /** @type {const} */ ({ type: "string" });
const flag = /** @type {const} */ ({ type: "boolean" });
const values = readArgs(import.meta.url, { quick: flag, repeats: text, only: text, modes: text, "no-page": flag });
const quick = values.quick === true;
const repeats = Number(values.repeats ?? (quick ? 1 : 5));
const only = values.only?.split(",").map((name) => name.trim());
const unknown = only?.filter((name) => !systems.some((system) => system.name === name)) ?? [];
if (unknown.length > 0)
  throw new Error(`No such system: ${unknown.join(", ")}. Known: ${systems.map(({ name }) => name).join(", ")}.`);
const chosen = systems.filter(({ name }) => only === undefined || only.includes(name));
const modes = /** @type {("full" | "paced" | "idle")[]} */ (
  (values.modes ?? (quick ? "full,paced" : "full,paced,idle")).split(",")
);

/** Node with `node:sqlite`, which some peers ask for too; the one that runs this, if it is new enough. */
function nodeProgram() {
  const [major = 0] = process.versions.node.split(".").map(Number);
  if (major >= 24) return process.execPath;
  const folder = join(peers, "node_modules");
  const found = (existsSync(folder) ? readdirSync(folder) : [])
    .filter((name) => /^node-(linux|darwin)-/.test(name))
    .map((name) => join(folder, name, "bin/node"))
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error("The benches need Node 24 or newer: run them with it.");
  return found;
}

function installPeers() {
  if (existsSync(join(peers, "node_modules/bullmq"))) return;
  console.log("installing the peers into scripts/bench/peers (once)");
  execFileSync("npm", ["install", "--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"], {
    cwd: peers,
    stdio: "inherit",
  });
}

/** CPU seconds that a process and its children have used so far. @param {number} pid */
function cpuOf(pid) {
  const ticks = (/** @type {string} */ stat) => {
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { parent: Number(fields[1]), used: Number(fields[11]) + Number(fields[12]) };
  };
  let sum = 0;
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      const { parent, used } = ticks(readFileSync(`/proc/${name}/stat`, "utf8"));
      if (Number(name) === pid || parent === pid) sum += used;
    } catch {
      // It ended meanwhile.
    }
  }
  return sum / 100;
}

/** @param {"none" | "redis" | "postgres"} kind */
async function startServer(kind) {
  if (kind === "none")
    return { url: "", seen: async () => ({ cpuSeconds: 0, calls: 0, bytes: 0 }), end: async () => {} };
  if (kind === "redis") {
    const server = await startRedis();
    return {
      url: server.url,
      async seen() {
        const [stats, commands] = [
          String(await server.run("INFO", "stats")),
          String(await server.run("INFO", "commandstats")),
        ];
        const bytes = [...stats.matchAll(/total_net_(?:input|output)_bytes:(\d+)/g)].reduce(
          (sum, [, n]) => sum + Number(n),
          0,
        );
        const calls = [...commands.matchAll(/^cmdstat_[^:]+:calls=(\d+)/gm)].reduce((sum, [, n]) => sum + Number(n), 0);
        return { cpuSeconds: cpuOf(server.pid), calls, bytes };
      },
      end: server.end,
    };
  }
  const server = await startPostgres({
    settings: { shared_preload_libraries: "pg_stat_statements", max_connections: 200 },
  });
  await server.run("create extension pg_stat_statements");
  return {
    url: server.url,
    async seen() {
      const [row] = await server.run(
        "select coalesce(sum(calls), 0)::float8 as calls from pg_stat_statements where toplevel",
      );
      const [wal] = await server.run("select wal_bytes::float8 as bytes from pg_stat_wal");
      return { cpuSeconds: cpuOf(server.pid), calls: Number(row?.calls), bytes: Number(wal?.bytes) };
    },
    end: server.end,
  };
}

/**
 * @param {import("./systems/index.mjs").System} system
 * @param {"full" | "paced" | "idle"} mode
 */
async function measure(system, mode) {
  const folder = mkdtempSync(join(tmpdir(), "lull-bench-"));
  const server = await startServer(system.server);
  try {
    const child = fork(fileURLToPath(new URL("run.mjs", import.meta.url)), {
      execPath: nodeProgram(),
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    /** @returns {Promise<any>} */
    const told = () =>
      new Promise((resolve, reject) => {
        child.removeAllListeners();
        child.once("message", resolve);
        child.once("exit", (code) => reject(new Error(`it ended with ${code}`)));
      });
    const job = {
      system: system.name,
      mode,
      url: server.url,
      folder,
      conversations: Math.round(mode === "paced" ? (quick ? 60 : 300) : system.size * (quick ? 0.25 : 1)),
      perMinute: 3_000,
    };
    child.send(job);
    const ready = await told();
    if (ready.error) throw new Error(ready.error);
    const before = await server.seen();
    child.send("go");
    const ended = await told();
    if (ended.error) throw new Error(ended.error);
    const after = await server.seen();
    child.send("stop");
    const { result, error } = await told();
    child.kill("SIGKILL");
    if (error) throw new Error(error);
    const messages = result.messages || 1;
    return {
      system: system.name,
      mode,
      load: loadavg()[0],
      acceptedPerSecond: (result.messages / result.acceptedMs) * 1_000,
      ...result,
      nodeCpu: (result.cpuSeconds / messages) * 1_000,
      serverCpu: ((after.cpuSeconds - before.cpuSeconds) / messages) * 1_000,
      calls: after.calls - before.calls,
      callsPerMessage: (after.calls - before.calls) / messages,
      bytesPerMessage: (after.bytes - before.bytes) / messages,
    };
  } finally {
    await server.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A result in a line. @param {"full" | "paced" | "idle"} mode @param {Record<string, any>} result */
function told(mode, { calls, acceptedPerSecond, acks, excess, repliesPerBurst, sawAll }) {
  if (mode === "idle") return `${(calls / 5).toFixed(1)} calls/s`;
  const speed =
    mode === "full"
      ? `${Math.round(acceptedPerSecond)}/s, ack p99 ${acks.p99.toFixed(1)} ms`
      : `excess p50 ${excess.p50.toFixed(1)}, p99 ${excess.p99.toFixed(1)} ms`;
  return `${speed}, replies per burst ${repliesPerBurst.toFixed(2)}, saw all ${sawAll.toFixed(2)}`;
}

installPeers();
/** @type {Record<string, any>[]} */
const results = [];
/** @type {Map<string, string>} */
const failures = new Map();
for (let repeat = 1; repeat <= repeats; repeat += 1)
  for (const mode of modes)
    for (const system of chosen) {
      if (failures.has(system.name)) continue;
      try {
        const result = await measure(system, mode);
        results.push({ repeat, ...result });
        console.log(`${repeat} ${mode.padEnd(5)} ${system.name.padEnd(18)} ${told(mode, result)}`);
      } catch (error) {
        // Somebody else's package may not run here: said on the page, not hidden.
        const why = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
        if (system.kind !== "peer") throw error;
        failures.set(system.name, why);
        console.log(`${repeat} ${mode.padEnd(5)} ${system.name.padEnd(18)} does not run: ${why}`);
      }
    }
const machine = `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? "?"}, Node ${execFileSync(nodeProgram(), ["--version"], { encoding: "utf8" }).trim()}, ${process.platform}`;
const page = report({ machine, repeats, results, failures, systems: chosen });
if (values["no-page"] || quick || only !== undefined) console.log(`\n${page}`);
else publish(page, { machine, repeats, results, failures: [...failures] });
const unanswered = results.filter(
  ({ system, mode, answered }) => mode !== "idle" && system.startsWith("lull") && answered < 1,
);
if (unanswered.length > 0) {
  console.error(`${unanswered.map(({ system }) => system).join(", ")}: bursts were left unanswered`);
  process.exitCode = 1;
}
