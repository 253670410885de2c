// CONTROL: stop, reset, approvals.
import assert from "node:assert/strict";
import type { Scenarios } from "./scenario.ts";

const approvals = { later: "AI adapter: approvals that end when the user goes on to something else" };

export const control: Scenarios = {
  B169: {
    title: "stop ends the run and drops what was waiting: no run comes of it",
    async run(start) {
      const w = start({ options: { commands: { stop: ["stop"] } } });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(2_000);
      await one.hears("m2");
      await w.until(2_500);
      await one.hears("x", { text: "Stop" });
      await w.until(30_000);
      assert.deepEqual(w.thought(), ["1000-2000 m1 superseded"]);
      const settled = (await w.log()).flatMap((entry) =>
        entry.kind === "settled" ? [[entry.from, entry.outcome]] : [],
      );
      assert.deepEqual(settled, [[0, "dropped"]]);
      await one.hears("m3");
      await w.until(60_000);
      assert.deepEqual(w.seen(), ["34000 re: m3"]);
    },
  },
  B171: {
    title: "how things stand can be asked at any time, without a lease and without disturbing the run",
    note: "The word for it, and the answer, are the channel's.",
    async run(start) {
      const w = start({ modelMs: 60_000 });
      const one = await w.process("W1");
      const two = await w.process("W2");
      await one.hears("m1");
      await w.until(5_000);
      const view = await two.lull.get("c");
      assert.deepEqual([view?.state, view?.pending, view?.lease?.owner], ["answering", 1, "W1"]);
      assert.ok((await two.lull.explain("c")).length > 0);
      assert.equal(w.ms, 5_000);
      await w.until(90_000);
      assert.deepEqual(w.seen(), ["61000 re: m1"]);
    },
  },
  B172: {
    title: "a control word is never in a prompt",
    async run(start) {
      const w = start({ options: { commands: { stop: ["/stop"] } } });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(2_000);
      await one.hears("x", { text: " /STOP " });
      await w.until(3_000);
      await one.hears("m2");
      await w.until(4_500);
      one.crash();
      const two = await w.process("W2");
      await w.until(20_000);
      await two.lull.retry("c");
      await w.until(40_000);
      assert.deepEqual(
        w.runs.map(({ ids }) => ids.join("+")),
        ["m1", "m2", "m2"],
      );
    },
  },
  B173: approvals,
  B174: approvals,
};
