import { LullError } from "lull";
import { scrub as scrubDatabase } from "lull/sqlite";
import type { Sources } from "../config.ts";
import { CliError } from "./client.ts";
import { type Instead, sqlitePath, withDatabase } from "./files.ts";

const instead: Instead = {
  postgres: (schema) => `Run there: VACUUM FULL ${schema}.lull_log, ${schema}.lull_record`,
  redis: "Nothing stays in its memory; rewrite its files with BGSAVE and BGREWRITEAOF.",
};

/** `lull scrub`: no trace of what was erased or pruned stays in the file or its log. Beside running servers, too. */
export async function scrub(sources: Sources): Promise<void> {
  const path = await sqlitePath(sources, instead);
  const began = performance.now();
  try {
    await withDatabase(path, (db) => scrubDatabase(db));
  } catch (error) {
    if (!LullError.isInstance(error)) throw error;
    throw new CliError(error.message);
  }
  console.log(`${path}: written anew in ${Math.round(performance.now() - began)} ms, its log is empty.`);
}
