// HIST: the model's history is damaged or lost.
import assert from "node:assert/strict";
import { tool } from "ai";
import { z } from "zod";
import { aiResponder, lastAnswer, readOnly } from "../../src/ai/index.ts";
import { lines, type ModelCall, type Said, scripted } from "../ai/support/model.ts";
import { strict } from "../ai/support/strict.ts";
import { type Scenarios, service } from "./scenario.ts";
import type { Run, Setting } from "./world.ts";

/** A bot of the AI SDK, whose model refuses what real APIs refuse. `prompts`: a line for each message. */
function sdkBot(answer: (run: Run, call: ModelCall, nth: number) => Said | Promise<Said>) {
  const prompts: string[][] = [];
  const look = readOnly(tool({ inputSchema: z.object({}), execute: async () => "seen" }));
  const model: Setting["model"] = (turn, run) =>
    aiResponder({
      tools: { look },
      model: scripted({
        check: strict,
        answer(call, nth) {
          prompts.push(lines(call.prompt));
          return answer(run, call, nth);
        },
      }),
    })(turn) as never;
  return { prompts, model };
}
/** Costs are written beside the answer: in which order is nobody's promise. */
const differs = "a cost is written while the answer goes on";
const callsLook: Said = { text: "Let me look.", calls: [{ tool: "look", input: {} }] };

