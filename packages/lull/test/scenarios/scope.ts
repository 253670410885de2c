// SCOPE: the wrong people, threads or bots share a turn.
import assert from "node:assert/strict";
import { hears } from "./channel.ts";
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
  B065: {
    title: "what is said to another bot aborts nothing: it is context of what comes next",
    async run(start) {
      const w = start({ modelMs: 8_000 });
      const one = await w.process("W1");
      await hears(one, { type: "message", message: { id: "m1", text: "@A plan my day" } });
      await w.until(3_000);
      const other = { id: "m2", text: "@B what time is it?" };
      assert.equal(await hears(one, { type: "message", message: other, addressed: false }), "accepted");
      const answer = { id: "m3", text: "It is noon." };
      assert.equal(await hears(one, { type: "message", message: answer, from: "bot" }), "ignored");
      await w.until(30_000);
      assert.deepEqual(w.thought(), ["1000-9000 m1"]);
      assert.deepEqual(w.seen(), ["9000 re: m1"]);
    },
  },
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
  B067: {
    title: "chatter in a group starts no run; the one that speaks to the bot has it as context",
    async run(start) {
      let context: string[] = [];
      const w = start({
        async model(turn, run) {
          await run.think(3_000);
          context = (await turn.log()).flatMap((entry) => (entry.kind === "message" ? [entry.id] : []));
          return `re: ${run.ids.join("+")}`;
        },
      });
      const one = await w.process("W1");
      for (const [at, id, author, addressed] of [
        [0, "m1", "A", false],
        [200, "m2", "B", true],
        [500, "m3", "A", false],
      ] as const) {
        await w.until(at);
        await hears(one, { type: "message", message: { id, text: id, author }, addressed });
      }
      await w.until(30_000);
      assert.deepEqual(w.thought(), ["1200-4200 m2"]);
      assert.deepEqual(context, ["m1", "m3"]);
      const loud = { type: "message", message: { id: "m4", text: "m4" }, addressed: false } as const;
      assert.equal(await hears(one, loud, { unaddressed: "ignore" }), "ignored");
      await w.until(60_000);
      assert.deepEqual([w.runs.length, (await w.record()).version], [1, 3]);
    },
  },
};
