/** The web chat's server side: whose token, which origin, how much, and what a visitor never gets to see. */
import { setTimeout as sleep } from "node:timers/promises";
import { decodeJwt, SignJWT, UnsecuredJWT } from "jose";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { streamed } from "../src/cli/client.ts";
import { token } from "../src/cli/token.ts";
import { ConfigError, loadConfig } from "../src/config.ts";
import { silent } from "../src/log.ts";
import { createServer } from "../src/server.ts";
import { visitorTokens } from "../src/visitors/tokens.ts";
import { json, type TestAppOptions, testApp } from "./support/app.ts";

const chatSecret = "a-secret-of-the-site-with-32-bytes!!";
const otherSecret = "another-secret-that-has-32-bytes-too";
const site = "https://shop.example";
const key = new TextEncoder().encode(chatSecret);
const apiKeys = "ops:operate:ops-secret-0123456789";
const ops = { authorization: "Bearer ops-secret-0123456789" };

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds;

function sign(claims: object, secret = key, header: object = {}): Promise<string> {
  const all = { exp: inSeconds(600), ...claims };
  return new SignJWT(all).setProtectedHeader({ alg: "HS256", ...header }).sign(secret);
}

const bearing = (token: string, headers: object = {}) => ({ authorization: `Bearer ${token}`, ...headers });
const as = async (sub: string, claims: object = {}) => bearing(await sign({ sub, ...claims }));

async function chatApp(options: TestAppOptions = {}) {
  return testApp({ ...options, flags: { apiKeys, chatSecret, chatOrigins: site, ...options.flags } });
}
type App = Awaited<ReturnType<typeof chatApp>>;

let made = 0;
const say = (app: App, headers: Record<string, string>, text: string, id = `m${++made}`) =>
  app.request("POST", "/v1/chat/messages", { id, text }, headers);
const history = async (app: App, headers: Record<string, string>, query = "") =>
  json(await app.request("GET", `/v1/chat/history${query}`, undefined, headers));

/** Every route that needs a visitor, asked once. */
const asked = [
  ["GET", "/v1/chat/history"],
  ["POST", "/v1/chat/messages", { id: "m", text: "hi" }],
  ["POST", "/v1/chat/typing", {}],
  ["GET", "/v1/chat/events"],
] as const;

async function refusedEverywhere(app: App, headers: Record<string, string>, code: string): Promise<void> {
  for (const [method, path, body] of asked) {
    const response = await app.request(method, path, body, headers);
    expect([path, response.status, (await json(response)).code]).toEqual([path, 401, code]);
  }
  expect((await app.lull.list()).conversations).toEqual([]);
}

async function until<T>(look: () => Promise<T | null>, withinMs = 10_000): Promise<T> {
  for (const end = Date.now() + withinMs; ; await sleep(20)) {
    const found = await look();
    if (found !== null) return found;
    if (Date.now() > end) throw new Error("it did not come");
  }
}

const answeredIn = (app: App, headers: Record<string, string>) =>
  until(async () => {
    const { events } = await history(app, headers);
    return events.some(({ type }: { type: string }) => type === "part") ? events : null;
  });

