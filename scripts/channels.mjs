// Writes the tables of docs/channels.md: platforms, from packages/lull/src/channels/platforms.ts (built), and what is
// tested on them, from channel-gates.mjs.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { platformTable } from "lull/channels";
import { gateTable } from "./channel-gates.mjs";

const path = fileURLToPath(new URL("../docs/channels.md", import.meta.url));
const page = readFileSync(path, "utf8");
const fill = (/** @type {string} */ text, /** @type {RegExp} */ marks, /** @type {string} */ table) => {
  if (!marks.test(text)) throw new Error(`docs/channels.md has lost the mark in front of a table: ${marks}`);
  return text.replace(marks, (_all, before, after) => `${before}\n${table}\n${after}`);
};
const withPlatforms = fill(
  page,
  /(<!-- Generated: node scripts\/channels\.mjs -->\n)[\s\S]*?(\n## What is tested on them)/,
  platformTable(),
);
const marks = /(<!-- Generated: node scripts\/channels\.mjs, from channel-gates\.mjs -->\n)[\s\S]*?(\n## Hearing)/;
writeFileSync(path, fill(withPlatforms, marks, gateTable()));
