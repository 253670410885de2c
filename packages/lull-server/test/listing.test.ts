import { type ConversationView, Lull, memory } from "lull";
import { describe, expect, test, vi } from "vitest";
import { findConversations } from "../src/app/listing.ts";
import { json, testApp } from "./support/app.ts";

const ids = (page: { conversations: { id: string }[] }) => page.conversations.map(({ id }) => id);

describe("GET /v1/conversations finds", () => {
  test("by state, by what stands in the record and by what is late", async () => {
    const { request } = await testApp({ respond: null, flags: { quietMs: "50", maxWaitMs: "60000" } });
    const send = (conversation: string, more = {}) =>
      request("POST", "/v1/messages", { conversation, text: "hi", ...more });
    await send("waits", { quietMs: 60_000 });
    await send("human");
    await request("POST", "/v1/conversations/human/handoff", {});
    await send("rests");
    await request("POST", "/v1/conversations/rests/reset", {});
    const find = async (query: string) => json(await request("GET", `/v1/conversations?${query}`));
    expect(ids(await find("state=waiting"))).toEqual(["waits"]);
    expect(ids(await find("state=handed-off"))).toEqual(["human"]);
    expect(ids(await find("state=resting"))).toEqual(["rests"]);
    expect(ids(await find("state="))).toEqual(["human", "rests", "waits"]);
    expect(await find("state=parked")).toEqual({ conversations: [], next: null });
    expect(await find("state=overdue")).toEqual({ conversations: [], next: null, scanned: 2 });
    const wrong = await request("GET", "/v1/conversations?state=asleep");
    expect([wrong.status, (await json(wrong)).field]).toEqual([400, "state"]);
    const [waits] = (await find("prefix=w&state=waiting")).conversations;
    expect(waits).toMatchObject({ state: "waiting", pending: 1, version: 1, seq: 1 });
    expect(Date.parse(waits.capAt) - Date.parse(waits.openedAt)).toBe(60_000);
    expect(waits.dueAt).toBe(waits.wakeAt);
    expect(waits.record).toBeUndefined();
  });

  test("what nobody comes for: overdue", async () => {
    let nowMs = 1_000_000;
    const clock = { now: () => nowMs, monotonic: () => nowMs, random: () => 0.5, id: () => `id ${nowMs++}` };
    const lull = new Lull({
      store: memory({ now: () => nowMs }),
      debounce: { quietMs: 1_000, maxWaitMs: 10_000 },
      clock: { ...clock, sleep: () => new Promise(() => {}) },
    });
    await lull.receive("c", { id: "m", text: "hi" });
    await lull.receive("h", { id: "m", text: "hi" });
    await lull.handoff("h");
    const overdue = async () => ids(await findConversations(lull, { state: "overdue" }));
    expect(await overdue()).toEqual([]);
    nowMs += 7_000;
    expect(await overdue()).toEqual(["c"]);
  });

  test("by author, in the newest entries of logs", async () => {
    const { request } = await testApp({ respond: null });
    for (const [conversation, author] of [
      ["a", "ada"],
      ["b", "bob"],
      ["c", "ada"],
    ] as const)
      await request("POST", "/v1/messages", { conversation, author, text: "hi" });
    const found = await json(await request("GET", "/v1/conversations?author=ada"));
    expect(ids(found)).toEqual(["a", "c"]);
    expect(found).toMatchObject({ next: null, scanned: 3 });
    const one = await json(await request("GET", "/v1/conversations?author=ada&limit=1"));
    expect([ids(one), one.next, one.scanned]).toEqual([["a"], "a", 1]);
    expect(ids(await json(await request("GET", `/v1/conversations?author=ada&after=${one.next}`)))).toEqual(["c"]);
  });
});

describe("without an index", () => {
  const view = (n: number) =>
    ({ id: String(n).padStart(6, "0"), state: n % 4_000 === 3_999 ? "resting" : "waiting" }) as ConversationView;
  const many = Array.from({ length: 20_000 }, (_, n) => view(n));
  const list = vi.fn(async ({ after = "", limit = 50 } = {}) => {
    const from = after === "" ? 0 : Number(after) + 1;
    const conversations = many.slice(from, from + limit);
    return { conversations, next: from + limit < many.length ? (conversations.at(-1)?.id ?? null) : null, nowMs: 0 };
  });

  test("a bounded number is looked at, and the caller goes on where that ended: nobody is left out or told twice", async () => {
    const lull = { list, log: async () => [] };
    const found: string[] = [];
    let scanned = 0;
    let after: string | undefined;
    let requests = 0;
    for (;;) {
      const page = await findConversations(lull, { state: "resting", limit: 2, ...(after ? { after } : {}) });
      expect(page.scanned).toBeLessThanOrEqual(5_500);
      expect(page.scanned).toBeGreaterThan(0);
      found.push(...ids(page));
      scanned += page.scanned ?? 0;
      requests += 1;
      if (page.next === null) break;
      after = page.next;
    }
    expect(found).toEqual(["003999", "007999", "011999", "015999", "019999"]);
    expect(scanned).toBe(20_000);
    expect(requests).toBeGreaterThan(3);
  });
});
