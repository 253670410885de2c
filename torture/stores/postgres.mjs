// A PostgreSQL server of its own behind a proxy, shared by all workers. Its outages: a crash, connections ended by an
// administrator, a network that goes silent, all connections taken by others, a full disk (where this process may give
// the server a disk of its own).
import pg from "pg";
import { postgresMissing, startPostgres } from "../../scripts/servers/postgres.mjs";
import { fillDisk, mayMount } from "../../scripts/servers/process.mjs";
import { startProxy } from "../../scripts/servers/proxy.mjs";
import { sleep } from "../random.mjs";

/** Enough for a run of some hours; small enough to be filled in a second. */
const diskMegabytes = 1_024;
const mostConnections = 60;

/** @type {import("./index.mjs").StoreAdapter} */
export const postgres = {
  name: "postgres",

  async prepare() {
    const missing = postgresMissing();
    if (missing !== null) throw new Error(missing);
    const settings = { max_connections: mostConnections, superuser_reserved_connections: 5, max_wal_size: "256MB" };
    const server = await startPostgres({ settings, ...(mayMount() ? { diskMegabytes } : {}) });
    const proxy = await startProxy(server.port);
    // An ordinary user, who gets none of the connections kept for administrators.
    await server.run("create role bot login; grant create on database postgres to bot");
    const place = `postgres://bot@127.0.0.1:${proxy.port}/postgres`;

    const endAll = () =>
      server.run("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'bot'").catch(() => {});

    /** Each cuts the store off and resolves to what restores it. @type {Record<string, () => Promise<() => unknown>>} */
    const outages = {
      async crash() {
        await server.stop("immediate");
        return () => server.start();
      },
      async terminate() {
        await endAll();
        const again = setInterval(endAll, 150);
        return () => clearInterval(again);
      },
      async silence() {
        proxy.silence();
        return () => proxy.heal();
      },
      async exhaust() {
        await endAll();
        /** @type {import("pg").Client[]} */
        const taken = [];
        let taking = true;
        const take = async () => {
          while (taking) {
            const client = new pg.Client({ connectionString: `postgres://bot@127.0.0.1:${server.port}/postgres` });
            client.on("error", () => {});
            try {
              await client.connect();
              taken.push(client);
            } catch {
              // None is left.
              await sleep(20);
            }
          }
        };
        const all = Promise.all([take(), take(), take(), take()]);
        return async () => {
          taking = false;
          await all;
          await Promise.all(taken.map((client) => client.end().catch(() => {})));
        };
      },
      async full() {
        const filler = fillDisk(server.disk);
        return async () => {
          filler.free();
          // Without room for its write-ahead log the server stops.
          await sleep(100);
          await server.run("select 1").catch(() => server.stop("immediate").then(() => server.start()));
        };
      },
    };
    if (!mayMount()) {
      delete outages.full;
      console.error("No disk of its own for the server (that takes root): its disk is never full in this run.");
    }

    /** @type {() => unknown} */
    let restore = () => {};
    return {
      place,
      async cut(random) {
        const kind = random.pick(Object.keys(outages));
        restore = (await outages[kind]?.()) ?? restore;
        return kind;
      },
      async restore() {
        await restore();
      },
      async close() {
        await proxy.end();
        await server.end();
      },
    };
  },

  async open(place, lib) {
    const { default: pg } = await import("pg");
    const { postgres: store } = await import(lib("stores/postgres/index.js"));
    const pool = new pg.Pool({ connectionString: place, max: 5, connectionTimeoutMillis: 2_000 });
    // Connections that a crash of the server broke: the next call opens another one.
    pool.on("error", () => {});
    return store(pool, { hints: true, timeLimitMs: 2_000 });
  },
};
