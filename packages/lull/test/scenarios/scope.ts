// SCOPE: the wrong people, threads or bots share a turn.
import assert from "node:assert/strict";
import type { Scenarios } from "./scenario.ts";

export const scope: Scenarios = {
  B062: {
    title: "two people in one turn keep their names",
    note: "Whether they share a conversation at all is the channel's choice.",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1", { text: "when is it?", author: "A" });
      await w.until(400);
      await one.hears("m2", { text: "lol", author: "B" });
      await w.until(20_000);
      assert.deepEqual(
        w.runs[0]?.turn.messages.map(({ author, id }) => [author, id]),
        [
          ["A", "m1"],
          ["B", "m2"],
        ],
      );
    },
  },
  B063: {
    title: "two threads are two conversations: two replies, each in its own",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1", { in: "thread a", text: "m1", author: "S", address: { thread: "a" } });
      await w.until(300);
      await one.hears("m2", { in: "thread b", text: "m2", author: "S", address: { thread: "b" } });
      await w.until(20_000);
      assert.deepEqual(
        w.attempts.map(({ address, text, atMs }) => [address, text, atMs]),
        [
          [{ thread: "a" }, "re: m1", 4_000],
          [{ thread: "b" }, "re: m2", 4_300],
        ],
      );
    },
  },
  B064: {
    title: "a conversation never waits for another one, nor answers in its place",
    async run(start) {
      const w = start({
        async model(turn, run) {
          await run.think(turn.conversation === "a" ? 60_000 : 1_000);
          return `re: ${run.ids.join("+")}`;
        },
      });
      const one = await w.process("W1");
      await one.hears("m1", { in: "a", text: "m1", address: { thread: "a" } });
      await w.until(1_500);
      await one.hears("m2", { in: "b", text: "m2", address: { thread: "b" } });
      await w.until(90_000);
      assert.deepEqual(w.thought("b"), ["2500-3500 m2"]);
      assert.deepEqual(
        w.attempts.map(({ conversation, address }) => [conversation, address]),
        [
          ["b", { thread: "b" }],
          ["a", { thread: "a" }],
        ],
      );
    },
  },
  B065: { later: "channels: who is spoken to where several bots listen" },
  B066: {
    title: "a first contact that reaches three processes at once makes one conversation",
    async run(start) {
      const w = start();
      const processes = [await w.process("W1"), await w.process("W2"), await w.process("W3")];
      const received = await Promise.all(processes.map((process, at) => process.hears(`p${at}`)));
      assert.deepEqual(received.map((one) => (one.status === "rejected" ? 0 : one.version)).sort(), [1, 2, 3]);
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1000-4000 p0+p1+p2"]);
      assert.equal(w.seen().length, 1);
    },
  },
  B067: { later: "channels: group chatter as context of the message that speaks to the bot" },
};
