import type { Turn } from "lull";
import { describe, expect, test, vi } from "vitest";
import { json, testApp } from "./support/app.ts";

describe("POST /v1/messages", () => {
  test("answers 202 with place and times once the message is durable", async () => {
    const { request, lull } = await testApp({ respond: null });
    const response = await request("POST", "/v1/messages", {
      conversation: "c/ä 1",
      id: "m1",
      text: "hi",
      author: "ann",
      sentAt: "2026-01-02T03:04:05.678+02:00",
      replyTo: "m0",
      address: { chat: 7 },
      metadata: { lang: "de" },
    });
    expect(response.status).toBe(202);
    const answer = await json(response);
    expect(answer).toMatchObject({ conversation: "c/ä 1", id: "m1", version: 1, duplicate: false, status: "accepted" });
    expect(answer.startAt).toMatch(/^\d{4}-.*Z$/);
    expect(Date.parse(answer.quietAt)).toBeGreaterThanOrEqual(Date.parse(answer.startAt));
    const [entry] = await lull.log("c/ä 1");
    expect(entry).toMatchObject({
      kind: "message",
      id: "m1",
      author: "ann",
      sentAtMs: Date.parse("2026-01-02T01:04:05.678Z"),
    });
  });

  test("a repeated id is one message and gets the first answer again", async () => {
    const { request } = await testApp({ respond: null });
    const body = { conversation: "c", id: "m1", text: "hi" };
    const first = await json(await request("POST", "/v1/messages", body));
    const second = await json(await request("POST", "/v1/messages", body));
    expect(second).toEqual({ ...first, status: "duplicate", duplicate: true });
  });

  test("a batch is answered message by message, in order, across conversations", async () => {
    const { request, lull } = await testApp({ respond: null });
    const batch = ["a1", "b1", "a2", "c1", "b2", "a3"].map((id) => ({ conversation: id[0], id, text: id }));
    const response = await request("POST", "/v1/messages", batch);
    expect(response.status).toBe(202);
    const answers = await json(response);
    expect(answers.map((item: { id: string }) => item.id)).toEqual(batch.map((item) => item.id));
    expect(answers.map((item: { version: number }) => item.version)).toEqual([1, 1, 2, 1, 2, 3]);
    expect((await lull.log("a")).map((entry) => (entry.kind === "message" ? entry.id : ""))).toEqual([
      "a1",
      "a2",
      "a3",
    ]);
  });

  test("a batch with one bad message stores nothing", async () => {
    const { request, lull } = await testApp({ respond: null });
    const response = await request("POST", "/v1/messages", [
      { conversation: "a", text: "fine" },
      { conversation: "b", text: "fine", when: "now" },
    ]);
    expect(response.status).toBe(400);
    expect(await json(response)).toMatchObject({ field: "[1].when", code: "invalid-argument" });
    expect((await lull.list()).conversations).toEqual([]);
  });

  test("a full conversation is 429 with Retry-After; in a batch only its messages are rejected", async () => {
    const { request } = await testApp({ respond: null, flags: { maxPending: "1" } });
    const message = (conversation: string, id: string) => ({ conversation, id, text: id });
    expect((await request("POST", "/v1/messages", message("a", "a1"))).status).toBe(202);
    const full = await request("POST", "/v1/messages", message("a", "a2"));
    expect(full.status).toBe(429);
    expect(Number(full.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await json(full)).toMatchObject({ code: "full" });
    const batch = await request("POST", "/v1/messages", [message("a", "a3"), message("b", "b1")]);
    expect(batch.status).toBe(202);
    expect(await json(batch)).toMatchObject([
      { id: "a3", status: "rejected", reason: "full" },
      { id: "b1", status: "accepted" },
    ]);
    expect((await request("POST", "/v1/messages", [message("a", "a4")])).status).toBe(429);
  });

  test("all faults of a message are told", async () => {
    const { request } = await testApp();
    const problem = await json(await request("POST", "/v1/messages", { conversation: "", text: 5, foo: 1 }));
    expect(problem.errors.map((item: { field: string }) => item.field).sort()).toEqual(["conversation", "foo", "text"]);
  });
});

describe("?wait=", () => {
  test("answers with the one reply that covers the whole burst, to everybody who waits", async () => {
    const { request } = await testApp({ flags: { quietMs: "150" } });
    const send = (id: string) => request("POST", "/v1/messages?wait=10", { conversation: "c", id, text: id });
    const answers = await Promise.all([send("m1"), send("m2"), send("m3"), send("m2")]);
    const replies = await Promise.all(answers.map(json));
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200]);
    expect(new Set(replies.map((reply) => reply.replyId)).size).toBe(1);
    expect(replies[0]).toMatchObject({
      covers: ["m1", "m2", "m3"],
      parts: [{ type: "text", text: "answer to 3" }],
      overtaken: false,
    });
    // Asked again after the reply, the same id still finds it.
    const late = await json(await send("m1"));
    expect(late).toMatchObject({ duplicate: true, replyId: replies[0].replyId });
  });

  test("is 202 when time is up", async () => {
    const { request } = await testApp({ flags: { quietMs: "60000", maxWaitMs: "90000" } });
    const response = await request("POST", "/v1/messages?wait=1", { conversation: "c", id: "m1", text: "hi" });
    expect(response.status).toBe(202);
    expect(await json(response)).toMatchObject({ id: "m1", version: 1 });
  });

  test("is 202 when the server shuts down, not an error", async () => {
    const { request, closing } = await testApp({ flags: { quietMs: "60000", maxWaitMs: "90000" } });
    const waiting = request("POST", "/v1/messages?wait=60", { conversation: "c", id: "m1", text: "hi" });
    setTimeout(() => closing.abort(), 50);
    expect((await waiting).status).toBe(202);
  });

  test("tells of a turn that ended without a reply", async () => {
    const { request } = await testApp({ respond: () => null });
    const response = await request("POST", "/v1/messages?wait=10", { conversation: "c", text: "hi" });
    expect(response.status).toBe(200);
    expect(await json(response)).toMatchObject({ status: "silent", parts: [] });
  });
});

