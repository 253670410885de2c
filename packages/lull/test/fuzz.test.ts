// Fuzz: what callers, settings files and disks may hand in. Nothing here knows the right answer; it knows what must
// never happen: an error that is not ours, a refusal that does not say what is wrong, damage that spreads.
//
// LULL_FUZZ_SEED chooses another seed, LULL_FUZZ_TIMES multiplies the runs.
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import {
  apply,
  blank,
  type ConversationRecord,
  type Incoming,
  type LogEntry,
  Lull,
  LullError,
  type LullOptions,
  memory,
  type ProtocolEvent,
  type Received,
  type Store,
  wakeAt,
} from "../src/index.ts";
import { settle } from "../src/options.ts";
import { decodeEntry, decodeRecord, encodeEntry, encodeRecord } from "../src/stores/codec.ts";
import { sqlite } from "../src/stores/sqlite/index.ts";
import { openDatabase } from "./stores/database.ts";
import { bot } from "./support/bot.ts";
import { counting, mortal } from "./support/stores.ts";
import { virtualClock } from "./support/virtual.ts";

const seed = Number(process.env.LULL_FUZZ_SEED ?? 20_260_105);
const times = Number(process.env.LULL_FUZZ_TIMES ?? 1);
console.log(`fuzz: LULL_FUZZ_SEED=${seed}`);

/** Bounded by time as well: a slow machine tries less, and says so by its own slowness only. */
const runs = (numRuns: number) => ({
  seed,
  numRuns: Math.ceil(numRuns * times),
  interruptAfterTimeLimit: 12_000 * times,
  markInterruptAsFailure: false,
});
const patience = 20_000 * times;

/** What an error must be, whatever caused it. */
function ours(error: unknown, ...codes: string[]): LullError {
  if (!LullError.isInstance(error)) throw new Error(`not an error of ours: ${String(error)}`, { cause: error });
  if (codes.length > 0) expect(codes).toContain(error.code);
  expect(error.message.length).toBeGreaterThan(10);
  return error;
}

// Any UTF-16 at all, lone surrogates and NUL included.
const codeUnits = fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)), maxLength: 20 });
const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 30 }),
  codeUnits,
  fc.constantFrom(
    "",
    " ",
    "\0",
    "\ud800",
    "\udfff x",
    "e\u0301",
    "__proto__",
    "constructor",
    "toString",
    "🦀",
    "\\ud800",
    "'; --",
  ),
  fc.nat(3_000).map((length) => "x".repeat(length)),
);
const odd: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown[]>(
    null,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -1,
    0,
    -0,
    1,
    1.5,
    1e21,
    2 ** 53,
    "",
    "x",
    true,
    false,
  ),
  fc.constantFrom<unknown[]>(
    [],
    [null],
    {},
    Symbol("s"),
    10n,
    new Date(0),
    /x/,
    () => {},
    () => null,
    new Map(),
    Object.create(null),
  ),
  fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true, maxDepth: 2 }),
  fc.integer(),
  fc.double(),
);

// ---------------------------------------------------------------------------------------------

