// What an author may set, and what is refused: every message names the option, the rule and the bad value.
import { describe, expect, it } from "vitest";
import { defaults, Lull, type LullOptions, memory, presets } from "../../src/index.ts";
import { settle } from "../../src/options.ts";

const store = memory();
const with_ = (options: object) => settle({ store, ...options } as LullOptions);

describe("options", () => {
  it("need a store, and nothing else", () => {
    expect(() => new Lull({ store })).not.toThrow();
    const settings = with_({});
    expect(settings.limits).toMatchObject({
      quietMs: 6_000,
      startMs: 1_000,
      maxWaitMs: 45_000,
      leaseMs: 30_000,
      turnTimeoutMs: 120_000,
      maxRestarts: 3,
      maxFailures: 5,
      maxPending: 1_000,
    });
    expect(settings.renewMs).toBe(10_000);
    expect(settings.whenBusyOf("c")).toBe("interrupt");
    expect(settings.fallbackOf("c", "x")).toBeNull();
  });

  it("know three presets, and what follows from quietMs", () => {
    for (const [name, { quietMs }] of Object.entries(presets))
      expect(with_({ debounce: name }).limits).toMatchObject({ quietMs, startMs: 1_000, maxWaitMs: 45_000 });
    expect(with_({ debounce: { quietMs: 500 } }).limits).toMatchObject({ startMs: 500, maxWaitMs: 45_000 });
    expect(with_({ debounce: { quietMs: 60_000 } }).limits).toMatchObject({ startMs: 1_000, maxWaitMs: 60_000 });
    expect(with_({ debounce: { quietMs: 0 } }).limits).toMatchObject({ startMs: 0, quietMs: 0 });
  });

  it("may differ between conversations", () => {
    const settings = with_({
      debounce: (id: string) => (id === "fast" ? "snappy" : { quietMs: 9_000 }),
      whenBusy: (id: string) => (id === "fast" ? "steer" : "queue"),
      fallback: (id: string, error: string) => `${id}: ${error}`,
    });
    expect(settings.limitsOf("fast").quietMs).toBe(3_000);
    expect(settings.limitsOf("slow").quietMs).toBe(9_000);
    expect(settings.whenBusyOf("slow")).toBe("queue");
    expect(settings.fallbackOf("c", "boom")).toBe("c: boom");
    const wrong = with_({ debounce: () => "slow", whenBusy: () => "sometimes" });
    expect(() => wrong.limitsOf("c")).toThrow(/debounce\(…\) must be one of .*; got "slow"/);
    expect(() => wrong.whenBusyOf("c")).toThrow(/whenBusy must be one of .*; got "sometimes"/);
  });

  it("derive the renewal from the lease, or from the turn's time limit where that is shorter", () => {
    expect(with_({ lease: { leaseMs: 3_000 } }).renewMs).toBe(1_000);
    expect(with_({ lease: { turnTimeoutMs: 3_000 } }).renewMs).toBe(1_000);
  });

  it("have documented defaults for every bound", () => {
    const settings = with_({ debounce: "balanced" });
    const bounds: Record<string, unknown> = { ...settings, ...settings.limits };
    for (const [name, value] of Object.entries(defaults)) expect([name, bounds[name]]).toEqual([name, value]);
  });
});