describe("edits, retractions, operators", () => {
  test("an edit and a retraction reach the turn", async () => {
    const respond = vi.fn((_turn: Turn) => "ok");
    const { request, lull } = await testApp({ respond, flags: { quietMs: "200", startMs: "200" } });
    await request("POST", "/v1/messages", [
      { conversation: "c", id: "m/1", text: "helo" },
      { conversation: "c", id: "m2", text: "oops" },
    ]);
    const edited = await request("PATCH", "/v1/conversations/c/messages/m%2F1", { text: "hello" });
    expect(edited.status).toBe(200);
    expect(await json(edited)).toMatchObject({ message: "m/1", status: "accepted" });
    expect(await json(await request("DELETE", "/v1/conversations/c/messages/m2"))).toMatchObject({
      status: "accepted",
    });
    await vi.waitFor(async () => expect((await lull.get("c"))?.state).toBe("resting"), 5_000);
    expect(respond.mock.calls.map(([turn]) => turn.text)).toEqual(["hello"]);
  });

  test("an edit that arrives before its message is the message", async () => {
    const { request, lull } = await testApp({ respond: null });
    const early = await request("PATCH", "/v1/conversations/c/messages/m1", { id: "e1", text: "hello" });
    expect(await json(early)).toMatchObject({ message: "m1", status: "accepted", version: 1 });
    const again = await request("PATCH", "/v1/conversations/c/messages/m1", { id: "e1", text: "hello" });
    expect(await json(again)).toMatchObject({ status: expect.stringMatching(/^(duplicate|unchanged)$/) });
    const late = await request("POST", "/v1/messages", { conversation: "c", id: "m1", text: "helo" });
    expect(await json(late)).toMatchObject({ duplicate: true, version: 1 });
    expect((await lull.get("c"))?.version).toBe(1);
  });

  test("a hand-off holds the bot, a human answers, the bot resumes", async () => {
    const respond = vi.fn(() => "bot");
    const { request, lull } = await testApp({ respond });
    const post = (path: string, body?: unknown) => request("POST", `/v1/conversations/c/${path}`, body);
    expect((await post("handoff", { by: "eve" })).status).toBe(204);
    await request("POST", "/v1/messages", { conversation: "c", id: "m1", text: "hi" });
    expect((await json(await request("GET", "/v1/conversations/c"))).state).toBe("handed-off");
    expect((await post("human-replies", { text: "hello, this is Eve", upTo: "m1" })).status).toBe(204);
    expect((await post("resume")).status).toBe(204);
    await vi.waitFor(async () => expect((await lull.get("c"))?.state).toBe("resting"), 5_000);
    expect(respond).not.toHaveBeenCalled();
  });

  test("send, reset, retry, typing, flush and erase", async () => {
    const { request, lull } = await testApp();
    const post = (path: string, body?: unknown) => request("POST", `/v1/conversations/c/${path}`, body);
    await request("POST", "/v1/messages", { conversation: "c", text: "hi" });
    expect((await post("typing", { forMs: 10 })).status).toBe(204);
    expect((await post("flush")).status).toBe(204);
    await vi.waitFor(async () => expect((await lull.get("c"))?.state).toBe("resting"), 5_000);
    const sent = await post("send", { id: "s1", text: "by the way" });
    expect(sent.status).toBe(202);
    expect(await json(sent)).toMatchObject({ status: "queued" });
    expect(await json(await post("send", { id: "s1", text: "by the way" }))).toMatchObject({ status: "duplicate" });
    expect((await post("reset", { by: "eve" })).status).toBe(204);
    expect((await post("retry")).status).toBe(200);
    const remove = () => request("DELETE", "/v1/conversations/c");
    expect((await remove()).status).toBe(204);
    expect((await remove()).status).toBe(404);
    expect((await request("GET", "/v1/conversations/c")).status).toBe(404);
  });
});
