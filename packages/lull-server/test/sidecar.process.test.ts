/**
 * Bots in any language, through real processes: Python on its standard library, curl, a webhook that comes back later
 * to another process than the one that waits, several bots on one server, settings read again.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type Entry,
  eventually,
  openScene,
  post,
  type Scene,
  type SceneOptions,
  type Seen,
  type ServerProcess,
  sleep,
} from "./support/processes.ts";

const examples = fileURLToPath(new URL("../../../examples/python/", import.meta.url));

async function scene(options: SceneOptions = {}): Promise<Scene> {
  const opened = await openScene(options);
  onTestFinished(() => opened.close());
  return opened;
}

interface Program {
  child: ChildProcess;
  said(): string;
}

/** A program that says on which port it listens; ended by its id, whatever becomes of the test. */
async function python(file: string, env: Record<string, string>): Promise<Program & { port: number }> {
  const child = spawn("python3", [join(examples, file)], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  const port = await eventually(`port of ${file}: ${said}`, async () => /on port (\d+)/.exec(said)?.[1] ?? null);
  return { child, port: Number(port), said: () => said };
}

/** A free port of this machine, for programs that must come back at the same one. */
async function freePort(): Promise<string> {
  const probe = http.createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return String(port);
}

function curl(args: string[]): Promise<string> {
  const child = spawn("curl", ["--silent", "--show-error", "--fail-with-body", "--max-time", "60", ...args]);
  let out = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
  return once(child, "close").then(([code]) => {
    if (code !== 0) throw new Error(`curl ended with ${code}: ${out}`);
    return out;
  });
}

const json = ["-H", "content-type: application/json"];

describe("a Python bot on the standard library, asked with curl", () => {
  test("a burst is one call and one answer; a request that lull did not sign is refused", async () => {
    const place = await scene();
    const bot = await python("bot.py", { LULL_WEBHOOK_SECRET: place.secrets[0] as string });
    const server = await place.start("a", {
      LULL_RESPOND: `http://127.0.0.1:${bot.port}/`,
      LULL_DELIVER: "events",
    });
    await post(server, "/v1/messages", { conversation: "me", text: "hi" });
    await post(server, "/v1/messages", { conversation: "me", text: "my order is late" });
    const body = JSON.stringify({ conversation: "me", text: "#1234" });
    const reply = JSON.parse(await curl([`${server.url}/v1/messages?wait=30`, ...json, "-d", body]));
    expect(reply).toMatchObject({ status: "delivered", parts: [{ text: "You wrote: hi / my order is late / #1234" }] });
    expect(bot.said().match(/"POST/g)).toHaveLength(1);
    const forged = await fetch(`http://127.0.0.1:${bot.port}/`, {
      method: "POST",
      headers: {
        "webhook-id": "x",
        "webhook-timestamp": String(Math.floor(Date.now() / 1_000)),
        "webhook-signature": "v1,x",
      },
      body: "{}",
    });
    expect(forged.status).toBe(401);
  });
});

const tokenOf = (call: { raw: string }) => (JSON.parse(call.raw) as { turn: { token: string } }).turn.token;
const later = { model: () => ({ status: 202 }) };
const settled = (server: ServerProcess, place: Scene, conversation: string) => place.rested(server, conversation);

async function ask(server: ServerProcess, method: string, path: string, body?: unknown) {
  const response = await fetch(server.url + path, {
    method,
    ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, answer: (text === "" ? null : JSON.parse(text)) as Seen };
}

describe("a webhook that comes back later", () => {
  test("to another process than the one that waits: committed there, delivered by the holder, once", async () => {
    const place = await scene(later);
    const [a, b] = await Promise.all([place.start("a"), place.start("b")]);
    await place.write(a, "c", "m1");
    const call = await place.program.until("call", () => place.program.models("c")[0]);
    const other = call.from === "a" ? b : a;
    const path = `/v1/turns/${tokenOf(call)}`;
    const early = await ask(other, "POST", `${path}/reply`, { text: "too early" });
    if (early.status !== 200) expect(early).toMatchObject({ status: 425, answer: { code: "early" } });
    const reply = await ask(other, "POST", `${path}/reply?wait=20`, { text: "later" });
    expect(reply.status).toBe(200);
    const [delivery] = await place.program.until("delivery", () => {
      const deliveries = place.program.deliveries("c");
      return deliveries.length > 0 && deliveries;
    });
    expect(delivery).toMatchObject({ from: call.from, covers: ["m1"] });
    await settled(a, place, "c");
    expect(place.program.deliveries("c")).toHaveLength(1);
    expect(place.program.faults).toEqual([]);
  });

  test("after the process that waited was killed: nothing stale, and what was committed in time is delivered", async () => {
    const place = await scene(later);
    const a = await place.start("a");
    for (const id of ["stale", "in-time"]) await place.write(a, id, "m1");
    const calls = await Promise.all(
      ["stale", "in-time"].map((id) => place.program.until(`call of ${id}`, () => place.program.models(id)[0])),
    );
    const [stale, inTime] = calls.map((call) => `/v1/turns/${tokenOf(call)}`) as [string, string];
    await sleep(800);
    a.kill("SIGKILL");
    // Answers to nobody: it only receives, and knows the tokens.
    const web = await place.start("web", { LULL_RESPOND: "none" });
    const committed = await ask(web, "POST", `${inTime}/reply?wait=5`, { text: "in time" });
    expect(committed).toMatchObject({ status: 200, answer: { duplicate: false } });
    const b = await place.start("b");
    await place.program.until("delivery", () => place.program.deliveries("in-time").length > 0);
    expect(place.program.models("in-time")).toHaveLength(1);
    // The other turn is called for again, with another token; the old one is refused everywhere.
    const again = await place.program.until("second call", () => place.program.models("stale")[1]);
    for (const server of [web, b]) {
      expect(await ask(server, "POST", `${stale}/reply?wait=5`, { text: "stale" })).toMatchObject({
        status: 409,
        answer: { code: "lost" },
      });
      expect((await ask(server, "GET", stale)).answer).toMatchObject({ wanted: false, reason: "lost" });
    }
    expect((await ask(web, "POST", `/v1/turns/${tokenOf(again)}/reply?wait=5`, { text: "fresh" })).status).toBe(200);
    await settled(b, place, "stale");
    await settled(b, place, "in-time");
    expect(place.program.deliveries("stale").map(({ text }) => text)).toEqual(["fresh"]);
    expect(place.program.deliveries("in-time").map(({ text }) => text)).toEqual(["in time"]);
  });

  test("superseded: 409 at every process, and the next call has everything", async () => {
    const place = await scene(later);
    const [a, b] = await Promise.all([place.start("a"), place.start("b")]);
    await place.write(a, "c", "m1");
    const first = await place.program.until("call", () => place.program.models("c")[0]);
    await place.write(b, "c", "m2");
    const old = `/v1/turns/${tokenOf(first)}`;
    const refused = await ask(b, "POST", `${old}/reply?wait=5`, { text: "stale" });
    expect(refused).toMatchObject({ status: 409, answer: { code: "superseded" } });
    expect(await ask(a, "POST", `${old}/reply?wait=5`, { text: "stale" })).toMatchObject({ status: 409 });
    const second = await place.program.until("second call", () => place.program.models("c")[1]);
    expect(second.covers).toEqual(["m1", "m2"]);
    await ask(a, "POST", `/v1/turns/${tokenOf(second)}/reply?wait=10`, { text: "both" });
    await settled(a, place, "c");
    expect(place.program.deliveries("c").map(({ text }) => text)).toEqual(["both"]);
  });
});

describe("a side effect over HTTP", () => {
  /** Books a room for each new key, and gives the same room for a key it knows. Can be told to keep its answers back. */
  async function hotel() {
    const rooms = new Map<string, number>();
    const requests: string[] = [];
    const held: (() => void)[] = [];
    let answers = true;
    const server = http.createServer((request, response) => {
      const key = String(request.headers["idempotency-key"]);
      requests.push(key);
      if (!rooms.has(key)) rooms.set(key, rooms.size + 1);
      request.resume();
      response.on("error", () => {});
      const answer = () => response.end(JSON.stringify({ room: rooms.get(key) }));
      if (answers) answer();
      else held.push(answer);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const keepBack = () => {
      answers = false;
    };
    /** What was kept back is answered too, if somebody still listens. */
    const release = () => {
      answers = true;
      for (const answer of held.splice(0)) answer();
    };
    return { url, rooms, requests, keepBack, release };
  }

  const effects = (log: readonly Entry[]) => log.filter(({ kind }) => kind === "effect");

  test("a Python responder killed in the middle of its tool, superseded, restarted: one booking, and it is told", async () => {
    const place = await scene({ settings: { LULL_BACKOFF_FIRST_MS: "100", LULL_BACKOFF_MAX_MS: "500" } });
    const booked = await hotel();
    booked.keepBack();
    const [port, lullPort] = [await freePort(), await freePort()];
    const env = { HOTEL: booked.url, PORT: port, LULL_URL: `http://127.0.0.1:${lullPort}` };
    const first = await python("booking.py", env);
    const server = await place.start("a", { LULL_RESPOND: `http://127.0.0.1:${port}/`, LULL_PORT: lullPort });
    await place.write(server, "c", "m1");
    await eventually("booking under way", async () => booked.requests.length === 1);
    // The hotel has booked, and nobody hears of it.
    first.child.kill("SIGKILL");
    await once(first.child, "exit");
    booked.release();
    await place.write(server, "c", "m2");
    const second = await python("booking.py", env);
    const log = await place.rested(server, "c", 60_000);
    expect(booked.rooms.size).toBe(1);
    expect(new Set(booked.requests).size).toBe(1);
    expect(booked.requests.length).toBe(2);
    expect(second.said()).toContain('effects [{"key": "book", "state": "unknown"}]');
    expect(effects(log)).toMatchObject([{ key: "book", value: { room: 1 } }]);
    expect(place.program.deliveries("c")).toMatchObject([{ covers: ["m1", "m2"], text: "Room 1 is yours." }]);
  });

  test("a tool that outlives its attempt: the next one waits for it, is given its result, and does it not again", async () => {
    const place = await scene({ settings: { LULL_LEASE_MS: "10000" } });
    const booked = await hotel();
    const lullPort = await freePort();
    const bot = await python("booking.py", { HOTEL: booked.url, LULL_URL: `http://127.0.0.1:${lullPort}` });
    const server = await place.start("a", { LULL_RESPOND: `http://127.0.0.1:${bot.port}/`, LULL_PORT: lullPort });
    booked.keepBack();
    await place.write(server, "c", "m1");
    await eventually("booking under way", async () => booked.requests.length === 1);
    await place.write(server, "c", "m2");
    await eventually("end of the first attempt", async () =>
      (await place.log(server, "c")).some(({ kind, outcome }) => kind === "ended" && outcome === "superseded"),
    );
    booked.release();
    const log = await place.rested(server, "c", 60_000);
    expect(booked.requests).toHaveLength(1);
    expect(bot.said()).toContain('effects [{"key": "book", "state": "done", "value": {"room": 1}}]');
    expect(bot.said()).toMatch(/is not wanted any more: 409/);
    expect(effects(log)).toMatchObject([{ key: "book", value: { room: 1 } }]);
    expect(place.program.deliveries("c")).toMatchObject([{ covers: ["m1", "m2"], text: "Room 1 is yours." }]);
  });
});

describe("tokens", () => {
  const key = (letter: string) => letter.repeat(20);

  test("forged, another conversation's, replayed, another bot's key: refused by a real server, and nothing happens", async () => {
    const place = await scene(later);
    const bots = {
      shop: { respond: place.program.model("shop"), keys: [`web:send+read:${key("s")}`] },
      help: { respond: place.program.model("help"), keys: [`web:send+read:${key("h")}`] },
    };
    writeFileSync(join(dirname(place.database), "lull.config.json"), JSON.stringify({ bots }));
    const server = await place.start("a", { LULL_API_KEYS: `ops:operate:${key("o")}` });
    const as = async (letter: string | null, method: string, path: string, body?: unknown) => {
      const response = await fetch(server.url + path, {
        method,
        headers: {
          ...(letter === null ? {} : { authorization: `Bearer ${key(letter)}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, answer: (text === "" ? null : JSON.parse(text)) as Seen };
    };
    const write = (letter: string, conversation: string, id: string) =>
      as(letter, "POST", "/v1/messages", { conversation, id, text: id });
    await Promise.all([write("s", "c", "m1"), write("s", "d", "m1"), write("h", "c", "m1")]);
    const call = (from: string, conversation: string) =>
      place.program.until(`call of ${from} for ${conversation}`, () =>
        place.program.calls.find((one) => one.from === from && one.conversation === conversation),
      );
    const [c, d, help] = (await Promise.all([call("shop", "c"), call("shop", "d"), call("help", "c")])).map(
      tokenOf,
    ) as [string, string, string];
    const [claims, signature] = c.split(".");
    // Forged: another's claims under this signature; a signature of zeros; cut off.
    for (const token of [`${d.split(".")[0]}.${signature}`, `${claims}.${"A".repeat(43)}`, String(claims)])
      expect(await as(null, "POST", `/v1/turns/${token}/reply`, { text: "forged" })).toMatchObject({
        status: 403,
        answer: { code: "invalid-token" },
      });
    // Another bot's key beside a token that is good.
    expect(await as("h", "POST", `/v1/turns/${c}/reply?wait=5`, { text: "x" })).toMatchObject({ status: 403 });
    // A token speaks for its own conversation, and for its own bot's.
    expect((await as(null, "POST", `/v1/turns/${d}/reply?wait=10`, { text: "for d" })).status).toBe(200);
    expect((await as(null, "POST", `/v1/turns/${help}/reply?wait=10`, { text: "for help" })).status).toBe(200);
    const deliveries = await place.program.until("two deliveries", () => {
      const all = place.program.calls.filter(({ kind }) => kind === "delivery");
      return all.length === 2 && all;
    });
    expect(deliveries.map(({ conversation, text }) => `${conversation}: ${text}`).sort()).toEqual([
      "c: for help",
      "d: for d",
    ]);
    // Replayed when its turn is over.
    expect((await as(null, "POST", `/v1/turns/${d}/parts`, { text: "replayed" })).status).toBe(409);
    expect((await as(null, "POST", `/v1/turns/${c}/reply?wait=10`, { text: "for shop" })).status).toBe(200);
    // Neither token nor text is in the log.
    for (const secret of [c, d, help, "for d", "replayed"]) expect(server.said()).not.toContain(secret);
  });
});

describe("two bots on one server, and SIGHUP", () => {
  const key = (letter: string) => letter.repeat(20);

  test("each answers its own; settings are taken over whole while turns run, or not at all", async () => {
    const place = await scene({
      model: async (call) => {
        if (call.from === "slow") await sleep(1_500);
        return { body: { text: `${call.from} answers ${call.conversation}` } };
      },
    });
    const { program } = place;
    const file = join(dirname(place.database), "lull.config.json");
    const write = (bots: object) => writeFileSync(file, JSON.stringify({ bots }));
    const shop = { respond: program.model("slow"), keys: [`web:send+read:${key("s")}`], debounce: { quietMs: 300 } };
    write({ shop, help: { respond: program.model("help"), keys: [`web:send+read:${key("h")}`] } });
    const server = await place.start("a", { LULL_API_KEYS: `ops:operate:${key("o")}` });
    const say = async (letter: string, text: string) => {
      const body = JSON.stringify({ conversation: "c", text });
      const auth = ["-H", `authorization: Bearer ${key(letter)}`];
      return JSON.parse(await curl([`${server.url}/v1/messages?wait=30`, ...json, ...auth, "-d", body]));
    };
    const [own, help] = await Promise.all([say("o", "hi"), say("h", "hi")]);
    expect([own, help].map((reply) => [reply.conversation, reply.parts[0].text])).toEqual([
      ["c", "a answers c"],
      ["c", "help answers c"],
    ]);

    // A turn of the former settings is under way when the new ones are read.
    const running = say("s", "hi");
    await program.until("call of shop", () => program.calls.find(({ from }) => from === "slow"));
    write({ shop: { ...shop, respond: program.model("quick") } });
    server.kill("SIGHUP");
    await eventually("reload", async () => server.said().includes("settings were read again"));
    expect((await running).parts[0].text).toBe("slow answers c");
    expect((await say("s", "again")).parts[0].text).toBe("quick answers c");
    await expect(say("h", "hi")).rejects.toThrow("unauthorized");

    // Every mistake is named, and nothing changes.
    write({ shop: { ...shop, respond: "opnai", whenBusy: "wait" }, "Not a name": {} });
    server.kill("SIGHUP");
    await eventually("refusal", async () => server.said().includes("NOT taken over"));
    const refusal =
      server
        .said()
        .split("\n")
        .find((line) => line.includes("NOT taken over")) ?? "";
    expect(JSON.parse(refusal).problems).toEqual([
      expect.stringContaining("bots.shop.whenBusy must be one of"),
      expect.stringContaining('the name "Not a name"'),
    ]);
    expect((await say("s", "still")).parts[0].text).toBe("quick answers c");
    expect(server.isRunning()).toBe(true);
    expect(server.said()).not.toContain("\\u0001");
  });
});
