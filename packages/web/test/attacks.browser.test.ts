/**
 * What users, bots, platforms and operators write is shown, never run: 40 known payloads in every field the pages show. The pages'
 * policy would stop most of them; it is switched off here, so that only the pages' own care is left.
 */
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { type OpenOptions, useChromium } from "./support/chromium.ts";
import { payloads } from "./support/payloads.ts";
import { act, call, write } from "./support/scenes.ts";
import { eventually, type Scene, type ServerProcess, useServers } from "./support/servers.ts";

const chromium = useChromium();
/** What an attempt does, how it fails, and what it answers are the model's to choose. */
const servers = useServers(
  {},
  {
    async model({ conversation, raw }) {
      const [, what = "", payload = ""] = /^(\w+):(.*)$/s.exec(conversation) ?? [];
      if (what !== "fails") return { body: { text: payload } };
      const turn = `/v1/turns/${(JSON.parse(raw) as { turn: { token: string } }).turn.token}`;
      await call(server, "PUT", `${turn}/effects/${encodeURIComponent(payload)}?wait=20`, { state: "begun" });
      await call(server, "PUT", `${turn}/effects/${encodeURIComponent(payload)}`, { state: "done", value: payload });
      await call(server, "POST", `${turn}/fail`, { error: payload });
      return { status: 202 };
    },
  },
);
let scene: Scene;
let server: ServerProcess;

/** Everything of one conversation is the payload: its own id too. */
const idOf = (payload: string) => payload.replaceAll("\0", "");

async function poison(payload: string): Promise<void> {
  const conversation = idOf(payload);
  const text = conversation;
  const file = { type: "file", mediaType: "text/plain", filename: text, ref: text };
  await write(server, conversation, {
    id: text,
    author: text,
    parts: [{ type: "text", text }, file, { type: "data", data: { [text]: text } }],
    metadata: { [text]: text },
    address: { [text]: text },
    replyTo: text,
    quietMs: 45_000,
  });
  await act(server, conversation, "/handoff", { by: text, forMs: 600_000 });
  await act(server, conversation, "/human-replies", { author: text, text });
  await act(server, conversation, "/reset", { by: text });
  // Waits for the hand-off's end, so that lists show something unanswered.
  await write(server, conversation, { id: `${text} again`, author: text, text });
}

beforeAll(async () => {
  scene = await servers.scene();
  server = await scene.start("one", {
    LULL_RESPOND: scene.program.model("one"),
    LULL_OWNER: payloads[10] ?? "",
    LULL_MAX_FAILURES: "1",
    LULL_QUIET_MS: "0",
    LULL_START_MS: "0",
  });
  for (const payload of payloads) await poison(payload);
});

/** `alert` is called by whatever was run here; in a frame of its own it opens a dialog, which is a complaint. */
async function open(path: string, options: OpenOptions = {}): Promise<{ page: Page; ran: () => Promise<number[]> }> {
  const page = await chromium.open(server.url + path, {
    ...options,
    bypassPolicy: true,
    prepare: (page) =>
      page.addInitScript(() => {
        const ran: number[] = [];
        Object.assign(window, { ran, alert: () => ran.push(1) });
      }),
  });
  return { page, ran: () => page.evaluate(() => (window as unknown as { ran: number[] }).ran) };
}

/** Nothing was run, nothing was made of what somebody wrote, and nothing leads anywhere but to the server's own pages. */
async function isClean(page: Page, ran: () => Promise<number[]>): Promise<void> {
  expect(await ran()).toEqual([]);
  const made = await page.evaluate(() => ({
    elements: Array.from(
      document.querySelectorAll(
        "body script, body iframe, body object, body embed, body base, body meta, body link, body math, body video, body audio, body marquee, body img:not(.brand img), svg script, svg a",
      ),
      (element) => element.outerHTML,
    ),
    handlers: Array.from(document.querySelectorAll("*")).flatMap((element) =>
      element
        .getAttributeNames()
        .filter((name) => /^on/i.test(name) || /^(srcdoc|xlink:href)$/i.test(name))
        .map((name) => `${element.tagName} ${name}`),
    ),
    links: Array.from(document.querySelectorAll<HTMLElement>("[href], [src], [action], [formaction]")).flatMap(
      (element) =>
        ["href", "src", "action", "formaction"]
          .map((name) => element.getAttribute(name))
          .filter((value) => value !== null)
          .map((value) => new URL(value, document.baseURI))
          .filter(({ origin }) => origin !== location.origin)
          .map(String),
    ),
  }));
  expect(made).toEqual({ elements: [], handlers: [], links: [] });
}

