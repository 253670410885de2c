// `node scripts/image.mjs`: carries out deploy/Dockerfile without Docker, in a temporary folder, as far as npm and Node are
// concerned: COPY, WORKDIR, ENV and RUN of every stage, with the image's folders as folders of the temporary one. Then it
// starts the result as the image would, waits until HEALTHCHECK says yes, and stops it with SIGTERM. What only Docker can
// show (users, volumes, layers, the base image's own Node) stays unverified; docs/verification.md says so.
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const temp = mkdtempSync(join(tmpdir(), "lull-image-"));
/** Folders at the root of the image. */
const tops = ["src", "app", "packed", "data"];

/** @typedef {{ folder: string, cwd: string, env: Record<string, string> }} Stage */
/** @type {Map<string, Stage>} */
const stages = new Map();
/** @type {Stage | null} */
let stage = null;
/** @type {{ healthcheck: string[], entrypoint: string[], cmd: string[], user: string }} */
const image = { healthcheck: [], entrypoint: [], cmd: [], user: "root" };

/** An absolute path of the image, inside the stage. @param {Stage} at @param {string} path */
const inside = (at, path) => (path.startsWith("/") ? join(at.folder, path) : join(at.cwd, path));

/** @param {Stage} at @param {string} command */
function run(at, command) {
  // Users of the image do not exist here.
  const here = command
    .replace(
      new RegExp(`(^|[\\s=])/(${tops.join("|")})(?=[\\s/]|$)`, "g"),
      (_, before, top) => `${before}${at.folder}/${top}`,
    )
    .replace(/\s*&&\s*chown \S+ \S+/, "");
  console.log(`RUN ${command}`);
  const env = { ...clean(), ...at.env };
  const { status } = spawnSync("sh", ["-ec", here], { cwd: at.cwd, env, stdio: ["ignore", "inherit", "inherit"] });
  if (status !== 0) throw new Error(`RUN ended with ${status}: ${command}`);
}

/** The environment without lull's, npm's and vitest's own. */
function clean() {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(LULL_|PORT$|VITEST|NODE_OPTIONS$|npm_(?!config_registry))/.test(name),
    ),
  );
}

/** @param {string} line */
function carryOut(line) {
  const [, word = "", rest = ""] = /^(\S+)\s+([\s\S]*)$/.exec(line) ?? [];
  if (word === "FROM") {
    const name = /\sAS\s+(\S+)/i.exec(rest)?.[1] ?? "final";
    const folder = join(temp, name);
    mkdirSync(folder, { recursive: true });
    stage = { folder, cwd: folder, env: {} };
    stages.set(name, stage);
    return;
  }
  if (stage === null) throw new Error(`${word} before FROM`);
  const at = stage;
  switch (word) {
    case "WORKDIR":
      at.cwd = inside(at, rest);
      mkdirSync(at.cwd, { recursive: true });
      return;
    case "ENV":
      for (const [, name = "", value = ""] of rest.matchAll(/(\w+)=(\S+)/g)) at.env[name] = value;
      return;
    case "COPY": {
      const parts = rest.split(/\s+/);
      const from = parts[0]?.startsWith("--from=") ? stages.get((parts.shift() ?? "").slice(7)) : null;
      const to = parts.pop() ?? "";
      for (const part of parts) {
        const source = from ? inside(from, part) : join(root, part);
        const target = inside(at, to.endsWith("/") ? join(to, basename(part)) : to);
        mkdirSync(dirname(target), { recursive: true });
        // As the Dockerfile.dockerignore says.
        const wanted = (/** @type {string} */ path) =>
          from !== null || !/\/(node_modules|dist|test)(\/|$)/.test(path.slice(root.length - 1));
        cpSync(source, target, { recursive: true, verbatimSymlinks: true, filter: wanted });
      }
      return;
    }
    case "RUN":
      return run(at, rest);
    case "USER":
      image.user = rest;
      return;
    case "HEALTHCHECK":
      image.healthcheck = JSON.parse(/CMD\s+(\[[\s\S]*\])/.exec(rest)?.[1] ?? "[]");
      return;
    case "ENTRYPOINT":
      image.entrypoint = JSON.parse(rest);
      return;
    case "CMD":
      image.cmd = JSON.parse(rest);
      return;
    case "VOLUME":
    case "EXPOSE":
    case "STOPSIGNAL":
      return;
    default:
      throw new Error(`${word} is not known here: teach scripts/image.mjs`);
  }
}

async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => probe.once("listening", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function start() {
  const at = stages.get("final");
  if (!at) throw new Error("no final stage");
  if (image.user === "root" || image.user === "0") throw new Error("the image runs as root");
  const [program = "", ...args] = [...image.entrypoint, ...image.cmd];
  const port = String(await freePort());
  // Loopback only, and no keys needed then.
  const env = {
    ...clean(),
    ...at.env,
    LULL_HOST: "127.0.0.1",
    LULL_PORT: port,
    LULL_STORE: `sqlite:${join(at.folder, "data/lull.db")}`,
  };
  const child = spawn(program, args, { cwd: at.cwd, env, stdio: ["ignore", "inherit", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", (code) => resolve(code)));
  try {
    const [check = "", ...checkArgs] = image.healthcheck;
    let healthy = false;
    for (let tries = 0; tries < 60 && !healthy && child.exitCode === null; tries++) {
      await sleep(500);
      healthy = spawnSync(check, checkArgs, { env, stdio: "ignore" }).status === 0;
    }
    if (!healthy) throw new Error("HEALTHCHECK never said yes");
    console.log("healthy");
    child.kill("SIGTERM");
    const code = await Promise.race([ended, sleep(20_000, "no end")]);
    if (code !== 0) throw new Error(`SIGTERM: ${code}`);
    if (!existsSync(join(at.folder, "data/lull.db"))) throw new Error("nothing in /data");
    console.log("stopped by SIGTERM, with 0");
  } finally {
    child.kill("SIGKILL");
  }
}

try {
  const text = readFileSync(join(root, "deploy/Dockerfile"), "utf8")
    .replace(/^\s*#.*\n/gm, "")
    .replace(/\\\n\s*/g, " ");
  for (const line of text.split("\n")) if (line.trim() !== "") carryOut(line.trim());
  await start();
} finally {
  rmSync(temp, { recursive: true, force: true });
}
