import type { EventType } from "lull";
import { expect, test } from "vitest";
import { joinId } from "../src/bots/ids.ts";
import { silent } from "../src/log.ts";
import { troubleWatcher } from "../src/troubles.ts";

function watched() {
  const lines: object[] = [];
  const watch = troubleWatcher({ ...silent, warn: (details) => void lines.push(details) });
  const see = (type: EventType, atMs: number, conversation = "c") => watch({ type, conversation, atMs });
  return { lines, see };
}

test("attempts that fail are told with their conversation and bot; what goes well is not", () => {
  const { lines, see } = watched();
  see("attempt.started", 1_000);
  see("attempt.superseded", 1_500);
  see("attempt.failed", 2_000);
  see("inputs.parked", 2_000, joinId("shop", "me"));
  see("part.sent", 3_000);
  expect(lines).toEqual([
    { event: "attempt.failed", conversation: "c" },
    { event: "inputs.parked", conversation: "me", bot: "shop" },
  ]);
});

test("an outage is a line a second, which says how many there were", () => {
  const { lines, see } = watched();
  see("attempt.failed", 1_000, "a");
  see("attempt.failed", 1_001, "b");
  see("attempt.failed", 1_999, "c");
  see("part.retrying", 1_999, "a");
  see("attempt.failed", 2_000, "d");
  see("attempt.failed", 9_000, "e");
  expect(lines).toEqual([
    { event: "attempt.failed", conversation: "a" },
    { event: "part.retrying", conversation: "a" },
    { event: "attempt.failed", conversation: "d", more: 2 },
    { event: "attempt.failed", conversation: "e" },
  ]);
});
