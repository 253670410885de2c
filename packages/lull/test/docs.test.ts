// What the pages name exists: files, headings, tests.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const pages = [
  ...readdirSync(root).map((name) => join(root, name)),
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).map((name) => join(root, "docs", name)),
  ...["packages/lull/README.md", "packages/lull-server/README.md", "torture/README.md"].map((path) => join(root, path)),
].filter((path) => path.endsWith(".md") && existsSync(path));

/** Links of a page outside its code: [text](target). */
function links(path: string): { text: string; target: string }[] {
  const prose = readFileSync(path, "utf8").replace(/^```[\s\S]*?^```/gm, "");
  return [...prose.matchAll(/\[([^\][]+)\]\(([^()\s]+)\)/g)].map(([, text = "", target = ""]) => ({ text, target }));
}

/** As GitHub makes them: small letters, hyphens for spaces, nothing but letters, digits, hyphens and underscores. */
function anchors(path: string): Set<string> {
  const headings =
    readFileSync(path, "utf8")
      .replace(/^```[\s\S]*?^```/gm, "")
      .match(/^#+ .*$/gm) ?? [];
  return new Set(
    headings.map((line) =>
      line
        .replace(/^#+ /, "")
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .replace(/\s/g, "-"),
    ),
  );
}

describe.each(pages.map((path) => [relative(root, path), path]))("%s", (_, page) => {
  const here = links(page).filter(({ target }) => !/^[a-z]+:/.test(target));

  it("links to what is there", () => {
    const broken = here.filter(({ target }) => {
      const [file = "", anchor] = target.split("#");
      const path = file === "" ? page : join(dirname(page), file);
      if (!existsSync(path)) return true;
      return anchor !== undefined && path.endsWith(".md") && !anchors(path).has(anchor);
    });
    expect(broken).toEqual([]);
  });

  it("names tests that exist", () => {
    const tests = here.filter(({ text, target }) => text.startsWith("`") && /\.(?:test|contract)\.ts$/.test(target));
    const missing = tests.filter(({ text, target }) => {
      const name = text.slice(1, -1);
      // The name of the file itself stands for all of it.
      if (/\.ts$/.test(name)) return false;
      return !readFileSync(join(dirname(page), target), "utf8").includes(name);
    });
    expect(missing).toEqual([]);
  });
});

it("docs/failures.md has every failure of the catalogue once, with its proof", () => {
  const rows = readFileSync(join(root, "docs/failures.md"), "utf8").match(/^\| F\d+ \|.*$/gm) ?? [];
  const numbers = rows.map((row) => Number(/F(\d+)/.exec(row)?.[1])).sort((a, b) => a - b);
  expect(numbers).toEqual(Array.from({ length: 34 }, (_, index) => index + 1));
  for (const row of rows) expect(row.split(" | ").at(-1)?.length, row).toBeGreaterThan(30);
});

it("docs/chat-sdk.md has the newest result of the comparison: npm run compare:chat-sdk -- --write", () => {
  const table = (path: string) =>
    readFileSync(join(root, path), "utf8")
      .split("\n")
      .filter((line) => line.startsWith("| "))
      .join("\n");
  expect(table("scripts/compare/result.md").split("\n").length).toBeGreaterThan(10);
  expect(table("docs/chat-sdk.md")).toContain(table("scripts/compare/result.md"));
});
