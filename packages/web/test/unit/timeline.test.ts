import { Lull, type LullOptions, memory, type Store } from "lull";
import { simulate, virtualClock } from "lull/testing";
import { describe, expect, it } from "vitest";
import { view } from "../../../lull-server/src/app/view.ts";
import { axisOf, densityOf, drawnOf, panned, recentOf, xOf, zoomed } from "../../src/inspector/scale.ts";
import { type Item, type Timeline, timelineInSlices, timelineOf } from "../../src/inspector/timeline/index.ts";
import type { Conversation, Entry } from "../../src/shared/shapes.ts";

const id = "web:42";
const debounce = { startMs: 1_000, quietMs: 3_000, maxWaitMs: 20_000 };

/** A bot on virtual time, and what the API says of its conversation. */
function bot(options: Partial<LullOptions>) {
  const clock = virtualClock();
  const store = memory({ now: clock.now });
  const make = (more: Partial<LullOptions> = {}) =>
    new Lull({ store, clock, debounce, deliver: async () => {}, ...options, ...more } as LullOptions);
  const lull = make();
  const say = (n: number, text = `message ${n}`) => lull.receive(id, { id: `m${n}`, text, author: "ann" });
  return { clock, store, lull, make, say, seen: () => seenIn(lull, clock.now()) };
}

/** The same store as a process sees it that is gone from some moment on. */
function cut(store: Store, dead: () => boolean): Store {
  return new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...given: unknown[]) => (dead() ? new Promise(() => {}) : member.apply(target, given));
    },
  });
}

async function seenIn(lull: Lull, now: number): Promise<{ timeline: Timeline; entries: Entry[] }> {
  const entries = (await lull.log(id)).map((entry) => view(entry) as Entry);
  const conversation = view(await lull.get(id)) as Conversation;
  return { timeline: timelineOf(entries, conversation, now), entries };
}

const of = (timeline: Timeline, kind: string) => timeline.items.filter((item) => item.kind === kind);
const factOf = (item: Item | undefined, name: string) => item?.facts.find((fact) => fact.name === name)?.value;

describe("the timeline of a burst", () => {
  it("shows the window, the discarded attempt and why, the answer and its receipt", async () => {
    const { clock, lull, say, seen } = bot({
      respond: async (turn) => {
        await clock.sleep(2_000, turn.signal);
        return "one answer";
      },
    });
    await lull.start();
    const start = clock.now();
    await say(1);
    await clock.advance(500);
    await say(2);
    // The model has begun at 1,500 ms.
    await clock.advance(1_500);
    await say(3);
    await clock.drain(60_000);
    const { timeline } = await seen();
    await lull.stop();

    expect(of(timeline, "message").map((item) => item.start - start)).toEqual([0, 500, 2_000]);
    expect(of(timeline, "message")[0]).toMatchObject({ lane: "people", text: "message 1", seq: 1 });

    const attempts = of(timeline, "attempt");
    expect(attempts.map((item) => factOf(item, "Outcome"))).toEqual(["discarded: newer input came", "committed"]);
    expect(attempts.map((item) => item.tone)).toEqual(["warn", "good"]);
    expect(attempts[0]).toMatchObject({ start: start + 1_500, end: start + 2_000, open: false });

    const [window, ...more] = of(timeline, "window");
    expect(more).toEqual([]);
    expect(window).toMatchObject({ start, end: start + 5_000, open: false, tone: "good" });
    expect(factOf(window, "Inputs")).toBe("3");
    expect(window?.ticks.find(({ kind }) => kind === "quiet")?.at).toBe(start + 5_000);

    const leases = of(timeline, "lease");
    expect(leases).toHaveLength(2);
    for (const lease of leases) expect(factOf(lease, "Fence")).toMatch(/^\d+$/);
    expect(new Set(leases.map((lease) => factOf(lease, "Fence"))).size).toBe(2);

    expect(of(timeline, "reply")).toHaveLength(1);
    expect(factOf(of(timeline, "reply")[0], "Covers inputs")).toBe("1 to 3");
    expect(of(timeline, "part").map((item) => item.label)).toEqual(["1 sent"]);
    expect(timeline.turns).toHaveLength(1);
    expect(timeline.items.some((item) => item.open)).toBe(false);
  });

  it("draws the hard cap only where the window reached it", async () => {
    const { clock, lull, say, seen } = bot({ respond: () => "at last" });
    await lull.start();
    const start = clock.now();
    for (let n = 1; n <= 12; n++) {
      await say(n);
      await clock.advance(2_000);
    }
    await clock.drain(60_000);
    const { timeline } = await seen();
    await lull.stop();
    const [first, second] = of(timeline, "window");
    expect(first?.ticks.find(({ kind }) => kind === "cap")?.at).toBe(start + debounce.maxWaitMs);
    expect(second?.ticks.some(({ kind }) => kind === "cap")).toBe(false);
  });
});

