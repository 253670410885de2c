import { copyFile, mkdir, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { LullError } from "lull";
import { sqlite } from "lull/sqlite";
import type { Sources } from "../config.ts";
import { exists } from "./backup.ts";
import { CliError } from "./client.ts";
import { checkDatabase, type Instead, sqlitePath, sync, withDatabase } from "./files.ts";

const paused = "then start servers with LULL_START_PAUSED=on.";
const instead: Instead = {
  postgres: (schema) => `Use its own tools (pg_restore, schema ${schema}), ${paused}`,
  redis: `Put its snapshot or append-only files back with its own tools, ${paused}`,
};

/**
 * `lull restore`: puts a backup where servers look for their database. The copy is paused: what had waited when the backup
 * was made has been answered since, by the database that is gone.
 */
export async function restore(from: string, options: { replace?: boolean }, sources: Sources): Promise<void> {
  const target = await sqlitePath(sources, instead);
  const source = resolve(from);
  if (!(await exists(source))) throw new CliError(`There is no file ${source}.`);
  const isThere = await exists(target);
  if (isThere && !options.replace)
    throw new CliError(`${target} exists. Stop the servers that use it, then: lull restore --replace ${from}`);
  if (isThere) await withDatabase(target, (db) => checkUnused(db, target));
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  const partial = `${target}.partial`;
  try {
    await copyFile(source, partial);
    const { conversations } = await withDatabase(partial, async (db) => {
      const checked = checkDatabase(db, source);
      const store = sqlite(db);
      const { nowMs } = await store.due(0, 1);
      await store.setPause?.({ sinceMs: nowMs, by: "lull restore", reason: "restored from a backup" });
      await store.close();
      // One file again, without a log beside it.
      db.exec("pragma journal_mode = delete");
      return checked;
    });
    await sync(partial);
    const aside = isThere ? await setAside(target) : null;
    await rename(partial, target);
    await sync(dirname(target));
    console.log(`${target}: ${conversations} conversations, paused.`);
    if (aside !== null) console.log(`What was there before is ${aside}; delete it when you are sure.`);
    console.log("Start the servers: they take messages in, and answer nothing until");
    console.log(
      "  lull unpause --drop-waiting   what waited in the backup is not answered (it was, since), what came later is",
    );
    console.log("  lull unpause                  everything that waits is answered");
  } catch (error) {
    for (const end of ["", "-wal", "-shm", "-journal"]) await rm(partial + end, { force: true });
    if (error instanceof CliError) throw error;
    const why = LullError.isInstance(error) ? error.message : (error as Error).message;
    throw new CliError(`The backup was not put back: ${why}`);
  }
}

/** With another connection open, an exclusive one cannot be had. */
function checkUnused(db: import("lull/sqlite").SqliteLike, path: string): void {
  try {
    db.exec("pragma busy_timeout = 1000; pragma locking_mode = exclusive");
    db.exec("begin exclusive; commit");
    // Whatever its log still held is in the file now.
    db.prepare("pragma wal_checkpoint(truncate)").get({});
  } catch (error) {
    throw new CliError(`${path} is in use: stop the servers first (${(error as Error).message}).`);
  }
}

async function setAside(path: string): Promise<string> {
  const aside = `${path}.before-${new Date().toISOString().replace(/[:.]/g, "-")}`;
  for (const end of ["-wal", "-shm"]) if (await exists(path + end)) await rename(path + end, aside + end);
  await rename(path, aside);
  return aside;
}
