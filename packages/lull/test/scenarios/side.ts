// SIDE: a tool's side effect is repeated, lost, or done after it was called off.
import assert from "node:assert/strict";
import { between, type Scenarios, scanMs, service } from "./scenario.ts";

export const side: Scenarios = {
  B102: {
    title: "a card charged before the model failed is not charged again: the next attempt gets the result",
    async run(start) {
      const card = service();
      const w = start({
        async model(turn, run) {
          const charge = await turn.once("charge", ({ idempotencyKey }) => card.call(run, idempotencyKey, 500));
          await run.think(500);
          if (run.nth === 1) throw new Error("500 from the model");
          return `charged ${charge}`;
        },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(20_000);
      assert.deepEqual(
        w.runs.map(({ outcome }) => outcome),
        ["500 from the model", "answered"],
      );
      assert.deepEqual(w.runs[1]?.turn.effects, [{ key: "charge", state: "done", value: 1 }]);
      assert.equal(card.calls.length, 1);
      assert.equal(w.screen[0]?.text, "charged 1");
    },
  },
  B103: {
    title: "a refund whose end nobody recorded is told to be in doubt, with its key, so that it can be looked up",
    async run(start) {
      const bank = service();
      const doubts: boolean[] = [];
      const w = start({
        async model(turn, run) {
          const refund = await turn.once("refund", async ({ idempotencyKey, inDoubt }) => {
            doubts.push(inDoubt);
            const known = bank.calls.findIndex(({ key }) => key === idempotencyKey);
            return inDoubt && known >= 0 ? known + 1 : bank.call(run, idempotencyKey, 1_000);
          });
          return `refund ${refund}`;
        },
      });
      const one = await w.process("W1");
      await w.process("W2");
      await one.hears("m1");
      w.fault = ({ process, entries }) =>
        process === "W1" && entries.some(({ kind }) => kind === "effect") ? "died" : undefined;
      await w.until(30_000);
      assert.deepEqual(
        w.runs.map(({ process }) => process),
        ["W1", "W2"],
      );
      between(w.runs[1]?.startedAtMs, 6_000, 6_000 + scanMs);
      assert.deepEqual(doubts, [false, true]);
      assert.equal(bank.calls.length, 1);
      assert.deepEqual(w.runs[1]?.turn.effects, [{ key: "refund", state: "unknown" }]);
      assert.equal(w.screen[0]?.text, "refund 1");
    },
  },
  B104: {
    title: "the attempt after an interruption is told what was done already, and cannot do it again",
    async run(start) {
      const forge = service();
      const w = start({
        async model(turn, run) {
          const pull = await turn.once("create_pr", ({ idempotencyKey }) => forge.call(run, idempotencyKey, 1_000));
          await run.think(2_000);
          return `#${pull} ${run.ids.join("+")}`;
        },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(2_500);
      await one.hears("m2");
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1000-2500 m1 superseded", "3500-5500 m1+m2"]);
      assert.deepEqual(w.runs[1]?.turn.effects, [{ key: "create_pr", state: "done", value: 1 }]);
      assert.equal(forge.calls.length, 1);
      assert.deepEqual(w.seen(), ["5500 #1 m1+m2"]);
    },
  },
  B105: {
    title: "a booking that timed out is recorded as unknown, and no later attempt books again",
    async run(start) {
      const hotel = service();
      const w = start({
        async model(turn, run) {
          const booking = await turn.once("book", async ({ idempotencyKey }) => {
            // It is done, but its answer does not come in time.
            void hotel.call(run, idempotencyKey);
            await run.thinkDeaf(10_000);
            return { status: "unknown" };
          });
          if (run.nth === 1) throw new Error("500 from the model");
          return booking.status === "unknown" ? "let me check your booking" : "booked";
        },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(60_000);
      assert.equal(w.runs.length, 2);
      assert.equal(hotel.calls.length, 1);
      assert.equal(w.screen[0]?.text, "let me check your booking");
    },
  },
  B106: {
    title:
      "a reply sent right before a crash is not thought out again; the channel decides whether it may be sent again",
    async run(start) {
      for (const channel of [{ whenInDoubt: "at-most-once" }, { searchable: true }, { idempotent: true }] as const) {
        const w = start({ channel });
        const one = await w.process("W1");
        await one.hears("m1");
        w.fault = ({ process, entries }) =>
          process === "W1" && entries.some(({ kind }) => kind === "receipt") ? "died" : undefined;
        await w.until(8_000);
        assert.equal(one.state, "dead");
        await w.process("W2");
        await w.until(30_000);
        assert.equal(w.runs.length, 1);
        assert.deepEqual(w.seen(), ["4000 re: m1"]);
        const [receipt] = (await w.log()).filter((entry) => entry.kind === "receipt");
        assert.equal(receipt?.state, "whenInDoubt" in channel ? "unknown" : "sent");
      }
    },
  },
  B108: {
    title: "a reset ends the running turn: tools it had planned are not called, whichever process heard of it",
    async run(start) {
      const tool = service();
      const w = start({
        async model(turn, run) {
          await run.thinkDeaf(1_500);
          await turn.once("tool", () => tool.call(run, turn.conversation));
          return "done";
        },
        options: { commands: { reset: ["/reset"] } },
      });
      const one = await w.process("W1");
      const two = await w.process("W2");
      for (const conversation of ["same", "other"]) await one.hears("m1", { in: conversation });
      await w.until(2_000);
      await one.hears("x", { in: "same", text: "/reset" });
      await two.hears("x", { in: "other", text: "/reset" });
      await w.until(20_000);
      assert.deepEqual(tool.calls, []);
      assert.deepEqual(
        w.runs.map(({ startedAtMs, outcome }) => [startedAtMs, outcome]),
        [
          [1_000, "reset"],
          [1_000, "reset"],
        ],
      );
      assert.deepEqual(w.screen, []);
    },
  },
  B109: {
    title: "an impatient second request while the first is in progress: one payment, and the next attempt waits for it",
    async run(start) {
      const bank = service();
      const w = start({
        async model(turn, run) {
          const payment = await turn.once("pay", ({ idempotencyKey }) => bank.call(run, idempotencyKey, 4_000));
          return `payment ${payment}`;
        },
      });
      const one = await w.process("W1");
      await one.hears("m1", { text: "pay" });
      await w.until(3_000);
      await one.hears("m2", { text: "pay" });
      await w.until(30_000);
      assert.equal(bank.calls.length, 1);
      const last = w.runs.at(-1);
      assert.deepEqual(last?.ids, ["m1", "m2"]);
      assert.deepEqual(last?.turn.effects, [{ key: "pay", state: "done", value: 1 }]);
      between(last?.startedAtMs, 5_000, 5_000 + scanMs);
      assert.equal(w.seen().length, 1);
      assert.equal(w.screen[0]?.text, "payment 1");
    },
  },
  B110: {
    title: "an effect is done once in a turn, and may be done again in a later one",
    async run(start) {
      const mail = service();
      const w = start({
        async model(turn, run) {
          await turn.once("send_mail", ({ idempotencyKey }) => mail.call(run, idempotencyKey));
          if (run.nth === 1) throw new Error("500 from the model");
          return "sent";
        },
      });
      const one = await w.process("W1");
      await one.hears("m1", { text: "send the mail" });
      await w.until(20_000);
      assert.equal(w.runs.length, 2);
      assert.equal(mail.calls.length, 1);
      await one.hears("m2", { text: "send it again" });
      await w.until(40_000);
      assert.equal(mail.calls.length, 2);
      assert.notEqual(mail.calls[0]?.key, mail.calls[1]?.key);
    },
  },
};
