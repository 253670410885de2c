/** A key with the role `inspect` sees what happens, and nothing of what people and bots write. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Respond } from "lull";
import { describe, expect, test, vi } from "vitest";
import { operations } from "../src/openapi.ts";
import { json, testApp } from "./support/app.ts";

const marker = "MARKER";
const secrets = { ops: "ops-secret-0123456789", blind: "blind-secret-0123456789" };
const ops = { authorization: `Bearer ${secrets.ops}` };
const blind = { authorization: `Bearer ${secrets.blind}` };
const flags = { apiKeys: `ops:operate:${secrets.ops},blind:inspect:${secrets.blind}`, maxFailures: "1" };

const content = {
  parts: [
    { type: "text", text: `text ${marker}` },
    { type: "file", mediaType: `image/${marker}`, url: `https://files.example/${marker}`, filename: `${marker}.png` },
    { type: "file", mediaType: "image/png", ref: { deep: [{ [marker]: marker }] } },
    { type: "data", data: { [marker]: [marker] } },
  ],
  metadata: { [marker]: { deep: marker }, text: marker, id: marker, kind: marker },
};
const message = { conversation: "c", ...content, author: `Ada ${marker}`, address: { chat: marker, id: marker } };

const respond: Respond = async (turn) => {
  await turn.once(`key ${marker}`, async () => ({ value: marker, id: marker }), { readOnly: true });
  await turn.spend(3, { details: { model: marker } });
  turn.draft(`drafted ${marker}`);
  if (turn.text.includes("fail")) throw new Error(`the model said ${marker}`);
  await turn.say(`said ${marker}`);
  return { parts: [`more ${marker}`], metadata: { [marker]: marker } };
};

/** A server whose conversation has the marker wherever anything of others can be. */
async function marked() {
  const app = await testApp({
    flags,
    respond,
    deliver: async () => ({ status: "sent", id: `platform ${marker}` }),
  });
  const { request, lull } = app;
  const rests = () => vi.waitFor(async () => expect((await lull.get("c"))?.pending).toBe(0), 10_000);
  const done = async (method: string, path: string, body: unknown) => {
    const response = await request(method, path, body, ops);
    expect([path, response.status < 300]).toEqual([path, true]);
  };
  await done("POST", "/v1/messages", { ...message, id: "m1" });
  await done("PATCH", "/v1/conversations/c/messages/m1", { ...content, id: "e1", author: marker });
  await rests();
  await done("PATCH", "/v1/conversations/c/messages/m1", { ...content, id: "e2" });
  await done("POST", "/v1/messages", { ...message, id: "m2", parts: [`fail ${marker}`] });
  await rests();
  await done("POST", "/v1/conversations/c/send", { ...content, id: "s1", address: { to: marker } });
  await done("POST", "/v1/conversations/c/handoff", { by: `Bob ${marker}` });
  await done("POST", "/v1/messages", { ...message, id: "m3" });
  await done("POST", "/v1/conversations/c/human-replies", { ...content, author: `Eve ${marker}`, by: marker });
  await done("POST", "/v1/conversations/c/resume", { by: marker });
  await done("POST", "/v1/conversations/c/retry", { by: marker });
  await rests();
  await done("POST", "/v1/conversations/c/handoff", { by: `Bob ${marker}` });
  await done("POST", "/v1/messages", { ...message, id: "m4" });
  await done("POST", "/v1/pause", { by: marker, reason: `because ${marker}` });
  return { ...app, done };
}

/** What a stream says within that time. */
async function heard(response: Response, forMs: number): Promise<string> {
  const reader = response.body?.getReader() ?? expect.unreachable("no stream");
  const until = sleep(forMs).then(() => null);
  let text = "";
  for (;;) {
    const next = await Promise.race([reader.read(), until]);
    if (next === null || next.done) break;
    text += Buffer.from(next.value).toString();
  }
  await reader.cancel();
  return text;
}