describe("options", () => {
  const limits = [
    "typingMs",
    "incompleteMs",
    "maxRestarts",
    "maxFailures",
    "maxPending",
    "maxParts",
    "maxEffects",
    "maxSends",
  ];
  const more = [
    "deliverMaxMs",
    "maxHandoffMs",
    "repliesPerHour",
    "maxTextBytes",
    "maxIdBytes",
    "maxAddressBytes",
    "maxEffectBytes",
    "seenMs",
  ];
  const top = [
    "store",
    "respond",
    "deliver",
    "channels",
    "debounce",
    "whenBusy",
    "lease",
    "limits",
    "commands",
    "backlog",
  ];
  const rest = [
    "editAfterAnswer",
    "history",
    "fallback",
    "concurrency",
    "backoff",
    "deliverBackoff",
    "scanMs",
    "logger",
    "clock",
    "owner",
  ];
  const paths = [
    ...[...top, ...rest].map((name) => [name]),
    ...[...limits, ...more].map((name) => ["limits", name]),
    ...["leaseMs", "renewMs", "turnTimeoutMs"].map((name) => ["lease", name]),
    ...["quietMs", "startMs", "maxWaitMs"].map((name) => ["debounce", name]),
    ...["firstMs", "maxMs"].flatMap((name) => [
      ["backoff", name],
      ["deliverBackoff", name],
    ]),
    ...["stop", "reset"].map((name) => ["commands", name]),
    ...["maxAgeMs", "then"].map((name) => ["backlog", name]),
    ["history", "keepMs"],
    ["surprise"],
    ["limits", "surprise"],
    ["lease", "__proto__"],
  ];

  function optionsWith(path: readonly string[], value: unknown, base: object = { store: memory() }): LullOptions {
    const [name = "", inner] = path;
    const given = inner === undefined ? value : Object.fromEntries([[inner, value]]);
    return { ...base, [name]: given } as unknown as LullOptions;
  }

  /** Either it can be used, or it is refused by name. */
  async function tried(options: LullOptions, names: readonly string[]): Promise<void> {
    let lull: Lull;
    try {
      lull = new Lull(options);
    } catch (error) {
      const { message } = ours(error, "invalid-options");
      expect(
        names.some((name) => message.includes(name)),
        message,
      ).toBe(true);
      return;
    }
    try {
      expect(await lull.receive("c", { id: "m", text: "hi" })).toMatchObject({ status: "accepted" });
    } catch (error) {
      ours(error, "invalid-options", "too-large", "invalid-argument");
    }
  }

  it(
    "are refused by name, or work",
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...paths), odd, async (path, value) => {
          fc.pre(path[0] !== "store");
          await tried(optionsWith(path, value), [path.at(-1) ?? "", path[0] ?? ""]);
        }),
        runs(3_000),
      );
    },
    patience,
  );

  it(
    "are refused by one of their names when several are odd",
    async () => {
      const several = fc.array(fc.tuple(fc.constantFrom(...paths), odd), { minLength: 2, maxLength: 5 });
      await fc.assert(
        fc.asyncProperty(several, async (list) => {
          let options: object = { store: memory() };
          for (const [path, value] of list) if (path[0] !== "store") options = optionsWith(path, value, options);
          await tried(
            options as LullOptions,
            list.map(([path]) => path[0] ?? ""),
          );
        }),
        runs(1_000),
      );
    },
    patience,
  );

  it(
    "that are no options at all, and stores that are none",
    () => {
      fc.assert(
        fc.property(odd, (value) => {
          for (const options of [value, { store: value }])
            try {
              new Lull(options as LullOptions);
            } catch (error) {
              expect(ours(error, "invalid-options").message).toMatch(/^(options|store) /);
            }
        }),
        runs(500),
      );
    },
    patience,
  );

  it(
    "given as functions are checked when they answer",
    async () => {
      const names = ["debounce", "whenBusy"];
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...names), odd, async (name, value) => {
          await tried(
            optionsWith([name], () => value),
            [name],
          );
        }),
        runs(500),
      );
    },
    patience,
  );

  it(
    "with whole numbers in their bounds are taken as they are",
    () => {
      const settings = {
        leaseMs: fc.integer({ min: 100, max: 86_400_000 }),
        quietMs: fc.nat(1e9),
        startMs: fc.nat(1e9),
      };
      fc.assert(
        fc.property(fc.record(settings), ({ leaseMs, quietMs, startMs }) => {
          fc.pre(startMs <= quietMs);
          const { limits: taken } = settle({ store: memory(), lease: { leaseMs }, debounce: { quietMs, startMs } });
          expect(taken).toMatchObject({ leaseMs, quietMs, startMs });
          expect(taken.maxWaitMs).toBeGreaterThanOrEqual(quietMs);
        }),
        runs(300),
      );
    },
    patience,
  );
});

// ---------------------------------------------------------------------------------------------

