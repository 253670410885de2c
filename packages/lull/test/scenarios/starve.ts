// STARVE: a livelock, or something pending that nobody will finish.
import assert from "node:assert/strict";
import type { Scenarios } from "./scenario.ts";

export const starve: Scenarios = {
  B095: {
    title: "what a turn says itself neither counts as input nor supersedes it",
    note: "Keeping the platform's echo of it out is the channel's work.",
    async run(start) {
      const w = start({
        async model(turn, run) {
          await run.think(1_000);
          await turn.say("one moment");
          await run.think(2_000);
          return "done";
        },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1000-4000 m1"]);
      assert.deepEqual(w.seen(), ["2000 one moment", "4000 done"]);
      assert.equal((await w.record()).version, 1);
    },
  },
  B096: {
    title: "an operator who asks again gets a turn for messages that were settled without an answer",
    async run(start) {
      const w = start({ model: (_turn, run) => (run.nth === 1 ? null : `re: ${run.ids.join("+")}`) });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(60_000);
      assert.deepEqual(w.seen(), []);
      assert.deepEqual(await one.lull.retry("c"), { revived: 1 });
      await w.until(70_000);
      assert.deepEqual(w.thought(), ["1000-1000 m1", "60000-60000 m1"]);
      assert.deepEqual(w.seen(), ["60000 re: m1"]);
    },
  },
  B098: {
    title: "after a hand-back the messages of the human's time are context, and only the new one is a task",
    async run(start) {
      let history: string[] = [];
      const w = start({
        async model(turn, run) {
          history = (await turn.log()).flatMap((entry) => (entry.kind === "message" ? [entry.id] : []));
          return `re: ${run.ids.join("+")}`;
        },
      });
      const one = await w.process("W1");
      await one.lull.handoff("c", { by: "ann" });
      for (const [at, id] of ["m1", "m2", "m3", "m4", "m5"].entries()) {
        await w.until(at * 100_000);
        await one.hears(id);
      }
      await w.until(600_000);
      await one.lull.resume("c", { backlog: "context" });
      await w.until(610_000);
      await one.hears("m6");
      await w.until(630_000);
      assert.deepEqual(w.thought(), ["611000-611000 m6"]);
      assert.deepEqual(history, ["m1", "m2", "m3", "m4", "m5"]);
    },
  },
  B099: {
    title: "an input the bot has nothing to say to ends as silent, not as pending with nobody",
    note: "Whether a reaction is an input at all is the channel's choice.",
    async run(start) {
      const w = start({ model: (turn) => (turn.text === "" ? null : "re") });
      const one = await w.process("W1");
      await one.hears("r1", { parts: [{ type: "data", data: { reaction: "👍" } }] });
      await w.until(10_000);
      assert.deepEqual(w.seen(), []);
      const view = await one.lull.get("c");
      assert.deepEqual([view?.state, view?.pending, view?.wakeAtMs], ["resting", 0, null]);
      const log = await w.log();
      assert.deepEqual(
        log.flatMap((entry) => (entry.kind === "settled" ? [entry.outcome] : [])),
        ["silent"],
      );
    },
  },
  B100: {
    title: "somebody who writes faster than the model thinks waits at most the cap and one run",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      for (let k = 0; k <= 20; k += 1) {
        await w.until(k * 2_500);
        await one.hears(`${k * 2_500}`);
      }
      await w.until(80_000);
      const replies = (await w.log()).filter((entry) => entry.kind === "reply");
      assert.ok(replies.some(({ overtaken }) => overtaken));
      for (const id of Array.from({ length: 21 }, (_, k) => `${k * 2_500}`)) {
        const run = w.runs.find(({ ids, outcome }) => ids.includes(id) && outcome === "answered");
        const waitedMs = (run?.endedAtMs ?? Number.POSITIVE_INFINITY) - Number(id);
        assert.ok(waitedMs <= 6_000 + 3_000, `message of ${id} waited ${waitedMs} ms`);
      }
      // The first span: discarded at 2,500 and 5,000, sealed at the cap.
      assert.deepEqual(w.thought().slice(0, 3), [
        "1000-2500 0 superseded",
        "3500-5000 0+2500 superseded",
        "6000-9000 0+2500+5000",
      ]);

      // Where the model starts at once, three discards are enough: then it waits for the quiet.
      const eager = start({ options: { debounce: { quietMs: 1_000, startMs: 0, maxWaitMs: 30_000 } } });
      const two = await eager.process("W1");
      for (let k = 0; k < 20; k += 1) {
        await eager.until(k * 900);
        await two.hears(`${k}`);
      }
      await eager.until(40_000);
      assert.deepEqual(
        eager.runs.map(({ startedAtMs, ids }) => [startedAtMs, ids.length]),
        [
          [0, 1],
          [900, 2],
          [1_800, 3],
          [18_100, 20],
        ],
      );
    },
  },
  B101: {
    title: "returning nothing is a legal end once something was said",
    async run(start) {
      const w = start({
        async model(turn, run) {
          await run.think(500);
          await turn.say("on it");
          return (turn.conversation === "null" ? null : undefined) as null;
        },
      });
      const one = await w.process("W1");
      for (const conversation of ["null", "undefined"]) await one.hears("m1", { in: conversation });
      await w.until(90_000);
      for (const conversation of ["null", "undefined"]) {
        assert.deepEqual(w.thought(conversation), ["1000-1500 m1"]);
        assert.deepEqual(w.seen(conversation), ["1500 on it"]);
      }
    },
  },
};
