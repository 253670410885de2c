// STALE: an outdated answer, or one that does not cover what came, is posted.
import assert from "node:assert/strict";
import type { Scenarios } from "./scenario.ts";

export const stale: Scenarios = {
  B089: {
    title: "without any debounce an answer is still discarded when newer input came",
    async run(start) {
      const w = start({ modelMs: 13_000, options: { debounce: { quietMs: 0, startMs: 0, maxWaitMs: 6_000 } } });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(5_000);
      await one.hears("m2");
      await w.until(60_000);
      assert.deepEqual(w.thought(), ["0-5000 m1 superseded", "5000-18000 m1+m2"]);
      assert.deepEqual(w.seen(), ["18000 re: m1+m2"]);
    },
  },
  B091: {
    title: "a message stored by another process 50 ms before the commit discards the answer",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const two = await w.process("W2");
      await one.hears("m1");
      await w.until(3_950);
      await two.hears("m2");
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1000-4000 m1", "4950-7950 m1+m2"]);
      assert.deepEqual(w.seen(), ["7950 re: m1+m2"]);
    },
  },
  B092: {
    title: "a reply whose first part went out is finished; what came meanwhile is answered once, after it",
    async run(start) {
      const w = start({
        async model(_turn, run) {
          await run.think(3_000);
          return run.nth === 1 ? ["a", "b", "c"] : `re: ${run.ids.join("+")}`;
        },
        channel: { script: () => ({ shown: true, receipt: { status: "sent" }, afterMs: 1_500 }) },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(5_000);
      await one.hears("m2");
      await w.until(30_000);
      assert.deepEqual(w.seen(), ["4000 a", "5500 b", "7000 c", "11500 re: m2"]);
      assert.deepEqual(w.thought(), ["1000-4000 m1", "8500-11500 m2"]);
      const log = await w.log();
      assert.equal(log.filter((entry) => entry.kind === "receipt" && entry.state === "sent").length, 4);
    },
  },
  B093: {
    title: "the error of a superseded run is nobody's error",
    async run(start) {
      const w = start({
        async model(_turn, run) {
          if (run.nth === 1) {
            await run.thinkDeaf(1_500);
            throw new Error("boom");
          }
          await run.think(3_000);
          return `re: ${run.ids.join("+")}`;
        },
        options: { fallback: "sorry", limits: { maxFailures: 1 } },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(2_000);
      await one.hears("m2");
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1000-2500 m1 boom", "3000-6000 m1+m2"]);
      assert.deepEqual(w.seen(), ["6000 re: m1+m2"]);
      const ended = (await w.log()).flatMap((entry) => (entry.kind === "ended" ? [entry.outcome] : []));
      assert.deepEqual(ended, ["superseded"]);
    },
  },
  B094: {
    title: "a client that timed out and asks again waits for the same turn",
    async run(start) {
      const w = start({ modelMs: 20_000 });
      const one = await w.process("W1");
      const ask = async () => {
        const received = await one.hears("m1");
        assert.ok(received.status !== "rejected");
        return one.lull.reply("c", received.version, { timeoutMs: 15_000 });
      };
      const first = ask();
      await w.until(15_000);
      assert.equal(await first, null);
      const second = ask();
      await w.until(40_000);
      assert.deepEqual((await second)?.parts, [{ type: "text", text: "re: m1" }]);
      assert.deepEqual(w.thought(), ["1000-21000 m1"]);
      assert.deepEqual(w.seen(), ["21000 re: m1"]);
    },
  },
};
