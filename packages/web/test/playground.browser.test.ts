/** The playground in real Chromium: the double answer and the cure, under one's own fingers. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { violations } from "./support/axe.ts";
import { useChromium } from "./support/chromium.ts";
import { openServers, type ServerProcess, startFailover, useServers } from "./support/servers.ts";

const chromium = useChromium();
/** The model starts soon, so that newer messages interrupt it; the quiet is long enough for a slow machine to type them. */
const servers = useServers({ LULL_QUIET_MS: "6000", LULL_START_MS: "200" });
let server: ServerProcess;

beforeAll(async () => {
  server = await servers.start("one");
});

async function say(page: Page, text: string) {
  await page.getByLabel("Message to both bots").fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}

const chat = (page: Page, which: "with" | "without") => page.getByRole("log", { name: `Chat ${which} lull` });
const answers = (page: Page, which: "with" | "without") => chat(page, which).locator(".said.bot");
const happenings = (page: Page) => page.getByRole("region", { name: "What happens with lull" });

/** What stands over a side: how many answers to how many messages. */
const tally = (page: Page, which: "with" | "without", words: string) =>
  page.locator(`.pane.${which === "with" ? "lull" : "naive"} .tally`, { hasText: words }).waitFor();

async function threeMessages(page: Page) {
  await say(page, "hi");
  // The attempt at the first message is under way when the second one comes.
  await happenings(page).getByText("Asks the model about message 1").waitFor();
  await say(page, "my order is late");
  await say(page, "it is number 1234");
}

test("three quick messages: the naive bot answers three times, lull once, with all of them", async () => {
  const page = await chromium.open(server.url);
  await threeMessages(page);
  await expect.poll(() => answers(page, "without").count(), { timeout: 30_000 }).toBe(3);
  await expect.poll(() => answers(page, "with").count(), { timeout: 30_000 }).toBe(1);
  await happenings(page).getByText("Answers messages 1 to 3 at once.").waitFor();
  const answer = await answers(page, "with").textContent();
  for (const text of ["hi", "my order is late", "it is number 1234"]) expect(answer).toContain(text);
  expect(await happenings(page).textContent()).toMatch(/discards the answer in the making after [\d.]+ s/);
  await tally(page, "without", "3 answers to 3 messages");
  await tally(page, "with", "1 answer to 3 messages");

  const conversation = decodeURIComponent(new URL(page.url()).hash.slice(1));
  const { state, version, answered } = await (await servers.scene()).get(
    server,
    `/v1/conversations/${encodeURIComponent(conversation)}`,
  );
  expect({ state, version, answered }).toEqual({ state: "resting", version: 3, answered: 3 });
});

test("the script types three messages, with pauses in which an attempt begins and is discarded", async () => {
  const page = await chromium.open(server.url);
  await page.getByRole("button", { name: "Type three quick messages" }).click();
  await tally(page, "with", "1 answer to 3 messages");
  await tally(page, "without", "3 answers to 3 messages");
  expect(await happenings(page).textContent()).toContain("discards the answer in the making");
});

test("reloaded, or opened in a second tab, both sides are as they were", async () => {
  const page = await chromium.open(server.url);
  await say(page, "hi");
  await tally(page, "with", "1 answer to 1 message");
  const text = await answers(page, "with").textContent();
  await page.reload();
  const second = await chromium.open(page.url(), { context: page.context() });
  for (const tab of [page, second]) {
    await tally(tab, "with", "1 answer to 1 message");
    expect(await answers(tab, "with").textContent()).toBe(text);
    expect(await chat(tab, "without").locator(".said").count()).toBe(2);
  }
  await say(second, "again");
  await tally(page, "with", "2 answers to 2 messages");
});

test("the quiet window is chosen for this conversation, and the log says so", async () => {
  const page = await chromium.open(server.url);
  await say(page, "hi");
  await page.getByRole("group", { name: "Quiet window" }).getByLabel("10 s").check();
  await happenings(page).getByText("The quiet window is 10 s from now on.").waitFor();
  expect(await page.getByRole("group", { name: "Quiet window" }).getByLabel("10 s").isChecked()).toBe(true);
});

test("the bot thinks as long as was chosen, on both sides", async () => {
  const page = await chromium.open(server.url);
  await page.getByRole("group", { name: "Model thinks for" }).getByLabel("5 s").check();
  await say(page, "hi");
  await tally(page, "with", "1 answer to 1 message");
  const log = await (await servers.scene()).log(server, decodeURIComponent(new URL(page.url()).hash.slice(1)));
  expect(log.find(({ kind }) => kind === "message")).toMatchObject({ metadata: { thinkMs: 5_000 } });
  const [attempt, reply] = ["attempt", "reply"].map((wanted) =>
    Date.parse(log.find(({ kind }) => kind === wanted)?.at),
  );
  expect((reply ?? 0) - (attempt ?? 0)).toBeGreaterThanOrEqual(5_000);
});

