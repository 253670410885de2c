import type { Delivery, Turn } from "lull";
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import { ConfigError, loadConfig } from "../src/config.ts";
import { createChannel } from "../src/deliver/index.ts";
import { retryAfterMs } from "../src/http.ts";
import { silent } from "../src/log.ts";
import { createRespond } from "../src/respond/index.ts";
import { newSecret, secretFault } from "../src/webhook.ts";
import { receiver } from "./support/receiver.ts";

async function configOf(flags: Record<string, string>) {
  return (await loadConfig({ env: {}, cwd: import.meta.dirname, flags })).config;
}

function delivery(more: Partial<Delivery> = {}): Delivery {
  return {
    conversation: "c",
    replyId: "r1",
    idempotencyKey: "r1:0",
    index: 0,
    count: 1,
    attempt: 1,
    covers: ["m1", "m2"],
    overtaken: false,
    cause: "turn",
    address: { chat: 1 },
    signal: new AbortController().signal,
    ...more,
  };
}

function turn(signal: AbortSignal = new AbortController().signal): Turn {
  const message = {
    id: "m1",
    version: 1,
    seq: 1,
    receivedAtMs: 0,
    edited: false,
    incomplete: false,
    parts: [{ type: "text", text: "hi" }],
  };
  return {
    conversation: "c",
    messages: [message],
    text: "hi",
    version: 1,
    attempt: 2,
    fence: 7,
    effects: [{ key: "pay", state: "done", value: 5 }],
    address: { chat: 1 },
    metadata: { a: 1 },
    crossed: null,
    deadlineMs: 1_800_000_000_000,
    ref: { conversation: "c", fence: 7, span: 1, deadlineMs: 1_800_000_000_000 },
    signal,
    log: async () => [],
    spend: async (tokens: number) => {
      if (tokens !== 12) throw new Error(`spent ${tokens}`);
      return { sinceMs: 0, tokens };
    },
  } as unknown as Turn;
}

describe("delivery by webhook", () => {
  const part = { type: "text" as const, text: "hello" };

  test("posts the part signed, with the idempotency key as its id; 2xx is sent", async () => {
    const [secret, old] = [newSecret(), newSecret()];
    const { url, seen } = await receiver((_, response) => response.end('{"id":"platform-9"}'));
    const channel = createChannel(await configOf({ deliver: url, webhookSecret: `${secret},${old}` }), silent);
    expect(await channel.deliver(part, delivery())).toEqual({ status: "sent", id: "platform-9" });
    const [request] = seen;
    for (const key of [secret, old])
      expect(new Webhook(key).verify(request?.text ?? "", request?.headers as Record<string, string>)).toEqual({
        conversation: "c",
        replyId: "r1",
        part: { index: 0, count: 1, type: "text", text: "hello" },
        idempotencyKey: "r1:0",
        attempt: 1,
        covers: ["m1", "m2"],
        overtaken: false,
        cause: "turn",
        address: { chat: 1 },
        metadata: {},
      });
    expect(request?.headers["webhook-id"]).toBe("r1:0");
  });

  test.each([
    [200, { status: "sent" }],
    [204, { status: "sent" }],
    [400, { status: "failed", error: "The webhook answered 400." }],
    [413, { status: "failed", error: "The webhook answered 413." }],
    [422, { status: "failed", error: "The webhook answered 422." }],
    [302, { status: "failed", retry: true, error: "The webhook answered 302; redirects are not followed." }],
    [401, { status: "failed", retry: true, error: "The webhook answered 401." }],
    [404, { status: "failed", retry: true, error: "The webhook answered 404." }],
    [500, { status: "failed", retry: true, error: "The webhook answered 500." }],
  ])("%d → %o", async (status, receipt) => {
    const { url } = await receiver((_, response) => response.writeHead(status, { location: "/other" }).end());
    const channel = createChannel(await configOf({ deliver: url }), silent);
    expect(await channel.deliver(part, delivery())).toEqual(receipt);
  });

  test("Retry-After is handed on", async () => {
    const { url } = await receiver((_, response) => response.writeHead(429, { "retry-after": "7" }).end());
    const channel = createChannel(await configOf({ deliver: url }), silent);
    expect(await channel.deliver(part, delivery())).toMatchObject({ retry: true, retryAfterMs: 7_000 });
    expect(retryAfterMs("Thu, 01 Jan 1970 00:01:00 GMT", 10_000)).toBe(50_000);
    expect(retryAfterMs("Thu, 01 Jan 1970 00:00:01 GMT", 10_000)).toBe(0);
    expect(retryAfterMs("soon", 0)).toBeUndefined();
  });

  test("410 disables the webhook, loudly", async () => {
    const errors: string[] = [];
    const { url, seen } = await receiver((_, response) => response.writeHead(410).end());
    const log = { ...silent, error: (_: object, message: string) => errors.push(message) };
    const channel = createChannel(await configOf({ deliver: url }), log);
    expect(await channel.deliver(part, delivery())).toMatchObject({ status: "failed" });
    expect(await channel.deliver(part, delivery())).toMatchObject({
      status: "failed",
      error: expect.stringContaining("disabled"),
    });
    expect(seen.length).toBe(1);
    expect(errors[0]).toContain("DISABLED");
  });

  test("no connection is a refusal; a connection lost after sending, or silence, is unknown", async () => {
    const refused = createChannel(await configOf({ deliver: "http://127.0.0.1:1/" }), silent);
    expect(await refused.deliver(part, delivery())).toEqual({
      status: "failed",
      retry: true,
      error: "127.0.0.1:1: ECONNREFUSED",
    });
    const broken = await receiver((_, response) => response.destroy());
    const lost = createChannel(await configOf({ deliver: broken.url }), silent);
    expect(await lost.deliver(part, delivery())).toMatchObject({ status: "unknown" });
    const silentReceiver = await receiver(() => {});
    const late = createChannel(await configOf({ deliver: silentReceiver.url, deliverTimeoutMs: "50" }), silent);
    expect(await late.deliver(part, delivery())).toMatchObject({ status: "unknown" });
  });

  test("an authorization header in place of a signature", async () => {
    const { url, seen } = await receiver((_, response) => response.end());
    const channel = createChannel(await configOf({ deliver: url, webhookAuthorization: "Bearer abc" }), silent);
    await channel.deliver(part, delivery());
    expect(seen[0]?.headers.authorization).toBe("Bearer abc");
    expect(seen[0]?.headers["webhook-signature"]).toBeUndefined();
  });
});

