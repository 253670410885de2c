// TIMER: a debounce timer that rings never, twice, late, or is swallowed.
import assert from "node:assert/strict";
import { between, type Scenarios, scanMs } from "./scenario.ts";

export const timer: Scenarios = {
  B051: {
    title: "a stream faster than the window is answered at the cap, the rest in following turns",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      for (let at = 0; at <= 20_000; at += 800) {
        await w.until(at);
        await one.hears(`${at}`);
      }
      await w.until(40_000);
      // Each turn opens with the first message that the one before did not cover.
      assert.deepEqual(
        w.runs.map(({ startedAtMs, ids }) => [startedAtMs, ids[0], ids.at(-1)]),
        [
          [6_000, "0", "5600"],
          [12_400, "6400", "12000"],
          [18_800, "12800", "18400"],
          [21_800, "19200", "20000"],
        ],
      );
      assert.equal(w.seen().length, 4);
    },
  },
  B052: {
    title: "typing holds a window that is open, and never makes one",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(1_200);
      await one.lull.typing("c", { forMs: 2_000 });
      await w.until(8_000);
      assert.deepEqual(w.thought(), ["1000-4000 m1"]);
      assert.deepEqual(w.seen(), ["4000 re: m1"]);
      const before = await w.record();
      await one.lull.typing("c");
      await w.until(20_000);
      assert.deepEqual(await w.record(), before);
      assert.equal(w.runs.length, 1);
    },
  },
  B053: {
    title: "somebody who types for ever is answered at the cap",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1");
      for (let at = 500; at <= 60_000; at += 500) {
        await w.until(at);
        await one.lull.typing("c");
      }
      assert.deepEqual(w.thought(), ["6000-9000 m1"]);
      assert.deepEqual(w.seen(), ["9000 re: m1"]);
    },
  },
  B054: {
    title: "a flush and a timer in the same millisecond are one run",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const two = await w.process("W2");
      for (let at = 0; at <= 5_600; at += 800) {
        await w.until(at);
        await one.hears(`m${at}`);
      }
      // Asked for before the timer rings, and in its millisecond.
      for (const process of [one, two]) void w.clock.sleep(6_000 - w.ms).then(() => process.lull.flush("c"));
      await w.until(20_000);
      assert.deepEqual(
        w.runs.map(({ startedAtMs, ids }) => [startedAtMs, ids.length]),
        [[6_000, 8]],
      );
      assert.equal(w.seen().length, 1);
    },
  },
  B055: {
    title: "a message that comes while the turn runs is a trigger like any other",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(2_000);
      await one.hears("m2");
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1000-2000 m1 superseded", "3000-6000 m1+m2"]);
      assert.deepEqual(w.seen(), ["6000 re: m1+m2"]);
    },
  },
  B057: {
    title: "a store that is away when the timer rings leaves no conversation without one",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const two = await w.process("W2");
      await one.hears("m1");
      w.fault = () => (w.ms >= 1_000 && w.ms < 3_000 ? "down" : undefined);
      await w.until(2_500);
      const heard = two.hears("m2");
      await w.until(30_000);
      assert.equal((await heard).status, "accepted");
      assert.equal(w.seen().length, 1);
      assert.equal(w.screen[0]?.text, "re: m1+m2");
      assert.ok((w.screen[0]?.atMs ?? 0) < 12_000);
    },
  },
  B058: {
    title: "a timer that fell due while nobody listened is found by the scan",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(900);
      one.crash();
      await w.until(1_500);
      await w.process("W2");
      await w.until(20_000);
      assert.equal(w.runs.length, 1);
      between(w.runs[0]?.startedAtMs, 1_500, 1_500 + scanMs);
      assert.equal(w.seen().length, 1);
    },
  },
  B059: {
    title: "a function frozen right after its 200 is not needed any more: what is due is worked off elsewhere",
    async run(start) {
      const w = start();
      const lambda = await w.process("lambda");
      await lambda.hears("m1");
      await w.until(50);
      lambda.freeze();
      await w.until(2_000);
      const cron = await w.process("cron", { idle: true });
      const worked = cron.lull.runDue({ deadlineMs: 10_000 });
      await w.until(12_500);
      assert.deepEqual(await worked, { nextAtMs: null });
      assert.deepEqual(w.thought(), ["2000-5000 m1"]);
      await lambda.thaw();
      await w.until(30_000);
      assert.deepEqual(w.seen(), ["5000 re: m1"]);
    },
  },
  B060: {
    title: "a fresh message does not wait for the back-off of the failures before it",
    async run(start) {
      const w = start({
        model(_turn, run) {
          if (run.nth === 1) throw new Error("overloaded");
          return `re: ${run.ids.join("+")}`;
        },
        options: { backoff: { firstMs: 60_000, maxMs: 60_000 } },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(5_000);
      await one.hears("m2");
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1000-1000 m1 overloaded", "6000-6000 m1+m2"]);
      assert.deepEqual(w.seen(), ["6000 re: m1+m2"]);
    },
  },
  B061: {
    title: "a turn is the set of what waited, not its first or its last trigger",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("n1", { text: "note", author: "system" });
      await w.until(400);
      await one.hears("m1", { text: "hi", author: "ann" });
      await w.until(20_000);
      assert.equal(w.runs.length, 1);
      assert.equal(w.runs[0]?.startedAtMs, 1_400);
      assert.deepEqual(
        w.runs[0]?.turn.messages.map(({ id, author }) => [id, author]),
        [
          ["n1", "system"],
          ["m1", "ann"],
        ],
      );
    },
  },
};