describe("tokens", () => {
  test("a token that is forged with another secret is refused on every route", async () => {
    const app = await chatApp();
    const forged = await sign({ sub: "ada" }, new TextEncoder().encode(otherSecret));
    await refusedEverywhere(app, bearing(forged), "invalid-token");
  });

  test("a token whose claims were changed after it was signed is refused", async () => {
    const app = await chatApp();
    const [header, , signature] = (await sign({ sub: "eve" })).split(".");
    const claims = Buffer.from(JSON.stringify({ sub: "ada", exp: inSeconds(600) })).toString("base64url");
    await refusedEverywhere(app, bearing(`${header}.${claims}.${signature}`), "invalid-token");
  });

  test("alg:none is refused, with and without a signature, in every spelling", async () => {
    const app = await chatApp();
    const none = new UnsecuredJWT({ sub: "ada", exp: inSeconds(600) }).encode();
    await refusedEverywhere(app, bearing(none), "invalid-token");
    const [, , signature] = (await sign({ sub: "ada" })).split(".");
    for (const alg of ["none", "None", "NONE", "nOnE"]) {
      const header = Buffer.from(JSON.stringify({ alg })).toString("base64url");
      const unsigned = `${header}.${none.split(".")[1]}.`;
      await refusedEverywhere(app, bearing(unsigned), "invalid-token");
      await refusedEverywhere(app, bearing(unsigned + signature), "invalid-token");
    }
  });

  test("another algorithm than HS256 is refused, though the secret is right", async () => {
    const app = await chatApp();
    for (const alg of ["HS384", "HS512"]) {
      const long = new TextEncoder().encode(chatSecret.padEnd(64, "x"));
      const token = await new SignJWT({ sub: "ada", exp: inSeconds(600) }).setProtectedHeader({ alg }).sign(long);
      await refusedEverywhere(app, bearing(token), "invalid-token");
    }
  });

  test("an expired token is refused on every route", async () => {
    const app = await chatApp();
    await refusedEverywhere(app, await as("ada", { exp: inSeconds(-10) }), "token-expired");
  });

  test("a token without an end, and one that lives too long, are refused", async () => {
    const app = await chatApp({ flags: { chatTokenMs: "60000" } });
    await refusedEverywhere(app, await as("ada", { exp: undefined }), "invalid-token");
    await refusedEverywhere(app, await as("ada", { exp: inSeconds(120) }), "invalid-token");
    expect((await say(app, await as("ada", { exp: inSeconds(50) }), "hi")).status).toBe(202);
  });

  test("no token, a key of the server's instead of one, and claims of the wrong kind are refused", async () => {
    const app = await chatApp();
    await refusedEverywhere(app, {}, "unauthorized");
    await refusedEverywhere(app, ops, "invalid-token");
    for (const sub of [undefined, "", 7, "..", "a\0b", "x".repeat(201)])
      await refusedEverywhere(app, await as(sub as string), "invalid-token");
    await refusedEverywhere(app, await as("ada", { conversation: 7 }), "invalid-token");
    const basic = await app.request("GET", "/v1/chat/history", undefined, { authorization: "Basic YTpi" });
    expect([basic.status, (await json(basic)).field]).toEqual([400, "authorization"]);
  });

  test("a visitor's token is no key: it opens none of the server's other routes", async () => {
    const app = await chatApp();
    const headers = await as("ada");
    await say(app, headers, "hi");
    for (const [method, path] of [
      ["GET", "/v1/conversations"],
      ["GET", "/v1/conversations/web:ada/log"],
      ["GET", "/v1/events"],
      ["POST", "/v1/messages"],
      ["DELETE", "/v1/conversations/web:ada"],
    ] as const)
      expect((await app.request(method, path, undefined, headers)).status).toBe(401);
  });

  test("another visitor's token reaches its own conversation, and no other, whatever the request names", async () => {
    const app = await chatApp({ respond: null });
    const [ada, eve] = [await as("ada"), await as("eve")];
    await say(app, ada, "my card is 1234", "m1");
    // The same message id under another visitor is another message.
    expect(await json(await say(app, eve, "hello", "m1"))).toEqual({ id: "m1", status: "accepted" });
    expect((await history(app, eve)).events.map(({ text }: { text: string }) => text)).toEqual(["hello"]);
    for (const query of ["?conversation=web:ada", "?visitor=ada"])
      expect((await app.request("GET", `/v1/chat/history${query}`, undefined, eve)).status).toBe(400);
    const body = { id: "m2", text: "x", conversation: "web:ada" };
    expect((await app.request("POST", "/v1/chat/messages", body, eve)).status).toBe(400);
    expect((await history(app, ada)).events).toHaveLength(1);
  });

  test("the site's backend may name the conversation and the visitor; the name is for the bot", async () => {
    const app = await chatApp({ respond: null });
    await say(app, await as("ada", { conversation: "order:7", name: "Ada" }), "hi");
    const [entry] = await app.lull.log("order:7");
    expect(entry).toMatchObject({ author: "ada", metadata: { name: "Ada" } });
  });

  test("a token is good for its bot only, and for none that this server does not have", async () => {
    const app = await chatApp();
    const response = await say(app, await as("ada", { bot: "shop" }), "hi");
    expect([response.status, (await json(response)).field]).toEqual([404, "bot"]);
  });

  test("while rotating, tokens of the new secret and of the old one are both good", async () => {
    const app = await chatApp({ respond: null, flags: { chatSecret: `${otherSecret},${chatSecret}` } });
    expect((await say(app, await as("ada"), "hi")).status).toBe(202);
    const renewed = bearing(await sign({ sub: "ada" }, new TextEncoder().encode(otherSecret)));
    expect((await history(app, renewed)).events).toHaveLength(1);
  });

  test("a secret that can be guessed, and settings without one, keep the server from starting", async () => {
    const start = async (flags: Record<string, string>) =>
      createServer((await loadConfig({ env: {}, flags: { store: "memory:", port: "0", ...flags } })).config, silent);
    await expect(start({ chatSecret: "x".repeat(31) })).rejects.toThrow(/at least 32 bytes/);
    await expect(start({ chatAnonymous: "on" })).rejects.toThrow(/chatSecret is not set/);
    await expect(start({ chatSecret, chatOrigins: "https://shop.example/" })).rejects.toThrow(
      'chatOrigins: "https://shop.example/" is no origin',
    );
    await expect(start({ chatSecret, chatOrigins: "*" })).rejects.toBeInstanceOf(ConfigError);
  });
});

