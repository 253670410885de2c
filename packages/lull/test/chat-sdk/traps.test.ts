// What goes wrong when a Chat SDK bot is made durable from outside, each with its test. The numbers are those of
// docs/chat-sdk.md.
import { createSlackAdapter } from "@chat-adapter/slack";
import { type Adapter, Card, CardText, Chat } from "chat";
import { inputsOf, LullError, memory, systemClock } from "lull";
import { mergeConversations } from "lull/channels";
import { withLull } from "lull/chat-sdk";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  all,
  flush,
  memoryState,
  type Platforms,
  patient,
  person,
  plainBot,
  quiet,
  type Running,
  sleep,
  startBot,
  startPlatforms,
  until,
} from "./support.ts";

let platforms: Platforms;
let running: { stop(): Promise<void> }[] = [];
beforeEach(async () => {
  platforms = await startPlatforms();
});
afterEach(async () => {
  await Promise.all(running.map((one) => one.stop()));
  running = [];
  await platforms.close();
});
async function start(...given: Parameters<typeof startBot>): Promise<Running> {
  const one = await startBot(...given);
  running.push(one);
  return one;
}
const shown = (texts: () => string[], count = 1) => until(texts, ({ length }) => length >= count);

describe("1, claims before the message is stored", () => {
  it("what one process claimed and could not store, another process takes", async () => {
    const state = memoryState();
    const { telegram } = platforms;
    const working = memory();
    const broken = { ...working, exchange: () => Promise.reject(new LullError("store-damaged", "no")) };
    const [first, second] = [broken, working].map((store) => {
      const bot = plainBot(platforms, (thread) => thread.post("here I am"), state);
      const lull = withLull(bot, { store, debounce: { quietMs: 50 }, scanMs: 50 });
      running.push({ stop: () => bot.shutdown() });
      return { bot, lull };
    });
    await second?.lull.start();
    const update = telegram.message({ chat: 42, id: 1, text: "hi" });
    let nth = 0;
    const statuses = await telegram.deliver(
      update,
      (request) => {
        nth += 1;
        return (nth === 1 ? first : second)?.bot.webhooks.telegram(request) ?? Promise.reject();
      },
      { pace: 0.01 },
    );
    expect(statuses).toEqual([503, 200]);
    await shown(() => telegram.texts());
    expect(telegram.texts()).toEqual(["here I am"]);
  });

  it("the same id in two chats is two messages", async () => {
    const one = await start(platforms, memory());
    const { slack } = platforms;
    // Slack's ids are times, unique in a channel only.
    for (const channel of ["D1", "D2"])
      await slack.deliver(slack.message({ channel, ts: "1750000000.000001", text: "hi" }), one.hook("slack"));
    await shown(() => slack.texts(), 2);
    expect([slack.texts("D1"), slack.texts("D2")]).toEqual([["re: hi"], ["re: hi"]]);
  });
});

describe("2, adapters that pass no options on", () => {
  it("discord: an error while storing reaches the webhook's answer all the same", async () => {
    const { says } = person("discord", platforms);
    const store = memory();
    const one = await start(platforms, {
      ...store,
      exchange: () => Promise.reject(new LullError("store-damaged", "the record is damaged")),
    });
    const response = await one.hook("discord")(new Request("http://bot.test", says(1, "hi")(0)));
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("5");
  });
});

describe("3, the web adapter posts only within its request", () => {
  it("is refused with what to do instead", () => {
    const bot = plainBot(platforms, async () => {});
    const web = new Proxy(bot.getAdapter("telegram"), {
      get: (target, name) => (name === "name" ? "web" : Reflect.get(target, name, target)),
    });
    const chat = new Chat({ adapters: { web }, state: memoryState(), userName: "bot", logger: quiet });
    expect(() => withLull(chat, { store: memory() })).toThrow(/web adapter can post only while its request is open/);
  });
});

