// What lull uses of the Chat SDK is there, in the release that is installed. A new release is allowed in package.json
// when this, and the tests beside it, pass with it: `node scripts/newest-chat.mjs`.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Chat, type ChatInstance, Message, parseMarkdown, type StateAdapter } from "chat";
import { describe, expect, it } from "vitest";
import type { ChatInside, ChatLike } from "../../src/chat-sdk/shapes.ts";
import { memoryState, quiet } from "./support.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const read = (path: string) => readFileSync(`${root}/${path}`, "utf8");

/** Compiles as long as a real Chat is what `withLull` asks for. */
export const fits = (chat: Chat): ChatLike => chat;
/** Compiles as long as what adapters call is what lull replaces. */
export const called: (keyof ChatInstance & keyof ChatInside)[] = [
  "getState",
  "processMessage",
  "handleIncomingMessage",
  "processMessageUpdated",
  "processMessageDeleted",
];

describe("the Chat SDK", () => {
  const bot = new Chat({ adapters: {}, state: memoryState() as StateAdapter, userName: "bot", logger: quiet });
  const inside = bot as unknown as ChatInside;

  it("is of a release that package.json allows", () => {
    const { version } = JSON.parse(read("node_modules/chat/package.json")) as { version: string };
    expect(JSON.parse(read("packages/lull/package.json")).peerDependencies.chat).toBe(">=4.41.0 <4.42.0");
    if (process.env["LULL_TEST_NEWEST"] === undefined) expect(version).toMatch(/^4\.41\./);
  });

  it("dispatches with a signal and a context, to whatever adapter it is given", () => {
    expect(inside.dispatchToHandlersWithSignal.length).toBe(5);
    expect(inside.createThread.length).toBeGreaterThanOrEqual(3);
    expect(inside.handleWebhook.length).toBe(3);
    expect(Array.isArray(inside.directMessageHandlers)).toBe(true);
    expect(inside.adapters).toBeInstanceOf(Map);
    expect(inside.initialized).toBe(false);
  });

  it("brings a message back from its JSON, with files that can be fetched again", () => {
    const message = new Message({
      id: "1",
      threadId: "t",
      text: "hi",
      formatted: parseMarkdown("hi"),
      raw: { a: 1 },
      author: { userId: "u", userName: "u", fullName: "U", isBot: false, isMe: false },
      metadata: { dateSent: new Date(1_000), edited: false },
      attachments: [{ type: "image", fetchMetadata: { id: "f" } }],
    });
    const adapter = { name: "x", rehydrateAttachment: (file: object) => ({ ...file, fetchData: async () => "bytes" }) };
    const back = inside.rehydrateMessage(JSON.parse(JSON.stringify(message.toJSON())), adapter as never);
    expect(back.metadata.dateSent).toEqual(new Date(1_000));
    expect(back.attachments[0]).toHaveProperty("fetchData");
    expect([back.text, back.raw]).toEqual(["hi", { a: 1 }]);
  });
});

describe("the example", () => {
  it("with lull differs from the one without by at most 6 lines", () => {
    const lines = (name: string) => read(`examples/chat-sdk/${name}.ts`).split("\n");
    const [before, after] = [lines("before"), lines("after")];
    const removed = before.filter((line) => !after.includes(line));
    const added = after.filter((line) => !before.includes(line));
    expect([...removed, ...added].length).toBeLessThanOrEqual(6);
    // The handler is untouched.
    expect(added.every((line) => /lull|store/i.test(line))).toBe(true);
    expect(removed).toEqual(['  concurrency: "burst",']);
  });
});
