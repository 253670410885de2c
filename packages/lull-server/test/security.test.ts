/** docs/security.md is a promise: each row of its table of threats names a test, and the test is there. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");

test("every threat has a test, by its name", () => {
  const page = read("../../../docs/security.md");
  const table = page.slice(page.indexOf("## Threats"), page.indexOf("## What is left to you"));
  const rows = table.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| Threat"));
  expect(rows.length).toBeGreaterThan(25);
  for (const row of rows) {
    const [, file, name] = /`([\w.]+\.test\.ts)`: (.+?) \|$/.exec(row) ?? expect.unreachable(`names no test: ${row}`);
    const source = read(`${file?.endsWith(".browser.test.ts") ? "../../web/test" : "."}/${file}`);
    const tests = [...source.matchAll(/\b(?:test|gate)(?:\.\w+)?(?:\([^()"]*\))?\(\s*"((?:[^"\\]|\\.)*)"/g)];
    expect(
      tests.map((match) => match[1]),
      `${file} has no such test`,
    ).toContain(name);
  }
});

test("SECURITY.md says where to report", () => {
  expect(read("../../../SECURITY.md")).toMatch(/Report.+privately/);
});
