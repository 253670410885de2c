// The real adapters with signed payloads, through withLull. What has to work on every platform that can do it is in the
// table of docs/channels.md, which `able` is read from.
import { memory } from "lull";
import { virtualClock } from "lull/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { able } from "../../../../scripts/channel-gates.mjs";
import { sqlite } from "../../src/stores/sqlite/index.ts";
import { openDatabase } from "../stores/database.ts";
import {
  flush,
  type Name,
  names,
  type Platforms,
  patient,
  person,
  type Running,
  sleep,
  startBot,
  startPlatforms,
  until,
} from "./support.ts";

const stores = {
  memory: () => memory(),
  sqlite: () => sqlite(openDatabase(":memory:")),
};

let platforms: Platforms;
let running: Running[] = [];
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

describe.each(Object.entries(stores))("on %s", (_kind, makeStore) => {
  it.each(able("burst"))("%s: a burst, a repetition and a message in generation are one reply", async (name) => {
    const { says, double } = person(name, platforms);
    const one = await start(platforms, makeStore(), { modelMs: 10, ...patient(0) });
    const first = says(1, "hi");
    const delivered = async (post: typeof first) =>
      expect((await double.deliver(post, one.hook(name))).at(-1)).toBe(200);
    const seen = (count: number) =>
      until(
        () => one.calls.at(-1),
        (call) => call?.skipped.length === count - 1,
      );
    await delivered(first);
    await seen(1);
    // The model has answered, or is about to; nothing goes out before the person has been quiet.
    await delivered(says(2, "my order is late"));
    await seen(2);
    await delivered(first);
    await delivered(says(3, "#1234"));
    await seen(3);
    expect(double.texts()).toEqual([]);
    await flush(one);
    await until(
      () => double.texts(),
      (texts) => texts.length > 0,
    );
    await sleep(300);
    expect(double.texts()).toEqual(["re: hi+my order is late+#1234"]);
    expect(one.calls.at(-1)).toMatchObject({ text: "#1234", skipped: ["hi", "my order is late"] });
  });
});

describe("with platforms that refuse", () => {
  it.each(able("refusal"))("%s: 429 is tried later, once", async (name) => {
    const { says, double } = person(name, platforms);
    const one = await start(platforms, stores.sqlite());
    double.mood({ status: 429, retryAfterS: 1 });
    await double.deliver(says(1, "hi"), one.hook(name));
    const before = Date.now();
    await until(
      () => double.texts(),
      (texts) => texts.length > 0,
    );
    // The Graph API names no time: back-off.
    if (name !== "whatsapp") expect(Date.now() - before).toBeGreaterThan(900);
    await sleep(200);
    expect(double.texts()).toEqual(["re: hi"]);
  });

  it.each(names)("%s: a refusal for good ends the reply, and the next message is answered", async (name) => {
    const { says, double } = person(name, platforms);
    const one = await start(platforms, memory());
    double.mood({ status: 403 });
    await double.deliver(says(1, "hi"), one.hook(name));
    await until(
      async () => (await one.lull.stats()).parked,
      (parked) => parked === 1,
    );
    await double.deliver(says(2, "again"), one.hook(name));
    await until(
      () => double.texts(),
      (texts) => texts.length > 0,
    );
    expect(double.texts()).toEqual(["re: again"]);
  });

  it.each(names)("%s: an answer lost on its way back is sent again, or not, as its owner says", async (name) => {
    const { says, double } = person(name, platforms);
    const one = await start(platforms, memory(), { whenInDoubt: "at-most-once" });
    double.mood("shown, answer lost");
    await double.deliver(says(1, "hi"), one.hook(name));
    await until(
      async () => (await one.lull.list()).conversations.map(({ state }) => state),
      (states) => states[0] === "resting",
    );
    await sleep(200);
    expect(double.texts()).toEqual(["re: hi"]);
  });
});

