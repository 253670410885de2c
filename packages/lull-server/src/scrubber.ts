/**
 * The thread that scrubs a SQLite file, with a connection of its own (see store.ts).
 *
 * @module
 */
import { workerData } from "node:worker_threads";
import { scrub } from "lull/sqlite";
import { sqliteDriver } from "./driver.ts";

const { path } = workerData as { path: string };
const db = (await sqliteDriver()).open(path);
try {
  await scrub(db);
} finally {
  db.close?.();
}
