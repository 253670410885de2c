// The server on chat platforms: real adapters, signed webhooks, platforms on loopback.
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { able } from "../../../scripts/channel-gates.mjs";
import {
  type Name,
  names,
  type Person,
  type Platforms,
  type Post,
  person,
  startPlatforms,
} from "../../lull/test/channels/person.ts";
import { temporaryFolder } from "../../lull/test/stores/database.ts";
import { channelsOn } from "../src/channels/adapters.ts";
import { ConfigError, loadConfig } from "../src/config.ts";
import { silent } from "../src/log.ts";
import { createServer } from "../src/server.ts";
import { channelSettings } from "./support/channels.ts";

let platforms: Platforms;
beforeEach(async () => {
  platforms = await startPlatforms();
  for (const [name, value] of Object.entries(channelSettings(platforms))) vi.stubEnv(name, value);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await platforms.close();
});

async function serve(flags: Record<string, string> = {}) {
  const folder = temporaryFolder();
  const { config } = await loadConfig({
    env: {},
    cwd: import.meta.dirname,
    flags: {
      port: "0",
      store: `sqlite:${folder.path("lull.db")}`,
      quietMs: "250",
      startMs: "100",
      scanMs: "50",
      demoMs: "50",
      ...flags,
    },
  });
  const server = await createServer(config, silent);
  onTestFinished(async () => {
    await server.stop();
    folder.remove();
  });
  return { server, hook: (name: Name) => `${server.url}/channels/${name}` };
}

const says = (name: Name, id: number, text: string) => person(name, platforms).says(id, text);
const shown = (double: Person["double"], count = 1) =>
  vi.waitFor(() => expect(double.texts().length).toBeGreaterThanOrEqual(count), 15_000);
const answer = (...texts: string[]) => texts.map((text, at) => `${at + 1}. ${text}`).join("\n");

