/** The web chat on somebody's site, in real Chromium, against real servers. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { violations } from "./support/axe.ts";
import { type OpenOptions, useChromium } from "./support/chromium.ts";
import { payloads } from "./support/payloads.ts";
import {
  type Entry,
  openServers,
  type Scene,
  type ServerProcess,
  startFailover,
  useServers,
} from "./support/servers.ts";
import { chatSecret, openShadows, type Site, type SiteOptions, signFor, useSite } from "./support/site.ts";

const chromium = useChromium();
const useShop = useSite();
let shop: Site;
let server: ServerProcess;
let scene: Scene;

const chatSettings = { LULL_CHAT_SECRET: chatSecret, LULL_CHAT_MESSAGES_PER_MINUTE: "1000" };
const servers = useServers({
  ...chatSettings,
  LULL_CHAT_ANONYMOUS: "on",
  LULL_MAX_PENDING: "200",
  LULL_START_MS: "100",
});
/** A page whose network is gone says so in its console. */
const away = /net::ERR_|Failed to load resource/;

beforeAll(async () => {
  shop = await useShop();
  server = await servers.start("one", { LULL_CHAT_ORIGINS: shop.origin });
  scene = await servers.scene();
}, 180_000);

async function openChat(options: Partial<SiteOptions>, open: OpenOptions = {}): Promise<Page> {
  const address = shop.page({ visitor: "ada", lull: `${server.url}/`, ...options });
  return openAt(address, open);
}

function openAt(address: string, open: OpenOptions = {}): Promise<Page> {
  return chromium.open(address, { prepare: openShadows, ...open });
}

const messages = (page: Page) => page.getByRole("log").locator(".message");
const own = (page: Page) => page.getByRole("log").locator(".message.own .bubble");
const answers = (page: Page) => page.getByRole("log").locator(".message.bot .bubble");
const field = (page: Page) => page.getByLabel("Your message");
const status = (page: Page) => page.getByRole("status");
const draft = (page: Page) => page.locator(".draft .bubble");

async function write(page: Page, text: string): Promise<void> {
  await field(page).fill(text);
  await field(page).press("Enter");
}

const toBe = async (locator: Locator, texts: (string | RegExp)[]) => {
  const same = async () => {
    const now = await locator.allInnerTexts();
    const fits = texts.map((text, at) => (typeof text === "string" ? now[at] === text : text.test(now[at] ?? "")));
    return now.length === texts.length && fits.every(Boolean) ? "so" : now;
  };
  await expect.poll(same, { timeout: 45_000 }).toBe("so");
};

const logOf = (visitor: string, at = server): Promise<Entry[]> => scene.log(at, `web:${visitor}`).catch(() => []);
const received = async (visitor: string) =>
  (await logOf(visitor)).filter(({ kind }) => kind === "message").map(({ parts }) => parts[0].text);

describe("a visitor", () => {
  test("writes three messages, sees how things stand, and gets the one answer, also after a reload", async () => {
    const page = await openChat({ visitor: "three" });
    await write(page, "hi");
    await write(page, "my order is late");
    await write(page, "#1234 <b>please</b>");
    await expect.poll(() => status(page).textContent(), { timeout: 30_000 }).toMatch(/Reading|Writing/);
    await toBe(own(page), ["hi", "my order is late", "#1234 <b>please</b>"]);
    await toBe(answers(page), [/One answer to 3 messages/]);
    await expect.poll(() => status(page).textContent()).toBe("");
    expect(await page.getByRole("log").getByText("Sent", { exact: true }).count()).toBe(1);
    await page.reload();
    await toBe(own(page), ["hi", "my order is late", "#1234 <b>please</b>"]);
    await toBe(answers(page), [/One answer to 3 messages/]);
  });

  test("has the widget's inside to themselves: no script of the page gets at it", async () => {
    const page = await chromium.open(shop.page({ visitor: "closed", lull: `${server.url}/` }));
    await page.waitForFunction(() => customElements.get("lull-chat") !== undefined);
    expect(await page.evaluate(() => document.querySelector("lull-chat")?.shadowRoot)).toBeNull();
  });

  test("keeps talking beyond the end of a token", async () => {
    const before = shop.tokens();
    const page = await openChat({ visitor: "lasting", tokenSeconds: 14 });
    await write(page, "before");
    await toBe(answers(page), [/before/]);
    await expect.poll(() => shop.tokens() - before, { timeout: 60_000 }).toBeGreaterThan(1);
    await write(page, "after");
    await toBe(answers(page), [/before/, /after/]);
    expect(await received("lasting")).toEqual(["before", "after"]);
  });

  test("sees messages that are too large as not sent, and may discard them", async () => {
    const page = await openChat({ visitor: "long" }, { expected: [/400/] });
    await write(page, "x".repeat(9_000));
    await page.getByText("Not sent").waitFor();
    await write(page, "short");
    await toBe(answers(page), [/short/]);
    await page.getByRole("button", { name: "Discard" }).click();
    await toBe(own(page), ["short"]);
  });
});

