// One conversation's writes through a store that conflicts, rejects, forgets to answer, is slow or is away.
import { describe, expect, it } from "vitest";
import { type Cells, cells, storeTime } from "../../src/cell.ts";
import { LullError, memory, type ProtocolEvent, type Store } from "../../src/index.ts";
import { settle } from "../../src/options.ts";
import { bot } from "../support/bot.ts";
import { around, away } from "../support/stores.ts";
import { dice, type VirtualClock, virtualClock } from "../support/virtual.ts";

const settings = settle({ store: memory() });

function cellsOver(store: Store, clock: VirtualClock): Cells {
  return cells(
    store,
    clock,
    storeTime(clock),
    () => () => settings.limits,
    () => {},
  );
}

const message = (id: string): ProtocolEvent => ({ type: "receive", id, parts: [{ type: "text", text: id }] });

/** Receives as lull does: the id is remembered with the answer. */
async function take(to: Cells, clock: VirtualClock, id: string, patienceMs?: number) {
  const result = await to.perform("c", {
    events: () => [message(id)],
    seen: ([outcome]) => [
      {
        key: id,
        value: outcome && "version" in outcome ? (outcome.version as number) : 0,
        expiresAtMs: clock.now() + 1e9,
      },
    ],
    ...(patienceMs === undefined ? {} : { patienceMs }),
  });
  return { version: result.duplicate?.[0]?.value ?? (result.outcomes[0] as { version: number }).version, result };
}

async function finish<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  let done = false;
  const watched = promise.finally(() => {
    done = true;
  });
  watched.catch(() => {});
  for (let n = 0; n < 1_000 && !done; n += 1) await clock.advance(100);
  return watched;
}

/** Every message once, in a log without gaps. */
async function whole(store: Store, count: number) {
  const { entries } = await store.log("c", { limit: 1_000 });
  expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: count }, (_, at) => at + 1));
  const ids = entries.flatMap((entry) => (entry.kind === "message" ? [entry.id] : []));
  expect(new Set(ids).size).toBe(count);
  expect((await store.load("c")).record?.version).toBe(count);
}

describe("a store that misbehaves", () => {
  /** What one exchange may come to instead of what it should. */
  const faults: Record<string, (go: () => Promise<never>, clock: VirtualClock) => Promise<never>> = {
    "rejects before it writes": () => Promise.reject(away()),
    "rejects after it wrote": (go) => go().then(() => Promise.reject(new Error("connection reset"))),
    "calls the caller's clock wrong": (_go, clock) => Promise.resolve({ kind: "skewed", nowMs: clock.now() } as never),
    "is slow": (go, clock) => clock.sleep(3_000).then(go),
    "answers slowly": async (go, clock) => {
      const answer = await go();
      await clock.sleep(3_000);
      return answer;
    },
  };

  it.each(Object.entries(faults))("%s: nothing is lost or doubled", async (_name, fault) => {
    const clock = virtualClock();
    const store = memory({ now: () => clock.now() });
    const random = dice(3);
    const flaky = around(store, (call, go) => (call === "exchange" && random() < 0.4 ? fault(go, clock) : go()));
    const one = cellsOver(flaky, clock);
    const two = cellsOver(flaky, clock);
    const taken: Promise<{ version: unknown }>[] = [];
    for (let n = 0; n < 40; n += 1) {
      taken.push(take(n % 2 === 0 ? one : two, clock, `m${n}`));
      if (n % 3 === 0) await clock.advance(50);
    }
    const versions = (await finish(clock, Promise.all(taken))).map(({ version }) => version);
    expect(versions.toSorted((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 40 }, (_, at) => at + 1));
    await whole(store, 40);
  });

  it("all of it at once, with every message handed in by both processes", async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const clock = virtualClock();
      const store = memory({ now: () => clock.now() });
      const random = dice(seed);
      const kinds = Object.values(faults);
      const flaky = around(store, (call, go) => {
        if (random() > 0.3) return go();
        if (call === "load") return Promise.reject(away());
        return call === "exchange" ? (kinds[Math.floor(random() * kinds.length)] ?? go)(go, clock) : go();
      });
      const one = cellsOver(flaky, clock);
      const two = cellsOver(flaky, clock);
      const taken: Promise<{ version: unknown }>[] = [];
      for (let n = 0; n < 20; n += 1) {
        taken.push(take(one, clock, `m${n}`), take(two, clock, `m${n}`));
        if (random() < 0.3) await clock.advance(50);
      }
      const versions = (await finish(clock, Promise.all(taken))).map(({ version }) => version);
      for (let n = 0; n < 20; n += 1) expect(versions[2 * n]).toBe(versions[2 * n + 1]);
      await whole(store, 20);
    }
  });

  it("conflicts bring the record, so that the next try needs no load", async () => {
    const clock = virtualClock();
    const calls: string[] = [];
    const store = memory({ now: () => clock.now() });
    const watched = around(store, (call, go) => {
      calls.push(call);
      return go();
    });
    const one = cellsOver(watched, clock);
    await take(one, clock, "a");
    await take(cellsOver(store, clock), clock, "b");
    calls.length = 0;
    expect((await take(one, clock, "c")).version).toBe(3);
    expect(calls).toEqual(["exchange", "exchange"]);
  });

  it("lost answers are found again, even when somebody wrote after", async () => {
    const clock = virtualClock();
    const store = memory({ now: () => clock.now() });
    const other = cellsOver(store, clock);
    let lose = true;
    const flaky = around(store, async (call, go) => {
      const answer = await go();
      if (call !== "exchange" || !lose) return answer;
      lose = false;
      await take(other, clock, "b");
      throw new Error("connection reset");
    });
    const { version } = await finish(clock, take(cellsOver(flaky, clock), clock, "a"));
    expect(version).toBe(1);
    await whole(store, 2);
  });
});

