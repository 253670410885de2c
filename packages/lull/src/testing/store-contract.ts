/**
 * What every store must do, whatever runs the tests: hand in `test`, `expect` and a factory of empty stores.
 *
 * @module
 */
import { nextTurn } from "../clock.ts";
import { LullError } from "../errors.ts";
import type { ConversationId, ConversationRecord, LogEntry } from "../model.ts";
import { maxSkewMs, type Store, type Stored, type Write } from "../ports.ts";
import { blankRecord, messageEntry, startMs, type WriteChange, writeAfter } from "./records.ts";

/** The part of Jest's matchers that the contract needs. */
export interface Matchers {
  toBe(expected: unknown): void;
  toEqual(expected: unknown): void;
  toMatchObject(expected: object): void;
}

/** Vitest, Jest and Bun fit as they are; for others see `expect` of `lull/testing`. */
export interface ContractRunner {
  test(name: string, body: () => Promise<void>): void;
  expect(actual: unknown, message?: string): Matchers;
}

export interface StoreUnderTest {
  store: Store;
  /** Removes what the factory made; the store is closed before. */
  dispose?(): Promise<void> | void;
}

/** Makes an empty store whose clock is `now`. */
export type StoreFactory = (options: { now: () => number }) => Promise<StoreUnderTest> | StoreUnderTest;

/**
 * What a store may lack, with good reason, and still be one.
 * - `any-text`: NUL and lone surrogates in texts and seen keys come back as they were.
 * - `large-entries`: a log entry of 5 MB.
 * - `exact-stats`: `stats()` counts, where others estimate.
 * - `pause`: `setPause`, and `due` tells of it; without it `lull pause` cannot reach other processes.
 * - `rewrite`: `rewrite`; without it what one of several authors wrote cannot be erased.
 * - `hints`: `wake` tells of every stored write. A store without `wake` lacks it without having to say so.
 */
export type StoreCapability = "any-text" | "large-entries" | "exact-stats" | "hints" | "pause" | "rewrite";

export interface ContractOptions {
  /** What this store lacks, each with the reason that its test is then named with. */
  without?: Partial<Record<StoreCapability, string>>;
}

interface Context {
  store: Store;
  /** Moves the store's clock. */
  pass(ms: number): void;
  now(): number;
  /** Exchanges, and returns the record that is stored now; fails the test when it was refused. */
  put(id: ConversationId, before?: ConversationRecord | null, change?: WriteChange): Promise<ConversationRecord>;
}

/** Sorts differently in UTF-8 and in UTF-16, and needs quoting in most query languages. */
const awkwardIds = [
  " ",
  "%",
  "%25",
  "'; drop table lull_record; --",
  '"quoted"',
  "_",
  "a",
  "a:{b}",
  "a\\b",
  "a\nb",
  "a*?[x]",
  "é",
  "\u{e000}",
  "\u{ffff}",
  "\u{10000}",
  "👩‍👩‍👧",
  "👩‍👩‍👧x",
  "\u{10ffff}",
  "\u{10ffff}\u{10ffff}",
];

/**
 * Registers one test for each thing a store promises.
 *
 * @example
 * import { storeContract } from "lull/testing";
 * import { expect, test } from "vitest";
 *
 * storeContract("mine", ({ now }) => ({ store: mine({ now }) }), { test, expect });
 */
