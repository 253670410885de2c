// What a newcomer does, done by a machine: clone, `npm ci`, `npm start`, ask for health, get a first answer.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const START_MS = 120_000; // `npm start` builds first
const WAIT_S = 30; // the demo bot waits for quiet, then thinks
const STOP_MS = 15_000;

const root = fileURLToPath(new URL("..", import.meta.url));
const temp = mkdtempSync(join(tmpdir(), "lull-fresh-"));
const clone = join(temp, "lull");

try {
  run("git", ["clone", "--quiet", root, clone], temp);
  const began = performance.now();
  run("npm", ["ci"], clone);
  await startAndTalk(() => {
    console.log(`fresh clone: ready ${((performance.now() - began) / 1000).toFixed(1)} s after the clone`);
  });
  console.log("fresh clone: cloned, installed, started, answered, stopped");
} finally {
  rmSync(temp, { recursive: true, force: true });
}

/** @param {() => void} ready */
async function startAndTalk(ready) {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  // Its own process group: npm, its shell and the server all stop together, and nothing else does.
  const server = spawn("npm", ["start"], {
    cwd: clone,
    env: { ...process.env, LULL_PORT: String(port) },
    stdio: "inherit",
    detached: true,
  });
  const exited = once(server, "exit");
  try {
    await healthy(base, server);
    ready();
    const response = await fetch(`${base}/v1/messages?wait=${WAIT_S}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ conversation: "fresh-clone", id: "m1", text: "hello" }),
      signal: AbortSignal.timeout((WAIT_S + 10) * 1000),
    });
    const text = await response.text();
    // 202 would mean that it was taken in and not answered in time.
    if (response.status !== 200) throw new Error(`POST /v1/messages answered ${response.status}: ${text}`);
    const { status, covers } = JSON.parse(text);
    if (status !== "delivered" || covers.join() !== "m1") throw new Error(`the first answer is not one: ${text}`);
  } finally {
    await stop(server, exited);
  }
}

/**
 * @param {string} base
 * @param {import("node:child_process").ChildProcess} server
 */
async function healthy(base, server) {
  const deadline = performance.now() + START_MS;
  let last = "no connection";
  while (performance.now() < deadline) {
    if (server.exitCode !== null) throw new Error(`npm start ended with code ${server.exitCode}`);
    try {
      const response = await fetch(`${base}/healthz`, { signal: AbortSignal.timeout(2_000) });
      if (response.status === 200) return;
      last = `status ${response.status}`;
    } catch {
      // not listening yet
    }
    await sleep(200);
  }
  throw new Error(`/healthz was not 200 within ${START_MS / 1000} s (${last})`);
}

/**
 * @param {import("node:child_process").ChildProcess} server
 * @param {Promise<unknown>} exited
 */
async function stop(server, exited) {
  if (server.pid === undefined || server.exitCode !== null) return;
  process.kill(-server.pid, "SIGTERM");
  const inTime = await Promise.race([exited.then(() => true), sleep(STOP_MS, false, { ref: false })]);
  if (inTime) return;
  process.kill(-server.pid, "SIGKILL");
  throw new Error(`the server did not stop within ${STOP_MS / 1000} s of SIGTERM`);
}

/** @returns {Promise<number>} */
async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 */
function run(command, args, cwd) {
  const result = spawnSync(command, args, { cwd, stdio: "inherit" });
  if (result.status !== 0) throw new Error(`${command} ${args.join(" ")} failed`);
}
