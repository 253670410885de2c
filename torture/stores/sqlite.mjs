// One SQLite file, shared by all workers. An outage is a lock that somebody else holds.
import { join } from "node:path";
import { sleep } from "../random.mjs";

/** @typedef {import("./index.mjs").StoreAdapter} StoreAdapter */

async function driver() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const builtIn = major > 22 || (major === 22 && minor >= 13);
  const { DatabaseSync } = await import(builtIn ? "node:sqlite" : "@photostructure/sqlite");
  return DatabaseSync;
}

/** @type {StoreAdapter} */
export const sqlite = {
  name: "sqlite",

  async prepare(folder) {
    const path = join(folder, "torture.db");
    const Database = await driver();
    /** @type {any} */
    let connection = null;
    /** True when the write lock is now ours. */
    const lock = () => {
      if (connection === null) {
        connection = new Database(path);
        connection.exec("pragma busy_timeout = 0");
      }
      try {
        connection.exec("begin immediate");
        return true;
      } catch {
        return false;
      }
    };
    const unlock = () => connection.exec("rollback");
    let cut = false;
    return {
      place: path,
      async cut() {
        while (!lock()) await sleep(1);
        cut = true;
      },
      async restore() {
        cut = false;
        unlock();
      },
      async held() {
        // Writers hold the lock for some milliseconds each; nobody who runs keeps it for so long.
        for (let tries = 0; tries < 80; tries += 1) {
          if (cut) return false;
          if (lock()) {
            unlock();
            return false;
          }
          await sleep(5);
        }
        return !cut;
      },
      async close() {
        connection?.close();
      },
    };
  },

  async open(place, lib) {
    const Database = await driver();
    const { sqlite: store } = await import(lib("stores/sqlite/index.js"));
    return store(new Database(place));
  },
};
