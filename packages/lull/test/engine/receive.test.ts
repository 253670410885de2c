import { describe, expect, it } from "vitest";
import { memory } from "../../src/index.ts";
import { bot } from "../support/bot.ts";
import { counting } from "../support/stores.ts";
import { virtualClock } from "../support/virtual.ts";

const versions = (received: object[]) => received.map((one) => ("version" in one ? one.version : "none"));

describe("receive", () => {
  it("takes an array in order, and answers for each message", async () => {
    const { lull } = bot();
    const received = await lull.receive("c", [
      { id: "a", text: "1" },
      { id: "b", text: "2" },
      { id: "c", text: "3" },
    ]);
    expect(received.map(({ status, id }) => [status, id])).toEqual([
      ["accepted", "a"],
      ["accepted", "b"],
      ["accepted", "c"],
    ]);
    expect(versions(received)).toEqual([1, 2, 3]);
    expect((await lull.log("c")).map((entry) => entry.kind === "message" && entry.id)).toEqual(["a", "b", "c"]);
  });

  it("merges concurrent calls for one conversation into one exchange", async () => {
    const clock = virtualClock();
    const { store, counts } = counting(memory({ now: () => clock.now() }));
    const { lull } = bot({ store }, { clock });
    const texts = Array.from({ length: 20 }, (_, at) => `m${at}`);
    const received = await Promise.all(texts.map((text) => lull.receive("c", { id: text, text })));
    expect(counts.exchange).toBe(1);
    expect(versions(received)).toEqual(texts.map((_, at) => at + 1));
  });

  it("costs one round trip when the conversation is known", async () => {
    const clock = virtualClock();
    const { store, counts } = counting(memory({ now: () => clock.now() }));
    const { lull, hear } = bot({ store }, { clock });
    await hear("a");
    Object.assign(counts, { load: 0, exchange: 0 });
    await hear("b");
    expect(counts).toMatchObject({ load: 0, exchange: 1 });
    expect((await lull.get("c"))?.version).toBe(2);
  });

  it("answers a repeated id as the first time", async () => {
    const { clock, lull } = bot();
    const first = await lull.receive("c", { id: "a", text: "1" });
    await clock.advance(400);
    await lull.receive("c", { id: "b", text: "2" });
    const again = await lull.receive("c", { id: "a", text: "changed on the way" });
    expect(again).toEqual({ ...first, status: "duplicate" });
    expect((await lull.get("c"))?.version).toBe(2);
  });

  it("takes an id that comes ten times at once for one message", async () => {
    const { lull } = bot();
    const calls = Array.from({ length: 10 }, () => lull.receive("c", { id: "a", text: "1" }));
    const received = await Promise.all(calls);
    expect(received.map(({ status }) => status).sort()).toEqual(["accepted", ...Array(9).fill("duplicate")]);
    expect(versions(received)).toEqual(Array(10).fill(1));
    expect((await lull.get("c"))?.version).toBe(1);
    const inOneArray = await lull.receive("d", [
      { id: "a", text: "1" },
      { id: "a", text: "1" },
      { id: "b", text: "2" },
    ]);
    expect(inOneArray.map(({ status }) => status)).toEqual(["accepted", "duplicate", "accepted"]);
    expect(versions(inOneArray)).toEqual([1, 1, 2]);
  });

  it("keeps equal ids of two conversations apart", async () => {
    const { lull } = bot();
    await lull.receive("c", { id: "a", text: "1" });
    expect(await lull.receive("d", { id: "a", text: "1" })).toMatchObject({ status: "accepted", version: 1 });
  });

  it("recognises a message without id by author, time and content", async () => {
    const { lull } = bot();
    const message = { text: "hi", author: "ann", sentAt: "2026-01-01T00:00:00Z" };
    const first = await lull.receive("c", message);
    expect(await lull.receive("c", { ...message, sentAt: new Date("2026-01-01") })).toEqual({
      ...first,
      status: "duplicate",
    });
    expect((await lull.receive("c", { ...message, text: "ho" })).status).toBe("accepted");
    expect((await lull.receive("c", { ...message, author: "bob" })).status).toBe("accepted");
    expect((await lull.receive("c", { ...message, sentAt: "2026-01-01T00:00:01Z" })).status).toBe("accepted");
  });

  it("takes a message without id and time for a new one", async () => {
    const { lull } = bot();
    await lull.receive("c", { text: "hi" });
    expect((await lull.receive("c", { text: "hi" })).status).toBe("accepted");
    expect((await lull.get("c"))?.version).toBe(2);
  });

  it("rejects what a full conversation cannot hold, and stores nothing of it", async () => {
    const { clock, lull, texts, hear } = bot({ limits: { maxPending: 2 } });
    await lull.start();
    await hear("a", "b");
    const rejected = await lull.receive("c", { id: "x", text: "x" });
    expect(rejected).toEqual({ status: "rejected", id: "x", reason: "full", retryAfterMs: 1_000 });
    expect((await lull.log("c")).filter(({ kind }) => kind === "message")).toHaveLength(2);
    // A duplicate is recognised first.
    expect((await lull.receive("c", { id: "a", text: "a" })).status).toBe("duplicate");
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: a | b"]);
    expect((await lull.receive("c", { id: "x", text: "x" })).status).toBe("accepted");
    await lull.stop();
  });

  it("rejects the rest of an array when it becomes full", async () => {
    const { lull } = bot({ limits: { maxPending: 2 } });
    const received = await lull.receive("c", [{ text: "1" }, { text: "2" }, { text: "3" }]);
    expect(received.map(({ status }) => status)).toEqual(["accepted", "accepted", "rejected"]);
  });

  it("tells when the model may start and when the answer may go out", async () => {
    const { clock, lull, events } = bot();
    const nowMs = clock.now();
    expect(await lull.receive("c", { text: "hi" })).toMatchObject({
      startAtMs: nowMs + 1_000,
      quietAtMs: nowMs + 6_000,
    });
    expect(events.find(({ type }) => type === "window.armed")).toMatchObject({ quietAtMs: nowMs + 6_000 });
  });

  it("sorts by the platform's time, else by arrival", async () => {
    const { clock, lull, texts } = bot();
    await lull.start();
    const at = clock.now();
    await lull.receive("c", { text: "second", sentAt: at - 1_000 });
    await lull.receive("c", { text: "behind the second" });
    await lull.receive("c", { text: "first", sentAt: at - 2_000 });
    await clock.advance(20_000);
    expect(texts()).toEqual(["answer to: first | second | behind the second"]);
    await lull.stop();
  });

  it("works without start(); whoever starts answers", async () => {
    const { clock, lull, turns, texts, hear } = bot();
    await hear("a");
    await clock.advance(20_000);
    expect(turns).toHaveLength(0);
    await lull.start();
    await clock.advance(5_000);
    expect(texts()).toEqual(["answer to: a"]);
    await lull.stop();
  });

  it("replies to the newest address", async () => {
    const seen: unknown[] = [];
    const { clock, lull, turns } = bot({
      deliver: (_part, { address }) => {
        seen.push(address);
        return Promise.resolve({ status: "sent" });
      },
    });
    await lull.start();
    await lull.receive("c", { text: "1", address: { chat: 1 } });
    await lull.receive("c", { text: "2", address: { chat: 2 }, metadata: { lang: "de" } });
    await lull.receive("c", { text: "3" });
    await clock.advance(20_000);
    expect(turns[0]?.address).toEqual({ chat: 2 });
    expect(turns[0]?.metadata).toEqual({});
    expect(seen).toEqual([{ chat: 2 }]);
    await lull.stop();
  });
});

