// ORDER-OUT: parts arrive in the wrong order, or under the wrong message.
import assert from "node:assert/strict";
import type { Scenarios } from "./scenario.ts";

export const orderOut: Scenarios = {
  B137: {
    title: "a part is not attempted before the one before it has its receipt, which a channel may give when it arrived",
    async run(start) {
      const w = start({
        model: () => ["a long first part", "short"],
        channel: {
          script: ({ index }) => ({ shown: true, receipt: { status: "sent" }, afterMs: index === 0 ? 2_000 : 10 }),
        },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(20_000);
      assert.deepEqual(w.seen(), ["1000 a long first part", "3000 short"]);
    },
  },
  B138: {
    title: "what a tool says and the final answer go out one after the other",
    async run(start) {
      const w = start({
        async model(turn, run) {
          await run.think(2_000);
          void turn.say("from the tool");
          await run.think(100);
          return "the answer";
        },
        channel: { sendMs: 400 },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(20_000);
      assert.deepEqual(w.seen(), ["3400 from the tool", "3800 the answer"]);
      assert.deepEqual(
        w.attempts.map(({ atMs }) => atMs),
        [3_000, 3_400],
      );
    },
  },
  B139: {
    title: "a reply says which messages it answers, in order",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      for (const id of ["m1", "m2", "m3"]) await one.hears(id, { text: id, address: { replyTo: id } });
      await w.until(20_000);
      assert.deepEqual(
        w.attempts.map(({ covers, address }) => [covers, address]),
        [[["m1", "m2", "m3"], { replyTo: "m3" }]],
      );
    },
  },
};
