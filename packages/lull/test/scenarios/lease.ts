// LEASE: locks that expire, stick, are released too early, or believe a clock.
import assert from "node:assert/strict";
import { between, neverTwoRuns, type Scenarios, scanMs, service } from "./scenario.ts";

export const lease: Scenarios = {
  B075: {
    title:
      "a run longer than its lease keeps it: a message through another process never starts a second run beside it",
    async run(start) {
      const w = start({
        modelMs: 12_000,
        options: {
          debounce: { quietMs: 1_000, startMs: 1_000, maxWaitMs: 30_000 },
          whenBusy: (conversation) => (conversation === "queue" ? "queue" : "interrupt"),
        },
      });
      const one = await w.process("W1");
      const two = await w.process("W2");
      for (const conversation of ["queue", "interrupt"]) await one.hears("m1", { in: conversation });
      await w.until(7_000);
      for (const conversation of ["queue", "interrupt"]) await two.hears("m2", { in: conversation });
      await w.until(60_000);
      neverTwoRuns(w.runs);
      assert.deepEqual(w.thought("queue"), ["1000-13000 m1", "13000-25000 m2"]);
      // The other process hears of it with its next renewal.
      const [first, second] = w.runs.filter(({ conversation }) => conversation === "interrupt");
      assert.equal(first?.outcome, "superseded");
      between(first?.endedAtMs ?? undefined, 7_000, 8_500);
      assert.deepEqual(second?.ids, ["m1", "m2"]);
      assert.equal(w.seen("interrupt").length, 1);
    },
  },
  B076: {
    title: "a holder cut off from the store loses its lease, and its late answer is refused by its fence",
    async run(start) {
      const w = start({
        async model(_turn, run) {
          // The second run is still at it when the first one's answer comes through.
          await run.think(run.nth === 1 ? 3_000 : 8_000);
          return `by ${run.process}`;
        },
      });
      const one = await w.process("W1");
      await w.process("W2");
      await one.hears("m1");
      await w.until(1_000);
      w.fault = ({ process }) => (process === "W1" && w.ms < 9_000 ? "down" : undefined);
      await w.until(30_000);
      assert.deepEqual(
        w.runs.map(({ process, outcome }) => `${process} ${outcome}`),
        ["W1 answered", "W2 answered"],
      );
      between(w.runs[1]?.startedAtMs, 6_000, 6_000 + scanMs);
      assert.deepEqual(
        w.attempts.map(({ process }) => process),
        ["W2"],
      );
      assert.deepEqual(
        w.screen.map(({ text }) => text),
        ["by W2"],
      );
    },
  },
  B077: {
    title: "nobody gives up waiting before a dead lease has run out",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const two = await w.process("W2");
      await one.hears("m1");
      await w.until(1_500);
      one.crash();
      await w.until(2_000);
      await two.hears("m2");
      await w.until(30_000);
      assert.deepEqual(w.thought(), ["1000- m1", "6000-9000 m1+m2"]);
      assert.deepEqual(w.seen(), ["9000 re: m1+m2"]);
    },
  },
  B078: {
    title: "a run that hangs is aborted, and the conversation goes on at once",
    async run(start) {
      const w = start({
        async model(_turn, run) {
          if (run.nth === 1) await new Promise(() => {});
          await run.think(3_000);
          return "re: m1";
        },
        options: { lease: { turnTimeoutMs: 20_000 } },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(60_000);
      assert.equal(w.runs.length, 2);
      assert.match(String(w.runs[0]?.turn.signal.reason), /turnTimeoutMs/);
      between(w.runs[1]?.startedAtMs, 21_000, 22_000);
      assert.equal(w.seen().length, 1);
    },
  },
  B079: {
    title: "a lease of a run that never began ends by its expiry alone",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await w.process("W2");
      await one.hears("m1");
      w.fault = ({ process, entries }) =>
        process === "W1" && entries.some(({ kind }) => kind === "attempt") ? "dies" : undefined;
      await w.until(30_000);
      assert.deepEqual(
        w.runs.map(({ process }) => process),
        ["W2"],
      );
      between(w.runs[0]?.startedAtMs, 6_000, 6_000 + scanMs);
      assert.equal(w.seen().length, 1);
    },
  },
  B080: {
    title: "a process that lives but has lost track of its lease is no reason to wait longer",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      await w.process("W2");
      await one.hears("m1");
      let claimed = false;
      w.fault = ({ process, entries }) => {
        if (process !== "W1" || w.ms > 30_000) return undefined;
        if (claimed) return "down";
        claimed = entries.some(({ kind }) => kind === "attempt");
        return claimed ? "lost" : undefined;
      };
      await w.until(60_000);
      assert.equal(one.state, "running");
      assert.deepEqual(
        w.runs.map(({ process }) => process),
        ["W2"],
      );
      between(w.runs[0]?.startedAtMs, 6_000, 6_000 + scanMs);
      assert.equal(w.seen().length, 1);
    },
  },
  B081: {
    title: "a wedged run is not kept alive by its heartbeat: it is given up within a bound, visibly",
    async run(start) {
      const w = start({
        model: () => new Promise(() => {}),
        options: { lease: { turnTimeoutMs: 20_000 }, limits: { maxFailures: 2 }, fallback: "sorry" },
      });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(60_000);
      assert.equal(w.runs.length, 2);
      const view = await one.lull.get("c");
      assert.equal(view?.state, "parked");
      assert.match(view?.parked?.reason ?? "", /timed out after 20000 ms/);
      between((view?.parked?.atMs ?? 0) - w.clock.now() + w.ms, 41_500, 42_000);
      assert.equal(w.seen().length, 1);
      assert.equal(w.screen[0]?.text, "sorry");
    },
  },
  B082: {
    title: "a process that was stopped past its lease wakes to find it lost, before any send or tool call",
    async run(start) {
      const tool = service();
      const w = start({
        async model(turn, run) {
          await run.think(2_000);
          await turn.once("tool", () => tool.call(run, "tool"));
          await run.think(1_000);
          return `re: ${run.ids.join("+")}`;
        },
      });
      const one = await w.process("W1");
      await w.process("W2");
      await one.hears("m1");
      await w.until(1_200);
      one.freeze();
      await w.until(9_000);
      await one.thaw();
      await w.until(30_000);
      assert.deepEqual(
        w.runs.map(({ process, outcome }) => `${process} ${outcome}`),
        ["W1 lost", "W2 answered"],
      );
      between(w.runs[1]?.startedAtMs, 6_000, 6_000 + scanMs);
      assert.deepEqual(
        tool.calls.map(({ process }) => process),
        ["W2"],
      );
      assert.deepEqual(
        w.attempts.map(({ process }) => process),
        ["W2"],
      );
    },
  },
  B083: {
    title: "a lease without an expiry cannot be read: reported once, and nobody else waits",
    note: "It is refused as damage rather than believed to be expired: erase or a restored backup mends it.",
    differs: "The memory store has no damage of its own, so it does not look for any when it is asked what is due.",
    async run(start) {
      const warnings: object[] = [];
      const quiet = { debug() {}, info() {} };
      const warn = (fields: object) => void warnings.push(fields);
      const w = start({ options: { logger: { ...quiet, warn, error: warn } } });
      const one = await w.process("W1");
      await one.hears("m1");
      await w.until(1_500);
      one.crash();
      const record = await w.record();
      const lease = { ...record.lease, expiresAtMs: null };
      const next = { ...record, lease, revision: "corrupt" } as unknown as typeof record;
      await w.store.exchange({ ...w.write(record), next });
      const two = await w.process("W2");
      await w.until(60_000);
      assert.ok(warnings.length <= 1, `${warnings.length} warnings in a minute`);
      await assert.rejects(two.hears("m2"), { code: "store-damaged" });
      await two.hears("m1", { in: "other" });
      await w.until(70_000);
      assert.deepEqual(w.seen("other"), ["64000 re: m1"]);
      assert.equal(await two.lull.erase("c"), true);
      await two.hears("m2");
      await w.until(80_000);
      assert.deepEqual(w.seen(), ["74000 re: m2"]);
    },
  },
  B084: {
    title: "two processes that claim in the same millisecond: one wins, the other lets it work",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const two = await w.process("W2");
      await one.hears("m1");
      await two.hears("m2");
      let claims = 0;
      w.fault = ({ method, entries }) => {
        if (method === "exchange" && (entries.length === 0 || entries.some(({ kind }) => kind === "attempt")))
          claims += 1;
        return undefined;
      };
      await w.until(1_000);
      assert.equal(w.runs.length, 1);
      assert.ok(claims <= 3, `${claims} exchanges for one claim`);
      await w.until(20_000);
      assert.deepEqual(w.thought(), ["1000-4000 m1+m2"]);
      assert.deepEqual(w.seen(), ["4000 re: m1+m2"]);
    },
  },
  B085: {
    title: "a process asks the store, not itself, whether somebody is at work",
    async run(start) {
      const w = start({ modelMs: 5_000, options: { whenBusy: "queue" } });
      const a = await w.process("A");
      const b = await w.process("B");
      await a.hears("m1");
      await w.until(2_000);
      await b.hears("m2");
      await w.until(5_999);
      assert.deepEqual(w.thought(), ["1000- m1"]);
      await w.until(30_000);
      neverTwoRuns(w.runs);
      assert.deepEqual(
        w.runs.map(({ ids }) => ids),
        [["m1"], ["m2"]],
      );
      assert.equal(w.seen().length, 2);
    },
  },
  B086: {
    title: "the answer and the end of the lease are one write: who comes in between makes it stale, never double",
    async run(start) {
      const w = start();
      const one = await w.process("W1");
      const two = await w.process("W2");
      await one.hears("m1");
      w.fault = ({ process, entries }) =>
        process === "W1" && w.ms === 4_000 && entries.some(({ kind }) => kind === "reply") ? 40 : undefined;
      await w.until(4_010);
      await two.hears("m2", { text: "m2", quietMs: 0 });
      await w.until(30_000);
      neverTwoRuns(w.runs);
      const replies = (await w.log()).filter((entry) => entry.kind === "reply");
      assert.deepEqual(
        replies.map(({ from, to }) => [from, to]),
        [[0, 2]],
      );
      assert.equal(w.seen().length, 1);
      assert.equal(w.screen[0]?.text, "re: m1+m2");
    },
  },
  B087: {
    title: "the store's clock judges leases: a fast clock steals none, a slow one waits no longer",
    async run(start) {
      for (const skewMs of [8_000, -8_000]) {
        const w = start();
        const one = await w.process("W1");
        await w.process("W2", { skewMs });
        await one.hears("m1");
        await w.until(1_500);
        one.crash();
        await w.until(30_000);
        assert.equal(w.runs[1]?.process, "W2");
        between(w.runs[1]?.startedAtMs, 6_000, 6_000 + scanMs);
        assert.equal(w.seen().length, 1);
      }
    },
  },
};
