import { describe, expect, test, vi } from "vitest";
import { eventStream, type Frame } from "../src/app/stream.ts";
import { streamed } from "../src/cli/client.ts";
import { json, testApp } from "./support/app.ts";

/** Reads a stream until `enough` says so; then closes it. */
async function read(response: Response, enough: (events: { id: string | null; data: unknown }[]) => boolean) {
  const events: { id: string | null; data: unknown }[] = [];
  for await (const event of streamed(response)) {
    events.push(event);
    if (enough(events)) break;
  }
  return events;
}
const types = (events: { data: unknown }[]) =>
  events.flatMap(({ data }) => (data === null ? [] : [(data as { type: string }).type]));
const numbered = (events: { id: string | null; data: unknown }[]) =>
  events.filter(({ id, data }) => id !== null && data !== null).map(({ id }) => Number(id));

describe("events of a conversation", () => {
  test("tell the whole turn, numbered by the log", async () => {
    const { request, lull } = await testApp();
    const response = await request("GET", "/v1/conversations/c/events?after=0");
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    await request("POST", "/v1/messages", { conversation: "c", id: "m1", text: "hi" });
    const events = await read(response, (seen) => types(seen).includes("reply.closed"));
    expect(types(events)).toEqual(
      expect.arrayContaining(["message.received", "attempt.started", "reply.committed", "part.sent", "reply.closed"]),
    );
    const seqs = numbered(events);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    expect(seqs.length).toBe((await lull.log("c")).length);
    const committed = events.find(({ data }) => (data as { type?: string } | null)?.type === "reply.committed");
    expect(committed?.data).toMatchObject({
      at: expect.stringMatching(/Z$/),
      conversation: "c",
      entry: { kind: "reply", parts: [{ text: "answer to 1" }] },
    });
  });

  test("resume after any event: nothing lost, nothing doubled", async () => {
    const { request, lull } = await testApp();
    await request("POST", "/v1/messages?wait=10", { conversation: "c", text: "one" });
    await vi.waitFor(async () => expect((await lull.get("c"))?.state).toBe("resting"), 5_000);
    const all = (await lull.log("c")).length;
    for (let cut = 0; cut < all; cut++) {
      const response = await request("GET", "/v1/conversations/c/events", undefined, { "last-event-id": String(cut) });
      const events = await read(response, (seen) => numbered(seen).at(-1) === all);
      expect(numbered(events)).toEqual(Array.from({ length: all - cut }, (_, index) => cut + index + 1));
    }
  });

  test("without a place to resume from begin now, and say where that is", async () => {
    const { request, lull } = await testApp({ respond: null });
    await request("POST", "/v1/messages", { conversation: "c", text: "before" });
    const { seq } = (await lull.get("c")) ?? { seq: -1 };
    const response = await request("GET", "/v1/conversations/c/events");
    await request("POST", "/v1/messages", { conversation: "c", id: "after", text: "after" });
    const events = await read(response, (seen) => types(seen).includes("message.received"));
    expect(events[0]).toEqual({ id: String(seq), data: null });
    expect(
      events.find(({ data }) => data !== null && (data as { seq?: number }).seq !== undefined)?.data,
    ).toMatchObject({
      entry: { id: "after" },
    });
  });

  test("after an erasure begin anew", async () => {
    const { request } = await testApp({ respond: null });
    const message = (id: string) => request("POST", "/v1/messages", { conversation: "c", id, text: id });
    for (const id of ["a", "b", "c"]) await message(id);
    await request("DELETE", "/v1/conversations/c");
    await message("d");
    const response = await request("GET", "/v1/conversations/c/events", undefined, { "last-event-id": "3" });
    const events = await read(response, (seen) => numbered(seen).length > 0);
    expect(numbered(events)).toEqual([1]);
  });

  test("the header wins over the query, as for a browser that reconnects", async () => {
    const { request } = await testApp({ respond: null });
    for (const id of ["a", "b", "c"]) await request("POST", "/v1/messages", { conversation: "c", id, text: id });
    const response = await request("GET", "/v1/conversations/c/events?after=0", undefined, { "last-event-id": "2" });
    const events = await read(response, (seen) => numbered(seen).length > 0);
    expect(numbered(events)).toEqual([3]);
  });

  test("idle streams get comments, end at shutdown, and are counted", async () => {
    const { request, closing } = await testApp({ flags: { heartbeatMs: "100", maxStreams: "1" } });
    const response = await request("GET", "/v1/events");
    const refused = await request("GET", "/v1/events");
    expect(refused.status).toBe(503);
    expect(await json(refused)).toMatchObject({ code: "too-many-streams" });
    setTimeout(() => closing.abort(), 350);
    const text = await response.text();
    expect(text.match(/^: still here$/gm)?.length).toBeGreaterThanOrEqual(2);
    // Its place is free again.
    expect((await request("GET", "/v1/events")).status).toBe(200);
  });
});

describe("a stream", () => {
  /** Numbers that come only when they are asked for, the first `most` at once. */
  async function* numbers(asked: { most: number }, most: number, signal: AbortSignal): AsyncGenerator<Frame> {
    for (let n = 1; n <= most; n += 1) {
      asked.most = n;
      yield { id: n, data: "x".repeat(1_000) };
    }
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  }

  test("reads no further than its reader, lets one go that takes nothing, and says why it ended", async () => {
    const asked = { most: 0 };
    const end = new AbortController();
    const ended = new Promise<unknown>((resolve) => {
      const options = { heartbeatMs: 50, stalledMs: 100, signal: end.signal, onEnd: resolve };
      const { body } = eventStream(numbers(asked, 1_000, end.signal), options);
      const reader = body?.getReader();
      // Takes three, and then nothing.
      void (async () => {
        for (let n = 0; n < 3; n += 1) await reader?.read();
      })();
    });
    const began = performance.now();
    expect(await ended).toBeUndefined();
    expect(performance.now() - began).toBeGreaterThan(140);
    expect(asked.most).toBeLessThan(6);
    end.abort();
  });

  test("goes on beating for as long as nothing comes, then tells what came once", async () => {
    let come = (_: Frame) => {};
    const frame = new Promise<Frame>((resolve) => {
      come = resolve;
    });
    async function* late(): AsyncGenerator<Frame> {
      yield await frame;
    }
    const end = new AbortController();
    const options = { heartbeatMs: 20, stalledMs: 20, signal: end.signal, onEnd: () => {} };
    const response = eventStream(late(), options);
    setTimeout(() => come({ id: 7, data: "at last" }), 300);
    const text = await response.text();
    expect(text.match(/^: still here$/gm)?.length).toBeGreaterThan(3);
    expect(text.match(/^id: 7$/gm)).toHaveLength(1);
  });
});

describe("events of all conversations", () => {
  test("are live and carry no id to resume from", async () => {
    const { request } = await testApp({ respond: null });
    const response = await request("GET", "/v1/events");
    await request("POST", "/v1/messages", [
      { conversation: "a", text: "1" },
      { conversation: "b", text: "2" },
    ]);
    const events = await read(
      response,
      (seen) => types(seen).filter((type) => type === "message.received").length === 2,
    );
    expect(events.every(({ id }) => id === null)).toBe(true);
  });
});
