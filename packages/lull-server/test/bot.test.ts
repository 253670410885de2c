/**
 * A whole bot: the server, a webhook that answers, a webhook that delivers.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { loadConfig } from "../src/config.ts";
import { silent } from "../src/log.ts";
import { createServer } from "../src/server.ts";
import { newSecret } from "../src/webhook.ts";
import { receiver } from "./support/receiver.ts";

async function bot(flags: Record<string, string>) {
  const { config } = await loadConfig({
    env: {},
    cwd: import.meta.dirname,
    flags: {
      port: "0",
      store: "memory:",
      quietMs: "300",
      startMs: "100",
      scanMs: "50",
      backoffFirstMs: "20",
      deliverBackoffFirstMs: "20",
      webhookSecret: newSecret(),
      ...flags,
    },
  });
  const server = await createServer(config, silent);
  onTestFinished(() => server.stop());
  const say = (id: string) =>
    fetch(`${server.url}/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ conversation: "c", id, text: id, address: { chat: 7 } }),
    });
  const rest = (state = "resting") =>
    vi.waitFor(async () => expect((await server.lull.get("c"))?.state).toBe(state), 10_000);
  return { server, say, rest };
}
const bodies = (seen: { text: string }[]) => seen.map(({ text }) => JSON.parse(text));

describe("a bot behind webhooks", () => {
  test("three quick messages: one call, one delivery", async () => {
    const model = await receiver((_, response) => response.end('{"text":"hello"}'));
    const channel = await receiver((_, response) => response.end());
    // The model starts after all of the quiet, so that a busy machine's gaps start no call of their own.
    const { say, rest } = await bot({ respond: model.url, deliver: channel.url, startMs: "1000", quietMs: "1000" });
    for (const id of ["m1", "m2", "m3"]) {
      await say(id);
      await sleep(40);
    }
    await rest();
    expect(bodies(model.seen).map(({ messages }) => messages.map(({ id }: { id: string }) => id))).toEqual([
      ["m1", "m2", "m3"],
    ]);
    expect(bodies(channel.seen)).toMatchObject([
      {
        conversation: "c",
        part: { index: 0, count: 1, type: "text", text: "hello" },
        covers: ["m1", "m2", "m3"],
        overtaken: false,
        address: { chat: 7 },
      },
    ]);
  });

  test("a message during generation: the first call is cut off, one delivery covers all", async () => {
    const model = await receiver(async (_, response, count) => {
      await sleep(count === 1 ? 5_000 : 10);
      response.end('{"parts":["one","two"]}');
    });
    const channel = await receiver((_, response) => response.end());
    const { say, rest } = await bot({ respond: model.url, deliver: channel.url });
    await say("m1");
    await vi.waitFor(() => expect(model.seen).toHaveLength(1), 5_000);
    await say("m2");
    await rest();
    expect(model.cut).toEqual([0]);
    expect(bodies(channel.seen).map(({ part, covers }) => [part.text, part.index, part.count, covers])).toEqual([
      ["one", 0, 2, ["m1", "m2"]],
      ["two", 1, 2, ["m1", "m2"]],
    ]);
  });

  test("whatever is in doubt is delivered again with the same key", async () => {
    const channel = await receiver((_, response, count) => {
      if (count === 1) response.writeHead(500).end();
      else if (count === 2) response.destroy();
      else response.end('{"id":"p1"}');
    });
    const { server, say, rest } = await bot({ respond: "demo", demoMs: "1", deliver: channel.url });
    await say("m1");
    await rest();
    expect(channel.seen).toHaveLength(3);
    expect(new Set(bodies(channel.seen).map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(new Set(channel.seen.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    const receipts = (await server.lull.log("c")).filter((entry) => entry.kind === "receipt");
    expect(receipts.at(-1)).toMatchObject({ state: "sent", externalId: "p1" });
  });

  test("a part refused for good is visible, and the conversation goes on", async () => {
    const channel = await receiver((_, response, count) => response.writeHead(count === 1 ? 422 : 200).end());
    const { server, say, rest } = await bot({ respond: "demo", demoMs: "1", deliver: channel.url });
    await say("m1");
    await rest("parked");
    await say("m2");
    await vi.waitFor(async () => {
      const closed = (await server.lull.log("c")).filter((entry) => entry.kind === "closed");
      expect(closed.map(({ outcome }) => outcome)).toEqual(["failed", "delivered"]);
    }, 5_000);
  });

  test("a webhook that always fails: the turn is parked, visible, and can be retried", async () => {
    let isBroken = true;
    const model = await receiver((_, response) =>
      isBroken ? response.writeHead(500).end() : response.end('{"text":"back"}'),
    );
    const channel = await receiver((_, response) => response.end());
    const { server, say, rest } = await bot({ respond: model.url, deliver: channel.url, maxFailures: "2" });
    await say("m1");
    await rest("parked");
    expect(model.seen).toHaveLength(2);
    const parked = (await (await fetch(`${server.url}/v1/conversations?parked=true`)).json()) as {
      conversations: { parked: { reason: string } }[];
    };
    expect(parked.conversations).toHaveLength(1);
    expect(parked.conversations[0]?.parked.reason).toContain("answered 500");
    isBroken = false;
    const retried = await fetch(`${server.url}/v1/conversations/c/retry`, { method: "POST" });
    expect(await retried.json()).toEqual({ revived: 1 });
    await rest();
    expect(bodies(channel.seen)).toMatchObject([{ part: { text: "back" }, covers: ["m1"] }]);
  });
});