describe("a store that fails", () => {
  it("what could not be stored is not acknowledged, and its repetition is answered", async () => {
    const store = stores.sqlite();
    let down = true;
    const one = await start(platforms, {
      ...store,
      exchange: (write) => (down ? Promise.reject(new Error("the disk is full")) : store.exchange(write)),
    });
    const first = new Set<Name>();
    const people = await Promise.all(
      able("write").map(async (name) => {
        const { says, double } = person(name, platforms);
        const post = says(1, "hi");
        const again: typeof post = (nth) => {
          if (nth > 0) first.add(name);
          // Everybody was refused once: the disk is mended.
          if (first.size === able("write").length) down = false;
          return post(nth);
        };
        return { double, statuses: await double.deliver(again, one.hook(name), { pace: 0.01 }) };
      }),
    );
    for (const { double, statuses } of people) {
      // 503, or nothing within the platform's patience: the store is asked for longer than some wait.
      expect([0, 503]).toContain(statuses[0]);
      expect(statuses.at(-1)).toBe(200);
      await until(
        () => double.texts(),
        (texts) => texts.length > 0,
      );
    }
    await sleep(300);
    expect(people.map(({ double }) => double.texts())).toEqual(people.map(() => ["re: hi"]));
  });

  it("discord: nobody delivers again, and whoever forwards the gateway is told that it was not stored", async () => {
    const store = stores.sqlite();
    let down = true;
    const one = await start(platforms, {
      ...store,
      exchange: (write) => (down ? Promise.reject(new Error("the disk is full")) : store.exchange(write)),
    });
    const { says, double } = person("discord", platforms);
    const post = says(1, "hi");
    expect((await one.hook("discord")(new Request("http://bot.test", post(0)))).status).toBe(503);
    down = false;
    expect(await double.deliver(post, one.hook("discord"))).toEqual([200]);
    await until(
      () => double.texts(),
      (texts) => texts.length > 0,
    );
    expect(double.texts()).toEqual(["re: hi"]);
  });
});

describe("edits, deletions, albums", () => {
  it.each(able("edit"))("%s: an edit in the window changes the question", async (name) => {
    const one = await start(platforms, stores.sqlite(), patient());
    const { says, edits, double } = person(name, platforms);
    const edit = edits(1, "order 13", "order 12");
    for (const post of [says(1, "order 12"), edit, edit])
      expect((await double.deliver(post, one.hook(name))).at(-1)).toBe(200);
    await flush(one);
    await until(
      () => double.texts(),
      (texts) => texts.length > 0,
    );
    await sleep(300);
    expect(double.texts()).toEqual(["re: order 13"]);
  });

  it.each(able("deletion"))("%s: what is deleted in the window is not answered", async (name) => {
    const one = await start(platforms, stores.sqlite(), patient());
    const { says, deletes, double } = person(name, platforms);
    for (const post of [says(1, "wrong window"), says(2, "my order is late"), deletes(1, "wrong window")])
      expect((await double.deliver(post, one.hook(name))).at(-1)).toBe(200);
    await flush(one);
    await until(
      () => double.texts(),
      (texts) => texts.length > 0,
    );
    // All that is left.
    expect((await double.deliver(says(3, "and this"), one.hook(name))).at(-1)).toBe(200);
    expect((await double.deliver(deletes(3, "and this"), one.hook(name))).at(-1)).toBe(200);
    await until(
      async () => (await one.lull.list()).conversations.map(({ state }) => state),
      ([state]) => state === "resting",
    );
    expect(double.texts()).toEqual(["re: my order is late"]);
  });

  it.each(able("album"))("%s: an album is one turn", async (name) => {
    const one = await start(platforms, stores.sqlite(), patient());
    const { sendsAlbum, double } = person(name, platforms);
    for (const post of sendsAlbum(1, "what are these?", ["p1", "p2"]))
      expect((await double.deliver(post, one.hook(name))).at(-1)).toBe(200);
    await flush(one);
    await until(
      () => double.texts(),
      (texts) => texts.length > 0,
    );
    await sleep(300);
    expect(double.texts().length).toBe(1);
    expect(double.texts()[0]).toContain("what are these?");
    const [call] = one.calls;
    const files = (await one.lull.list()).conversations.map(({ id }) => one.lull.log(id));
    const photos = (await Promise.all(files))
      .flat()
      .flatMap((entry) => (entry.kind === "message" ? entry.parts : []))
      .filter(({ type }) => type === "file");
    expect(photos.length).toBe(2);
    // Marked by the platform, they are one message of the handler's as well.
    if (name !== "whatsapp") expect(call?.message.attachments.length).toBe(2);
  });

  it("telegram: photos that come further apart than the window is long are one turn all the same", async () => {
    const virtual = virtualClock();
    const one = await start(platforms, memory({ now: virtual.now }), {
      clock: virtual,
      debounce: { quietMs: 200, startMs: 200 },
    });
    const { sendsAlbum, double } = person("telegram", platforms);
    for (const post of sendsAlbum(1, "what are these?", ["p1", "p2"])) {
      expect(await double.deliver(post, one.hook("telegram"))).toEqual([200]);
      await virtual.advance(1_400);
      expect(one.calls).toEqual([]);
    }
    await until(
      async () => {
        await virtual.advance(20);
        return double.texts();
      },
      (texts) => texts.length > 0,
    );
    expect(double.texts()).toEqual(["re: what are these?"]);
    expect(one.calls.map(({ message }) => message.attachments.length)).toEqual([2]);
  });

  it("telegram: an album is one message with all its photos, whichever process gets which", async () => {
    const store = memory();
    const one = await start(platforms, store, patient());
    const two = await start(platforms, store, patient());
    const { telegram } = platforms;
    const photo = (id: number, text?: string) =>
      telegram.message({ chat: 42, id, photo: `p${id}`, group: "g", ...(text !== undefined && { text }) });
    for (const [id, to] of [
      [1, one],
      [2, two],
      [3, one],
    ] as const)
      expect(await telegram.deliver(photo(id, id === 1 ? "what are these?" : undefined), to.hook("telegram"))).toEqual([
        200,
      ]);
    await flush(one);
    await until(
      () => telegram.texts(),
      (texts) => texts.length > 0,
    );
    expect(telegram.texts()).toEqual(["re: what are these?"]);
    const [call] = [...one.calls, ...two.calls];
    expect(call?.skipped).toEqual([]);
    expect(call?.message.attachments.map(({ fetchMetadata }) => fetchMetadata?.["fileId"])).toEqual(["p1", "p2", "p3"]);
    // Rehydrated: the closure that fetches the bytes is back, in whatever process.
    expect(call?.message.attachments.every(({ fetchData }) => typeof fetchData === "function")).toBe(true);
  });

  it("slack, discord: a preview is no edit, an echo no message", async () => {
    const one = await start(platforms, memory(), patient());
    const { slack, discord } = platforms;
    const said = { channel: "D42", ts: "1750000000.000001", text: "see https://example.org" };
    const told = { channel: "420000000000000000", id: "500000000000000001", content: "see https://example.org" };
    await slack.deliver(slack.message(said), one.hook("slack"));
    await discord.deliver(discord.message(told), one.hook("discord"));
    await discord.deliver(discord.edited({ ...told, preview: true }), one.hook("discord"));
    await flush(one);
    for (const double of [slack, discord])
      await until(
        () => double.texts(),
        (texts) => texts.length > 0,
      );
    for (const shown of slack.screen) await slack.deliver(slack.echo(shown), one.hook("slack"));
    await sleep(400);
    expect([slack.texts(), discord.texts()]).toEqual([
      ["re: see https://example.org"],
      ["re: see https://example.org"],
    ]);
    const states = (await one.lull.list()).conversations.map(({ version }) => version);
    expect([states, one.calls.length]).toEqual([[1, 1], 2]);
  });

  it("discord: in a server, an edit and a deletion reach the thread that the mention was given", async () => {
    const one = await start(platforms, memory(), patient());
    const { discord } = platforms;
    const mention = { channel: "610000000000000000", guild: "7", mentions: [discord.applicationId] };
    const says = (id: string, content: string) => ({ ...mention, id, content });
    const wrong = says("620000000000000001", "<@200000000000000001> order 12");
    const other = says("620000000000000002", "<@200000000000000001> never mind");
    for (const post of [
      discord.message(wrong),
      discord.edited({ ...wrong, content: "<@200000000000000001> order 13" }),
      discord.message(other),
      discord.deleted(other),
    ])
      expect(await discord.deliver(post, one.hook("discord"))).toEqual([200]);
    await flush(one);
    await until(
      () => discord.texts(),
      (texts) => texts.length > 0,
    );
    await sleep(300);
    expect(discord.texts().length).toBe(1);
    expect(discord.texts()[0]).toContain("order 13");
  });
});

