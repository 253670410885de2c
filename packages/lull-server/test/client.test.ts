import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Accepted,
  LullProblem,
  lullClient,
  type Rejected,
  type Reply,
  type ServerEvent,
} from "lull-server/client";
import { describe, expect, expectTypeOf, test } from "vitest";
import { clientSchema, schemaFile } from "../scripts/client-schema.mjs";
import { json, type TestAppOptions, testApp } from "./support/app.ts";

type Send = (request: Request) => Promise<Response>;

async function clientOf(options: TestAppOptions & { key?: string; through?: (send: Send) => Send } = {}) {
  const place = await testApp(options);
  const send: Send = async (request) => place.app.request(request);
  const { key, through = (same: Send) => same } = options;
  const client = lullClient({ url: "http://localhost/", fetch: through(send), ...(key === undefined ? {} : { key }) });
  return { ...place, client };
}

/** The events until `enough` of them; leaves the loop, which closes the connection. */
async function collect(events: AsyncIterable<ServerEvent>, enough: (seen: ServerEvent[]) => boolean) {
  const seen: ServerEvent[] = [];
  for await (const event of events) {
    seen.push(event);
    if (enough(seen)) break;
  }
  return seen;
}
const has = (type: string) => (seen: ServerEvent[]) => seen.some((event) => event.type === type);
const seqs = (events: readonly ServerEvent[]) => events.flatMap(({ seq }) => (seq === undefined ? [] : [seq]));
const oneTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

test("schema.ts is what the OpenAPI document says; if not: npm run generate:client", async () => {
  const { request } = await testApp();
  const document = await json(await request("GET", "/openapi.json"));
  expect(await clientSchema(document)).toBe(readFileSync(schemaFile, "utf8"));
});

test("it imports nothing of the server, and nothing of Node: a browser can load it", () => {
  const folder = join(import.meta.dirname, "../src/client");
  const imported = readdirSync(folder).flatMap((file) => {
    const text = readFileSync(join(folder, file), "utf8");
    return [...text.matchAll(/^(?:import|export) (?!type)[^;]*? from "([^"]+)"/gm)].map((match) => match[1]);
  });
  expect(imported.length).toBeGreaterThan(5);
  expect([...new Set(imported)].filter((name) => !/^\.\/\w+\.ts$/.test(String(name))).sort()).toEqual([
    "eventsource-parser",
    "openapi-fetch",
  ]);
});

