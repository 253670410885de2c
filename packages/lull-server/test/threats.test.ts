/**
 * What an attacker tries, and what they get. docs/security.md has a row for each, and names these tests.
 */
import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { describe, expect, onTestFinished, test } from "vitest";
import { loadConfig } from "../src/config.ts";
import { silent } from "../src/log.ts";
import { createServer, type Server } from "../src/server.ts";
import { createSigner, newSecret, webhookId } from "../src/webhook.ts";
import { json, testApp } from "./support/app.ts";

const secret = (name: string) => `${name}-secret-0123456789`;

async function serve(flags: Record<string, string> = {}): Promise<{ server: Server; port: number }> {
  const { config } = await loadConfig({
    env: {},
    cwd: import.meta.dirname,
    flags: { port: "0", store: "memory:", quietMs: "60000", respond: "none", ...flags },
  });
  const server = await createServer(config, silent);
  onTestFinished(() => server.stop());
  return { server, port: Number(new URL(server.url).port) };
}

/** Everything the server says to these bytes until it closes, or until `forMs` have passed. */
async function raw(port: number, bytes: string, forMs = 3_000): Promise<{ text: string; closed: boolean; ms: number }> {
  const began = performance.now();
  const socket = net.connect(port, "127.0.0.1");
  let text = "";
  let closed = false;
  socket.on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => {});
  const end = new Promise<void>((resolve) => {
    socket.on("close", () => {
      closed = true;
      resolve();
    });
  });
  socket.write(bytes);
  await Promise.race([end, sleep(forMs)]);
  socket.destroy();
  return { text, closed, ms: performance.now() - began };
}

const body = JSON.stringify({ conversation: "smuggled", text: "hi" });
const post = (headers: string, content: string) =>
  `POST /v1/messages HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\n${headers}\r\n${content}`;

async function conversations({ server }: { server: Server }): Promise<string[]> {
  return (await server.lull.list()).conversations.map(({ id }) => id);
}

describe("signatures of our webhooks, as receivers check them", () => {
  const config = async (secrets: string[]) =>
    (await loadConfig({ env: {}, flags: { deliver: "https://bot.example/hook", webhookSecret: secrets.join(",") } }))
      .config;
  const [ours, old, theirs] = [newSecret(), newSecret(), newSecret()];
  const sent = JSON.stringify({ conversation: "c", part: { text: "hi" } });

  test("a forged signature, another secret, a changed body and a changed id are refused", async () => {
    const headers = createSigner(await config([ours]), "deliver").headers("msg_1", sent);
    const hook = new Webhook(ours);
    expect(hook.verify(sent, headers)).toMatchObject({ conversation: "c" });
    expect(() => hook.verify(sent.replace("hi", "ho"), headers)).toThrow();
    expect(() => hook.verify(sent, { ...headers, "webhook-id": "msg_2" })).toThrow();
    expect(() =>
      hook.verify(sent, { ...headers, "webhook-signature": `v1,${Buffer.from("x".repeat(32)).toString("base64")}` }),
    ).toThrow();
    expect(() => new Webhook(theirs).verify(sent, headers)).toThrow();
    const { "webhook-signature": _, ...unsigned } = headers;
    expect(() => hook.verify(sent, unsigned)).toThrow();
  });

  test("a replayed one has the id of the first, and an expired one is refused", async () => {
    const signer = createSigner(await config([ours]), "deliver");
    const id = webhookId("c:1:0");
    expect(signer.headers(id, sent)["webhook-id"]).toBe(signer.headers(id, sent)["webhook-id"]);
    const hook = new Webhook(ours);
    const at = (ms: number) => {
      const then = new Date(ms);
      return {
        "webhook-id": id,
        "webhook-timestamp": String(Math.floor(ms / 1_000)),
        "webhook-signature": hook.sign(id, then, sent),
      };
    };
    expect(hook.verify(sent, at(Date.now() - 4 * 60_000))).toBeTruthy();
    expect(() => hook.verify(sent, at(Date.now() - 6 * 60_000))).toThrow();
    expect(() => hook.verify(sent, at(Date.now() + 6 * 60_000))).toThrow();
    // A new time needs a new signature.
    expect(() =>
      hook.verify(sent, {
        ...at(Date.now() - 6 * 60_000),
        "webhook-timestamp": String(Math.floor(Date.now() / 1_000)),
      }),
    ).toThrow();
  });

  test("while rotating, receivers with the old and with the new secret both accept", async () => {
    const headers = createSigner(await config([ours, old]), "deliver").headers("msg_1", sent);
    for (const one of [ours, old]) expect(new Webhook(one).verify(sent, headers)).toBeTruthy();
    expect(() => new Webhook(theirs).verify(sent, headers)).toThrow();
  });
});

