// Builds the pages into packages/lull-server/web. Everything is built before anything is written, and what nothing refers to
// any more is removed last: a server that hands out the folder meanwhile never misses a file.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "vite";
import { outDir, pages, widget } from "./vite.config.mjs";

/** @type {Map<string, string | Uint8Array>} */
const files = new Map();
for (const [config, folder] of /** @type {const} */ ([
  [pages, ""],
  [widget, "widget"],
])) {
  const built = await build(config);
  if ("close" in built) throw new Error("the build watches instead of ending");
  for (const { output } of [built].flat()) {
    for (const file of output) files.set(join(folder, file.fileName), file.type === "chunk" ? file.code : file.source);
  }
}

// The playground is also the server's first page, one folder higher.
const playground = String(files.get("playground/index.html"));
files.set("index.html", playground.replaceAll('"../', '"./'));

for (const [name, content] of files) {
  const path = join(outDir, name);
  mkdirSync(dirname(path), { recursive: true });
  if (!isThere(path, content)) writeFileSync(path, content);
}
for (const entry of readdirSync(outDir, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  if (entry.isFile() && !files.has(relative(outDir, path))) rmSync(path);
}

if (process.argv.includes("--sizes")) {
  for (const [name, content] of [...files].sort())
    console.log(`${String(gzipSync(content).length).padStart(8)} bytes gzipped  ${name}`);
}

/**
 * Files that are the same keep their times, so that browsers keep their copies.
 * @param {string} path
 * @param {string | Uint8Array} content
 */
function isThere(path, content) {
  try {
    return readFileSync(path).equals(Buffer.from(content));
  } catch {
    return false;
  }
}