describe("calls", () => {
  test("hand in, ask, look: typed by the document", async () => {
    const { client } = await clientOf();
    const accepted = await client.receive({ conversation: "a/b", id: "m1", text: "hi" });
    expectTypeOf(accepted).toEqualTypeOf<Accepted>();
    expect(accepted).toMatchObject({ conversation: "a/b", status: "accepted", version: 1 });
    expect((await client.receive({ conversation: "a/b", id: "m1", text: "hi" })).duplicate).toBe(true);
    const reply = await client.ask({ conversation: "a/b", id: "m2", text: "late" });
    expectTypeOf(reply).toEqualTypeOf<Reply | Accepted>();
    expect(reply).toMatchObject({ status: "delivered", covers: ["m1", "m2"], parts: [{ text: "answer to 2" }] });
    const conversation = await client.get("/v1/conversations/{id}", { params: { path: { id: "a/b" } } });
    expectTypeOf(conversation.state).toExtend<string>();
    expect(conversation).toMatchObject({ id: "a/b", answered: 2 });
    const { conversations, next } = await client.get("/v1/conversations", { params: { query: { prefix: "a/" } } });
    expectTypeOf(next).toEqualTypeOf<string | null>();
    expect(conversations).toHaveLength(1);
    const typing = await client.post("/v1/conversations/{id}/typing", {
      params: { path: { id: "a/b" } },
      body: { on: true },
    });
    expectTypeOf(typing).toEqualTypeOf<undefined>();
    expect(typing).toBeUndefined();
    await client.delete("/v1/conversations/{id}", { params: { path: { id: "a/b" } } });
  });

  test("no reply in time: what receive would have said", async () => {
    const { client } = await clientOf({ respond: null });
    const answer = await client.ask({ conversation: "c", id: "m1", text: "hi" }, { waitSeconds: 0 });
    expect(answer).toMatchObject({ status: "accepted", version: 1 });
  });

  test("a batch: one result each, in order", async () => {
    const { client } = await clientOf({ respond: null });
    const results = await client.receiveAll(["1", "2"].map((id) => ({ conversation: "c", id, text: id })));
    expectTypeOf(results).toEqualTypeOf<(Accepted | Rejected)[]>();
    expect(results.map(({ id, status }) => [id, status])).toEqual([
      ["1", "accepted"],
      ["2", "accepted"],
    ]);
  });

  test("what is not in the document does not compile", async () => {
    const { client } = await clientOf({ respond: null });
    // @ts-expect-error no such path
    await expect(client.get("/v1/nothing")).rejects.toMatchObject({ status: 404 });
    // @ts-expect-error a stream is read with `events`
    const metrics = client.get("/metrics", { parseAs: "text" });
    await metrics;
    // @ts-expect-error the path's id is missing
    await expect(client.get("/v1/conversations/{id}")).rejects.toBeInstanceOf(LullProblem);
    // @ts-expect-error no such field
    await expect(client.receive({ conversation: "c", txt: "hi" })).rejects.toMatchObject({ code: "invalid-argument" });
  });

  test("a key, a bot, headers of one's own", async () => {
    const seen: Headers[] = [];
    const through = (send: Send) => (request: Request) => {
      seen.push(request.headers);
      return send(request);
    };
    const key = "k".repeat(20);
    const { client } = await clientOf({ flags: { apiKeys: `web:send+read:${key}` }, key, through, respond: null });
    await client.receive({ conversation: "c", text: "hi" });
    expect(seen[0]?.get("authorization")).toBe(`Bearer ${key}`);
    const other = lullClient({
      url: "http://localhost",
      bot: "shop",
      headers: { traceparent: "00-1" },
      fetch: async (request) => {
        seen.push(request.headers);
        return Response.json({});
      },
    });
    await other.get("/v1/pause");
    expect(seen[1]?.get("lull-bot")).toBe("shop");
    expect(seen[1]?.get("traceparent")).toBe("00-1");
    expect(() => lullClient({ url: "lull.test" })).toThrow(TypeError);
  });

  test("a signal ends a call", async () => {
    const { client } = await clientOf({ respond: () => new Promise(() => {}), through: (send) => abortable(send) });
    const call = client.ask({ conversation: "c", text: "hi" }, { signal: AbortSignal.timeout(100) });
    await expect(call).rejects.toMatchObject({ name: "TimeoutError" });
  });
});

/** As a real fetch: rejects when its request is aborted. */
function abortable(send: Send): Send {
  return (request) =>
    Promise.race([
      send(request),
      new Promise<never>((_, reject) =>
        request.signal.addEventListener("abort", () => reject(request.signal.reason as Error), { once: true }),
      ),
    ]);
}

