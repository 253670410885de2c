// HUMAN: a human takes over, and hands back.
import assert from "node:assert/strict";
import { type Scenarios, service } from "./scenario.ts";

export const human: Scenarios = {
  B154: {
    title: "a human who answers while the model thinks has answered: the bot's answer is not sent, and it stays quiet",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(2_500);
      await one.lull.humanReply("c", { id: "h1", text: "I have seen it", author: "owner" });
      await one.lull.handoff("c", { id: "h1 pause", forMs: 60_000 });
      await w.until(10_000);
      await one.hears("m2");
      await w.until(60_000);
      assert.deepEqual(w.thought(), ["1000-2500 m1 handed-off"]);
      assert.deepEqual(w.seen(), []);
      await w.until(80_000);
      // The pause has a ceiling; what waited is answered then.
      assert.deepEqual(w.thought().slice(1), ["62500-65500 m2"]);
      const settled = (await w.log()).flatMap((entry) => (entry.kind === "settled" ? [[entry.to, entry.outcome]] : []));
      assert.deepEqual(settled, [[1, "human"]]);
    },
  },
  B155: {
    title: "what the bot sent of its own accord has the platform's id in the log: its echo is no human",
    note: "Comparing echoes with the log is the channel's work.",
    async run(start) {
      const w = start({ channel: { script: () => ({ shown: true, receipt: { status: "sent", id: `x${w.ms}` } }) } });
      const one = await w.process("W1");
      await one.lull.send("c", { id: "welcome", text: "welcome" });
      await w.until(100);
      await one.hears("m1");
      await w.until(150);
      // An outgoing message that the platform calls x0.
      const own = (await w.log()).some((entry) => entry.kind === "receipt" && entry.externalId === "x0");
      assert.ok(own);
      await w.until(20_000);
      assert.deepEqual(w.seen(), ["0 welcome", "4100 re: m1"]);
      assert.equal((await w.record()).handoff, null);
    },
  },
  B156: {
    title: "switched off in the model call, in a tool call or between parts: no further tool, no further part",
    async run(start) {
      const tool = service();
      const w = start({
        async model(turn, run) {
          if (turn.conversation === "parts") return ["a", "b", "c"];
          if (turn.conversation === "tool") await turn.once("first", () => tool.call(run, "first", 2_000));
          else await run.thinkDeaf(2_000);
          await turn.once("second", () => tool.call(run, "second"));
          return "done";
        },
        channel: { script: () => ({ shown: true, receipt: { status: "sent" }, afterMs: 1_500 }) },
      });
      const one = await w.process("W1");
      for (const conversation of ["model", "tool", "parts"]) await one.hears("m1", { in: conversation });
      await w.until(2_000);
      for (const conversation of ["model", "tool", "parts"])
        await one.lull.handoff(conversation, { forMs: 60_000, backlog: "context" });
      await w.until(20_000);
      assert.deepEqual(
        tool.calls.map(({ key }) => key),
        ["first"],
      );
      assert.deepEqual(w.seen("parts"), ["1000 a"]);
      assert.deepEqual([...w.seen("model"), ...w.seen("tool")], []);
      for (const conversation of ["model", "tool"]) {
        const ended = (await w.log(conversation)).flatMap((entry) => (entry.kind === "ended" ? [entry.outcome] : []));
        assert.deepEqual(ended, ["handed-off"]);
        assert.equal((await one.lull.get(conversation))?.state, "handed-off");
      }
      const receipts = (await w.log("parts")).flatMap((entry) => (entry.kind === "receipt" ? [entry.state] : []));
      assert.deepEqual(receipts.sort(), ["cancelled", "cancelled", "sent"]);
      await w.until(90_000);
    },
  },
  B157: {
    title: "after a hand-back the bot answers again, and its history shows where the human's time ended",
    async run(start) {
      let history: string[] = [];
      const w = start({
        async model(turn, run) {
          history = (await turn.log()).map(({ kind }) => kind);
          return `re: ${run.ids.join("+")}`;
        },
      });
      const one = await w.process("W1");
      await one.lull.handoff("c", { by: "ann" });
      await one.hears("m1");
      await w.until(30_000);
      await one.lull.humanReply("c", { text: "done", author: "ann" });
      await w.until(60_000);
      await one.lull.resume("c");
      await w.until(61_000);
      await one.hears("m2");
      await w.until(80_000);
      assert.deepEqual(w.seen(), ["62000 re: m2"]);
      assert.deepEqual(
        history.filter((kind) => kind !== "settled"),
        ["handoff", "message", "human", "resumed"],
      );
    },
  },
};
