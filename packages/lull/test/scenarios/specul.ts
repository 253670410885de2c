// SPECUL: the model starts before the user has been quiet for long enough.
import assert from "node:assert/strict";
import { type Scenarios, service } from "./scenario.ts";

/** The model starts at once; its answer waits for the quiet. */
const eager = { debounce: { quietMs: 1_000, startMs: 0, maxWaitMs: 6_000 } };

export const specul: Scenarios = {
  B178: {
    title: "hooks and tools wait for the quiet: one set of them, however many early starts",
    async run(start) {
      const hook = service();
      const w = start({
        async model(turn, run) {
          await run.think(100);
          await turn.once("hook", () => hook.call(run, `${w.ms}`));
          return `re: ${run.ids.join("+")}`;
        },
        options: eager,
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(400);
      await one.hears("m2");
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["0-400 m1 superseded", "400-1400 m1+m2"]);
      assert.deepEqual(
        hook.calls.map(({ key }) => key),
        ["1400"],
      );
      assert.deepEqual(w.seen(), ["1400 re: m1+m2"]);
    },
  },
  B179: {
    title: "an early answer that nothing contradicts is the answer: one call",
    async run(start) {
      const w = start({ modelMs: 900, options: eager });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["0-900 m1"]);
      assert.deepEqual(w.seen(), ["1000 re: m1"]);
    },
  },
  B180: {
    title: "no early start while an effect of the turn is still running",
    async run(start) {
      const tool = service();
      const w = start({
        async model(turn, run) {
          const result = await turn.once("tool", () => tool.call(run, "tool", 3_000));
          return `result ${result} for ${run.ids.join("+")}`;
        },
        options: eager,
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(2_500);
      await one.hears("m2");
      await w.until(20_000);
      // The tool runs from 1,000 to 4,000, whatever became of the turn that called it.
      assert.match(String(w.runs[0]?.turn.signal.reason), /Newer input came/);
      assert.deepEqual(w.thought(), ["0-4000 m1", "4000-4000 m1+m2"]);
      assert.equal(tool.calls.length, 1);
      assert.deepEqual(w.seen(), ["4000 result 1 for m1+m2"]);
    },
  },
  B181: {
    title: "discarded runs leave nothing in the history",
    async run(start) {
      let history: string[] = [];
      const w = start({
        async model(turn, run) {
          history = (await turn.log()).map(({ kind }) => kind);
          await run.think(900);
          return `re: ${run.ids.join("+")}`;
        },
        options: eager,
      });
      const one = await w.process("W1");
      await one.hears("m0");
      await w.until(10_000);
      for (const [at, id] of ["m1", "m2", "m3", "m4"].entries()) {
        await w.until(10_000 + at * 500);
        await one.hears(id);
      }
      await w.until(30_000);
      assert.deepEqual(
        w.runs.map(({ outcome }) => outcome),
        ["answered", "superseded", "superseded", "superseded", "answered"],
      );
      assert.deepEqual(
        history.filter((kind) => ["message", "reply"].includes(kind)),
        ["message", "reply"],
      );
      const replies = (await w.log()).filter((entry) => entry.kind === "reply");
      assert.deepEqual(
        replies.map(({ from, to }) => [from, to]),
        [
          [0, 1],
          [1, 5],
        ],
      );
    },
  },
};
