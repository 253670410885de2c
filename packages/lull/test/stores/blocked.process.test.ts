// The author's code blocks the event loop for longer than the lease (F2 of docs/failures.md).
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { temporaryFolder } from "./database.ts";

let folder: ReturnType<typeof temporaryFolder>;
let children: ChildProcess[];
beforeEach(() => {
  folder = temporaryFolder();
  children = [];
});
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  folder.remove();
});

test("a process whose event loop was blocked past its lease sends nothing that another has answered", async () => {
  const path = folder.path("lull.db");
  const said: string[] = [];
  const start = (owner: string, blockMs: number) => {
    const script = fileURLToPath(new URL("processes/blocked.mjs", import.meta.url));
    const child = spawn(process.execPath, [script, path, owner, String(blockMs)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    children.push(child);
    createInterface({ input: child.stdout }).on("line", (line) => said.push(line));
    return child;
  };
  const soon = (check: () => void) => vi.waitFor(check, { timeout: 20_000, interval: 20 });
  const hears = (line: string) => soon(() => expect(said).toContain(line));
  const sends = () => said.filter((line) => line.includes(" sends "));

  const blocked = start("blocked", 4_000);
  await hears("blocked ready");
  blocked.stdin.write("m1\n");
  await hears("blocked attempt 1 at m1");
  // Only now: nobody else is to be first.
  start("other", 0);
  await hears("other sends m1");
  expect(said).toContain("other attempt 2 at m1");
  // It wakes with an answer to m1 in its hand, takes in m2, and goes on working.
  blocked.stdin.write("m2\n");
  await soon(() => expect(sends().length).toBe(2));
  expect(sends()[1]).toMatch(/ sends m2$/);
  await lasting(() => expect(sends().length).toBe(2));
}, 60_000);

/** Stays true for a second. */
async function lasting(check: () => void): Promise<void> {
  for (let times = 0; times < 10; times += 1) {
    check();
    await pause(100);
  }
}
