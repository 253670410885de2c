// A short walk through every configuration; `npm run explore` goes on, `npm run mutants` shows that it would find faults.
import { catalogue, configOf, explore, plain } from "lull/testing";
import { describe, expect, it } from "vitest";

describe("the explorer", () => {
  it("sees a small world whole: every way through it ends at rest", () => {
    const seen = explore({ ...plain, inputs: 2 });
    expect(seen).toMatchObject({ complete: true, found: [] });
    expect(seen.states).toBeGreaterThan(100);
    expect(seen.rests).toBeGreaterThan(0);
  });

  it("says what it found as a shortest trace, a line a step", () => {
    // A lease shorter than the window: nobody can hold it while the user is waited for.
    const limits = { ...plain.limits, leaseMs: 500, turnTimeoutMs: 500 };
    const { found, complete } = explore({ ...plain, inputs: 1, limits });
    expect(complete).toBe(false);
    const [first] = found;
    expect(first?.invariant).toMatch(/^I\d/);
    expect(first?.trace[0]).toMatch(/^ +\+0\.0 s user writes m1: accepted$/);
  });

  it("counts the same states each time", () => {
    const config = { ...plain, inputs: 2, faults: 1, faultKinds: ["crash"] as const };
    expect(explore(config)).toEqual(explore(config));
  });

  it("knows its configurations by name", () => {
    expect(new Set(catalogue.map(({ name }) => name)).size).toBe(catalogue.length);
    expect(configOf("core")?.about).not.toBe("");
    expect(configOf("nothing of the sort")).toBeUndefined();
  });
});

describe("the first states of", () => {
  it.each(catalogue.map((config) => [config.name, config] as const))("%s", (_, config) => {
    expect(explore(config, { limit: 500 }).found).toEqual([]);
  });
});
