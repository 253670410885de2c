/**
 * Several bots on one server: the same id is two conversations, keys are bound to bots, settings are read again.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { joinId, splitId } from "../src/bots/ids.ts";
import { debounceOf } from "../src/bots/index.ts";
import { ConfigError, loadConfig } from "../src/config.ts";
import { silent } from "../src/log.ts";
import { createServer } from "../src/server.ts";
import { newSecret } from "../src/webhook.ts";
import { receiver, type Seen } from "./support/receiver.ts";

const flags = { port: "0", store: "memory:", quietMs: "200", startMs: "50", scanMs: "50", stopTimeoutMs: "400" };

async function settings(file: object) {
  const cwd = await mkdtemp(join(tmpdir(), "lull-bots-"));
  onTestFinished(() => rm(cwd, { recursive: true }));
  const read = () => loadConfig({ cwd, env: {}, flags });
  const write = (value: object) => writeFile(join(cwd, "lull.config.json"), JSON.stringify(value));
  await write(file);
  return { read, write };
}

const secrets = { ops: "o".repeat(16), shop: "s".repeat(16), help: "h".repeat(16), helpOps: "p".repeat(16) };

async function answering(name: string) {
  return receiver((request, response) => {
    const { conversation } = JSON.parse(request.text);
    response.end(JSON.stringify({ text: `${name} answers ${conversation}` }));
  });
}

/** A server with its own bot, `shop` and `help`. */
async function three(change: (file: Record<string, unknown>) => object = (file) => file) {
  const [own, shop, help] = await Promise.all(["own", "shop", "help"].map(answering));
  const channel = await receiver((_, response) => response.end());
  const file = {
    webhookSecret: [newSecret()],
    respond: own?.url,
    deliver: channel.url,
    apiKeys: [`ops:operate:${secrets.ops}`],
    bots: {
      shop: { respond: shop?.url, debounce: { quietMs: 100 }, keys: [`web:send+read:${secrets.shop}`] },
      help: {
        respond: help?.url,
        deliver: "events",
        keys: [`web:send+read:${secrets.help}`, `ops:operate:${secrets.helpOps}`],
      },
    },
  };
  const { read, write } = await settings(change(file));
  const server = await createServer((await read()).config, silent);
  onTestFinished(() => server.stop());
  const call = async (secret: string, method: string, path: string, body?: unknown, bot?: string) => {
    const response = await fetch(server.url + path, {
      method,
      headers: {
        authorization: `Bearer ${secret}`,
        ...(bot === undefined ? {} : { "lull-bot": bot }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
    const answer: any = text === "" ? null : JSON.parse(text);
    return { status: response.status, answer };
  };
  const ask = (secret: string, text: string, bot?: string) =>
    call(secret, "POST", "/v1/messages?wait=10", { conversation: "c", text }, bot);
  return { server, file, read, write, call, ask, own, shop, help, channel };
}

const bodies = (seen: readonly Seen[] = []) => seen.map(({ text }) => JSON.parse(text));

describe("two bots on one server", () => {
  test("the same id is a conversation of each; each answers, delivers and waits in its own way", async () => {
    const { ask, call, own, shop, help, channel, server } = await three();
    const [a, b, c] = await Promise.all([
      ask(secrets.ops, "to own"),
      ask(secrets.shop, "to shop"),
      ask(secrets.help, "to help"),
    ]);
    expect([a, b, c].map(({ answer }) => answer.parts[0].text)).toEqual([
      "own answers c",
      "shop answers c",
      "help answers c",
    ]);
    expect([a, b, c].map(({ answer }) => [answer.conversation, answer.version])).toEqual(Array(3).fill(["c", 1]));
    for (const [bot, text] of [
      [own, "to own"],
      [shop, "to shop"],
      [help, "to help"],
    ] as const)
      expect(bodies(bot?.seen)).toMatchObject([{ conversation: "c", messages: [{ parts: [{ text }] }] }]);
    // `help` delivers by events; each delivery names the conversation as its bot knows it.
    expect(bodies(channel.seen).map(({ conversation, part }) => [conversation, part.text])).toEqual(
      expect.arrayContaining([
        ["c", "own answers c"],
        ["c", "shop answers c"],
      ]),
    );
    expect(channel.seen).toHaveLength(2);
    // The server's own bot keeps its ids as they are.
    expect((await server.lull.get("c"))?.version).toBe(1);
    expect(server.lull.settings.limitsOf("c").quietMs).toBe(200);
    expect(server.lull.settings.limitsOf(joinId("shop", "c")).quietMs).toBe(100);
    const log = await call(secrets.shop, "GET", "/v1/conversations/c/log");
    expect(log.answer.entries[0].parts[0].text).toBe("to shop");
  });

  test("a key is good for its own bot, whatever it names; the server's keys choose", async () => {
    const { ask, call } = await three();
    await ask(secrets.help, "to help");
    expect((await call(secrets.shop, "GET", "/v1/conversations/c")).status).toBe(404);
    for (const [method, path] of [
      ["GET", "/v1/conversations/c"],
      ["GET", "/v1/conversations"],
      ["POST", "/v1/conversations/c/reset"],
      ["GET", "/v1/events"],
    ] as const)
      expect([path, (await call(secrets.shop, method, path, undefined, "help")).status]).toEqual([path, 403]);
    // What concerns the whole server is nobody's who is bound to a bot.
    for (const [method, path] of [
      ["GET", "/metrics"],
      ["POST", "/v1/pause"],
      ["DELETE", "/v1/authors/ada"],
    ] as const)
      expect([path, (await call(secrets.helpOps, method, path)).status]).toEqual([path, 403]);
    expect((await call(secrets.ops, "GET", "/v1/conversations/c", undefined, "help")).answer).toMatchObject({
      id: "c",
      record: { id: "c" },
    });
    expect((await call(secrets.ops, "GET", "/v1/conversations/c")).status).toBe(404);
    expect(await call(secrets.ops, "GET", "/v1/conversations", undefined, "nobody")).toMatchObject({
      status: 404,
      answer: { field: "lull-bot" },
    });
    expect((await call(secrets.helpOps, "DELETE", "/v1/conversations/c")).status).toBe(204);
  });

  test("lists show a bot's own conversations, page by page", async () => {
    const { call } = await three((file) => ({ ...file, respond: "none", bots: withoutRespond(file.bots) }));
    const write = (secret: string, conversation: string) =>
      call(secret, "POST", "/v1/messages", { conversation, text: "hi" });
    for (const id of ["a", "b", "c"]) for (const secret of [secrets.ops, secrets.shop]) await write(secret, id);
    await write(secrets.help, "only help");
    const ids = (page: { answer: { conversations: { id: string }[] } }) =>
      page.answer.conversations.map(({ id }) => id);
    for (const secret of [secrets.ops, secrets.shop]) {
      const first = await call(secret, "GET", "/v1/conversations?limit=2");
      expect(ids(first)).toEqual(["a", "b"]);
      const second = await call(secret, "GET", `/v1/conversations?limit=2&after=${first.answer.next}`);
      expect([ids(second), second.answer.next]).toEqual([["c"], null]);
      expect(ids(await call(secret, "GET", "/v1/conversations?prefix=b"))).toEqual(["b"]);
    }
    expect(ids(await call(secrets.help, "GET", "/v1/conversations"))).toEqual(["only help"]);
    expect(await write(secrets.ops, joinId("shop", "a"))).toMatchObject({
      status: 400,
      answer: { field: "conversation" },
    });
  });

  test("a turn's token and its effects are its bot's, and another bot's key is refused with it", async () => {
    const later = await receiver((_, response) => response.writeHead(202).end());
    const { call, channel } = await three((file) => ({
      ...file,
      bots: { ...(file.bots as object), shop: { respond: later.url, keys: [`web:send+read:${secrets.shop}`] } },
    }));
    await call(secrets.shop, "POST", "/v1/messages", { conversation: "c", text: "hi" });
    await vi.waitFor(() => expect(later.seen).toHaveLength(1), 5_000);
    const [{ conversation, turn }] = bodies(later.seen);
    expect(conversation).toBe("c");
    const path = `/v1/turns/${turn.token}`;
    expect((await call(secrets.help, "GET", path)).status).toBe(403);
    expect((await call(secrets.shop, "GET", path)).answer.wanted).toBe(true);
    const begun = await call(secrets.shop, "PUT", `${path}/effects/book?wait=5`, { state: "begun" });
    expect(begun.answer.idempotencyKey).toMatch(/^shop:c:\d+:book$/);
    await call(secrets.shop, "PUT", `${path}/effects/book`, { state: "done", value: 1 });
    expect((await call(secrets.shop, "POST", `${path}/reply?wait=5`, { text: "later" })).status).toBe(200);
    await vi.waitFor(() =>
      expect(bodies(channel.seen)).toMatchObject([{ conversation: "c", part: { text: "later" } }]),
    );
  });

  test("events are told to the bot they concern", async () => {
    const { server, call } = await three();
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const response = await fetch(`${server.url}/v1/events`, {
      headers: { authorization: `Bearer ${secrets.shop}` },
      signal: stop.signal,
    });
    await call(secrets.help, "POST", "/v1/messages?wait=5", { conversation: "c", text: "for help" });
    await call(secrets.shop, "POST", "/v1/messages?wait=5", { conversation: "d", text: "for shop" });
    let seen = "";
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      seen += Buffer.from(chunk).toString();
      if (seen.includes("reply.closed")) break;
    }
    expect(seen).toContain('"conversation":"d"');
    expect(seen).not.toContain('"conversation":"c"');
    expect(seen).not.toContain("\\u0001");
  });
});

function withoutRespond(bots: unknown): object {
  return Object.fromEntries(
    Object.entries(bots as Record<string, object>).map(([name, bot]) => [name, { ...bot, respond: "none" }]),
  );
}

describe("settings of bots", () => {
  async function refused(file: object): Promise<string> {
    const { read } = await settings(file);
    const error = await read()
      .then(async ({ config }) => (await createServer(config, silent)).stop())
      .catch((reason) => reason);
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).message;
  }

  test("every mistake is told at once, with its place, and no secret", async () => {
    const told = await refused({
      bots: {
        "Not a name": {},
        default: {},
        shop: { respnd: "x", whenBusy: "wait", debounce: { quietMs: -1, fast: true }, keys: "x:y", webhookSecret: 7 },
        help: { debounce: "quick", historyEntries: 5_000 },
        none: 5,
      },
    });
    for (const piece of [
      'the name "Not a name"',
      'the name "default"',
      'bots.shop: unknown key "respnd"',
      "bots.shop.whenBusy must be one of interrupt, queue, steer",
      "bots.shop.debounce.quietMs must be a whole number",
      'bots.shop.debounce: unknown key "fast"',
      "bots.shop.webhookSecret must be a list",
      "bots.help.debounce must be one of snappy, balanced, patient",
      "bots.help.historyEntries must be a whole number from 0 to 1000",
      "bots.none must be an object",
    ])
      expect(told).toContain(piece);
  });

  test("a bot's window has words of its own, as the library has them", async () => {
    const bots = {
      eager: { debounce: { quietMs: 100, startMs: "eager", adaptive: true } },
      plain: { debounce: { quietMs: 100, adaptive: false } },
    };
    const { config } = await (await settings({ bots })).read();
    const windows = Object.values(config.bots ?? {}).map(debounceOf);
    expect(windows).toEqual([{ quietMs: 100, startMs: "eager", adaptive: true }, { quietMs: 100 }]);
    expect(await refused({ bots: { shop: { debounce: { quietMs: 100, startMs: "soon" } } } })).toContain(
      "bots.shop.debounce.startMs must be a whole number from 0 to 315360000000, or one of eager, frugal",
    );
    expect(await refused({ bots: { shop: { debounce: { adaptive: 1 } } } })).toContain("must be one of on, off");
  });

  test("what only shows when a bot is made is told for all of them", async () => {
    const told = await refused({
      bots: {
        shop: { respond: "opnai", keys: [`web:send:${secrets.shop}`] },
        help: { deliver: "ftp://x", keys: [`web:send:${secrets.shop}`], debounce: { quietMs: 5, startMs: 9 } },
      },
    });
    expect(told).toContain("bots.shop: respond must be demo, openai, none or an https:// address");
    expect(told).toContain("bots.help: deliver must be events");
    expect(told).toContain("bots.help: debounce.startMs (9) is greater than quietMs (5)");
    expect(told).toContain("the key web has the same secret as another bot's");
    expect(told).not.toContain(secrets.shop);
    expect(await refused({ bots: { shop: { respond: "none" } } })).toContain("it must be none for all bots");
    expect(await refused({ bots: [] })).toContain("bots must be an object");
  });

  test("ids of bots are told apart from all others", () => {
    for (const id of ["c", "a/b", "shop:c", "\u0002", "ü 🙂"]) {
      expect(splitId(id)).toEqual({ bot: "", id });
      expect(splitId(joinId("shop", id))).toEqual({ bot: "shop", id });
    }
    expect(joinId("", "c")).toBe("c");
  });
});

describe("a bot that is gone", () => {
  test("is answered for by nobody else: its turns fail visibly until it is back", async () => {
    const { server, file, read, write, call, own, channel } = await three((given) => ({ ...given, maxFailures: 1 }));
    await write({ ...file, maxFailures: 1, bots: undefined });
    await server.reload((await read()).config);
    await server.lull.receive(joinId("shop", "c"), { id: "m1", text: "for shop" });
    await vi.waitFor(async () => {
      const view = await server.lull.get(joinId("shop", "c"));
      expect(view?.parked?.reason).toBe("No bot of this server is called shop.");
    }, 5_000);
    expect(own?.seen).toEqual([]);
    await write({ ...file, maxFailures: 1 });
    await server.reload((await read()).config);
    expect((await call(secrets.ops, "POST", "/v1/conversations/c/retry", {}, "shop")).answer).toEqual({ revived: 1 });
    await vi.waitFor(() => expect(bodies(channel.seen)).toMatchObject([{ part: { text: "shop answers c" } }]), 5_000);
  });
});

describe("settings read again", () => {
  test("are in force at once; a turn that runs ends under the former ones", async () => {
    const slow = await receiver(async (_, response) => {
      await new Promise((resolve) => setTimeout(resolve, 900));
      response.end('{"text":"the former one"}');
    });
    const { server, file, read, write, call, ask, channel } = await three((given) => ({
      ...given,
      bots: { ...(given.bots as object), shop: { respond: slow.url, keys: [`web:send+read:${secrets.shop}`] } },
    }));
    const first = ask(secrets.shop, "before");
    await vi.waitFor(() => expect(slow.seen).toHaveLength(1), 5_000);
    const newest = await answering("newest");
    await write({
      ...file,
      bots: { shop: { respond: newest.url, keys: [`web:send+read:${secrets.help}`] }, more: { respond: newest.url } },
    });
    await server.reload((await read()).config);
    // Keys, bots and answers are the new ones.
    expect((await call(secrets.shop, "GET", "/v1/conversations")).status).toBe(401);
    const other = await call(secrets.help, "POST", "/v1/messages?wait=10", { conversation: "d", text: "after" });
    expect(other.answer.parts[0].text).toBe("newest answers d");
    const more = await call(secrets.ops, "POST", "/v1/messages?wait=10", { conversation: "c", text: "hi" }, "more");
    expect(more.answer.parts[0].text).toBe("newest answers c");
    expect((await first).answer.parts[0].text).toBe("the former one");
    expect(slow.cut).toEqual([]);
    expect(bodies(channel.seen).map(({ part }) => part.text)).toContain("the former one");
  });

  test("newer input still supersedes a turn that the former settings began", async () => {
    const hanging = await receiver(() => {});
    const { server, file, read, write, call } = await three((given) => ({ ...given, respond: hanging.url }));
    await call(secrets.ops, "POST", "/v1/messages", { conversation: "c", id: "m1", text: "one" });
    await vi.waitFor(() => expect(hanging.seen).toHaveLength(1), 5_000);
    await write(file);
    await server.reload((await read()).config);
    const answer = await call(secrets.ops, "POST", "/v1/messages?wait=10", {
      conversation: "c",
      id: "m2",
      text: "two",
    });
    expect(answer.answer).toMatchObject({ covers: ["m1", "m2"], parts: [{ text: "own answers c" }] });
    expect(hanging.cut).toEqual([0]);
  });

  test("are refused whole: nothing changes, and every mistake is named", async () => {
    const { server, file, read, write, ask } = await three();
    await write({ ...file, owner: "somebody", bots: { shop: { respond: "opnai" }, help: { deliver: "ftp://x" } } });
    const error = await server.reload((await read()).config).catch((reason) => reason);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error.problems).toEqual([
      "owner cannot be changed while the server runs: restart it.",
      expect.stringContaining("bots.shop: respond"),
      expect.stringContaining("bots.help: deliver"),
    ]);
    expect((await ask(secrets.shop, "still")).answer.parts[0].text).toBe("shop answers c");
  });
});
