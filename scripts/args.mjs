// The command line of a script whose first comment says how it is used: `--help` prints that comment; what the script does
// not know ends it with code 2 and the same comment.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

/**
 * @template {NonNullable<import("node:util").ParseArgsConfig["options"]>} O
 * @param {string} url the script's `import.meta.url`
 * @param {O} options
 * @returns {ReturnType<typeof parseArgs<{ options: O }>>["values"]}
 */
export function readArgs(url, options) {
  try {
    const { values } = parseArgs({ options: { ...options, help: { type: /** @type {const} */ ("boolean") } } });
    if (!("help" in values && values.help)) return /** @type {any} */ (values);
    console.log(usageOf(url));
    process.exit(0);
  } catch (error) {
    console.error(`${/** @type {Error} */ (error).message}\n\n${usageOf(url)}`);
    process.exit(2);
  }
}

/** @param {string} url */
function usageOf(url) {
  const lines = readFileSync(fileURLToPath(url), "utf8").split("\n");
  const end = lines.findIndex((line) => !line.startsWith("//"));
  return lines
    .slice(0, end)
    .map((line) => line.replace(/^\/\/ ?/, ""))
    .join("\n");
}