describe("what receive refuses", () => {
  const cases: [string, unknown, string][] = [
    ["no content", {}, "text"],
    ["both text and parts", { text: "a", parts: ["b"] }, "text"],
    ["a number as text", { text: 5 }, "text"],
    ["no parts", { parts: [] }, "parts"],
    ["a part of no type", { parts: [{ a: 1 }] }, "parts[0].type"],
    ["a file without place", { parts: ["a", { type: "file", mediaType: "image/png" }] }, "parts[1].url"],
    ["an empty id", { id: "", text: "a" }, "id"],
    ["an id with NUL", { id: "a\0", text: "a" }, "id"],
    ["an id with half a character", { id: "\ud800", text: "a" }, "id"],
    ["a long id", { id: "x".repeat(513), text: "a" }, "id"],
    ["a time that is none", { text: "a", sentAt: "yesterday" }, "sentAt"],
    ["a negative time", { text: "a", sentAt: -1 }, "sentAt"],
    ["a negative quiet", { text: "a", quietMs: -1 }, "quietMs"],
    ["a quiet beyond the cap", { text: "a", quietMs: 45_001 }, "quietMs"],
    ["a word for incomplete", { text: "a", incomplete: "yes" }, "incomplete"],
    ["metadata that is a list", { text: "a", metadata: [] }, "metadata"],
    ["an address that is a function", { text: "a", address: () => 1 }, "address"],
    ["an unknown field", { text: "a", attachments: [] }, "attachments"],
    ["null", null, "message"],
  ];
  it.each(cases)("%s", async (_name, message, field) => {
    const { lull } = bot();
    await expect(lull.receive("c", message as never)).rejects.toMatchObject({
      code: "invalid-argument",
      details: { field },
    });
    expect(await lull.get("c")).toBeNull();
  });

  it("names the place in an array, and stores nothing of it", async () => {
    const { lull } = bot();
    const wrong = lull.receive("c", [{ text: "fine" }, { text: "a", sentAt: "x" }]);
    await expect(wrong).rejects.toMatchObject({ details: { field: "[1].sentAt" } });
    const large = lull.receive("c", [{ text: "fine" }, { text: "x".repeat(1_048_577) }]);
    await expect(large).rejects.toMatchObject({ code: "too-large", details: { field: "[1].text" } });
    expect(await lull.get("c")).toBeNull();
  });

  it("a conversation without a name", async () => {
    const { lull } = bot();
    for (const id of ["", "a\0", 5 as unknown as string])
      await expect(lull.receive(id, { text: "a" })).rejects.toMatchObject({ details: { field: "conversation" } });
  });
});
