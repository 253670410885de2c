import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { type LogEntry, Lull, memory, type Turn } from "lull";
import { describe, expect, onTestFinished, test } from "vitest";
import { demo, demoAnswer } from "../src/respond/demo.ts";
import { history, merge, textOf } from "../src/respond/history.ts";
import { answerWith } from "../src/respond/openai.ts";

const text = (value: string) => [{ type: "text" as const, text: value }];
let seq = 0;
const entry = (body: object) => ({ seq: ++seq, atMs: 0, ...body }) as LogEntry;
const message = (id: string, more: object = {}) => entry({ kind: "message", id, version: 1, parts: text(id), ...more });
const reply = (replyId: string, ...parts: string[]) =>
  entry({
    kind: "reply",
    replyId,
    fence: 1,
    from: 0,
    to: 1,
    parts: parts.flatMap(text),
    open: false,
    overtaken: false,
    cause: "turn",
    address: null,
  });
const receipt = (replyId: string, index: number, state: string) => entry({ kind: "receipt", replyId, index, state });
const closed = (replyId: string, outcome: string) => entry({ kind: "closed", replyId, from: 0, to: 1, outcome });
const told = (log: LogEntry[]) => merge(history(log)).map(({ role, parts }) => `${role}: ${textOf(parts)}`);

describe("history", () => {
  test("alternates: bursts are one message, replies another", () => {
    expect(told([message("a"), message("b"), reply("r", "x", "y"), closed("r", "delivered"), message("c")])).toEqual([
      "user: a\nb",
      "assistant: x\ny",
      "user: c",
    ]);
  });

  test("edits and retractions are applied; an edit of what was answered is a message of its own", () => {
    const edit = (target: string, id: string, more: object = {}) =>
      entry({ kind: "edit", id, target, version: 2, parts: text(id), ...more });
    expect(
      told([
        message("a"),
        message("b"),
        edit("a", "a2"),
        entry({ kind: "retraction", id: "x", target: "b", version: 3 }),
      ]),
    ).toEqual(["user: a2"]);
    expect(told([message("a"), reply("r", "x"), edit("a", "a2")])).toEqual(["user: a", "assistant: x", "user: a2"]);
    expect(told([message("a"), reply("r", "x"), edit("a", "a2", { aside: "answered" })])).toEqual([
      "user: a2",
      "assistant: x",
    ]);
  });

  test("withdrawn replies and unsent parts were never read", () => {
    expect(told([message("a"), reply("r", "x"), closed("r", "withdrawn"), message("b"), reply("q", "y")])).toEqual([
      "user: a\nb",
      "assistant: y",
    ]);
    expect(
      told([
        message("a"),
        reply("r", "x", "y", "z"),
        receipt("r", 0, "sent"),
        receipt("r", 1, "unknown"),
        receipt("r", 2, "cancelled"),
        closed("r", "cancelled"),
      ]),
    ).toEqual(["user: a", "assistant: x\ny"]);
  });

  test("parts said later, humans and forgetting", () => {
    expect(
      told([
        reply("r", "x"),
        entry({ kind: "part", replyId: "r", index: 1, part: text("y")[0] }),
        entry({ kind: "human", id: "h", upTo: 1, parts: text("human") }),
      ]),
    ).toEqual(["assistant: x\ny\nhuman"]);
    expect(told([message("a"), entry({ kind: "reset", id: "s", forget: true }), message("b")])).toEqual(["user: b"]);
    expect(told([message("a"), entry({ kind: "reset", id: "s", forget: false }), message("b")])).toEqual([
      "user: a\nb",
    ]);
    expect(told([message("/stop", { aside: "command" }), message("b")])).toEqual(["user: b"]);
  });
});

const turn = (messages: object[], more: object = {}) =>
  ({
    conversation: "c",
    messages,
    signal: new AbortController().signal,
    log: async () => [message("before"), reply("r", "earlier")],
    spend: async () => ({ sinceMs: 0, tokens: 0 }),
    ...more,
  }) as unknown as Turn;
const input = (value: string, more: object = {}) => ({
  id: value,
  version: 1,
  seq: 1,
  receivedAtMs: 0,
  edited: false,
  incomplete: false,
  parts: text(value),
  ...more,
});

