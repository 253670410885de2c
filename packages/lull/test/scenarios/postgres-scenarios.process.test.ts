// The same timelines on a real Postgres: every step as in memory.
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PostgresServer, startPostgres } from "../../../../scripts/servers/postgres.mjs";
import { postgres } from "../../src/stores/postgres/index.ts";
import { tables } from "../stores/postgres.ts";
import type { Told } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";
import { createWorld, type MakeStore, type StoreKind, type World } from "./world.ts";

let server: PostgresServer;
let pool: Pool;
beforeAll(async () => {
  server = await startPostgres({ settings: { fsync: "off", synchronous_commit: "off" } });
  pool = new Pool({ connectionString: server.url });
});
afterAll(async () => {
  await pool?.end();
  await server?.end();
});

/** Each world of a scenario in a schema of its own; they are emptied and used again. */
let worlds = 0;
const onPostgres: MakeStore = ({ now }) => postgres(pool, { now, schema: `w${++worlds}` });

async function emptySchemas(): Promise<void> {
  for (; worlds > 0; worlds--) await server.run(`truncate ${tables.map((table) => `w${worlds}.${table}`).join()}`);
}

async function play(scenario: Told, store: StoreKind): Promise<string[]> {
  const made: World[] = [];
  try {
    await scenario.run((setting) => {
      const world = createWorld(store, setting);
      made.push(world);
      return world;
    });
    for (const world of made) await world.verify();
    return made.flatMap((world) => world.trace);
  } finally {
    for (const world of made) await world.close();
    await emptySchemas();
  }
}

const kinds = Object.entries(scenarios)
  .map(([kind, entries]) => ({
    kind,
    told: Object.entries(entries).flatMap(([id, scenario]) => ("run" in scenario ? [{ id, scenario }] : [])),
  }))
  .filter(({ told }) => told.length > 0);

describe.each(kinds)("$kind", ({ told }) => {
  it.each(told)("$id $scenario.title", async ({ scenario }) => {
    const trace = await play(scenario, onPostgres);
    if (scenario.differs === undefined) expect(trace).toEqual(await play(scenario, "memory"));
  });
});
