import { chmod, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Sources } from "../config.ts";
import { CliError } from "./client.ts";
import { checkDatabase, type Instead, sqlitePath, sync, withDatabase } from "./files.ts";

const instead: Instead = {
  postgres: (schema) =>
    `Use its own tools: pg_dump --schema=${schema} --format=custom (a snapshot while it serves), or continuous archiving.`,
  redis: "Use its own tools: copy its snapshot after BGSAVE, or its append-only files; see docs/operate.md.",
};

/**
 * `lull backup`: one consistent copy of the SQLite file while servers write to it. Written beside its final name, checked,
 * synced and renamed, so a file of that name is always a whole one.
 */
export async function backup(to: string | undefined, sources: Sources): Promise<void> {
  const from = await sqlitePath(sources, instead);
  if (!(await exists(from))) throw new CliError(`There is no database at ${from}.`);
  const target = resolve(to ?? `lull-${new Date().toISOString().replace(/[:.]/g, "-")}.db`);
  if (await exists(target)) throw new CliError(`${target} exists; choose another name.`);
  const partial = `${target}.partial`;
  await rm(partial, { force: true });
  try {
    // A snapshot inside one read transaction: writers go on. Free pages, and what was deleted, are not copied.
    await withDatabase(from, (db) => {
      db.exec("pragma busy_timeout = 10000");
      db.exec(`vacuum into '${partial.replaceAll("'", "''")}'`);
    });
    await chmod(partial, 0o600);
    const { conversations } = await withDatabase(partial, (db) => checkDatabase(db, partial));
    await sync(partial);
    await rename(partial, target);
    await sync(dirname(target));
    const { size } = await stat(target);
    console.log(`${target}: ${conversations} conversations, ${size} bytes. Put it back with: lull restore ${target}`);
  } catch (error) {
    await rm(partial, { force: true });
    throw error instanceof CliError ? error : new CliError(`The backup failed: ${(error as Error).message}.`);
  }
}

export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