export function storeContract(
  name: string,
  factory: StoreFactory,
  { test, expect }: ContractRunner,
  { without = {} }: ContractOptions = {},
): void {
  /** The same for what some stores lack: then only its name, with the reason, is left of the test. */
  const itIf = (capability: StoreCapability, title: string, body: (context: Context) => Promise<void>) => {
    const reason = without[capability];
    if (reason === undefined) it(title, body);
    else test(`${name}: left out (${capability}: ${reason}): ${title}`, () => Promise.resolve());
  };

  const it = (title: string, body: (context: Context) => Promise<void>) =>
    test(`${name}: ${title}`, async () => {
      let nowMs = startMs;
      const { store, dispose } = await factory({ now: () => nowMs });
      try {
        await body({
          store,
          now: () => nowMs,
          pass: (ms) => {
            nowMs += ms;
          },
          async put(id, before = null, change = {}) {
            const write = writeAfter(before, id, { nowMs, ...change });
            expect((await store.exchange(write)).kind).toBe("stored");
            return write.next;
          },
        });
      } finally {
        await store.close();
        await dispose?.();
      }
    });

  const codeOf = async (call: () => Promise<unknown>): Promise<string> => {
    try {
      await call();
    } catch (error) {
      return LullError.isInstance(error) ? error.code : String(error);
    }
    return "no error";
  };

  const seqs = (entries: LogEntry[]) => entries.map((entry) => entry.seq);
  const ids = (records: ConversationRecord[]) => records.map((record) => record.id);
  const bytewise = (values: string[]) => [...values].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

  // -------------------------------------------------------------------------------------------
  // Load and exchange

  it("says what it is", async ({ store }) => {
    expect(store.name.length > 0).toBe(true);
    expect(["memory", "disk", "replicated", "bounded"].includes(store.durability.class)).toBe(true);
    expect(store.durability.note.length > 0).toBe(true);
  });

  it("knows nothing of a conversation nobody wrote to", async ({ store, now }) => {
    expect(await store.load("c", { logFrom: 1 })).toEqual({ record: null, log: [], nowMs: now() });
    expect(await store.log("c")).toEqual({ entries: [], nowMs: now() });
    expect(await store.erase("c")).toBe(false);
  });

  it("gives back what was written", async ({ store, now }) => {
    const next = blankRecord("c", {
      seq: 2,
      version: 2,
      window: {
        fromSeq: 1,
        openedAtMs: startMs,
        lastInputAtMs: startMs,
        holdUntilMs: null,
        incompleteUntilMs: startMs + 5,
        quietMs: 6000,
        count: 2,
      },
      effects: { "a.b": { state: "begun", fence: 3, untilMs: startMs }, __proto__key: endedEffect },
      address: { chat: 42, nested: [null, true, "x", 1.5, { deep: "y" }] },
    });
    const append = [messageEntry(1, 'quote " backslash \\ emoji 👩‍👩‍👧'), messageEntry(2, "")];
    const stored = await store.exchange({ id: "c", next, expected: null, wakeAtMs: null, append, nowMs: now() });
    expect(stored).toEqual({ kind: "stored", log: [], nowMs: now() });
    expect(await store.load("c")).toEqual({ record: next, log: [], nowMs: now() });
    expect(await store.load("c", { logFrom: 1 })).toEqual({ record: next, log: append, nowMs: now() });
    expect(await store.load("c", { logFrom: 2 })).toEqual({ record: next, log: [append[1]], nowMs: now() });
    expect(await store.load("c", { logFrom: 3 })).toEqual({ record: next, log: [], nowMs: now() });
  });

  itIf("any-text", "gives back any text as it was", async ({ store, put }) => {
    const text = "nul \u0000 lone \ud800 surrogate";
    const record = await put("c", null, { append: [messageEntry(1, text)], record: { address: { [text]: text } } });
    expect(await store.load("c", { logFrom: 1 })).toMatchObject({ record, log: [messageEntry(1, text)] });
  });

  it("keeps fields it does not know", async ({ store, now }) => {
    const next = { ...blankRecord("c", { seq: 1 }), later: { field: [1] } };
    const entry = { ...messageEntry(1), later: "x" };
    const unknownKind = { kind: "from-the-future", seq: 2, atMs: startMs, x: 1 } as unknown as LogEntry;
    await store.exchange({
      id: "c",
      next: { ...next, seq: 2 },
      expected: null,
      wakeAtMs: null,
      append: [entry, unknownKind],
      nowMs: now(),
    });
    expect(await store.load("c", { logFrom: 1 })).toMatchObject({
      record: { later: { field: [1] } },
      log: [entry, unknownKind],
    });
  });

  it("shares no object with its callers", async ({ store, now }) => {
    const write = writeAfter(null, "c", { append: 1, record: { address: { chat: "before" } }, nowMs: now() });
    const pending = store.exchange(write);
    write.next.address = "changed by the writer";
    (write.append?.[0] as { id: string }).id = "changed by the writer";
    await pending;
    const first = await store.load("c", { logFrom: 1 });
    expect(first.record?.address).toEqual({ chat: "before" });
    (first.record as ConversationRecord).address = "changed by the reader";
    (first.log[0] as { id: string }).id = "changed by the reader";
    const second = await store.load("c", { logFrom: 1 });
    expect(second.record?.address).toEqual({ chat: "before" });
    expect(second.log).toEqual([messageEntry(1)]);
  });

  it("returns the log from a point on, after appending", async ({ store, put }) => {
    const first = await put("c", null, { append: 3 });
    const answer = await store.exchange(writeAfter(first, "c", { append: 2, logFrom: 3 }));
    expect(answer.kind).toBe("stored");
    expect(seqs((answer as Stored).log)).toEqual([3, 4, 5]);
  });

  it("refuses a write that does not replace the stored revision, and shows the record", async ({ store, put, now }) => {
    const first = await put("c", null, { append: 1 });
    const second = await put("c", first, { append: 1, wakeAtMs: startMs + 10 });
    const stale = writeAfter(first, "c", { append: 1, wakeAtMs: startMs + 99, seen: [key("k")] });
    expect(await store.exchange(stale)).toEqual({ kind: "conflict", record: second, nowMs: now() });
    const creating = writeAfter(null, "c", { append: 1 });
    expect(await store.exchange(creating)).toEqual({ kind: "conflict", record: second, nowMs: now() });
    expect(await store.load("c", { logFrom: 1 })).toMatchObject({ record: second, log: [{ seq: 1 }, { seq: 2 }] });
    expect((await store.due(startMs + 1000, 10)).timers).toEqual([
      { id: "c", wakeAtMs: startMs + 10, revision: second.revision },
    ]);
    // The refused key was not remembered.
    await put("c", second, { seen: [key("k")] });
  });

  it("refuses to replace a conversation that is not there", async ({ store, now }) => {
    const write = writeAfter(blankRecord("c"), "c");
    expect(await store.exchange(write)).toEqual({ kind: "conflict", record: null, nowMs: now() });
  });

  it("refuses a repeated key with its first value, whatever else is wrong", async ({ store, put, now }) => {
    const value = { status: "accepted", version: 1, list: [null, "x"] };
    const first = await put("c", null, { append: 1, seen: [key("a", value), key("b")] });
    const repeat = writeAfter(first, "c", { append: 1, wakeAtMs: startMs, seen: [key("new"), key("a", "other")] });
    const refused = { kind: "duplicate", record: first, seen: [{ key: "a", value }], nowMs: now() };
    expect(await store.exchange(repeat)).toEqual(refused);
    const stale = { ...repeat, expected: "some other revision" };
    expect(await store.exchange(stale), "duplicate comes before conflict").toEqual(refused);
    const both = await store.exchange({ ...repeat, seen: [key("b"), key("a"), key("c")] });
    expect(both).toMatchObject({ kind: "duplicate", seen: [{ key: "b" }, { key: "a" }] });
    expect(await store.load("c", { logFrom: 1 })).toMatchObject({ record: first, log: [{ seq: 1 }] });
    expect((await store.due(startMs + 1000, 10)).timers, "no timer was set").toEqual([]);
    // Nothing of a refused write is left behind: its other key is still new.
    await put("c", first, { seen: [key("new")] });
  });

  it("keeps the keys of each conversation apart", async ({ put }) => {
    for (const id of ["c", "d", "c:k", "c\nk"]) await put(id, null, { seen: [key("k"), key("k\nk"), key(":k")] });
  });

  itIf("any-text", "takes any text as a key", async ({ store, put }) => {
    const keys = ["a\u0000b", "a", "a\u0000c", "\ud800", "\ud801", "\ufffd", "👩‍👩‍👧", "'; --", "%", " ", "A"];
    let record: ConversationRecord | null = null;
    for (const text of keys) record = await put("c", record, { seen: [key(text, text)] });
    for (const text of keys) {
      const answer = await store.exchange(writeAfter(record, "c", { seen: [key(text)] }));
      expect(answer).toMatchObject({ kind: "duplicate", seen: [{ key: text, value: text }] });
    }
  });

  it("forgets a key at its expiry", async ({ store, put, pass, now }) => {
    const first = await put("c", null, { seen: [key("k", "old", startMs + 1000)] });
    pass(999);
    const early = await store.exchange(writeAfter(first, "c", { nowMs: now(), seen: [key("k", "new")] }));
    expect(early).toMatchObject({ kind: "duplicate", seen: [{ key: "k", value: "old" }] });
    pass(1);
    const second = await put("c", first, { seen: [key("k", "new")] });
    const late = await store.exchange(writeAfter(second, "c", { nowMs: now(), seen: [key("k")] }));
    expect(late).toMatchObject({ kind: "duplicate", seen: [{ key: "k", value: "new" }] });
  });

  it("asks about a key that has expired already, and does not remember it", async ({ put, store }) => {
    const first = await put("c", null, { append: 1, seen: [key("k", "asked", 0)] });
    const second = await put("c", first, { append: 1, seen: [key("k", "told")] });
    const repeat = await store.exchange(writeAfter(second, "c", { append: 1, seen: [key("k", "asked", 0)] }));
    expect(repeat).toMatchObject({ kind: "duplicate", seen: [{ key: "k", value: "told" }] });
  });

  it("refuses a caller whose clock is off, before anything else", async ({ store, put, now }) => {
    const first = await put("c", null, { append: 1, seen: [key("k")] });
    for (const off of [maxSkewMs + 1, -maxSkewMs - 1]) {
      const write = writeAfter(first, "c", { append: 1, seen: [key("k")], nowMs: now() + off });
      expect(await store.exchange(write)).toEqual({ kind: "skewed", nowMs: now() });
    }
    await put("d", null, { nowMs: now() + maxSkewMs });
    await put("e", null, { nowMs: now() - maxSkewMs });
    expect((await store.load("c")).record).toEqual(first);
  });

  it("answers with its own clock", async ({ store, put, pass, now }) => {
    const first = await put("c");
    pass(123);
    for (const answer of [
      await store.load("c"),
      await store.exchange(writeAfter(first, "c", { nowMs: now() })),
      await store.exchange(writeAfter(first, "c", { nowMs: now() })),
      await store.due(0, 1),
      await store.log("c"),
      await store.list(),
      await store.stats(),
    ]) {
      expect(answer.nowMs).toBe(startMs + 123);
    }
  });

  it("refuses a log with a gap and writes nothing", async ({ store, put }) => {
    const first = await put("c", null, { append: 2 });
    const wrong: Write[] = [
      writeAfter(first, "c", { append: [messageEntry(4)], record: { seq: 4 } }),
      writeAfter(first, "c", { append: [messageEntry(2)], record: { seq: 2 } }),
      writeAfter(first, "c", { append: [messageEntry(3), messageEntry(5)], record: { seq: 5 } }),
      writeAfter(first, "c", { append: [messageEntry(3)], record: { seq: 4 } }),
      writeAfter(first, "c", { record: { seq: 3 } }),
      writeAfter(null, "d", { append: [messageEntry(2)], record: { seq: 2 } }),
    ];
    for (const write of wrong) {
      const call = () => store.exchange({ ...write, wakeAtMs: startMs, seen: [key("k")] });
      expect(await codeOf(call)).toBe("store-not-contiguous");
    }
    expect(await store.load("c", { logFrom: 1 })).toMatchObject({ record: first, log: [{ seq: 1 }, { seq: 2 }] });
    expect((await store.stats()).active).toBe(0);
    await put("c", first, { append: 1, seen: [key("k")] });
  });

  it("refuses arguments that no caller means", async ({ store, now }) => {
    const good = writeAfter(null, "c", { append: 1, nowMs: now() });
    const wrong: Write[] = [
      { ...good, id: "d" },
      { ...good, next: { ...good.next, revision: "" } },
      { ...good, next: { ...good.next, schema: 2 } },
      { ...good, expected: good.next.revision },
      { ...good, wakeAtMs: 0.5 },
      { ...good, wakeAtMs: Number.POSITIVE_INFINITY },
      { ...good, nowMs: Number.NaN },
      { ...good, seen: [{ key: "", expiresAtMs: 1, value: null }] },
      { ...good, seen: [{ key: "k", expiresAtMs: Number.NaN, value: null }] },
    ];
    for (const write of wrong) expect(await codeOf(() => store.exchange(write))).toBe("invalid-argument");
    for (const id of ["", "a\u0000b", "\ud800", "x\udfff"]) {
      const next = { ...good.next, id };
      expect(await codeOf(() => store.exchange({ ...good, id, next }))).toBe("invalid-argument");
      expect(await codeOf(() => store.load(id))).toBe("invalid-argument");
      expect(await codeOf(() => store.log(id))).toBe("invalid-argument");
      expect(await codeOf(() => store.erase(id))).toBe("invalid-argument");
    }
    for (const limit of [0, -1, Number.NaN]) {
      expect(await codeOf(() => store.due(now(), limit))).toBe("invalid-argument");
      expect(await codeOf(() => store.list({ limit }))).toBe("invalid-argument");
      expect(await codeOf(() => store.log("c", { limit }))).toBe("invalid-argument");
    }
    expect((await store.stats()).conversations).toBe(0);
  });

  itIf("large-entries", "holds 5 MB of text", async ({ store, put }) => {
    const text = '👩‍👩‍👧 five megabytes of "text"\n'.repeat(150_000).slice(0, 5_000_000);
    await put("c", null, { append: [messageEntry(1, text)] });
    const { log } = await store.load("c", { logFrom: 1 });
    expect(log.length).toBe(1);
    expect(log[0]?.kind === "message" && log[0].parts[0]?.type === "text" && log[0].parts[0].text === text).toBe(true);
  });

  it("lets exactly one of 50 racing writes win each round", async ({ store, put }) => {
    let record = await put("c");
    for (let round = 0; round < 5; round++) {
      const writes = Array.from({ length: 50 }, () => writeAfter(record, "c", { append: 1 }));
      const answers = await Promise.all(writes.map((write) => store.exchange(write)));
      const won = writes.filter((_, index) => answers[index]?.kind === "stored");
      expect(won.length).toBe(1);
      const losers = answers.filter((answer) => answer.kind === "conflict");
      expect(losers.length).toBe(49);
      record = won[0]?.next as ConversationRecord;
      // Whoever lost sees the winner: what a conflict shows is never older than what it lost against.
      for (const loser of losers) expect(loser).toMatchObject({ record: { revision: record.revision } });
    }
    const { record: stored, log } = await store.load("c", { logFrom: 1 });
    expect(stored).toEqual(record);
    expect(seqs(log)).toEqual([1, 2, 3, 4, 5]);
  });

  it("counts every increment of parallel writers that try again", async ({ store }) => {
    const writers = 8;
    const each = 6;
    await Promise.all(
      Array.from({ length: writers }, async () => {
        let record = (await store.load("c")).record;
        for (let done = 0; done < each; ) {
          const write = writeAfter(record, "c", { append: 1 });
          const answer = await store.exchange(write);
          if (answer.kind === "stored") done++;
          record = answer.kind === "conflict" ? answer.record : write.next;
        }
      }),
    );
    const { record, log } = await store.load("c", { logFrom: 1 });
    expect(record?.version).toBe(writers * each);
    expect(seqs(log)).toEqual(Array.from({ length: writers * each }, (_, index) => index + 1));
  });

  it("lets one of many writers with the same key win", async ({ store, put }) => {
    const first = await put("c");
    const writes = Array.from({ length: 20 }, (_, index) =>
      writeAfter(first, "c", { append: 1, seen: [key("message", index)] }),
    );
    const answers = await Promise.all(writes.map((write) => store.exchange(write)));
    const winner = answers.findIndex((answer) => answer.kind === "stored");
    expect(answers.filter((answer) => answer.kind === "duplicate").length).toBe(19);
    for (const answer of answers) {
      if (answer.kind === "duplicate") expect(answer.seen).toEqual([{ key: "message", value: winner }]);
    }
  });

  // -------------------------------------------------------------------------------------------
  // Timers

  it("shows due timers, soonest first, and removes none", async ({ store, put }) => {
    const at: [ConversationId, number][] = [
      ["late", 300],
      ["b", 200],
      ["soon", 100],
      ["a", 200],
      ["future", 301],
    ];
    for (const [id, ms] of at) await put(id, null, { wakeAtMs: startMs + ms });
    await put("at rest");
    const dueIds = async (ms: number, limit: number) =>
      (await store.due(startMs + ms, limit)).timers.map((timer) => timer.id);
    expect(await dueIds(99, 10)).toEqual([]);
    expect(await dueIds(100, 10)).toEqual(["soon"]);
    expect((await dueIds(300, 10)).length).toBe(4);
    expect((await dueIds(300, 10))[0]).toBe("soon");
    expect((await dueIds(300, 10))[3]).toBe("late");
    expect(await dueIds(300, 1)).toEqual(["soon"]);
    expect((await dueIds(1000, 100)).length).toBe(5);
  });

  it("moves and removes the one timer of a conversation with each write", async ({ store, put }) => {
    const timers = async () => (await store.due(startMs + 10_000, 10)).timers;
    let record = await put("c", null, { wakeAtMs: startMs + 100 });
    expect(await timers()).toEqual([{ id: "c", wakeAtMs: startMs + 100, revision: record.revision }]);
    record = await put("c", record, { wakeAtMs: startMs + 50 });
    expect(await timers()).toEqual([{ id: "c", wakeAtMs: startMs + 50, revision: record.revision }]);
    record = await put("c", record, { wakeAtMs: startMs + 50 });
    expect(await timers(), "the revision is that of the last write").toEqual([
      { id: "c", wakeAtMs: startMs + 50, revision: record.revision },
    ]);
    record = await put("c", record);
    expect(await timers()).toEqual([]);
    record = await put("c", record, { wakeAtMs: 0 });
    expect(await timers()).toEqual([{ id: "c", wakeAtMs: 0, revision: record.revision }]);
  });

  it("shows at most 1000 timers", async ({ store }) => {
    await Promise.all(
      Array.from({ length: 1010 }, (_, index) =>
        store.exchange(writeAfter(null, `c${index}`, { wakeAtMs: startMs + index })),
      ),
    );
    const { timers } = await store.due(startMs + 5000, 5000);
    expect(timers.map((timer) => timer.wakeAtMs - startMs)).toEqual(Array.from({ length: 1000 }, (_, index) => index));
    expect((await store.list({ limit: 5000 })).conversations.length).toBe(1000);
  });

  // -------------------------------------------------------------------------------------------
  // Reading: log, list, stats

  it("pages through a log in both directions", async ({ store, put }) => {
    await put("c", null, { append: 10 });
    await put("d", null, { append: 1 });
    const page = async (options: Parameters<Store["log"]>[1]) => seqs((await store.log("c", options)).entries);
    expect(await page(undefined)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(await page({ limit: 4 })).toEqual([1, 2, 3, 4]);
    expect(await page({ from: 5, limit: 4 })).toEqual([5, 6, 7, 8]);
    expect(await page({ from: 9, limit: 4 })).toEqual([9, 10]);
    expect(await page({ from: 11 })).toEqual([]);
    expect(await page({ before: 11, limit: 4 })).toEqual([7, 8, 9, 10]);
    expect(await page({ before: 7, limit: 4 })).toEqual([3, 4, 5, 6]);
    expect(await page({ before: 3, limit: 4 })).toEqual([1, 2]);
    expect(await page({ before: 1 })).toEqual([]);
    expect(await page({ before: 1000, limit: 2 })).toEqual([9, 10]);
    expect(await page({ from: 4, before: 7 })).toEqual([4, 5, 6]);
    expect(await page({ from: 4, before: 9, limit: 2 })).toEqual([7, 8]);
  });

  it("shows 100 log entries unless asked, and at most 1000", async ({ store, put }) => {
    await put("c", null, { append: 1200 });
    expect((await store.log("c")).entries.length).toBe(100);
    expect((await store.log("c", { limit: 9999 })).entries.length).toBe(1000);
    expect(seqs((await store.log("c", { before: 1201, limit: 9999 })).entries)[0]).toBe(201);
    expect((await store.load("c", { logFrom: 1 })).log.length, "a load is never cut").toBe(1200);
  });

  it("lists conversations in the order of their ids' bytes", async ({ store, put }) => {
    for (const id of awkwardIds) await put(id);
    const order = bytewise(awkwardIds);
    const all = await store.list();
    expect(ids(all.conversations)).toEqual(order);
    expect(all.next).toBe(null);
    const walked: string[] = [];
    let after: ConversationId | null = "";
    while (after !== null) {
      const page: Awaited<ReturnType<Store["list"]>> = await store.list({ after, limit: 2 });
      walked.push(...ids(page.conversations));
      after = page.next;
    }
    expect(walked).toEqual(order);
    for (const id of order) {
      expect((await store.load(id)).record?.id).toBe(id);
      expect(ids((await store.list({ after: id })).conversations)).toEqual(order.slice(order.indexOf(id) + 1));
      expect(ids((await store.list({}, { prefix: id })).conversations)).toEqual(
        order.filter((other) => other.startsWith(id)),
      );
    }
    expect(ids((await store.list({ after: "a" }, { prefix: "a" })).conversations)).toEqual(
      order.filter((id) => id.startsWith("a") && id !== "a"),
    );
    expect(ids((await store.list({ after: "b" }, { prefix: "a" })).conversations)).toEqual([]);
    const exact = await store.list({ limit: order.length });
    expect(exact.next, "no empty last page").toBe(null);
  });

  it("filters a list by what is stored last", async ({ store, put }) => {
    const parked = { from: 0, to: 1, fromSeq: 1, atMs: startMs, reason: "x" };
    const handoff = { sinceMs: startMs, untilMs: startMs + 1, backlog: "answer" as const };
    const records = new Map<string, ConversationRecord>();
    for (let bits = 0; bits < 8; bits++) {
      const record = { parked: bits & 1 ? parked : null, handoff: bits & 2 ? handoff : null };
      const wakeAtMs = bits & 4 ? startMs : null;
      for (const group of ["x", "y"]) {
        const id = `${group}${bits}`;
        records.set(id, await put(id, null, { record, wakeAtMs }));
      }
    }
    for (const prefix of [undefined, "x"]) {
      for (const wantParked of [undefined, true, false]) {
        for (const handedOff of [undefined, true, false]) {
          for (const active of [undefined, true, false]) {
            const filter = {
              ...(prefix === undefined ? {} : { prefix }),
              ...(wantParked === undefined ? {} : { parked: wantParked }),
              ...(handedOff === undefined ? {} : { handedOff }),
              ...(active === undefined ? {} : { active }),
            };
            const wanted = [...records.keys()].sort().filter((id) => {
              const bits = Number(id.slice(1));
              return (
                id.startsWith(prefix ?? "") &&
                (wantParked ?? (bits & 1) > 0) === (bits & 1) > 0 &&
                (handedOff ?? (bits & 2) > 0) === (bits & 2) > 0 &&
                (active ?? (bits & 4) > 0) === (bits & 4) > 0
              );
            });
            const walked: string[] = [];
            let after: ConversationId | null = "";
            while (after !== null) {
              const page: Awaited<ReturnType<Store["list"]>> = await store.list({ after, limit: 3 }, filter);
              walked.push(...ids(page.conversations));
              after = page.next;
            }
            expect(walked, JSON.stringify(filter)).toEqual(wanted);
          }
        }
      }
    }
    await put("x1", records.get("x1"), { record: { parked: null } });
    expect(ids((await store.list({}, { parked: true, prefix: "x" })).conversations)).toEqual(["x3", "x5", "x7"]);
  });

  itIf("exact-stats", "counts", async ({ store, put, now, pass }) => {
    const none = { conversations: 0, active: 0, due: 0, oldestDueAtMs: null, parked: 0, handedOff: 0 };
    expect(await store.stats()).toEqual({ ...none, nowMs: now() });
    await put("at rest");
    await put("soon", null, { wakeAtMs: startMs + 100 });
    await put("later", null, { wakeAtMs: startMs + 200 });
    const parked = { from: 0, to: 1, fromSeq: 1, atMs: startMs, reason: "x" };
    const handoff = { sinceMs: startMs, untilMs: startMs + 1, backlog: "answer" as const };
    await put("parked", null, { record: { parked } });
    await put("both", null, { record: { parked, handoff } });
    const counted = { conversations: 5, active: 2, due: 0, oldestDueAtMs: startMs + 100, parked: 2, handedOff: 1 };
    expect(await store.stats()).toEqual({ ...counted, nowMs: now() });
    pass(100);
    expect(await store.stats()).toEqual({ ...counted, due: 1, nowMs: now() });
    await store.erase("both");
    await store.erase("soon");
    expect(await store.stats()).toEqual({
      conversations: 3,
      active: 1,
      due: 0,
      oldestDueAtMs: startMs + 200,
      parked: 1,
      handedOff: 0,
      nowMs: now(),
    });
  });

  // -------------------------------------------------------------------------------------------
  // Upkeep

  it("repairs timers that the records do not demand, page by page", async ({ store, put }) => {
    const records = new Map<ConversationId, ConversationRecord>();
    const stored: Record<ConversationId, number | null> = { a: null, b: 100, c: 100, d: 100, e: null };
    const demanded: Record<ConversationId, number | null> = { a: 50, b: null, c: 100, d: 200, e: null };
    for (const [id, ms] of Object.entries(stored)) {
      records.set(id, await put(id, null, { wakeAtMs: ms === null ? null : startMs + ms }));
    }
    const wakeAt = (record: ConversationRecord) => {
      const ms = demanded[record.id] ?? null;
      return ms === null ? null : startMs + ms;
    };
    const first = await store.repair({ limit: 2 }, wakeAt);
    expect(first).toEqual({ repaired: ["a", "b"], next: "b" });
    expect(await store.repair({ after: "b", limit: 3 }, wakeAt)).toEqual({ repaired: ["d"], next: null });
    expect(await store.repair({}, wakeAt)).toEqual({ repaired: [], next: null });
    expect((await store.due(startMs + 1000, 10)).timers).toEqual(
      ["a", "c", "d"].map((id) => ({
        id,
        wakeAtMs: wakeAt(records.get(id) as ConversationRecord),
        revision: records.get(id)?.revision,
      })),
    );
  });

  it("erases a conversation and nothing else", async ({ store, put, now }) => {
    for (const id of ["c", "d"]) await put(id, null, { append: 3, wakeAtMs: startMs, seen: [key("k")] });
    expect(await store.erase("c")).toBe(true);
    expect(await store.erase("c")).toBe(false);
    expect(await store.load("c", { logFrom: 1 })).toEqual({ record: null, log: [], nowMs: now() });
    expect((await store.due(startMs, 10)).timers.map((timer) => timer.id)).toEqual(["d"]);
    expect((await store.load("d", { logFrom: 1 })).log.length).toBe(3);
    // It may come back as if it had never been.
    await put("c", null, { append: 1, seen: [key("k")] });
    expect(await store.list()).toMatchObject({
      conversations: [
        { id: "c", seq: 1 },
        { id: "d", seq: 3 },
      ],
    });
  });

  itIf("pause", "brings the pause with every look for work, until it is lifted", async ({ store, put, pass, now }) => {
    const { setPause } = store;
    expect(setPause !== undefined, "a store without setPause says so").toBe(true);
    await put("c", null, { wakeAtMs: startMs });
    const timers = (await store.due(startMs, 10)).timers;
    expect((await store.due(startMs, 10)).paused ?? null).toBe(null);
    const pause = { sinceMs: startMs, by: 'ops "1"', reason: "a\nb 👩‍👩‍👧" };
    pass(5);
    expect(await store.setPause?.(pause)).toEqual({ nowMs: now() });
    expect(await store.due(startMs, 10)).toEqual({ timers, paused: pause, nowMs: now() });
    expect((await store.due(0, 1)).paused, "with no timer due, too").toEqual(pause);
    await store.setPause?.({ sinceMs: startMs + 1 });
    expect((await store.due(0, 1)).paused).toEqual({ sinceMs: startMs + 1 });
    expect(await store.setPause?.(null)).toEqual({ nowMs: now() });
    expect((await store.due(startMs, 10)).paused ?? null).toBe(null);
    await store.setPause?.(null);
    expect(await codeOf(async () => store.setPause?.({ sinceMs: Number.NaN }))).toBe("invalid-argument");
  });

  itIf("rewrite", "replaces log entries under the record's revision, and nothing else", async ({ store, put, now }) => {
    expect(store.rewrite !== undefined, "a store without rewrite says so").toBe(true);
    const first = await put("c", null, { append: 3, wakeAtMs: startMs, seen: [key("k")] });
    await put("d", null, { append: 3 });
    const blank = { ...messageEntry(2), parts: [], atMs: startMs - 1 };
    const odd = { ...messageEntry(3), parts: [{ type: "text" as const, text: 'a"\\\n👩‍👩‍👧' }] };
    expect(await store.rewrite?.("c", "some other revision", [blank])).toBe(false);
    expect(await store.rewrite?.("none", "x", [blank])).toBe(false);
    expect(await codeOf(async () => store.rewrite?.("c", first.revision, [blank, messageEntry(4)]))).toBe(
      "invalid-argument",
    );
    const before = await store.load("c", { logFrom: 1 });
    expect(before.log).toEqual([messageEntry(1), messageEntry(2), messageEntry(3)]);
    expect(await store.rewrite?.("c", first.revision, [odd, blank])).toBe(true);
    const { timers } = await store.due(startMs, 10);
    expect(timers).toEqual([{ id: "c", wakeAtMs: startMs, revision: first.revision }]);
    expect(await store.load("c", { logFrom: 1 })).toEqual({
      record: first,
      log: [messageEntry(1), blank, odd],
      nowMs: now(),
    });
    expect((await store.log("d")).entries).toEqual([messageEntry(1), messageEntry(2), messageEntry(3)]);
    const second = await put("c", first, { append: 1 });
    expect(await store.rewrite?.("c", first.revision, [messageEntry(2)])).toBe(false);
    expect(await store.rewrite?.("c", second.revision, [])).toBe(true);
  });

  it("prunes expired keys, never others", async ({ store, put, pass, now }) => {
    const keepFrom = () => 1;
    const first = await put("c", null, {
      seen: [key("old", 1, startMs + 10), key("older", 1, startMs + 5), key("young", 1, startMs + 1000)],
    });
    expect(await store.prune({ seenBeforeMs: startMs + 10_000, keepFrom })).toEqual({ seen: 0, entries: 0 });
    pass(10);
    expect(await store.prune({ seenBeforeMs: now(), keepFrom, limit: 1 })).toEqual({ seen: 1, entries: 0 });
    expect(await store.prune({ seenBeforeMs: now(), keepFrom })).toEqual({ seen: 1, entries: 0 });
    expect(await store.prune({ seenBeforeMs: now(), keepFrom })).toEqual({ seen: 0, entries: 0 });
    const answer = await store.exchange(writeAfter(first, "c", { nowMs: now(), seen: [key("young")] }));
    expect(answer.kind).toBe("duplicate");
  });

  it("prunes old log entries that are not needed", async ({ store, put, now }) => {
    const aged = (...days: number[]) =>
      days.map((day, index) => messageEntry(index + 1, "x", startMs - day * 86_400_000));
    const needed: Record<ConversationId, number> = { all: 1, none: 100, some: 3, young: 100, mixed: 100 };
    const before: Record<ConversationId, ConversationRecord> = {};
    for (const id of ["all", "none", "some"]) before[id] = await put(id, null, { append: aged(9, 8, 7, 6) });
    before.young = await put("young", null, { append: aged(4, 3) });
    // A clock that was set back leaves an old entry behind a young one: the log keeps no gaps.
    before.mixed = await put("mixed", null, { append: aged(9, 1, 8) });
    await put("empty");
    const prune = (limit?: number) =>
      store.prune({
        seenBeforeMs: now(),
        logBeforeMs: startMs - 5 * 86_400_000,
        keepFrom: (record) => needed[record.id] ?? 1,
        ...(limit === undefined ? {} : { limit }),
      });
    const left = async (id: string) => seqs((await store.log(id)).entries);
    expect(await prune(1)).toEqual({ seen: 0, entries: 1 });
    expect(await prune()).toEqual({ seen: 0, entries: 6 });
    expect(await prune()).toEqual({ seen: 0, entries: 0 });
    expect(await left("all")).toEqual([1, 2, 3, 4]);
    expect(await left("none")).toEqual([]);
    expect(await left("some")).toEqual([3, 4]);
    expect(await left("young")).toEqual([1, 2]);
    expect(await left("mixed")).toEqual([2, 3]);
    // The log goes on where it was, and can be pruned again.
    for (const id of ["none", "some"]) {
      const old = { ...messageEntry(5), atMs: startMs - 7 * 86_400_000 };
      const record = await put(id, before[id], { append: [old], logFrom: 1 });
      expect(record.seq).toBe(5);
    }
    expect(await left("none")).toEqual([5]);
    expect(seqs((await store.load("some", { logFrom: 1 })).log)).toEqual([3, 4, 5]);
    expect(seqs((await store.log("some", { limit: 2 })).entries)).toEqual([3, 4]);
    needed.some = 5;
    expect(await prune()).toEqual({ seen: 0, entries: 3 });
    expect(await left("none")).toEqual([]);
    expect(await left("some")).toEqual([5]);
  });

  it("refuses everything once closed", async ({ store, put, now }) => {
    const record = await put("c");
    await store.close();
    const calls: (() => Promise<unknown>)[] = [
      () => store.load("c"),
      () => store.exchange(writeAfter(record, "c")),
      () => store.due(now(), 1),
      () => store.log("c"),
      () => store.list(),
      () => store.stats(),
      () => store.repair({}, () => null),
      () => store.erase("c"),
      () => store.prune({ seenBeforeMs: 0, keepFrom: () => 1 }),
      ...(store.setPause ? [async () => store.setPause?.(null)] : []),
      ...(store.rewrite ? [async () => store.rewrite?.("c", record.revision, [])] : []),
    ];
    for (const call of calls) expect(await codeOf(call)).toBe("store-closed");
    await store.close();
  });

  itIf("hints", "tells listeners of every stored write, until they leave", async ({ store, put, now }) => {
    // Without `wake` there are no hints, and nobody expects any.
    if (store.wake === undefined) return;
    const heard: string[] = [];
    const leave = store.wake((id) => heard.push(id));
    await put("a");
    expect((await store.exchange(writeAfter(null, "a", { nowMs: now() }))).kind).toBe("conflict");
    const heardOf = async (id: string) => {
      for (let turn = 0; turn < 1_000 && !heard.includes(id); turn++) await nextTurn();
      return heard.includes(id);
    };
    expect(await heardOf("a")).toBe(true);
    leave();
    await put("b");
    await nextTurn();
    expect(heard.includes("b")).toBe(false);
  });

  it("finishes what was asked before closing", async ({ store }) => {
    const answers = Array.from({ length: 20 }, (_, index) => store.exchange(writeAfter(null, `c${index}`)));
    await store.close();
    expect((await Promise.all(answers)).map((answer) => answer.kind)).toEqual(Array(20).fill("stored"));
  });
}

const endedEffect = { state: "ended" as const, fence: 1, seq: 1 };

function key(text: string, value: string | number | object = 0, expiresAtMs = startMs + 7 * 86_400_000) {
  return { key: text, value: value as never, expiresAtMs };
}