describe("lull token", () => {
  const print = async (visitor: string, env: Record<string, string>, options = {}) => {
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    onTestFinished(() => log.mockRestore());
    await token(visitor, options, { env, cwd: import.meta.dirname });
    return log.mock.calls[0]?.[0] as string;
  };

  test("prints a token that the server takes", async () => {
    const app = await chatApp({ respond: null });
    const printed = await print("ada", { LULL_CHAT_SECRET: chatSecret }, { conversation: "order:7" });
    expect((await say(app, bearing(printed), "hi")).status).toBe(202);
    expect((await app.lull.log("order:7"))[0]).toMatchObject({ author: "ada" });
  });

  test("says what is missing, or what the server would refuse", async () => {
    await expect(print("ada", {})).rejects.toThrow("LULL_CHAT_SECRET");
    await expect(print("ada", { LULL_CHAT_SECRET: "short" })).rejects.toThrow("32 bytes");
    await expect(print("", { LULL_CHAT_SECRET: chatSecret })).rejects.toThrow("sub must not be empty");
  });
});

describe("anonymous visitors", () => {
  const anonymous = (flags: Record<string, string> = {}) => chatApp({ flags: { chatAnonymous: "on", ...flags } });
  const become = (app: App, headers: Record<string, string> = {}) => app.request("POST", "/v1/chat/token", {}, headers);

  test("get a token that is theirs alone, and renew it", async () => {
    const app = await anonymous();
    const [one, two] = [await json(await become(app)), await json(await become(app))];
    expect(decodeJwt(one.token).sub).not.toBe(decodeJwt(two.token).sub);
    await say(app, bearing(one.token), "hi");
    const renewed = await json(await become(app, bearing(one.token)));
    expect((await history(app, bearing(renewed.token))).events.length).toBeGreaterThan(0);
    expect((await history(app, bearing(two.token))).events).toEqual([]);
  });

  test("are refused where they are not wanted", async () => {
    const app = await chatApp();
    const response = await become(app);
    expect([response.status, (await json(response)).code]).toEqual([403, "forbidden"]);
  });

  test("an expired token can be renewed for a while, and does nothing else", async () => {
    const tokens = visitorTokens({ chatSecret: [chatSecret], chatTokenMs: 60_000, chatRenewMs: 3_600_000 });
    const app = await anonymous({ chatTokenMs: "60000", chatRenewMs: "3600000" });
    const recent = await tokens.create(Date.now() - 1_800_000);
    await refusedEverywhere(app, bearing(recent.token), "token-expired");
    const renewed = await json(await become(app, bearing(recent.token)));
    expect(decodeJwt(renewed.token).sub).toBe(decodeJwt(recent.token).sub);
    const old = await tokens.create(Date.now() - 7_200_000);
    const refused = await become(app, bearing(old.token));
    expect([refused.status, (await json(refused)).code]).toEqual([401, "token-expired"]);
  });

  test("a site's token is not renewed, and none can pass for an anonymous visitor's", async () => {
    const app = await anonymous();
    const renewed = await become(app, await as("ada"));
    expect([renewed.status, (await json(renewed)).code]).toEqual([401, "invalid-token"]);
    const { token } = await json(await become(app));
    const sub = decodeJwt(token).sub as string;
    await refusedEverywhere(app, await as(sub), "invalid-token");
    await refusedEverywhere(app, await as(sub, { iss: "lull" }), "invalid-token");
  });

  test("one address becomes only so many, others are not held back", async () => {
    const app = await anonymous({ chatVisitorsPerHour: "2", chatAddressHeader: "x-real-ip" });
    const from = (address: string) => become(app, { "x-real-ip": address });
    expect([(await from("1.1.1.1")).status, (await from("1.1.1.1")).status]).toEqual([200, 200]);
    const refused = await from("1.1.1.1");
    expect([refused.status, (await json(refused)).code]).toEqual([429, "too-many-requests"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await from("2.2.2.2")).status).toBe(200);
    // What a visitor says of their own address comes before what the proxy adds.
    expect((await from("9.9.9.9, 1.1.1.1")).status).toBe(429);
  });
});

