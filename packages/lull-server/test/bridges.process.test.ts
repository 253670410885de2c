/**
 * The bridges of `examples/bridges` and the client of `examples/typescript-client`, each as a process of its own between a real
 * `lull serve` and a double of the platform that follows its published API.
 */

import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { type ApiAnswer, type ApiCall, listening, platformApi } from "./support/platform.ts";
import { eventually, openScene, type Scene, type ServerProcess } from "./support/processes.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

interface Crossing {
  place: Scene;
  server: ServerProcess;
  api: Awaited<ReturnType<typeof platformApi>>;
  bridge: Awaited<ReturnType<typeof listening>>;
  /** The texts the bot was given so far, call by call. */
  prompts(): string[][];
}

/** On a busy machine the messages of a burst are far apart; they are one burst all the same. */
const patient = { LULL_QUIET_MS: "4000" };

/** A bridge between lull and a platform's double. The bot answers with what it was given. */
async function crossing(
  file: string,
  answer: (call: ApiCall, count: number) => ApiAnswer,
  env: (apiUrl: string) => Record<string, string>,
): Promise<Crossing> {
  const place = await openScene({
    settings: { ...patient, LULL_BACKOFF_FIRST_MS: "100", LULL_BACKOFF_MAX_MS: "500" },
    model: (call) => ({ body: { text: `You wrote: ${textsOf(call.raw).join(" / ")}` } }),
  });
  onTestFinished(() => place.close());
  const api = await platformApi(answer);
  // lull has to know the bridge's address, and the bridge lull's: the bridge gets a port of lull's first.
  const first = await place.start("probe");
  const port = new URL(first.url).port;
  first.kill("SIGTERM");
  await first.exited;
  const bridge = await listening(process.execPath, [join(root, "examples/bridges", file)], {
    LULL_WEBHOOK_SECRET: place.secrets[0] as string,
    LULL_URL: `http://127.0.0.1:${port}`,
    LULL_PATIENCE_MS: "60000", // a busy machine is no fault of the bridge's
    ...env(api.url),
  });
  const server = await place.start("a", { LULL_PORT: port, LULL_DELIVER: `${bridge.url}/deliver` });
  const prompts = () => place.program.calls.filter(({ kind }) => kind === "model").map(({ raw }) => textsOf(raw));
  return { place, server, api, bridge, prompts };
}

function textsOf(turn: string): string[] {
  const { messages } = JSON.parse(turn) as { messages: { parts: { text?: string; url?: string }[] }[] };
  return messages.flatMap(({ parts }) => parts.map(({ text, url }) => text ?? url ?? ""));
}

const until = <T>(what: string, look: () => T | null | false) => eventually(what, async () => look(), 60_000);

