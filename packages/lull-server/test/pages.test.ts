import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { policy } from "../src/app/pages.ts";
import { openListener } from "../src/listener.ts";
import { json, testApp } from "./support/app.ts";

/** A folder as the build leaves it, inside another one with a secret. */
function built(): string {
  const place = mkdtempSync(join(tmpdir(), "lull-pages-"));
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  writeFileSync(join(place, "secret.txt"), "SECRET");
  for (const [name, content] of Object.entries({
    "index.html": "<!doctype html>playground",
    "playground/index.html": "<!doctype html>playground, one folder down",
    "inspector/index.html": "<!doctype html>inspector",
    "assets/app-a1B2.js": "console.log(1)",
    "assets/.hidden": "SECRET",
    "assets/deeper/file.js": "SECRET",
    "widget/lull-chat.js": "// widget",
  })) {
    const path = join(place, "web", name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
  return join(place, "web");
}

describe("pages", () => {
  test("are served with a policy that allows nothing from elsewhere, and no script or style within", async () => {
    const { request } = await testApp({ web: built() });
    for (const [path, content, type] of [
      ["/", "playground", "text/html"],
      ["/inspector/", "inspector", "text/html"],
      ["/playground/", "one folder down", "text/html"],
      ["/assets/app-a1B2.js", "console.log", "text/javascript"],
      ["/widget/lull-chat.js", "// widget", "text/javascript"],
    ] as const) {
      const response = await request("GET", path);
      expect([path, response.status]).toEqual([path, 200]);
      expect(response.headers.get("content-type")).toContain(type);
      expect(response.headers.get("content-security-policy")).toBe(policy);
      expect(response.headers.get("referrer-policy")).toBe("no-referrer");
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(await response.text()).toContain(content);
    }
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });

  test("files named after their content are kept, others are asked for again", async () => {
    const { request } = await testApp({ web: built() });
    expect((await request("GET", "/assets/app-a1B2.js")).headers.get("cache-control")).toContain("immutable");
    const page = await request("GET", "/inspector/");
    expect(page.headers.get("cache-control")).toBe("no-cache");
    const etag = page.headers.get("etag") ?? expect.unreachable("no etag");
    expect((await request("GET", "/inspector/", undefined, { "if-none-match": etag })).status).toBe(304);
  });

  test("work below any path of a proxy: the redirect is relative", async () => {
    const { request } = await testApp({ web: built() });
    const response = await request("GET", "/inspector");
    expect(response.status).toBe(302);
    expect(response.headers.get("location")).toBe("inspector/");
  });

  test("only the web chat's script may be loaded by other sites", async () => {
    const { request } = await testApp({ web: built() });
    expect((await request("GET", "/widget/lull-chat.js")).headers.get("access-control-allow-origin")).toBe("*");
    for (const path of ["/", "/inspector/", "/assets/app-a1B2.js"])
      expect((await request("GET", path)).headers.get("access-control-allow-origin")).toBeNull();
  });

  test("that were not built are said to be so", async () => {
    const { request } = await testApp({ web: "/nowhere" });
    const response = await request("GET", "/inspector/");
    expect(response.status).toBe(404);
    expect(await json(response)).toMatchObject({ detail: expect.stringContaining("npm run build") });
    expect(await json(await testApp({ web: built() }).then((it) => it.request("GET", "/assets/no.js")))).toMatchObject({
      detail: "There is no such file.",
    });
  });

  test("path traversal: nothing outside of the built folder is served, however it is written", async () => {
    const { app, config } = await testApp({ web: built() });
    const listener = await openListener(app, { setting: "port", host: "127.0.0.1", port: 0 }, config);
    onTestFinished(() => {
      listener.cut();
      return listener.close();
    });
    const port = Number(new URL(listener.url).port);
    // By hand: clients resolve dots before they send.
    const get = (path: string) =>
      new Promise<string>((resolve) => {
        const socket = net.connect(port, "127.0.0.1");
        let text = "";
        socket.on("data", (chunk) => {
          text += chunk;
        });
        socket.on("close", () => resolve(text));
        socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      });
    const ups = ["..", "%2e%2e", ".%2e", "%2E.", "..%2f", "..%5c", "..\\", "%252e%252e", "%c0%ae%c0%ae", "....//"];
    const places = ["/assets/", "/widget/", "/inspector/", "/playground/", "/"];
    for (const place of places)
      for (const up of ups)
        for (const path of [
          `${place}${up}/secret.txt`,
          `${place}${up}/${up}/secret.txt`,
          `${place}${up}${up}secret.txt`,
        ]) {
          const answer = await get(path);
          expect([path, answer.slice(0, 12)]).toEqual([path, expect.stringMatching(/^HTTP\/1\.1 (400|404)$/)]);
          expect(answer).not.toContain("SECRET");
        }
    for (const path of [
      "/assets/.hidden",
      "/assets/deeper/file.js",
      "/assets/deeper%2ffile.js",
      "/assets/%00",
      "/assets/app-a1B2.js%00.txt",
      "/assets//etc/passwd",
      "//etc/passwd",
      "/assets/",
      "/assets/C:%5Cwindows",
    ]) {
      const answer = await get(path);
      expect([path, answer.slice(0, 12)]).toEqual([path, expect.stringMatching(/^HTTP\/1\.1 (400|404)$/)]);
      expect(answer).not.toContain("SECRET");
    }
    expect(await get("/assets/app-a1B2.js")).toContain("console.log(1)");
  });
});