describe("origins", () => {
  const from = (origin: string) => ({ origin, host: "chat.example" });

  test("cross-origin: a site that is not listed is refused, whatever it asks, and may not read why", async () => {
    const app = await chatApp({ respond: null });
    const headers = await as("ada");
    for (const origin of ["https://evil.example", "https://shop.example.evil.example", "http://shop.example", "null"]) {
      for (const [method, path, body] of asked) {
        const response = await app.request(method, path, body, { ...headers, ...from(origin) });
        expect([origin, response.status, (await json(response)).code]).toEqual([origin, 403, "origin-not-allowed"]);
        expect(response.headers.has("access-control-allow-origin")).toBe(false);
      }
      const preflight = await app.request("OPTIONS", "/v1/chat/messages", undefined, from(origin));
      expect([preflight.status, preflight.headers.has("access-control-allow-origin")]).toEqual([403, false]);
    }
    expect((await app.lull.list()).conversations).toEqual([]);
  });

  test("a listed site's preflight is answered, and its pages may read answers and refusals", async () => {
    const app = await chatApp({ respond: null });
    const preflight = await app.request("OPTIONS", "/v1/chat/messages", undefined, {
      ...from(site),
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type",
    });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      "access-control-allow-origin": site,
      "access-control-allow-methods": "GET, POST",
      "access-control-allow-headers": "authorization, content-type",
      vary: "origin",
    });
    expect(preflight.headers.has("access-control-allow-credentials")).toBe(false);
    for (const response of [
      await say(app, { ...(await as("ada")), ...from(site) }, "hi"),
      await say(app, { ...bearing("nonsense"), ...from(site) }, "hi"),
    ]) {
      expect(response.headers.get("access-control-allow-origin")).toBe(site);
      expect(response.headers.get("access-control-expose-headers")).toContain("retry-after");
      expect(response.headers.get("vary")).toBe("origin");
    }
  });

  test("listed sites reach the web chat, and none of the server's other routes", async () => {
    const app = await testApp({ respond: null, flags: { chatSecret, chatOrigins: site } });
    const cross = { origin: site, host: "localhost" };
    expect((await app.request("GET", "/v1/chat/history", undefined, { ...(await as("ada")), ...cross })).status).toBe(
      200,
    );
    expect((await app.request("GET", "/v1/conversations", undefined, cross)).status).toBe(403);
    // The module is fetched with an origin; what it is, is public.
    expect((await app.request("GET", "/widget/nothing.mjs", undefined, cross)).status).toBe(404);
    const rebound = { ...(await as("ada")), host: "evil.example" };
    expect((await app.request("GET", "/v1/chat/history", undefined, rebound)).status).toBe(403);
  });

  test("the server's own pages need not be listed", async () => {
    const app = await chatApp({ respond: null });
    const own = { ...(await as("ada")), ...from("https://chat.example") };
    expect((await say(app, own, "hi")).status).toBe(202);
  });
});