describe("channels", () => {
  test("are named with their webhooks", async () => {
    const { server } = await serve();
    expect(server.channels.map(({ title, url }) => [title, new URL(url).pathname])).toEqual([
      ["Telegram", "/channels/telegram"],
      ["Slack", "/channels/slack"],
      ["WhatsApp", "/channels/whatsapp"],
      ["Discord", "/channels/discord"],
    ]);
  });

  /** Nothing is answered before `flush`, however slow the machine is. */
  const patient = { quietMs: "40000", startMs: "40000" };
  async function flush({ lull }: Awaited<ReturnType<typeof createServer>>): Promise<void> {
    for (const { id } of (await lull.list()).conversations) await lull.flush(id);
  }

  /** Everything is delivered and acknowledged, in this order. */
  async function delivers(name: Name, to: string, ...posts: Post[]): Promise<void> {
    const { double } = person(name, platforms);
    for (const post of posts) expect((await double.deliver(post, to)).at(-1)).toBe(200);
  }
  const state = (server: Awaited<ReturnType<typeof createServer>>, wanted: string) =>
    vi.waitFor(async () => expect((await server.lull.list()).conversations[0]?.state).toBe(wanted), 15_000);

  test.each(able("burst"))("%s: a burst, a repetition and a message in generation are one reply", async (name) => {
    const { server, hook } = await serve({ ...patient, startMs: "0", demoMs: "10" });
    const { double, says } = person(name, platforms);
    const first = says(1, "hi");
    await delivers(name, hook(name), first, says(2, "my order is late"), first);
    // An answer to the two is made, and waits for the person to be quiet.
    await state(server, "answering");
    await delivers(name, hook(name), says(3, "#1234"));
    await flush(server);
    await shown(double);
    await sleep(400);
    expect(double.texts().length).toBe(1);
    expect(double.texts()[0]).toContain(answer("hi", "my order is late", "#1234"));
  });

  test.each(able("refusal"))("%s: 429 is tried later, once", async (name) => {
    const { hook } = await serve();
    const { double, says } = person(name, platforms);
    double.mood({ status: 429, retryAfterS: 1 });
    await delivers(name, hook(name), says(1, "hi"));
    await shown(double);
    await sleep(400);
    expect(double.texts().length).toBe(1);
    expect(double.texts()[0]).toContain(answer("hi"));
  });

  test.each(able("edit"))("%s: an edit in the window changes the question", async (name) => {
    const { server, hook } = await serve(patient);
    const { double, says, edits } = person(name, platforms);
    await delivers(name, hook(name), says(1, "order 12"), edits(1, "order 13", "order 12"));
    await flush(server);
    await shown(double);
    await sleep(300);
    expect(double.texts().length).toBe(1);
    expect(double.texts()[0]).toContain("order 13 (edited)");
    expect(double.texts()[0]).not.toContain("order 12");
  });

  test.each(able("deletion"))("%s: what is deleted in the window is not answered", async (name) => {
    const { server, hook } = await serve(patient);
    const { double, says, deletes } = person(name, platforms);
    await delivers(name, hook(name), says(1, "wrong window"), says(2, "my order is late"), deletes(1, "wrong window"));
    await flush(server);
    await shown(double);
    // All that is left.
    await delivers(name, hook(name), says(3, "and this"), deletes(3, "and this"));
    await state(server, "resting");
    expect(double.texts().length).toBe(1);
    expect(double.texts()[0]).toContain("my order is late");
    expect(double.texts()[0]).not.toContain("wrong window");
  });

  test.each(able("album"))("%s: an album is one turn", async (name) => {
    const { server, hook } = await serve(patient);
    const { double, sendsAlbum } = person(name, platforms);
    await delivers(name, hook(name), ...sendsAlbum(1, "what are these?", ["p1", "p2"]));
    const [conversation] = (await server.lull.list()).conversations;
    const entries = await server.lull.log(conversation?.id ?? "");
    const parts = entries.flatMap((entry) => (entry.kind === "message" ? entry.parts : []));
    expect(parts.filter(({ type }) => type === "file").length).toBe(2);
    await flush(server);
    await shown(double);
    await sleep(300);
    expect(double.texts().length).toBe(1);
    expect(double.texts()[0]).toContain("what are these?");
  });

  test.each(able("stop"))("%s: a stop word ends the answer at once", async (name) => {
    const { server, hook } = await serve({ ...patient, startMs: "0", demoMs: "60000", stopWords: "stop" });
    const { double, says } = person(name, platforms);
    await delivers(name, hook(name), says(1, "tell me everything"));
    await state(server, "answering");
    await delivers(name, hook(name), says(2, "Stop"));
    // Nobody had to wait for a window, or for the model.
    await state(server, "resting");
    expect(double.texts()).toEqual([]);
  });

  test.each(names)("%s: a forged webhook is refused", async (name) => {
    const { server, hook } = await serve();
    const { headers, ...post } = says(name, 1, "hi")(0);
    const forged = Object.fromEntries(
      Object.entries(headers).map(([header, value]) => [
        header,
        /token|signature/.test(header) ? value.replace(/.$/, "x") : value,
      ]),
    );
    expect((await fetch(hook(name), { ...post, headers: forged })).status).toBe(401);
    expect((await server.lull.stats()).conversations).toBe(0);
  });

  test("one of several messages in one webhook of WhatsApp is not lost", async () => {
    const { server, hook } = await serve(patient);
    const { whatsapp } = platforms;
    const from = "15551234567";
    const post = whatsapp.message({ from, id: "w1", text: "one" }, { from, id: "w2", text: "two" });
    await whatsapp.deliver(post, hook("whatsapp"));
    await flush(server);
    await shown(whatsapp);
    await sleep(300);
    expect(whatsapp.texts().length).toBe(1);
    expect(whatsapp.texts()[0]).toContain(answer("one", "two"));
    // What became of it is no input.
    const [message] = whatsapp.screen;
    if (message !== undefined) await whatsapp.deliver(whatsapp.status(message, "delivered"), hook("whatsapp"));
    await sleep(400);
    expect(whatsapp.texts().length).toBe(1);
  });

  test("WhatsApp's challenge is answered, with the right word only", async () => {
    const { hook } = await serve();
    const ask = (word: string) =>
      fetch(`${hook("whatsapp")}?hub.mode=subscribe&hub.verify_token=${word}&hub.challenge=4711`);
    expect(await (await ask("whatsapp-verify")).text()).toBe("4711");
    expect((await ask("wrong")).status).toBe(403);
  });

  test("the server's own HTTP goes on beside the platforms", async () => {
    const { server, hook } = await serve();
    const { telegram } = platforms;
    telegram.mood({ status: 429, retryAfterS: 1 });
    await telegram.deliver(says("telegram", 1, "hi"), hook("telegram"));
    const response = await fetch(`${server.url}/v1/messages?wait=10`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ conversation: "web", text: "hello", address: { channel: "telegram-like" } }),
    });
    expect(JSON.stringify(await response.json())).toContain("1. hello");
    await shown(telegram);
  });

  test("in a group only what mentions the bot is answered", async () => {
    const { server, hook } = await serve(patient);
    const { telegram } = platforms;
    const group = { chat: -100, from: 7, inGroup: true };
    await telegram.deliver(telegram.message({ ...group, id: 1, text: "anybody here?" }), hook("telegram"));
    await telegram.deliver(telegram.message({ ...group, id: 2, text: "@bot hi" }), hook("telegram"));
    await telegram.deliver(telegram.message({ ...group, id: 3, text: "and this" }), hook("telegram"));
    await flush(server);
    await shown(telegram);
    await sleep(400);
    expect(telegram.texts().length).toBe(1);
    expect(telegram.texts()[0]).toContain(answer("@bot hi", "and this"));
  });

  test("longer answers than the platform takes are cut, in order", async () => {
    const { server, hook } = await serve(patient);
    const { discord } = platforms;
    // The demo quotes 200 characters of each message.
    for (let id = 1; id <= 9; id++) await discord.deliver(says("discord", id, `${id}`.repeat(230)), hook("discord"));
    await discord.deliver(
      discord.message({ channel: "420000000000000000", id: "500000000000000010", content: "0".repeat(230) }),
      hook("discord"),
    );
    await flush(server);
    await shown(discord, 2);
    expect(discord.texts().every(({ length }) => length <= 2_000)).toBe(true);
    expect(discord.texts().join("\n")).toContain("10. 000");
  });
});