describe("the timeline of what goes wrong", () => {
  it("shows a crash as an expired lease and a lost attempt, and the answer by another process", async () => {
    let dead = false;
    const { clock, lull, store, make, say, seen } = bot({ respond: () => new Promise<never>(() => {}) });
    const dying = make({ store: cut(store, () => dead) });
    await dying.start();
    await say(1);
    await clock.advance(2_000);
    dead = true;
    const other = make({ respond: () => "after the crash" });
    await other.start();
    await clock.advance(200_000);
    const { timeline, entries } = await seen();
    const endings = entries.flatMap((entry) => (entry.kind === "ended" ? [entry.outcome] : []));
    expect(endings).toEqual(["expired"]);
    const attempts = of(timeline, "attempt");
    expect(attempts.map((item) => factOf(item, "Outcome"))).toEqual(["lost: its process stopped", "committed"]);
    expect(of(timeline, "lease").map((item) => item.tone)).toEqual(["bad", "plain"]);
    expect(of(timeline, "expired")).toMatchObject([{ lane: "lease", tone: "bad", start: attempts[0]?.end }]);
    expect(of(timeline, "reply")).toMatchObject([{ tone: "good" }]);
    await lull.stop();
    await other.stop();
  });

  it("shows failures, when they are tried again, and what was given up", async () => {
    const { clock, lull, say, seen } = bot({
      respond: () => {
        throw new Error("no model");
      },
      limits: { maxFailures: 2 },
    });
    await lull.start();
    await say(1);
    await clock.drain(600_000);
    const { timeline } = await seen();
    await lull.stop();
    expect(of(timeline, "attempt").map((item) => factOf(item, "Outcome"))).toEqual(["failed", "failed"]);
    expect(factOf(of(timeline, "attempt")[0], "Tried again at")).toMatch(/^\d\d:\d\d:\d\d/);
    expect(factOf(of(timeline, "attempt")[0], "Why")).toContain("no model");
    expect(of(timeline, "settled")).toMatchObject([{ label: "parked", tone: "bad" }]);
    expect(of(timeline, "window")).toMatchObject([{ tone: "bad", open: false }]);
  });

  it("shows every try of a part that a channel refused", async () => {
    let tries = 0;
    const { clock, lull, say, seen } = bot({
      respond: () => "hello",
      deliver: async () => {
        tries += 1;
        if (tries < 3) return { status: "failed", error: "429", retry: true };
        return { status: "sent" };
      },
    } as Partial<LullOptions>);
    await lull.start();
    await say(1);
    await clock.drain(600_000);
    const { timeline } = await seen();
    await lull.stop();
    const parts = of(timeline, "part");
    expect(parts.map((item) => item.label)).toEqual(["1 refused for now", "1 refused for now", "1 sent"]);
    for (const [index, part] of parts.entries()) {
      const before = parts[index - 1];
      if (before !== undefined) expect(part.start).toBeGreaterThanOrEqual(before.end);
    }
    expect(factOf(of(timeline, "lease")[0], "Ended")).toContain("given back");
  });

  it("goes on with the window of an answer that was withdrawn, with all of its inputs", async () => {
    let isBusy = true;
    const { clock, lull, say, seen } = bot({
      respond: async () => "an answer",
      deliver: async () =>
        isBusy ? { status: "failed", error: "429", retry: true, retryAfterMs: 6_000 } : { status: "sent" },
    } as Partial<LullOptions>);
    await lull.start();
    await say(1);
    await clock.advance(4_000);
    // The answer is committed, and the channel takes it later: the user goes on, so it is taken back.
    await say(2);
    isBusy = false;
    await clock.drain(60_000);
    const { timeline, entries } = await seen();
    await lull.stop();

    expect(entries.some((entry) => entry.kind === "closed" && entry.outcome === "withdrawn")).toBe(true);
    const [window, ...more] = of(timeline, "window");
    expect(more).toEqual([]);
    expect(factOf(window, "Inputs")).toBe("2");
    expect(factOf(of(timeline, "attempt")[0], "Then")).toMatch(/^withdrawn/);
    expect(timeline.turns).toHaveLength(1);
  });
});

