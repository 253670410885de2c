// The steps of `.ci/run [step…]`. Every step runs even if an earlier one failed; the last line counts all of them.
// Without a name it runs all of them; then what only uses the processor runs beside the tests.
import { spawn, spawnSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** @typedef {{ passed: number, failed: number }} Count */
/** @typedef {{ name: string, fullName: string, status: string }} Test */
/** @typedef {{ name: string, status: string, startTime: number, endTime: number, assertionResults: Test[] }} TestFile */

const root = fileURLToPath(new URL("..", import.meta.url));
const only = process.argv.slice(2);
const temp = mkdtempSync(join(tmpdir(), "lull-ci-"));

/** Suites against database servers take half of the time of all process suites; another Node changes nothing for a server. */
const servers = "**/postgres*.process.test.ts,**/redis*.process.test.ts";

/** The pages in Chromium take the processor while the other processes wait: they run beside them. */
const inBrowser = "**/*.browser.test.ts";

/** A step is one check, except a test run, where every test is one. @type {[string, () => Count | Promise<Count>][]} */
const steps = [
  ["lint", () => check("npm run lint")],
  ["typecheck", () => check("npm run typecheck")],
  ["build", () => check("npm run clean && npm run build")],
  ["test on Node 20", () => testOn(20, [], { without: inBrowser })],
  ["processes on Node 24", () => testOn(24, ["--project", "process"], { without: servers })],
];

/**
 * Checks that use nothing but the processor and change nothing that is built. The tests mostly wait, for real processes: so
 * these run one after another beside them, with low priority, and are told of afterwards.
 * @type {[string, (output: number) => Promise<Count>][]}
 */
const beside = [
  ["units on Node 24", (output) => testOn(24, ["--project", "unit", "--project", "ai7"], { output })],
  ["coverage", (output) => checkBeside("npm run coverage", output)],
  ["explore", (output) => checkBeside("node scripts/explore.mjs --seconds 55", output)],
  ["mutants", (output) => checkBeside("node scripts/mutants.mjs --check", output)],
  ["pack check", (output) => checkBeside("npm run pack:check", output)],
  ["audit", (output) => checkBeside("node scripts/audit.mjs", output)],
  ["image", (output) => checkBeside("node scripts/image.mjs", output)],
  ["fresh clone", (output) => checkBeside("node scripts/fresh-clone.mjs", output)],
  ["browser on Node 20", (output) => testOn(20, ["--project", "browser"], { output })],
];

/** Run only when they are named: they take long, or want the newest of somebody else's. @type {[string, () => Count][]} */
const apart = [
  ["compare chat-sdk", () => check("npm run compare:chat-sdk")],
  ["newest chat", () => check("node scripts/newest-chat.mjs")],
];

const total = { passed: 0, failed: 0 };
/** @type {string[]} */
const summary = [];
try {
  if (await perform("install", () => check("npm ci"))) {
    await perform("servers", () => check("node scripts/servers/install.mjs"));
    const wanted = (/** @type {string} */ name) => only.length === 0 || only.includes(name);
    /** @type {(() => Promise<void>) | null} */
    let reported = null;
    for (const [name, step] of only.length === 0 ? steps : [...steps, ...apart]) {
      // What they need is built by now.
      if (name === "test on Node 20") reported ??= startBeside(beside.filter(([other]) => wanted(other)));
      if (wanted(name)) await perform(name, step);
    }
    await reported?.();
  }
} finally {
  rmSync(temp, { recursive: true, force: true });
}
console.log(`\n${summary.join("\n")}`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;

/**
 * @param {string} name
 * @param {() => Count | Promise<Count>} step
 */
async function perform(name, step) {
  console.log(`\n=== ${name}`);
  const start = performance.now();
  /** @type {Count} */
  let count;
  try {
    count = await step();
  } catch (error) {
    console.error(error);
    count = { passed: 0, failed: 1 };
  }
  return tell(name, count, performance.now() - start);
}

/**
 * Starts checks in the background, one after another. The function it returns waits for them and says what they printed.
 * @param {typeof beside} checks
 * @returns {() => Promise<void>}
 */
function startBeside(checks) {
  /** @type {{ name: string, log: string, count: Count, ms: number }[]} */
  const results = [];
  const all = (async () => {
    for (const [index, [name, run]] of checks.entries()) {
      const log = join(temp, `beside-${index}.log`);
      const output = openSync(log, "w");
      const start = performance.now();
      const count = await run(output).catch((error) => {
        writeSync(output, `${error.stack}\n`);
        return { passed: 0, failed: 1 };
      });
      closeSync(output);
      results.push({ name, log, count, ms: performance.now() - start });
    }
  })();
  return async () => {
    await all;
    for (const { name, log, count, ms } of results) {
      console.log(`\n=== ${name} (beside the tests)\n${readFileSync(log, "utf8")}`);
      tell(name, count, ms);
    }
  };
}

/**
 * @param {string} command
 * @param {number} output an open file
 * @returns {Promise<Count>}
 */
async function checkBeside(command, output) {
  const args = ["-n", "19", "bash", "-euo", "pipefail", "-c", command];
  const code = await ended(spawn("nice", args, { cwd: root, stdio: ["ignore", output, output] }));
  return code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

/** @param {import("node:child_process").ChildProcess} child @returns {Promise<number | null>} its exit code */
function ended(child) {
  return new Promise((resolve, reject) => {
    child.on("exit", resolve);
    child.on("error", reject);
  });
}

/**
 * @param {string} name
 * @param {Count} count
 * @param {number} ms
 */
function tell(name, count, ms) {
  total.passed += count.passed;
  total.failed += count.failed;
  const line = `${count.failed === 0 ? "ok  " : "FAIL"} ${name}: ${count.passed} passed, ${count.failed} failed, ${(ms / 1000).toFixed(1)} s`;
  summary.push(line);
  console.log(`=== ${line}`);
  return count.failed === 0;
}

/**
 * @param {string} command
 * @param {NodeJS.ProcessEnv} [env]
 */
function sh(command, env = process.env) {
  return spawnSync("bash", ["-euo", "pipefail", "-c", command], { cwd: root, env, stdio: "inherit" }).status;
}

/**
 * @param {string} command
 * @returns {Count}
 */
function check(command) {
  return sh(command) === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

/**
 * Tests on one Node version. Here, unlike on a developer's machine, what did not run has failed.
 * @param {number} major
 * @param {string[]} [which] vitest's arguments; default: all
 * @param {{ without?: string, output?: number }} [options] `without`: globs of files that another step runs; `output`: an open
 *   file, for a run beside other tests, with low priority
 * @returns {Promise<Count>}
 */
async function testOn(major, which = [], { without = "", output } = {}) {
  const report = join(temp, `node-${major}-${which.length}.json`);
  const path = `${nodeFolder(major)}${delimiter}${process.env.PATH}`;
  const env = { ...process.env, PATH: path, LULL_TEST_WITHOUT: without };
  // Not spawnSync: the checks beside the tests go on meanwhile. Beside others no build: it would be under their feet.
  const [program = "", ...args] =
    output === undefined ? ["npm", "test", "--"] : ["nice", "-n", "10", "node", "scripts/test.mjs"];
  const stream = output ?? "inherit";
  const stdio = /** @type {import("node:child_process").StdioOptions} */ (["ignore", stream, stream]);
  await ended(spawn(program, [...args, "--report", report, ...which], { cwd: root, env, stdio }));
  if (!existsSync(report)) throw new Error("the test run ended without a report");

  const { node, exitCode, notRun, vitest } = JSON.parse(readFileSync(report, "utf8"));
  if (!node.startsWith(`v${major}.`)) throw new Error(`wanted Node ${major}, the tests ran on ${node}`);
  if (vitest === null) throw new Error("vitest ended without a report");

  const count = { passed: 0, failed: 0 };
  const say = (/** @type {string} */ line) => void writeSync(output ?? 1, `${line}\n`);
  /** @param {string} what */
  const fail = (what) => {
    count.failed += 1;
    say(`FAIL ${what}`);
  };
  for (const suite of notRun)
    if (major < (suite.fromNode ?? 0)) say(`suite ${suite.name} is for newer releases of Node: ${suite.reason}`);
    else fail(`suite ${suite.name} did not run: ${suite.reason}`);
  for (const file of /** @type {TestFile[]} */ (vitest.testResults)) {
    const name = relative(root, file.name);
    for (const test of file.assertionResults) {
      if (test.status === "passed") count.passed += 1;
      else fail(`${name}: ${test.fullName} (${test.status})`);
    }
    const explained = file.assertionResults.some((test) => test.status !== "passed");
    if (file.status !== "passed" && !explained) fail(`${name} (${file.status} as a whole)`);
  }
  if (count.passed === 0) fail("no test ran");
  if (exitCode !== 0 && count.failed === 0) fail(`vitest ended with code ${exitCode} though no test failed`);
  printMinutes(vitest.testResults, say);
  return count;
}

/** @param {TestFile[]} files @param {(line: string) => void} say */
function printMinutes(files, say) {
  /** @param {number} ms */
  const minutes = (ms) => `${(ms / 60_000).toFixed(2)} min`;
  /** @type {Record<string, number>} */
  const suites = { unit: 0, process: 0, browser: 0 };
  for (const file of [...files].sort((a, b) => b.endTime - b.startTime - (a.endTime - a.startTime))) {
    const ms = file.endTime - file.startTime;
    const suite = /\.(process|browser)\.test\.ts$/.exec(file.name)?.[1] ?? "unit";
    suites[suite] = (suites[suite] ?? 0) + ms;
    say(`  ${minutes(ms)}  ${relative(root, file.name)}`);
  }
  for (const [suite, ms] of Object.entries(suites)) say(`  ${minutes(ms)}  all of ${suite}`);
}

/**
 * The folder of a `node` of that major version: the running one, or one installed from npm outside the tree.
 * @param {number} major
 */
function nodeFolder(major) {
  if (process.versions.node.startsWith(`${major}.`)) return dirname(process.execPath);
  const prefix = join(temp, `node-${major}`);
  const folder = join(prefix, "node_modules/node/bin");
  if (existsSync(join(folder, "node"))) return folder;
  mkdirSync(prefix);
  // The `node` package fetches its binary in an install script, which newer versions of npm run only if told to.
  writeFileSync(join(prefix, "package.json"), JSON.stringify({ private: true, allowScripts: { node: true } }));
  const installed = sh(`npm install --prefix '${prefix}' node@${major}`) === 0;
  if (!installed || !existsSync(join(folder, "node"))) throw new Error(`could not install Node ${major} from npm`);
  return folder;
}
