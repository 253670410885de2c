// DUP-OUT: the same text delivered twice.
import assert from "node:assert/strict";
import type { Scenarios } from "./scenario.ts";
import type { Reaction } from "./world.ts";

/** Delivered, but nobody hears of it. */
const unheard: Reaction = { shown: true, receipt: { status: "unknown", error: "timeout" }, afterMs: 10_000 };

export const dupOut: Scenarios = {
  B123: {
    title: "a send that timed out is in doubt: one extra copy at most, none where the channel says at most once",
    async run(start) {
      for (const whenInDoubt of ["at-least-once", "at-most-once"] as const) {
        const w = start({ channel: { whenInDoubt, script: (_, nth) => (nth === 1 ? unheard : undefined) } });
        const one = await w.process("W1");
        await one.hears("m1");
        await w.until(120_000);
        assert.equal(w.screen.length, whenInDoubt === "at-least-once" ? 2 : 1);
        assert.equal(new Set(w.attempts.map(({ idempotencyKey }) => idempotencyKey)).size, 1);
        const receipts = (await w.log()).flatMap((entry) => (entry.kind === "receipt" ? [entry.state] : []));
        assert.deepEqual(receipts, whenInDoubt === "at-least-once" ? ["queued", "sent"] : ["unknown"]);
      }
      // Refused before anything left: tried again, shown once.
      const refused: Reaction = { shown: false, receipt: { status: "failed", error: "ECONNREFUSED", retry: true } };
      const w = start({
        channel: { whenInDoubt: "at-most-once", script: (_, nth) => (nth <= 3 ? refused : undefined) },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(60_000);
      assert.equal(w.attempts.length, 4);
      assert.equal(w.screen.length, 1);
    },
  },
  B124: {
    title: "a crash right after a send makes at most one doubtful copy, however many restarts follow",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1");
      w.fault = ({ process, entries }) =>
        process === "W1" && entries.some(({ kind }) => kind === "receipt") ? "died" : undefined;
      let current = one;
      for (const restart of [10_000, 20_000, 30_000]) {
        await w.until(restart);
        current.crash();
        current = await w.process(`W at ${restart}`);
      }
      await w.until(60_000);
      assert.equal(w.screen.length, 2);
      assert.equal(w.screen[0]?.key, w.screen[1]?.key);
      assert.equal(w.runs.length, 1);
    },
  },
  B125: {
    title: "a part that was perhaps sent is known as such: asked for where the platform can tell, else by stated rule",
    async run(start) {
      for (const [channel, shown, state] of [
        [{ searchable: true }, true, "sent"],
        [{ searchable: true }, false, "sent"],
        [{ whenInDoubt: "at-most-once" }, false, "unknown"],
        [{ whenInDoubt: "at-least-once" }, false, "sent"],
      ] as const) {
        const w = start({
          channel: {
            ...channel,
            script(_, nth) {
              if (nth > 1) return undefined;
              one.crash();
              return { shown, receipt: { status: "sent" } };
            },
          },
        });
        const one = await w.process("W1");
        await w.process("W2");
        await one.hears("m1");
        await w.until(60_000);
        assert.equal(w.screen.length, state === "sent" ? 1 : 0);
        const receipts = (await w.log()).flatMap((entry) => (entry.kind === "receipt" ? [entry.state] : []));
        assert.deepEqual(receipts, [state]);
      }
    },
  },
  B126: {
    title: "a provider slower than the client's patience: at most once means once, and unknown is said",
    async run(start) {
      const slow: Reaction = { shown: true, receipt: { status: "sent" }, afterMs: 3_000 };
      const w = start({ channel: { whenInDoubt: "at-most-once", timeoutMs: 1_000, script: () => slow } });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(120_000);
      assert.deepEqual(w.seen(), ["4000 re: m1"]);
      const [receipt] = (await w.log()).filter((entry) => entry.kind === "receipt");
      assert.deepEqual([receipt?.state, receipt?.atMs], ["unknown", w.clock.now() - w.ms + 5_000]);
    },
  },
  B128: {
    title: "a text that a tool sends is part of the turn's one reply, which may end with it",
    note: "Whoever returns the same words after saying them has said them twice; return null instead.",
    async run(start) {
      const w = start({
        async model(turn, run) {
          await run.think(1_000);
          await turn.say("a person will continue");
          await run.think(2_000);
          return null;
        },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(20_000);
      assert.deepEqual(w.seen(), ["2000 a person will continue"]);
      const replies = (await w.log()).filter((entry) => entry.kind === "reply");
      assert.equal(replies.length, 1);
    },
  },
  B129: {
    title: "a voice note and a line are one turn with one reply",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("a1", { parts: [{ type: "file", mediaType: "audio/ogg", ref: "a1" }] });
      await w.until(500);
      await one.hears("m2");
      await w.until(20_000);
      assert.deepEqual(w.seen(), ["4500 re: a1+m2"]);
    },
  },
};