describe("stop words", () => {
  it.each(able("stop"))("%s: a stop word ends the answer at once", async (name) => {
    const one = await start(platforms, stores.sqlite(), {
      ...patient(0),
      modelMs: 60_000,
      commands: { stop: ["stop"] },
    });
    const { says, double } = person(name, platforms);
    await double.deliver(says(1, "tell me everything"), one.hook(name));
    await until(
      () => one.calls,
      (calls) => calls.length === 1,
    );
    await double.deliver(says(2, "Stop"), one.hook(name));
    await until(
      () => one.calls[0]?.aborted,
      (aborted) => aborted === true,
    );
    // Nobody had to wait for a window.
    const states = await until(
      async () => (await one.lull.list()).conversations.map(({ state }) => state),
      ([state]) => state === "resting",
    );
    expect([states, one.calls.length, double.texts()]).toEqual([["resting"], 1, []]);
  });
});

describe("signatures", () => {
  it.each(names)("%s: a forged webhook is refused and nothing is stored", async (name) => {
    const { says } = person(name, platforms);
    const one = await start(platforms, memory());
    const { headers, ...post } = says(1, "hi")(0);
    const forged = Object.fromEntries(
      Object.entries(headers).map(([header, value]) => [
        header,
        /token|signature/.test(header) ? value.replace(/.$/, "x") : value,
      ]),
    );
    const response = await one.hook(name)(new Request("http://bot.test", { ...post, headers: forged }));
    expect(response.status).toBe(401);
    expect((await one.lull.stats()).conversations).toBe(0);
  });
});
