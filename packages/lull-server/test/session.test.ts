import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { parseKeys } from "../src/auth.ts";
import { keyOfSession, openSession, sessionMs } from "../src/sessions.ts";
import { json, testApp } from "./support/app.ts";

const secrets = {
  web: "web-secret-0123456789",
  ops: "ops-secret-0123456789",
  eye: "eye-secret-0123456789",
  blind: "blind-secret-0123456789",
};
const apiKeys = `web:send:${secrets.web},ops:operate:${secrets.ops},eye:read:${secrets.eye},blind:inspect:${secrets.blind}`;
const ours = { "sec-fetch-site": "same-origin" };

async function opened(secret: string) {
  const app = await testApp({ respond: null, flags: { apiKeys } });
  const response = await app.request("POST", "/v1/session", { key: secret });
  const set = response.headers.get("set-cookie") ?? expect.unreachable("no cookie");
  const cookie = set.split(";")[0] as string;
  return { ...app, response, set, cookie, value: cookie.split("=")[1] as string };
}

describe("a session", () => {
  test("is a cookie in exchange for a key, which no script reads, no other site uses, and which is not the key", async () => {
    const { response, set, request, cookie } = await opened(secrets.ops);
    expect(response.status).toBe(200);
    const told = { name: "ops", roles: ["send", "read", "operate"], bot: null, texts: true };
    expect(await json(response)).toEqual(told);
    expect(set).toMatch(/; HttpOnly/);
    expect(set).toMatch(/; SameSite=Strict/);
    expect(set).toMatch(/; Path=\//);
    expect(set).toMatch(/; Max-Age=43200/);
    expect(set).not.toMatch(/; Secure/);
    expect(Buffer.from(set, "base64url").toString() + set).not.toContain(secrets.ops);
    expect(await json(await request("GET", "/v1/session", undefined, { cookie }))).toEqual(told);
    const behindTls = { "x-forwarded-proto": "https" };
    const other = await request("POST", "/v1/session", { key: secrets.ops }, behindTls);
    expect(other.headers.get("set-cookie")).toMatch(/; Secure/);
  });

  test("counts like its key on every route, with the key's roles and its name", async () => {
    const { request, cookie } = await opened(secrets.eye);
    const headers = { cookie, ...ours };
    expect((await request("GET", "/v1/conversations", undefined, headers)).status).toBe(200);
    const refused = await request("POST", "/v1/conversations/c/reset", {}, headers);
    expect([refused.status, (await json(refused)).code]).toEqual([403, "forbidden"]);
    expect((await request("POST", "/v1/messages", { conversation: "c", text: "hi" }, headers)).status).toBe(403);
    // A key in the header wins.
    const both = { ...headers, authorization: `Bearer ${secrets.ops}` };
    expect((await request("POST", "/v1/conversations/c/reset", {}, both)).status).toBe(204);
  });

  test("ends by being forgotten", async () => {
    const { request, cookie } = await opened(secrets.eye);
    const response = await request("DELETE", "/v1/session", undefined, { cookie, ...ours });
    expect(response.status).toBe(204);
    expect(response.headers.get("set-cookie")).toMatch(/lull_session=;.*Max-Age=0/);
    const none = await request("GET", "/v1/session");
    expect([none.status, (await json(none)).code]).toEqual([401, "unauthorized"]);
  });

  test("of a server without keys is everybody's who reaches it", async () => {
    const { request } = await testApp({ respond: null });
    const told = { name: null, roles: ["send", "read", "operate"], bot: null, texts: true };
    expect(await json(await request("GET", "/v1/session"))).toEqual(told);
    const given = await request("POST", "/v1/session", { key: "whatever" });
    expect(await json(given)).toEqual(told);
    expect(given.headers.get("set-cookie")).toBeNull();
  });

  test("guessed keys are refused, and counted", async () => {
    const { request } = await testApp({ respond: null, flags: { apiKeys, maxRequestsPerMinute: "5" } });
    const statuses: number[] = [];
    for (let n = 0; n < 7; n += 1) statuses.push((await request("POST", "/v1/session", { key: `guess ${n}` })).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
  });
});

describe("attacks on sessions", () => {
  test("a forged session cookie is refused: another signature, other claims, another key's, none at all", async () => {
    const { request, value } = await opened(secrets.eye);
    const [claims, signature] = value.split(".") as [string, string];
    const claim = (name: string, untilMs: unknown) =>
      Buffer.from(JSON.stringify([name, untilMs])).toString("base64url");
    const tomorrow = Date.now() + 86_400_000;
    const [stranger] = parseKeys(["ops:operate:another-secret-0123456789"]);
    for (const forged of [
      "",
      "x",
      claims,
      `${claims}.`,
      `.${signature}`,
      `${claims}.${signature}.${signature}`,
      `${claims}.${"A".repeat(43)}`,
      `${claim("ops", tomorrow)}.${signature}`,
      `${claim("ops", tomorrow)}.${createHmac("sha256", "").update(claim("ops", tomorrow)).digest("base64url")}`,
      // Signed with the secret itself, or with its digest, as somebody might who only guesses how it is done.
      `${claims}.${createHmac("sha256", secrets.eye).update(claims).digest("base64url")}`,
      openSession(stranger ?? expect.unreachable(), Date.now()),
      secrets.ops,
    ]) {
      const headers = { cookie: `lull_session=${forged}`, ...ours };
      expect([forged, (await request("GET", "/v1/conversations", undefined, headers)).status]).toEqual([forged, 401]);
      expect((await request("GET", "/v1/session", undefined, headers)).status).toBe(401);
    }
  });

  test("an expired session cookie is refused", () => {
    const keys = parseKeys(apiKeys.split(","));
    const value = openSession(keys[1] ?? expect.unreachable(), 1_000_000);
    expect(keyOfSession(keys, value, 1_000_000 + sessionMs - 1)?.name).toBe("ops");
    expect(keyOfSession(keys, value, 1_000_000 + sessionMs)).toBeNull();
  });

  test("a session dies with its key, and with a key of the same name and another secret", () => {
    const keys = parseKeys(apiKeys.split(","));
    const value = openSession(keys[1] ?? expect.unreachable(), 0);
    expect(keyOfSession([], value, 1)).toBeNull();
    expect(
      keyOfSession(
        keys.filter(({ name }) => name !== "ops"),
        value,
        1,
      ),
    ).toBeNull();
    expect(keyOfSession(parseKeys(["ops:operate:new-secret-0123456789"]), value, 1)).toBeNull();
  });

  test("cross-site requests with the cookie (CSRF): nothing is written, and nothing is read", async () => {
    const { request, cookie, lull } = await opened(secrets.ops);
    const elsewhere: Record<string, string>[] = [
      {},
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "none" },
      { "sec-fetch-site": "cross-site", origin: "http://localhost" },
      { origin: "https://evil.example" },
      { origin: "http://localhost:3000" },
      { origin: "http://localhost.evil.example" },
      { origin: "null" },
      { origin: "" },
    ];
    for (const headers of elsewhere)
      for (const [method, path, body] of [
        ["POST", "/v1/conversations/c/handoff", {}],
        ["POST", "/v1/messages", { conversation: "c", text: "hi" }],
        ["PUT", "/v1/conversations/c/settings", { whenBusy: "queue" }],
        ["DELETE", "/v1/conversations/c", undefined],
        ["POST", "/v1/pause", {}],
      ] as const) {
        const response = await request(method, path, body, { cookie, ...headers });
        expect([headers, path, response.status, (await json(response)).code]).toEqual([
          headers,
          path,
          403,
          "origin-not-allowed",
        ]);
      }
    expect(await lull.get("c")).toBeNull();
    expect(await lull.pausedAll()).toBeNull();
    for (const headers of [{ "sec-fetch-site": "same-site" }, { origin: "https://evil.example" }])
      for (const path of ["/v1/conversations", "/v1/session", "/v1/events"])
        expect((await request("GET", path, undefined, { cookie, ...headers })).status).toBe(403);
    // Our own page, told by either header; also with TLS at the proxy.
    for (const headers of [ours, { origin: "http://localhost" }, { origin: "https://localhost" }]) {
      const response = await request("POST", "/v1/conversations/c/handoff", {}, { cookie, ...headers });
      expect([headers, response.status]).toEqual([headers, 204]);
    }
  });

  test("login from another site: nobody is given a session of somebody else's", async () => {
    const { request } = await testApp({ respond: null, flags: { apiKeys } });
    for (const headers of [{ "sec-fetch-site": "cross-site" }, { origin: "https://evil.example" }]) {
      const response = await request("POST", "/v1/session", { key: secrets.eye }, headers);
      expect(response.status).toBe(403);
      expect(response.headers.get("set-cookie")).toBeNull();
    }
    const form = { "content-type": "application/x-www-form-urlencoded" };
    expect((await request("POST", "/v1/session", `key=${secrets.eye}`, form)).status).toBe(415);
  });
});
