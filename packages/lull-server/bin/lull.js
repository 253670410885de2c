#!/usr/bin/env node
// What npm links as `lull` and `lull-server`. In the repository, unlike dist, because npm links only what is there when it installs.
import { existsSync } from "node:fs";

const program = new URL("../dist/cli/bin.js", import.meta.url);
if (existsSync(program)) await import(program.href);
else {
  console.error("lull is not built yet: run `npm run build` in its repository.");
  process.exitCode = 1;
}