describe("bodies", () => {
  test("an oversized body is refused by its length before it is read, and in the middle when it lies", async () => {
    const place = await serve({ maxBodyBytes: "2000" });
    const told = await raw(place.port, post("content-length: 1000000000\r\n", ""));
    expect(told.text).toMatch(/^HTTP\/1\.1 413 /);
    expect(told.text).toContain('"code":"too-large"');
    const chunk = `${(1_000).toString(16)}\r\n${"x".repeat(1_000)}\r\n`;
    const streamed = await raw(place.port, post("transfer-encoding: chunked\r\n", chunk.repeat(5)));
    expect(streamed.text).toMatch(/^HTTP\/1\.1 413 /);
    expect(streamed.text).toMatch(/connection: close/i);
    expect(await conversations(place)).toEqual([]);
  });

  test("slow bodies and slow headers are cut off in their time, and nothing of them is stored", async () => {
    const place = await serve({ requestTimeoutMs: "700" });
    const headers = await raw(place.port, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nx-slow: ", 8_000);
    const content = await raw(place.port, post(`content-length: ${body.length}\r\n`, body.slice(0, -1)), 8_000);
    for (const slow of [headers, content]) {
      expect(slow.closed).toBe(true);
      expect(slow.text).toMatch(/^HTTP\/1\.1 (408|400) /);
    }
    expect(await conversations(place)).toEqual([]);
    // Whoever only waits for an answer is not slow.
    const waiting = fetch(`${place.server.url}/v1/messages?wait=2`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    expect((await waiting).status).toBe(202);
  });

  test("headers beyond the limit are 431", async () => {
    const { port } = await serve({ maxHeaderBytes: "2000" });
    const told = await raw(port, `GET /healthz HTTP/1.1\r\nHost: localhost\r\nx-long: ${"a".repeat(4_000)}\r\n\r\n`);
    expect(told.text).toMatch(/^HTTP\/1\.1 431 /);
    expect(told.closed).toBe(true);
  });

  test("prototype pollution through JSON keys reaches nothing, and comes back as it was", async () => {
    const { request, lull } = await testApp({ respond: null });
    const polluting = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toString":"x"}';
    for (const [field, text] of [
      ["metadata", `{"conversation":"c","id":"1","text":"hi","metadata":${polluting}}`],
      ["address", `{"conversation":"c","id":"2","text":"hi","address":${polluting}}`],
      ["parts", `{"conversation":"c","id":"3","parts":[{"type":"data","data":${polluting}}]}`],
    ] as const) {
      const response = await request("POST", "/v1/messages", text);
      expect([field, response.status]).toEqual([field, 202]);
    }
    const refused = await request(
      "POST",
      "/v1/messages",
      `{"conversation":"c","text":"hi","__proto__":{"polluted":1}}`,
    );
    expect([202, 400]).toContain(refused.status);
    for (const path of [
      "/v1/conversations?__proto__=1",
      "/v1/conversations?constructor=1",
      "/v1/conversations?__proto__[polluted]=1",
    ])
      expect((await request("GET", path)).status).toBe(400);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(Object.prototype.toString.call({})).toBe("[object Object]");
    const shown = await (await request("GET", "/v1/conversations/c/log")).text();
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    const [, , third] = JSON.parse(shown).entries;
    expect(JSON.stringify(third.parts[0].data)).toBe(polluting);
    expect((await lull.get("__proto__"))?.id).toBeUndefined();
    expect((await request("POST", "/v1/messages", { conversation: "__proto__", text: "hi" })).status).toBe(202);
    expect((await lull.get("__proto__"))?.id).toBe("__proto__");
  });
});

describe("requests that a proxy and a server could read differently", () => {
  const smuggled = `POST /v1/messages HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const tricks: [string, string][] = [
    [
      "a length beside chunks",
      post(`content-length: ${5 + smuggled.length}\r\ntransfer-encoding: chunked\r\n`, `0\r\n\r\n${smuggled}`),
    ],
    ["two lengths", post(`content-length: 0\r\ncontent-length: ${smuggled.length}\r\n`, smuggled)],
    ["a space before the colon", post("transfer-encoding : chunked\r\n", `0\r\n\r\n${smuggled}`)],
    ["an encoding in disguise", post("transfer-encoding: xchunked\r\n", `0\r\n\r\n${smuggled}`)],
    ["chunked twice", post("transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n", `0\r\n\r\n${smuggled}`)],
    ["a folded header", post("x: y\r\n transfer-encoding: chunked\r\n", `0\r\n\r\n${smuggled}`)],
    ["a chunk of no size", post("transfer-encoding: chunked\r\n", `zz\r\n\r\n${smuggled}`)],
    ["a negative length", post("content-length: -1\r\n", smuggled)],
    ["a bare carriage return in a header", post("x: a\rb: c\r\n", smuggled)],
  ];
  test.each(tricks)(
    "request smuggling by %s: refused, closed, and the second request is never read",
    async (_, bytes) => {
      const place = await serve();
      const { text, closed } = await raw(place.port, bytes);
      expect(text).toMatch(/^HTTP\/1\.1 4\d\d /);
      expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
      expect(closed).toBe(true);
      expect(await conversations(place)).toEqual([]);
    },
  );
});

test("a request without a host, or with two, is refused", async () => {
  const { port } = await serve();
  for (const hosts of ["", "Host: localhost\r\nHost: evil.example\r\n"])
    expect((await raw(port, `GET /healthz HTTP/1.1\r\n${hosts}connection: close\r\n\r\n`)).text).toMatch(
      /^HTTP\/1\.1 40[03] /,
    );
});

describe("header injection", () => {
  test("line breaks in ids, keys and request ids never become headers", async () => {
    const lines: string[] = [];
    const receiver = http.createServer((request, response) => {
      lines.push(...request.rawHeaders);
      request.resume().on("end", () => response.end("{}"));
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void receiver.close());
    const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const { server } = await serve({ respond: "demo", demoMs: "0", quietMs: "20", deliver: hook });
    const evil = "c\r\nx-injected: 1\r\n\r\n";
    await fetch(`${server.url}/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ conversation: evil, id: evil, text: "hi" }),
    });
    for (let tries = 0; lines.length === 0 && tries < 200; tries++) await sleep(25);
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.map((line) => line.toLowerCase())).not.toContain("x-injected");
    expect(webhookId(evil)).toMatch(/^msg_[\w-]+$/);
    // What cannot stand in a header as it is, is not given back in one.
    for (const [given, back] of [
      ["abc-1", true],
      ["a b", false],
      ["a\tb", false],
      ["é", false],
      ["x".repeat(200), false],
    ] as const) {
      const { request } = await testApp();
      const answer = await request("GET", "/healthz", undefined, { "x-request-id": given });
      expect([given, answer.headers.get("x-request-id") === given]).toEqual([given, back]);
      expect(answer.headers.get("x-request-id")).toMatch(/^[\w.:/+=@-]{1,128}$/);
    }
    const problem = await (await testApp()).request("GET", "/none", undefined, { "x-request-id": "trace-7" });
    expect(problem.headers.get("x-request-id")).toBe("trace-7");
  });
});

