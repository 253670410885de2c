// CONTROL: stop, reset, approvals.
import assert from "node:assert/strict";
import type { Answer, Turn } from "../../src/index.ts";
import { type Scenarios, service } from "./scenario.ts";
import type { Run } from "./world.ts";

/**
 * A bot that asks before it deletes, as docs/recipes.md shows it: a click counts when it is all that was said since the
 * reply that asked, and names that reply.
 */
function asksFirst() {
  const files = service();
  const model = async (turn: Turn, run: Run): Promise<Answer> => {
    await run.think(1_000);
    const asked = (await turn.log()).findLast((entry) => entry.kind === "reply")?.metadata?.approval;
    const clicked = turn.messages.find(({ metadata }) => metadata?.approves !== undefined)?.metadata?.approves;
    if (clicked !== undefined) {
      if (clicked !== asked || turn.messages.length > 1) return "That question has expired: ask me again.";
      return `deleted (${await turn.once("delete", () => files.call(run, "delete"))})`;
    }
    if (turn.text === "delete it") return { text: "Delete it?", metadata: { approval: `question ${turn.version}` } };
    return `re: ${turn.text}`;
  };
  const click = (question: string) => ({ text: "[Yes]", quietMs: 0, metadata: { approves: question } });
  return { files, model, click };
}

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
  B173: {
    title: "an approval ends when the user goes on to something else: that is answered, and a late click does nothing",
    note: "Asking is a reply, and a click an input, of the bot's own making: docs/recipes.md. No turn waits for it.",
    async run(start) {
      const { files, model, click } = asksFirst();
      const w = start({ model });
      const one = await w.process("W1");
      await one.hears("m1", { text: "delete it" });
      await w.until(4_000);
      await one.hears("m2", { text: "other topic" });
      await w.until(10_000);
      await one.hears("late", click("question 1"));
      await w.until(20_000);
      assert.deepEqual(w.seen(), [
        "2000 Delete it?",
        "6000 re: other topic",
        "11000 That question has expired: ask me again.",
      ]);
      assert.equal(files.calls.length, 0);
      // In time, alone, and twice: the platform posts it again, and so does an impatient thumb.
      await one.hears("m3", { text: "delete it" });
      await w.until(30_000);
      await one.hears("yes", click("question 4"));
      await one.hears("yes", click("question 4"));
      await w.until(40_000);
      await one.hears("yes again", click("question 4"));
      await w.until(50_000);
      assert.deepEqual(w.seen().slice(3), [
        "22000 Delete it?",
        "31000 deleted (1)",
        "41000 That question has expired: ask me again.",
      ]);
      // Together with something else it approves nothing.
      await one.hears("m4", { text: "delete it" });
      await w.until(60_000);
      await one.hears("m5", { text: "no, wait" });
      await one.hears("yes 2", click("question 7"));
      await w.until(80_000);
      assert.equal(files.calls.length, 1);
    },
  },
  B174: {
    title:
      "a button pressed after a restart, long after its question, is refused with an explanation, and runs nothing",
    async run(start) {
      const { files, model, click } = asksFirst();
      const w = start({ model });
      const one = await w.process("W1");
      await one.hears("m1", { text: "delete it" });
      await w.until(5_000);
      await one.hears("m2", { text: "delete it" });
      await w.until(10_000);
      one.crash();
      const two = await w.process("W2");
      await w.until(600_000);
      await two.hears("old", click("question 1"));
      await w.until(610_000);
      assert.equal(w.seen().at(-1), "601000 That question has expired: ask me again.");
      assert.equal(files.calls.length, 0);
    },
  },
};