describe("two tabs", () => {
  test("agree: what one sends, the other shows; each message and each answer once in both", async () => {
    const address = shop.page({ visitor: "tabs", lull: `${server.url}/` });
    const one = await openAt(address);
    const two = await openAt(address, { context: one.context() });
    await write(one, "from the first");
    await toBe(own(two), ["from the first"]);
    await write(two, "from the second");
    for (const page of [one, two]) {
      await toBe(own(page), ["from the first", "from the second"]);
      await toBe(answers(page), [/One answer to 2 messages/]);
    }
    expect(await received("tabs")).toEqual(["from the first", "from the second"]);
  });

  test("of somebody anonymous are one visitor", async () => {
    const address = shop.page({ visitor: null, lull: `${server.url}/` });
    const one = await openAt(address);
    const two = await openAt(address, { context: one.context() });
    await write(one, "who am I?");
    for (const page of [one, two]) await toBe(answers(page), [/who am I/]);
    const other = await openAt(address);
    await expect.poll(() => status(other).textContent()).toBe("");
    expect(await messages(other).count()).toBe(0);
  });
});

describe("without a network", () => {
  test("for 10 s: what two tabs write is queued, shown in both, and sent once", async () => {
    const address = shop.page({ visitor: "offline", lull: `${server.url}/` });
    const one = await openAt(address, { expected: [away] });
    const context: BrowserContext = one.context();
    const two = await openAt(address, { context, expected: [away] });
    await write(one, "online");
    for (const page of [one, two]) await toBe(answers(page), [/online/]);

    await context.setOffline(true);
    const began = Date.now();
    await write(one, "offline 1");
    await write(two, "offline 2");
    await write(one, "offline 3");
    const written = ["online", "offline 1", "offline 2", "offline 3"];
    for (const page of [one, two]) {
      await toBe(own(page), written);
      await expect.poll(() => page.getByText("Waiting to be sent").count()).toBe(3);
    }
    await one.waitForTimeout(Math.max(0, 10_000 - (Date.now() - began)));
    expect(await received("offline")).toEqual(["online"]);
    await context.setOffline(false);
    for (const page of [one, two]) {
      await toBe(own(page), written);
      await toBe(answers(page), [/online/, /One answer to 3 messages/]);
      await expect.poll(() => page.getByText("Waiting to be sent").count()).toBe(0);
    }
    expect(await received("offline")).toEqual(written);
  });

  test("a page that is closed with messages in its queue sends them when it is opened again, once", async () => {
    const address = shop.page({ visitor: "closing", lull: `${server.url}/` });
    const page = await openAt(address, { expected: [away] });
    await write(page, "first");
    await toBe(answers(page), [/first/]);
    const context = page.context();
    await context.setOffline(true);
    await write(page, "left behind");
    await toBe(own(page), ["first", "left behind"]);
    const keeper = await context.newPage();
    await page.close();
    // A page that is closed has not ended yet: what it hears of in its last moments, it still does.
    await keeper.waitForTimeout(2_000);
    await context.setOffline(false);
    expect(await received("closing")).toEqual(["first"]);
    const again = await openAt(address, { context });
    await toBe(own(again), ["first", "left behind"]);
    await toBe(answers(again), [/first/, /left behind/]);
    expect(await received("closing")).toEqual(["first", "left behind"]);
    await keeper.close();
  });
});

