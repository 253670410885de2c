// LOSS-OUT: an answer is not delivered, delivered in part, or keeps others waiting.
import assert from "node:assert/strict";
import { between, type Scenarios, scanMs } from "./scenario.ts";

export const lossOut: Scenarios = {
  B130: {
    title: "a part refused with a time to wait is sent then, and the parts after it follow",
    async run(start) {
      const w = start({
        model: () => ["p1", "p2", "p3"],
        channel: {
          script: ({ text, attempt }) =>
            text === "p2" && attempt === 1
              ? { shown: false, receipt: { status: "failed", error: "429", retry: true, retryAfterMs: 700 } }
              : undefined,
        },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(20_000);
      assert.deepEqual(w.seen(), ["1000 p1", "1700 p2", "1700 p3"]);
      assert.equal(w.runs.length, 1);
    },
  },
  B131: {
    title: "a reply carries the newest message's address, so that a channel can use the token that still lives",
    note: "Whether to fall back to a push message when no token lives is the channel's choice.",
    async run(start) {
      const w = start({ modelMs: 70_000 });
      const one = await w.process("W1");
      await one.hears("m1", { text: "m1", address: { token: 1, expiresAtMs: 60_000 } });
      await w.until(5_000);
      await one.hears("m2", { text: "m2", address: { token: 2, expiresAtMs: 65_000 } });
      await w.until(90_000);
      assert.deepEqual(
        w.attempts.map(({ address, atMs }) => [address, atMs]),
        [[{ token: 2, expiresAtMs: 65_000 }, 76_000]],
      );
    },
  },
  B132: {
    title: "a command is acknowledged before it is stored; where that failed, the answer is an ordinary message",
    note: "Acknowledging first is the channel's. Until it is stored nothing is promised, and the platform's own retry is gone.",
    async run(start) {
      const shown: string[] = [];
      /** Interactions the platform has heard of in time: only these take an answer. */
      const deferred = new Set<string>();
      const w = start({
        modelMs: 20_000,
        channel: {
          async deliver(part, { address }) {
            const { interaction } = address as { interaction: string };
            const way = deferred.has(interaction) ? "in place" : "as a message";
            shown.push(`${w.ms} ${way}: ${part.type === "text" ? part.text : ""}`);
            return { status: "sent" };
          },
        },
      });
      const one = await w.process("W1");
      let slow = true;
      w.fault = ({ method }) => (slow && (method === "load" || method === "exchange") ? 1_750 : undefined);
      const command = async (id: string, inTime: boolean) => {
        slow = true;
        if (inTime) deferred.add(id);
        await one.hears(id, { text: id, quietMs: 0, address: { interaction: id } });
        slow = false;
      };
      await Promise.all([command("a", true), w.until(60_000)]);
      await Promise.all([command("b", false), w.until(120_000)]);
      assert.deepEqual(shown, ["21750 in place: re: a", "81750 as a message: re: b"]);
      assert.equal(w.runs.length, 2);
    },
  },
  B133: {
    title: "a refusal for good ends the reply at once, visibly, and nobody else waits",
    async run(start) {
      const w = start({
        model: () => ["first", "second"],
        channel: {
          script: ({ conversation }) =>
            conversation === "blocked"
              ? { shown: false, receipt: { status: "failed", error: "403: blocked by the user" } }
              : undefined,
        },
      });
      const one = await w.process("W1");
      await one.hears("m1", { in: "blocked" });
      await one.hears("m1", { in: "fine" });
      await w.until(60_000);
      assert.equal(w.attempts.filter(({ conversation }) => conversation === "blocked").length, 1);
      const view = await one.lull.get("blocked");
      assert.equal(view?.state, "parked");
      assert.equal(view?.parked?.reason, "delivery failed");
      assert.deepEqual(w.seen("fine"), ["1000 first", "1000 second"]);
    },
  },
  B134: {
    title: "a channel that this process does not have, or not yet, is no refusal: the reply waits",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await w.until(1_000);
      // Two channels, none of them the one that is asked for: an older release, say.
      const stranger = { name: "a", idempotent: false, deliver: () => Promise.resolve({ status: "sent" as const }) };
      one.crash();
      const old = await w.process("old", { channels: [stranger, { ...stranger, name: "b" }] });
      await old.hears("m1", { text: "m1", address: { channel: "double" } });
      await w.until(7_000);
      assert.deepEqual(w.screen, []);
      assert.equal((await w.record()).outbox?.parts[0]?.state, "queued");
      old.crash();
      await w.process("new");
      await w.until(30_000);
      assert.equal(w.runs.length, 1);
      assert.equal(w.seen().length, 1);
    },
  },
  B135: {
    title: "a crash between the commit and the send: the reply is sent from the outbox, without the model",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1");
      w.fault = ({ process, entries }) =>
        process === "W1" && entries.some(({ kind }) => kind === "reply") ? "dies" : undefined;
      await w.until(6_000);
      assert.equal(one.state, "dead");
      await w.process("W2");
      await w.until(30_000);
      assert.equal(w.runs.length, 1);
      assert.equal(w.seen().length, 1);
      // One lease after the commit.
      between(w.screen[0]?.atMs, 9_000, 9_000 + scanMs);
    },
  },
  B136: {
    title: "a turn given up says so: an event, and the fallback once; a later answer stands alone",
    async run(start) {
      let broken = true;
      const w = start({
        model(_turn, run) {
          if (broken) throw new Error("overloaded");
          return `re: ${run.ids.join("+")}`;
        },
        options: { limits: { maxFailures: 3 }, fallback: "sorry" },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(60_000);
      assert.equal(w.runs.length, 3);
      assert.deepEqual(
        w.screen.map(({ text }) => text),
        ["sorry"],
      );
      const parked = w.events.filter(({ type }) => type === "inputs.parked");
      assert.equal(parked.length, 1);
      assert.ok(parked[0]?.entry?.kind === "settled" && parked[0].entry.reason === "overloaded");
      broken = false;
      await one.lull.retry("c");
      await w.until(90_000);
      assert.deepEqual(
        w.screen.map(({ text }) => text),
        ["sorry", "re: m1"],
      );
    },
  },
};
