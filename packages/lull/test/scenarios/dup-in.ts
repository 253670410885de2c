// DUP-IN: the same inbound event, delivered or ingested more than once.
import assert from "node:assert/strict";
import { between, type Scenarios, scanMs, service } from "./scenario.ts";

export const dupIn: Scenarios = {
  B001: {
    title: "a webhook posted again while the model thinks is a duplicate, and moves no timer",
    async run(start) {
      const w = start({ modelMs: 8_000 });
      const one = await w.process("W1");
      const first = await one.hears("m1");
      await w.until(3_100);
      const before = await w.record();
      assert.deepEqual(await one.hears("m1"), { ...first, status: "duplicate" });
      assert.deepEqual(await w.record(), before);
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1000-9000 m1"]);
      assert.deepEqual(w.seen(), ["9000 re: m1"]);
    },
  },
  B002: {
    title: "retries are recognised during the turn and long after it",
    async run(start) {
      const w = start({ modelMs: 1_000 });
      const one = await w.process("W1");
      await one.hears("m1");
      for (const at of [3_000, 63_000, 363_000]) {
        await w.until(at);
        assert.equal((await one.hears("m1", { text: "m1", metadata: { retryNumber: 1 } })).status, "duplicate");
      }
      await w.until(400_000);
      assert.deepEqual(w.seen(), ["2000 re: m1"]);
    },
  },
  B004: {
    title: "a mention that is also a plain message is one message, whichever process gets which",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const two = await w.process("W2");
      assert.equal((await one.hears("m1", { text: "@bot hi", metadata: { event: "mention" } })).status, "accepted");
      await w.until(4);
      assert.equal((await two.hears("m1", { text: "@bot hi", metadata: { event: "message" } })).status, "duplicate");
      await w.until(20_000);
      assert.deepEqual(w.seen(), ["4000 re: m1"]);
      assert.equal((await w.record()).version, 1);
    },
  },
  B005: {
    title: "two processes that both find an id unseen cannot both write it",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const two = await w.process("W2");
      const received = await Promise.all([one.hears("m1"), two.hears("m1")]);
      assert.deepEqual(received.map(({ status }) => status).sort(), ["accepted", "duplicate"]);
      await w.until(20_000);
      assert.equal((await w.record()).version, 1);
      assert.deepEqual(w.seen(), ["4000 re: m1"]);
    },
  },
  B006: {
    title: "a webhook is acknowledged at once, however long the model takes",
    async run(start) {
      const w = start({ modelMs: 60_000 });
      const one = await w.process("W1");
      await one.hears("m1");
      for (const at of [5_000, 15_000, 35_000]) {
        await w.until(at);
        assert.equal((await one.hears("m1")).status, "duplicate");
        assert.equal(w.ms, at);
      }
      await w.until(70_000);
      assert.deepEqual(w.seen(), ["61000 re: m1"]);
    },
  },
  B007: {
    title: "a process that dies before it acknowledges loses nothing and doubles nothing",
    async run(start) {
      const w = start();
      const two = await w.process("W2");
      for (const fate of ["dies", "died"] as const) {
        const one = await w.process(`W1 ${fate}`);
        w.fault = ({ process, method }) => (process === one.name && method === "exchange" ? fate : undefined);
        const beganAtMs = w.ms;
        const posted = w.post("u1", () => (one.state === "dead" ? two : one), 1_500, { in: fate });
        await w.until(beganAtMs + 20_000);
        assert.equal(one.state, "dead");
        assert.equal((await posted).status, fate === "dies" ? "duplicate" : "accepted");
        assert.equal(w.thought(fate).length, 1);
        assert.equal(w.seen(fate).length, 1);
      }
    },
  },
  B008: {
    title: "a turn that ends on a tool call alone is settled as silent, an empty answer is parked; tools run once",
    async run(start) {
      const tool = service();
      const w = start({
        async model(turn, run) {
          await run.think(500);
          await turn.once("tool", () => tool.call(run, turn.conversation));
          return turn.conversation === "empty" ? "" : null;
        },
      });
      const one = await w.process("W1");
      for (const conversation of ["silent", "empty"]) await one.hears("u1", { in: conversation });
      await w.until(60_000);
      for (const conversation of ["silent", "empty"])
        assert.equal((await one.hears("u1", { in: conversation })).status, "duplicate");
      await w.until(120_000);
      assert.deepEqual(tool.calls.map(({ key }) => key).sort(), ["empty", "silent"]);
      for (const [conversation, ending] of [
        ["silent", "silent"],
        ["empty", "parked"],
      ] as const) {
        const settled = (await w.log(conversation)).filter((entry) => entry.kind === "settled");
        assert.deepEqual(
          settled.map(({ outcome }) => outcome),
          [ending],
        );
      }
    },
  },
  B009: {
    title: "a button pressed once makes one ticket, though the platform posts it again with a new time",
    async run(start) {
      const tickets = service();
      const w = start({
        model: async (turn, run) =>
          `ticket ${await turn.once("ticket", ({ idempotencyKey }) => tickets.call(run, idempotencyKey, 20_000))}`,
      });
      const one = await w.process("W1");
      const press = () => one.hears("m1", { text: "create ticket", quietMs: 0, sentAt: w.clock.now() });
      await press();
      await w.until(15_000);
      assert.equal((await press()).status, "duplicate");
      await w.until(60_000);
      assert.equal(tickets.calls.length, 1);
      assert.deepEqual(w.seen(), ["20000 ticket 1"]);
    },
  },
  B010: {
    title: "a handler that throws after the message was stored never reaches the webhook's answer",
    async run(start) {
      const w = start({
        async model(_turn, run) {
          await run.think(500);
          if (run.nth === 1) throw new Error("boom");
          return "re: m1";
        },
      });
      const one = await w.process("W1");
      assert.equal((await one.hears("m1")).status, "accepted");
      for (const at of [1_000, 1_600, 5_000, 12_000, 30_000]) {
        await w.until(at);
        assert.equal((await one.hears("m1")).status, "duplicate");
      }
      await w.until(40_000);
      assert.equal(w.thought()[0], "1000-1500 m1 boom");
      assert.equal(w.seen().length, 1);
      between(w.screen[0]?.atMs, 2_500, 3_000);
    },
  },
  B011: {
    title: "a provider that asks again before the answer is there gets one answer",
    async run(start) {
      const w = start({ modelMs: 20_000 });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(15_000);
      assert.equal((await one.hears("m1")).status, "duplicate");
      await w.until(60_000);
      assert.deepEqual(w.seen(), ["21000 re: m1"]);
    },
  },
  B012: {
    title: "a message that comes in two shapes is one message; what the second adds is an edit",
    note: "The first shape stands. A channel that knows a richer one hands it in as an edit, which has a version of its own.",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1", { text: "hi" });
      await w.until(3);
      const richer = { text: "hi", metadata: { quoted: "m0" } };
      assert.equal((await one.hears("m1", richer)).status, "duplicate");
      assert.equal((await w.record()).version, 1);
      assert.equal((await one.lull.edit("c", "m1", richer)).status, "accepted");
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1003-4003 m1"]);
      assert.deepEqual(w.runs[0]?.turn.metadata, richer.metadata);
      assert.deepEqual(w.seen(), ["4003 re: m1"]);
    },
  },
  B013: {
    title: "events emitted twice while somebody types fast: every message once, in order",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const statuses: string[] = [];
      for (const [at, id] of [
        [0, "m1"],
        [120, "m2"],
        [130, "m1"],
        [240, "m3"],
        [245, "m2"],
      ] as const) {
        await w.until(at);
        statuses.push((await one.hears(id)).status);
      }
      assert.deepEqual(statuses, ["accepted", "accepted", "duplicate", "accepted", "duplicate"]);
      await w.until(20_000);
      assert.equal((await w.record()).version, 3);
      assert.deepEqual(w.thought(), ["1240-4240 m1+m2+m3"]);
      assert.deepEqual(w.seen(), ["4240 re: m1+m2+m3"]);
    },
  },
  B014: {
    title: "one button press that reaches three processes in one millisecond is one turn",
    async run(start) {
      const w = start();
      const processes = [await w.process("W1"), await w.process("W2"), await w.process("W3")];
      const press = { text: "yes", quietMs: 0 };
      const received = await Promise.all(processes.map((process) => process.hears("cb1", press)));
      assert.deepEqual(received.map(({ status }) => status).sort(), ["accepted", "duplicate", "duplicate"]);
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["0-3000 cb1"]);
      assert.deepEqual(w.seen(), ["3000 re: cb1"]);
    },
  },
  B015: {
    title: "the old process and the new one both hear a message during a deployment; one answers",
    async run(start) {
      const w = start();
      const old = await w.process("old");
      const fresh = await w.process("new");
      await Promise.all([old.hears("m1"), fresh.hears("m1")]);
      await w.until(1_200);
      // It hands its turn back, and the other goes on at once.
      const stopped = old.lull.stop({ timeoutMs: 1_000 });
      await w.until(20_000);
      await stopped;
      assert.deepEqual(
        w.runs.map(({ process, outcome }) => `${process} ${outcome}`),
        ["old stopped", "new answered"],
      );
      assert.equal(w.seen().length, 1);
      between(w.screen[0]?.atMs, 2_200 + 3_000, 2_200 + scanMs + 3_000);
    },
  },
  B016: {
    title: "a browser that asks again after a blip joins the same turn, and both get the same answer",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const ask = async () => {
        const received = await one.hears("c1");
        assert.ok(received.status !== "rejected");
        return { status: received.status, reply: await one.lull.reply("c", received.version) };
      };
      const first = ask();
      await w.until(900);
      const second = ask();
      await w.until(20_000);
      const answers = [await first, await second];
      assert.deepEqual(
        answers.map(({ status }) => status),
        ["accepted", "duplicate"],
      );
      assert.deepEqual(answers[0]?.reply, answers[1]?.reply);
      assert.deepEqual(answers[0]?.reply?.parts, [{ type: "text", text: "re: c1" }]);
      assert.deepEqual(w.thought(), ["1000-4000 c1"]);
      assert.deepEqual(w.seen(), ["4000 re: c1"]);
    },
  },
  B017: {
    title: "an id counts as seen only when its message is stored: duplicate never means silence",
    async run(start) {
      const w = start();
      // The client goes away, the turn does not.
      const one = await w.process("W1");
      const away = new AbortController();
      await one.hears("c1", { in: "stored" });
      const reply = one.lull.reply("stored", 1, { signal: away.signal });
      await w.until(500);
      away.abort();
      await w.until(1_500);
      assert.equal(await reply, null);
      assert.equal((await one.hears("c1", { in: "stored" })).status, "duplicate");
      await w.until(20_000);
      assert.deepEqual(w.seen("stored"), ["4000 re: c1"]);

      // The process goes away before anything is stored.
      w.fault = ({ process }) => (process === "W1" ? "down" : undefined);
      void one.hears("c1", { in: "unstored" });
      await w.until(20_500);
      one.crash();
      await w.until(21_500);
      const two = await w.process("W2");
      assert.equal((await two.hears("c1", { in: "unstored" })).status, "accepted");
      await w.until(40_000);
      assert.deepEqual(w.seen("unstored"), ["25500 re: c1"]);
    },
  },
};