describe("browsers of people who run a server without keys", () => {
  test("DNS rebinding: a name that is not loopback's is refused, on both ports", async () => {
    const { server, port } = await serve({ adminPort: "0" });
    for (const at of [port, Number(new URL(server.adminUrl as string).port)])
      for (const host of ["evil.example", `evil.example:${at}`, "127.0.0.1.evil.example", "0.0.0.0"]) {
        const told = await raw(at, `GET /v1/conversations HTTP/1.1\r\nHost: ${host}\r\nconnection: close\r\n\r\n`);
        expect(told.text).toMatch(/^HTTP\/1\.1 403 /);
        expect(told.text).toContain("host-not-allowed");
      }
  });

  test("cross-site requests: another origin is refused, and so is a form, which needs none", async () => {
    const place = await serve();
    const send = (headers: Record<string, string>, content = body) =>
      fetch(`${place.server.url}/v1/messages`, { method: "POST", headers, body: content });
    const type = { "content-type": "application/json" };
    for (const origin of ["http://evil.example", "null", "http://localhost:1", "https://127.0.0.1"])
      expect(await json(await send({ ...type, origin }))).toMatchObject({ code: "origin-not-allowed" });
    for (const form of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
      expect((await send({ "content-type": form })).status).toBe(415);
    // No answer invites other origins to read it.
    const allowed = await send({ ...type, origin: place.server.url });
    expect(allowed.status).toBe(202);
    expect([...allowed.headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
  });
});

describe("limits", () => {
  const keys = { apiKeys: `a:send:${secret("a")},b:send:${secret("b")}` };
  const bearer = (name: string) => ({ authorization: `Bearer ${secret(name)}` });

  test("a key beyond its rate is 429 with Retry-After, and others are not", async () => {
    const { request } = await testApp({ flags: { ...keys, maxRequestsPerMinute: "3" }, respond: null });
    const send = (name: string) => request("POST", "/v1/messages", { conversation: "c", text: "hi" }, bearer(name));
    const statuses = [];
    for (let n = 0; n < 4; n++) statuses.push((await send("a")).status);
    expect(statuses).toEqual([202, 202, 202, 429]);
    const refused = await send("a");
    expect(await json(refused)).toMatchObject({ code: "too-many-requests" });
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(60);
    expect((await send("b")).status).toBe(202);
    // A stranger uses up nobody's rate.
    expect((await request("POST", "/v1/messages", {}, bearer("x"))).status).toBe(401);
  });

  test("requests under way are counted until they are answered, streams and waits too", async () => {
    const { server } = await serve({ ...keys, maxRequestsAtOnce: "2" });
    const send = (name: string, wait = "") =>
      fetch(`${server.url}/v1/messages${wait}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...bearer(name) },
        body,
      });
    const waiting = [send("a", "?wait=2"), send("a", "?wait=2")];
    await sleep(500);
    const refused = await send("a");
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("1");
    expect((await send("b")).status).toBe(202);
    for (const response of await Promise.all(waiting)) {
      expect(response.status).toBe(202);
      await response.text();
    }
    await sleep(100);
    expect((await send("a")).status).toBe(202);
  });

  test("connections beyond the limit are closed, and the others live", async () => {
    const { port, server } = await serve({ maxConnections: "5" });
    const sockets = Array.from({ length: 12 }, () => net.connect(port, "127.0.0.1"));
    onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
    let closed = 0;
    for (const socket of sockets) socket.on("error", () => {}).on("close", () => closed++);
    for (let tries = 0; closed < 7 && tries < 100; tries++) await sleep(20);
    expect(closed).toBe(7);
    for (const socket of sockets) socket.destroy();
    await sleep(100);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });
});
