// Adapters without a Chat, as the server uses them.
import { Lull, LullError, memory, type Store } from "lull";
import { hostAdapters } from "lull/chat-sdk";
import { afterEach, beforeEach, expect, it } from "vitest";
import { adaptersFor, memoryState, names, type Platforms, person, sleep, startPlatforms, until } from "./support.ts";

let platforms: Platforms;
let closing: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  platforms = await startPlatforms();
});
afterEach(async () => {
  for (const close of closing) await close();
  closing = [];
  await platforms.close();
});

async function start(store: Store) {
  const host = hostAdapters({ adapters: adaptersFor(platforms), state: memoryState(), lull: () => lull });
  const lull: Lull = new Lull({
    store,
    channels: host.channels,
    limits: { maxAddressBytes: 262_144 },
    debounce: { quietMs: 300, startMs: 100 },
    scanMs: 100,
    respond: (turn) => `re: ${turn.text.replaceAll("\n", "+")}`,
  });
  await lull.start();
  closing.push(() => lull.stop({ timeoutMs: 0 }), host.close);
  const hook = (name: string) => (request: Request) => host.webhook(name, request);
  return { host, lull, hook };
}

it("what could not be stored is not acknowledged on any platform, and its repetition is answered once", async () => {
  const store = memory();
  let down = true;
  const { hook } = await start({
    ...store,
    exchange: (write) => (down ? Promise.reject(new LullError("store-damaged", "no")) : store.exchange(write)),
  });
  const people = names.map((name) => ({ name, double: platforms[name], post: person(name, platforms).says(1, "hi") }));
  const round = (nth: number) =>
    Promise.all(
      people.map(async ({ name, post }) => (await hook(name)(new Request("http://bot.test", post(nth)))).status),
    );
  expect(await round(0)).toEqual([503, 503, 503, 503]);
  down = false;
  expect(await round(1)).toEqual([200, 200, 200, 200]);
  for (const { double } of people)
    await until(
      () => double.texts(),
      (texts) => texts.length > 0,
    );
  await sleep(300);
  expect(people.map(({ double }) => double.texts())).toEqual([["re: hi"], ["re: hi"], ["re: hi"], ["re: hi"]]);
});

it("a platform that was away at the start is asked again with its webhook", async () => {
  const adapters = adaptersFor(platforms);
  let tries = 0;
  const initialize = adapters.telegram.initialize.bind(adapters.telegram);
  adapters.telegram.initialize = (chat) => {
    tries += 1;
    return tries === 1 ? Promise.reject(new Error("away")) : initialize(chat);
  };
  const lull = new Lull({ store: memory() });
  const host = hostAdapters({ adapters: { telegram: adapters.telegram }, state: memoryState(), lull: () => lull });
  closing.push(host.close);
  const { telegram } = platforms;
  const update = telegram.message({ chat: 1, id: 1, text: "hi" });
  const statuses = await telegram.deliver(update, (request) => host.webhook("telegram", request), { pace: 0.01 });
  expect(statuses).toEqual([503, 200]);
  expect((await lull.stats()).conversations).toBe(1);
});

it("a channel that is not there is 404", async () => {
  const { host } = await start(memory());
  expect((await host.webhook("teams", new Request("http://bot.test", { method: "POST" }))).status).toBe(404);
});

it("slack: called into a thread, the bot goes on listening to whoever called it, there and nowhere else", async () => {
  const { hook } = await start(memory());
  const { slack } = platforms;
  const says = (ts: string, text: string, more: object = {}) =>
    slack.deliver(slack.message({ channel: "C1", ts, text, ...more }), hook("slack"));
  await says("1750000000.000001", "<@U0BOT> hi");
  await until(
    () => slack.texts(),
    (texts) => texts.length === 1,
  );
  await says("1750000000.000002", "and my order?", { thread: "1750000000.000001" });
  await says("1750000000.000003", "me too", { thread: "1750000000.000001", user: "U2" });
  await says("1750000000.000004", "anybody?");
  await until(
    () => slack.texts(),
    (texts) => texts.length > 1,
  );
  await sleep(600);
  expect(slack.texts().at(-1)).toBe("re: and my order?");
  expect(slack.texts().length).toBe(2);
});
