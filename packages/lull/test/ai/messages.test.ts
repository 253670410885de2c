// Prompts: what of a conversation a model is shown, and in which shape.
import { generateText } from "ai";
import { historyOf, type MessageOptions, toModelMessages } from "lull/ai";
import { describe, expect, it } from "vitest";
import type { Input, LogEntry, Part, Turn } from "../../src/index.ts";
import { createWorld, type World } from "../scenarios/world.ts";
import { lines, type PromptPart, scripted } from "./support/model.ts";
import { bytesOf, strict } from "./support/strict.ts";

const text = (words: string): Part => ({ type: "text", text: words });

/** A world whose bot says what its prompt was; `prompts` are those of its runs, through the SDK to the model. */
function world(options: MessageOptions = {}, answer: (nth: number) => string | null = (nth) => `answer ${nth}`) {
  const prompts: string[][] = [];
  const parts: PromptPart[][] = [];
  const w: World = createWorld("memory", {
    options: { commands: { reset: ["/reset"] } },
    async model(turn, run) {
      const model = scripted({ check: strict, answer: () => "fine" });
      await generateText({ model, messages: await toModelMessages(turn, options), maxRetries: 0 });
      const prompt = model.calls[0]?.prompt ?? [];
      prompts.push(lines(prompt));
      const { content } = prompt.at(-1) ?? { content: "" };
      parts.push(typeof content === "string" ? [] : content);
      return answer(run.nth);
    },
  });
  return { w, prompts, parts };
}