describe("what switches channels on", () => {
  const problems = (wanted: string[], env: Record<string, string>) => {
    try {
      return channelsOn(wanted, env);
    } catch (error) {
      return error instanceof ConfigError ? error.problems : error;
    }
  };

  test("their adapters' variables; what checks signatures must be there", () => {
    expect(problems([], {})).toEqual([]);
    expect(problems([], { TELEGRAM_BOT_TOKEN: "t", TELEGRAM_WEBHOOK_SECRET_TOKEN: "s" })).toEqual(["telegram"]);
    expect(problems([], { TELEGRAM_BOT_TOKEN: "t", SLACK_BOT_TOKEN: "s" })).toEqual([
      expect.stringContaining("needs TELEGRAM_WEBHOOK_SECRET_TOKEN, a secret of your own"),
      expect.stringContaining("needs SLACK_SIGNING_SECRET"),
    ]);
  });

  test("or the setting", () => {
    expect(problems(["none"], { TELEGRAM_BOT_TOKEN: "t" })).toEqual([]);
    expect(problems(["telegramm"], {})).toEqual([expect.stringContaining("not one of telegram, slack")]);
    expect(problems(["discord"], {})).toEqual(["channels: discord needs DISCORD_BOT_TOKEN."]);
    expect(problems(["none", "slack"], {})).toContain("channels: none excludes all others.");
  });
});
