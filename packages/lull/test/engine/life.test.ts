// Starting, stopping, pausing, cron, and a second process.
import { describe, expect, it } from "vitest";
import { memory } from "../../src/index.ts";
import { bot, textOf } from "../support/bot.ts";
import { around, away, counting, mortal, withoutHints } from "../support/stores.ts";
import { virtualClock } from "../support/virtual.ts";

function twoProcesses(options: Parameters<typeof bot>[0] = {}, modelMs = 2_000) {
  const clock = virtualClock();
  const store = withoutHints(memory({ now: () => clock.now() }));
  const make = () => bot(options, { clock, store, modelMs });
  return { clock, one: make(), two: make() };
}

describe("start and stop", () => {
  it("may be called twice, and together", async () => {
    const clock = virtualClock();
    const { store, counts } = counting(memory({ now: () => clock.now() }));
    const { lull, hear, texts } = bot({ store }, { clock });
    await Promise.all([lull.start(), lull.start()]);
    await lull.start();
    await hear("a");
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: a"]);
    const before = counts.due;
    await clock.advance(7_500);
    // One scan about every 750 ms, not two.
    expect(counts.due - before).toBeLessThan(16);
    await Promise.all([lull.stop(), lull.stop()]);
    await lull.stop();
  });

  it("leave nothing behind that would keep the process from exiting", async () => {
    const { clock, lull, hear } = bot({
      deliver: async () => ({ status: "failed", error: "429", retry: true, retryAfterMs: 600_000 }),
    });
    await lull.start();
    await hear("a");
    await lull.receive("d", { text: "waits", quietMs: 40_000 });
    await clock.advance(8_000);
    const stopped = lull.stop();
    await clock.advance(20_000);
    await stopped;
    expect(clock.sleeping()).toBe(0);
  });

  it("cost no time when nothing runs", async () => {
    const { clock, lull, hear, elapsed } = bot();
    await lull.start();
    await hear("a");
    await clock.advance(20_000);
    await lull.stop();
    expect(elapsed()).toBe(20_000);
  });

  it("can follow each other", async () => {
    const { clock, lull, hear, texts } = bot();
    await lull.start();
    await lull.stop();
    await hear("a");
    await clock.advance(20_000);
    expect(texts()).toEqual([]);
    await lull.start();
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: a"]);
    await lull.stop();
  });

  it("start() fails when the store is away, and can be called again", async () => {
    const clock = virtualClock();
    let broken = true;
    const store = around(memory({ now: () => clock.now() }), (_call, go) => (broken ? Promise.reject(away()) : go()));
    const { lull, hear, texts } = bot({ store }, { clock });
    await expect(lull.start()).rejects.toMatchObject({ code: "store-unavailable" });
    await lull.stop();
    broken = false;
    await lull.start();
    await hear("a");
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: a"]);
    await lull.stop();
  });

  it("the constructor does nothing", async () => {
    const clock = virtualClock();
    const { store, counts } = counting(memory({ now: () => clock.now() }));
    bot({ store }, { clock });
    await clock.advance(60_000);
    expect(counts).toEqual({ load: 0, exchange: 0, due: 0, log: 0 });
    expect(clock.sleeping()).toBe(0);
  });

  it("stop() lets a running attempt finish within its time", async () => {
    const { clock, lull, hear, texts, elapsed } = bot({}, { modelMs: 7_000 });
    await lull.start();
    await hear("a");
    await clock.advance(3_000);
    let stoppedAt = 0;
    const stopped = lull.stop({ timeoutMs: 10_000 }).then(() => (stoppedAt = elapsed()));
    await hear("b");
    await clock.advance(60_000);
    await stopped;
    // Newer input ended the attempt; a new one is not begun.
    expect(texts()).toEqual([]);
    expect(stoppedAt).toBe(3_000);
    expect((await lull.get("c"))?.state).toBe("waiting");
  });

  it("stop() lets an answer out that is ready in time, and no longer", async () => {
    const { clock, lull, hear, texts, elapsed } = bot();
    await lull.start();
    await hear("a");
    await clock.advance(3_500);
    let stoppedAt = 0;
    const stopped = lull.stop({ timeoutMs: 10_000 }).then(() => (stoppedAt = elapsed()));
    await clock.advance(60_000);
    await stopped;
    expect(texts()).toEqual(["answer to: a"]);
    expect(stoppedAt).toBe(6_000);
  });

  it("stop() hands the rest back, and another process answers at once", async () => {
    const { clock, one, two } = twoProcesses({}, 30_000);
    await one.lull.start();
    await one.hear("a");
    await clock.advance(2_000);
    await two.lull.start();
    const stopped = one.lull.stop({ timeoutMs: 1_000 });
    await clock.advance(1_000);
    expect(one.turns[0]?.signal.reason).toMatchObject({ code: "stopped" });
    await clock.advance(1_200);
    expect(two.turns.map(textOf)).toEqual(["a"]);
    await clock.advance(60_000);
    await stopped;
    expect(one.texts()).toEqual([]);
    expect(two.texts()).toEqual(["answer to: a"]);
    expect((await two.lull.get("c"))?.failures).toBe(0);
    await two.lull.stop();
  });

  it("stop() waits for the receipt of a part on its way", async () => {
    const { clock, lull, hear, types } = bot({
      deliver: async () => {
        await clock.sleep(1_500);
        return { status: "sent" };
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(6_500);
    const stopped = lull.stop({ timeoutMs: 1_000 });
    await clock.advance(5_000);
    await stopped;
    expect(types()).toContain("part.sent");
    expect((await lull.get("c"))?.state).toBe("resting");
  });

  it("await using stops", async () => {
    const { clock, lull, hear, turns } = bot();
    {
      await using running = lull;
      await running.start();
    }
    await hear("a");
    await clock.advance(20_000);
    expect(turns).toEqual([]);
  });

  it("a process without respond only receives", async () => {
    const clock = virtualClock();
    const { Lull } = await import("../../src/index.ts");
    const store = memory({ now: () => clock.now() });
    const web = new Lull({ store, clock });
    await web.start();
    await web.receive("c", { id: "a", text: "a" });
    await clock.advance(60_000);
    expect(await web.runDue({ deadlineMs: 1_000 })).toEqual({ nextAtMs: expect.any(Number) });
    await web.stop();
    const { lull, texts } = bot({ store }, { clock });
    await lull.start();
    await clock.advance(10_000);
    expect(texts()).toEqual(["answer to: a"]);
    await lull.stop();
  });
});

describe("pause", () => {
  it("begins no turn; what runs goes on; receiving goes on", async () => {
    const { clock, lull, hear, texts, turns } = bot();
    await lull.start();
    await hear("a");
    await clock.advance(2_000);
    lull.pause();
    expect(lull.paused).toBe(true);
    await lull.receive("d", { text: "d" });
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: a"]);
    expect(turns).toHaveLength(1);
    expect(lull.working).toBe(0);
    lull.unpause();
    await clock.advance(3_500);
    expect(texts()).toEqual(["answer to: a", "answer to: d"]);
    await lull.stop();
  });

  it("leaves the work to other processes", async () => {
    const { clock, one, two } = twoProcesses();
    await one.lull.start();
    await two.lull.start();
    one.lull.pause();
    await one.hear("a");
    await clock.advance(20_000);
    expect(two.texts()).toEqual(["answer to: a"]);
    await one.lull.stop();
    await two.lull.stop();
  });
});

describe("runDue", () => {
  it("works off what is due, and tells when to come again", async () => {
    const { clock, lull, hear, texts, elapsed } = bot();
    await hear("a");
    await clock.advance(5_000);
    await lull.receive("d", { text: "d" });
    const began = clock.now();
    const run = lull.runDue({ deadlineMs: 4_000 });
    await clock.advance(4_000);
    expect(await run).toEqual({ nextAtMs: began + 30_000 + 1_000 });
    expect(texts()).toEqual(["answer to: a"]);
    expect(elapsed()).toBe(9_000);
    await clock.advance(30_000);
    const again = lull.runDue();
    await clock.advance(20_000);
    expect(await again).toEqual({ nextAtMs: null });
    expect(texts()).toEqual(["answer to: a", "answer to: d"]);
  });

  it("resolves at once when nothing is due before its deadline", async () => {
    const { clock, lull, hear, elapsed } = bot();
    expect(await lull.runDue()).toEqual({ nextAtMs: null });
    await hear("a");
    expect(await lull.runDue({ deadlineMs: 500 })).toEqual({ nextAtMs: clock.now() + 1_000 });
    expect(elapsed()).toBe(0);
  });

  it("waits for what becomes due in time", async () => {
    const { clock, lull, hear, texts } = bot();
    await hear("a");
    const run = lull.runDue();
    await clock.advance(10_000);
    expect(await run).toEqual({ nextAtMs: null });
    expect(texts()).toEqual(["answer to: a"]);
    expect(clock.sleeping()).toBe(0);
  });

  it("does not spin on what it cannot do", async () => {
    const clock = virtualClock();
    const shared = memory({ now: () => clock.now() });
    let dues = 0;
    const store = around(shared, (call, go) => {
      if (call === "due") dues += 1;
      return call === "exchange" && broken ? Promise.reject(new Error("disk full")) : go();
    });
    let broken = false;
    const { lull, hear } = bot({ store }, { clock });
    await hear("a");
    await clock.advance(5_000);
    broken = true;
    const run = lull.runDue({ deadlineMs: 5_000 });
    await clock.advance(60_000);
    await run;
    expect(dues).toBeLessThan(120);
  });

  it("paused does nothing", async () => {
    const { clock, lull, hear, turns } = bot();
    await hear("a");
    await clock.advance(5_000);
    lull.pause();
    expect((await lull.runDue()).nextAtMs).toBeLessThan(clock.now());
    expect(turns).toEqual([]);
  });
});

describe("concurrency", () => {
  it("is bounded; who waits is served in turn", async () => {
    let running = 0;
    let most = 0;
    const { clock, lull, turns } = bot({
      concurrency: 3,
      respond: async () => {
        running += 1;
        most = Math.max(most, running);
        await clock.sleep(10_000);
        running -= 1;
        return "done";
      },
    });
    await lull.start();
    for (let n = 0; n < 10; n += 1) await lull.receive(`c${n}`, { text: "hi" });
    await clock.advance(5_000);
    expect(lull.working).toBe(3);
    await clock.advance(60_000);
    expect(most).toBe(3);
    expect(turns).toHaveLength(10);
    await lull.stop();
  });
});

describe("a second process", () => {
  it("shares the work: messages come to both, one answers", async () => {
    const { clock, one, two } = twoProcesses();
    await one.lull.start();
    await two.lull.start();
    for (const [n, { hear }] of [one, two, one, two].entries()) {
      await hear(`m${n}`);
      await clock.advance(300);
    }
    await clock.advance(20_000);
    expect([...one.texts(), ...two.texts()]).toEqual(["answer to: m0 | m1 | m2 | m3"]);
    await one.lull.stop();
    await two.lull.stop();
  });

  it("picks up within a lease and a scan when the first dies", async () => {
    const clock = virtualClock();
    const shared = withoutHints(memory({ now: () => clock.now() }));
    const first = mortal(shared, clock);
    const one = bot({ clock: first.clock }, { clock, store: first.store, modelMs: 20_000 });
    const two = bot({}, { clock, store: shared });
    await one.lull.start();
    await two.lull.start();
    await one.hear("a");
    await clock.advance(5_000);
    first.kill();
    // Claimed at 1 s, never renewed: the lease ends at 31 s.
    await clock.advance(26_000 + 1_300);
    expect(two.turns.map(textOf)).toEqual(["a"]);
    expect(two.turns[0]?.attempt).toBe(2);
    await clock.advance(10_000);
    expect(two.texts()).toEqual(["answer to: a"]);
    await two.lull.stop();
  });

  it("with a clock of its own that is wrong answers all the same", async () => {
    const clock = virtualClock();
    const store = withoutHints(memory({ now: () => clock.now() }));
    const one = bot({ clock: clock.skewed(3_600_000) }, { clock, store });
    const two = bot({ clock: clock.skewed(-3_600_000) }, { clock, store });
    await one.lull.start();
    await two.lull.start();
    await one.hear("a");
    await two.hear("b");
    await clock.advance(20_000);
    expect([...one.sent, ...two.sent].map(({ text, atMs }) => [text, atMs])).toEqual([["answer to: a | b", 6_000]]);
    await one.lull.stop();
    await two.lull.stop();
  });
});

describe("an author's function that throws", () => {
  it("concerns one conversation only", async () => {
    const { clock, lull, texts } = bot({
      debounce: (id) => {
        if (id === "bad" && broken) throw new Error("no such tenant");
        return "snappy";
      },
    });
    let broken = false;
    await lull.start();
    await lull.receive("bad", { text: "x" });
    await lull.receive("good", { text: "y" });
    broken = true;
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: y"]);
    await expect(lull.receive("bad", { text: "z" })).rejects.toThrow("no such tenant");
    broken = false;
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: y", "answer to: x"]);
    await lull.stop();
  });

  it("a listener is logged, and the others are called", async () => {
    const errors: string[] = [];
    const logger = { debug() {}, info() {}, warn() {}, error: (fields: object) => errors.push(JSON.stringify(fields)) };
    const { lull, hear, types } = bot({ logger });
    const off = lull.on(() => {
      throw new Error("mine");
    });
    const seen: string[] = [];
    lull.on(({ type }) => seen.push(type));
    await hear("a");
    expect(seen).toEqual(types());
    expect(errors.length).toBe(seen.length);
    expect(errors[0]).toContain("mine");
    off();
    off();
    await hear("b");
    expect(errors.length).toBeLessThan(seen.length);
  });
});
