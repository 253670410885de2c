// LOSS-IN: an accepted message never reaches a turn.
import assert from "node:assert/strict";
import { poll } from "../../src/channels/poll.ts";
import type { Received } from "../../src/index.ts";
import { between, type Scenarios, scanMs } from "./scenario.ts";

const statusOf = ({ status }: Received) => status;

export const lossIn: Scenarios = {
  B026: {
    title: "a second person's message that finds the bot busy is stored with its wake-up, and answered next",
    async run(start) {
      const w = start({ modelMs: 8_000, options: { whenBusy: "queue" } });
      const one = await w.process("W1");
      const two = await w.process("W2");
      await one.hears("m1", { text: "m1", author: "ann" });
      await w.until(4_000);
      assert.equal((await two.hears("m2", { text: "m2", author: "bob" })).status, "accepted");
      const { window, lease } = await w.record();
      assert.equal(window?.count, 2);
      assert.ok(lease !== null);
      await w.until(30_000);
      assert.deepEqual(w.thought(), ["1000-9000 m1", "9000-17000 m2"]);
      assert.deepEqual(w.seen(), ["9000 re: m1", "17000 re: m2"]);
    },
  },
  B027: {
    title: "the seen id, the message and its wake-up are one write: a crash leaves all of it or nothing",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      w.fault = ({ process, method }) => (process === "W1" && method === "exchange" ? "died" : undefined);
      void one.hears("m1");
      await w.until(5_000);
      assert.deepEqual(await w.store.load("c"), { record: null, log: [], nowMs: w.clock.now() });
      const two = await w.process("W2");
      assert.equal((await two.hears("m1")).status, "accepted");
      await w.until(20_000);
      assert.deepEqual(w.seen(), ["9000 re: m1"]);
    },
  },
  B028: {
    title: "a restart drops nothing that was waiting: one reply with everything, soon after",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(300);
      await one.hears("m2");
      await w.until(600);
      one.crash();
      await w.until(4_000);
      await w.process("W1");
      await w.until(20_000);
      assert.deepEqual(
        w.runs.map(({ ids }) => ids),
        [["m1", "m2"]],
      );
      between(w.runs[0]?.startedAtMs, 4_000, 4_000 + scanMs);
      assert.equal(w.seen().length, 1);
    },
  },
  B029: {
    title: "a turn whose claim finds the store busy is tried again, not dropped",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1");
      w.fault = () => (w.ms >= 1_000 && w.ms < 4_000 ? "down" : undefined);
      await w.until(20_000);
      assert.equal(w.runs.length, 1);
      between(w.runs[0]?.startedAtMs, 4_000, 6_500);
      assert.equal(w.seen().length, 1);
    },
  },
  B030: {
    title: "rapid lines all reach the model, and one that comes while it thinks starts it over with everything",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      for (const [at, id] of [
        [0, "m1"],
        [200, "m2"],
        [400, "m3"],
        [2_000, "m4"],
      ] as const) {
        await w.until(at);
        await one.hears(id);
      }
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1400-2000 m1+m2+m3 superseded", "3000-6000 m1+m2+m3+m4"]);
      assert.deepEqual(w.seen(), ["6000 re: m1+m2+m3+m4"]);
    },
  },
  B031: {
    title: "the photo and both lines reach the model, not only the newest",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const photo = { type: "file", mediaType: "image/jpeg", ref: "p1" } as const;
      await one.hears("p1", { parts: [photo] });
      await w.until(200);
      await one.hears("m2", { text: "what is this?" });
      await w.until(400);
      await one.hears("m3", { text: "short please" });
      await w.until(20_000);
      assert.equal(w.runs.length, 1);
      assert.deepEqual(
        w.runs[0]?.turn.messages.map(({ parts }) => parts[0]),
        [photo, { type: "text", text: "what is this?" }, { type: "text", text: "short please" }],
      );
      assert.equal(w.runs[0]?.text, "what is this?\nshort please");
    },
  },
  B032: {
    title: "a message stored between the commit and the release of the lease has its wake-up",
    async run(start) {
      const w = start({ channel: { sendMs: 100 } });
      const one = await w.process("W1");
      const two = await w.process("W2");
      await one.hears("m1");
      await w.until(4_050);
      assert.equal((await two.hears("m2")).status, "accepted");
      await w.until(20_000);
      assert.deepEqual(w.seen(), ["4100 re: m1", "8150 re: m2"]);
      const kinds = (await w.log()).map(({ kind }) => kind);
      assert.ok(kinds.indexOf("reply") < kinds.lastIndexOf("message"), "m2 came after the commit");
      assert.ok(kinds.lastIndexOf("message") < kinds.indexOf("closed"), "m2 came before the lease was released");
    },
  },
  B033: {
    title: "no way of being busy loses a message",
    async run(start) {
      const w = start({
        options: { whenBusy: (conversation) => conversation as "interrupt" | "queue" | "steer" },
      });
      const one = await w.process("W1");
      const ways = ["interrupt", "queue", "steer"];
      for (const way of ways) await one.hears("m1", { in: way });
      await w.until(2_000);
      for (const way of ways) await one.hears("m2", { in: way });
      await w.until(2_500);
      for (const way of ways) await one.hears("m3", { in: way });
      await w.until(20_000);
      assert.deepEqual(w.thought("interrupt"), ["1000-2000 m1 superseded", "3500-6500 m1+m2+m3"]);
      assert.deepEqual(w.thought("queue"), ["1000-4000 m1", "4000-7000 m2+m3"]);
      // It ran on, absorbed nothing, and may not answer without what came meanwhile.
      assert.deepEqual(w.thought("steer"), ["1000-4000 m1", "4000-7000 m1+m2+m3"]);
      assert.deepEqual(w.seen("interrupt"), ["6500 re: m1+m2+m3"]);
      assert.deepEqual(w.seen("queue"), ["4000 re: m1", "7000 re: m2+m3"]);
      assert.deepEqual(w.seen("steer"), ["7000 re: m1+m2+m3"]);
    },
  },
  B034: {
    title: "a poll offset that moves when messages are stored skips nobody, whoever is slow",
    async run(start) {
      const w = start({
        async model(turn, run) {
          await run.think(turn.conversation === "slow" ? 60_000 : 200);
          return `re: ${run.ids.join("+")}`;
        },
        options: { debounce: { quietMs: 0, startMs: 0, maxWaitMs: 6_000 } },
      });
      const one = await w.process("W1");
      let offset = 0;
      for (const [id, conversation] of [
        ["u1", "slow"],
        ["u2", "fast"],
      ] as const) {
        await one.hears(id, { in: conversation });
        offset += 1;
      }
      await w.until(600);
      assert.equal(offset, 2);
      assert.deepEqual(w.seen("fast"), ["200 re: u2"]);
      one.crash();
      await w.process("W2");
      await w.until(90_000);
      assert.equal(w.seen("slow").length, 1);
      assert.equal(w.seen("fast").length, 1);
    },
  },
  B035: {
    title: "a message that could not be stored is refused to its caller, so the offset stays and order is kept",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const batch = ["u1", "u2", "u3"];
      let offset = 0;
      const poll = async () => {
        for (const id of batch.slice(offset)) {
          await one.hears(id);
          offset += 1;
          if (id === "u1") downUntilMs = w.ms + 12_000;
        }
      };
      let downUntilMs = 0;
      w.fault = () => (w.ms < downUntilMs ? "down" : undefined);
      const failed = assert.rejects(poll(), { code: "store-unavailable" });
      await w.until(15_000);
      await failed;
      assert.equal(offset, 1);
      const again = poll();
      await w.until(30_000);
      await again;
      assert.equal(offset, 3);
      const log = await w.log();
      assert.deepEqual(
        log.flatMap((entry) => (entry.kind === "message" ? [entry.id] : [])),
        batch,
      );
    },
  },
  B036: {
    title: "every entry of a webhook's batch counts, and a bad one does not drop the rest",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      // What a channel makes of one request: by conversation, the status event left out.
      const results = await Promise.allSettled([
        one.lull.receive("A", [
          { id: "m1", text: "m1" },
          { id: "m3", text: "m3" },
        ]),
        one.lull.receive("C", [{ id: "bad", parts: [] }]),
        one.lull.receive("B", [{ id: "m2", text: "m2" }]),
      ]);
      assert.deepEqual(
        results.map((result) => (result.status === "fulfilled" ? result.value.map(statusOf) : result.reason.code)),
        [["accepted", "accepted"], "invalid-argument", ["accepted"]],
      );
      await w.until(20_000);
      assert.equal((await w.record("A")).version, 2);
      assert.deepEqual(w.seen("A"), ["4000 re: m1+m3"]);
      assert.deepEqual(w.seen("B"), ["4000 re: m2"]);
      assert.equal((await w.store.load("C")).record, null);
    },
  },
  B037: {
    title: "a record whose timer is missing, as after a restored backup, is found by repair and answered",
    note: "A message and its timer are one write, so a crash cannot part them.",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await one.hears("m1");
      one.crash();
      const record = await w.record();
      const next = { ...record, revision: "without its timer" };
      await w.store.exchange({ ...w.write(record), next, wakeAtMs: null });
      await w.until(3_000);
      const two = await w.process("W2");
      await w.until(10_000);
      assert.deepEqual(w.thought(), []);
      assert.deepEqual(await two.lull.repair(), { repaired: ["c"] });
      await w.until(20_000);
      assert.equal(w.seen().length, 1);
      between(w.runs[0]?.startedAtMs, 10_000, 10_000 + scanMs);
    },
  },
  B038: {
    title: "received = stored + duplicate + rejected with a reason",
    async run(start) {
      const w = start({ modelMs: 10_000, options: { limits: { maxPending: 2 } } });
      const one = await w.process("W1");
      const received = [await one.hears("m1")];
      await w.until(1_500);
      for (const id of ["m2", "m1", "m3"]) received.push(await one.hears(id));
      assert.deepEqual(received.map(statusOf), ["accepted", "accepted", "duplicate", "rejected"]);
      const refused = received[3];
      assert.ok(refused?.status === "rejected" && refused.reason === "full" && refused.retryAfterMs >= 1_000);
      await w.until(30_000);
      // What was rejected was not seen either: the caller may come again.
      assert.equal((await one.hears("m3")).status, "accepted");
      await w.until(60_000);
      assert.deepEqual(w.seen(), ["12500 re: m1+m2", "41000 re: m3"]);
    },
  },
  B039: {
    title: "three hundred messages in two seconds are all stored, and all reach the model",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const ids = Array.from({ length: 300 }, (_, at) => `m${at}`);
      for (const [at, id] of ids.entries()) {
        await w.until(Math.floor((at * 2_000) / 299));
        assert.equal((await one.hears(id)).status, "accepted");
      }
      await w.until(20_000);
      assert.deepEqual(
        w.runs.map((run) => run.ids),
        [ids],
      );
      assert.equal((await w.record()).version, 300);
    },
  },
  B040: {
    title: "a message sent while the bot was down is answered, unless it is older than a stated age",
    async run(start) {
      const then = "context";
      const w = start({ options: { backlog: { maxAgeMs: 60_000, then } } });
      const sentAt = (ms: number) => w.clock.now() - w.ms + ms;
      await w.until(3_500);
      const one = await w.process("W1");
      await one.hears("old", { text: "old", sentAt: sentAt(-100_000) });
      await one.hears("m1", { text: "m1", sentAt: sentAt(1_000) });
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["4500-7500 m1"]);
      const log = await w.log();
      assert.deepEqual(
        log.flatMap((entry) => (entry.kind === "message" ? [[entry.id, entry.aside]] : [])),
        [
          ["old", "backlog"],
          ["m1", undefined],
        ],
      );
    },
  },
  B041: {
    title: "an answer covers what its turn had read, never what was stored since",
    async run(start) {
      const w = start({ options: { whenBusy: "queue" } });
      const one = await w.process("W1");
      const two = await w.process("W2");
      await one.hears("m1");
      await one.hears("m2");
      await w.until(1_001);
      await two.hears("m3");
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1000-4000 m1+m2", "4000-7000 m3"]);
      const replies = (await w.log()).filter((entry) => entry.kind === "reply");
      assert.deepEqual(
        replies.map(({ from, to, overtaken }) => ({ from, to, overtaken })),
        [
          { from: 0, to: 2, overtaken: true },
          { from: 2, to: 3, overtaken: false },
        ],
      );
    },
  },
  B042: {
    title: "a poller that is refused says that it does not receive, recovers by itself, and skips nothing",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const told: string[] = [];
      const asked: (number | null)[] = [];
      let storeDown = true;
      const poller = poll({
        clock: w.clock,
        async fetch(offset, signal) {
          asked.push(offset);
          if (w.ms < 5_000) throw new Error("409: another poller");
          const waiting = [1, 2].filter((update) => update >= (offset ?? 1));
          // A long poll.
          if (waiting.length === 0) await w.clock.sleep(30_000, signal);
          return waiting;
        },
        offsetOf: (update) => update + 1,
        async take(update) {
          if (update === 2 && storeDown) throw new Error("the store is away");
          await one.hears(`m${update}`);
        },
        onHealth: (health) => told.push(`${w.ms} ${health.receiving ? "receiving" : `deaf: ${health.error}`}`),
      });
      await w.until(4_000);
      assert.equal(poller.health.receiving, false);
      await w.until(7_500);
      storeDown = false;
      await w.until(60_000);
      assert.equal(poller.health.receiving, true);
      assert.equal(told[0], "0 deaf: 409: another poller");
      assert.match(told.at(-1) ?? "", /receiving$/);
      // The offset stood still at the update that could not be stored.
      assert.ok(asked.includes(2));
      const stopped = poller.stop();
      await w.until(60_001);
      await stopped;
      const heard = (await w.log()).flatMap((entry) => (entry.kind === "message" ? [entry.id] : []));
      assert.deepEqual(heard, ["m1", "m2"]);
      assert.ok(w.seen().length > 0);
    },
  },
};