describe("while the bot answers", () => {
  const slow = {
    ...chatSettings,
    LULL_DEMO_MS: "9000",
    LULL_QUIET_MS: "600",
    LULL_START_MS: "100",
    LULL_LEASE_MS: "2000",
  };

  test("a draft is shown, taken back when something newer comes, and the one answer has both", async () => {
    const scene = await openServers(slow);
    const one = await scene.start("drafting", { LULL_CHAT_ORIGINS: shop.origin });
    const page = await openChat({ visitor: "draft", lull: `${one.url}/` });
    await page.evaluate(() => {
      const seen: (string | null)[] = [];
      Object.assign(window, { seen });
      document.querySelector("lull-chat")?.addEventListener("lull-event", (event) => {
        const { detail } = event as CustomEvent<{ type: string; text?: string | null }>;
        if (detail.type === "draft") seen.push(detail.text ?? null);
      });
    });
    await write(page, "one");
    await expect.poll(() => draft(page).textContent(), { timeout: 30_000 }).toMatch(/^\[demo/);
    await write(page, "two");
    await expect.poll(() => status(page).textContent()).toBe("Reading your new message first…");
    await expect.poll(() => draft(page).textContent(), { timeout: 30_000 }).toMatch(/2 messages/);
    await toBe(answers(page), [/One answer to 2 messages/]);
    await expect.poll(() => page.locator(".draft").isVisible()).toBe(false);
    const seen = await page.evaluate(() => (window as unknown as { seen: (string | null)[] }).seen);
    const back = seen.lastIndexOf(null);
    expect(back).toBeGreaterThan(0);
    expect(seen.slice(0, back).join("\n")).toContain("[demo");
    expect(seen.slice(back).join("\n")).toContain("2 messages");
    const kinds = (await scene.log(one, "web:draft")).filter(({ kind }) => kind === "draft").map(({ state }) => state);
    expect(kinds).toEqual(["shown", "retracted", "shown", "replaced"]);
  });

  test("its process is killed: the page gets the one answer from the other, without a reload", async () => {
    const scene = await openServers({ ...slow, LULL_LEASE_MS: "8000" });
    const settings = { LULL_CHAT_ORIGINS: shop.origin };
    // It would think for longer than this test lasts: whatever is answered, the other one answers.
    const running = [await scene.start("first", { ...settings, LULL_DEMO_MS: "600000" })];
    const page = await openChat({ visitor: "killed", lull: await startFailover(running) }, { expected: [away] });
    await write(page, "hello");
    await expect.poll(() => status(page).textContent(), { timeout: 30_000 }).toBe("Writing an answer…");
    const first = running[0] as ServerProcess;
    expect((await scene.get(first, "/v1/conversations/web:killed")).lease.owner).toBe("first");
    const second = await scene.start("second", { ...settings, LULL_DEMO_MS: "1000" });
    running.push(second);
    first.kill("SIGKILL");
    await first.exited;
    await toBe(answers(page), [/One answer to 1 message/]);
    await toBe(own(page), ["hello"]);
    const log = await scene.rested(second, "web:killed", 30_000);
    const count = (kind: string) => log.filter((entry) => entry.kind === kind).length;
    expect([count("message"), count("reply")]).toEqual([1, 1]);
    expect(log).toContainEqual(expect.objectContaining({ kind: "ended", outcome: "expired" }));
    await toBe(answers(page), [/One answer to 1 message/]);
  });
});

describe("attacks", () => {
  test("known XSS payloads from both sides are text, and nothing executes", async () => {
    expect(payloads.length).toBeGreaterThanOrEqual(40);
    const page = await openChat({ visitor: "xss", policy: false });
    await expect.poll(() => status(page).textContent()).toBe("");
    await page.evaluate((texts) => {
      const element = document.querySelector("lull-chat") as unknown as { send(text: string): void };
      for (const text of texts) element.send(text);
    }, payloads);
    await expect.poll(() => own(page).count(), { timeout: 60_000 }).toBe(payloads.length);
    await expect.poll(() => page.getByText("Waiting to be sent").count(), { timeout: 60_000 }).toBe(0);
    await expect.poll(() => answers(page).count(), { timeout: 60_000 }).toBe(1);
    const said = await fetch(`${server.url}/v1/conversations/web:xss/send`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ parts: payloads.slice(0, 50) }),
    });
    expect(said.status).toBe(202);
    const files = payloads.slice(0, 45).map((payload) => ({
      type: "file",
      mediaType: payload,
      filename: payload,
      url: payload,
    }));
    const sent = await fetch(`${server.url}/v1/conversations/web:xss/send`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ parts: files }),
    });
    expect(sent.status).toBe(202);
    await expect.poll(() => answers(page).count(), { timeout: 60_000 }).toBe(1 + 50 + 45);

    const trimmed = payloads.map((text) => text.trim());
    expect(await own(page).allTextContents()).toEqual(trimmed);
    const told = await answers(page).allTextContents();
    expect(told.slice(1, 51)).toEqual(payloads.slice(0, 50));
    expect(told.slice(51)).toEqual(payloads.slice(0, 45));
    const found = await page.evaluate(() => {
      const log = document.querySelector("lull-chat")?.shadowRoot?.querySelector("[role=log]");
      const all = [...(log?.querySelectorAll("*") ?? [])];
      return {
        tags: [...new Set(all.map(({ localName }) => localName))].sort(),
        handlers: all.flatMap((element) => element.getAttributeNames().filter((name) => name.startsWith("on"))),
        schemes: [
          ...new Set(all.flatMap((element) => (element instanceof HTMLAnchorElement ? [element.protocol] : []))),
        ],
      };
    });
    expect(found.tags).toEqual(["a", "div", "span", "time"]);
    expect(found.handlers).toEqual([]);
    expect(found.schemes.filter((scheme) => !["http:", "https:", "mailto:"].includes(scheme))).toEqual([]);
    // An alert would have been a dialog, and dialogs are complaints.
    expect(chromium.complaints()).toEqual([]);
  });

  test("XSS through attributes of the element: heading and greeting are text, too", async () => {
    const attribute = payloads.join(" ").replaceAll("&", "&amp;").replaceAll('"', "&quot;");
    const page = await openChat({
      visitor: "attributes",
      policy: false,
      attributes: `open heading="${attribute}" greeting="${attribute}"`,
    });
    await expect.poll(() => page.locator(".title").textContent()).toBe(payloads.join(" "));
    expect(await page.locator(".scroll > .message .bubble").first().textContent()).toBe(payloads.join(" "));
    expect(chromium.complaints()).toEqual([]);
  });

  test("cross-origin: a page of a site that is not listed gets nothing with a stolen token, and changes nothing", async () => {
    const evil = await import("./support/site.ts").then(({ startSite }) => startSite());
    onTestFinished(() => evil.close());
    const page = await chromium.open(
      evil.page({ visitor: "victim", lull: `${server.url}/`, policy: false, attributes: "" }),
      {
        expected: [/CORS|net::ERR_FAILED|Failed to load resource/],
      },
    );
    const token = await signFor("victim");
    const outcomes = await page.evaluate(
      async ({ url, token }) => {
        const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
        const attempts: [string, RequestInit][] = [
          ["history", { headers }],
          ["events", { headers }],
          ["messages", { method: "POST", headers, body: JSON.stringify({ id: "m", text: "stolen" }) }],
          // What needs no preflight.
          ["messages", { method: "POST", body: JSON.stringify({ id: "m", text: "stolen" }) }],
          ["token", { method: "POST" }],
        ];
        return Promise.all(
          attempts.map(([path, init]) =>
            fetch(`${url}/v1/chat/${path}`, init).then(
              ({ status }) => `read: ${status}`,
              () => "refused",
            ),
          ),
        );
      },
      { url: server.url, token },
    );
    expect(outcomes).toEqual(outcomes.map(() => "refused"));
    expect(await received("victim")).toEqual([]);
  });
});

