// Tries the newest release of the Chat SDK, outside the tree: installs it beside a copy of the tests of lull/chat-sdk and
// runs them. Says which release, and exits with the tests' own code. Needs the network; CI runs it apart from the rest.
// One to two minutes; a step that takes twenty is ended, and counts as failed.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "lull-newest-chat-"));
const mostMs = 1_200_000;
/** @param {string} command @param {string[]} args */
function run(command, args) {
  const env = { ...process.env, LULL_TEST_NEWEST: "1" };
  // Killed, since npm does not end by itself while it waits for a registry.
  const ended = spawnSync(command, args, {
    cwd: folder,
    stdio: "inherit",
    env,
    timeout: mostMs,
    killSignal: "SIGKILL",
  });
  if (ended.error) console.error(`newest chat: ${command} ${args[0]}: ${ended.error.message}`);
  return ended.status ?? 1;
}

try {
  const tree = [
    "package.json",
    "package-lock.json",
    "vitest.config.ts",
    "tsconfig.base.json",
    "packages",
    "examples",
    "scripts",
  ];
  for (const name of tree)
    cpSync(join(root, name), join(folder, name), {
      recursive: true,
      filter: (path) => !/[/\\](?:node_modules|dist)$/.test(path),
    });
  const manifest = join(folder, "package.json");
  const { overrides: _, ...rest } = JSON.parse(readFileSync(manifest, "utf8"));
  writeFileSync(manifest, JSON.stringify(rest));
  const adapters = ["telegram", "slack", "whatsapp", "discord", "state-memory"].map((name) => `@chat-adapter/${name}`);
  const newest = ["chat", ...adapters].map((name) => `${name}@latest`);
  const installed = run("npm", [
    "install",
    "--no-audit",
    "--no-fund",
    "--force",
    "-D",
    "-w",
    "packages/lull",
    // What the tests share, vitest and a driver for SQLite, belongs to the root.
    "--include-workspace-root",
    ...newest,
  ]);
  if (installed === 0) run("npm", ["ls", "chat"]);
  process.exitCode =
    installed === 0 ? run("npx", ["vitest", "run", "--project", "unit", "packages/lull/test/chat-sdk"]) : installed;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