describe("toModelMessages", () => {
  it("merges what one person typed, and alternates", async () => {
    const { w, prompts } = world();
    const one = await w.process("P1");
    await one.hears("m1", { text: "hi" });
    await one.hears("m2", { text: "my order is late" });
    await w.until(5_000);
    await one.hears("m3", { text: "#1234" });
    await w.until(10_000);
    expect(prompts).toEqual([
      ["user: hi\nmy order is late"],
      ["user: hi\nmy order is late", "assistant: answer 1", "user: #1234"],
    ]);
  });

  it("shows an answer behind what it answers, though other messages came before it was committed", async () => {
    const prompts: string[][] = [];
    const w = createWorld("memory", {
      options: { whenBusy: "queue" },
      async model(turn, run) {
        const model = scripted({ check: strict, answer: () => "fine" });
        await generateText({ model, messages: await toModelMessages(turn) });
        prompts.push(lines(model.calls[0]?.prompt ?? []));
        await run.think(3_000);
        return `answer ${run.nth}`;
      },
    });
    const one = await w.process("P1");
    await one.hears("m1", { text: "first" });
    await w.until(2_000);
    await one.hears("m2", { text: "second" });
    await w.until(20_000);
    await one.hears("m3", { text: "third" });
    await w.until(40_000);
    expect(prompts).toEqual([
      ["user: first"],
      ["user: first", "assistant: answer 1", "user: second"],
      ["user: first", "assistant: answer 1", "user: second", "assistant: answer 2", "user: third"],
    ]);
  });

  it("applies edits and retractions, also of what was answered; leaves out control words and silence", async () => {
    const { w, prompts } = world({}, (nth) => (nth === 2 ? null : `answer ${nth}`));
    const one = await w.process("P1");
    await one.hears("m1", { text: "one" });
    await one.hears("m2", { text: "two" });
    await w.until(5_000);
    await one.lull.edit("c", "m1", { text: "ONE" });
    await one.lull.retract("c", "m2");
    await one.hears("m3", { text: "three" });
    await w.until(10_000);
    await one.hears("m4", { text: "four" });
    await w.until(15_000);
    expect(prompts.at(-1)).toEqual(["user: ONE", "assistant: answer 1", "user: three\nfour"]);
    await one.hears("x", { text: "/reset" });
    await one.hears("m5", { text: "five" });
    await w.until(20_000);
    expect(prompts.at(-1)).toEqual(["user: five"]);
  });

  it("shows people who answered in the bot's place, and the bot's own messages once they were sent", async () => {
    const { w, prompts } = world();
    const one = await w.process("P1");
    await one.lull.send("c", { text: "Your parcel is here." });
    await w.until(1_000);
    await one.hears("m1", { text: "great" });
    await one.lull.humanReply("c", { text: "Ada: enjoy!" });
    await one.hears("m2", { text: "thanks" });
    await w.until(10_000);
    expect(prompts).toEqual([
      [
        "user: [the conversation begins with the assistant]",
        "assistant: Your parcel is here.",
        "user: great",
        "assistant: Ada: enjoy!",
        "user: thanks",
      ],
    ]);
  });

  it("has no blank text; what has no words has a place", async () => {
    const { w, prompts } = world({ data: () => null });
    const one = await w.process("P1");
    await one.hears("m1", { parts: [{ type: "data", data: { sticker: 7 } }] });
    await one.hears("m2", { text: "   " });
    await one.hears("m3", { text: "hi" });
    await w.until(10_000);
    expect(prompts).toEqual([["user: [a message without text]\n[a message without text]\nhi"]]);
    const told = world();
    await (await told.w.process("P1")).hears("m1", { parts: [{ type: "data", data: { sticker: 7 } }] });
    await told.w.until(10_000);
    expect(told.prompts).toEqual([['user: [data: {"sticker":7}]']]);
  });

  it("says who wrote and when, where asked", async () => {
    const { w, prompts } = world({ authors: (author) => author.toUpperCase(), times: true });
    const one = await w.process("P1");
    await one.hears("m1", { text: "hi", author: "ada", sentAt: "2025-06-15T15:06:00Z" });
    await one.hears("m2", { text: "ho", author: "bob", sentAt: "2025-06-15T15:06:30Z" });
    await w.until(10_000);
    expect(prompts).toEqual([["user: [2025-06-15 15:06] ADA: hi\n[2025-06-15 15:06] BOB: ho"]]);
    const named = world({ authors: true, times: () => "now" });
    await (await named.w.process("P1")).hears("m1", {
      author: "ada",
      parts: [{ type: "file", mediaType: "image/png", url: "https://files.example/a.png" }],
    });
    await named.w.until(10_000);
    expect(named.prompts).toEqual([["user: [now] ada: | <file>"]]);
  });

  it("keeps so many messages of the history", async () => {
    const { w, prompts } = world({ history: 2 });
    const one = await w.process("P1");
    for (const [at, id] of ["m1", "m2", "m3"].entries()) {
      await one.hears(id, { text: id });
      await w.until(5_000 * (at + 1));
    }
    expect(prompts.at(-1)).toEqual(["user: m2", "assistant: answer 2", "user: m3"]);
    const none = world({ history: 0 });
    await (await none.w.process("P1")).hears("m1", { text: "hi" });
    await none.w.until(5_000);
    expect(none.prompts).toEqual([["user: hi"]]);
  });
});

