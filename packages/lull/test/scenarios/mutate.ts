// MUTATE: edits, deletions, previews, reactions.
import assert from "node:assert/strict";
import type { HearRules } from "../../src/channels/hear.ts";
import { hears } from "./channel.ts";
import type { Scenarios } from "./scenario.ts";

export const mutate: Scenarios = {
  B146: {
    title:
      "an edit while the model thinks replaces the text and starts it over; after the answer it can be a turn of its own",
    async run(start) {
      const w = start({ options: { editAfterAnswer: "new-input" } });
      const one = await w.process("W1");
      await one.hears("m1", { text: "order 12" });
      await w.until(2_000);
      assert.deepEqual(
        (({ status, version }) => ({ status, version }))(await one.lull.edit("c", "m1", { text: "order 13" })),
        { status: "accepted", version: 2 },
      );
      await w.until(10_000);
      assert.deepEqual(w.thought(), ["1000-2000 m1 superseded", "3000-6000 m1"]);
      assert.equal(w.runs[1]?.text, "order 13");
      await one.lull.edit("c", "m1", { id: "e2", text: "order 14" });
      await w.until(20_000);
      const [input] = w.runs[2]?.turn.messages ?? [];
      assert.deepEqual([w.runs[2]?.text, input?.edited, input?.editOf], ["order 14", true, "m1"]);
      assert.equal(w.seen().length, 2);
    },
  },
  B147: {
    title: "a message, its edit and the next message are one turn",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1", { text: "frist" });
      await w.until(500);
      await one.lull.edit("c", "m1", { text: "first" });
      await w.until(900);
      await one.hears("m2", { text: "second" });
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1900-4900 m1+m2"]);
      assert.equal(w.runs[0]?.text, "first\nsecond");
    },
  },
  B148: {
    title: "an edit that changes nothing visible disturbs nothing",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(2_500);
      const before = await w.record();
      assert.equal((await one.lull.edit("c", "m1", { text: "m1" })).status, "unchanged");
      assert.deepEqual(await w.record(), before);
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1000-4000 m1"]);
    },
  },
  B150: {
    title: "a preview of the bot's own message, or a change of it, is no input",
    async run(start) {
      const w = start({ channel: { script: () => ({ shown: true, receipt: { status: "sent", id: "x1" } }) } });
      const one = await w.process("W1");
      await hears(one, { type: "message", message: { id: "m1", text: "where?" } });
      await w.until(4_800);
      assert.equal(await hears(one, { type: "preview", id: "x1" }), "ignored");
      const change = { text: "re: m1, with a preview" };
      assert.equal(await hears(one, { type: "edit", id: "x1", change }), "ignored");
      assert.equal(await hears(one, { type: "edit", id: "x9", change, from: "self" }), "ignored");
      assert.equal(await hears(one, { type: "retraction", id: "x1" }), "ignored");
      await w.until(30_000);
      assert.deepEqual([w.runs.length, (await w.record()).version], [1, 1]);
    },
  },
  B151: {
    title: "a question taken back before its answer ends the run: nothing is sent; what else waits is answered alone",
    async run(start) {
      const typing: boolean[] = [];
      const w = start({
        channel: { typing: (on, { conversation }) => void (conversation === "c" && typing.push(on)) },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      for (const id of ["m1", "m2"]) await one.hears(id, { in: "more" });
      await w.until(2_000);
      await one.lull.retract("c", "m1");
      await one.lull.retract("more", "m1");
      await w.until(30_000);
      assert.deepEqual(w.thought(), ["1000-2000 m1 superseded"]);
      assert.deepEqual(w.seen(), []);
      assert.deepEqual(typing, [true, false]);
      const settled = (await w.log()).flatMap((entry) => (entry.kind === "settled" ? [entry.outcome] : []));
      assert.deepEqual(settled, ["removed"]);
      assert.deepEqual(
        w.runs
          .filter(({ conversation, outcome }) => conversation === "more" && outcome === "answered")
          .map(({ ids }) => ids),
        [["m2"]],
      );
      assert.equal(w.seen("more").length, 1);
    },
  },
  B152: {
    title: "a question taken back after its answer: the bot hears of it, and which reply covered it",
    note: "Taking the reply back on the platform is the bot's choice.",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(60_000);
      assert.equal((await one.lull.retract("c", "m1")).status, "ignored");
      await w.until(70_000);
      const retracted = w.events.filter(({ type }) => type === "message.retracted");
      assert.equal(retracted.length, 1);
      assert.ok(retracted[0]?.entry?.kind === "retraction" && retracted[0].entry.target === "m1");
      assert.deepEqual((await one.lull.reply("c", 1))?.covers, ["m1"]);
      assert.equal(w.runs.length, 1);
    },
  },
  B153: {
    title: "a reaction disturbs nobody, unless the bot's author makes it an input",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await hears(one, { type: "message", message: { id: "m1", text: "hi" } });
      await w.until(2_000);
      const thumb = { type: "reaction", id: "r1", reaction: "\u{1F44D}", added: true, on: "x1", author: "A" } as const;
      assert.equal(await hears(one, thumb), "ignored");
      await w.until(10_000);
      assert.deepEqual(w.thought(), ["1000-4000 m1"]);
      const rules: HearRules = {
        reaction: ({ reaction }) => (reaction === "\u{1F44D}" ? { text: "yes", quietMs: 0 } : null),
      };
      assert.equal(await hears(one, { ...thumb, reaction: "\u{1F440}" }, rules), "ignored");
      assert.equal(await hears(one, thumb, rules), "accepted");
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1000-4000 m1", "10000-13000 r1"]);
    },
  },
};
