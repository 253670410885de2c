/**
 * Requests that no client should send. Each gets a problem that names what is wrong, stores nothing, and
 * leaves the server as it was.
 */
import http from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadConfig } from "../src/config.ts";
import { silent } from "../src/log.ts";
import { createServer, type Server } from "../src/server.ts";
import { createTokens } from "../src/tokens.ts";
import { newSecret } from "../src/webhook.ts";

interface Malformed {
  name: string;
  method?: string;
  path?: string;
  /** A string is sent as it is; anything else as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  status: number;
  field: string;
}

const message = (more: Record<string, unknown>) => ({ conversation: "c", text: "hi", ...more });
const one = "/v1/conversations/c";
/** A token that is well made, of a turn that never was. */
const secret = newSecret();
const ref = { conversation: "c", fence: 1, span: 1, deadlineMs: Date.now() + 600_000 };
const turn = (route: string) => `/v1/turns/${createTokens("", { webhookSecret: [secret] }).make(ref)}${route}`;
const deep = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;

const malformed: Malformed[] = [
  { name: "absent body", body: undefined, status: 400, field: "body" },
  { name: "broken JSON", body: '{"conversation":"c","text":', status: 400, field: "body" },
  { name: "JSON with a trailing comma", body: '{"conversation":"c","text":"hi",}', status: 400, field: "body" },
  { name: "two JSON values", body: '{"conversation":"c","text":"hi"}{}', status: 400, field: "body" },
  {
    name: "a body that is not UTF-8",
    body: Buffer.from('{"conversation":"c","text":"\xff\xfe"}', "latin1"),
    status: 400,
    field: "body",
  },
  { name: "5 MB", body: message({ text: "x".repeat(5_000_000) }), status: 413, field: "body" },
  {
    name: "5 MB without a length",
    body: message({ text: "x".repeat(5_000_000) }),
    headers: { "transfer-encoding": "chunked" },
    status: 413,
    field: "body",
  },
  {
    name: "100,000 nested arrays",
    body: `{"conversation":"c","text":"hi","address":${deep(100_000)}}`,
    status: 400,
    field: "body",
  },
  {
    name: "a form",
    body: "conversation=c&text=hi",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    status: 415,
    field: "content-type",
  },
  {
    name: "text/plain",
    body: message({}),
    headers: { "content-type": "text/plain" },
    status: 415,
    field: "content-type",
  },
  {
    name: "a charset that is not UTF-8",
    body: message({}),
    headers: { "content-type": "application/json; charset=utf-16" },
    status: 415,
    field: "content-type",
  },
  { name: "null", body: "null", status: 400, field: "body" },
  { name: "a number", body: "42", status: 400, field: "body" },
  { name: "an empty array", body: [], status: 400, field: "body" },
  { name: "an array of numbers", body: [1], status: 400, field: "[0]" },
  { name: "1,001 messages", body: Array.from({ length: 1_001 }, () => message({})), status: 400, field: "body" },
  {
    name: "a batch whose last message is wrong",
    body: [message({}), message({ conversation: "d" }), message({ text: 7 })],
    status: 400,
    field: "[2].text",
  },
  { name: "no conversation", body: { text: "hi" }, status: 400, field: "conversation" },
  { name: "an empty conversation", body: message({ conversation: "" }), status: 400, field: "conversation" },
  { name: "a conversation that is a number", body: message({ conversation: 5 }), status: 400, field: "conversation" },
  { name: 'the conversation ".."', body: message({ conversation: ".." }), status: 400, field: "conversation" },
  { name: "NUL in the conversation", body: message({ conversation: "a\0b" }), status: 400, field: "conversation" },
  {
    name: "a lone surrogate in the conversation",
    body: '{"conversation":"a\\ud800","text":"hi"}',
    status: 400,
    field: "conversation",
  },
  {
    name: "a conversation of 513 bytes",
    body: message({ conversation: "é".repeat(257) }),
    status: 400,
    field: "conversation",
  },
  { name: 'the id "."', body: message({ id: "." }), status: 400, field: "id" },
  { name: "NUL in the id", body: message({ id: "\0" }), status: 400, field: "id" },
  {
    name: "a lone surrogate in the id",
    body: '{"conversation":"c","id":"\\udc00","text":"hi"}',
    status: 400,
    field: "id",
  },
  { name: "an id that is null", body: message({ id: null }), status: 400, field: "id" },
  { name: "an unknown field", body: message({ txt: "hi" }), status: 400, field: "txt" },
  {
    name: "the field __proto__",
    body: '{"conversation":"c","text":"hi","__proto__":{"a":1}}',
    status: 400,
    field: "__proto__",
  },
  { name: "neither text nor parts", body: { conversation: "c" }, status: 400, field: "text" },
  { name: "text and parts", body: message({ parts: ["hi"] }), status: 400, field: "parts" },
  { name: "no parts", body: { conversation: "c", parts: [] }, status: 400, field: "parts" },
  {
    name: "a part of an unknown type",
    body: { conversation: "c", parts: [{ type: "video" }] },
    status: 400,
    field: "parts[0].type",
  },
  {
    name: "an unknown field in a part",
    body: { conversation: "c", parts: [{ type: "text", text: "hi", bold: true }] },
    status: 400,
    field: "parts[0].bold",
  },
  {
    name: "a file without a source",
    body: { conversation: "c", parts: [{ type: "file", mediaType: "image/png" }] },
    status: 400,
    field: "parts[0].url",
  },
  { name: "text that is an object", body: message({ text: { a: 1 } }), status: 400, field: "text" },
  { name: "a negative quiet", body: message({ quietMs: -1 }), status: 400, field: "quietMs" },
  { name: "a quiet of 1.5 ms", body: message({ quietMs: 1.5 }), status: 400, field: "quietMs" },
  { name: "a quiet beyond the cap", body: message({ quietMs: 1e15 }), status: 400, field: "quietMs" },
  { name: "a time before 1970", body: message({ sentAt: "1969-12-31T23:59:59Z" }), status: 400, field: "sentAt" },
  { name: "a time that is a negative number", body: message({ sentAt: -5 }), status: 400, field: "sentAt" },
  { name: "a time without a zone", body: message({ sentAt: "2026-01-01T00:00:00" }), status: 400, field: "sentAt" },
  { name: "incomplete as a word", body: message({ incomplete: "yes" }), status: 400, field: "incomplete" },
  { name: "metadata that is an array", body: message({ metadata: [] }), status: 400, field: "metadata" },
  { name: "metadata of 20 KB", body: message({ metadata: { a: "x".repeat(20_000) } }), status: 400, field: "metadata" },
  { name: "an address of 20 KB", body: message({ address: "x".repeat(20_000) }), status: 400, field: "address" },
  { name: "text beyond maxTextBytes", body: message({ text: "x".repeat(1_100_000) }), status: 400, field: "text" },
  { name: "a wait that is a word", path: "/v1/messages?wait=long", body: message({}), status: 400, field: "wait" },
  { name: "a wait of an hour", path: "/v1/messages?wait=3600", body: message({}), status: 400, field: "wait" },
  { name: "a wait for a batch", path: "/v1/messages?wait=1", body: [message({})], status: 400, field: "wait" },
  { name: "an unknown query parameter", path: "/v1/messages?async=1", body: message({}), status: 400, field: "async" },
  { name: "an unknown path", path: "/v1/nothing", body: message({}), status: 404, field: "path" },
  { name: "the wrong method", method: "PUT", path: "/v1/messages", body: message({}), status: 405, field: "method" },
  { name: ".. in a path", method: "GET", path: "/v1/conversations/..", status: 400, field: "path" },
  { name: "%2e%2e in a path", method: "GET", path: "/v1/conversations/%2e%2E", status: 400, field: "path" },
  { name: "a broken percent-encoding", method: "GET", path: "/v1/conversations/%zz", status: 400, field: "path" },
  {
    name: "a percent-encoding that is not UTF-8",
    method: "GET",
    path: "/v1/conversations/%ff",
    status: 400,
    field: "path",
  },
  { name: "NUL in a path", method: "POST", path: "/v1/conversations/a%00b/flush", status: 400, field: "conversation" },
  { name: "a negative typing time", path: `${one}/typing`, body: { forMs: -1 }, status: 400, field: "forMs" },
  { name: "a body where none belongs", path: `${one}/flush`, body: { now: true }, status: 400, field: "now" },
  { name: "an edit without content", method: "PATCH", path: `${one}/messages/m`, body: {}, status: 400, field: "text" },
  { name: "a hand-off of 0 ms", path: `${one}/handoff`, body: { forMs: 0 }, status: 400, field: "forMs" },
  { name: "a human reply without body", path: `${one}/human-replies`, status: 400, field: "body" },
  {
    name: "upTo as a fraction",
    path: `${one}/human-replies`,
    body: { text: "x", upTo: 0.5 },
    status: 400,
    field: "upTo",
  },
  {
    name: "a backlog rule that does not exist",
    path: `${one}/resume`,
    body: { backlog: "drop" },
    status: 400,
    field: "backlog",
  },
  {
    name: "a send at no known time",
    path: `${one}/send`,
    body: { text: "x", when: "now" },
    status: 400,
    field: "when",
  },
  { name: "an array for an operator call", path: `${one}/reset`, body: [], status: 400, field: "body" },
  { name: "a turn's token that is none", method: "GET", path: "/v1/turns/x.y", status: 403, field: "token" },
  { name: "a turn's token that is empty", path: "/v1/turns//reply", body: { text: "x" }, status: 404, field: "path" },
  { name: "a reply without content", path: turn("/reply"), body: {}, status: 400, field: "text" },
  { name: "a reply without body", path: turn("/reply"), status: 400, field: "body" },
  { name: "a reply, and silence", path: turn("/reply"), body: { text: "x", silent: true }, status: 400, field: "text" },
  { name: "silence that is false", path: turn("/reply"), body: { silent: false }, status: 400, field: "silent" },
  { name: "a reply with an unknown field", path: turn("/reply"), body: { txt: "x" }, status: 400, field: "txt" },
  {
    name: "a reply that waits an hour",
    path: turn("/reply?wait=3600"),
    body: { text: "x" },
    status: 400,
    field: "wait",
  },
  { name: "a part that is nothing", path: turn("/parts"), body: {}, status: 400, field: "text" },
  {
    name: "a part that is two",
    path: turn("/parts"),
    body: { text: "x", part: { type: "text", text: "x" } },
    status: 400,
    field: "text",
  },
  {
    name: "a part at a negative place",
    path: turn("/parts"),
    body: { text: "x", index: -1 },
    status: 400,
    field: "index",
  },
  { name: "a part beyond maxParts", path: turn("/parts"), body: { text: "x", index: 50 }, status: 400, field: "index" },
  { name: "a blank part", path: turn("/parts"), body: { text: " " }, status: 400, field: "text" },
  {
    name: "an effect in no known state",
    method: "PUT",
    path: turn("/effects/k"),
    body: { state: "finished" },
    status: 400,
    field: "state",
  },
  {
    name: "an effect that is done without a value",
    method: "PUT",
    path: turn("/effects/k"),
    body: { state: "done" },
    status: 400,
    field: "value",
  },
  {
    name: "an effect called __proto__",
    method: "PUT",
    path: turn("/effects/__proto__"),
    body: { state: "begun" },
    status: 400,
    field: "key",
  },
  {
    name: "settings of a conversation that no bot has",
    method: "PUT",
    path: `${one}/settings`,
    body: { whenBusy: "wait" },
    status: 400,
    field: "whenBusy",
  },
  {
    name: "times of a conversation that cannot be",
    method: "PUT",
    path: `${one}/settings`,
    body: { debounce: { quietMs: 5, startMs: 9 } },
    status: 400,
    field: "debounce",
  },
  {
    name: "settings that are not known",
    method: "PUT",
    path: `${one}/settings`,
    body: { quiet: 5 },
    status: 400,
    field: "quiet",
  },
  { name: "a seal with a body", path: turn("/seal"), body: { now: true }, status: 400, field: "now" },
  { name: "a failure without words", path: turn("/fail"), body: { error: "" }, status: 400, field: "error" },
  { name: "a query that a turn does not know", method: "GET", path: turn("?deep=1"), status: 400, field: "deep" },
  { name: "a page of 0", method: "GET", path: "/v1/conversations?limit=0", status: 400, field: "limit" },
  {
    name: "a filter that is neither true nor false",
    method: "GET",
    path: "/v1/conversations?active=1",
    status: 400,
    field: "active",
  },
  {
    name: "a Last-Event-ID that is a word",
    method: "GET",
    path: `${one}/events`,
    headers: { "last-event-id": "x" },
    status: 400,
    field: "last-event-id",
  },
  {
    name: "a foreign host",
    method: "GET",
    path: "/v1/conversations",
    headers: { host: "evil.example" },
    status: 403,
    field: "host",
  },
  {
    name: "a foreign page",
    body: message({}),
    headers: { origin: "https://evil.example" },
    status: 403,
    field: "origin",
  },
  {
    name: "a host that is none",
    method: "GET",
    path: "/v1/conversations",
    headers: { host: "a b" },
    status: 400,
    field: "path",
  },
];

let server: Server;
beforeAll(async () => {
  const flags = { store: "memory:", port: "0", logLevel: "silent", webhookSecret: secret };
  server = await createServer((await loadConfig({ env: {}, cwd: import.meta.dirname, flags })).config, silent);
});
afterAll(() => server.stop());

/** Through a real socket with Node's own client, which sends paths and headers as they are given. */
function send({ method = "POST", path = "/v1/messages", body, headers = {} }: Malformed) {
  return new Promise<{ status: number; type: string | undefined; text: string }>((resolve, reject) => {
    const { hostname, port } = new URL(server.url);
    const bytes =
      body === undefined
        ? null
        : Buffer.isBuffer(body)
          ? body
          : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
    const request = http.request({
      hostname,
      port,
      path,
      method,
      agent: false,
      headers: {
        ...(bytes === null ? {} : { "content-type": "application/json" }),
        ...(bytes === null || headers["transfer-encoding"] ? {} : { "content-length": bytes.length }),
        ...headers,
      },
    });
    let isAnswered = false;
    request.on("response", (response) => {
      isAnswered = true;
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, type: response.headers["content-type"], text }),
      );
      response.on("error", reject);
    });
    // The server may answer and close before it has read a body that is too large.
    request.on("error", (error) => (isAnswered ? undefined : reject(error)));
    request.end(bytes ?? undefined);
  });
}

