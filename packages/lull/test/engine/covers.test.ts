// What a reply says it answers: the inputs as they were when it was committed, in every part and every try.
import { expect, it } from "vitest";
import { bot } from "../support/bot.ts";

it("a message taken back while its answer is on its way stays among what the answer covers", async () => {
  const covers: string[][] = [];
  const made = bot(
    {
      respond: () => ["first", "second"],
      deliver: async (_part, context) => {
        covers.push(context.covers);
        await made.clock.sleep(1_000);
        return { status: "sent" };
      },
    },
    {},
  );
  const { lull, clock, hear } = made;
  await lull.start();
  await hear("a", "b");
  await clock.advance(6_500);
  expect(await lull.retract("c", "a")).toMatchObject({ status: "ignored" });
  await clock.advance(10_000);
  expect(covers).toEqual([
    ["a", "b"],
    ["a", "b"],
  ]);
  expect(await lull.reply("c", 1, { timeoutMs: 0 })).toMatchObject({ outcome: "delivered", covers: ["a", "b"] });
  await lull.stop();
});
