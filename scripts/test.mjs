// `npm test [-- vitest arguments]`: runs every suite this machine can run and says which it cannot, and why.
// LULL_TEST_REQUIRE names suites, separated by commas, without which the run has failed.
// LULL_TEST_WITHOUT: globs of test files, separated by commas, that are left out on purpose.
// `--report <file>` also writes the result as JSON (for scripts/ci.mjs).
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromiumMissing } from "./servers/chromium.mjs";
import { postgresMissing } from "./servers/postgres.mjs";
import { redisMissing } from "./servers/redis.mjs";

/** A suite that only newer releases of Node can run says so: there it is required, on older ones it is not expected. */
const ai7FromNode = 22;

/**
 * Suites that need something a machine may lack. `files` is a glob; `missing()` returns the reason, or null if all
 * is there.
 * @type {{ name: string, files: string, fromNode?: number, missing: () => string | null }[]}
 */
const conditional = [
  {
    // The project of that name in vitest.config.ts.
    name: "ai7",
    files: "",
    fromNode: ai7FromNode,
    missing: () =>
      Number.parseInt(process.versions.node, 10) >= ai7FromNode
        ? null
        : `major 7 of the AI SDK needs Node ${ai7FromNode}`,
  },
  { name: "postgres", files: "**/postgres*.process.test.ts", missing: postgresMissing },
  { name: "redis", files: "**/redis*.process.test.ts", missing: redisMissing },
  { name: "browser", files: "**/*.browser.test.ts", missing: chromiumMissing },
  { name: "sidecar", files: "**/sidecar*.process.test.ts", missing: () => lacking("python3", "curl") },
  { name: "php", files: "**/php*.process.test.ts", missing: () => lacking("php") },
];

/**
 * Why programs cannot be run here, or null.
 * @param {...string} programs
 */
function lacking(...programs) {
  const without = programs.filter((name) => spawnSync(name, ["--version"]).error !== undefined);
  return without.length === 0 ? null : `no ${without.join(", no ")} on this machine`;
}

const root = fileURLToPath(new URL("..", import.meta.url));
const args = process.argv.slice(2);
const at = args.indexOf("--report");
const report = at === -1 ? undefined : args.splice(at, 2)[1];

const notRun = conditional.flatMap((suite) => {
  const reason = suite.missing();
  return reason === null ? [] : [{ name: suite.name, files: suite.files, fromNode: suite.fromNode, reason }];
});

const leftOut = process.env.LULL_TEST_WITHOUT ?? "";
const temp = mkdtempSync(join(tmpdir(), "lull-test-"));
const results = join(temp, "results.json");
const run = spawnSync(
  process.execPath,
  [
    join(root, "node_modules/vitest/vitest.mjs"),
    "run",
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${results}`,
    ...args,
  ],
  {
    cwd: root,
    stdio: "inherit",
    env: {
      ...process.env,
      LULL_TEST_WITHOUT: [leftOut, ...notRun.map((s) => s.files)].filter((glob) => glob !== "").join(),
    },
  },
);

if (report !== undefined) {
  const vitest = readJson(results);
  writeFileSync(report, JSON.stringify({ node: process.version, exitCode: run.status ?? 1, notRun, vitest }));
}
rmSync(temp, { recursive: true, force: true });

const required = (process.env.LULL_TEST_REQUIRE ?? "").split(",");
console.log(`Node ${process.version}. Suites not run here: ${notRun.length === 0 ? "none" : ""}`);
if (leftOut !== "") console.log(`  left out: ${leftOut}`);
for (const suite of notRun) console.log(`  ${suite.name}: ${suite.reason}`);
process.exitCode = notRun.some((suite) => required.includes(suite.name)) ? 1 : (run.status ?? 1);

/** @param {string} path */
function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return null; // vitest stopped before it could report
  }
}
