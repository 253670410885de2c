// `node scripts/check-package.mjs <package folder>`: the package holds what it declares and declares what it holds.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";

const folder = join(fileURLToPath(new URL("..", import.meta.url)), process.argv[2] ?? "packages/lull");
const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
/** @type {string[]} */
const problems = [];

// Peers only for subpaths of their own, and never required: the main entry needs nothing.
for (const field of ["dependencies", "optionalDependencies", "peerDependencies", "bundleDependencies"]) {
  const names = Object.keys(manifest[field] ?? {}).filter(
    (name) => field !== "peerDependencies" || manifest.peerDependenciesMeta?.[name]?.optional !== true,
  );
  if (names.length > 0) problems.push(`${field} must be empty, found: ${names.join(", ")}`);
}

/** @type {Set<string>} */
const declared = new Set();
for (const [subpath, target] of Object.entries(manifest.exports)) {
  for (const file of typeof target === "string" ? [target] : Object.values(target)) {
    declared.add(posix.normalize(file));
    if (!existsSync(join(folder, file))) problems.push(`"${subpath}" is declared but ${file} was not built`);
  }
}

// A store or channel is reached by its own subpath, or by being re-exported from the main entry.
const main = join(folder, "dist/index.js");
const mainText = existsSync(main) ? readFileSync(main, "utf8") : "";
for (const kind of ["stores", "channels"]) {
  const parent = join(folder, "dist", kind);
  for (const name of existsSync(parent) ? readdirSync(parent) : []) {
    const entry = `dist/${kind}/${name}/index.js`;
    if (!existsSync(join(folder, entry)) || declared.has(entry)) continue;
    if (mainText.includes(`"./${kind}/${name}/index.js"`)) continue;
    problems.push(`${entry} is built but no subpath declares it and the main entry does not export it`);
  }
}

for (const problem of problems) console.error(`${manifest.name}: ${problem}`);
if (problems.length > 0) process.exitCode = 1;
else console.log(`${manifest.name}: no dependencies; all ${Object.keys(manifest.exports).length} subpaths are built`);
