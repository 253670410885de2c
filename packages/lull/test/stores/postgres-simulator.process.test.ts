// The simulator's seeds on a real server, by every way to it: no promise broken, and the same trace as in memory.
import { PGlite } from "@electric-sql/pglite";
import { Pool } from "pg";
import postgresJs from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type PostgresServer, startPgBouncer, startPostgres } from "../../../../scripts/servers/postgres.mjs";
import { migrate, type PostgresClient, postgres } from "../../src/stores/postgres/index.ts";
import { simulate } from "../../src/testing/index.ts";
import { tables } from "./postgres.ts";

let server: PostgresServer;
let bouncer: Awaited<ReturnType<typeof startPgBouncer>>;
beforeAll(async () => {
  // Only simulated crashes here.
  server = await startPostgres({ settings: { fsync: "off", synchronous_commit: "off" } });
  bouncer = await startPgBouncer(server);
});
afterAll(async () => {
  await bouncer?.end();
  await server?.end();
});

interface Way {
  name: string;
  seeds: number;
  make(): Promise<{ client: PostgresClient; run(text: string): Promise<unknown>; end(): Promise<void> }>;
}

async function onServer(client: PostgresClient & { end(): Promise<void> }) {
  return { client, run: (text: string) => server.run(text), end: () => client.end() };
}

const ways: Way[] = [
  { name: "pg", seeds: 15, make: () => onServer(new Pool({ connectionString: server.url })) },
  { name: "postgres.js", seeds: 8, make: () => onServer(postgresJs(server.url) as never) },
  { name: "pg through PgBouncer", seeds: 8, make: () => onServer(new Pool({ connectionString: bouncer.url })) },
  {
    name: "postgres.js through PgBouncer",
    seeds: 4,
    make: () => onServer(postgresJs(bouncer.url, { prepare: false }) as never),
  },
  {
    name: "PGlite",
    seeds: 2,
    async make() {
      const client = await PGlite.create();
      return { client, run: (text) => client.exec(text), end: () => client.close() };
    },
  },
];

test.each(ways)(
  "$seeds seeds of the simulator have the same trace through $name",
  async ({ seeds, make }) => {
    const { client, run, end } = await make();
    try {
      await migrate(client);
      for (let seed = 1; seed <= seeds; seed++) {
        await run(`truncate ${tables.map((table) => `lull.${table}`).join()}`);
        const { hash, violations } = await simulate(seed, { store: ({ now }) => postgres(client, { now }) });
        expect(violations, `seed ${seed}`).toEqual([]);
        expect([seed, hash]).toEqual([seed, (await simulate(seed)).hash]);
      }
    } finally {
      await end();
    }
  },
  240_000,
);
