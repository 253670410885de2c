/**
 * Webhooks that take a turn with 202 and come back: every route of a turn, and who may not use it.
 */
import type http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { loadConfig } from "../src/config.ts";
import { silent } from "../src/log.ts";
import { createServer } from "../src/server.ts";
import { createTokens } from "../src/tokens.ts";
import { newSecret } from "../src/webhook.ts";
import { receiver, type Seen } from "./support/receiver.ts";

interface Called {
  conversation: string;
  fence: number;
  attempt: number;
  messages: { id: string }[];
  effects: unknown[];
  turn: { token: string; deadlineAt: string };
}

async function bot(
  flags: Record<string, string> = {},
  deliver: (seen: Seen, response: http.ServerResponse, count: number) => void = (_, response) => response.end(),
) {
  const model = await receiver((_, response) => response.writeHead(202).end());
  const channel = await receiver(deliver);
  const { config } = await loadConfig({
    env: {},
    cwd: import.meta.dirname,
    flags: {
      port: "0",
      store: "memory:",
      quietMs: "300",
      startMs: "50",
      scanMs: "50",
      stopTimeoutMs: "400",
      backoffFirstMs: "20",
      deliverBackoffFirstMs: "20",
      webhookSecret: newSecret(),
      respond: model.url,
      deliver: channel.url,
      ...flags,
    },
  });
  const server = await createServer(config, silent);
  onTestFinished(() => server.stop());
  const call = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(server.url + path, {
      method,
      headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
    const answer: any = text === "" ? null : JSON.parse(text);
    return { status: response.status, headers: response.headers, answer };
  };
  const say = (id: string, conversation = "c") => call("POST", "/v1/messages", { conversation, id, text: id });
  const called = (n: number) =>
    vi.waitFor(() => {
      expect(model.seen.length).toBeGreaterThanOrEqual(n);
      return JSON.parse(model.seen[n - 1]?.text ?? "") as Called;
    }, 10_000);
  const turn = async (n = 1) => `/v1/turns/${(await called(n)).turn.token}`;
  const rest = () => vi.waitFor(async () => expect((await server.lull.get("c"))?.state).toBe("resting"), 10_000);
  const delivered = () => channel.seen.map(({ text }) => JSON.parse(text));
  return { server, config, model, channel, call, say, called, turn, rest, delivered };
}

describe("a webhook that answered 202", () => {
  test("replies when it is ready; the answer is delivered once, and told as it was when asked again", async () => {
    const { call, say, turn, rest, delivered } = await bot();
    await say("m1");
    const path = await turn();
    const committed = await call("POST", `${path}/reply?wait=5`, { text: "hello", metadata: { a: 1 } });
    expect(committed).toMatchObject({ status: 200, answer: { status: "committed", duplicate: false } });
    await rest();
    expect(delivered()).toMatchObject([{ part: { text: "hello" }, covers: ["m1"], metadata: { a: 1 } }]);
    const again = await call("POST", `${path}/reply`, { text: "other" });
    expect(again.answer).toEqual({ ...committed.answer, duplicate: true });
    expect((await call("GET", path)).answer).toMatchObject({ wanted: false, reason: "answered", newer: [] });
    expect(delivered()).toHaveLength(1);
  });

  test("is told when to come back: 425 with the time, and Retry-After", async () => {
    const { call, say, turn } = await bot({ quietMs: "3000" });
    await say("m1");
    const { status, answer, headers } = await call("POST", `${await turn()}/reply`, { text: "hello" });
    expect({ status, answer }).toMatchObject({ status: 425, answer: { code: "early", title: "Too Early" } });
    const inMs = Date.parse(answer.at) - Date.now();
    expect(inMs).toBeGreaterThan(500);
    expect(inMs).toBeLessThan(3_000);
    expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  });

  test("learns that newer messages came, and is refused: 409", async () => {
    const { call, say, turn, called, rest, delivered } = await bot();
    await say("m1");
    const path = await turn();
    expect((await call("GET", path)).answer).toMatchObject({ wanted: true, reason: null, version: 1, newer: [] });
    await say("m2");
    const second = await called(2);
    expect(second.messages.map(({ id }) => id)).toEqual(["m1", "m2"]);
    expect((await call("GET", path)).answer).toMatchObject({ wanted: false, reason: "superseded" });
    for (const [method, route, body] of [
      ["POST", "reply?wait=2", { text: "stale" }],
      ["POST", "parts?wait=2", { text: "stale" }],
      ["POST", "seal", undefined],
      ["POST", "absorb", undefined],
      ["POST", "fail", { error: "x" }],
      ["PUT", "effects/k", { state: "begun" }],
    ] as const)
      expect([route, await call(method, `${path}/${route}`, body)]).toMatchObject([
        route,
        { status: 409, answer: { code: "superseded" } },
      ]);
    await call("POST", `${await turn(2)}/reply?wait=5`, { text: "both" });
    await rest();
    expect(delivered()).toMatchObject([{ part: { text: "both" }, covers: ["m1", "m2"] }]);
  });

  test("may stay silent, or say that it failed", async () => {
    const { server, call, say, turn, rest, delivered } = await bot();
    await say("m1");
    const failed = await call("POST", `${await turn()}/fail`, { error: "the model is away", retryAfterMs: 10 });
    expect(failed).toMatchObject({ status: 200, answer: { status: "retry" } });
    expect((await call("POST", `${await turn()}/reply`, { text: "x" })).answer.code).toBe("lost");
    const silence = await call("POST", `${await turn(2)}/reply?wait=5`, { silent: true });
    expect(silence.answer).toEqual({ status: "committed", replyId: null, duplicate: false });
    await rest();
    expect(delivered()).toEqual([]);
    expect(await server.lull.explain("c")).toEqual(
      expect.arrayContaining([expect.stringContaining("the model is away"), expect.stringContaining("stay silent")]),
    );
  });

  test("says part by part, and learns what became of each", async () => {
    const { call, say, turn, rest, delivered } = await bot({}, (_, response, count) =>
      response.writeHead(count === 2 ? 503 : 200).end(),
    );
    await say("m1");
    const path = await turn();
    const first = await call("POST", `${path}/parts?wait=5`, { text: "one" });
    expect(first).toMatchObject({ status: 200, answer: { index: 0, state: "sent" } });
    // Newer messages do not discard what users have seen a part of.
    await say("m2");
    const second = await call("POST", `${path}/parts?wait=5`, { part: { type: "text", text: "two" }, index: 1 });
    expect(second.answer).toMatchObject({ index: 1, state: "sent", replyId: first.answer.replyId });
    const again = await call("POST", `${path}/parts`, { text: "two", index: 1 });
    expect(again.answer).toEqual(second.answer);
    expect(await call("POST", `${path}/parts`, { text: "nine", index: 9 })).toMatchObject({
      status: 400,
      answer: { field: "index" },
    });
    expect((await call("GET", path)).answer).toMatchObject({
      wanted: true,
      sealed: true,
      newer: [{ id: "m2" }],
      reply: { open: true, parts: ["sent", "sent"] },
    });
    expect((await call("POST", `${path}/reply`, { parts: ["three"] })).status).toBe(200);
    await vi.waitFor(() => expect(delivered().map(({ part }) => part.text)).toEqual(["one", "two", "two", "three"]));
    await call("POST", `${await turn(2)}/reply?wait=5`, { silent: true });
    await rest();
  });

  test("does a thing once: the next attempt is given the result", async () => {
    const { call, say, turn, called, rest } = await bot();
    await say("m1");
    const path = await turn();
    const look = await call("PUT", `${path}/effects/look`, { state: "begun", readOnly: true });
    expect(look).toMatchObject({ status: 200, answer: { state: "run", inDoubt: false } });
    expect((await call("PUT", `${path}/effects/look`, { state: "failed" })).answer.state).toBe("dropped");
    const begun = await call("PUT", `${path}/effects/book?wait=5`, { state: "begun" });
    expect(begun.answer).toMatchObject({ key: "book", state: "run", inDoubt: false });
    expect(begun.answer.idempotencyKey).toMatch(/^c:\d+:book$/);
    const done = await call("PUT", `${path}/effects/book`, { state: "done", value: { room: 7 } });
    expect(done.answer).toEqual({ key: "book", state: "recorded" });
    await say("m2");
    const second = await called(2);
    expect(second.effects).toEqual([{ key: "book", state: "done", value: { room: 7 } }]);
    const known = await call("PUT", `${await turn(2)}/effects/book?wait=5`, { state: "begun" });
    expect(known.answer).toMatchObject({
      state: "done",
      value: { room: 7 },
      idempotencyKey: begun.answer.idempotencyKey,
    });
    await call("POST", `${await turn(2)}/reply?wait=5`, { text: "booked" });
    await rest();
    // A result that comes in late is still recorded.
    expect((await call("PUT", `${path}/effects/mail`, { state: "done", value: 1 })).answer.state).toBe("late");
  });

  test("is told that an earlier attempt's tool is still under way: 409 with the time, until it is not", async () => {
    const { call, say, turn, called, model } = await bot({ leaseMs: "1000", renewMs: "300" });
    await say("m1");
    const path = await turn();
    await call("PUT", `${path}/effects/book?wait=5`, { state: "begun" });
    await say("m2");
    await sleep(600);
    // The turn starts over when the tool has ended, or nobody says any more that it is under way.
    for (let at = 0; at < 3; at += 1) {
      expect((await call("POST", `${path}/renew`)).status).toBe(204);
      await sleep(500);
    }
    expect(model.seen).toHaveLength(1);
    expect((await called(2)).effects).toEqual([{ key: "book", state: "unknown" }]);
    const again = await call("PUT", `${await turn(2)}/effects/book?wait=5`, { state: "begun" });
    expect(again.answer).toMatchObject({ state: "run", inDoubt: true });
  });

  test("seals, and takes newer messages in", async () => {
    const { call, say, turn, rest, delivered } = await bot({ whenBusy: "steer", startMs: "0" });
    await say("m1");
    const path = await turn();
    await say("m2");
    expect((await call("POST", `${path}/absorb`)).answer.messages).toMatchObject([{ id: "m1" }, { id: "m2" }]);
    expect((await call("POST", `${path}/seal?wait=5`)).status).toBe(204);
    await say("m3");
    expect((await call("POST", `${path}/reply`, { text: "both" })).status).toBe(200);
    await vi.waitFor(() => expect(delivered()).toMatchObject([{ covers: ["m1", "m2"], overtaken: true }]));
    await call("POST", `${await turn(2)}/reply?wait=5`, { silent: true });
    await rest();
  });

  test("a deadline that passes without an answer is a failed attempt", async () => {
    const { call, say, turn, called } = await bot({ turnTimeoutMs: "600", leaseMs: "600", renewMs: "200" });
    await say("m1");
    const path = await turn();
    expect((await called(2)).attempt).toBe(2);
    expect((await call("POST", `${path}/reply`, { text: "late" })).answer.code).toMatch(/^(lost|timed-out)$/);
  });
});

describe("a conversation's own settings", () => {
  test("by the API, by a webhook's answer and by a later reply; null takes them back", async () => {
    const { server, call, say, turn, rest } = await bot();
    const tuning = async () => (await server.lull.get("c"))?.record.tuning;
    const put = (body: unknown) => call("PUT", "/v1/conversations/c/settings", body);
    expect((await put({ debounce: "snappy", whenBusy: "queue", by: "ops" })).status).toBe(204);
    expect(await tuning()).toEqual({ quietMs: 3_000, startMs: 1_000, maxWaitMs: 45_000, whenBusy: "queue" });
    expect((await put({ debounce: { quietMs: 100, startMs: 50 }, whenBusy: null })).status).toBe(204);
    expect(await tuning()).toEqual({ quietMs: 100, startMs: 50, maxWaitMs: 45_000 });
    expect(await put({ debounce: { quietMs: 5, startMs: 9 } })).toMatchObject({
      status: 400,
      answer: { field: "debounce" },
    });
    await say("m1");
    const settings = { debounce: null, whenBusy: "steer" };
    const replied = await call("POST", `${await turn()}/reply?wait=5`, { text: "ok", settings });
    expect(replied.status).toBe(200);
    await rest();
    expect(await tuning()).toEqual({ whenBusy: "steer" });
  });

  test("set by the answer itself are in force from the next message on", async () => {
    const model = await receiver((_, response) => response.end('{"text":"ok","settings":{"debounce":{"quietMs":77}}}'));
    const { server, say, rest } = await bot({ respond: model.url });
    await say("m1");
    await rest();
    expect((await server.lull.get("c"))?.record.tuning).toEqual({ quietMs: 77, startMs: 77, maxWaitMs: 45_000 });
  });
});

describe("tokens", () => {
  test("forged, altered, of another secret, of another bot, and none at all: 403, and nothing happens", async () => {
    const { server, config, call, say, called, turn } = await bot();
    await say("m1");
    const { turn: given, conversation, fence } = await called(1);
    const [claims = "", signature = ""] = given.token.split(".");
    const ref = { conversation, fence, span: 1, deadlineMs: Date.now() + 60_000 };
    const flipped = `${signature.slice(0, -2)}${signature.at(-2) === "A" ? "B" : "A"}${signature.at(-1)}`;
    const others = Buffer.from(JSON.stringify(["", "another", fence, 1, ref.deadlineMs])).toString("base64url");
    for (const token of [
      "x",
      claims,
      `${claims}.`,
      `${claims}.${flipped}`,
      `${claims}.${signature}.`,
      `${claims}.${signature}x`,
      `${others}.${signature}`,
      createTokens("", { webhookSecret: [newSecret()] }).make(ref),
      createTokens("shop", config).make(ref),
      `${Buffer.from("{").toString("base64url")}.${signature}`,
    ]) {
      const { status, answer } = await call("POST", `/v1/turns/${encodeURIComponent(token)}/reply`, { text: "x" });
      expect([token, status, answer]).toMatchObject([token, 403, { code: "invalid-token", field: "token" }]);
    }
    expect((await server.lull.get("c"))?.lease?.fence).toBe(fence);
    expect((await call("POST", `${await turn()}/reply?wait=5`, { text: "x" })).status).toBe(200);
  });

  test("another conversation's token answers that conversation, and no other", async () => {
    const { server, call, say, model, delivered } = await bot();
    await say("m1", "c");
    await say("m1", "d");
    await vi.waitFor(() => expect(model.seen).toHaveLength(2), 5_000);
    const calls = model.seen.map(({ text }) => JSON.parse(text) as Called);
    const d = calls.find(({ conversation }) => conversation === "d") as Called;
    expect((await call("POST", `/v1/turns/${d.turn.token}/reply?wait=5`, { text: "for d" })).status).toBe(200);
    await vi.waitFor(() => expect(delivered()).toMatchObject([{ conversation: "d" }]));
    expect((await server.lull.get("c"))?.answered).toBe(0);
  });

  test("a token of a turn that is over is refused whatever it asks for, and reads nothing", async () => {
    const { call, say, turn, called, rest } = await bot();
    await say("m1");
    const old = await turn();
    await call("POST", `${old}/reply?wait=5`, { text: "x" });
    await rest();
    await say("m2");
    await called(2);
    expect((await call("POST", `${old}/parts`, { text: "replayed" })).answer.code).toBe("answered");
    expect((await call("PUT", `${old}/effects/k`, { state: "begun" })).answer.code).toBe("answered");
    const { answer } = await call("GET", old);
    expect(answer).toEqual({
      wanted: false,
      reason: "answered",
      version: null,
      newer: [],
      effects: [],
      sealed: false,
      quietAt: null,
      deadlineAt: null,
      reply: null,
    });
  });

  test("a day after its turn's deadline a token is good for nothing", async () => {
    const { config, call } = await bot();
    const deadlineMs = Date.now() - 86_400_000 - 1_000;
    const token = createTokens("", config).make({ conversation: "c", fence: 1, span: 1, deadlineMs });
    for (const [method, route, body] of [
      ["GET", "", undefined],
      ["PUT", "/effects/k", { state: "done", value: 1 }],
    ] as const)
      expect(await call(method, `/v1/turns/${token}${route}`, body)).toMatchObject({
        status: 403,
        answer: { code: "token-expired" },
      });
  });

  test("while a secret is rotated, tokens of both are good", async () => {
    const [fresh, old] = [newSecret(), newSecret()];
    const ref = { conversation: "c", fence: 7, span: 1, deadlineMs: 1_000 };
    const both = createTokens("", { webhookSecret: [fresh, old] });
    expect(both.read(createTokens("", { webhookSecret: [old] }).make(ref), 0)).toEqual(ref);
    expect(both.make(ref)).toBe(createTokens("", { webhookSecret: [fresh] }).make(ref));
    expect(() =>
      createTokens("", { webhookSecret: [fresh] }).read(createTokens("", { webhookSecret: [old] }).make(ref), 0),
    ).toThrow("no token of this server");
  });

  test("a key is not needed, but one that is sent along must fit", async () => {
    const keys = { web: "w".repeat(16), eye: "r".repeat(16) };
    const { call, server, called } = await bot({ apiKeys: `web:send:${keys.web},eye:read:${keys.eye}` });
    await call("POST", "/v1/messages", { conversation: "c", text: "hi" }, { authorization: `Bearer ${keys.web}` });
    const path = `/v1/turns/${(await called(1)).turn.token}`;
    const as = (secret: string) => call("GET", path, undefined, { authorization: `Bearer ${secret}` });
    expect((await as("x".repeat(16))).status).toBe(401);
    expect((await as(keys.eye)).status).toBe(403);
    expect((await as(keys.web)).status).toBe(200);
    expect((await call("POST", `${path}/reply?wait=5`, { text: "x" })).status).toBe(200);
    await vi.waitFor(async () => expect((await server.lull.get("c"))?.state).toBe("resting"));
  });
});
