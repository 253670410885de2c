// Every report has its scenario, and the page that lists them is current.
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { pageOf } from "./page.ts";
import rows from "./rows.json" with { type: "json" };
import { scenarios } from "./scenarios.ts";

describe("the scenarios", () => {
  it("are the rows of rows.json, each under its kind", () => {
    const told = Object.entries(scenarios).flatMap(([kind, entries]) =>
      Object.keys(entries).map((id) => `${kind} ${id}`),
    );
    expect(told.sort()).toEqual(rows.map(({ id, kind }) => `${kind} ${id}`).sort());
  });

  it("are listed in docs/scenarios.md (node scripts/scenarios.mjs writes it)", async () => {
    const page = fileURLToPath(new URL("../../../../docs/scenarios.md", import.meta.url));
    await expect(pageOf(rows, scenarios)).toMatchFileSnapshot(page);
  });
});