describe("what people hand in", () => {
  const address = fc.oneof(fc.jsonValue({ maxDepth: 2 }), odd, fc.nat(9_000).map(nested));
  const part = fc.oneof(
    anyText,
    fc.record({ type: fc.constant("text"), text: fc.oneof(anyText, odd) }),
    fc.record(
      {
        type: fc.constant("file"),
        mediaType: fc.oneof(anyText, odd),
        url: fc.oneof(anyText, odd),
        ref: address,
        filename: anyText,
      },
      { requiredKeys: ["type"] },
    ),
    fc.record({ type: fc.constant("data"), data: address }),
    odd,
  );
  const fields = {
    id: fc.oneof(anyText, odd),
    text: fc.oneof(anyText, odd),
    parts: fc.oneof(fc.array(part, { maxLength: 4 }), odd),
    author: fc.oneof(anyText, odd),
    sentAt: fc.oneof(
      fc.date({ noInvalidDate: false }),
      fc.double(),
      anyText,
      fc.date({ noInvalidDate: true }).map(String),
      odd,
    ),
    replyTo: fc.oneof(anyText, odd),
    address,
    metadata: fc.oneof(fc.dictionary(anyText, fc.jsonValue({ maxDepth: 2 })), odd),
    quietMs: fc.oneof(fc.integer(), odd),
    incomplete: fc.oneof(fc.boolean(), odd),
    surprise: odd,
  };
  // Mostly one kind of content and a few fields, so that a good part of what is tried is taken.
  const message = fc
    .tuple(fc.constantFrom("text", "parts"), fc.uniqueArray(fc.constantFrom(...Object.keys(fields)), { maxLength: 3 }))
    .chain(([content, names]) =>
      fc.record(Object.fromEntries([content, ...names].map((name) => [name, fields[name as keyof typeof fields]]))),
    );

  function nested(levels: number): unknown {
    let value: unknown = 1;
    for (let level = 0; level < levels; level += 1) value = [value];
    return value;
  }

  const kinds: Record<string, () => Store> = {
    memory: () => memory(),
    sqlite: () => sqlite(openDatabase(":memory:"), { closeDatabase: true }),
  };
  const made: Store[] = [];
  afterAll(() => Promise.all(made.map((store) => store.close())));

  /** Nothing that a store or a channel could not take. */
  function wellFormed(value: unknown): boolean {
    if (typeof value === "string") return value.isWellFormed();
    if (typeof value !== "object" || value === null) return true;
    return Object.entries(value).every(([key, item]) => key.isWellFormed() && wellFormed(item));
  }

  it.each(Object.keys(kinds))(
    "is stored whole or refused by field (%s)",
    async (kind) => {
      const store = (kinds[kind] ?? memory)();
      made.push(store);
      const lull = new Lull({ store });
      let conversations = 0;
      let taken = 0;
      await fc.assert(
        fc.asyncProperty(message, async (given) => {
          const conversation = `c${++conversations}`;
          let received: Received;
          try {
            received = await lull.receive(conversation, given as Incoming);
          } catch (error) {
            const { details } = ours(error, "invalid-argument", "too-large");
            const field = String(details?.field);
            expect(
              [...Object.keys(given), "text"].some((name) => field.startsWith(name)),
              field,
            ).toBe(true);
            expect((await store.load(conversation)).record).toBeNull();
            return;
          }
          taken += 1;
          expect(received.status).toBe("accepted");
          const { log } = await store.load(conversation, { logFrom: 1 });
          expect(log).toHaveLength(1);
          expect(wellFormed(log)).toBe(true);
          expect(log[0]).toMatchObject({ kind: "message", id: received.id });
          if (typeof given.id === "string") {
            expect(received.id).toBe(given.id);
            const again = await lull.receive(conversation, given as Incoming);
            expect(again).toEqual({ ...received, status: "duplicate" });
          }
        }),
        runs(1_500),
      );
      expect(taken).toBeGreaterThan(conversations / 20);
    },
    patience,
  );

  it(
    "in any other call is taken or refused by field",
    async () => {
      const clock = virtualClock();
      const store = memory({ now: () => clock.now() });
      const lull = new Lull({ store, clock });
      const argument = fc.oneof(
        message,
        fc.record(
          { by: anyText, id: anyText, upTo: odd, forMs: odd, backlog: odd, on: odd, when: odd },
          { requiredKeys: [] },
        ),
      );
      const calls = [
        "edit",
        "retract",
        "send",
        "humanReply",
        "handoff",
        "resume",
        "reset",
        "retry",
        "typing",
        "erase",
        "get",
      ] as const;
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...calls),
          anyText,
          anyText,
          argument,
          async (name, conversation, id, given) => {
            const method = lull[name] as (...args: unknown[]) => Promise<unknown>;
            try {
              await (name === "edit" || name === "retract"
                ? method.call(lull, conversation, id, given)
                : method.call(lull, conversation, given));
            } catch (error) {
              const { details } = ours(error, "invalid-argument", "too-large");
              expect(details?.field).toEqual(expect.any(String));
              return;
            }
            expect(wellFormed((await store.load(conversation, { logFrom: 1 })).log)).toBe(true);
          },
        ),
        runs(1_500),
      );
    },
    patience,
  );
});

