/** The suite's own instruments: a page that misbehaves is noticed. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeAll, expect, test } from "vitest";
import { violations } from "./support/axe.ts";
import { useChromium } from "./support/chromium.ts";
import { startSubPath, useServers } from "./support/servers.ts";

const chromium = useChromium();
const servers = useServers();
let url: string;

beforeAll(async () => {
  url = (await servers.start("one")).url;
});

async function serve(html: string, policy = "default-src 'self'"): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html", "content-security-policy": policy }).end(html);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test("what a page's policy refuses is a complaint", async () => {
  const address = await serve("<script>document.title = 'ran'</script>");
  const page = await chromium.open(address, { expected: [/^nothing/] });
  await expect.poll(() => chromium.complaints().join()).toMatch(/Content Security Policy/);
  expect(await page.title()).toBe("");
  chromium.forgive(/Content Security Policy|favicon/);
});

test("an exception is a complaint", async () => {
  const address = await serve("<script>null.x</script>", "default-src 'self' 'unsafe-inline'");
  await chromium.open(address, { expected: [/favicon/] });
  await expect.poll(() => chromium.complaints().join()).toMatch(/exception: TypeError/);
  chromium.forgive(/TypeError/);
});

test("axe names what is wrong", async () => {
  const address = await serve("<html><title>x</title><main><h1>x</h1><img src=data:,></main>");
  const page = await chromium.open(address, { expected: [/favicon|data:/] });
  expect((await violations(page)).map((line) => line.split(":")[0]).sort()).toEqual(["html-has-lang", "image-alt"]);
});

test.each(["", "inspector/", "inspector", "playground/"])("/%s loads, also below a path of a proxy", async (path) => {
  const page = await chromium.open(new URL(path, url).href);
  await page.locator("#app *").first().waitFor();
  const below = await chromium.open((await startSubPath(url)) + path);
  await below.locator("#app *").first().waitFor();
  expect(await below.title()).toBe(await page.title());
});