test("there are 40 payloads, and without care they do run", async () => {
  expect(payloads.length).toBeGreaterThanOrEqual(40);
  expect(new Set(payloads).size).toBe(payloads.length);
  const { page, ran } = await open("/inspector/", { expected: [/./] });
  await page.evaluate(async (all) => {
    for (const html of all) {
      const place = document.createElement("div");
      document.body.append(place);
      place.innerHTML = html;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }, payloads);
  await expect.poll(async () => (await ran()).length).toBeGreaterThanOrEqual(8);
});

test("in the list of conversations and its live events", async () => {
  const { page, ran } = await open("/inspector/");
  await page.locator("a.row").first().waitFor();
  await write(server, idOf(payloads[10] ?? ""), { text: payloads[10] ?? "", author: payloads[10] ?? "" });
  await page.locator(".feed li").first().waitFor();
  const rows = page.getByRole("region", { name: "Conversations" }).locator(".virtual, .list").first();
  for (const share of [0.25, 0.5, 0.75, 1]) {
    await rows.evaluate((node, to) => node.scrollTo(0, node.scrollHeight * to), share);
    await page.waitForTimeout(100);
    await isClean(page, ran);
  }
});

test("as filters in the address", async () => {
  // No state is called so, which the server says.
  const { page, ran } = await open("/inspector/", { expected: [/status of 400/] });
  for (const payload of payloads) {
    const query = new URLSearchParams({ prefix: payload.slice(0, 200), author: payload.slice(0, 200), state: payload });
    await page.evaluate((hash) => {
      location.hash = hash;
    }, `#/?${query}`);
    await page.getByRole("heading", { name: "Conversations" }).waitFor();
  }
  await isClean(page, ran);
});

test("as id, text, author, file name, metadata, address, and names of operators in a conversation", async () => {
  const { page, ran } = await open("/inspector/");
  for (const payload of payloads) {
    const id = idOf(payload);
    await page.evaluate(
      (hash) => {
        location.hash = hash;
      },
      `#/c/${encodeURIComponent(id)}?entry=1`,
    );
    await expect.poll(() => page.locator("h1").textContent()).toBe(id);
    await page.locator('[data-kind="handoff"], [data-kind="group"]').first().waitFor();
    await page.getByText("as it is stored").click();
    await page.locator(".raw pre").waitFor();
    await isClean(page, ran);
  }
});

test("as a model's answer, its error, an effect's key and value, and the name of the process", async () => {
  const { page, ran } = await open("/inspector/");
  for (const payload of [payloads[0], payloads[10], payloads[15], payloads[40]].map((each) => idOf(each ?? ""))) {
    for (const kind of ["fails", "answers"]) {
      const conversation = `${kind}:${payload}`;
      await write(server, conversation, "hi");
      await eventually(`an end of ${conversation}`, async () => {
        const { state } = await scene.get(server, `/v1/conversations/${encodeURIComponent(conversation)}`);
        return state === "parked" || state === "resting" ? true : null;
      });
      await page.evaluate(
        (hash) => {
          location.hash = hash;
        },
        `#/c/${encodeURIComponent(conversation)}`,
      );
      await expect.poll(() => page.locator("h1").textContent()).toBe(conversation);
      await page.getByRole("region", { name: "Timeline" }).locator("[data-kind]").first().waitFor();
      for (const one of await page.locator("svg [data-kind]").all()) await one.hover({ force: true });
      await isClean(page, ran);
    }
  }
});

test("in the playground: typed, as the conversation's name, from elsewhere, and from a human", async () => {
  const { page, ran } = await open("/");
  for (const payload of payloads) {
    await page.getByLabel("Message to both bots").fill(payload.replaceAll("\0", ""));
    await page.getByRole("button", { name: "Send" }).click();
  }
  await expect.poll(() => page.locator(".naive .said.you").count()).toBe(payloads.length);
  await isClean(page, ran);
  for (const payload of payloads.slice(0, 12)) {
    await page.goto(`${server.url}/#${encodeURIComponent(idOf(payload))}`);
    await page.reload();
    await page.getByRole("log", { name: "Chat with lull" }).locator(".said.human").first().waitFor();
    await isClean(page, ran);
  }
});
