// Writes the table of platforms into docs/channels.md, from packages/lull/src/channels/platforms.ts (built).
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { platformTable } from "lull/channels";

const path = fileURLToPath(new URL("../docs/channels.md", import.meta.url));
const page = readFileSync(path, "utf8");
const marks = /(<!-- Generated: node scripts\/channels\.mjs -->\n)[\s\S]*?(\n## Hearing)/;
if (!marks.test(page)) throw new Error("docs/channels.md has lost the mark in front of its table.");
writeFileSync(
  path,
  page.replace(marks, (_all, before, after) => `${before}\n${platformTable()}\n${after}`),
);