describe("accessible", () => {
  test("with the keyboard alone: open, write, read, leave", async () => {
    const page = await openChat({ visitor: "keys", attributes: "" });
    const launcher = page.getByRole("button", { name: "Open chat" });
    await launcher.waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Chat" }).waitFor();
    await page.keyboard.type("by keys");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("second line");
    await page.keyboard.press("Enter");
    await toBe(own(page), ["by keys\nsecond line"]);
    const focused = () =>
      page.evaluate(() => {
        const element = document.querySelector("lull-chat")?.shadowRoot?.activeElement;
        return element?.getAttribute("aria-label") ?? element?.id ?? null;
      });
    const order = [await focused()];
    await page.keyboard.press("Tab");
    order.push(await focused());
    for (let steps = 0; steps < 3; steps++) {
      await page.keyboard.press("Shift+Tab");
      order.push(await focused());
    }
    expect(order).toEqual(["field", "Send", "field", "Conversation", "Close chat"]);
    await page.keyboard.press("Escape");
    await expect.poll(focused).toBe("Open chat");
    expect(await page.getByRole("dialog").count()).toBe(0);
    // What comes while it is closed is counted.
    const said = await fetch(`${server.url}/v1/conversations/web:keys/send`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ text: "by the way" }),
    });
    expect(said.status).toBe(202);
    await page.getByRole("button", { name: /^Open chat \(\d+\)$/ }).waitFor();
  });

  test.each([
    ["light", "en", {}],
    ["dark", "de", { dark: true }],
    ["right to left, on a phone", "ar", { width: 390, height: 844, reducedMotion: true }],
  ] as const)("axe finds nothing: %s", async (_, lang, open) => {
    const page = await openChat(
      { visitor: `axe-${lang}`, lang, attributes: 'open greeting="https://a.example"' },
      open,
    );
    const input = page.locator("textarea");
    await input.fill("see https://a.example/x");
    await input.press("Enter");
    await expect.poll(() => page.locator(".message.bot").count(), { timeout: 45_000 }).toBeGreaterThan(2);
    expect(await violations(page)).toEqual([]);
    expect(await page.locator(".root").getAttribute("dir")).toBe(lang === "ar" ? "rtl" : "ltr");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    expect(wide).toBe(0);
    await page.evaluate(() => document.querySelector("lull-chat")?.removeAttribute("open"));
    expect(await violations(page)).toEqual([]);
  });

  test("sites choose colours, words and language; the module does what the script does", async () => {
    const page = await openChat({ visitor: "themed", lang: "ja" });
    await page.getByRole("heading", { name: "チャット" }).waitFor();
    const seen = await page.evaluate(() => {
      const element = document.querySelector("lull-chat") as HTMLElement & { strings: object };
      element.style.setProperty("--lull-accent", "rgb(1, 2, 3)");
      element.strings = { title: "Helpdesk" };
      const root = element.shadowRoot;
      const send = root?.querySelector(".send");
      return [root?.querySelector(".title")?.textContent, send && getComputedStyle(send).backgroundColor];
    });
    expect(seen).toEqual(["Helpdesk", "rgb(1, 2, 3)"]);
    // As text: what compiles this file would put another function in the place of `import()`.
    const address = JSON.stringify(`${server.url}/widget/lull-chat.mjs`);
    const exported = await page.evaluate<[string[], boolean]>(
      `import(${address}).then((module) => [Object.keys(module), customElements.get("lull-chat") !== undefined])`,
    );
    expect(exported).toEqual([["LullChat"], true]);
  });
});

