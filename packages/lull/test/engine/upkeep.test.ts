// What goes on in the background: forgetting, and mending.
import { expect, it } from "vitest";
import { type Cells, cells, storeTime } from "../../src/cell.ts";
import { memory } from "../../src/index.ts";
import { settle } from "../../src/options.ts";
import { bot } from "../support/bot.ts";
import { around, counting } from "../support/stores.ts";
import { virtualClock } from "../support/virtual.ts";

const hour = 3_600_000;

it("old history goes, but nothing that an answer or a retry needs", async () => {
  const { clock, lull, hear, texts } = bot({ history: { keepMs: hour } });
  await lull.start();
  await hear("a");
  await clock.advance(20_000);
  await lull.handoff("c", { forMs: 5 * hour });
  await hear("b");
  await clock.advance(4 * hour);
  const kinds = (await lull.log("c")).map(({ kind }) => kind);
  expect(kinds).not.toContain("reply");
  expect(kinds).toContain("message");
  await clock.advance(2 * hour);
  expect(texts()).toEqual(["answer to: a", "answer to: b"]);
  await lull.stop();
});

it("ids are remembered as long as the limit says", async () => {
  const { clock, lull, hear } = bot({ limits: { seenMs: hour } });
  await lull.start();
  await hear("a");
  await clock.advance(hour - 1);
  expect((await lull.receive("c", { id: "a", text: "a" })).status).toBe("duplicate");
  await clock.advance(1);
  expect((await lull.receive("c", { id: "a", text: "a" })).status).toBe("accepted");
  await clock.advance(20_000);
  await lull.stop();
});

it("a store that fails at upkeep is tried again", async () => {
  const warnings: string[] = [];
  const logger = { debug() {}, info() {}, error() {}, warn: (_fields: object, text: string) => warnings.push(text) };
  const clock = virtualClock();
  const store = { ...memory({ now: () => clock.now() }), prune: () => Promise.reject(new Error("busy")) };
  const { lull } = bot({ logger, store }, { clock });
  await lull.start();
  await clock.advance(hour);
  expect(warnings.length).toBeGreaterThan(2);
  expect(new Set(warnings)).toEqual(new Set(["upkeep failed; trying again later"]));
  await lull.stop();
});

it("repair() finds conversations whose timer was lost", async () => {
  const clock = virtualClock();
  const inner = memory({ now: () => clock.now() });
  let lose = true;
  const lossy = around(inner, (call, go, [write]) => {
    if (call === "exchange" && lose) Object.assign(write as object, { wakeAtMs: null });
    return go();
  });
  const { lull, texts } = bot({ store: lossy }, { clock });
  for (const id of ["one", "two"]) await lull.receive(id, { text: id });
  lose = false;
  await lull.receive("three", { text: "three" });
  await lull.start();
  await clock.advance(20_000);
  expect(texts()).toEqual(["answer to: three"]);
  expect(await lull.repair()).toEqual({ repaired: ["one", "two"] });
  await clock.advance(20_000);
  expect(texts().slice(1).sort()).toEqual(["answer to: one", "answer to: two"]);
  await lull.stop();
});

it("only so many idle conversations are remembered", async () => {
  const clock = virtualClock();
  const { store, counts } = counting(memory({ now: () => clock.now() }));
  const { limits } = settle({ store });
  const cell: Cells = cells(
    store,
    clock,
    storeTime(clock),
    () => () => limits,
    () => {},
  );
  const take = (id: string, n: number) =>
    cell.perform(id, { events: () => [{ type: "receive", id: `${n}`, parts: [{ type: "text", text: "x" }] }] });
  await take("first", 1);
  for (let n = 0; n < 10_000; n += 1) await take(`c${n}`, 1);
  counts.exchange = 0;
  await take("c9999", 2);
  expect(counts.exchange).toBe(1);
  // Taken for a new one, until the store says otherwise.
  expect((await take("first", 2)).outcomes[0]).toMatchObject({ is: "accepted", version: 2 });
  expect(counts.exchange).toBe(3);
}, 60_000);