describe("Twilio: SMS", () => {
  const account = `AC${"0".repeat(32)}`;
  const token = "the auth token";
  const publicUrl = "https://sms.example";

  /** As Twilio signs: the address it was told, then each field's name and value, sorted by name. */
  function sms(bridge: Crossing["bridge"], fields: Record<string, string>, sign = token) {
    const path = "/platform?line=1";
    const sorted = Object.keys(fields)
      .sort()
      .map((name) => name + fields[name])
      .join("");
    const signature = createHmac("sha1", sign).update(`${publicUrl}${path}${sorted}`).digest("base64");
    return fetch(bridge.url + path, {
      method: "POST",
      headers: { "x-twilio-signature": signature },
      body: new URLSearchParams(fields),
    });
  }
  const from = { From: "+15550001", To: "+15550002", NumMedia: "0", AccountSid: account };
  const env = (url: string) => ({
    TWILIO_ACCOUNT_SID: account,
    TWILIO_AUTH_TOKEN: token,
    PUBLIC_URL: publicUrl,
    TWILIO_API: url,
  });

  test("a burst is one answer; sent again after 429; a repeated and a forged webhook do nothing", async () => {
    const limited: ApiAnswer = { status: 429, headers: { "retry-after": "1" }, body: { code: 20429 } };
    const created: ApiAnswer = { status: 201, body: { sid: `SM${"1".repeat(32)}`, status: "queued" } };
    const { place, server, api, bridge } = await crossing(
      "twilio.mjs",
      (_, count) => (count === 1 ? limited : created),
      env,
    );
    const first = { ...from, MessageSid: "SM1", Body: "hi & welcome = ü+1" };
    const answer = await sms(bridge, first);
    expect([answer.status, answer.headers.get("content-type"), await answer.text()]).toEqual([
      200,
      "text/xml",
      "<Response/>",
    ]);
    expect((await sms(bridge, first)).status).toBe(200);
    expect((await sms(bridge, { ...from, MessageSid: "SM9", Body: "forged" }, "another token")).status).toBe(401);
    const photo = { NumMedia: "1", MediaUrl0: "https://api.twilio.example/m", MediaContentType0: "image/jpeg" };
    expect((await sms(bridge, { ...from, ...photo, MessageSid: "SM2", Body: "my order is late" })).status).toBe(200);
    await until("second call of the API", () => api.calls.length > 1);
    const log = await place.rested(server, "sms:+15550002:+15550001", 60_000);
    expect(api.calls).toHaveLength(2);
    const [, sent] = api.calls;
    expect(sent).toMatchObject({ method: "POST", path: `/2010-04-01/Accounts/${account}/Messages.json` });
    expect(sent?.headers.authorization).toBe(`Basic ${Buffer.from(`${account}:${token}`).toString("base64")}`);
    expect(Object.fromEntries(new URLSearchParams(sent?.body))).toEqual({
      From: "+15550002",
      To: "+15550001",
      Body: "You wrote: hi & welcome = ü+1 / my order is late / https://api.twilio.example/m",
    });
    expect(log.filter(({ kind }) => kind === "message").map(({ id }) => id)).toEqual(["SM1", "SM2"]);
    expect(log.find(({ kind, state }) => kind === "receipt" && state === "sent")?.externalId).toBe(
      `SM${"1".repeat(32)}`,
    );
  });

  test("a number that has unsubscribed: refused for good, not tried again", async () => {
    const refused: ApiAnswer = {
      status: 400,
      body: { code: 21610, message: "Attempt to send to unsubscribed recipient" },
    };
    const { place, server, api, bridge } = await crossing("twilio.mjs", () => refused, env);
    await sms(bridge, { ...from, MessageSid: "SM1", Body: "hi" });
    await until("call of the API", () => api.calls.length > 0);
    const log = await place.rested(server, "sms:+15550002:+15550001", 60_000);
    expect(api.calls).toHaveLength(1);
    expect(log.some(({ kind, state }) => kind === "receipt" && state === "failed")).toBe(true);
  });
});

