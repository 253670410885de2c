// KEY-ID: the wrong identity or the wrong key for duplicates.
import assert from "node:assert/strict";
import { mergeConversations } from "../../src/channels/merge.ts";
import { inputsOf } from "../../src/index.ts";
import type { Scenarios } from "./scenario.ts";

export const keyId: Scenarios = {
  B018: {
    title: "where the platform's ids are not stable, author, time and content are the key",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const message = { text: "X", author: "S", sentAt: w.clock.now() };
      const first = await one.lull.receive("c", message);
      await w.until(9_000);
      assert.deepEqual(await one.lull.receive("c", message), { ...first, status: "duplicate" });
      const repeat = await one.lull.receive("c", { ...message, sentAt: w.clock.now() });
      assert.equal(repeat.status, "accepted");
      await w.until(20_000);
      assert.equal(w.seen().length, 2);
      assert.deepEqual(
        w.screen.map(({ atMs }) => atMs),
        [4_000, 13_000],
      );
    },
  },
  B020: {
    title: "the same words twice are two messages",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1", { text: "yes" });
      await w.until(2_000);
      assert.equal((await one.hears("m2", { text: "yes" })).status, "accepted");
      await w.until(20_000);
      assert.equal((await w.record()).version, 2);
      assert.deepEqual(w.thought(), ["1000-2000 m1 superseded", "3000-6000 m1+m2"]);
      assert.equal(w.runs[1]?.text, "yes\nyes");
    },
  },
  B021: {
    title: "one timer per conversation, whatever the texts: one run with both",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const two = await w.process("W2");
      await one.hears("m1", { text: "ok" });
      await w.until(800);
      await two.hears("m2", { text: "ok" });
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1800-4800 m1+m2"]);
      assert.deepEqual(w.seen(), ["4800 re: m1+m2"]);
    },
  },
  B022: {
    title: "one person under two ids is one conversation; learned later, what waits moves there and nothing is lost",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      // Known: the channel maps both ids to one conversation.
      const known: Record<string, string> = { L: "ada", P: "ada" };
      for (const [at, id, from] of [
        [0, "m1", "L"],
        [300, "m2", "P"],
      ] as const) {
        await w.until(at);
        await one.hears(id, { text: id, in: known[from] ?? from });
      }
      await w.until(20_000);
      assert.deepEqual(w.thought("ada"), ["1300-4300 m1+m2"]);
      // Learned while both wait, and the old one is being answered.
      await one.hears("m3", { text: "m3", in: "old", author: "L", address: { to: "L" } });
      await w.until(20_500);
      await one.hears("m4", { text: "m4", in: "new", author: "P", address: { to: "P" } });
      await w.until(21_200);
      assert.equal(w.thought("old").length, 1);
      const merged = mergeConversations(one.lull, "old", "new", { inputsOf, clock: w.clock });
      await w.until(21_300);
      assert.deepEqual(await merged, { moved: 1 });
      // A merge that is repeated moves nothing more.
      const again = mergeConversations(one.lull, "old", "new", { inputsOf, clock: w.clock });
      await w.until(21_400);
      assert.deepEqual(await again, { moved: 0 });
      await w.until(60_000);
      assert.deepEqual(w.seen("old"), []);
      assert.deepEqual(w.seen("new").length, 1);
      assert.deepEqual([...(w.runs.at(-1)?.ids ?? [])].sort(), ["m3", "m4"]);
    },
  },
  B023: {
    title: "one message id with two forms of its sender is one message",
    note: "Which conversation a sender belongs to is the channel's work.",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1", { text: "hi", author: "L" });
      await w.until(5);
      assert.equal((await one.hears("m1", { text: "hi", author: "P" })).status, "duplicate");
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1000-4000 m1"]);
      assert.equal((await w.record()).version, 1);
    },
  },
  B024: {
    title: "a duplicate has no visible effect, however long the turn takes",
    async run(start) {
      const w = start({ modelMs: 200_000, options: { lease: { turnTimeoutMs: 300_000 } } });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(90_000);
      const [events, { revision }] = [w.events.length, await w.record()];
      assert.equal((await one.hears("m1")).status, "duplicate");
      // It is told of, for the figures, and nothing else happens.
      assert.deepEqual(
        w.events.slice(events).map(({ type }) => type),
        ["message.duplicate"],
      );
      assert.equal((await w.record()).revision, revision);
      await w.until(250_000);
      assert.deepEqual(w.seen(), ["201000 re: m1"]);
    },
  },
  B025: {
    title: "without an id only the very same time counts: close is not the same",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const sentAt = w.clock.now();
      await one.hears("m1", { text: "hi", author: "S", sentAt: sentAt + 1_000 });
      await w.until(10);
      const second = await one.lull.receive("c", { text: "hi", author: "S", sentAt: sentAt + 1_400 });
      assert.equal(second.status, "accepted");
      await w.until(20_000);
      assert.equal((await w.record()).version, 2);
      assert.equal(w.runs.length, 1);
      assert.equal(w.runs[0]?.text, "hi\nhi");
    },
  },
};