describe("problems", () => {
  const caught = async (promise: Promise<unknown>): Promise<LullProblem> => {
    const error = await promise.then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(LullProblem);
    return error as LullProblem;
  };

  test("code, field and all faults, the request's id", async () => {
    const { client } = await clientOf();
    const problem = await caught(client.receive({ conversation: "c", parts: [{ type: "text", text: 1 as never }] }));
    expect(problem).toMatchObject({ name: "LullProblem", code: "invalid-argument", status: 400, retryAfter: null });
    expect(problem.field).toContain("parts[0]");
    expect(problem.errors.map(({ field }) => field)).toContain(problem.field);
    expect(problem.message).toContain(String(problem.field));
    expect(problem.requestId).toMatch(/./);
  });

  test("when the same may succeed", async () => {
    const token = async (client: Awaited<ReturnType<typeof clientOf>>["client"]) =>
      caught(client.post("/v1/turns/{token}/reply", { params: { path: { token: "forged" } }, body: { text: "x" } }));
    const { client } = await clientOf();
    expect(await token(client)).toMatchObject({ status: 403, code: "invalid-token", field: "token" });
    const answers: Response[] = [
      new Response('{"code":"early","status":425,"at":"2026-01-01T00:00:06.000Z","detail":"Too early."}', {
        status: 425,
        headers: { "content-type": "application/problem+json", "retry-after": "6" },
      }),
      new Response("{", { status: 503, headers: { "content-type": "application/problem+json" } }),
      new Response("<html>", { status: 502, headers: { "retry-after": new Date(Date.now() + 60_000).toUTCString() } }),
    ];
    const other = lullClient({ url: "http://localhost", fetch: async () => answers.shift() as Response });
    const early = await token(other);
    expect(early).toMatchObject({ code: "early", retryAfter: 6, at: new Date("2026-01-01T00:00:06.000Z") });
    expect(await token(other)).toMatchObject({ code: "unexpected-answer", status: 503 });
    const proxy = await token(other);
    expect(proxy).toMatchObject({ code: "unexpected-answer", status: 502 });
    expect(proxy.retryAfter).toBeGreaterThan(50);
  });

  test("a server that cannot be reached: fetch's own error", async () => {
    const client = lullClient({
      url: "http://localhost",
      fetch: async () => {
        throw new TypeError("fetch failed");
      },
    });
    await expect(client.get("/v1/pause")).rejects.toThrow(new TypeError("fetch failed"));
  });
});