test("the process that answers is killed: the page gets the one answer from another one", async () => {
  const scene = await openServers({ LULL_QUIET_MS: "1500", LULL_START_MS: "200", LULL_LEASE_MS: "2000" });
  const [first, second] = [await scene.start("first"), await scene.start("second")];
  const page = await chromium.open(await startFailover([first, second]), {
    // The browser's own lines about the connection that broke.
    expected: [/Failed to load resource: (net::|the server responded with a status of 502)/],
  });
  await page.getByRole("group", { name: "Model thinks for" }).getByLabel("5 s").check();
  await say(page, "hi");
  await happenings(page).getByText("Asks the model about message 1").waitFor();
  first.kill("SIGKILL");
  await first.exited;
  await say(page, "are you there?");
  await happenings(page).getByText("The process that was answering is gone: another one takes over.").waitFor();
  await tally(page, "with", "1 answer to 2 messages");
  expect(await answers(page, "with").count()).toBe(1);
  expect(await chat(page, "with").textContent()).toMatch(/1\. hi\n2\. are you there\?/);
});

describe("with keys", () => {
  const keyed = useServers({
    LULL_API_KEYS:
      "chat:send+read:chat-secret-0123456789,watch:read:watch-secret-0123456789,ops:operate:ops-secret-0123456789",
  });
  let url: string;
  beforeAll(async () => {
    ({ url } = await keyed.start("keyed"));
  });
  const refused = /Failed to load resource: the server responded with a status of 40[13]/;

  async function signIn(page: Page, secret: string) {
    await page.getByLabel("Key").fill(secret);
    await page.getByRole("button", { name: "Sign in" }).click();
  }

  test("says how to sign in, refuses what is no key, and works with one", async () => {
    const page = await chromium.open(url, { expected: [refused] });
    await page.getByText("This server wants a key").waitFor();
    await signIn(page, "nonsense");
    await page.getByRole("alert").getByText("No key of this server looks like that.").waitFor();
    await signIn(page, "chat-secret-0123456789");
    await say(page, "hi");
    await tally(page, "with", "1 answer to 1 message");
    // Its roles do not reach that far.
    expect(await page.getByRole("group", { name: /Quiet window/ }).textContent()).toContain(
      "needs a key with the role operate",
    );
    expect(await page.evaluate(() => document.cookie)).toBe("");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("This server wants a key").waitFor();
  });

  test("a key that may not send is told so", async () => {
    const page = await chromium.open(url, { expected: [refused] });
    await signIn(page, "watch-secret-0123456789");
    await page.getByRole("alert").getByText("lacks the role send").waitFor();
    expect(await page.getByLabel("Message to both bots").isDisabled()).toBe(true);
    const status = await page.evaluate(async () => {
      const response = await fetch("v1/messages", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ conversation: "c", text: "hi" }),
      });
      return response.status;
    });
    expect(status).toBe(403);
  });

  for (const dark of [false, true])
    test(`signing in: axe finds nothing, ${dark ? "dark" : "light"}`, async () => {
      const page = await chromium.open(url, { dark, expected: [refused] });
      await page.getByText("This server wants a key").waitFor();
      expect(await violations(page)).toEqual([]);
      await signIn(page, "nonsense");
      await page.getByRole("alert").waitFor();
      expect(await violations(page)).toEqual([]);
    });
});

describe.each([
  { dark: false, width: 1280 },
  { dark: true, width: 1280 },
  { dark: false, width: 390 },
  { dark: true, width: 390 },
])("axe finds nothing: %o", (look) => {
  test("empty, while it thinks, and answered", async () => {
    const page = await chromium.open(server.url, look);
    await page.getByLabel("Message to both bots").waitFor();
    expect(await violations(page)).toEqual([]);
    await threeMessages(page);
    expect(await violations(page)).toEqual([]);
    await answers(page, "with").first().waitFor();
    expect(await violations(page)).toEqual([]);
    const { scroll, client } = await page.evaluate(() => ({
      scroll: document.documentElement.scrollWidth,
      client: document.documentElement.clientWidth,
    }));
    expect(scroll, "nothing sticks out sideways").toBeLessThanOrEqual(client);
  });
});