describe("a key with the role inspect", () => {
  test("sees no text in any route or stream: every GET of the API's description, over a conversation full of a marker", async () => {
    const { request, done, lull } = await marked();
    const full = JSON.stringify([await lull.log("c"), await lull.get("c"), await lull.explain("c")]);
    expect(full.split(marker).length).toBeGreaterThan(60);
    const kinds = new Set((await lull.log("c")).map(({ kind }) => kind));
    for (const kind of ["message", "edit", "effect", "usage", "reply", "part", "ended", "send", "human", "handoff"])
      expect(kinds).toContain(kind);

    const seen: string[] = [];
    for (const { method, path, role, responses } of operations.filter(({ method }) => method === "get")) {
      const place = path.replace("{id}", "c").replace("{token}", "x");
      const isStream = role === "read" && responses[200]?.type === "text/event-stream";
      for (const query of isStream && path.includes("{id}") ? ["?after=0"] : [""]) {
        const response = await request(method.toUpperCase(), place + query, undefined, blind);
        let text: string;
        if (isStream) {
          const listening = heard(response, 700);
          await done("POST", "/v1/messages", { ...message, id: `during ${path}` });
          text = await listening;
          expect(text).toContain("message.received");
        } else text = await response.text();
        expect([path, text.includes(marker)]).toEqual([path, false]);
        if (role === "read") {
          expect([path, response.status]).toEqual([path, 200]);
          seen.push(path);
        }
      }
    }
    // Nothing was left out because it was refused.
    expect(seen).toEqual(operations.filter((it) => it.method === "get" && it.role === "read").map(({ path }) => path));

    const log = await json(await request("GET", "/v1/conversations/c/log?limit=1000", undefined, blind));
    expect(log.entries[0]).toMatchObject({
      kind: "message",
      id: "m1",
      version: 1,
      author: "⟨10 characters⟩",
      metadata: expect.stringMatching(/^⟨\d+ characters⟩$/),
      parts: [
        { type: "text", text: "⟨11 characters⟩" },
        { type: "file", filename: "⟨10 characters⟩" },
        { type: "file", ref: expect.stringMatching(/^⟨\d+ characters⟩$/) },
        { type: "data", data: expect.stringMatching(/^⟨\d+ characters⟩$/) },
      ],
    });
    const listed = await json(await request("GET", "/v1/conversations?state=handed-off", undefined, blind));
    expect(listed.conversations).toMatchObject([{ id: "c", handoff: { by: "⟨10 characters⟩" } }]);
  });

  test("a key without the right is refused: it sends nothing, changes nothing, and waits for no reply", async () => {
    const { request, lull } = await marked();
    const before = await lull.get("c");
    for (const { method, path, role } of operations) {
      if (method === "get" || (role !== "send" && role !== "operate")) continue;
      const place = path.replace("{id}", "c").replace("{message}", "m4").replace("{author}", "a");
      const response = await request(method.toUpperCase(), place, {}, blind);
      expect([method, path, response.status, (await json(response)).code]).toEqual([method, path, 403, "forbidden"]);
    }
    expect((await request("POST", "/v1/messages?wait=1", message, blind)).status).toBe(403);
    expect((await request("POST", "/v1/turns/x/reply", { text: "hi" }, blind)).status).toBe(403);
    expect((await request("GET", `/v1/conversations?author=${marker}`, undefined, blind)).status).toBe(403);
    expect((await lull.get("c"))?.record.revision).toBe(before?.record.revision);
  });

  test("a bug report tells nothing about anybody, whoever asks for it", async () => {
    const { request } = await marked();
    for (const headers of [ops, blind]) {
      const response = await request("GET", "/v1/conversations/c/report", undefined, headers);
      const text = await response.text();
      expect(JSON.parse(text)).toMatchObject({ schema: "lull-report/1", conversation: "conversation" });
      for (const told of [marker, '"m1"', "platform", "Ada", "Bob"])
        expect(text.replaceAll(/"m\d+"/g, "")).not.toContain(told);
    }
  });

  test("sees the same through a page's session", async () => {
    const { request } = await marked();
    const opened = await request("POST", "/v1/session", { key: secrets.blind });
    expect(await json(opened)).toEqual({ name: "blind", roles: ["inspect"], bot: null, texts: false });
    const headers = { cookie: opened.headers.get("set-cookie")?.split(";")[0] ?? "" };
    const log = await request("GET", "/v1/conversations/c/log", undefined, headers);
    expect(log.status).toBe(200);
    expect(await log.text()).not.toContain(marker);
  });

  test("has no second role", async () => {
    await expect(testApp({ flags: { apiKeys: `x:inspect+read:${secrets.blind}` } })).rejects.toThrow("stands alone");
  });
});
