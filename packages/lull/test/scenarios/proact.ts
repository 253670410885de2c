// PROACT: messages of the bot's own accord that collide with turns.
import assert from "node:assert/strict";
import type { Scenarios } from "./scenario.ts";

export const proact: Scenarios = {
  B175: {
    title: "a nudge that comes while a turn runs is sent after it, and both are in the history",
    async run(start) {
      const w = start({ modelMs: 2_000 });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(1_500);
      const { status } = await one.lull.send("c", { id: "n1", text: "nudge" });
      assert.equal(status, "queued");
      await w.until(20_000);
      assert.deepEqual(w.seen(), ["3000 re: m1", "3000 nudge"]);
      const kinds = (await w.log()).map(({ kind }) => kind);
      assert.ok(kinds.includes("reply") && kinds.includes("send"));
      assert.deepEqual(
        (await w.log()).flatMap((entry) => (entry.kind === "closed" ? [entry.outcome] : [])),
        ["delivered", "delivered"],
      );
    },
  },
  B176: {
    title: "a nudge for quiet times that comes while somebody writes leaves no trace",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await w.until(1_900);
      await one.hears("m1");
      await w.until(2_000);
      const before = await w.log();
      const { status } = await one.lull.send("c", { id: "n1", text: "still there?", when: "if-quiet" });
      assert.equal(status, "dropped");
      assert.deepEqual(await w.log(), before);
      await w.until(20_000);
      assert.deepEqual(w.seen(), ["5900 re: m1"]);
    },
  },
  B177: {
    title: "a scheduled message waits until what was asked is answered",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(500);
      await one.lull.send("c", { id: "s1", text: "scheduled" });
      await w.until(2_000);
      await one.hears("m2");
      await w.until(20_000);
      assert.deepEqual(w.seen(), ["6000 re: m1+m2", "6000 scheduled"]);
    },
  },
};