test("the script is at most 25 KB gzipped, and the module too", () => {
  for (const name of ["lull-chat.js", "lull-chat.mjs"]) {
    const file = fileURLToPath(new URL(`../../lull-server/web/widget/${name}`, import.meta.url));
    expect(gzipSync(readFileSync(file)).length).toBeLessThanOrEqual(25 * 1_024);
  }
});

test("examples/web-chat runs as its README says", async () => {
  const free = createServer();
  await new Promise<void>((resolve) => free.listen(0, "127.0.0.1", resolve));
  const port = String((free.address() as { port: number }).port);
  await new Promise((resolve) => free.close(resolve));
  const origin = `http://127.0.0.1:${port}`;
  const scene = await openServers(chatSettings);
  const lull = await scene.start("example", { LULL_CHAT_ORIGINS: origin });
  const program = fileURLToPath(new URL("../../../examples/web-chat/server.mjs", import.meta.url));
  const child = spawn(process.execPath, [program], {
    env: { PATH: process.env.PATH, PORT: port, LULL_URL: lull.url, LULL_CHAT_SECRET: chatSecret },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  await once(child.stdout, "data");
  const page = await openAt(origin);
  await page.getByRole("button", { name: "Open chat" }).click();
  await page.getByText("Hello! What can we do for you?").waitFor();
  await write(page, "is it open on Sundays?");
  await toBe(answers(page), [/is it open on Sundays/]);
  const [entry] = await scene.log(lull, "web:ada");
  expect(entry).toMatchObject({ author: "ada", metadata: { name: "Ada" } });
});
