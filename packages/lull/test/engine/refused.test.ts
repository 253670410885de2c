// What is refused is not remembered as taken in: whoever tries again is heard (found by seed 1844 of the simulator).
import { expect, test } from "vitest";
import { bot } from "../support/bot.ts";

test("a message refused by the very write that ends a hand-off is taken in when it comes again", async () => {
  const { clock, lull, sent, hear } = bot({ limits: { maxPending: 1 } });
  await lull.handoff("c", { forMs: 5_000 });
  await hear("a");
  await clock.advance(6_000);
  // Nobody works yet, so this is what notices that the hand-off is over, and the conversation is full.
  expect((await lull.receive("c", { id: "b", text: "b" })).status).toBe("rejected");
  expect((await lull.receive("c", { id: "b", text: "b" })).status).toBe("rejected");
  await lull.start();
  await clock.advance(30_000);
  expect((await lull.receive("c", { id: "b", text: "b" })).status).toBe("accepted");
  expect((await lull.receive("c", { id: "b", text: "b" })).status).toBe("duplicate");
  await clock.advance(30_000);
  expect(sent.map(({ covers }) => covers)).toEqual([["a"], ["b"]]);
  await lull.stop();
});

test("a send and an edit that were refused so can be repeated too", async () => {
  const { clock, lull, hear } = bot({ limits: { maxSends: 0, maxPending: 1 }, editAfterAnswer: "new-input" });
  const handoff = async (id: string) => {
    await lull.handoff("c", { id, forMs: 1_000 });
    await clock.advance(2_000);
  };
  await hear("a");
  await handoff("h1");
  expect((await lull.send("c", { id: "s", text: "x" })).status).toBe("full");
  expect((await lull.send("c", { id: "s", text: "x" })).status).toBe("full");
  await handoff("h2");
  const edit = () => lull.edit("c", "a", { id: "e", text: "A" });
  expect((await edit()).status).toBe("rejected");
  expect((await edit()).status).toBe("rejected");
});