describe("files", () => {
  const bytes = Buffer.from("these are the bytes of a picture");
  const inline = `data:image/png;base64,${bytes.toString("base64")}`;
  const file = (more: Partial<Extract<Part, { type: "file" }>>): Part => ({
    type: "file",
    mediaType: "image/png",
    ...more,
  });

  async function shown(options: MessageOptions, ...given: Part[]): Promise<PromptPart[]> {
    const { w, parts } = world(options);
    await (await w.process("P1")).hears("m1", { parts: [text("look"), ...given] });
    await w.until(10_000);
    return (parts[0] ?? []).slice(1);
  }

  it("reach the model with their bytes, or where they are", async () => {
    const [first, second] = await shown({}, file({ url: inline }), file({ url: "https://files.example/a.png" }));
    expect(Buffer.from(bytesOf(first as PromptPart) as Uint8Array).equals(bytes)).toBe(true);
    expect(first?.mediaType).toBe("image/png");
    expect(String(bytesOf(second as PromptPart))).toBe("https://files.example/a.png");
  });

  it("are fetched by the author where it takes credentials", async () => {
    const fetchFile: MessageOptions["fetchFile"] = ({ ref }) =>
      JSON.stringify(ref) === '{"id":3}' ? new Uint8Array(bytes) : null;
    const [first, second] = await shown(
      { fetchFile },
      file({ ref: { id: 3 } }),
      file({ ref: { id: 4 }, filename: "b.png" }),
    );
    expect(Buffer.from(bytesOf(first as PromptPart) as Uint8Array).equals(bytes)).toBe(true);
    expect(second?.text).toBe("[file: b.png, image/png]");
  });

  it("that the model does not take, or that are nowhere, are named in words", async () => {
    for (const odd of [
      file({ mediaType: "application/zip", url: "https://files.example/a.zip" }),
      file({ ref: { id: 3 } }),
      file({ url: "tg://file/3" }),
      file({ url: "not a url" }),
      file({ url: "data:image/png,plain" }),
      file({ url: "data:image/png;base64," }),
    ]) {
      const { w, prompts } = world();
      await (await w.process("P1")).hears("m1", { parts: [odd] });
      await w.until(10_000);
      expect(prompts[0]?.[0]).toMatch(/^user: \[file: (image\/png|application\/zip)\]$/);
    }
  });

  it("of other kinds are handed on where the author says that the model takes them", async () => {
    const url = `data:application/pdf;base64,${bytes.toString("base64")}`;
    const message = { ...input("m", []), parts: [{ type: "file" as const, mediaType: "application/pdf; v=1", url }] };
    const [prompt] = await toModelMessages(fakeTurn([message]), { accepts: ["application/*"] });
    expect(prompt).toEqual({
      role: "user",
      content: [{ type: "file", mediaType: "application/pdf; v=1", data: bytes.toString("base64") }],
    });
  });

  it("of the history are named in words unless asked for: old links are dead links", async () => {
    for (const files of ["turn", "all", "none"] as const) {
      const { w, prompts } = world({ files });
      const one = await w.process("P1");
      await one.hears("m1", { parts: [text("a"), file({ url: "https://files.example/a.png", filename: "a.png" })] });
      await w.until(5_000);
      await one.hears("m2", { parts: [text("b"), file({ url: "https://files.example/b.png", filename: "b.png" })] });
      await w.until(10_000);
      const words = (name: string) => `\n[file: ${name}.png, image/png]`;
      expect([files, prompts.at(-1)]).toEqual([
        files,
        [
          `user: a${files === "all" ? " | <file>" : words("a")}`,
          "assistant: answer 1",
          `user: b${files === "none" ? words("b") : " | <file>"}`,
        ],
      ]);
    }
  });

  it("whose link is dead do not keep the turn from being answered", async () => {
    const { aiResponder } = await import("lull/ai");
    const told: string[][] = [];
    const w = createWorld("memory", {
      model(turn) {
        const model = scripted({ check: strict, answer: ({ prompt }) => String(told.push(lines(prompt))) });
        // The SDK fetches what the model does not take as a link, and refuses private addresses.
        return aiResponder({ model })(turn) as never;
      },
    });
    await (await w.process("P1")).hears("m1", { parts: [text("look"), file({ url: "http://127.0.0.1:1/a.png" })] });
    for (let tries = 0; tries < 100 && w.screen.length === 0; tries += 1) {
      await new Promise((go) => setTimeout(go, 10));
      await w.until(w.ms + 100);
    }
    expect(told).toEqual([["user: look\n[file: image/png]"]]);
  });
});

