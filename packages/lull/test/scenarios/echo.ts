// ECHO: what the bot sent, or what became of it, is taken for input.
import assert from "node:assert/strict";
import type { ChannelEvent } from "../../src/channels/hear.ts";
import { hears } from "./channel.ts";
import type { Scenarios } from "./scenario.ts";

/** The platform names the bot's message x1. */
const sends = { channel: { script: () => ({ shown: true, receipt: { status: "sent", id: "x1" } as const }) } };
const message = (id: string, text: string): ChannelEvent => ({ type: "message", message: { id, text } });

export const echo: Scenarios = {
  B158: {
    title: "the bot's own message that comes back is known by the platform's id of it, and is no input",
    async run(start) {
      const w = start(sends);
      const one = await w.process("W1");
      await hears(one, message("m1", "hi"));
      await w.until(4_200);
      assert.deepEqual(w.seen(), ["4000 re: m1"]);
      assert.equal(await hears(one, message("x1", "re: m1")), "ignored");
      assert.equal(await hears(one, { ...message("x2", "re: m1"), from: "self" } as ChannelEvent), "ignored");
      await w.until(30_000);
      assert.deepEqual([w.runs.length, (await w.record()).version], [1, 1]);
    },
  },
  B160: {
    title: "an echo is known however late it comes, and one that is faster than the receipt by its text",
    async run(start) {
      const w = start({ channel: { ...sends.channel, sendMs: 500 } });
      const one = await w.process("W1");
      await hears(one, message("m1", "hi"));
      await w.until(4_100);
      // Shown to the person, and told to the bot, before the platform's answer to the call.
      assert.equal(await hears(one, message("x1", "re: m1")), "ignored");
      await w.until(15_000);
      assert.equal(await hears(one, message("x1", "re: m1")), "ignored");
      await w.until(3_600_000);
      assert.equal(await hears(one, message("x1", "re: m1")), "ignored");
      // The same words from the person are a message.
      assert.equal(await hears(one, message("m2", "re: m1")), "accepted");
      await w.until(3_700_000);
      assert.equal(w.runs.length, 2);
    },
  },
  B161: {
    title: "sent, delivered and read are no input: nothing is written, no turn begins",
    note: "A part in doubt stays in doubt: statuses name the platform's id, which is what such a part lacks.",
    async run(start) {
      const w = start(sends);
      const one = await w.process("W1");
      await hears(one, message("m1", "hi"));
      for (const [at, state] of [
        [4_100, "sent"],
        [4_300, "delivered"],
        [9_000, "read"],
      ] as const) {
        await w.until(at);
        const before = await w.record();
        assert.equal(await hears(one, { type: "status", id: "x1", state }), "ignored");
        assert.deepEqual(await w.record(), before);
      }
      await w.until(30_000);
      assert.equal(w.runs.length, 1);
    },
  },
};