describe("a caller", () => {
  it("is told after its patience that the store is away; asked again, nothing is doubled", async () => {
    const clock = virtualClock();
    const store = memory({ now: () => clock.now() });
    let broken = true;
    const flaky = around(store, (_call, go) => (broken ? Promise.reject(new Error("ECONNREFUSED")) : go()));
    const one = cellsOver(flaky, clock);
    const began = clock.now();
    await expect(finish(clock, take(one, clock, "a", 10_000))).rejects.toMatchObject({
      code: "store-unavailable",
      retryable: true,
      cause: { message: "ECONNREFUSED" },
    });
    expect(clock.now() - began).toBeLessThan(13_000);
    broken = false;
    expect((await finish(clock, take(one, clock, "a", 10_000))).version).toBe(1);
    await whole(store, 1);
  });

  it("is told after its patience also when the store never answers, and so is whoever waits behind", async () => {
    const clock = virtualClock();
    const store = memory({ now: () => clock.now() });
    const dead = around(store, () => new Promise<never>(() => {}));
    const one = cellsOver(dead, clock);
    const first = take(one, clock, "a", 10_000);
    first.catch(() => {});
    await clock.advance(1_000);
    const second = take(one, clock, "b", 10_000);
    second.catch(() => {});
    await clock.advance(11_000);
    await expect(first).rejects.toMatchObject({ code: "store-unavailable" });
    await expect(second).rejects.toMatchObject({ code: "store-unavailable" });
  });

  it("gets errors that no repetition mends at once", async () => {
    for (const code of ["store-newer-schema", "store-damaged", "store-closed"] as const) {
      const clock = virtualClock();
      const store = around(memory({ now: () => clock.now() }), () => Promise.reject(new LullError(code, "no")));
      await expect(take(cellsOver(store, clock), clock, "a")).rejects.toMatchObject({ code });
      const { lull } = bot({ store }, { clock });
      await expect(lull.receive("c", { text: "a" })).rejects.toMatchObject({ code });
      await expect(lull.get("c")).rejects.toMatchObject({ code });
    }
  });

  it("that only looks rests on what was read for it, not on what was remembered", async () => {
    const clock = virtualClock();
    const store = memory({ now: () => clock.now() });
    const one = cellsOver(store, clock);
    const two = cellsOver(store, clock);
    await take(one, clock, "a");
    await two.perform("c", { events: () => [{ type: "reset", id: "r", forget: true }] });
    // To the first, a window still seems open.
    const { outcomes } = await one.perform("c", { events: () => [{ type: "flush" }] });
    expect(outcomes).toEqual([{ is: "nothing" }]);
    const looked = await one.perform("c", { events: () => [] });
    expect(looked.record?.window).toBeNull();
  });
});

describe("a store that is away for 30 seconds", () => {
  /** Away from `from` to `to`, counted from the start. */
  async function outage(fromMs: number, toMs: number) {
    const clock = virtualClock();
    const began = clock.now();
    const inner = memory({ now: () => clock.now() });
    const store = around(inner, (_call, go) => {
      const at = clock.now() - began;
      return at >= fromMs && at < toMs ? Promise.reject(away()) : go();
    });
    const made = bot({ store }, { clock });
    await made.lull.start();
    await made.hear("a");
    await clock.advance(180_000);
    await made.lull.stop();
    return made;
  }

  it.each([
    ["in the window", 500],
    ["in the model call", 2_000],
    ["while the answer waits", 5_000],
    ["at the commit", 5_999],
  ])("%s: the answer comes once, when it is back", async (_when, fromMs) => {
    const { sent } = await outage(fromMs, fromMs + 30_000);
    expect(sent.map(({ text }) => text)).toEqual(["answer to: a"]);
    expect(sent[0]?.atMs).toBeGreaterThanOrEqual(Math.min(fromMs + 30_000, 36_000));
    expect(sent[0]?.atMs).toBeLessThan(fromMs + 30_000 + 10_000);
  });

  it("longer than the lease: the answer comes once all the same", async () => {
    for (const fromMs of [500, 2_000, 5_999]) {
      const { sent, lull } = await outage(fromMs, fromMs + 90_000);
      expect(sent.map(({ text }) => text)).toEqual(["answer to: a"]);
      expect((await lull.get("c"))?.state).toBe("resting");
    }
  });

  it("between send and receipt: the part goes again under the same key, or not at all", async () => {
    const clock = virtualClock();
    const began = clock.now();
    const inner = memory({ now: () => clock.now() });
    let broken = false;
    const store = around(inner, (_call, go) => (broken ? Promise.reject(away()) : go()));
    const keys: string[] = [];
    const { lull, hear } = bot(
      {
        store,
        deliver: async (_part, { idempotencyKey }) => {
          keys.push(idempotencyKey);
          broken = keys.length === 1;
          return { status: "sent" };
        },
      },
      { clock },
    );
    await lull.start();
    await hear("a");
    await clock.advance(10_000);
    expect(keys).toHaveLength(1);
    await clock.advance(26_000 - (clock.now() - began - 10_000));
    broken = false;
    await clock.advance(120_000);
    expect(new Set(keys).size).toBe(1);
    expect((await lull.get("c"))?.state).toBe("resting");
    await lull.stop();
  });
});
