// The server on chat platforms: real adapters, signed webhooks, platforms on loopback.
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "lull";
import {
  discordDouble,
  type PlatformDouble,
  slackDouble,
  telegramDouble,
  type WebhookPost,
  whatsappDouble,
} from "lull/testing";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { channelsOn } from "../src/channels/adapters.ts";
import { ConfigError, loadConfig } from "../src/config.ts";
import { silent } from "../src/log.ts";
import { createServer } from "../src/server.ts";

const clock = systemClock();
const names = ["telegram", "slack", "whatsapp", "discord"] as const;
type Name = (typeof names)[number];

let platforms: {
  telegram: Awaited<ReturnType<typeof telegramDouble>>;
  slack: Awaited<ReturnType<typeof slackDouble>>;
  whatsapp: Awaited<ReturnType<typeof whatsappDouble>>;
  discord: Awaited<ReturnType<typeof discordDouble>>;
};
beforeEach(async () => {
  platforms = {
    telegram: await telegramDouble({ clock }),
    slack: await slackDouble({ clock }),
    whatsapp: await whatsappDouble({ clock }),
    discord: await discordDouble({ clock }),
  };
  const { telegram, slack, whatsapp, discord } = platforms;
  for (const [name, value] of Object.entries({
    TELEGRAM_BOT_TOKEN: telegram.token,
    TELEGRAM_WEBHOOK_SECRET_TOKEN: telegram.secretToken,
    TELEGRAM_API_BASE_URL: telegram.url,
    SLACK_BOT_TOKEN: slack.token,
    SLACK_SIGNING_SECRET: slack.signingSecret,
    SLACK_API_URL: `${slack.url}/api/`,
    WHATSAPP_ACCESS_TOKEN: whatsapp.accessToken,
    WHATSAPP_APP_SECRET: whatsapp.appSecret,
    WHATSAPP_PHONE_NUMBER_ID: whatsapp.phoneNumberId,
    WHATSAPP_VERIFY_TOKEN: whatsapp.verifyToken,
    WHATSAPP_API_URL: whatsapp.url,
    DISCORD_BOT_TOKEN: discord.botToken,
    DISCORD_PUBLIC_KEY: discord.publicKey,
    DISCORD_APPLICATION_ID: discord.applicationId,
    DISCORD_API_URL: discord.url,
  }))
    vi.stubEnv(name, value);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(Object.values(platforms).map((one) => one.close()));
});

async function serve(flags: Record<string, string> = {}) {
  const { config } = await loadConfig({
    env: {},
    cwd: import.meta.dirname,
    flags: { port: "0", store: "memory:", quietMs: "250", startMs: "100", scanMs: "50", demoMs: "50", ...flags },
  });
  const server = await createServer(config, silent);
  onTestFinished(() => server.stop());
  return { server, hook: (name: Name) => `${server.url}/channels/${name}` };
}

function says(name: Name, id: number, text: string): (nth: number) => WebhookPost {
  switch (name) {
    case "telegram":
      return platforms.telegram.message({ chat: 42, id, text });
    case "slack":
      return platforms.slack.message({ channel: "D42", ts: `1750000000.00000${id}`, text });
    case "whatsapp":
      return platforms.whatsapp.message({ from: "15551234567", id: `wamid.in.${id}`, text });
    case "discord":
      return platforms.discord.message({ channel: "420000000000000000", id: `50000000000000000${id}`, content: text });
  }
}
const shown = (double: PlatformDouble, count = 1) =>
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

  test.each(names)("%s: a burst, a repetition and a message in generation are one reply", async (name) => {
    const { server, hook } = await serve({ ...patient, startMs: "0", demoMs: "10" });
    const double: PlatformDouble = platforms[name];
    const delivered = async (post: (nth: number) => WebhookPost) =>
      expect((await double.deliver(post, hook(name))).at(-1)).toBe(200);
    const first = says(name, 1, "hi");
    await delivered(first);
    await delivered(says(name, 2, "my order is late"));
    await delivered(first);
    // An answer to the two is made, and waits for the person to be quiet.
    await vi.waitFor(async () => expect((await server.lull.list()).conversations[0]?.state).toBe("answering"), 15_000);
    await delivered(says(name, 3, "#1234"));
    await flush(server);
    await shown(double);
    await sleep(400);
    expect(double.texts().length).toBe(1);
    expect(double.texts()[0]).toContain(answer("hi", "my order is late", "#1234"));
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

  test("429 is tried later, once; the server's own HTTP goes on beside the platforms", async () => {
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
    await sleep(200);
    expect(telegram.texts().length).toBe(1);
  });

  test("an album is one turn; an edit in the window changes the question", async () => {
    const { server, hook } = await serve(patient);
    const { telegram } = platforms;
    await telegram.deliver(
      telegram.message({ chat: 1, id: 1, photo: "p1", group: "g", text: "these" }),
      hook("telegram"),
    );
    await telegram.deliver(telegram.message({ chat: 1, id: 2, photo: "p2", group: "g" }), hook("telegram"));
    await telegram.deliver(telegram.message({ chat: 2, id: 1, text: "order 12" }), hook("telegram"));
    await telegram.deliver(
      telegram.edited({ chat: 2, id: 1, text: "order 13", editedAtS: 1_750_000_000 }),
      hook("telegram"),
    );
    await flush(server);
    await shown(telegram, 2);
    await sleep(300);
    expect(telegram.texts("1").length).toBe(1);
    expect(telegram.texts("1")[0]).toContain("2 messages, read together");
    expect(telegram.texts("2")[0]).toContain("order 13 (edited)");
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
