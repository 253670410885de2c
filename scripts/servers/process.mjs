// Server programs for tests: started on loopback, in a folder of their own, ended by process id.
import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, chmodSync, chownSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Programs that refuse to run as root are run as this user instead.
 * @typedef {{ uid: number, gid: number }} User
 */

/**
 * Nobody else's port at the moment.
 * @returns {Promise<number>}
 */
export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = /** @type {import("node:net").AddressInfo} */ (probe.address());
      probe.close(() => resolve(port));
    });
  });
}

/**
 * A folder for a server's files.
 * @param {string} name
 * @param {User | undefined} user its owner
 * @param {number} [diskMegabytes] a small disk of its own, in memory
 */
export function serverFolder(name, user, diskMegabytes) {
  const path = mkdtempSync(join(tmpdir(), `lull-${name}-`));
  const mounted = diskMegabytes !== undefined;
  if (mounted) execFileSync("mount", ["-t", "tmpfs", "-o", `size=${diskMegabytes}m`, "lull", path], { stdio: "pipe" });
  if (user !== undefined) chownSync(path, user.uid, user.gid);
  chmodSync(path, 0o700);
  return {
    path,
    remove() {
      if (mounted) execFileSync("umount", ["--lazy", path], { stdio: "pipe" });
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** Whether this process may give a server a disk of its own. */
export function mayMount() {
  try {
    serverFolder("disk", undefined, 1).remove();
    return true;
  } catch {
    return false;
  }
}

/**
 * Fills the disk that a folder is on, up to the last block.
 * @param {string} folder
 * @returns {{ free(): void }}
 */
export function fillDisk(folder) {
  const path = join(folder, "filler");
  for (let bytes = 1 << 20; bytes >= 512; ) {
    try {
      appendFileSync(path, Buffer.alloc(bytes));
    } catch {
      bytes >>= 1;
    }
  }
  return { free: () => rmSync(path, { force: true }) };
}

/**
 * The user to run as when we are root; undefined when we are not, null when there is none.
 * @param {string} name
 * @returns {User | undefined | null}
 */
export function userFor(name) {
  if (process.getuid?.() !== 0) return undefined;
  try {
    const id = (/** @type {string} */ flag) => Number(execFileSync("id", [flag, name], { encoding: "utf8" }));
    return { uid: id("-u"), gid: id("-g") };
  } catch {
    return null;
  }
}

/**
 * Starts a program that stays. Its output is kept for the error message should it end early.
 * @param {string} program
 * @param {string[]} args
 * @param {{ user?: User | undefined, cwd?: string, env?: Record<string, string> }} [options]
 */
export function startProgram(program, args, { user, cwd, env } = {}) {
  const child = spawn(program, args, {
    ...user,
    ...(cwd === undefined ? {} : { cwd }),
    env: { PATH: process.env.PATH, LC_ALL: "C", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  /** @param {Buffer} chunk */
  const keep = (chunk) => {
    output = (output + chunk).slice(-20_000);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  /** @type {Promise<void>} */
  const ended = new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", (error) => {
      keep(Buffer.from(String(error)));
      resolve();
    });
  });
  const end = () => child.kill("SIGKILL");
  // Should the test run end without its clean-up.
  process.once("exit", end);
  void ended.then(() => process.off("exit", end));
  return { child, ended, output: () => output };
}

/**
 * Resolves when `ready` does not throw any more.
 * @param {ReturnType<typeof startProgram>} program
 * @param {() => Promise<unknown>} ready
 */
export async function untilReady(program, ready, limitMs = 30_000) {
  const giveUpAt = Date.now() + limitMs;
  for (;;) {
    try {
      await ready();
      return;
    } catch (error) {
      const { exitCode, signalCode } = program.child;
      if (exitCode !== null || signalCode !== null || Date.now() > giveUpAt)
        throw new Error(`the server did not start: ${error}\n${program.output()}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