describe("the timeline of what goes on", () => {
  it("shows an open window with its quiet target, its cap and the typing that holds it", async () => {
    const { clock, lull, say, seen } = bot({ respond: () => "soon" });
    const start = clock.now();
    await say(1);
    await clock.advance(500);
    await lull.typing(id, { forMs: 8_000 });
    await clock.advance(400);
    const { timeline } = await seen();
    const [window] = of(timeline, "window");
    expect(window).toMatchObject({ start, end: start + 900, open: true, tone: "live" });
    expect(window?.ticks.find(({ kind }) => kind === "quiet")?.at).toBe(start + 8_500);
    expect(window?.ticks.find(({ kind }) => kind === "cap")?.at).toBe(start + 20_000);
    expect(of(timeline, "typing")).toMatchObject([{ start: start + 500, end: start + 900 }]);
  });

  it("shows the running attempt and its lease's end", async () => {
    const { clock, lull, say, seen } = bot({
      respond: async (turn) => {
        await clock.sleep(10_000, turn.signal);
        return "late";
      },
    });
    await lull.start();
    await say(1);
    await clock.advance(4_000);
    const now = clock.now();
    const { timeline } = await seen();
    expect(of(timeline, "attempt")).toMatchObject([{ open: true, end: now, tone: "live" }]);
    expect(of(timeline, "lease")).toMatchObject([{ open: true, end: now, tone: "live" }]);
    expect(of(timeline, "lease")[0]?.ticks.map(({ kind }) => kind)).toEqual(["expiry"]);
    await clock.drain(60_000);
    await lull.stop();
  });

  it("shows hand-offs, humans, resets and what they ended", async () => {
    const { clock, lull, say, seen } = bot({
      respond: async (turn) => {
        await clock.sleep(5_000, turn.signal);
        return "never";
      },
    });
    await lull.start();
    await say(1);
    await clock.advance(2_000);
    await lull.handoff(id, { by: "eve", forMs: 600_000 });
    await clock.advance(1_000);
    await lull.humanReply(id, { text: "I take over", author: "eve" });
    await clock.advance(1_000);
    await lull.resume(id, { by: "eve" });
    await say(2);
    await clock.advance(500);
    await lull.reset(id, { by: "eve" });
    await clock.drain(60_000);
    const { timeline } = await seen();
    await lull.stop();
    expect(of(timeline, "attempt")[0]).toMatchObject({ tone: "human" });
    expect(of(timeline, "handoff")).toMatchObject([{ shape: "bar", open: false, tone: "human" }]);
    expect(of(timeline, "human")).toHaveLength(1);
    expect(of(timeline, "resumed")).toHaveLength(1);
    expect(factOf(of(timeline, "reset")[0], "By")).toBe("eve");
    expect(of(timeline, "window").map((item) => item.open)).toEqual([false, false]);
    expect(of(timeline, "window").map((item) => factOf(item, "Ended"))).toEqual([
      "answered by a human",
      "dropped by a command",
    ]);
  });

  it("is empty for nobody", () => {
    expect(timelineOf([], null, 5)).toEqual({ items: [], rows: [], turns: [], start: 5, end: 5 });
  });
});

