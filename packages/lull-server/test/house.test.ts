import { LullError } from "lull";
import { describe, expect, test } from "vitest";
import { json, testApp } from "./support/app.ts";

describe("health", () => {
  test("alive and ready", async () => {
    const { request, closing } = await testApp();
    expect(await json(await request("GET", "/healthz"))).toEqual({ status: "alive" });
    expect(await json(await request("GET", "/readyz"))).toEqual({ status: "ready" });
    closing.abort();
    expect((await request("GET", "/healthz")).status).toBe(200);
    expect((await request("GET", "/readyz")).status).toBe(503);
  });

  test("a store that is away: not ready, and 503 with Retry-After for everything else", async () => {
    const away = async () => {
      throw new LullError("store-unavailable", "The store is away.");
    };
    const { request } = await testApp({
      lull: { receive: away as never, get: away, list: away as never, ready: away },
    });
    const requests = [
      request("GET", "/readyz"),
      request("POST", "/v1/messages", { conversation: "c", text: "hi" }),
      request("GET", "/v1/conversations/c"),
      request("GET", "/v1/conversations"),
    ];
    for (const response of await Promise.all(requests)) {
      expect(response.status).toBe(503);
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(await json(response)).toMatchObject({ code: "store-unavailable" });
    }
    expect((await request("GET", "/healthz")).status).toBe(200);
  });

  test("a store that hangs is not ready either", async () => {
    const { request } = await testApp({ lull: { ready: () => new Promise(() => {}) } });
    const response = await request("GET", "/readyz");
    expect(response.status).toBe(503);
    expect(await json(response)).toMatchObject({ code: "store-unavailable" });
  });

  test("an error of ours tells nothing about itself", async () => {
    const broken = async () => {
      throw new TypeError("secret detail");
    };
    const { request } = await testApp({ lull: { get: broken } });
    const response = await request("GET", "/v1/conversations/c");
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secret detail");
  });
});

describe("routing", () => {
  test("405 names what is allowed", async () => {
    const { request } = await testApp();
    const response = await request("DELETE", "/v1/messages");
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST");
    const other = await request("PUT", "/v1/conversations/c");
    expect(other.headers.get("allow")?.split(", ").sort()).toEqual(["DELETE", "GET", "HEAD"]);
  });

  test("ids are decoded once, slashes and percent signs included", async () => {
    const { request } = await testApp({ respond: null });
    for (const id of ["a/b", "a%2Fb", "100%", "ü 🙂", "a?b#c", "a+b", "...", "a:b"]) {
      await request("POST", "/v1/messages", { conversation: id, text: "hi" });
      const found = await request("GET", `/v1/conversations/${encodeURIComponent(id)}`);
      expect([id, found.status]).toEqual([id, 200]);
      expect((await json(found)).id).toBe(id);
    }
  });

  test("a page of conversations, and the next", async () => {
    const { request } = await testApp({ respond: null });
    for (const id of ["a1", "a2", "b1"]) await request("POST", "/v1/messages", { conversation: id, text: "hi" });
    const first = await json(await request("GET", "/v1/conversations?limit=2"));
    expect(first.conversations.map((item: { id: string }) => item.id)).toEqual(["a1", "a2"]);
    expect(first.conversations[0].record).toBeUndefined();
    const second = await json(await request("GET", `/v1/conversations?limit=2&after=${first.next}`));
    expect(second).toMatchObject({ conversations: [{ id: "b1" }], next: null });
    const filtered = await json(await request("GET", "/v1/conversations?prefix=b&active=true"));
    expect(filtered.conversations.map((item: { id: string }) => item.id)).toEqual(["b1"]);
  });

  test("the log, page by page, with instants written out", async () => {
    const { request } = await testApp({ respond: null });
    for (const id of ["1", "2", "3"])
      await request("POST", "/v1/messages", { conversation: "c", id, text: id, metadata: { atMs: 5 } });
    const { entries } = await json(await request("GET", "/v1/conversations/c/log?from=2&limit=1"));
    expect(entries).toHaveLength(1);
    expect(entries[0]).toMatchObject({ seq: 2, kind: "message", id: "2", metadata: { atMs: 5 } });
    expect(entries[0].at).toMatch(/Z$/);
    expect(entries[0].atMs).toBeUndefined();
    expect((await request("GET", "/v1/conversations/none/log")).status).toBe(404);
  });

  test("explain answers in sentences", async () => {
    const { request } = await testApp({ respond: null });
    await request("POST", "/v1/messages", { conversation: "c", text: "hi" });
    const { sentences } = await json(await request("GET", "/v1/conversations/c/explain"));
    expect(sentences.length).toBeGreaterThan(0);
    expect((await request("GET", "/v1/conversations/none/explain")).status).toBe(404);
  });
});

describe("/metrics", () => {
  test("counts events and the store's conversations, without naming any", async () => {
    const { request } = await testApp({ respond: null });
    await request("POST", "/v1/messages", { conversation: "secret-name", text: "hi" });
    const response = await request("GET", "/metrics");
    expect(response.headers.get("content-type")).toContain("text/plain");
    const text = await response.text();
    expect(text).toContain('lull_events_total{type="message.received"} 1');
    expect(text).toContain('lull_conversations{state="all"} 1');
    expect(text).toContain('route="/v1/messages",status="202"');
    expect(text).not.toContain("secret-name");
  });
});
