/** What a browser fetches to show each page first: little, and from nowhere else. */
import { gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { useChromium } from "./support/chromium.ts";
import { useServers } from "./support/servers.ts";

const chromium = useChromium();
const servers = useServers();
let url: string;
beforeAll(async () => {
  ({ url } = await servers.start("one"));
});

/** Gzipped bytes of a page and everything it loads. */
const mostBytes = 150 * 1024;

test.each(["", "playground/", "inspector/", "inspector/#/health"])(
  "/%s loads at most 150 KB, gzipped",
  async (path) => {
    const files = new Map<string, Promise<Buffer>>();
    const page = await chromium.open("about:blank", {
      prepare: async (page) => {
        page.on("response", (response) => {
          // Streams have no end.
          if (!response.url().includes("/v1/")) files.set(response.url(), response.body());
        });
      },
    });
    await page.goto(new URL(path, url).href);
    await page.locator("main h1").first().waitFor();
    await page.waitForLoadState("load");
    const sizes = await Promise.all(
      [...files].map(async ([address, body]) => ({ address, bytes: gzipSync(await body).length })),
    );
    expect(sizes.length).toBeGreaterThanOrEqual(3);
    for (const { address } of sizes) expect(new URL(address).origin).toBe(new URL(url).origin);
    const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
    console.log(`/${path}: ${(total / 1024).toFixed(1)} KB gzipped in ${sizes.length} files`);
    expect(total).toBeLessThanOrEqual(mostBytes);
  },
);
