/** Whatever an operator does is in the conversation's log, with who it was. */
import { describe, expect, test, vi } from "vitest";
import { json, testApp } from "./support/app.ts";

const secret = "ops-secret-0123456789";

async function acted(flags: Record<string, string>, headers: Record<string, string>, by?: string) {
  const { request, lull } = await testApp({
    flags: { maxFailures: "1", quietMs: "0", ...flags },
    respond: async () => {
      throw new Error("away");
    },
  });
  const call = async (path: string, body: object = {}, method = "POST") => {
    const named = by === undefined ? body : { ...body, by };
    const response = await request(method, `/v1/conversations/c/${path}`, named, headers);
    expect([path, response.status < 300]).toEqual([path, true]);
    return response;
  };
  const say = (more = {}) => request("POST", "/v1/messages", { conversation: "c", text: "hi", ...more }, headers);
  await say();
  await vi.waitFor(async () => expect((await lull.get("c"))?.state).toBe("parked"), 5_000);
  expect(await json(await call("retry"))).toEqual({ revived: 1 });
  await vi.waitFor(async () => expect((await lull.get("c"))?.state).toBe("parked"), 5_000);
  await call("handoff");
  await say();
  await call("human-replies", { text: "hello" });
  await call("resume");
  await call("settings", { debounce: { quietMs: 60_000, maxWaitMs: 60_000 } }, "PUT");
  await call("send", { text: "by the way" });
  await say();
  await call("flush");
  await call("reset");
  const kinds = ["retry", "handoff", "human", "resumed", "tuned", "send", "flushed", "reset"];
  const log = await lull.log("c", { limit: 1_000 });
  return kinds.map((kind) => [
    kind,
    log.filter((entry) => entry.kind === kind).map((entry) => "by" in entry && entry.by),
  ]);
}
const everyActBy = (who: string) =>
  ["retry", "handoff", "human", "resumed", "tuned", "send", "flushed", "reset"].map((kind) => [kind, [who]]);

describe("what operators do is in the log", () => {
  test("with the name of the key", async () => {
    const flags = { apiKeys: `ops:operate:${secret}` };
    expect(await acted(flags, { authorization: `Bearer ${secret}` })).toEqual(everyActBy("ops"));
  });

  test("as local, on a server without keys", async () => {
    expect(await acted({}, {})).toEqual(everyActBy("local"));
  });

  test("with whoever the call names", async () => {
    const flags = { apiKeys: `ops:operate:${secret}` };
    expect(await acted(flags, { authorization: `Bearer ${secret}` }, "ann")).toEqual(everyActBy("ann"));
  });
});