export const hist: Scenarios = {
  B111: {
    title: "a run that is aborted in the middle of its tool calls leaves none of them in any later prompt",
    differs,
    async run(start) {
      const bot = sdkBot(async (run, _call, nth) => {
        if (nth === 1) return callsLook;
        await run.think(3_000);
        return `re: ${run.ids.join("+")}`;
      });
      const w = start({ model: bot.model });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(2_000);
      await one.hears("m2");
      await w.until(20_000);
      await one.hears("m3");
      await w.until(40_000);
      // The strict model refused nothing: every run ended by newer input or with an answer.
      assert.deepEqual(
        w.runs.map(({ outcome }) => outcome),
        ["superseded", "answered", "answered"],
      );
      assert.ok(bot.prompts.filter(([first]) => first?.startsWith("user: m1\nm2")).length > 0);
      assert.deepEqual(bot.prompts.at(-2), ["user: m1\nm2", "assistant: re: m1+m2", "user: m3"]);
    },
  },
  B112: {
    title: "a call cut off by an abort leaves neither call nor result behind",
    differs,
    async run(start) {
      const bot = sdkBot(async (run, _call, nth) => {
        // Half a call, and the connection is gone.
        if (run.nth === 1 && nth === 2) throw new Error("the stream broke inside a call");
        if (run.nth === 1) return callsLook;
        return `re: ${run.ids.join("+")}`;
      });
      const w = start({ model: bot.model });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(20_000);
      assert.deepEqual(bot.prompts.at(-1), ["user: m1"]);
      assert.equal(w.screen[0]?.text, "re: m1");
    },
  },
  B113: {
    title: "a tool that is cancelled leaves as legal a history as one that failed",
    differs,
    async run(start) {
      const prompts: string[][] = [];
      const w = start({
        model(turn, run) {
          const slow = tool({
            inputSchema: z.object({}),
            async execute() {
              if (run.nth === 2) throw new Error("the tool failed");
              await run.think(5_000);
              return "done";
            },
          });
          const model = scripted({
            check: strict,
            answer({ prompt }, nth) {
              prompts.push(lines(prompt));
              return nth === 1 && run.nth < 3 ? { calls: [{ tool: "slow", input: {} }] } : `re: ${run.ids.join("+")}`;
            },
          });
          return aiResponder({ model, tools: { slow } })(turn) as never;
        },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(2_500);
      await one.hears("m2");
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1000-2500 m1 superseded", "3500-3500 m1+m2"]);
      // The failed tool's error is its result.
      assert.deepEqual(prompts, [
        ["user: m1"],
        ["user: m1\nm2"],
        ["user: m1\nm2", "assistant: <tool-call>", "tool: <tool-result>"],
      ]);
    },
  },
  B114: {
    title: "two messages in a row, and one after a discarded run, are one user message for the model",
    differs,
    async run(start) {
      const bot = sdkBot(async (run) => {
        await run.think(3_000);
        return `re: ${run.ids.join("+")}`;
      });
      const w = start({ model: bot.model });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(300);
      await one.hears("m2");
      await w.until(2_500);
      await one.hears("m3");
      await w.until(20_000);
      assert.deepEqual(bot.prompts, [["user: m1\nm2"], ["user: m1\nm2\nm3"]]);
    },
  },
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
  B118: {
    title: "nothing of an interrupted turn is put into the assistant's mouth, and an empty answer is an error",
    differs,
    async run(start) {
      const bot = sdkBot(async (run, _call, nth) => {
        if (run.nth === 1 && nth === 1) return callsLook;
        await run.think(2_000);
        return run.nth === 2 ? "   " : `re: ${run.ids.join("+")}`;
      });
      const w = start({ model: bot.model, options: { commands: { stop: ["stop"] } } });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(2_000);
      await one.hears("x", { text: "stop" });
      await one.hears("m2");
      await w.until(20_000);
      const said = bot.prompts.flat().filter((line) => line.startsWith("assistant: ") && !line.includes("<tool-call>"));
      assert.deepEqual(said, []);
      assert.deepEqual(
        (await w.log()).flatMap((entry) => (entry.kind === "ended" ? [entry.outcome] : [])),
        ["reset", "failed"],
      );
      assert.equal(w.screen[0]?.text, "re: m2");
    },
  },
  B119: {
    title: "a sticker and a blank line make no blank text in the prompt, then or later",
    differs,
    async run(start) {
      const bot = sdkBot((run) => `re: ${run.ids.join("+")}`);
      const w = start({ model: bot.model });
      const one = await w.process("W1");
      await one.hears("m1", { parts: [{ type: "data", data: { sticker: 7 } }] });
      await w.until(300);
      await one.hears("m2", { text: "   " });
      await w.until(600);
      await one.hears("m3", { text: "hi" });
      await w.until(20_000);
      await one.hears("m4");
      await w.until(40_000);
      const words = 'user: [data: {"sticker":7}]\n[a message without text]\nhi';
      assert.deepEqual(bot.prompts[0], [words]);
      assert.deepEqual(bot.prompts[1]?.slice(1), ["assistant: re: m1+m2+m3", "user: m4"]);
    },
  },
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
  B121: {
    title:
      "a conversation kept by the model's provider goes on from the last committed answer; a run that still hangs is in nobody's way",
    note: "Each attempt has a provider's conversation of its own, branched from the last committed one (lastAnswer, branch).",
    async run(start) {
      // A provider that refuses a second run in one of its threads, and keeps what a run has heard.
      const threads = new Map<string, { heard: string[]; busy: boolean }>();
      const w = start({
        async model(turn, run) {
          const last = await lastAnswer(turn);
          const before = threads.get(String(last?.metadata.thread))?.heard ?? [];
          const id = `thread-${run.nth}`;
          const heard = [...before, ...turn.messages.map((message) => message.id)];
          assert.ok(!threads.get(id)?.busy, "the provider refuses: a run is active");
          const thread = { heard, busy: true };
          threads.set(id, thread);
          await run.thinkDeaf(run.nth === 1 ? 60_000 : 2_000);
          thread.busy = false;
          return { text: `re: ${heard.join("+")}`, metadata: { thread: id } };
        },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(2_000);
      await one.hears("m2");
      await w.until(20_000);
      await one.hears("m3");
      await w.until(90_000);
      assert.deepEqual(
        w.screen.map(({ text }) => text),
        ["re: m1+m2", "re: m1+m2+m3"],
      );
    },
  },
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