describe("malformed requests", () => {
  test("there are more than forty", () => {
    expect(malformed.length).toBeGreaterThan(40);
    expect(new Set(malformed.map((item) => item.name)).size).toBe(malformed.length);
  });

  test.each(malformed)("$name → $status, $field", async (item) => {
    const answer = await send(item);
    expect(answer.type).toBe("application/problem+json");
    const problem = JSON.parse(answer.text);
    expect({ status: answer.status, field: problem.field }).toEqual({ status: item.status, field: item.field });
    expect(problem).toMatchObject({ type: "about:blank", status: item.status });
    expect(problem.code).toMatch(/^[a-z-]+$/);
    expect(problem.detail.length).toBeGreaterThan(10);
  });

  test("bytes that are no HTTP get a problem too", async () => {
    const { hostname, port } = new URL(server.url);
    const text = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => socket.write("HELLO\r\n\r\n"));
      let seen = "";
      socket.on("data", (chunk) => {
        seen += chunk.toString();
      });
      socket.on("close", () => resolve(seen));
      socket.on("error", reject);
    });
    expect(text).toContain("400 Bad Request");
    expect(text).toContain('"field":"request"');
  });

  test("nothing was stored and the server is alive", async () => {
    const empty = await fetch(`${server.url}/v1/conversations`);
    expect(await empty.json()).toEqual({ conversations: [], next: null });
    const response = await fetch(`${server.url}/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(message({})),
    });
    expect(response.status).toBe(202);
  });
});
