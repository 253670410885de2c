// HIST: the model's history is damaged or lost.
import assert from "node:assert/strict";
import { type Scenarios, service } from "./scenario.ts";

export const hist: Scenarios = {
  B111: { later: "AI adapter: prompts without calls that have no result" },
  B112: { later: "AI adapter: a call and its result leave the history together" },
  B113: { later: "AI adapter: the path of a cancelled tool call, tested like that of a failed one" },
  B114: { later: "AI adapter: one user message where the model wants roles to alternate" },
  B115: {
    title: "after an interruption the model gets one turn with everything, not the pieces",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(1_500);
      await one.hears("m2");
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1000-1500 m1 superseded", "2500-5500 m1+m2"]);
    },
  },
  B116: {
    title: "a stop keeps what the user wrote, marked as dropped",
    async run(start) {
      const w = start({ options: { commands: { stop: ["stop"] } } });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(1_500);
      await one.hears("x", { text: "stop" });
      await w.until(20_000);
      assert.deepEqual(w.seen(), []);
      const log = await w.log();
      assert.ok(log.some((entry) => entry.kind === "message" && entry.id === "m1"));
      assert.ok(log.some((entry) => entry.kind === "settled" && entry.outcome === "dropped" && entry.to >= 1));
    },
  },
  B117: {
    title: "a discarded answer is nowhere: not in the next prompt, not in the store",
    async run(start) {
      let history = "";
      const w = start({
        async model(turn, run) {
          history = JSON.stringify(await turn.log());
          await run.thinkDeaf(3_000);
          return `secret ${run.nth}`;
        },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(3_900);
      await one.hears("m2");
      await w.until(20_000);
      assert.deepEqual(w.seen(), ["7900 secret 2"]);
      assert.ok(!history.includes("secret"));
      assert.ok(!JSON.stringify(await w.log()).includes("secret 1"));
    },
  },
  B118: { later: "AI adapter: no raw traces of interrupted turns in the prompt" },
  B119: { later: "AI adapter: no blank text in the prompt, and a word for what has no text" },
  B120: {
    title: "a reply leaves only when it is in the log: the next turn cannot miss it",
    async run(start) {
      let history: string[] = [];
      const w = start({
        async model(turn, run) {
          history = (await turn.log()).map(({ kind }) => kind);
          await run.think(3_000);
          return `re: ${run.ids.join("+")}`;
        },
        channel: { sendMs: 40 },
      });
      const one = await w.process("W1");
      const two = await w.process("W2");
      await one.hears("m1");
      await w.until(4_010);
      await two.hears("m2");
      await w.until(20_000);
      assert.deepEqual(w.seen(), ["4040 re: m1", "8050 re: m2"]);
      assert.ok(history.includes("reply"));
    },
  },
  B121: { later: "AI adapter: conversations kept by the model's provider" },
  B122: {
    title: "what tools did survives a turn that fails: the next attempt is told all of it",
    async run(start) {
      const tool = service();
      const w = start({
        async model(turn, run) {
          for (const key of ["one", "two", "three"]) await turn.once(key, () => tool.call(run, key));
          if (run.nth === 1) throw new Error("400 from the model");
          return "done";
        },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(20_000);
      assert.equal(tool.calls.length, 3);
      assert.deepEqual(w.runs[1]?.turn.effects, [
        { key: "one", state: "done", value: 1 },
        { key: "two", state: "done", value: 2 },
        { key: "three", state: "done", value: 3 },
      ]);
      assert.equal(w.seen().length, 1);
    },
  },
};
