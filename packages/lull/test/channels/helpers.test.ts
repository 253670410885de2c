// The helpers for grammY, Bolt and discord.js: short, type-checked, and run with the real libraries on doubles.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { App, HTTPReceiver, LogLevel } from "@slack/bolt";
import { Client, Events, GatewayIntentBits, REST } from "discord.js";
import { Bot, webhookCallback } from "grammy";
import { type Lull, memory, systemClock, type Turn } from "lull";
import { discordDouble, type PlatformDouble, slackDouble, telegramDouble } from "lull/testing";
import { expect, it, onTestFinished } from "vitest";
import { lullFor as withBolt } from "../../../../examples/bolt/lull.ts";
import { lullFor as withDiscord } from "../../../../examples/discord.js/lull.ts";
import { lullFor as withGrammy } from "../../../../examples/grammy/lull.ts";

const clock = systemClock();
const sleep = (ms: number) => clock.sleep(ms);

const options = () => ({
  store: memory(),
  debounce: { quietMs: 500, startMs: 200 },
  deliverBackoff: { firstMs: 50 },
  scanMs: 100,
  respond: async (turn: Turn) => {
    await clock.sleep(100, turn.signal);
    return `re: ${turn.text.replaceAll("\n", "+")}`;
  },
});

async function shown(double: PlatformDouble, count = 1): Promise<void> {
  for (const endMs = clock.now() + 15_000; double.texts().length < count; await sleep(20))
    if (clock.now() > endMs) throw new Error(`still ${JSON.stringify(double.texts())}`);
}

async function run(lull: Lull, double: PlatformDouble, close: () => Promise<unknown> = async () => {}): Promise<void> {
  await lull.start();
  onTestFinished(async () => {
    await lull.stop({ timeoutMs: 0 });
    await close();
    await double.close();
  });
}

it.each(["grammy", "bolt", "discord.js"])("the helper for %s has at most 60 lines", (name) => {
  const path = fileURLToPath(new URL(`../../../../examples/${name}/lull.ts`, import.meta.url));
  expect(readFileSync(path, "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(60);
});

it("grammY: a burst, a repetition, an edit, 429 and a group", async () => {
  const telegram = await telegramDouble({ clock });
  const bot = new Bot(telegram.token, { client: { apiRoot: telegram.url } });
  const lull = withGrammy(bot, options());
  await run(lull, telegram);
  await bot.init();
  const handle = webhookCallback(bot, "std/http", { secretToken: telegram.secretToken });
  telegram.mood({ status: 429, retryAfterS: 1 });
  const first = telegram.message({ chat: 42, id: 1, text: "hi" });
  for (const post of [
    first,
    telegram.message({ chat: 42, id: 2, text: "order 12" }),
    first,
    telegram.edited({ chat: 42, id: 2, text: "order 13", editedAtS: 1_750_000_000 }),
    telegram.message({ chat: -7, id: 1, from: 5, inGroup: true, text: "anybody?" }),
  ])
    expect(await telegram.deliver(post, handle)).toEqual([200]);
  await shown(telegram);
  await sleep(700);
  expect(telegram.texts()).toEqual(["re: hi+order 13"]);
});

it("grammY: what cannot be stored is not acknowledged", async () => {
  const telegram = await telegramDouble({ clock });
  const bot = new Bot(telegram.token, { client: { apiRoot: telegram.url } });
  const store = {
    ...memory(),
    exchange: () => Promise.reject(Object.assign(new Error("no"), { code: "store-damaged" })),
  };
  const lull = withGrammy(bot, { ...options(), store });
  onTestFinished(() => telegram.close());
  await bot.init();
  const receive = lull.receive.bind(lull);
  lull.receive = ((...given: Parameters<typeof receive>) =>
    Promise.race([receive(...given), sleep(50).then(() => Promise.reject(new Error("down")))])) as typeof lull.receive;
  const handle = webhookCallback(bot, "std/http", { secretToken: telegram.secretToken });
  const post = telegram.message({ chat: 42, id: 1, text: "hi" })();
  await expect(handle(new Request("http://bot.test", post))).rejects.toThrow();
});

it("Bolt: a burst, an edit, a deletion, an echo; a part in doubt is found, not sent again", async () => {
  const slack = await slackDouble({ clock });
  const receiver = new HTTPReceiver({
    signingSecret: slack.signingSecret,
    processBeforeResponse: true,
    logLevel: LogLevel.ERROR,
  });
  const app = new App({
    token: slack.token,
    receiver,
    logLevel: LogLevel.ERROR,
    clientOptions: { slackApiUrl: `${slack.url}/api/`, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true },
  });
  const lull = withBolt(app, options());
  const server = createServer((request, response) => receiver.requestListener(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const hook = `http://127.0.0.1:${port}/slack/events`;
  await run(lull, slack, () => new Promise((resolve) => server.close(resolve)));
  slack.mood("shown, answer lost");
  const said = (id: number, text: string) => ({ channel: "D42", ts: `1750000000.00000${id}`, text });
  for (const post of [
    slack.message(said(1, "hi")),
    slack.message(said(2, "order 12")),
    slack.message(said(3, "wrong window")),
    slack.edited({ ...said(2, "order 13"), before: "order 12" }),
    slack.deleted(said(3, "wrong window")),
    slack.message({ channel: "C1", ts: "1750000000.000009", text: "anybody?" }),
  ])
    expect((await slack.deliver(post, hook)).at(-1)).toBe(200);
  await shown(slack);
  const [message] = slack.screen;
  if (message !== undefined) await slack.deliver(slack.echo(message), hook);
  await sleep(1_000);
  expect(slack.texts()).toEqual(["re: hi+order 13"]);
  expect((await lull.get("slack:D42"))?.state).toBe("resting");
});

it("discord.js: a burst, an edit, a preview; a part in doubt is sent again and shown once", async () => {
  const discord = await discordDouble({ clock });
  const rest = new REST({ api: discord.url, version: "", retries: 0, rejectOnRateLimit: () => true }).setToken("token");
  const client = new Client({ intents: [GatewayIntentBits.DirectMessages] });
  const lull = withDiscord(client, rest, options());
  await run(lull, discord, () => client.destroy());
  discord.mood("shown, answer lost", { status: 429, retryAfterS: 1 });
  // As the library hands them over; a gateway cannot be had here.
  const said = (id: string, content: string, more: object = {}) => ({
    id,
    content,
    channelId: "420000000000000000",
    guildId: null,
    author: { id: "400000000000000001", bot: false },
    attachments: new Map(),
    mentions: { users: new Map() },
    createdTimestamp: clock.now(),
    editedTimestamp: null,
    ...more,
  });
  client.emit(Events.MessageCreate, said("1", "hi") as never);
  client.emit(Events.MessageCreate, said("2", "order 12") as never);
  await sleep(50);
  client.emit(
    Events.MessageUpdate,
    said("2", "order 12") as never,
    said("2", "order 13", { editedTimestamp: 7 }) as never,
  );
  client.emit(Events.MessageUpdate, said("1", "hi") as never, said("1", "hi") as never);
  await shown(discord);
  await sleep(2_500);
  expect(discord.texts()).toEqual(["re: hi+order 13"]);
  // Tried again: Discord gave the first one back.
  expect(discord.calls.filter(({ path }) => path.endsWith("/messages")).length).toBeGreaterThan(1);
  expect((await lull.get("discord:420000000000000000"))?.state).toBe("resting");
});
