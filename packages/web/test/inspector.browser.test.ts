/** The inspector in real Chromium, on real servers: what it shows, and what an operator does there. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { violations } from "./support/axe.ts";
import { useChromium } from "./support/chromium.ts";
import { act, interrupted, logged, write } from "./support/scenes.ts";
import { openServers, type Scene, type ServerProcess, startSubPath, useServers } from "./support/servers.ts";

const chromium = useChromium();
const servers = useServers({
  LULL_QUIET_MS: "2500",
  LULL_START_MS: "100",
  LULL_DEMO_MS: "1500",
  LULL_MAX_FAILURES: "1",
});
let scene: Scene;
let server: ServerProcess;

beforeAll(async () => {
  scene = await servers.scene();
  server = await servers.start("one");
});

const pageOf = (of: { url: string }, conversation: string) =>
  new URL(`inspector/#/c/${encodeURIComponent(conversation)}`, `${of.url}/`).href;
const state = (page: Page, words: string | RegExp) => page.locator(".page-head .chip", { hasText: words });
const explanation = (page: Page) => page.getByRole("region", { name: "Explanation" });
const timeline = (page: Page) => page.getByRole("region", { name: "Timeline" });

/** Presses an operator's button and confirms. */
async function operate(
  page: Page,
  name: string,
  confirm: string,
  fill?: (dialog: ReturnType<Page["getByRole"]>) => Promise<unknown>,
) {
  await page.getByRole("button", { name, exact: true }).click();
  const dialog = page.getByRole("dialog", { name });
  await dialog.waitFor();
  await fill?.(dialog);
  await dialog.getByRole("button", { name: confirm, exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

test("the timeline shows the discarded attempt, and the explanation says why", async () => {
  await interrupted(scene, server, "web:discarded");
  const page = await chromium.open(pageOf(server, "web:discarded"));
  const attempts = timeline(page).locator('[data-kind="attempt"]');
  await attempts.nth(1).waitFor();
  const labels = await attempts.evaluateAll((found) => found.map((one) => one.getAttribute("aria-label")));
  expect(labels).toHaveLength(2);
  expect(labels[0]).toMatch(/discarded/i);
  expect(labels[1]).not.toMatch(/discarded/i);
  expect(await explanation(page).textContent()).toMatch(/discarded/i);
  // A permalink: what is chosen is in the address, and there again after a reload.
  await attempts.first().focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => page.url()).toMatch(/[?]entry=\d+$/);
  const told = await timeline(page).locator(".facts strong").textContent();
  await page.reload();
  await expect.poll(() => timeline(page).locator(".facts strong").textContent()).toBe(told);
});

test("the playground leads to its conversation in the inspector", async () => {
  const page = await chromium.open(`${server.url}/`);
  await page.getByLabel("Message to both bots").fill("hi");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("1 answer to 1 message").nth(1).waitFor();
  await page.getByRole("link", { name: "See it in the inspector" }).click();
  await state(page, "resting").waitFor();
  await timeline(page).locator('[data-kind="reply"]').waitFor();
});

test("below a path of a reverse proxy everything is found", async () => {
  await interrupted(scene, server, "web:below");
  const page = await chromium.open(await startSubPath(server.url).then((url) => `${url}inspector`));
  await page
    .getByRole("link", { name: /web:below/ })
    .first()
    .click();
  await state(page, "resting").waitFor();
  await page.getByRole("link", { name: "Health" }).click();
  await page.getByRole("heading", { name: "Health" }).waitFor();
});

test("a process that was killed is an expired lease, and another one answered", async () => {
  const own = await openServers({
    LULL_QUIET_MS: "1000",
    LULL_START_MS: "100",
    LULL_LEASE_MS: "1500",
    LULL_DEMO_MS: "1500",
  });
  const [first, second] = [await own.start("first"), await own.start("second")];
  await write(first, "web:killed", "hi");
  await logged(own, second, "web:killed", "attempt");
  first.kill("SIGKILL");
  await own.rested(second, "web:killed", 60_000);
  const page = await chromium.open(pageOf(second, "web:killed"));
  await timeline(page).locator('[data-kind="expired"]').first().waitFor();
  expect(await timeline(page).locator('[data-kind="reply"]').count()).toBe(1);
});

test("what goes on is shown as it goes on", async () => {
  await write(server, "web:live", "hi");
  const page = await chromium.open(pageOf(server, "web:live"));
  await write(server, "web:live", { id: "second", text: "are you there?" });
  await page.getByRole("region", { name: "Log", exact: true }).getByText("are you there?").first().waitFor();
  await state(page, "resting").waitFor();
  await timeline(page).locator('[data-kind="reply"]').first().waitFor();
});

test("handed off, answered as a human, resumed: each asked for once more, each in the log with a name", async () => {
  await write(server, "web:operated", { text: "hi", quietMs: 45_000 });
  const page = await chromium.open(pageOf(server, "web:operated"));
  await operate(page, "Hand off", "Hand off", (dialog) => dialog.getByLabel("For").selectOption("15"));
  await state(page, "handed off").waitFor();
  await operate(page, "Answer as a human", "Record the answer", (dialog) =>
    dialog.getByLabel("What you answered").fill("Ada here: it is on its way."),
  );
  await logged(scene, server, "web:operated", "human");
  await operate(page, "Resume", "Resume");
  await state(page, "resting").waitFor();
  const log = await scene.log(server, "web:operated");
  expect(log.find(({ kind }) => kind === "human")).toMatchObject({ parts: [{ text: "Ada here: it is on its way." }] });
  for (const kind of ["handoff", "resumed"])
    expect(
      log.find((entry) => entry.kind === kind),
      kind,
    ).toMatchObject({ by: "local" });
  expect(
    log.some(({ kind }) => kind === "reply"),
    "the bot kept silent",
  ).toBe(false);
  expect(await page.getByRole("region", { name: "Log", exact: true }).textContent()).toContain("Ada here");
});

test("what was given up is retried, and a reset drops what waits", async () => {
  let works = false;
  const own = await openServers(
    { LULL_QUIET_MS: "200", LULL_MAX_FAILURES: "1" },
    { model: () => (works ? { body: { text: "Now it works." } } : { status: 500, body: {} }) },
  );
  const one = await own.start("one", { LULL_RESPOND: own.program.model("one") });
  await write(one, "web:parked", "hi");
  const page = await chromium.open(pageOf(one, "web:parked"));
  await state(page, "parked").waitFor();
  works = true;
  await operate(page, "Retry", "Retry");
  await state(page, "resting").waitFor();
  await timeline(page).locator('[data-kind="reply"]').waitFor();
  expect((await own.log(one, "web:parked")).find(({ kind }) => kind === "retry")).toMatchObject({ by: "local" });

  await write(one, "web:parked", { text: "never mind", quietMs: 45_000 });
  // The model may have begun; the message itself asks for a long quiet.
  await state(page, /waiting|answering/).waitFor();
  await operate(page, "Reset", "Drop it and reset");
  await state(page, "resting").waitFor();
  expect((await own.log(one, "web:parked")).find(({ kind }) => kind === "reset")).toMatchObject({ by: "local" });
});

test("a question that is not confirmed changes nothing", async () => {
  await interrupted(scene, server, "web:cancelled");
  const before = await scene.log(server, "web:cancelled");
  const page = await chromium.open(pageOf(server, "web:cancelled"));
  await page.getByRole("button", { name: "Reset", exact: true }).click();
  await page.getByRole("dialog", { name: "Reset" }).getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Reset", exact: true }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await scene.log(server, "web:cancelled")).toEqual(before);
});

describe("with keys", () => {
  const secrets = { watch: "watch-secret-0123456789", ops: "ops-secret-0123456789", blind: "blind-secret-0123456789" };
  const keyed = useServers({
    LULL_API_KEYS: `watch:read:${secrets.watch},ada:operate:${secrets.ops},blind:inspect:${secrets.blind}`,
    LULL_QUIET_MS: "200",
    LULL_START_MS: "0",
    LULL_DEMO_MS: "50",
  });
  let one: ServerProcess;
  beforeAll(async () => {
    one = await keyed.start("keyed");
    const response = await fetch(`${one.url}/v1/messages?wait=20`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${secrets.ops}` },
      body: JSON.stringify({ conversation: "web:keyed", text: "a secret text", author: "grace" }),
    });
    expect(response.ok, await response.text()).toBe(true);
  });
  /** The browser's own lines about answers that belong to the test. */
  const expected = [/Failed to load resource: the server responded with a status of 40[13]/];

  async function signedIn(secret: string, conversation = "web:keyed") {
    const page = await chromium.open(pageOf(one, conversation), { expected });
    await page.getByLabel("Key").fill(secret);
    await page.getByRole("button", { name: "Sign in" }).click();
    return page;
  }

  /** What a script on the page is answered, with the page's session. */
  const answered = (page: Page, path: string) =>
    page.evaluate(async (address) => {
      const response = await fetch(address, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      });
      return { status: response.status, ...((await response.json().catch(() => ({}))) as object) };
    }, `../v1/conversations/web%3Akeyed${path}`);

  test("a wrong key is refused, and the page says what to do", async () => {
    const page = await signedIn("nonsense-nonsense-nonsense");
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").textContent()).toMatch(/LULL_API_KEYS/);
  });

  test("a key without the right to operate: the page offers nothing and says so, the API refuses", async () => {
    const page = await signedIn(secrets.watch);
    await state(page, "resting").waitFor();
    expect(await page.getByRole("button", { name: "Reset" }).count()).toBe(0);
    await page
      .getByText(/operate/)
      .first()
      .waitFor();
    for (const path of ["/reset", "/handoff", "/human-replies", "/resume", "/retry"])
      expect([path, await answered(page, path)]).toMatchObject([path, { status: 403, code: "forbidden" }]);
  });

  test("a key whose right is taken away while the page is open: refused, and the page says so", async () => {
    const page = await signedIn(secrets.ops);
    await state(page, "resting").waitFor();
    // The cookie of a lesser key, as after signing in elsewhere in the same browser.
    await page.evaluate(async (key) => {
      await fetch("../v1/session", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ key }),
      });
    }, secrets.watch);
    await page.getByRole("button", { name: "Reset", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Reset" });
    await dialog.getByRole("button", { name: "Drop it and reset" }).click();
    await dialog.getByRole("alert").waitFor();
    expect(await dialog.getByRole("alert").textContent()).toMatch(/right|role/);
  });

  test("what an operator does is in the log under the key's name", async () => {
    const page = await signedIn(secrets.ops);
    await state(page, "resting").waitFor();
    await operate(page, "Reset", "Drop it and reset");
    await page
      .getByRole("region", { name: "Log", exact: true })
      .getByText(/by ada/)
      .first()
      .waitFor();
  });

  test("a key that may not see texts sees their lengths, on every page", async () => {
    const page = await signedIn(secrets.blind);
    await state(page, "resting").waitFor();
    await page
      .getByText(/⟨\d+ characters⟩/)
      .first()
      .waitFor();
    const conversation = await page.content();
    await page.getByRole("link", { name: "Conversations" }).first().click();
    await page.getByRole("heading", { name: "Conversations" }).waitFor();
    for (const html of [conversation, await page.content()]) {
      expect(html).not.toContain("a secret text");
      expect(html).not.toContain("grace");
    }
  });

  test("signed out, the page shows nothing any more", async () => {
    const page = await signedIn(secrets.ops);
    await state(page, "resting").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Key").waitFor();
    expect(await page.content()).not.toContain("a secret text");
    expect((await page.context().cookies()).map(({ name }) => name)).toEqual([]);
  });

  test.each([false, true])("signing in: axe finds nothing (dark: %s)", async (dark) => {
    const page = await chromium.open(pageOf(one, "web:keyed"), { dark, expected });
    await page.getByLabel("Key").waitFor();
    expect(await violations(page)).toEqual([]);
  });
});

describe.each([
  { dark: false, width: 1280 },
  { dark: true, width: 1280 },
  { dark: false, width: 390 },
  { dark: true, width: 390 },
])("axe finds nothing: %o", (look) => {
  async function isGood(page: Page) {
    expect(await violations(page)).toEqual([]);
    const { scroll, client } = await page.evaluate(() => ({
      scroll: document.documentElement.scrollWidth,
      client: document.documentElement.clientWidth,
    }));
    expect(scroll, "nothing sticks out sideways").toBeLessThanOrEqual(client);
  }

  test("lists, full and empty", async () => {
    await interrupted(scene, server, "web:axe");
    const page = await chromium.open(`${server.url}/inspector/`, look);
    await page
      .getByRole("link", { name: /web:axe/ })
      .first()
      .waitFor();
    await isGood(page);
    await page.goto(`${server.url}/inspector/#/?prefix=nobody`);
    await expect.poll(() => page.getByRole("link", { name: /^web:/ }).count()).toBe(0);
    await isGood(page);
  });

  test("a conversation: answered, an entry chosen, an act asked for", async () => {
    await interrupted(scene, server, "web:axe");
    const page = await chromium.open(pageOf(server, "web:axe"), look);
    await timeline(page).locator('[data-kind="reply"]').first().waitFor();
    await isGood(page);
    await page.getByRole("region", { name: "Log", exact: true }).getByText("attempt").first().click();
    await timeline(page).locator(".facts strong").waitFor();
    await isGood(page);
    for (const name of ["Hand off", "Answer as a human", "Reset"]) {
      await page.getByRole("button", { name, exact: true }).click();
      await page.getByRole("dialog", { name }).waitFor();
      await isGood(page);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
  });

  test("a conversation that is waiting, answering and handed off; one that does not exist", async () => {
    const id = `web:axe-live-${look.dark}-${look.width}`;
    await write(server, id, "hi", { text: "anybody?", quietMs: 45_000 });
    const page = await chromium.open(pageOf(server, id), { ...look, expected: [/status of 404/] });
    await timeline(page).locator("[data-kind]").first().waitFor();
    await isGood(page);
    await act(server, id, "/handoff", { forMs: 60_000 });
    await state(page, "handed off").waitFor();
    await isGood(page);
    await page.goto(pageOf(server, "web:nobody"));
    await page.getByRole("alert").waitFor();
    await isGood(page);
  });

  test("health", async () => {
    const page = await chromium.open(`${server.url}/inspector/#/health`, look);
    await page.getByRole("heading", { name: "Health" }).waitFor();
    await page.locator("main canvas, main svg").first().waitFor();
    await isGood(page);
  });
});
