// Pictures of every page for the documentation, light and dark, 1280 and 390 pixels wide:
//
//   npm run build && node scripts/screenshots.mjs [name…]
//
// Needs Debian's chromium and pngquant.
//
// The inspector shows conversations that the real engine made on virtual time, served by a server that only looks; the page's
// clock stands still at their end. The playground is played against a real server, and its clock times are painted over.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { conversation, health, makeConversations } from "./screenshots/made.mjs";
import { chromiumLaunch } from "./servers/chromium.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = `${root}docs/images`;
const only = process.argv.slice(2);

/** @typedef {import("playwright-core").Page} Page */

/** @type {{ name: string, path: string, made: boolean, ready: (page: Page) => Promise<unknown> }[]} */
const pictures = [
  {
    name: "playground",
    path: "",
    made: false,
    async ready(page) {
      await page.getByRole("button", { name: "Type three quick messages" }).click();
      await page.getByText("1 answer to 3 messages").waitFor();
      await page.getByText("3 answers to 3 messages").waitFor();
      // The seconds of a real run: everything else is the same every time.
      await page.evaluate(`
        let second = 0;
        for (const time of document.querySelectorAll(".lines time"))
          time.textContent = "12:01:" + String(second++).padStart(2, "0");
        for (const line of document.querySelectorAll(".line-text"))
          line.textContent = line.textContent.replace(/until [\\d:]+\\d/, "until 12:01:20").replace(/after [\\d.]+ s/, "after 2 s");
      `);
    },
  },
  {
    name: "conversations",
    path: "inspector/",
    made: true,
    ready: (page) =>
      page
        .getByRole("link", { name: /web:order-1234/ })
        .first()
        .waitFor(),
  },
  {
    name: "conversation",
    path: `inspector/#/c/${encodeURIComponent(conversation)}`,
    made: true,
    async ready(page) {
      await page.locator('[data-kind="attempt"]').first().waitFor();
      await page.locator('[data-kind="attempt"]').first().hover();
    },
  },
  {
    name: "act",
    path: `inspector/#/c/${encodeURIComponent(conversation)}`,
    made: true,
    async ready(page) {
      await page.getByRole("button", { name: "Hand off", exact: true }).click();
      await page.getByRole("dialog").waitFor();
    },
  },
  {
    name: "health",
    path: "inspector/#/health",
    made: true,
    ready: (page) => page.locator("main canvas, main svg").first().waitFor(),
  },
];

mkdirSync(folder, { recursive: true });
const temp = mkdtempSync(join(tmpdir(), "lull-pictures-"));
const nowMs = await makeConversations(join(temp, "made.db"));
/** @type {import("node:child_process").ChildProcess[]} */
const started = [];
const browser = await chromium.launch(chromiumLaunch());
try {
  const live = await start({ LULL_STORE: "memory:", LULL_QUIET_MS: "3000" });
  const made = await start({
    LULL_STORE: `sqlite:${join(temp, "made.db")}`,
    LULL_RESPOND: "none",
    LULL_DELIVER: "events",
  });
  for (const picture of pictures) {
    if (only.length > 0 && !only.includes(picture.name)) continue;
    for (const dark of [false, true])
      for (const [width, height] of /** @type {const} */ ([
        [1280, 900],
        [390, 844],
      ]))
        await take(picture, picture.made ? made : live, dark, width, height);
  }
} finally {
  await browser.close();
  for (const server of started) server.kill();
  rmSync(temp, { recursive: true, force: true });
}

/**
 * @param {typeof pictures[number]} picture
 * @param {string} url
 * @param {boolean} dark
 * @param {number} width
 * @param {number} height
 */
async function take({ name, path, made, ready }, url, dark, width, height) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    reducedMotion: made ? "reduce" : "no-preference",
    locale: "en-GB",
    timezoneId: "UTC",
  });
  const page = await context.newPage();
  if (made) {
    await page.clock.setFixedTime(nowMs);
    // What this process did in the last hour: nothing.
    // The sentence about now is said by the server's clock.
    await page.route("**/explain", async (route) => {
      const { sentences } = await (await route.fetch()).json();
      const time = new Date(nowMs).toISOString().slice(11, 23);
      await route.fulfill({
        json: { sentences: sentences.map((/** @type {string} */ one) => one.replace(/^\S+ (?=Now:)/, `${time} `)) },
      });
    });
    await page.route("**/v1/health*", (route) => route.fulfill({ json: health(nowMs) }));
  }
  await page.goto(url + path);
  await ready(page);
  await page.evaluate("document.activeElement?.localName === 'input' && document.activeElement.blur()");
  await page.waitForTimeout(300);
  const file = `${folder}/${name}-${width}-${dark ? "dark" : "light"}.png`;
  await page.screenshot({ path: file, fullPage: name !== "act", animations: "disabled" });
  // A third of the bytes, and no difference to be seen.
  execFileSync("pngquant", ["--force", "--speed", "1", "--strip", "--output", file, "64", file]);
  console.log(file.slice(root.length));
  await context.close();
}

/**
 * A server of our own; resolves to its address.
 * @param {Record<string, string>} settings
 */
async function start(settings) {
  const server = spawn(process.execPath, [`${root}packages/lull-server/dist/cli/bin.js`, "serve"], {
    cwd: temp,
    env: { PATH: process.env.PATH, LULL_PORT: "0", LULL_LOG_LEVEL: "error", ...settings },
    stdio: ["ignore", "pipe", "inherit"],
  });
  started.push(server);
  let told = "";
  for (;;) {
    const [chunk] = await once(server.stdout, "data");
    told += chunk;
    const address = /listening on (http:\S+)/.exec(told)?.[1];
    if (address !== undefined) return `${address}/`;
  }
}
