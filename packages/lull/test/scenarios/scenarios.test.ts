// Public bug reports about chat bots, told again as timelines, with lull in the bot's place.
import { describe, expect, it } from "vitest";
import rows from "./rows.json" with { type: "json" };
import type { Told } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";
import { createWorld, type Setting, type StoreKind, type World } from "./world.ts";

/** Runs a scenario on one store, and resolves to everything that happened. */
async function play(scenario: Told, store: StoreKind): Promise<string[]> {
  const worlds: World[] = [];
  const trace = () => worlds.flatMap((world) => world.trace);
  const start = (setting?: Setting) => {
    const world = createWorld(store, setting);
    worlds.push(world);
    return world;
  };
  try {
    await scenario.run(start);
    for (const world of worlds) await world.verify();
    return trace();
  } catch (error) {
    throw new Error(`On ${store}: ${(error as Error).message}\n\n${trace().join("\n")}`, { cause: error });
  } finally {
    for (const world of worlds) await world.close();
  }
}

for (const [kind, entries] of Object.entries(scenarios)) {
  describe(kind, () => {
    for (const [id, scenario] of Object.entries(entries)) {
      if (!("run" in scenario)) continue;
      it(`${id} ${scenario.title}`, async () => {
        const [memory, sqlite] = [await play(scenario, "memory"), await play(scenario, "sqlite")];
        if (scenario.differs === undefined) expect(sqlite).toEqual(memory);
      });
    }
  });
}

describe("the scenarios", () => {
  it("are those of rows.json", () => {
    const known = rows.map(({ id, kind }) => `${kind} ${id}`);
    const told = Object.entries(scenarios).flatMap(([kind, entries]) =>
      Object.keys(entries).map((id) => `${kind} ${id}`),
    );
    expect(told.filter((name) => !known.includes(name))).toEqual([]);
  });

  it("leave out no row of the kinds told", () => {
    const missing = rows.filter(({ id, kind }) => scenarios[kind] !== undefined && scenarios[kind][id] === undefined);
    expect(missing.map(({ id }) => id)).toEqual([]);
  });
});
