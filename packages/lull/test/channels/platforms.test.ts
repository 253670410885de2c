// The table and its page say the same; doubles and helpers keep to it.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { platformOf, platforms, platformTable } from "../../src/channels/platforms.ts";

const page = readFileSync(fileURLToPath(new URL("../../../../docs/channels.md", import.meta.url)), "utf8");

it("docs/channels.md has the table: node scripts/channels.mjs", () => {
  expect(page).toContain(platformTable());
});

it("knows platforms by the names of the Chat SDK's adapters", () => {
  expect(platformOf("telegram")).toBe(platforms.telegram);
  expect(platformOf("constructor")).toBeNull();
});
