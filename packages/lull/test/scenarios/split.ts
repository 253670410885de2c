// SPLIT: one thought is answered in pieces.
import assert from "node:assert/strict";
import { platforms } from "../../src/channels/platforms.ts";
import { textWithoutCuts } from "../../src/channels/split.ts";
import type { Scenario, Scenarios } from "./scenario.ts";
import type { Setting, World } from "./world.ts";

const photo = (ref: string) => ({ type: "file", mediaType: "image/jpeg", ref }) as const;

/** Messages at their times; then what the model thought and the user saw. */
function burst(
  title: string,
  messages: readonly (readonly [atMs: number, id: string])[],
  thought: string[],
  seen: string[],
): Scenario {
  return {
    title,
    async run(start: (setting?: Setting) => World) {
      const w = start();
      const one = await w.process("W1");
      for (const [at, id] of messages) {
        await w.until(at);
        await one.hears(id);
      }
      await w.until(30_000);
      assert.deepEqual(w.thought(), thought);
      assert.deepEqual(w.seen(), seen);
    },
  };
}

export const split: Scenarios = {
  B043: burst(
    "a request and the number it needs are one reply",
    [
      [0, "m1"],
      [900, "m2"],
    ],
    ["1900-4900 m1+m2"],
    ["4900 re: m1+m2"],
  ),
  B044: burst(
    "three lines typed in a row are one reply",
    [
      [0, "m1"],
      [300, "m2"],
      [700, "m3"],
    ],
    ["1700-4700 m1+m2+m3"],
    ["4700 re: m1+m2+m3"],
  ),
  B045: {
    title: "an album is one turn with all its photos",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      for (const [at, id] of [
        [0, "p1"],
        [20, "p2"],
        [45, "p3"],
      ] as const) {
        await w.until(at);
        await one.hears(id, { parts: [photo(id)], metadata: { album: "g" } });
      }
      await w.until(20_000);
      assert.deepEqual(w.seen(), ["4045 re: p1+p2+p3"]);
    },
  },
  B046: {
    title:
      "a late photo of an album starts the run over; after the answer it is the next turn, with the earlier ones as history",
    async run(start) {
      let history: string[] = [];
      const w = start({
        async model(turn, run) {
          history = (await turn.log()).flatMap((entry) => (entry.kind === "message" ? [entry.id] : []));
          await run.think(3_000);
          return `re: ${run.ids.join("+")}`;
        },
      });
      const one = await w.process("W1");
      for (const [at, id] of [
        [0, "p1"],
        [20, "p2"],
        [3_500, "p3"],
        [8_000, "p4"],
      ] as const) {
        await w.until(at);
        await one.hears(id, { parts: [photo(id)], metadata: { album: "g" } });
      }
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1020-3500 p1+p2 superseded", "4500-7500 p1+p2+p3", "9000-12000 p4"]);
      assert.deepEqual(history, ["p1", "p2", "p3"]);
    },
  },
  B047: {
    title: "a caption on one photo belongs to all of them: one prompt, the caption once",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("p1", { parts: [photo("p1"), "what are these?"] });
      await w.until(30);
      await one.hears("p2", { parts: [photo("p2")] });
      await w.until(60);
      await one.hears("p3", { parts: [photo("p3")] });
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1060-4060 p1+p2+p3"]);
      assert.equal(w.runs[0]?.text, "what are these?");
    },
  },
  B048: {
    title: "a forwarded note and the comment on it are one turn, and the model can tell which is which",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("f1", { text: "minutes of the meeting", metadata: { forwarded: true } });
      await w.until(60);
      await one.hears("m1", { text: "summarise this" });
      await w.until(20_000);
      assert.deepEqual(w.seen(), ["4060 re: f1+m1"]);
      assert.deepEqual(
        w.runs[0]?.turn.messages.map(({ metadata }) => metadata),
        [{ forwarded: true }, undefined],
      );
    },
  },
  B049: {
    title: "a text that the client cut in two is read as one, without a break where it was cut",
    async run(start) {
      const half = `${"x".repeat(4_090)}unbrea`;
      let text = "";
      const w = start({
        async model(turn, run) {
          text = textWithoutCuts(turn.messages, platforms.telegram.textLimit);
          await run.think(3_000);
          return `re: ${run.ids.join("+")}`;
        },
      });
      const one = await w.process("W1");
      await one.hears("m1", { text: half });
      await w.until(15);
      await one.hears("m2", { text: "kable" });
      await w.until(600);
      await one.hears("m3", { text: "and?" });
      await w.until(30_000);
      assert.equal(text, `${half}kable\nand?`);
      assert.equal(w.seen().length, 1);
    },
  },
  B050: burst(
    "every message gives the user a full quiet window again, up to the cap: one answer to all of it",
    [
      [0, "m1"],
      [2_000, "m2"],
      [4_200, "m3"],
    ],
    ["1000-2000 m1 superseded", "3000-4200 m1+m2 superseded", "5200-8200 m1+m2+m3"],
    ["8200 re: m1+m2+m3"],
  ),
};
