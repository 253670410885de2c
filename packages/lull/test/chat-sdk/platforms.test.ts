// The real adapters with signed payloads, through withLull, on the memory and the SQLite store.
import { memory } from "lull";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sqlite } from "../../src/stores/sqlite/index.ts";
import { openDatabase } from "../stores/database.ts";
import {
  flush,
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
  it.each(names)("%s: a burst, a repetition and a message in generation are one reply", async (name) => {
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
  it.each(names)("%s: 429 is tried later, once", async (name) => {
    const { says, double } = person(name, platforms);
    const one = await start(platforms, memory());
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
    const store = memory();
    let down = true;
    const one = await start(platforms, {
      ...store,
      exchange: (write) => (down ? Promise.reject(new Error("the disk is full")) : store.exchange(write)),
    });
    const people = names.map((name) => ({
      name,
      ...person(name, platforms),
      post: person(name, platforms).says(1, "hi"),
    }));
    const hook = (nth: number) =>
      Promise.all(
        people.map(async ({ name, post }) => (await one.hook(name)(new Request("http://bot.test", post(nth)))).status),
      );
    expect(await hook(0)).toEqual([503, 503, 503, 503]);
    down = false;
    expect(await hook(1)).toEqual([200, 200, 200, 200]);
    for (const { double } of people) {
      await until(
        () => double.texts(),
        (texts) => texts.length > 0,
      );
      expect(double.texts()).toEqual(["re: hi"]);
    }
  });
});

describe("edits, deletions, albums", () => {
  it("telegram: an edit in the window changes the question", async () => {
    const one = await start(platforms, memory(), patient());
    const { telegram } = platforms;
    await telegram.deliver(telegram.message({ chat: 42, id: 1, text: "order 12" }), one.hook("telegram"));
    const edit = telegram.edited({ chat: 42, id: 1, text: "order 13", editedAtS: 1_750_000_000 });
    await telegram.deliver(edit, one.hook("telegram"));
    await telegram.deliver(edit, one.hook("telegram"));
    await flush(one);
    await until(
      () => telegram.texts(),
      (texts) => texts.length > 0,
    );
    await sleep(300);
    expect(telegram.texts()).toEqual(["re: order 13"]);
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

  it("slack: an edit and a deletion in the window, a preview, an echo", async () => {
    const one = await start(platforms, memory(), patient());
    const { slack } = platforms;
    const said = { channel: "D42", ts: "1750000000.000001", text: "see https://example.org" };
    const wrong = { channel: "D42", ts: "1750000000.000002", text: "wrong window" };
    await slack.deliver(slack.message(said), one.hook("slack"));
    await slack.deliver(slack.message(wrong), one.hook("slack"));
    await slack.deliver(slack.deleted(wrong), one.hook("slack"));
    const edited = { ...said, text: "see https://example.com", before: said.text };
    await slack.deliver(slack.edited(edited), one.hook("slack"));
    await flush(one);
    await until(
      () => slack.texts(),
      (texts) => texts.length > 0,
    );
    const shown = slack.screen.at(-1);
    if (shown !== undefined) await slack.deliver(slack.echo(shown), one.hook("slack"));
    await sleep(400);
    expect(slack.texts()).toEqual(["re: see https://example.com"]);
    expect(one.calls.length).toBe(1);
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
