// The store's hints: what another process has written is heard of at once.
import { expect, test } from "vitest";
import { bot } from "../support/bot.ts";

test("an answer that waits for quiet is given up as soon as another process takes in newer input", async () => {
  const debounce = { quietMs: 10_000, startMs: 1_000, maxWaitMs: 45_000 };
  const one = bot({ debounce }, { modelMs: 500 });
  const other = bot({ debounce }, { clock: one.clock, store: one.store });
  await one.lull.start();
  await one.hear("m1");
  // Thought of at 1,000, answered at 1,500, to be sent at 10,000.
  await one.clock.advance(4_000);
  await other.hear("m2");
  await one.clock.advance(1_500);
  expect(one.turns.map(({ text }) => text)).toEqual(["m1", "m1\nm2"]);
  await one.clock.advance(20_000);
  expect(one.sent.map(({ atMs, covers }) => [atMs, covers])).toEqual([[14_000, ["m1", "m2"]]]);
  await one.lull.stop();
});
