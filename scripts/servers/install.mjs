// Installs the servers, the browser and the language that the tests want and this machine lacks (Debian, as root; for CI):
//
//   node scripts/servers/install.mjs
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { chromiumMissing } from "./chromium.mjs";
import { postgresMissing } from "./postgres.mjs";
import { redisMissing } from "./redis.mjs";

const wanted = [
  { packages: ["postgresql", "pgbouncer"], missing: postgresMissing },
  { packages: ["redis-server"], missing: redisMissing },
  { packages: ["php-cli"], missing: phpMissing },
  // With a font: a machine that has none draws boxes.
  { packages: ["chromium", "fonts-dejavu-core"], missing: chromiumMissing },
];

/** Why the bot in PHP cannot run here, or null. */
function phpMissing() {
  return spawnSync("php", ["--version"]).error === undefined
    ? null
    : "no PHP on this machine (Debian: apt-get install php-cli)";
}

const lacking = wanted.filter(({ missing }) => missing() !== null);
const packages = lacking.flatMap((server) => server.packages);
if (packages.length > 0) {
  // The tests start servers of their own; Debian's would only take memory and ports.
  const settings = "/etc/postgresql-common/createcluster.conf";
  if (!existsSync(settings)) {
    mkdirSync("/etc/postgresql-common", { recursive: true });
    writeFileSync(settings, "create_main_cluster = false\n");
  }
  run("apt-get", "update");
  const keepOurs = ["-o", "Dpkg::Options::=--force-confold"];
  run("apt-get", ...keepOurs, "install", "--yes", "--no-install-recommends", ...packages);
}
for (const { missing } of wanted) {
  const reason = missing();
  if (reason === null) continue;
  console.error(reason);
  process.exitCode = 1;
}

/** @param {string} program @param {string[]} args */
function run(program, ...args) {
  // Runlevel 1: what is installed is not started.
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1", UCF_FORCE_CONFFOLD: "1" };
  const { status, error } = spawnSync(program, args, { stdio: "inherit", env });
  if (error !== undefined) console.error(`${program}: ${error.message}`);
  else if (status !== 0) console.error(`${program} ended with code ${status}`);
}