describe("Evolution API: WhatsApp", () => {
  const secret = "a long random text";
  const number = "5511999990000@s.whatsapp.net";
  const env = (url: string) => ({
    EVOLUTION_URL: url,
    EVOLUTION_KEY: "instance-token",
    EVOLUTION_WEBHOOK_SECRET: secret,
  });

  function upsert(bridge: Crossing["bridge"], key: object, message: object, authorization = `Bearer ${secret}`) {
    const body = {
      event: "messages.upsert",
      instance: "shop one",
      data: {
        key: { remoteJid: number, fromMe: false, ...key },
        pushName: "Ada",
        message,
        messageType: Object.keys(message)[0],
        messageTimestamp: Math.floor(Date.now() / 1_000),
      },
      destination: `${bridge.url}/platform`,
      date_time: new Date().toISOString(),
      sender: "5511888880000@s.whatsapp.net",
      server_url: "http://localhost:8080",
      apikey: "instance-token",
    };
    const headers = { "content-type": "application/json", authorization };
    return fetch(`${bridge.url}/platform`, { method: "POST", headers, body: JSON.stringify(body) });
  }

  test("a burst is one answer; its own echo is no human, a person on the telephone is; forged hooks do nothing", async () => {
    let echo: Promise<Response> | null = null;
    const sentKey = { id: "OUT1", fromMe: true };
    const run = await crossing(
      "evolution.mjs",
      ({ body }) => {
        // Evolution API tells of what was sent through it, and may do so before it answers.
        echo = upsert(run.bridge, sentKey, { conversation: (JSON.parse(body) as { text: string }).text });
        return { status: 201, body: { key: { remoteJid: number, ...sentKey }, status: "PENDING" } };
      },
      env,
    );
    const { place, server, api, bridge, prompts } = run;
    const conversation = `whatsapp:shop one:${number}`;
    expect((await upsert(bridge, { id: "F" }, { conversation: "forged" }, "Bearer other")).status).toBe(401);
    expect((await upsert(bridge, { id: "IN1" }, { conversation: "hi" })).status).toBe(200);
    await upsert(bridge, { id: "IN1" }, { conversation: "hi" });
    await upsert(bridge, { id: "R" }, { reactionMessage: { text: "👍" } });
    await upsert(bridge, { id: "S", remoteJid: "status@broadcast" }, { conversation: "status" });
    await upsert(bridge, { id: "IN2" }, { extendedTextMessage: { text: "my order is late" } });
    await until("call of the API", () => api.calls.length > 0);
    await place.rested(server, conversation, 60_000);
    expect((await (echo as unknown as Promise<Response>)).status).toBe(200);
    expect(api.calls).toHaveLength(1);
    expect(api.calls[0]).toMatchObject({ method: "POST", path: "/message/sendText/shop%20one" });
    expect(api.calls[0]?.headers.apikey).toBe("instance-token");
    expect(JSON.parse(api.calls[0]?.body as string)).toEqual({ number, text: "You wrote: hi / my order is late" });
    expect(prompts()).toContainEqual(["hi", "my order is late"]);
    // Somebody writes on, and the shop's owner answers on their own telephone before the bot does.
    await upsert(bridge, { id: "IN3" }, { conversation: "anyone there?" });
    await upsert(bridge, { id: "OUT2", fromMe: true }, { conversation: "Yes, me." });
    const log = await place.rested(server, conversation, 60_000);
    expect(log.filter(({ kind }) => kind === "human")).toMatchObject([{ id: "OUT2" }]);
    expect(api.calls).toHaveLength(1);
  });
});

