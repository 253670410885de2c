// A pause of the whole store: every process keeps it, those that start later included.
import { describe, expect, it } from "vitest";
import { LullError, memory } from "../../src/index.ts";
import { bot } from "../support/bot.ts";

/** One and a half scans of a second, and some. */
const everywhereMs = 2_000;

describe("a pause of the whole store", () => {
  it("reaches every process, and those that start later; what was received waits for its end", async () => {
    const one = bot();
    const two = bot({}, one);
    await one.lull.start();
    await two.lull.start();
    const pause = await one.lull.pauseAll({ by: "ada", reason: "it says odd things" });
    expect(pause).toEqual({ sinceMs: one.clock.now(), by: "ada", reason: "it says odd things" });
    expect([one.lull.paused, two.lull.paused]).toEqual([true, false]);
    await one.clock.advance(everywhereMs);
    expect(two.lull.paused).toBe(true);
    const three = bot({}, one);
    await three.lull.start();
    expect(three.lull.paused).toBe(true);
    for (const [at, { lull }] of [one, two, three].entries()) await lull.receive(`c${at}`, { id: "m", text: "hi" });
    await one.clock.advance(120_000);
    expect([one, two, three].flatMap(({ turns }) => turns)).toEqual([]);
    expect(await three.lull.pausedAll()).toEqual(pause);
    expect(await three.lull.unpauseAll()).toEqual({ was: pause, dropped: [] });
    await one.clock.advance(20_000);
    expect([one, two, three].flatMap(({ sent }) => sent)).toHaveLength(3);
    for (const { lull } of [one, two, three]) await lull.stop();
  });

  it("lets what runs finish, delivery included", async () => {
    const { lull, clock, hear, texts } = bot({}, { modelMs: 10_000 });
    await lull.start();
    await hear("a");
    await clock.advance(2_000);
    await lull.pauseAll();
    await clock.advance(60_000);
    expect(texts()).toEqual(["answer to: a"]);
    await lull.stop();
  });

  it("holds deliveries that wait for another try", async () => {
    let tries = 0;
    const { lull, clock, hear } = bot({
      deliver: async () => {
        tries += 1;
        return tries === 1
          ? { status: "failed", error: "not now", retry: true, retryAfterMs: 5_000 }
          : { status: "sent" };
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(8_000);
    expect(tries).toBe(1);
    await lull.pauseAll();
    await clock.advance(60_000);
    expect(tries).toBe(1);
    await lull.unpauseAll();
    await clock.advance(5_000);
    expect(tries).toBe(2);
    await lull.stop();
  });

  it("stands beside a process's own: both have to be lifted", async () => {
    const { lull, clock, hear, texts } = bot();
    await lull.start();
    lull.pause();
    await lull.pauseAll();
    await hear("a");
    lull.unpause();
    expect(lull.paused).toBe(true);
    await clock.advance(30_000);
    lull.pause();
    await lull.unpauseAll();
    expect(lull.paused).toBe(true);
    await clock.advance(30_000);
    expect(texts()).toEqual([]);
    lull.unpause();
    await clock.advance(30_000);
    expect(texts()).toEqual(["answer to: a"]);
    await lull.stop();
  });

  it("set twice, the first stands; lifted twice, nothing happens", async () => {
    const { lull, clock } = bot();
    const first = await lull.pauseAll({ by: "ada" });
    await clock.advance(1_000);
    expect(await lull.pauseAll({ by: "bob" })).toEqual(first);
    expect((await lull.unpauseAll()).was).toEqual(first);
    expect(await lull.unpauseAll()).toEqual({ was: null, dropped: [] });
  });

  it("also holds runDue", async () => {
    const { lull, clock, hear, turns } = bot();
    await hear("a");
    await lull.pauseAll();
    const done = lull.runDue({ deadlineMs: 30_000 });
    await clock.advance(40_000);
    await done;
    expect(turns).toEqual([]);
  });

  it("is refused by a store that cannot, with advice", async () => {
    const { setPause: _, ...store } = memory();
    const { lull } = bot({ store });
    const error = await lull.pauseAll().catch((reason: unknown) => reason);
    expect(LullError.isInstance(error) && error.code).toBe("unsupported");
    expect(await lull.pausedAll()).toBe(null);
  });
});

describe("lifting it with waiting: drop", () => {
  it("answers nothing that waited before it began, and everything that came since", async () => {
    const { lull, clock, texts } = bot();
    for (const id of ["old", "both"]) await lull.receive(id, { id: "m1", text: `${id} before` });
    await clock.advance(1_000);
    await lull.pauseAll();
    await clock.advance(1_000);
    for (const id of ["new", "both"]) await lull.receive(id, { id: "m2", text: `${id} since` });
    await lull.start();
    await clock.advance(60_000);
    expect(await lull.unpauseAll({ waiting: "drop", by: "ada" })).toMatchObject({ dropped: ["old"] });
    await clock.advance(60_000);
    expect(texts().sort()).toEqual(["answer to: both before | both since", "answer to: new since"]);
    expect((await lull.get("old"))?.state).toBe("resting");
    expect(await lull.log("old")).toMatchObject([
      { kind: "message" },
      { kind: "settled", outcome: "dropped" },
      { kind: "reset", forget: false, by: "ada" },
    ]);
    // It is history: the next prompt may see it.
    await lull.receive("old", { id: "m3", text: "again" });
    await clock.advance(60_000);
    expect(texts().at(-1)).toBe("answer to: again");
    await lull.stop();
  });

  it("answers who writes in the very moment", async () => {
    const store = memory({ now: () => world.clock.now() });
    const world = bot({
      store: {
        ...store,
        // Between the look and the write.
        list: async (page, filter) => {
          const listed = await store.list(page, filter);
          await world.lull.receive("c", { id: "m2", text: "since" });
          return listed;
        },
      },
    });
    const { lull, clock, texts } = world;
    await lull.receive("c", { id: "m1", text: "before" });
    await clock.advance(1_000);
    await lull.pauseAll();
    await clock.advance(1_000);
    await lull.start();
    expect((await lull.unpauseAll({ waiting: "drop" })).dropped).toEqual([]);
    await clock.advance(60_000);
    expect(texts()).toEqual(["answer to: before | since"]);
    await lull.stop();
  });

  it("sends nothing that was queued or on its way: a part in doubt stays unknown", async () => {
    const tried: string[] = [];
    const { lull, clock, store, hear } = bot({
      deliver: (part) => {
        tried.push(part.type === "text" ? part.text : "");
        return new Promise(() => {});
      },
    });
    await lull.start();
    await hear("a");
    await clock.advance(10_000);
    expect(tried).toEqual(["answer to: a"]);
    await lull.send("d", { text: "welcome" });
    await lull.pauseAll();
    // The process of the backup is gone; a new one starts on the copy.
    const later = bot({}, { clock, store });
    await clock.advance(1);
    await later.lull.start();
    expect((await later.lull.unpauseAll({ waiting: "drop" })).dropped.sort()).toContain("c");
    await clock.advance(300_000);
    expect(later.texts()).toEqual([]);
    const log = await later.lull.log("c");
    expect(log.filter((entry) => entry.kind === "closed")).toMatchObject([{ outcome: "cancelled" }]);
    expect(log.findLast((entry) => entry.kind === "receipt")).toMatchObject({ state: "unknown" });
    await later.lull.stop();
  });
});