describe("4, Slack in several workspaces", () => {
  it("answers with the token of the message's workspace, from a process that never saw the webhook", async () => {
    const state = memoryState();
    const { slack } = platforms;
    const store = memory();
    const make = () => {
      const adapter = createSlackAdapter({
        apiUrl: `${slack.url}/api/`,
        signingSecret: slack.signingSecret,
        clientId: "id",
        clientSecret: "secret",
        webClientOptions: { retryConfig: { retries: 0 } },
        logger: quiet,
      });
      const bot = new Chat({
        adapters: { slack: adapter as unknown as Adapter },
        state,
        userName: "bot",
        logger: quiet,
      });
      bot.onDirectMessage(async (thread, message, _channel, context) => {
        await thread.post(`re: ${all(message, context).join("+")}`);
      });
      const lull = withLull(bot, { store, debounce: { quietMs: 100, startMs: 0 }, scanMs: 50 });
      running.push({ stop: () => bot.shutdown() });
      return { bot, lull, adapter };
    };
    const receiver = make();
    const answerer = make();
    await receiver.bot.initialize();
    for (const team of ["T1", "T2"])
      await receiver.adapter.setInstallation(team, { botToken: `xoxb-${team}`, botUserId: "U0BOT", teamName: team });
    await answerer.lull.start();
    for (const [team, channel] of [
      ["T1", "D1"],
      ["T2", "D2"],
    ] as const)
      await slack.deliver(slack.message({ channel, team, ts: "1750000000.000001", text: "hi" }), (request) =>
        receiver.bot.webhooks.slack(request),
      );
    await shown(() => slack.texts(), 2);
    const tokens = slack.calls
      .filter(({ path }) => path.endsWith("chat.postMessage"))
      .map(({ headers, body }) => [body["channel"], headers["authorization"] ?? body["token"]]);
    expect(tokens.map(([channel, token]) => [channel, String(token).replace("Bearer ", "")]).sort()).toEqual([
      ["D1", "xoxb-T1"],
      ["D2", "xoxb-T2"],
    ]);
  });
});

describe("5, albums that an adapter collects in memory", () => {
  it("telegram: each photo is durable when its webhook is answered, and nobody waits a second for it", async () => {
    const one = await start(platforms, memory(), { idle: true });
    const { telegram } = platforms;
    const before = performance.now();
    await telegram.deliver(telegram.message({ chat: 42, id: 1, photo: "p1", group: "g" }), one.hook("telegram"));
    expect(performance.now() - before).toBeLessThan(900);
    const { conversations } = await one.lull.list();
    expect(conversations).toMatchObject([{ version: 1 }]);
  });
});

describe("6, no idempotency key", () => {
  it("a part in doubt is sent again, and both are the same reply", async () => {
    const one = await start(platforms, memory());
    const { says, double } = person("telegram", platforms);
    double.mood("shown, answer lost");
    await double.deliver(says(1, "hi"), one.hook("telegram"));
    await shown(() => double.texts(), 2);
    expect(double.texts()).toEqual(["re: hi", "re: hi"]);
    const [conversation] = (await one.lull.list()).conversations;
    const log = await one.lull.log(conversation?.id ?? "");
    expect(log.filter(({ kind }) => kind === "reply").length).toBe(1);
  });
});

describe("7, a lock for a whole chat", () => {
  it("telegram: topics of a forum are answered each in its place, and no message is dropped for another topic's", async () => {
    const one = await start(platforms, memory(), patient());
    const { telegram } = platforms;
    for (const [id, topic] of [
      [1, 11],
      [2, 12],
      [3, 13],
      [4, 11],
    ] as const)
      await telegram.deliver(
        telegram.message({ chat: -100, id, from: 7, inGroup: true, topic, text: `@bot m${id}` }),
        one.hook("telegram"),
      );
    await flush(one);
    await shown(() => telegram.texts(), 3);
    await sleep(300);
    const posts = telegram.calls
      .filter(({ path }) => path.includes("/send") && !path.endsWith("sendChatAction"))
      .map(({ body }) => [body["message_thread_id"], String(body["text"] ?? Object(body["rich_message"]).markdown)]);
    expect(posts.sort()).toEqual([
      [11, "re: @bot m1+@bot m4"],
      [12, "re: @bot m2"],
      [13, "re: @bot m3"],
    ]);
  });
});