// ---------------------------------------------------------------------------------------------

/** Records and entries as they really come to be: a day in the life of a few conversations. */
async function library(): Promise<{ records: ConversationRecord[]; entries: LogEntry[] }> {
  const clock = virtualClock();
  const records: ConversationRecord[] = [];
  const entries: LogEntry[] = [];
  const inner = memory({ now: () => clock.now() });
  const store: Store = {
    ...inner,
    exchange(write) {
      records.push(structuredClone(write.next));
      entries.push(...structuredClone([...(write.append ?? [])]));
      return inner.exchange(write);
    },
  };
  let tries = 0;
  const { lull } = bot(
    {
      respond: async (turn) => {
        await turn.once("order", () => ({ number: 7 }));
        if (turn.text.includes("fail")) throw new Error("no");
        if (turn.text.includes("say")) await turn.say("first");
        return ["one", "two"];
      },
      deliver: () =>
        Promise.resolve(++tries % 3 === 0 ? { status: "failed", error: "no", retry: true } : { status: "sent" }),
      limits: { maxFailures: 2 },
      fallback: "sorry",
    },
    { clock, store },
  );
  await lull.start();
  await lull.receive("c", [
    { id: "a", text: "hi" },
    { id: "b", text: "there", incomplete: true },
  ]);
  await lull.typing("c");
  await clock.advance(500);
  await lull.edit("c", "b", { text: "you there", incomplete: false });
  await clock.advance(4_000);
  await lull.retract("c", "a");
  await clock.advance(20_000);
  await lull.receive("c", { id: "s", text: "say" });
  await clock.advance(20_000);
  await lull.send("c", { text: "news", when: "after-turn" });
  await lull.receive("c", { id: "f", text: "fail" });
  await clock.advance(120_000);
  await lull.retry("c");
  await lull.handoff("c", { forMs: 60_000, by: "ann" });
  await lull.receive("c", { id: "h", text: "hello?" });
  await lull.humanReply("c", { text: "I am here", upTo: "h" });
  await lull.resume("c");
  await clock.advance(60_000);
  await lull.stop();
  return { records, entries };
}

const { records, entries } = await library();

/** Everything in a value that can be changed. */
function places(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [path];
  const inner = Object.entries(value).flatMap(([key, item]) => places(item, [...path, key]));
  return path.length === 0 ? inner : [path, ...inner];
}

const gone = Symbol("gone");
const change = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown[]>(null, -1, 0, 1, 2, 1.5, 1e300, -1e300, 2 ** 53, "", "x", true, [], {}, gone),
  fc.integer(),
);

function changed(value: object, at: number, to: unknown): object {
  const copy = structuredClone(value);
  const all = places(copy);
  const path = all[at % all.length] ?? [];
  let parent = copy as Record<string | number, unknown>;
  for (const key of path.slice(0, -1)) parent = parent[key] as typeof parent;
  const last = path.at(-1) ?? "";
  if (to === gone) delete parent[last];
  else parent[last] = to;
  return copy;
}

const damage = fc.array(fc.tuple(fc.nat(10_000), change), { minLength: 1, maxLength: 3 });
const damaged = (value: object, changes: [number, unknown][]) =>
  JSON.stringify(changes.reduce((now, [at, to]) => changed(now, at, to), value));

