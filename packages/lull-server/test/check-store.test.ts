import { memory, type Store } from "lull";
import { expect, test } from "vitest";
import { runCheckStore } from "../src/cli/check-store.ts";

async function check(module: Parameters<typeof runCheckStore>[0]) {
  const lines: string[] = [];
  const result = await runCheckStore(module, { write: (line) => lines.push(line), colour: false, timeoutMs: 60_000 });
  return { result, text: lines.join("\n") };
}

test("lull check-store passes a store that keeps the contract", async () => {
  const { result, text } = await check({ default: ({ now }: { now: () => number }) => memory({ now }) });
  expect(result).toMatchObject({ failed: [], leftOut: 0 });
  expect(result.passed).toBeGreaterThan(30);
  expect(text).toContain("✓ refuses a repeated key with its first value, whatever else is wrong");
  expect(text).toMatch(/\n\d+ passed, 0 failed, 0 left out$/);
}, 30_000);

test("lull check-store names what a store gets wrong, and what it says it lacks", async () => {
  const forgetful = ({ now }: { now: () => number }) => {
    const store = memory({ now });
    const exchange: Store["exchange"] = ({ seen: _, ...write }) => store.exchange(write);
    return { store: { ...store, exchange } };
  };
  const without = { "large-entries": "rows are small" } as const;
  const { result, text } = await check({ createStore: forgetful, without });
  expect(result.failed).toContain("refuses a repeated key with its first value, whatever else is wrong");
  expect(result.failed).not.toContain("pages through a log in both directions");
  expect(text).toContain("✗ refuses a repeated key with its first value, whatever else is wrong");
  expect(text).toContain("– left out (large-entries: rows are small): holds 5 MB of text");
}, 30_000);

test("lull check-store says what the module has to export", async () => {
  await expect(check({})).rejects.toThrow(/export default \(\{ now \}\)/);
});
