// `node scripts/scenarios.mjs`: writes docs/scenarios.md from the scenarios and their rows. With `--check` it only
// fails when the page is not current; the unit tests do the same.
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const check = process.argv.includes("--check");
const only = ["--project", "unit", "packages/lull/test/scenarios/page.test.ts"];
const { status } = spawnSync(
  process.execPath,
  [join(root, "node_modules/vitest/vitest.mjs"), "run", ...only, ...(check ? [] : ["--update"])],
  { cwd: root, stdio: "inherit", env: { ...process.env, ...(check && { CI: "1" }) } },
);
process.exitCode = status ?? 1;