describe("limits", () => {
  test("one visitor writes and asks only so much in a minute, and others are not held back", async () => {
    const app = await chatApp({ respond: null, flags: { chatMessagesPerMinute: "2", chatRequestsPerMinute: "5" } });
    const [ada, eve] = [await as("ada"), await as("eve")];
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await say(app, ada, "hi")).status);
    expect(statuses).toEqual([202, 202, 429]);
    for (let n = 0; n < 2; n++) expect((await app.request("GET", "/v1/chat/history", undefined, ada)).status).toBe(200);
    const refused = await app.request("GET", "/v1/chat/history", undefined, ada);
    expect([refused.status, Number(refused.headers.get("retry-after")) > 0]).toEqual([429, true]);
    expect((await say(app, eve, "hi")).status).toBe(202);
  });

  test("oversized, blank and misshapen messages are refused, naming the field", async () => {
    const app = await chatApp({ respond: null, flags: { chatMaxTextBytes: "10" } });
    const headers = await as("ada");
    for (const [body, field] of [
      [{ id: "m", text: "x".repeat(11) }, "text"],
      [{ id: "m", text: "  \n" }, "text"],
      [{ id: "", text: "hi" }, "id"],
      [{ text: "hi" }, "id"],
      [{ id: "m", text: "hi", metadata: { admin: true } }, "metadata"],
      [{ id: "m", text: "hi", author: "eve" }, "author"],
      [{ id: "m", text: "hi", address: { channel: "x" } }, "address"],
      [{ id: "m", text: "hi", quietMs: 0 }, "quietMs"],
    ] as const) {
      const response = await app.request("POST", "/v1/chat/messages", body, headers);
      expect([response.status, (await json(response)).field]).toEqual([400, field]);
    }
    expect((await app.lull.list()).conversations).toEqual([]);
  });

  test("one visitor has only so many streams open, and a stream ends with its token", async () => {
    const app = await chatApp({ respond: null, flags: { chatStreams: "1" } });
    const headers = await as("ada", { exp: inSeconds(2) });
    const first = await app.request("GET", "/v1/chat/events", undefined, headers);
    expect(first.status).toBe(200);
    expect((await app.request("GET", "/v1/chat/events", undefined, headers)).status).toBe(429);
    const began = Date.now();
    await first.text();
    expect(Date.now() - began).toBeLessThan(10_000);
    const again = await app.request("GET", "/v1/chat/events", undefined, await as("ada"));
    expect(again.status).toBe(200);
    await again.body?.cancel();
  });
});