describe("Chatwoot: an agent bot", () => {
  const secret = "the bot's webhook secret";
  const env = (url: string) => ({
    CHATWOOT_URL: `${url}/`,
    CHATWOOT_TOKEN: "bot-token",
    CHATWOOT_WEBHOOK_SECRET: secret,
  });
  const account = { id: 3, name: "Shop" };
  const contact = { id: 9, name: "Ada", type: "contact" };

  function hook(bridge: Crossing["bridge"], payload: object, sign = secret, ageSeconds = 0) {
    const body = JSON.stringify(payload);
    const at = String(Math.floor(Date.now() / 1_000) - ageSeconds);
    const signature = `sha256=${createHmac("sha256", sign).update(`${at}.${body}`).digest("hex")}`;
    return fetch(`${bridge.url}/platform`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-chatwoot-timestamp": at, "x-chatwoot-signature": signature },
      body,
    });
  }
  const message = (id: number, content: string, more: object = {}, status = "pending") => ({
    event: "message_created",
    id,
    content,
    message_type: "incoming",
    content_type: "text",
    private: false,
    created_at: new Date().toISOString(),
    sender: contact,
    account,
    conversation: { id: 17, inbox_id: 2, status, channel: "Channel::WebWidget" },
    ...more,
  });
  /** Events of conversations are the conversation itself. */
  const opened = (event: string, status: string) => ({ event, id: 17, inbox_id: 2, status, account, messages: [] });

  test("a burst is one answer; while people have the conversation it stays silent, then answers again", async () => {
    let sent = 100;
    const { place, server, api, bridge } = await crossing(
      "chatwoot.mjs",
      ({ body }) => {
        sent += 1;
        return { status: 200, body: { ...(JSON.parse(body) as object), id: sent } };
      },
      env,
    );
    const conversation = "chatwoot:3:17";
    // People had it once; the messages that follow say that the bot has it now.
    expect((await hook(bridge, opened("conversation_opened", "open"))).status, bridge.said()).toBe(200);
    expect((await hook(bridge, message(1, "forged"), "another secret")).status).toBe(401);
    expect((await hook(bridge, message(1, "old"), secret, 600)).status).toBe(401);
    for (const [id, text] of [
      [1, "hi"],
      [1, "hi"],
      [2, "my order is late"],
    ] as const)
      expect((await hook(bridge, message(id, text))).status).toBe(200);
    await until("call of the API", () => api.calls.length > 0);
    await place.rested(server, conversation, 60_000);
    expect(api.calls).toHaveLength(1);
    expect(api.calls[0]).toMatchObject({ method: "POST", path: "/api/v1/accounts/3/conversations/17/messages" });
    expect(api.calls[0]?.headers.api_access_token).toBe("bot-token");
    expect(JSON.parse(api.calls[0]?.body as string)).toEqual({
      content: "You wrote: hi / my order is late",
      message_type: "outgoing",
    });
    // Its own message comes back; a note among colleagues does, too.
    const bot = { message_type: "outgoing", sender: { id: 4, type: "agent_bot" } };
    await hook(bridge, message(101, "You wrote: hi / my order is late", bot));
    await hook(bridge, message(102, "careful, angry", { message_type: "outgoing", private: true }));
    // A person takes over and answers.
    await hook(bridge, opened("conversation_opened", "open"));
    await hook(bridge, message(3, "a human, please", {}, "open"));
    await hook(
      bridge,
      message(103, "Grace here.", { message_type: "outgoing", sender: { id: 5, type: "user" } }, "open"),
    );
    await hook(bridge, opened("conversation_resolved", "resolved"));
    await hook(bridge, message(4, "one more thing"));
    await until("second answer", () => api.calls.length > 1);
    const log = await place.rested(server, conversation, 60_000);
    expect(api.calls.slice(1).map(({ body }) => JSON.parse(body) as object)).toEqual([
      { content: "You wrote: one more thing", message_type: "outgoing" },
    ]);
    expect(log.filter(({ kind }) => kind === "human")).toMatchObject([{ id: "103" }]);
  });
});

describe("the typed client", () => {
  test("a chat on the command line: several lines at once, one answer; nothing is left waiting", async () => {
    const place = await openScene({
      settings: patient,
      model: (call) => ({ body: { text: `You wrote: ${textsOf(call.raw).join(" / ")}` } }),
    });
    onTestFinished(() => place.close());
    const server = await place.start("a", { LULL_DELIVER: "events" });
    // Node 20 runs no TypeScript: types are taken away first. In a folder from which `lull-server` is found.
    const { transpileModule } = createRequire(import.meta.url)("typescript") as typeof import("typescript");
    const source = readFileSync(join(root, "examples/typescript-client/chat.ts"), "utf8");
    const { outputText } = transpileModule(source, { compilerOptions: { module: 99, target: 9 } });
    mkdirSync(join(root, "node_modules/.cache"), { recursive: true });
    const folder = mkdtempSync(join(root, "node_modules/.cache/lull-client-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, "chat.mjs"), outputText);
    const chat = spawn(process.execPath, [join(folder, "chat.mjs")], {
      env: { PATH: process.env.PATH, LULL_URL: server.url },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const exited = once(chat, "exit");
    onTestFinished(async () => {
      chat.kill("SIGKILL");
      await exited;
    });
    let said = "";
    for (const stream of [chat.stdout, chat.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
    chat.stdin.end("hi\nmy order is late\n#1234\n");
    expect([await exited, said]).toEqual([[0, null], "bot: You wrote: hi / my order is late / #1234\n"]);
  });
});
