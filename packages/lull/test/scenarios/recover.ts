// RECOVER: restarts, backlogs, poison and crash loops.
import assert from "node:assert/strict";
import { neverTwoRuns, type Scenarios } from "./scenario.ts";
import type { Process } from "./world.ts";

const hour = 3_600_000;

export const recover: Scenarios = {
  B162: {
    title: "a backlog is judged by the platform's time: at most one turn per chat, or kept as context",
    async run(start) {
      for (const then of ["answer", "context"] as const) {
        const w = start({ options: { backlog: { maxAgeMs: hour, then } } });
        const one = await w.process("W1");
        const downSince = w.clock.now() - 20 * hour;
        for (let k = 0; k < 62; k += 1) {
          await w.until(Math.floor((k * 6_000) / 62));
          await one.hears(`m${k}`, { in: `chat ${k % 9}`, text: "hello?", sentAt: downSince + k * 60_000 });
        }
        await w.until(60_000);
        const chats = w.runs.filter(({ outcome }) => outcome === "answered").map(({ conversation }) => conversation);
        assert.deepEqual(
          [...new Set(chats)].sort(),
          then === "answer" ? Array.from({ length: 9 }, (_, chat) => `chat ${chat}`) : [],
        );
        assert.equal(w.screen.length, then === "answer" ? 9 : 0);
      }
    },
  },
  B163: {
    title: "a message that kills every process that takes it is parked, and the others are served",
    async run(start) {
      const processes = new Map<string, Process>();
      const w = start({
        async model(turn, run) {
          await run.think(500);
          if (turn.conversation === "poison") processes.get(run.process)?.crash();
          await run.think(1);
          return `re: ${run.ids.join("+")}`;
        },
        options: { limits: { maxFailures: 3 } },
      });
      const launch = async (name: string) => {
        const process = await w.process(name);
        processes.set(name, process);
        return process;
      };
      const first = await launch("W1");
      await first.hears("m1", { in: "poison" });
      let current = first;
      for (let life = 2; w.ms < 60_000; ) {
        await w.until(w.ms + 1_000);
        if (current.state === "dead") current = await launch(`W${life++}`);
      }
      await current.hears("m1", { in: "other" });
      await w.until(70_000);
      assert.equal(w.thought("poison").length, 3);
      const view = await current.lull.get("poison");
      assert.equal(view?.state, "parked");
      assert.deepEqual([view?.parked?.from, view?.parked?.to], [0, 1]);
      assert.equal(w.seen("other").length, 1);
    },
  },
  B165: {
    title: "a control word that is delivered again acts once",
    async run(start) {
      const w = start({ options: { commands: { reset: ["/restart"] } } });
      const one = await w.process("W1");
      w.fault = ({ process, entries }) =>
        process === "W1" && entries.some(({ kind }) => kind === "reset") ? "dies" : undefined;
      void one.hears("x1", { text: "/restart" });
      await w.until(1_000);
      assert.equal(one.state, "dead");
      const two = await w.process("W2");
      for (let k = 1; k <= 5; k += 1) {
        await w.until(k * 10_000);
        assert.equal((await two.hears("x1", { text: "/restart" })).status, "duplicate");
      }
      assert.equal((await w.log()).filter(({ kind }) => kind === "reset").length, 1);
      assert.deepEqual(w.thought(), []);
    },
  },
  B166: {
    title: "a reply too old to be true is given up, and the next message gets a fresh one",
    async run(start) {
      const w = start({
        options: { limits: { deliverMaxMs: hour / 2 }, scanMs: 60_000 },
        channel: {
          script: ({ atMs }) =>
            atMs < hour ? { shown: false, receipt: { status: "failed", error: "down", retry: true } } : undefined,
        },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(hour);
      await one.hears("m2");
      await w.until(15 * hour);
      assert.deepEqual(w.seen(), [`${hour + 4_000} re: m2`]);
      const closed = (await w.log()).filter((entry) => entry.kind === "closed");
      assert.deepEqual(
        closed.map(({ to, outcome, atMs }) => [to, outcome, atMs - w.clock.now() + w.ms]),
        [
          [1, "failed", 4_000 + hour / 2],
          [2, "delivered", hour + 4_000],
        ],
      );
    },
  },
  B167: {
    title: "taking over what a crash left, and a message in the same millisecond: nothing is stuck, nothing lost",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const two = await w.process("W2");
      const three = await w.process("W3");
      await one.hears("m1");
      await w.until(500);
      await two.lull.typing("c", { forMs: 1 });
      await w.until(1_500);
      one.crash();
      const heard = w.clock.sleep(6_000 - w.ms).then(() => three.hears("m2"));
      const looked = w.clock.sleep(6_000 - w.ms).then(() => two.lull.flush("c"));
      await w.until(30_000);
      await looked;
      assert.equal((await heard).status, "accepted");
      neverTwoRuns(w.runs, { W1: 1_500 });
      assert.equal(w.screen.at(-1)?.text.includes("m2"), true);
      assert.equal((await w.record()).answered, 2);
    },
  },
  B168: {
    title:
      "a conversation that crashes its workers is parked alone, and opens again with the next message or on request",
    async run(start) {
      let broken = true;
      const w = start({
        model(turn, run) {
          if (broken && turn.conversation === "c") throw new Error("boom");
          return `re: ${run.ids.join("+")}`;
        },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(60_000);
      assert.equal(w.runs.length, 5);
      assert.equal((await one.lull.get("c"))?.state, "parked");
      await one.hears("m1", { in: "other" });
      await w.until(70_000);
      assert.equal(w.seen("other").length, 1);
      broken = false;
      await one.hears("m2");
      await w.until(80_000);
      assert.deepEqual(w.seen(), ["71000 re: m2"]);
      assert.deepEqual(await one.lull.retry("c"), { revived: 1 });
      await w.until(90_000);
      assert.deepEqual(w.seen(), ["71000 re: m2", "80000 re: m1"]);
    },
  },
};