describe("8, a package that moves fast", () => {
  it("a Chat that lacks what lull needs is refused, by name", () => {
    const bot = plainBot(platforms, async () => {});
    const other = new Proxy(bot, {
      get: (target, name) => (name === "rehydrateMessage" ? undefined : Reflect.get(target, name, target)),
    });
    expect(() => withLull(other, { store: memory() })).toThrow(/lacks rehydrateMessage: .*>=4\.41 <4\.42/);
  });

  it("a Chat that was used already is refused", async () => {
    const bot = plainBot(platforms, async () => {});
    await bot.initialize();
    expect(() => withLull(bot, { store: memory() })).toThrow(/before the Chat is initialized/);
    await bot.shutdown();
  });
});

describe("9, what a state adapter cannot see", () => {
  it("posting rejects when newer input came first, and the turn starts over with everything", async () => {
    const outcomes: string[] = [];
    let delivered = false;
    const started: string[] = [];
    const one = await start(platforms, memory(), {
      debounce: { quietMs: 0, startMs: 0 },
      async handler(thread, message, context) {
        const texts = all(message, context);
        started.push(texts.join("+"));
        // Deaf to the signal, as most handlers are; done when the second message is there.
        await until(
          () => delivered,
          (done) => done,
        );
        await thread.post(`re: ${texts.join("+")}`).then(
          () => outcomes.push("posted"),
          (error: unknown) => {
            outcomes.push(LullError.isInstance(error) ? error.code : String(error));
            throw error;
          },
        );
      },
    });
    const { says, double } = person("telegram", platforms);
    await double.deliver(says(1, "m1"), one.hook("telegram"));
    await until(
      () => started,
      (texts) => texts.includes("m1"),
    );
    await double.deliver(says(2, "m2"), one.hook("telegram"));
    delivered = true;
    await shown(() => double.texts());
    await sleep(200);
    expect(double.texts()).toEqual(["re: m1+m2"]);
    expect(outcomes).toEqual(["superseded", "posted"]);
  });

  it("a handler that throws loses nothing: the same messages are answered by the next attempt", async () => {
    let calls = 0;
    const one = await start(platforms, memory(), {
      backoff: { firstMs: 20 },
      async handler(thread, message, context) {
        calls += 1;
        if (calls === 1) throw new Error("the model is away");
        await thread.post(`re: ${all(message, context).join("+")}`);
      },
    });
    const { says, double } = person("telegram", platforms);
    await double.deliver(says(1, "m1"), one.hook("telegram"));
    await shown(() => double.texts());
    expect(double.texts()).toEqual(["re: m1"]);
  });

  it("fifteen messages in one window all reach the handler", async () => {
    const one = await start(platforms, memory(), patient());
    const { telegram } = platforms;
    for (let id = 1; id <= 15; id++)
      await telegram.deliver(telegram.message({ chat: 42, id, text: `m${id}` }), one.hook("telegram"));
    await flush(one);
    await shown(() => telegram.texts());
    await sleep(300);
    expect(telegram.texts()).toEqual([`re: ${Array.from({ length: 15 }, (_, at) => `m${at + 1}`).join("+")}`]);
  });
});