describe("the demo responder", () => {
  test("names every message and says that it is a demo", () => {
    const answer = demoAnswer([input("hi"), input("there", { edited: true })]);
    expect(answer).toBe(
      "[demo, no model is connected] One answer to 2 messages, read together:\n1. hi\n2. there (edited)",
    );
  });
  test("thinks for as long as the newest message asks, within reason", async () => {
    const asking = (thinkMs: unknown) => turn([input("hi")], { metadata: { thinkMs } as never });
    // A server whose own time would let the test run out.
    await expect(demo(3_600_000)(asking(0))).resolves.toMatch(/1\. hi$/);
    for (const unreasonable of [-1, 60_001, "0", null])
      await expect(demo(0)(asking(unreasonable))).resolves.toMatch(/1\. hi$/);
  });
  test("is written word by word where visitors of the web chat read along", async () => {
    const drafts: string[] = [];
    const draft = (text: unknown) => drafts.push(String(text));
    const answer = await demo(0)(
      turn([input("hi")], { draft, metadata: {}, address: { channel: "lull-chat" } } as never),
    );
    expect(drafts.at(-1)).toBe(answer);
    expect(drafts.length).toBeGreaterThan(5);
    for (const [index, text] of drafts.slice(1).entries()) expect(text.startsWith(drafts[index] as string)).toBe(true);
    await demo(0)(turn([input("hi")], { metadata: {}, draft: () => expect.unreachable("nobody reads along") }));
  });
  test("stops thinking when the turn is superseded", async () => {
    const abort = new AbortController();
    const answer = Promise.resolve(demo(60_000)(turn([input("hi")], { signal: abort.signal })));
    abort.abort();
    await expect(answer).rejects.toThrow();
  });
});

describe("the OpenAI-compatible responder", () => {
  /** An endpoint that records what it is asked. */
  function model(answer: (body: { messages: unknown[] }, signal: AbortSignal | undefined) => Promise<string>) {
    const asked: { messages: unknown[] }[] = [];
    const provider = createOpenAICompatible({
      name: "test",
      baseURL: "http://model.test/v1",
      apiKey: "key",
      fetch: (async (_: unknown, init: RequestInit) => {
        const body = JSON.parse(String(init.body));
        asked.push(body);
        const content = await answer(body, init.signal ?? undefined);
        return Response.json({
          id: "1",
          object: "chat.completion",
          created: 1,
          model: "m",
          choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content } }],
          usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        });
      }) as typeof fetch,
    });
    return { model: provider("m"), asked };
  }

  test("gives the history and the whole turn, once", async () => {
    const { model: m, asked } = model(async () => "hello");
    const respond = answerWith(m, { system: "be kind", historyEntries: 10 });
    const spent: number[] = [];
    const spend = async (tokens: number) => spent.push(tokens);
    expect(await respond(turn([input("a"), input("b")], { spend }))).toBe("hello");
    expect(spent, "what the endpoint says it cost").toEqual([2]);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.messages).toEqual([
      { role: "system", content: "be kind" },
      { role: "user", content: "before" },
      { role: "assistant", content: "earlier" },
      { role: "user", content: "a\nb" },
    ]);
  });

  test("streams to visitors of the web chat, who read along, and counts what it cost", async () => {
    const chunk = (more: object) =>
      `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "m", choices: [], ...more })}\n\n`;
    const choice = (delta: object, finish_reason: string | null = null) => ({
      choices: [{ index: 0, delta, finish_reason }],
    });
    const asked: { stream?: boolean; stream_options?: object }[] = [];
    const provider = createOpenAICompatible({
      name: "test",
      baseURL: "http://model.test/v1",
      includeUsage: true,
      fetch: (async (_: unknown, init: RequestInit) => {
        asked.push(JSON.parse(String(init.body)));
        const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
        const told = [
          choice({ role: "assistant", content: "Hel" }),
          choice({ content: "lo" }),
          choice({}, "stop"),
          { usage },
        ];
        return new Response(`${told.map(chunk).join("")}data: [DONE]\n\n`, {
          headers: { "content-type": "text/event-stream" },
        });
      }) as typeof fetch,
    });
    const lull = new Lull({
      store: memory(),
      debounce: { quietMs: 0, startMs: 0 },
      respond: answerWith(provider("m"), { historyEntries: 0 }),
      deliver: async () => ({ status: "sent" }),
    });
    onTestFinished(() => lull.stop({ timeoutMs: 0 }));
    const drafts: unknown[] = [];
    lull.on((event) => {
      if (event.type === "draft") drafts.push(event.part);
    });
    await lull.start();
    const { version } = (await lull.receive("c", { id: "m1", text: "hi", address: { channel: "lull-chat" } })) as {
      version: number;
    };
    expect(await lull.reply("c", version)).toMatchObject({ parts: text("Hello") });
    expect(drafts).toEqual([...text("Hel"), ...text("Hello")]);
    expect(asked).toMatchObject([{ stream: true, stream_options: { include_usage: true } }]);
    expect(await lull.log("c")).toContainEqual(expect.objectContaining({ kind: "usage", tokens: 7 }));
  });

  test("aborts the request with the turn, and leaves retries to the engine", async () => {
    const abort = new AbortController();
    const { model: m, asked } = model(
      (_, signal) =>
        new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason as Error))),
    );
    const answer = Promise.resolve(answerWith(m, { historyEntries: 0 })(turn([input("a")], { signal: abort.signal })));
    setTimeout(() => abort.abort(), 20);
    await expect(answer).rejects.toThrow();
    expect(asked).toHaveLength(1);
    const failing = model(async () => Promise.reject(new Error("down")));
    await expect(
      Promise.resolve(answerWith(failing.model, { historyEntries: 0 })(turn([input("a")]))),
    ).rejects.toThrow();
    expect(failing.asked).toHaveLength(1);
  });
});