/** Logs as the simulator leaves them: crashes, freezes, outages, refusals, operators. */
async function simulated(seed: number): Promise<Map<string, Entry[]>> {
  let store: Store | undefined;
  await simulate(seed, {
    store: ({ now }) => {
      store = { ...memory({ now }), close: async () => {} };
      return store;
    },
  });
  const logs = new Map<string, Entry[]>();
  if (store === undefined) throw new Error("the simulator made no store");
  for (const { id } of (await store.list({ limit: 100 })).conversations) {
    const { entries } = await store.log(id, { limit: 1_000 });
    logs.set(
      id,
      entries.map((entry) => view(entry) as Entry),
    );
  }
  return logs;
}

describe("the timeline of simulated worlds", () => {
  it("tells every entry of every log, with bars that begin before they end and leases one at a time", async () => {
    const kinds = new Set<string>();
    const outcomes = new Set<string>();
    for (let seed = 1; seed <= 12; seed++) {
      for (const [name, entries] of await simulated(seed)) {
        const where = `seed ${seed}, ${name}`;
        const end = Date.parse(entries.at(-1)?.at ?? "");
        const timeline = timelineOf(entries, null, end);
        for (const { kind } of entries) kinds.add(kind);
        const at = (kind: string) => entries.filter((entry) => entry.kind === kind).length;
        expect(of(timeline, "message").length, where).toBe(at("message"));
        expect(of(timeline, "attempt").length, where).toBe(at("attempt"));
        expect(of(timeline, "lease").length, where).toBe(at("attempt"));
        expect(of(timeline, "reply").length, where).toBe(at("reply"));
        expect(of(timeline, "part").length, where).toBe(at("receipt"));
        expect(of(timeline, "effect").length, where).toBe(at("effect"));
        expect(new Set(timeline.items.map((item) => item.id)).size, where).toBe(timeline.items.length);
        for (const item of timeline.items) {
          expect(item.end, `${where}: ${item.title}`).toBeGreaterThanOrEqual(item.start);
          expect(item.title, where).not.toBe("");
          expect(item.open && item.kind !== "reply", `${where}: ${item.title}`).toBe(false);
        }
        const leases = of(timeline, "lease");
        for (const [index, lease] of leases.entries()) {
          const next = leases[index + 1];
          if (next !== undefined) expect(lease.end, `${where}: ${lease.title}`).toBeLessThanOrEqual(next.start);
        }
        for (const item of of(timeline, "attempt")) outcomes.add(factOf(item, "Outcome") ?? "none");
      }
    }
    // The worlds have in them what this is about.
    for (const kind of ["effect", "receipt", "ended", "settled", "human", "handoff", "retraction", "edit"])
      expect(kinds).toContain(kind);
    for (const outcome of ["committed", "discarded: newer input came", "failed", "lost: its process stopped"])
      expect(outcomes).toContain(outcome);
    expect(outcomes).not.toContain("none");
  });
});

