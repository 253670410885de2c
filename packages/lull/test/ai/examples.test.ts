// The examples run as they stand, offline, on both majors; and the pages show them word for word.
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it, type MockInstance, vi } from "vitest";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
let log: MockInstance<typeof console.log>;
beforeEach(() => {
  log = vi.spyOn(console, "log").mockImplementation(() => {});
});
afterEach(() => log.mockRestore());

async function run(name: string): Promise<string[]> {
  await import(`../../../../examples/ai-sdk/${name}.ts`);
  return log.mock.calls.map((line) => line.map(String).join(" "));
}

it("first.ts: three messages, one answer", async () => {
  expect(await run("first")).toEqual(["bot: Order #1234 is on its way."]);
});

it("tools.ts: one booking, with its key", async () => {
  expect(await run("tools")).toEqual([
    "books 7 on 24 December under ada:1:book(7/24 December)",
    "bot: Room 7 is yours.",
  ]);
});

it("streaming.ts: one message on the screen, growing", async () => {
  const lines = await run("streaming");
  expect(lines.length).toBeGreaterThan(1);
  expect(new Set(lines.map((line) => line.split(":")[0])).size).toBe(1);
  expect(lines.slice(0, -1).every((line) => line.endsWith(" …"))).toBe(true);
  expect(lines.at(-1)).toContain("before five o'clock this afternoon.");
});

it("budget.ts: two answers, then it says so", async () => {
  const lines = await run("budget");
  expect(lines.filter((line) => line.startsWith("bot:"))).toEqual([
    "bot: Order #1234 is on its way.",
    "bot: Order #1234 is on its way.",
    "bot: I have to rest until tomorrow.",
  ]);
  expect(lines).toContain("ada: 12 + 8 tokens, committed");
  expect(lines.at(-1)).toBe("answers cost 16 tokens, discarded attempts 0");
});

it("memory.ts: the thread of the last committed answer goes on", async () => {
  const answer = "bot: Order #1234 is on its way.";
  expect((await run("memory")).at(-1)).toBe(`user: question 1 / ${answer} / user: question 2 / ${answer}`);
});

it("telemetry.ts: the spans of a turn", async () => {
  const lines = await run("telemetry");
  for (const span of [
    "receive chat receive",
    "window ",
    "claim ",
    "commit ",
    "invoke_agent parcel-bot 8",
    "send deliver send",
  ])
    expect(lines).toContain(span);
});

it("stand in the pages word for word", () => {
  const blocks = ["docs/ai-sdk.md", "docs/telemetry.md", "README.md"].flatMap((page) =>
    [...readFileSync(root + page, "utf8").matchAll(/^```ts\n\/\/ (examples\/\S+)\n([\s\S]*?)^```/gm)].map(
      ([, path = "", code = ""]) => ({ page, path, code }),
    ),
  );
  expect(blocks.length).toBeGreaterThanOrEqual(5);
  for (const { page, path, code } of blocks) {
    expect(existsSync(root + path), `${page}: ${path}`).toBe(true);
    // A page may show a part, with … where it leaves something out.
    for (const piece of code.split(/^.*…\n/m))
      expect(readFileSync(root + path, "utf8"), `${page}: ${path}`).toContain(piece.trim());
  }
});
