import { describe, expect, test } from "vitest";
import { checkBrowser, checkExposure, findKey, isLoopback, parseKeys } from "../src/auth.ts";
import { ConfigError } from "../src/config.ts";
import { json, testApp } from "./support/app.ts";

const secrets = { web: "web-secret-0123456789", ops: "ops:secret:with:colons", eye: "eye-secret-0123456789" };
const entries = [`web:send:${secrets.web}`, `ops:operate:${secrets.ops}`, `eye:read:${secrets.eye}`];
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

describe("keys", () => {
  test("are kept as digests only", () => {
    const keys = parseKeys(entries);
    expect(keys.map((key) => key.name)).toEqual(["web", "ops", "eye"]);
    expect(JSON.stringify(keys)).not.toContain(secrets.web);
    expect(findKey(keys, secrets.ops)?.name).toBe("ops");
    expect(findKey(keys, `${secrets.ops}x`)).toBeNull();
  });

  test.each([
    ["name:send", "must look like name:role:secret"],
    ["name:admin:0123456789abcdef", "the role must be one of send, read, operate"],
    ["name:send:short", "at least 16 characters"],
  ])("%s is refused without showing the secret", (entry, told) => {
    expect(() => parseKeys([entry])).toThrow(told);
    expect(() => parseKeys([entry])).not.toThrow("0123456789abcdef");
  });

  test("one name, at most two secrets, with the same roles", () => {
    const keys = parseKeys([entries[0] as string, `web:send:${secrets.eye}`]);
    expect(findKey(keys, secrets.web)?.name).toBe("web");
    expect(findKey(keys, secrets.eye)?.name).toBe("web");
    expect(() => parseKeys([entries[0] as string, `web:read:${secrets.eye}`])).toThrow("other roles");
    expect(() => parseKeys([entries[0] as string, `web:send:${secrets.eye}`, "web:send:0123456789abcdef"])).toThrow(
      "two entries",
    );
    expect(() => parseKeys([entries[0] as string, `other:send:${secrets.web}`])).toThrow("the same secret");
    expect(() => parseKeys(["a:send+read:0123456789abcdef", "a:read+send:0123456789abcdeg"])).not.toThrow();
  });

  test("a public host needs keys", () => {
    expect(() => checkExposure("0.0.0.0", [])).toThrow(ConfigError);
    expect(() => checkExposure("::", [])).toThrow("LULL_API_KEYS");
    expect(() => checkExposure("127.0.0.1", [])).not.toThrow();
    expect(() => checkExposure("0.0.0.0", parseKeys(entries))).not.toThrow();
  });

  test.each(["localhost", "127.0.0.1", "127.8.9.1", "::1", "[::1]", "LOCALHOST"])("%s is loopback", (host) => {
    expect(isLoopback(host)).toBe(true);
  });
  test.each(["0.0.0.0", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "::"])("%s is not", (host) => {
    expect(isLoopback(host)).toBe(false);
  });
});

describe("roles", () => {
  const message = { conversation: "c", text: "hi" };
  const calls: [method: string, path: string, body: unknown, roles: string[]][] = [
    ["POST", "/v1/messages", message, ["web", "ops"]],
    ["POST", "/v1/conversations/c/typing", {}, ["web", "ops"]],
    ["GET", "/v1/conversations", undefined, ["eye", "ops"]],
    ["GET", "/v1/conversations/c", undefined, ["eye", "ops"]],
    ["GET", "/metrics", undefined, ["eye", "ops"]],
    ["POST", "/v1/conversations/c/reset", {}, ["ops"]],
    ["DELETE", "/v1/conversations/c", undefined, ["ops"]],
  ];
  test("each key does what its role allows, and nothing else", async () => {
    const { request } = await testApp({ flags: { apiKeys: entries.join(",") } });
    for (const [method, path, body, allowed] of calls)
      for (const [name, secret] of Object.entries(secrets)) {
        const { status } = await request(method, path, body, bearer(secret));
        if (allowed.includes(name)) expect([name, method, path, status < 400]).toEqual([name, method, path, true]);
        else expect([name, method, path, status]).toEqual([name, method, path, 403]);
      }
  });

  test("a key may have two roles", async () => {
    const { request } = await testApp({ flags: { apiKeys: `page:send+read:${secrets.web}` } });
    expect((await request("POST", "/v1/messages", message, bearer(secrets.web))).status).toBe(202);
    expect((await request("GET", "/v1/conversations", undefined, bearer(secrets.web))).status).toBe(200);
    expect((await request("POST", "/v1/conversations/c/reset", {}, bearer(secrets.web))).status).toBe(403);
  });

  test("no key, a wrong key and another scheme are 401; health, page and API description are open", async () => {
    const { request } = await testApp({ flags: { apiKeys: entries.join(",") } });
    for (const headers of [
      {},
      bearer("wrong"),
      { authorization: `Basic ${secrets.ops}` },
      { authorization: "Bearer" },
    ]) {
      const response = await request("GET", "/v1/conversations", undefined, headers as Record<string, string>);
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toContain("Bearer");
      expect(await json(response)).toMatchObject({ code: "unauthorized", field: "authorization" });
    }
    for (const path of ["/", "/healthz", "/readyz", "/openapi.json"])
      expect((await request("GET", path)).status).toBe(200);
  });
});

describe("a server without keys", () => {
  test.each([
    ["localhost:8080", undefined],
    ["127.0.0.1:8080", "http://127.0.0.1:8080"],
    ["[::1]:8080", "http://[::1]:8080"],
  ])("answers %s from %s", (host, origin) => {
    expect(() => checkBrowser(host, origin)).not.toThrow();
  });
  test.each([
    ["evil.example:8080", undefined],
    ["localhost:8080", "http://localhost:3000"],
    ["localhost:8080", "https://localhost:8080"],
    ["localhost:8080", "null"],
    ["localhost:8080", "http://evil.example"],
  ])("refuses %s from %s", (host, origin) => {
    expect(() => checkBrowser(host, origin)).toThrow();
  });
  test("a server with keys answers to any name", async () => {
    const { request } = await testApp({ flags: { apiKeys: entries.join(",") } });
    const headers = { ...bearer(secrets.eye), host: "bot.example", origin: "https://bot.example" };
    expect((await request("GET", "/v1/conversations", undefined, headers)).status).toBe(200);
  });
});