describe("historyOf", () => {
  let seq = 0;
  const entry = (body: object): LogEntry => ({ seq: ++seq, atMs: seq, ...body }) as LogEntry;
  const message = (id: string, version: number, words: string) =>
    entry({ kind: "message", id, version, parts: [text(words)] });
  const reply = (replyId: string, to: number, ...words: string[]) =>
    entry({ kind: "reply", replyId, fence: 1, from: 0, to, parts: words.map(text), cause: "turn", open: false });
  const receipt = (replyId: string, index: number, state: string) => entry({ kind: "receipt", replyId, index, state });
  const closed = (replyId: string, outcome: string) => entry({ kind: "closed", replyId, from: 0, to: 1, outcome });
  const said = (...log: LogEntry[]) =>
    historyOf(log).map(
      ({ role, parts }) => `${role}: ${parts.map((part) => (part.type === "text" ? part.text : "")).join("|")}`,
    );

  it("equals the screen: nothing withdrawn, cancelled or refused; what was cut stands", () => {
    const first = message("m1", 1, "hi");
    expect(said(first, reply("r1", 1, "a"), closed("r1", "withdrawn"), reply("r2", 1, "b"))).toEqual([
      "user: hi",
      "assistant: b",
    ]);
    expect(
      said(
        first,
        reply("r1", 1, "a", "b", "c"),
        receipt("r1", 0, "sent"),
        receipt("r1", 1, "unknown"),
        receipt("r1", 2, "cancelled"),
      ),
    ).toEqual(["user: hi", "assistant: a|b"]);
    expect(said(first, reply("r1", 1, "a"), receipt("r1", 0, "failed"), closed("r1", "failed"))).toEqual(["user: hi"]);
    const part = entry({ kind: "part", replyId: "r1", index: 1, part: text("b") });
    expect(said(first, reply("r1", 1, "a"), part, receipt("r1", 0, "sent"), closed("r1", "cut"))).toEqual([
      "user: hi",
      "assistant: a",
    ]);
  });

  it("keeps an edit of what was answered apart, unless it was only noted", () => {
    const edit = (aside?: "answered") =>
      entry({ kind: "edit", id: "e1", target: "m1", version: 2, parts: [text("ho")], ...(aside && { aside }) });
    expect(said(message("m1", 1, "hi"), reply("r1", 1, "a"), edit())).toEqual(["user: hi", "assistant: a", "user: ho"]);
    expect(said(message("m1", 1, "hi"), reply("r1", 1, "a"), edit("answered"))).toEqual(["user: ho", "assistant: a"]);
    expect(said(edit())).toEqual(["user: ho"]);
  });

  it("leaves entries it does not know alone, and messages nobody has sent yet", () => {
    const send = entry({ kind: "send", id: "s1", replyId: "r9", parts: [text("news")], when: "after-turn" });
    expect(said(send, entry({ kind: "something new" }))).toEqual([]);
    expect(said(send, receipt("r9", 0, "sent"))).toEqual(["assistant: news"]);
  });
});

function input(id: string, parts: Part[]): Input {
  return { id, version: 1_668, seq: 1, receivedAtMs: 1, parts, edited: false, incomplete: false };
}

function fakeTurn(messages: Input[], log: (n: number) => Promise<LogEntry[]> = async () => []): Turn {
  return { messages, effects: [], signal: new AbortController().signal, log } as unknown as Turn;
}

it("builds a prompt out of a long log", async () => {
  const log: LogEntry[] = [];
  for (let turn = 1; turn <= 1_667; turn += 1) {
    const at = { atMs: turn };
    log.push(
      { kind: "message", id: `m${turn}`, version: turn, parts: [text(`question ${turn}`)], seq: log.length + 1, ...at },
      {
        kind: "attempt",
        fence: turn,
        owner: "a",
        from: turn - 1,
        to: turn,
        attempt: 1,
        sealed: false,
        seq: log.length + 2,
        ...at,
      },
    );
    const reply = { replyId: `r${turn}`, from: turn - 1, to: turn };
    log.push(
      {
        kind: "reply",
        ...reply,
        fence: turn,
        parts: [text(`answer ${turn}`)],
        open: false,
        overtaken: false,
        cause: "turn",
        address: null,
        seq: log.length + 1,
        ...at,
      },
      { kind: "receipt", replyId: `r${turn}`, index: 0, state: "sent", seq: log.length + 2, ...at },
      { kind: "closed", ...reply, outcome: "delivered", seq: log.length + 3, ...at },
      { kind: "usage", fence: turn, tokens: 5, seq: log.length + 4, ...at },
    );
  }
  const asked: number[] = [];
  const turn = fakeTurn([input("m", [text("now")])], async (n) => {
    asked.push(n);
    return log.slice(-n);
  });
  expect(await toModelMessages(turn, { history: 4 })).toHaveLength(5);
  expect(asked).toEqual([32]);
  expect(log.length).toBeGreaterThan(10_000);
  const all = await toModelMessages(turn, { history: Number.MAX_SAFE_INTEGER });
  expect(all).toHaveLength(2 * 1_667 + 1);
});
