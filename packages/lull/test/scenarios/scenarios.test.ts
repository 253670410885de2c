// Public bug reports about chat bots, told again as timelines, with lull in the bot's place.
import { describe, expect, it } from "vitest";
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
  const told = Object.entries(entries).flatMap(([id, scenario]) => ("run" in scenario ? [{ id, scenario }] : []));
  if (told.length === 0) continue;
  describe(kind, () => {
    for (const { id, scenario } of told)
      it(`${id} ${scenario.title}`, async () => {
        const [memory, sqlite] = [await play(scenario, "memory"), await play(scenario, "sqlite")];
        if (scenario.differs === undefined) expect(sqlite).toEqual(memory);
      });
  });
}
