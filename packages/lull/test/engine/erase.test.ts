// Erasing conversations and authors.
import { describe, expect, it } from "vitest";
import { erasureOf } from "../../src/erase.ts";
import { type LogEntry, LullError, memory } from "../../src/index.ts";
import { bot } from "../support/bot.ts";

const logged = async (lull: { log(id: string): Promise<LogEntry[]> }, id: string) => JSON.stringify(await lull.log(id));

describe("eraseAuthor", () => {
  it("erases conversations whole in which nobody else wrote, and leaves those of others alone", async () => {
    const { lull, clock } = bot();
    await lull.start();
    await lull.receive("dm:ann", { id: "1", author: "ann", text: "my secret" });
    await lull.receive("dm:bob", { id: "1", author: "bob", text: "hello" });
    await lull.receive("dm:nobody", { id: "1", text: "hello" });
    await clock.advance(20_000);
    expect(await lull.eraseAuthor("ann")).toEqual({ erased: 1, rewritten: 0, busy: [] });
    expect(await lull.get("dm:ann")).toBe(null);
    expect(await logged(lull, "dm:bob")).toContain("hello");
    expect(await logged(lull, "dm:nobody")).toContain("hello");
    expect(await lull.eraseAuthor("ann")).toEqual({ erased: 0, rewritten: 0, busy: [] });
    await lull.stop();
  });

  it("in a group, takes the author's words and the answers to them, and keeps everybody else's", async () => {
    const { lull, clock, texts } = bot({
      respond: async (turn) => {
        await turn.once("look-up", () => ({ found: `by ${turn.text}` }));
        return `you said ${turn.text}`;
      },
    });
    await lull.start();
    await lull.receive("g", { id: "1", author: "bob", text: "bob one", metadata: { from: "bob" } });
    await clock.advance(20_000);
    await lull.receive("g", { id: "2", author: "ann", text: "ann one", metadata: { phone: "ann's" } });
    await lull.receive("g", { id: "3", author: "bob", text: "bob two" });
    await clock.advance(20_000);
    await lull.edit("g", "2", { text: "ann edited" });
    await lull.receive("g", { id: "4", author: "bob", text: "bob three" });
    await clock.advance(20_000);
    const before = await lull.log("g");
    expect(await lull.eraseAuthor("ann", { prefix: "g" })).toEqual({ erased: 0, rewritten: 1, busy: [] });
    const after = await lull.log("g");
    expect(JSON.stringify(after)).not.toMatch(/ann/);
    expect(after.map(({ seq, kind }) => [seq, kind])).toEqual(before.map(({ seq, kind }) => [seq, kind]));
    for (const kept of ["bob one", "you said bob one", "by bob one", "bob two", "bob three", "you said bob three"])
      expect(JSON.stringify(after)).toContain(kept);
    expect(after.find((entry) => entry.kind === "message" && entry.id === "2")).toMatchObject({
      parts: [],
      erased: true,
    });
    // The conversation goes on.
    await lull.receive("g", { id: "5", author: "bob", text: "bob four" });
    await clock.advance(20_000);
    expect(texts().at(-1)).toBe("you said bob four");
    await lull.stop();
  });

  it("takes back what is unanswered: the bot does not answer it any more", async () => {
    const { lull, clock, turns } = bot();
    await lull.start();
    await lull.receive("g", { id: "1", author: "ann", text: "ann one" });
    await lull.receive("g", { id: "2", author: "bob", text: "bob one" });
    await clock.advance(2_000);
    expect(turns.map(({ text }) => text)).toEqual(["ann one\nbob one"]);
    expect(await lull.eraseAuthor("ann")).toMatchObject({ rewritten: 1, busy: [] });
    await clock.advance(60_000);
    expect(turns.at(-1)?.text).toBe("bob one");
    expect(await logged(lull, "g")).not.toContain("ann one");
    await lull.stop();
  });

  it("waits for a reply on its way: told as busy, done when repeated", async () => {
    let sent: (() => void) | undefined;
    const { lull, clock } = bot({
      deliver: () => new Promise((resolve) => (sent = () => resolve({ status: "sent" }))),
    });
    await lull.start();
    await lull.receive("g", { id: "1", author: "ann", text: "ann one" });
    await lull.receive("g", { id: "2", author: "bob", text: "bob one" });
    await clock.advance(10_000);
    expect(await lull.eraseAuthor("ann")).toEqual({ erased: 0, rewritten: 0, busy: ["g"] });
    sent?.();
    await clock.advance(1_000);
    expect(await lull.eraseAuthor("ann")).toEqual({ erased: 0, rewritten: 1, busy: [] });
    expect(await logged(lull, "g")).not.toContain("ann one");
    await lull.stop();
  });

  it("also takes what a human agent wrote, and a human's answer to the author", async () => {
    const { lull } = bot();
    await lull.receive("g", { id: "1", author: "ann", text: "ann one" });
    await lull.receive("g", { id: "2", author: "bob", text: "bob one" });
    await lull.humanReply("g", { text: "dear both", author: "agent" });
    await lull.receive("g", { id: "3", author: "bob", text: "bob two" });
    await lull.humanReply("g", { text: "dear bob", author: "agent" });
    expect(await lull.eraseAuthor("ann")).toMatchObject({ rewritten: 1 });
    expect(await logged(lull, "g")).not.toMatch(/ann|dear both/);
    expect(await logged(lull, "g")).toContain("dear bob");
    expect(await lull.eraseAuthor("agent")).toMatchObject({ rewritten: 1 });
    expect(await logged(lull, "g")).not.toMatch(/dear bob|agent/);
    expect(await logged(lull, "g")).toContain("bob two");
  });

  it("refuses a shared conversation where the store cannot rewrite", async () => {
    const { rewrite: _, ...store } = memory();
    const { lull } = bot({ store });
    await lull.receive("g", { id: "1", author: "ann", text: "a" });
    await lull.receive("g", { id: "2", author: "bob", text: "b" });
    const error = await lull.eraseAuthor("ann").catch((reason: unknown) => reason);
    expect(LullError.isInstance(error) && error.code).toBe("unsupported");
  });
});

describe("erasureOf", () => {
  it("is null for a stranger", () => {
    expect(erasureOf([], "ann")).toBe(null);
  });

  it("counts an edit of the author's message as the author's, and one that came before its message", () => {
    const base = { atMs: 1, parts: [{ type: "text" as const, text: "x" }] };
    const log: LogEntry[] = [
      { kind: "message", seq: 1, id: "1", version: 1, author: "ann", ...base },
      { kind: "edit", seq: 2, id: "e", target: "1", version: 2, ...base },
      { kind: "edit", seq: 3, id: "f", target: "later", version: 3, author: "ann", ...base },
    ];
    const erasure = erasureOf(log, "ann");
    expect(erasure?.shared).toBe(false);
    expect(erasure?.entries.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(erasure?.messages.map(({ id }) => id)).toEqual(["1", "f"]);
  });
});
