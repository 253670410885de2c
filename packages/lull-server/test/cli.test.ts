import { describe, expect, test, vi } from "vitest";
import { runDemo } from "../src/cli/demo.ts";
import { details, eventLine } from "../src/cli/lines.ts";
import { secret } from "../src/cli/secret.ts";
import { hasColour, paint, plain } from "../src/cli/terminal.ts";
import { secretFault } from "../src/webhook.ts";

describe("lull demo", () => {
  test("the lock answers again and again, lull once per turn", async () => {
    const lines: string[] = [];
    const result = await runDemo({ write: (line) => lines.push(line), columns: 80, colour: false, speed: 5 });
    expect(result.lock.answers).toBe(6);
    expect(result.lock.outOfDate).toBeGreaterThanOrEqual(3);
    expect(result.lull).toMatchObject({ answers: 2, outOfDate: 0 });
    expect(result.lull.aborted).toBeGreaterThanOrEqual(1);
    const text = lines.join("\n");
    expect(text).toContain("Order #1243 comes tomorrow.");
    expect(text).not.toContain("\x1b");
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  }, 15_000);
});

describe("the terminal", () => {
  test("texts from outside cannot move the cursor or hide", () => {
    expect(plain("a\x1b[2Jb\u202Ec\nd\u0007")).toBe("a�[2Jb�c ⏎ d�");
  });
  test("colour only where it is wanted", () => {
    expect(hasColour({ isTTY: true }, {})).toBe(true);
    expect(hasColour({ isTTY: true }, { NO_COLOR: "1" })).toBe(false);
    expect(hasColour({ isTTY: true }, { TERM: "dumb" })).toBe(false);
    expect(hasColour({}, {})).toBe(false);
    expect(hasColour({}, { FORCE_COLOR: "1" })).toBe(true);
    expect(paint(false).red("x")).toBe("x");
  });
  test("events and entries are one line each", () => {
    const entry = { kind: "reply", from: 0, to: 3, parts: [{ type: "text", text: "a\nb" }], overtaken: true };
    expect(details(entry)).toBe("covers inputs 1–3, overtaken: a\nb");
    const line = eventLine(
      { type: "reply.committed", seq: 4, at: "2026-01-01T00:00:00.000Z", entry },
      paint(false),
      false,
    );
    expect(line).toMatch(/^ {4}4 \d\d:\d\d:\d\d\.000 reply\.committed {6}covers inputs 1–3, overtaken: a ⏎ b$/);
  });
});

test("lull secret prints one secret that our own check takes", () => {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  secret();
  expect(log).toHaveBeenCalledTimes(1);
  expect(secretFault(log.mock.calls[0]?.[0])).toBeNull();
  log.mockRestore();
});
