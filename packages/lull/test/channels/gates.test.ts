// The table of what is tested on which platform: the page prints it, the tests run over it, platforms say the same.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { able, gates, gateTable, names } from "../../../../scripts/channel-gates.mjs";
import { platforms } from "../../src/channels/platforms.ts";

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../../../../${path}`, import.meta.url)), "utf8");
const ids = Object.keys(gates) as (keyof typeof gates)[];

it("docs/channels.md has the table: node scripts/channels.mjs", () => {
  expect(read("docs/channels.md")).toContain(gateTable());
});

describe.each(ids)("%s", (id) => {
  it.each(["withLull", "server"] as const)("%s: its test runs over the platforms that the table names", (way) => {
    const { file, test } = gates[id][way];
    const source = read(file);
    expect(source.split(test).length, `${file} has "${test}" once`).toBe(2);
    // The declaration of the test, or its body, takes its platforms from the table.
    const at = source.indexOf(test);
    const around = source.slice(source.lastIndexOf("\n\n", at), source.indexOf("\n});", at));
    expect(around).toContain(`able("${id}")`);
  });
});

it("what a platform cannot do is what its own row in the table of platforms says", () => {
  const unable = (can: (name: (typeof names)[number]) => boolean) => names.filter((name) => !can(name));
  const lacking = (id: keyof typeof gates) => names.filter((name) => !able(id).includes(name));
  expect(lacking("edit")).toEqual(unable((name) => platforms[name].editsIn));
  expect(lacking("deletion")).toEqual(unable((name) => platforms[name].deletionsIn));
  expect(lacking("write")).toEqual(unable((name) => platforms[name].retriesMs.length > 0));
  expect(
    ["burst", "kill", "refusal", "album", "stop"].filter((id) => lacking(id as keyof typeof gates).length > 0),
  ).toEqual([]);
});
