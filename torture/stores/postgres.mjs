// A PostgreSQL server of its own, shared by all workers. An outage is a crash of the server.
import { postgresMissing, startPostgres } from "../../scripts/servers/postgres.mjs";

/** @type {import("./index.mjs").StoreAdapter} */
export const postgres = {
  name: "postgres",

  async prepare() {
    const missing = postgresMissing();
    if (missing !== null) throw new Error(missing);
    const server = await startPostgres();
    return {
      place: server.url,
      cut: () => server.stop("immediate"),
      restore: () => server.start(),
      close: () => server.end(),
    };
  },

  async open(place, lib) {
    const { default: pg } = await import("pg");
    const { postgres: store } = await import(lib("stores/postgres/index.js"));
    const pool = new pg.Pool({ connectionString: place, max: 5 });
    // Connections that a crash of the server broke: the next call opens another one.
    pool.on("error", () => {});
    return store(pool, { hints: true });
  },
};
