// ORDER: what people wrote reaches the model, or the answer its reader, in the wrong order.
import assert from "node:assert/strict";
import { between, type Scenarios } from "./scenario.ts";

export const order: Scenarios = {
  B068: {
    title: "voice notes keep the place they were recorded at, and the turn waits for their transcripts",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const note = (ref: string) => ({ type: "file", mediaType: "audio/ogg", ref }) as const;
      await one.hears("a1", { parts: [note("a1")], incomplete: true });
      await w.until(200);
      await one.hears("a2", { parts: [note("a2")], incomplete: true });
      await w.until(400);
      await one.hears("m3", { text: "third" });
      await w.until(500);
      await one.lull.edit("c", "a2", { text: "second", incomplete: false });
      await w.until(3_000);
      await one.lull.edit("c", "a1", { text: "first", incomplete: false });
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["4000-7000 a1+a2+m3"]);
      assert.equal(w.runs[0]?.text, "first\nsecond\nthird");
      // A transcript that never comes does not keep the rest waiting beyond the cap.
      await one.hears("a4", { parts: [note("a4")], incomplete: true });
      await w.until(40_000);
      assert.equal(w.runs[1]?.startedAtMs, 26_000);
      assert.equal(w.runs[1]?.turn.messages[0]?.incomplete, true);
    },
  },
  B069: {
    title: "short and long texts are one ordered list",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      for (const [at, id, text] of [
        [0, "m1", "see this:"],
        [100, "m2", "long ".repeat(1_000)],
        [120, "m3", "text ".repeat(1_000)],
      ] as const) {
        await w.until(at);
        await one.hears(id, { text });
      }
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1120-4120 m1+m2+m3"]);
    },
  },
  B070: {
    title: "a photo that may be answered at once does not jump over the text before it",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(900);
      await one.hears("m2", { parts: [{ type: "file", mediaType: "image/png", ref: 1 }], quietMs: 0 });
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["900-3900 m1+m2"]);
      assert.deepEqual(w.seen(), ["3900 re: m1+m2"]);
    },
  },
  B071: {
    title: "the prompt is in the platform's order, the versions in the order of arrival",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const sentAt = (ms: number) => w.clock.now() - w.ms + ms;
      await w.until(1_100);
      await one.hears("m2", { text: "m2", sentAt: sentAt(1_000) });
      await w.until(4_000);
      await one.hears("m1", { text: "m1", sentAt: sentAt(0) });
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["2100-4000 m2 superseded", "5000-8000 m1+m2"]);
      const log = await w.log();
      assert.deepEqual(
        log.flatMap((entry) => (entry.kind === "message" ? [[entry.id, entry.version]] : [])),
        [
          ["m2", 1],
          ["m1", 2],
        ],
      );
    },
  },
  B072: {
    title: "messages of one second keep the order they arrived in, in whichever process",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await w.process("W2");
      const sentAt = w.clock.now();
      for (const [at, id] of [
        [0, "m1"],
        [15, "m3"],
        [30, "m2"],
      ] as const) {
        await w.until(at);
        await one.hears(id, { text: id, sentAt });
      }
      await w.until(2_000);
      one.crash();
      await w.until(20_000);
      assert.deepEqual(
        w.runs.map(({ process, ids }) => [process, ids.join("+")]),
        [
          ["W1", "m1+m3+m2"],
          ["W2", "m1+m3+m2"],
        ],
      );
    },
  },
  B073: {
    title: "two processes never send for one conversation at the same time",
    async run(start) {
      const sendMs = 1_000;
      const w = start({
        model: (_turn, run) => [`${run.ids.join("+")} step 1`, `${run.ids.join("+")} step 2`],
        channel: { sendMs },
      });
      const one = await w.process("W1");
      const two = await w.process("W2");
      await one.hears("m1");
      await w.until(1_050);
      await two.hears("m2", { text: "m2", quietMs: 0 });
      await w.until(20_000);
      assert.deepEqual(
        w.screen.map(({ text }) => text),
        ["m1 step 1", "m1 step 2", "m2 step 1", "m2 step 2"],
      );
      for (const [at, attempt] of w.attempts.entries())
        if (at > 0) assert.ok(attempt.atMs >= (w.attempts[at - 1]?.atMs ?? 0) + sendMs);
      between(w.screen[3]?.atMs, 5_000, 6_500);
    },
  },
  B074: {
    title: "a message taken in as history is known when its delayed retry arrives",
    async run(start) {
      const then = "context";
      const w = start({ options: { backlog: { maxAgeMs: 30_000, then } } });
      const sentAt = w.clock.now();
      await w.until(60_000);
      const one = await w.process("W1");
      assert.equal((await one.hears("m1", { text: "m1", sentAt })).status, "accepted");
      assert.equal((await w.record()).window, null);
      await w.until(90_000);
      assert.equal((await one.hears("m1", { text: "m1", sentAt })).status, "duplicate");
      await w.until(100_000);
      assert.deepEqual(w.thought(), []);
      assert.equal((await w.record()).version, 1);
    },
  },
};