describe("records and log entries that come back damaged", () => {
  const limits = settle({ store: memory() }).limits;

  it("there are many kinds to damage", () => {
    const kinds = new Set(entries.map(({ kind }) => kind));
    expect(records.length).toBeGreaterThan(40);
    expect(kinds.size).toBeGreaterThan(15);
    for (const record of records) expect(decodeRecord("c", encodeRecord(record))).toEqual(record);
    for (const entry of entries)
      expect(decodeEntry("c", entry.seq, encodeEntry(entry))).toEqual(JSON.parse(encodeEntry(entry)));
  });

  it(
    "texts: cut, spliced and garbled are damage, and say whose",
    () => {
      const stored = fc.constantFrom(...records.map(encodeRecord), ...entries.map(encodeEntry));
      fc.assert(
        fc.property(stored, fc.nat(), fc.nat(200), anyText, (text, at, drop, insert) => {
          const from = at % text.length;
          const broken = text.slice(0, from) + insert + text.slice(from + drop);
          for (const decode of [() => decodeRecord("c", broken), () => decodeEntry("c", 1, broken)])
            try {
              decode();
            } catch (error) {
              const { details, message } = ours(error, "store-damaged", "store-newer-schema");
              expect(details).toMatchObject({ conversation: "c" });
              expect(message).toContain('"c"');
            }
        }),
        runs(2_000),
      );
    },
    patience,
  );

  it(
    "a record from another schema says so",
    () => {
      fc.assert(
        fc.property(fc.constantFrom(...records), fc.oneof(fc.integer(), fc.jsonValue()), (record, schema) => {
          fc.pre(
            schema !== 1 &&
              schema !== undefined &&
              JSON.stringify({ schema }) !== "{}" &&
              JSON.stringify(schema) !== "1",
          );
          try {
            decodeRecord("c", JSON.stringify({ ...record, schema }));
            expect.unreachable();
          } catch (error) {
            ours(error, Number.isSafeInteger(schema) && Number(schema) > 1 ? "store-newer-schema" : "store-damaged");
          }
        }),
        runs(300),
      );
    },
    patience,
  );

  const events = (record: ConversationRecord): ProtocolEvent[] => {
    const held = { fence: record.lease?.fence ?? record.fence, claimId: record.lease?.claimId ?? "x" };
    const replyId = record.outbox?.replyId ?? "r";
    const log: LogEntry[] = [];
    return [
      { type: "receive", id: "n", parts: [{ type: "text", text: "n" }] },
      { type: "edit", id: "e", target: "a", parts: [], completes: false, afterAnswer: "new-input", log },
      { type: "retract", id: "t", target: "a", log },
      { type: "typing", on: true },
      { type: "flush" },
      { type: "claim", owner: "o", claimId: "new", random: 0.5 },
      { type: "renew", held: true, deadlineMs: 0, ...held },
      { type: "discard", reason: "handed-back", ...held },
      { type: "absorb", ...held },
      { type: "seal", ...held },
      { type: "begin", key: "order", readOnly: true, ...held },
      { type: "commit", replyId: "q", parts: [{ type: "text", text: "n" }], open: false, ...held },
      { type: "append", replyId, index: 1, part: { type: "text", text: "n" }, ...held },
      { type: "close", replyId, ...held },
      { type: "attempt", replyId, index: 0, inDoubt: "retry", ...held },
      { type: "settle", replyId, index: 0, receipt: { state: "sent" }, random: 0.5, ...held },
      { type: "fail", error: "no", random: 0.5, ...held },
      { type: "handoff", id: "h", forMs: 1, backlog: "answer" },
      { type: "humanReply", id: "h", upTo: null, parts: [], log },
      { type: "resume", id: "r", backlog: "answer" },
      { type: "reset", id: "r", forget: true },
      { type: "retry", id: "r" },
      { type: "send", id: "s", replyId: "s", parts: [], when: "after-turn" },
    ];
  };

  it(
    "a record that is let through can be worked with, and stored again",
    () => {
      let taken = 0;
      let refused = 0;
      fc.assert(
        fc.property(fc.constantFrom(...records), damage, (record, changes) => {
          let read: ConversationRecord;
          try {
            read = decodeRecord("c", damaged(record, changes));
          } catch (error) {
            refused += 1;
            ours(error, "store-damaged", "store-newer-schema");
            return;
          }
          taken += 1;
          for (const event of events(read)) {
            const { next } = apply(read, event, record.updatedAtMs + 1_000, limits);
            if (next === null) continue;
            decodeRecord("c", encodeRecord(next));
            const at = wakeAt(next, limits);
            expect(at === null || Number.isSafeInteger(at), `${event.type} wakes at ${at}`).toBe(true);
          }
        }),
        runs(1_500),
      );
      expect(Math.min(taken, refused)).toBeGreaterThan(0);
    },
    patience,
  );

  it(
    "one conversation's damage is told by its own calls, and stays its own",
    async () => {
      const outcomes = new Map<string, number>();
      const target = fc.constantFrom("record", "record", "entry", "entry gone", "timer", "seen");
      await fc.assert(
        fc.asyncProperty(target, fc.nat(), damage, fc.nat(3), async (what, at, changes, stage) => {
          const clock = virtualClock();
          const db = openDatabase(":memory:");
          const inner = sqlite(db, { now: () => clock.now(), clock, closeDatabase: true });
          const { store, counts } = counting(inner);
          const dying = mortal(store, clock);
          const before = bot({ respond: () => ["one", "two"], clock: dying.clock }, { clock, store: dying.store });
          await before.lull.start();
          await before.lull.receive("bad", { id: "a", text: "a" });
          await before.lull.receive("bad", { id: "b", text: "b" });
          await clock.advance([100, 2_000, 6_200, 30_000][stage] ?? 0);
          dying.kill();

          const row = (sql: string) => db.prepare(sql).get({}) as Record<string, string | number> | undefined;
          const log = db.prepare("select seq, entry from lull_log where conversation = 'bad' order by seq").all({}) as {
            seq: number;
            entry: string;
          }[];
          const victim = log[at % log.length];
          if (what === "record") {
            const { record = "{}" } = row("select record from lull_record where id = 'bad'") ?? {};
            db.prepare("update lull_record set record = :record where id = 'bad'").run({
              record: damaged(JSON.parse(String(record)), changes),
            });
          } else if (victim !== undefined && what === "entry") {
            const entry = damaged(JSON.parse(victim.entry), changes);
            db.prepare("update lull_log set entry = :entry where conversation = 'bad' and seq = :seq").run({
              entry,
              seq: victim.seq,
            });
          } else if (victim !== undefined && what === "entry gone")
            db.prepare("delete from lull_log where conversation = 'bad' and seq = :seq").run({ seq: victim.seq });
          else if (what === "timer")
            db.prepare("update lull_timer set wake_at_ms = :at where conversation = 'bad'").run({ at: at - 1_000 });
          else
            db.prepare("update lull_seen set value = :value where conversation = 'bad'").run({
              value: JSON.stringify(changes[0]?.[1] ?? null),
            });

          // Another process, which has never seen it.
          counts.exchange = counts.load = 0;
          const { lull, sent } = bot({}, { clock, store });
          await lull.start();
          const calls = [
            () => lull.get("bad"),
            () => lull.log("bad"),
            () => lull.explain("bad"),
            () => lull.list(),
            () => lull.stats(),
            () => lull.receive("bad", { id: "a", text: "a" }),
            () => lull.receive("bad", { id: "c", text: "c" }),
            () => lull.edit("bad", "b", { text: "B" }),
            () => lull.retract("bad", "a"),
            () => lull.typing("bad"),
            () => lull.send("bad", { text: "news" }),
            () => lull.humanReply("bad", { text: "here", upTo: "b" }),
            () => lull.repair(),
          ];
          const results = Promise.allSettled(calls.map((call) => call()));
          await lull.receive("good", { id: "g", text: "g" });
          await clock.advance(60_000);
          for (const [place, result] of (await results).entries()) {
            const key = result.status === "fulfilled" ? "worked" : ours(result.reason).code;
            outcomes.set(key, (outcomes.get(key) ?? 0) + 1);
            if (result.status === "rejected") {
              // Calls about everybody work for everybody else.
              expect(place === 3 || place === 4 || place === 12).toBe(false);
              expect(["store-damaged", "store-newer-schema"], String(result.reason)).toContain(result.reason.code);
            }
          }
          expect(sent.filter(({ text }) => text === "answer to: g")).toHaveLength(1);
          // Nobody runs hot over what cannot be mended.
          expect(counts.exchange + counts.load).toBeLessThan(1_000);
          await lull.erase("bad");
          expect(await lull.get("bad")).toBeNull();
          const stopped = lull.stop({ timeoutMs: 0 });
          await clock.advance(15_000);
          await stopped;
          await inner.close();
        }),
        runs(150),
      );
      expect(outcomes.get("worked")).toBeGreaterThan(0);
      expect(outcomes.get("store-damaged")).toBeGreaterThan(0);
    },
    patience,
  );
});

it("a blank record is one that a store takes", () => {
  expect(decodeRecord("c", encodeRecord({ ...blank("c", 0), revision: "r" }))).toMatchObject({ id: "c" });
});