describe("what a visitor sees", () => {
  test("a message is taken in once, however often its page sends it", async () => {
    const app = await chatApp({ respond: null });
    const headers = await as("ada");
    expect(await json(await say(app, headers, "hi", "m1"))).toEqual({ id: "m1", status: "accepted" });
    expect(await json(await say(app, headers, "hi", "m1"))).toEqual({ id: "m1", status: "duplicate" });
    expect((await history(app, headers)).events).toHaveLength(1);
  });

  test("nothing internal: other authors, metadata, attempts, operators, addresses and references stay inside", async () => {
    const secret = "INTERNAL";
    const app = await chatApp({
      respond: async (turn) => {
        await turn.spend(7, { details: { secret } });
        await turn.once("look", () => secret, { readOnly: true });
        const file = { type: "file" as const, mediaType: "text/plain", url: "https://x.example/f", ref: { secret } };
        return { parts: ["an answer", file], metadata: { secret } };
      },
    });
    const headers = await as("ada");
    const about = { conversation: "web:ada", metadata: { secret }, address: { secret } };
    await app.request(
      "POST",
      "/v1/messages",
      { ...about, id: "x1", author: secret, text: `${secret} by another` },
      ops,
    );
    await app.request("POST", "/v1/messages", { ...about, id: "x2", text: `${secret} by nobody` }, ops);
    await say(app, headers, "hi");
    await answeredIn(app, headers);
    const path = "/v1/conversations/web:ada";
    await app.request("PATCH", `${path}/messages/x1`, { text: `${secret} edited` }, ops);
    await app.request("POST", `${path}/handoff`, { by: secret }, ops);
    const human = { text: "Ada here", author: secret, metadata: { secret } };
    await app.request("POST", `${path}/human-replies`, human, ops);
    await app.request("POST", `${path}/resume`, { by: secret }, ops);
    const { events } = await history(app, headers);
    const told = events.map(({ at, seq, ...event }: Record<string, unknown>) => [event, typeof at, typeof seq]);
    const text = (value: string) => ({ type: "text", text: value });
    expect(told).toEqual(
      [
        { type: "message", id: expect.any(String), text: "hi" },
        { type: "part", id: expect.any(String), by: "bot", part: text("an answer") },
        {
          type: "part",
          id: expect.any(String),
          by: "bot",
          part: { type: "file", mediaType: "text/plain", url: "https://x.example/f", filename: null },
        },
        { type: "part", id: expect.any(String), by: "human", part: text("Ada here") },
      ].map((event) => [event, "string", "number"]),
    );
    const stream = await app.request("GET", "/v1/chat/events?after=0", undefined, headers);
    const seen: string[] = [];
    for await (const { data } of streamed(stream)) {
      seen.push(JSON.stringify(data));
      if (seen.at(-1)?.includes("Ada here")) break;
    }
    expect(seen.join("\n")).not.toContain(secret);
  });

  test("the stream tells what happens, and goes on where it broke off", async () => {
    const app = await chatApp();
    const headers = await as("ada");
    const stream = await app.request("GET", "/v1/chat/events?after=0", undefined, headers);
    await say(app, headers, "hi", "m1");
    const frames: { id: string | null; data: { type: string; state?: string; outcome?: string } }[] = [];
    for await (const frame of streamed(stream)) {
      if (frame.data !== null) frames.push(frame as never);
      if ((frame.data as { type?: string } | null)?.type === "done") break;
    }
    const told = frames.map(({ data: { type, state } }) => (state === undefined ? type : `${type} ${state}`));
    expect(told.filter((line) => line !== "draft")).toEqual([
      "state resting",
      "message",
      "state waiting",
      "state answering",
      "part",
      "done",
    ]);
    const part = frames.find(({ data }) => data.type === "part");
    const resumed = await app.request("GET", `/v1/chat/events?after=${Number(part?.id) - 1}`, undefined, headers);
    for await (const { data } of streamed(resumed)) {
      if ((data as { seq?: number } | null)?.seq === undefined) continue;
      expect(data).toEqual(part?.data);
      break;
    }
    expect(frames.at(-1)?.data).toMatchObject({ type: "done", outcome: "answered" });
  });

  test("a page that knows what was erased is told so, and begins anew", async () => {
    const app = await chatApp({ respond: null });
    const headers = await as("ada");
    await say(app, headers, "hi");
    await app.lull.erase("web:ada");
    const stream = await app.request("GET", "/v1/chat/events?after=99", undefined, headers);
    const types: string[] = [];
    for await (const { data } of streamed(stream)) {
      if (data !== null) types.push((data as { type: string }).type);
      if (types.length === 2) break;
    }
    expect(types).toEqual(["cleared", "state"]);
  });

  test("history comes in pages, newest first, each as it was written", async () => {
    const app = await chatApp({ respond: null });
    const headers = await as("ada");
    const all = Array.from({ length: 12 }, (_, n) => `text ${n}`);
    for (const text of all) await app.lull.receive("web:ada", { id: text, text, author: "ada" });
    for (let n = 0; n < 600; n++) await app.lull.receive("web:ada", { id: `n${n}`, text: "x", author: "another" });
    const read: string[] = [];
    let query = "?limit=5";
    for (let pages = 0; pages < 20; pages++) {
      const { events, next } = await history(app, headers, query);
      read.unshift(...events.map(({ text }: { text: string }) => text));
      if (next === null) break;
      query = `?limit=5&before=${next}`;
    }
    expect(read).toEqual(all);
  });

  test("a route of the web chat says so where it is switched off", async () => {
    const { request } = await testApp({ respond: null });
    for (const [method, path, body] of asked) {
      const response = await request(method, path, body, await as("ada"));
      expect([response.status, (await json(response)).detail]).toEqual([404, expect.stringContaining("chatSecret")]);
    }
  });

  test("over a socket: what is said to visitors stays in the log, though replies go to a webhook", async () => {
    const { config } = await loadConfig({
      env: {},
      flags: {
        store: "memory:",
        port: "0",
        quietMs: "50",
        demoMs: "0",
        deliver: "http://127.0.0.1:9/hook",
        chatSecret,
        apiKeys: "",
      },
    });
    const server = await createServer(config, silent);
    onTestFinished(() => server.stop());
    const headers = { ...(await as("ada")), "content-type": "application/json" };
    await fetch(`${server.url}/v1/chat/messages`, {
      method: "POST",
      headers,
      body: JSON.stringify({ id: "m1", text: "hi" }),
    });
    const part = await until(async () => {
      const { events } = await json(await fetch(`${server.url}/v1/chat/history`, { headers }));
      return events.find(({ type }: { type: string }) => type === "part") ?? null;
    });
    expect(part.part.text).toContain("hi");
  });
});
