/**
 * Postgres inside this process: PGlite, for tests and for programs of one process.
 *
 * @module
 */
import type { Driver, PGliteLike, Row } from "./driver.ts";

export function pgliteDriver(db: PGliteLike): Driver {
  return {
    concurrency: 1,
    inMemory: db.dataDir === undefined || db.dataDir === "" || db.dataDir.startsWith("memory:"),
    async query(text, values) {
      const { rows } = await db.query(text, [...values()], { rowMode: "array" });
      return rows as Row[];
    },
    async script(text) {
      await db.exec(text);
    },
    listen: (channel, onNotify) => db.listen(channel, onNotify),
    end: () => db.close(),
    leave: () => {},
  };
}