describe("events", () => {
  /** Cuts each stream off after so many chunks, in the way connections break. */
  const cutting =
    (chunks: number, opened: Request[] = []) =>
    (send: Send): Send =>
    async (request) => {
      const response = await send(request);
      if (!request.url.includes("/events") || response.body === null) return response;
      opened.push(request);
      const reader = response.body.getReader();
      let left = chunks;
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          const { done, value } = await reader.read();
          if (done) return controller.close();
          if (left-- > 0) return controller.enqueue(value);
          await reader.cancel();
          controller.error(new TypeError("terminated"));
        },
        cancel: (reason) => reader.cancel(reason),
      });
      return new Response(body, response);
    };

  test("from now on, across connections that break: nothing lost, nothing doubled", async () => {
    const opened: Request[] = [];
    const { client, lull } = await clientOf({ through: cutting(5, opened) });
    await client.ask({ conversation: "c", id: "m0", text: "before" });
    const seq = (await lull.get("c"))?.seq as number;
    const reading = collect(client.events("c"), has("reply.closed"));
    await client.ask({ conversation: "c", id: "m1", text: "hi" });
    const events = await reading;
    expect(opened.length).toBeGreaterThan(1);
    expect(seqs(events)).toEqual(oneTo(events.at(-1)?.seq as number).slice(seq));
    expect(events.find(({ type }) => type === "reply.committed")?.entry).toMatchObject({ kind: "reply" });
  });

  test("a connection that breaks before the first event: what comes meanwhile is not lost", async () => {
    // Only `retry:` and the id that has no data come through the first time.
    let connections = 0;
    const breaking =
      (send: Send): Send =>
      async (request) => {
        if (!request.url.includes("/events")) return send(request);
        connections += 1;
        if (connections > 1) return send(request);
        await send(new Request("http://localhost/v1/messages", message));
        return new Response("retry: 20\n\nid: 0\n\n", { headers: { "content-type": "text/event-stream" } });
      };
    const body = JSON.stringify({ conversation: "new", id: "m1", text: "hi" });
    const message = { method: "POST", headers: { "content-type": "application/json" }, body };
    const { client } = await clientOf({ through: breaking });
    const events = await collect(client.events("new"), has("reply.closed"));
    expect(connections).toBe(2);
    expect(seqs(events)).toEqual(oneTo(events.at(-1)?.seq as number));
    expect(events[0]).toMatchObject({ type: "message.received", conversation: "new" });
  });

  test("resumed where somebody stopped", async () => {
    const { client } = await clientOf();
    await client.ask({ conversation: "c", id: "m1", text: "hi" });
    const all = await collect(client.events("c", { after: 0 }), has("reply.closed"));
    const rest = await collect(client.events("c", { after: 3 }), has("reply.closed"));
    expect(rest).toEqual(all.filter(({ seq }) => seq !== undefined && seq > 3));
  });

  test("ends when its signal aborts, and leaving the loop closes the connection", async () => {
    const signals: AbortSignal[] = [];
    const noting =
      (send: Send): Send =>
      (request) => {
        if (request.url.includes("/events")) signals.push(request.signal);
        return send(request);
      };
    const { client } = await clientOf({ through: (send) => abortable(noting(send)), respond: null });
    const ended = await collect(client.events("c", { signal: AbortSignal.timeout(200) }), () => false);
    expect(ended).toEqual([]);
    await client.receive({ conversation: "c", id: "m1", text: "hi" });
    await collect(client.events("c", { after: 0 }), () => true);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(await collect(client.events("c", { signal: AbortSignal.abort() }), () => false)).toEqual([]);
  });

  test("refused for good: thrown; refused for now: asked again when told", async () => {
    const { client } = await clientOf({ flags: { apiKeys: `web:send:${"k".repeat(20)}` }, key: "k".repeat(20) });
    const forbidden = collect(client.events("c", { after: 0 }), () => true);
    await expect(forbidden).rejects.toMatchObject({ status: 403 });
    let times = 0;
    const busy =
      (send: Send): Send =>
      async (request) => {
        times += 1;
        if (times > 2) return send(request);
        const headers = { "content-type": "application/problem+json", "retry-after": "0" };
        return new Response('{"code":"too-many-streams","detail":"Full."}', { status: 503, headers });
      };
    const place = await clientOf({ through: busy });
    await place.request("POST", "/v1/messages", { conversation: "c", text: "hi" });
    const [first] = await collect(place.client.events("c", { after: 0 }), () => true);
    expect(first?.type).toBe("message.received");
    expect(times).toBe(3);
    const html = lullClient({ url: "http://localhost", fetch: async () => new Response("<html>") });
    const page = collect(html.events("c", { after: 0 }), () => true);
    await expect(page).rejects.toMatchObject({ code: "unexpected-answer" });
  });

  test("a connection that has gone silent is made anew", async () => {
    let connections = 0;
    const silent =
      (send: Send): Send =>
      async (request) => {
        connections += 1;
        if (connections > 1) return send(request);
        const body = new ReadableStream({
          start: (controller) => {
            controller.enqueue(new TextEncoder().encode("retry: 20\n\n"));
            request.signal.addEventListener("abort", () => controller.error(request.signal.reason), { once: true });
          },
        });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      };
    const { client, request } = await clientOf({ through: silent });
    await request("POST", "/v1/messages", { conversation: "c", text: "hi" });
    const [first] = await collect(client.events("c", { after: 0, silentMs: 200 }), () => true);
    expect(first?.type).toBe("message.received");
    expect(connections).toBe(2);
  });

  test("of all conversations, live", async () => {
    const { client } = await clientOf();
    const reading = collect(
      client.allEvents(),
      (seen) => seen.filter(({ type }) => type === "reply.closed").length > 1,
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    await Promise.all(["a", "b"].map((conversation) => client.receive({ conversation, text: "hi" })));
    const events = await reading;
    expect([...new Set(events.map(({ conversation }) => conversation))].sort()).toEqual(["a", "b"]);
  });
});