describe("handlers", () => {
  it("post several parts, a card, a stream, and edit what they posted", async () => {
    async function* stream() {
      for (const word of ["one", " two", " three"]) {
        await sleep(20);
        yield word;
      }
    }
    const one = await start(platforms, memory(), {
      async handler(thread) {
        const first = await thread.post("first");
        await first.edit("first, edited");
        await thread.post(Card({ title: "A card", children: [CardText("with text")] }));
        await thread.post(stream());
      },
    });
    const { says, double } = person("discord", platforms);
    await double.deliver(says(1, "hi"), one.hook("discord"));
    await shown(() => double.texts(), 3);
    const texts = double.texts();
    expect(texts[0]).toBe("first, edited");
    expect(texts[2]).toBe("one two three");
    const card = double.calls.find(({ body }) => Array.isArray(body["embeds"]) && body["embeds"].length > 0);
    expect(JSON.stringify(card?.body)).toContain("A card");
  });

  it("post more than a platform takes: cut in order, none lost", async () => {
    const words = Array.from({ length: 700 }, (_, at) => `word${at}`).join(" ");
    const one = await start(platforms, memory(), { handler: (thread) => thread.post(words) });
    const { says, double } = person("discord", platforms);
    await double.deliver(says(1, "hi"), one.hook("discord"));
    await shown(() => double.texts(), 3);
    await sleep(100);
    expect(double.texts().every(({ length }) => length <= 2_000)).toBe(true);
    expect(double.texts().join(" ")).toBe(words);
  });

  it("that post nothing end the turn in silence", async () => {
    const one = await start(platforms, memory(), { handler: async () => {} });
    const { says, double } = person("telegram", platforms);
    await double.deliver(says(1, "hi"), one.hook("telegram"));
    const states = await until(
      async () => (await one.lull.list()).conversations.map(({ state }) => state),
      ([state]) => state === "resting",
    );
    expect([states, double.texts()]).toEqual([["resting"], []]);
  });

  it("in a group: a mention opens the turn, what its author adds belongs to it, others disturb nobody", async () => {
    const one = await start(platforms, memory(), patient());
    const { telegram } = platforms;
    const says = (id: number, from: number, text: string) =>
      telegram.deliver(telegram.message({ chat: -100, id, from, inGroup: true, text }), one.hook("telegram"));
    await says(1, 8, "anybody here?");
    await says(2, 7, "@bot hi");
    await says(3, 7, "my order is late");
    await says(4, 8, "lol");
    await flush(one);
    await shown(() => telegram.texts());
    await sleep(300);
    expect(telegram.texts()).toEqual(["re: @bot hi+my order is late"]);
  });

  it("two ids of one person are one conversation where the scope says so", async () => {
    const alias: Record<string, string> = { "15550001": "ada", "99887766": "ada" };
    const one = await start(platforms, memory(), {
      scope: ({ author }) => `person ${alias[author] ?? author}`,
      ...patient(),
    });
    const { whatsapp } = platforms;
    for (const [from, id, text] of [
      ["15550001", "w1", "hi"],
      ["99887766", "w2", "it is me"],
    ] as const)
      await whatsapp.deliver(whatsapp.message({ from, id, text }), one.hook("whatsapp"));
    await flush(one);
    await shown(() => whatsapp.texts());
    await sleep(300);
    expect(whatsapp.texts()).toEqual(["re: hi+it is me"]);
  });

  it("two ids of one person that is learned of later: what waits is moved, and answered once with the rest", async () => {
    const alias: Record<string, string> = {};
    const one = await start(platforms, memory(), {
      scope: ({ author }) => `person ${alias[author] ?? author}`,
      ...patient(),
    });
    const { whatsapp } = platforms;
    const says = (from: string, id: string, text: string) =>
      whatsapp.deliver(whatsapp.message({ from, id, text }), one.hook("whatsapp"));
    await says("99887766", "w1", "hi");
    await says("15550001", "w2", "it is me");
    alias["99887766"] = "15550001";
    const merging = { inputsOf, clock: systemClock() };
    expect(await mergeConversations(one.lull, "person 99887766", "person 15550001", merging)).toEqual({ moved: 1 });
    await says("99887766", "w3", "again");
    // Delivered once more, it is where it was moved to.
    await says("99887766", "w1", "hi");
    await flush(one);
    await shown(() => whatsapp.texts());
    await sleep(300);
    expect(whatsapp.texts().length).toBe(1);
    expect(whatsapp.texts()[0]?.replace("re: ", "").split("+").sort()).toEqual(["again", "hi", "it is me"]);
  });
});