describe("refused", () => {
  const cases: [object, string][] = [
    [{ store: undefined }, "store must be a store such as memory() or sqlite(db); got undefined"],
    [{ store: {} }, "store must be a store such as memory() or sqlite(db); got {} (object)"],
    [{ respond: "hi" }, 'respond must be a function; got "hi"'],
    [{ deliver: () => {}, channels: [] }, "Give either deliver or channels, not both"],
    [{ deliver: "telegram" }, 'deliver must be an object with deliver; got "telegram"'],
    [{ deliver: { name: "x" } }, 'deliver must be an object with deliver; got {"name":"x"} (object)'],
    [{ channels: {} }, "channels must be an array of channels; got {} (object)"],
    [{ channels: [{ name: "x" }] }, 'channels[0] must be an object with deliver; got {"name":"x"} (object)'],
    [
      { channels: [{ name: "x", idempotent: true, deliver() {}, draft: true }] },
      "channels[0].draft must be a function",
    ],
    [
      { channels: [{ name: "x", idempotent: true, deliver() {}, draftMs: 0 }] },
      "channels[0].draftMs must be a whole number from 1",
    ],
    [
      {
        channels: [
          { name: "x", idempotent: true, deliver() {} },
          { name: "x", idempotent: true, deliver() {} },
        ],
      },
      'Two channels are named "x".',
    ],
    [{ debonce: {} }, 'options has an unknown key "debonce"; known: store, respond, '],
    [{ debounce: "fast" }, 'debounce must be one of snappy, balanced, patient or an object; got "fast"'],
    [{ debounce: "toString" }, 'got "toString"'],
    [{ debounce: 5 }, "debounce must be an object; got 5 (number)"],
    [{ debounce: { quietMs: -1 } }, "debounce.quietMs must be a whole number from 0 to 315360000000; got -1 (number)"],
    [{ debounce: { quietMs: 1.5 } }, "got 1.5 (number)"],
    [{ debounce: { quietMs: "6s" } }, 'debounce.quietMs must be a whole number from 0 to 315360000000; got "6s"'],
    [{ debounce: { quietMs: 1_000, startMs: 2_000 } }, "debounce.startMs (2000) is greater than quietMs (1000)"],
    [{ debounce: { quietMs: 9_000, maxWaitMs: 8_000 } }, "debounce.maxWaitMs (8000) is less than quietMs (9000)"],
    [{ debounce: { quietMs: 1, quiet: 2 } }, 'debounce has an unknown key "quiet"; known: quietMs, startMs, maxWaitMs'],
    [{ whenBusy: "drop" }, 'whenBusy must be one of interrupt, queue, steer; got "drop"'],
    [{ lease: { leaseMs: 50 } }, "lease.leaseMs must be a whole number from 100 to 86400000; got 50 (number)"],
    [{ lease: { renewMs: 20_000 } }, "lease.renewMs (20000) is more than half of leaseMs (30000)"],
    [
      { lease: { turnTimeoutMs: 5_000, renewMs: 4_000 } },
      "lease.renewMs (4000) is more than half of turnTimeoutMs (5000)",
    ],
    [{ lease: { turnTimeoutMs: 0 } }, "lease.turnTimeoutMs must be a whole number from 100 to 86400000; got 0"],
    [{ lease: { ttl: 5 } }, 'lease has an unknown key "ttl"'],
    [{ lease: 5 }, "lease must be an object; got 5 (number)"],
    [{ limits: { maxPending: 0 } }, "limits.maxPending must be a whole number from 1 to 100000; got 0 (number)"],
    [{ limits: { maxRestarts: -1 } }, "limits.maxRestarts must be a whole number from 0 to 1000; got -1"],
    [{ limits: { maxFailures: Number.NaN } }, "limits.maxFailures must be a whole number from 1 to 1000; got null"],
    [{ limits: { seenMs: true } }, "limits.seenMs must be a whole number from 1 to 315360000000; got true (boolean)"],
    [{ limits: { quietMs: 5 } }, 'limits has an unknown key "quietMs"'],
    [{ commands: { stop: "stop" } }, 'commands.stop must be an array of non-empty strings; got "stop"'],
    [{ commands: { reset: [" "] } }, 'commands.reset must be an array of non-empty strings; got [" "] (object)'],
    [{ commands: { halt: [] } }, 'commands has an unknown key "halt"; known: stop, reset'],
    [{ commands: { stop: ["x"], reset: ["X "] } }, 'commands.stop and commands.reset share the word "x"'],
    [{ backlog: { maxAgeMs: "1d" } }, 'backlog.maxAgeMs must be a whole number from 0 to 315360000000; got "1d"'],
    // biome-ignore lint/suspicious/noThenProperty: no promise, but the rule's own word
    [{ backlog: { maxAgeMs: 1, then: "drop" } }, 'backlog.then must be one of answer, context; got "drop"'],
    [{ editAfterAnswer: "answer" }, 'editAfterAnswer must be one of ignore, new-input; got "answer"'],
    [{ history: { keepMs: 0 } }, "history.keepMs must be a whole number from 1 to 315360000000; got 0 (number)"],
    [{ history: { days: 3 } }, 'history has an unknown key "days"'],
    [{ fallback: "" }, 'fallback must be a non-empty string or a function; got ""'],
    [{ fallback: 5 }, "fallback must be a non-empty string or a function; got 5 (number)"],
    [{ concurrency: 0 }, "concurrency must be a whole number from 1 to 100000; got 0 (number)"],
    [{ backoff: { firstMs: 100, maxMs: 10 } }, "backoff.firstMs (100) is greater than maxMs (10)"],
    [{ deliverBackoff: { firstMs: 0 } }, "deliverBackoff.firstMs must be a whole number from 1 to 315360000000; got 0"],
    [{ deliverBackoff: { first: 0 } }, 'deliverBackoff has an unknown key "first"'],
    [{ scanMs: 0 }, "scanMs must be a whole number from 1 to 86400000; got 0 (number)"],
    [{ logger: {} }, "logger must be an object with debug, info, warn, error; got {} (object)"],
    [{ clock: {} }, "clock must be an object with now, monotonic, sleep, random, id; got {} (object)"],
    [{ owner: "" }, 'owner must be a non-empty string; got ""'],
  ];
  it.each(cases)("%j", (options, message) => {
    let error: unknown;
    try {
      with_(options);
    } catch (caught) {
      error = caught;
    }
    expect(error).toMatchObject({ name: "LullError", code: "invalid-options" });
    expect((error as Error).message).toContain(message);
  });

  it("options that are none", () => {
    for (const options of [undefined, null, 5, []])
      expect(() => new Lull(options as never)).toThrow(/options must be an object; got/);
  });
});