describe("answering by webhook", () => {
  const answer = async (text: string, status = 200) => {
    const { url, seen } = await receiver((_, response) => response.writeHead(status, { location: "/x" }).end(text));
    const respond = createRespond(await configOf({ respond: url, webhookSecret: newSecret() }));
    return { result: Promise.resolve(respond?.(turn())), seen };
  };

  test("hands over the turn and takes text, parts or silence", async () => {
    const { result, seen } = await answer('{"text":"hello"}');
    expect(await result).toEqual({ text: "hello" });
    expect(JSON.parse(seen[0]?.text ?? "")).toMatchObject({
      conversation: "c",
      version: 1,
      attempt: 2,
      fence: 7,
      messages: [{ id: "m1", parts: [{ type: "text", text: "hi" }], receivedAt: "1970-01-01T00:00:00.000Z" }],
      log: [],
      effects: [{ key: "pay", state: "done", value: 5 }],
      address: { chat: 1 },
      metadata: { a: 1 },
      turn: { token: expect.any(String), deadlineAt: "2027-01-15T08:00:00.000Z" },
    });
    expect(seen[0]?.headers["webhook-signature"]).toMatch(/^v1,/);
    expect(await (await answer('{"parts":["a",{"type":"text","text":"b"}],"metadata":{"x":1}}')).result).toEqual({
      parts: ["a", { type: "text", text: "b" }],
      metadata: { x: 1 },
    });
    expect(await (await answer('{"silent":true}')).result).toBeNull();
    expect(await (await answer('{"text":"hello","tokens":12}')).result).toEqual({ text: "hello" });
    await expect((await answer('{"text":"hello","tokens":13}')).result, "told to the turn").rejects.toThrow("spent 13");
    await expect((await answer('{"text":"hello","tokens":-1}')).result).rejects.toThrow("neither");
  });

  test.each([
    ["{", 200, "not JSON"],
    ["{}", 200, "neither"],
    ['{"text":""}', 200, "neither"],
    ['{"silent":false}', 200, "neither"],
    ['{"text":"x"}', 500, "answered 500"],
    ["", 302, "redirects are not followed"],
  ])("%s with %d is an error that says so", async (text, status, told) => {
    await expect((await answer(text, status)).result).rejects.toThrow(told);
  });

  test("the request is closed when the turn is superseded", async () => {
    const { url, seen, cut } = await receiver(() => {});
    const respond = createRespond(await configOf({ respond: url }));
    const abort = new AbortController();
    const result = Promise.resolve(respond?.(turn(abort.signal)));
    const failed = expect(result).rejects.toThrow("stopped waiting");
    while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    abort.abort();
    await failed;
    while (cut.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  test("202: the answer comes later, through the turn's token", async () => {
    const elsewhere = new Error("elsewhere");
    const { url } = await receiver((_, response) => response.writeHead(202).end("on its way"));
    const respond = createRespond(await configOf({ respond: url }));
    const given = { ...turn(), elsewhere: () => Promise.reject(elsewhere) } as Turn;
    await expect(Promise.resolve(respond?.(given))).rejects.toBe(elsewhere);
  });
});

describe("settings of webhooks", () => {
  test.each([
    ["hello", "must begin with whsec_"],
    ["whsec_hello!", "must be base64"],
    ["whsec_aGVsbG8=", "at least 24 bytes; it holds 5"],
  ])("the secret %s is refused", (secret, told) => {
    expect(secretFault(secret)).toContain(told);
  });
  test("a made secret is taken", () => {
    expect(secretFault(newSecret())).toBeNull();
  });
  test.each([
    [{ deliver: "https://bot.example/hook" }, "LULL_WEBHOOK_SECRET"],
    [{ deliver: "https://user:pass@bot.example/hook" }, "must not carry a password"],
    [{ deliver: "ftp://x" }, "deliver must be events"],
    [{ respond: "opnai" }, "Did you mean openai?"],
    [{ respond: "openai" }, "LULL_MODEL"],
    [{ deliver: "http://127.0.0.1/", webhookSecret: "whsec_abc" }, "webhookSecret: value 1"],
  ])("%o is refused", async (flags, told) => {
    const config = await configOf(flags as Record<string, string>);
    const start = () => [createRespond(config), createChannel(config, silent)];
    expect(start).toThrow(ConfigError);
    expect(start).toThrow(told);
    expect(start).not.toThrow("pass@");
  });
});