describe("what is drawn", () => {
  /** 10,000 entries, two minutes each turn. */
  function long(): Entry[] {
    const entries: Entry[] = [];
    let at = Date.UTC(2026, 0, 1);
    const put = (body: object) =>
      entries.push({ ...body, seq: entries.length + 1, at: new Date(at).toISOString() } as Entry);
    for (let version = 1; entries.length < 10_000; version++) {
      put({ kind: "message", id: `m${version}`, version, parts: [{ type: "text", text: "hello" }] });
      at += 1_000;
      const fence = at;
      put({ kind: "attempt", fence, owner: "p1", from: version - 1, to: version, attempt: 1, sealed: false });
      at += 2_000;
      const reply = { replyId: `r${version}`, from: version - 1, to: version };
      put({
        kind: "reply",
        ...reply,
        fence,
        parts: [{ type: "text", text: "hi" }],
        open: false,
        overtaken: false,
        cause: "turn",
        address: null,
      });
      at += 40;
      put({ kind: "receipt", replyId: reply.replyId, index: 0, state: "sent" });
      put({ kind: "closed", ...reply, outcome: "delivered" });
      at += 117_000;
    }
    return entries;
  }

  it("stays small however much there is, and says how much a group stands for", () => {
    const entries = long();
    const timeline = timelineOf(entries, null, Date.parse(entries.at(-1)?.at ?? ""));
    const all = { from: timeline.start, to: timeline.end };
    const drawn = drawnOf(timeline, all, 1_200);
    expect(drawn.length).toBeLessThanOrEqual(240);
    expect(drawn.reduce((sum, { items }) => sum + items.length, 0)).toBe(timeline.items.length);
    // Groups are no wider than what is near: a picture of everything still shows when it was.
    expect(drawn.length).toBeGreaterThan(50);
    const close = drawnOf(timeline, recentOf(timeline), 1_200);
    expect(close.every(({ items }) => items.length < 3)).toBe(true);
    expect(close.map(({ lane }) => lane)).toEqual(
      expect.arrayContaining(["people", "window", "lease", "attempt", "reply"]),
    );
    const strip = densityOf(timeline, all, 100);
    expect(strip.reduce((sum, { count }) => sum + count, 0)).toBe(timeline.items.length);
  });

  it("is the same when it is made in slices, and can be given up", async () => {
    const entries = long().slice(0, 1_000);
    let pauses = 0;
    const pause = async () => void pauses++;
    const options = { pause, signal: new AbortController().signal, sliceMs: 0 };
    expect(await timelineInSlices(entries, null, 0, options)).toEqual(timelineOf(entries, null, 0));
    expect(pauses).toBe(entries.length / 20 + 1);
    expect(await timelineInSlices(entries, null, 0, { ...options, signal: AbortSignal.abort() })).toBeNull();
  });

  it("ends even where hundreds of wide bars lie over each other", () => {
    const entries = long();
    const timeline = timelineOf(entries.slice(0, 5_000), null, 0);
    const wide = timeline.items.map((item) => ({ ...item, shape: "bar" as const, end: timeline.end }));
    expect(
      drawnOf({ ...timeline, items: wide }, { from: timeline.start, to: timeline.end }, 1_200).length,
    ).toBeLessThanOrEqual(240);
  });

  it("zooms around an instant, keeps in sight of the conversation, and has round ticks", () => {
    const bounds = { from: 0, to: 100_000 };
    const span = { from: 0, to: 10_000 };
    const closer = zoomed(span, 2, 2_500, bounds);
    expect(closer).toEqual({ from: 1_250, to: 6_250 });
    expect(xOf(2_500, closer, 1_000)).toBe(xOf(2_500, span, 1_000));
    expect(zoomed(span, 1e9, 5_000, bounds).to - zoomed(span, 1e9, 5_000, bounds).from).toBe(50);
    expect(panned(span, 100, bounds).from).toBeLessThanOrEqual(bounds.to);
    expect(panned(span, -100, bounds).to).toBeGreaterThanOrEqual(bounds.from);
    expect(axisOf(span, 1_000).map(({ at }) => at)).toEqual([
      0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000, 10_000,
    ]);
    expect(axisOf({ from: 0, to: 86_400_000 }, 1_000).every(({ at }) => at % 3_600_000 === 0)).toBe(true);
  });
});
