// What the Redis store decides without a server: where things are, in which order, and what is an error of which kind.
import { describe, expect, test } from "vitest";
import { LullError } from "../../src/errors.ts";
import { toStoreError } from "../../src/stores/redis/faults.ts";
import { redis } from "../../src/stores/redis/index.ts";
import { keysWith, shardOf, slotOf } from "../../src/stores/redis/keys.ts";
import { ledger } from "../../src/stores/redis/ledger.ts";
import { checkServers, durabilityOf, evicting, type Server } from "../../src/stores/redis/server.ts";
import { compareIds, firstIds, soonest, type Timer } from "../../src/stores/redis/walk.ts";

describe("keys", () => {
  test("a shard is where it has always been", () => {
    // Published values of FNV-1a. Whoever changes the function loses every stored conversation.
    expect(["a", "foobar"].map((id) => shardOf(id, 2 ** 32))).toEqual([0xe40c292c, 0xbf9cf968]);
    expect(["c", "telegram:42", "é", "👩‍👩‍👧"].map((id) => shardOf(id, 64))).toEqual([18, 6, 1, 36]);
    expect(keysWith("lull", 64).of("a:{b}")).toEqual({
      shard: 50,
      record: "lull:{50}:r:a:{b}",
      log: "lull:{50}:l:a:{b}",
      seen: "lull:{50}:s:a:{b}",
    });
  });

  test("all keys of a conversation are in the slot of its shard", () => {
    const keys = keysWith("lull", 64);
    for (const id of ["c", "{x}", "a}b{c", "}{"]) {
      const own = keys.of(id);
      const all = [own.record, own.log, own.seen, ...Object.values(keys.shard(own.shard))];
      expect(new Set(all.map(slotOf)).size).toBe(1);
    }
  });

  test("slots are those of the cluster specification", () => {
    expect(slotOf("123456789")).toBe(0x31c3);
    expect(slotOf("{user1000}.following")).toBe(slotOf("{user1000}.followers"));
    expect(slotOf("foo{}{bar}")).not.toBe(slotOf("bar"));
    expect(slotOf("foo{{bar}}zap")).toBe(slotOf("{bar"));
  });

  test("64 shards spread over the nodes of a cluster, and conversations over shards", () => {
    for (const nodes of [3, 6]) {
      const counts = Array.from({ length: nodes }, () => 0);
      for (let shard = 0; shard < 64; shard++) {
        const node = Math.floor((slotOf(`lull:{${shard}}:meta`) * nodes) / 16_384);
        counts[node] = (counts[node] ?? 0) + 1;
      }
      expect(Math.min(...counts)).toBeGreaterThan((64 / nodes) * 0.6);
    }
    const counts = new Map<number, number>();
    for (let index = 0; index < 64_000; index++) {
      const shard = shardOf(`telegram:${index}`, 64);
      counts.set(shard, (counts.get(shard) ?? 0) + 1);
    }
    expect(Math.min(...counts.values())).toBeGreaterThan(800);
    expect(Math.max(...counts.values())).toBeLessThan(1_200);
  });

  test.each(["", "a b", "{x}", "a}"])("the prefix %j is refused", (prefix) => {
    expect(() => keysWith(prefix, 64)).toThrow("prefix must be");
  });
  test.each([0, 1.5, 4_097, Number.NaN])("%d shards are refused", (shards) => {
    expect(() => keysWith("lull", shards)).toThrow("shards must be");
  });
});

describe("order", () => {
  test("ids come in the order of their bytes", () => {
    const ids = ["", "a", "ab", "b", "é", "\u{d7ff}", "\u{e000}", "\u{ffff}", "\u{10000}", "\u{10000}a", "\u{10ffff}"];
    const bytewise = [...ids].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect([...ids].reverse().sort(compareIds)).toEqual(bytewise);
    expect(compareIds("x", "x")).toBe(0);
  });

  test("the soonest timers of all shards come first, however they lie", async () => {
    const lying: Timer[][] = [
      Array.from({ length: 100 }, (_, index) => ({ id: `a${index}`, wakeAtMs: index })),
      [],
      [
        { id: "b", wakeAtMs: 50 },
        { id: "a", wakeAtMs: 1_000 },
      ],
      Array.from({ length: 20 }, (_, index) => ({ id: `c${String(index).padStart(2, "0")}`, wakeAtMs: 7 })),
    ];
    let asked = 0;
    const stream = soonest(
      async (some, most) => {
        asked += 1;
        return new Map(some.map(({ shard, skip }) => [shard, lying[shard]?.slice(skip, skip + most) ?? []]));
      },
      lying.length,
      10,
    );
    const got: Timer[] = [];
    for await (const timer of stream) got.push(timer);
    const wanted = lying.flat().sort((a, b) => a.wakeAtMs - b.wakeAtMs || compareIds(a.id, b.id));
    expect(got).toEqual(wanted);
    expect(asked).toBeLessThan(10);
  });

  test("the first ids of all shards come first, though a shard looks at few at a time", async () => {
    const lying = [["a", "d", "e", "f"], ["b"], [], ["c", "g"]];
    const found = await firstIds(
      async (shard, after) => {
        const [next] = (lying[shard] ?? []).filter((id) => compareIds(id, after) > 0);
        // Looks at one id, and half of them do not fit.
        return { ids: next === undefined || next === "d" ? [] : [next], more: next ?? "" };
      },
      4,
      "a",
      3,
    );
    expect(found).toEqual(["b", "c", "e"]);
  });
});

describe("the ledger", () => {
  test("takes a lower count for a loss, once, and nothing else", () => {
    const { before, after, forget } = ledger(() => 0);
    expect(after(before(1), 5, true), "the first is not compared").toBe(0);
    const early = before(1);
    expect(after(before(1), 7, true)).toBe(0);
    expect(after(early, 6, true), "answers may overtake each other").toBe(0);
    expect(after(before(1), 7, false)).toBe(0);
    const [one, two] = [before(1), before(1)];
    expect(after(one, 4, false)).toBe(3);
    expect(after(two, 5, true), "the same loss").toBe(0);
    expect(after(before(1), 6, true)).toBe(0);
    // Exactly one write is gone, and the next one has filled its number.
    expect(after(before(1), 6, true)).toBe(1);
    expect(after(before(2), 1, true), "another shard").toBe(0);
    forget(1);
    expect(after(before(1), 1, true)).toBe(0);
  });
});

describe("errors", () => {
  test.each([
    "READONLY You can't write against a read only replica.",
    "MOVED 7638 127.0.0.1:30001",
    "TRYAGAIN Multiple keys request during rehashing of slot",
    "CLUSTERDOWN Hash slot not served",
    "LOADING Redis is loading the dataset in memory",
    "BUSY Redis is busy running a script.",
    "OOM command not allowed when used memory > 'maxmemory'.",
    "NOREPLICAS Not enough good replicas to write.",
    "MISCONF Redis is configured to save RDB snapshots",
    "ERR max number of clients reached",
    "Socket closed unexpectedly",
    "connect ECONNREFUSED 127.0.0.1:6379",
  ])("%s may pass", (message) => {
    expect(toStoreError(new Error(message))).toMatchObject({ code: "store-unavailable", retryable: true });
  });
  test.each([
    ["NOAUTH Authentication required.", "store-unavailable"],
    ["WRONGPASS invalid username-password pair", "store-unavailable"],
    ["NOPERM this user has no permissions to run the 'evalsha' command", "store-unavailable"],
    ["CROSSSLOT Keys in request don't hash to the same slot", "store-unavailable"],
    ["ERR unknown command 'EVALSHA'", "store-unavailable"],
    ["WRONGTYPE Operation against a key holding the wrong kind of value", "store-damaged"],
    ["ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'", "invalid-options"],
  ])("%s stays until somebody acts", (message, code) => {
    expect(toStoreError(new Error(message))).toMatchObject({ code, retryable: false });
  });
  test("the server's word is heard though ioredis wraps it", () => {
    const wrapped = new Error(
      "Too many Cluster redirections. Last error: ReplyError: TRYAGAIN Multiple keys request during rehashing of slot",
    );
    expect(toStoreError(wrapped)).toMatchObject({ retryable: true, details: { reply: "TRYAGAIN" } });
    expect(toStoreError(wrapped).message).toContain("nothing was written");
  });
  test("lull's own stay what they are", () => {
    const own = new LullError("store-closed", "x");
    expect(toStoreError(own)).toBe(own);
  });
});

describe("what a server says", () => {
  const server: Server = {
    version: "7.0.15",
    cluster: false,
    policy: "noeviction",
    aof: true,
    fsync: "everysec",
    snapshots: true,
    replicas: 0,
  };
  test.each<[string, Partial<Server>, number, string, RegExp]>([
    ["the usual append-only file", {}, 0, "bounded", /last second.*no replica/],
    ["one that is synced always", { fsync: "always" }, 0, "disk", /synced to the server's disk/],
    ["one that is not synced", { fsync: "no" }, 0, "bounded", /half minute/],
    ["one whose sync is secret", { fsync: null }, 0, "bounded", /does not say/],
    ["snapshots alone", { aof: false }, 0, "memory", /since its last snapshot/],
    ["nothing on disk", { aof: false, snapshots: false }, 0, "memory", /loses everything/],
    ["its only replica waited for", { replicas: 1 }, 1, "replicated", /all there are/],
    ["one of two replicas waited for", { replicas: 2 }, 1, "bounded", /another one may lose/],
    ["both replicas waited for", { replicas: 2, aof: false }, 2, "replicated", /2 replicas have it/],
  ])("%s", (_, change, waitReplicas, wanted, note) => {
    const durability = durabilityOf([{ ...server, ...change }], waitReplicas);
    expect(durability).toMatchObject({ class: wanted, note: expect.stringMatching(note) });
  });
  test("a cluster promises what its weakest node does", () => {
    const always = { ...server, fsync: "always" };
    expect(durabilityOf([always, server], 0).class).toBe("bounded");
    expect(durabilityOf([always, { ...server, aof: false }], 0).class).toBe("memory");
    expect(
      durabilityOf(
        [
          { ...server, replicas: 1 },
          { ...server, replicas: 2 },
        ],
        1,
      ).class,
    ).toBe("bounded");
  });
  test("old servers, and clusters without their client, are refused", () => {
    expect(() => checkServers([{ ...server, version: "6.2.14" }], { cluster: false })).toThrow("Redis 7.0 or newer");
    expect(() => checkServers([{ ...server, cluster: true }], { cluster: false })).toThrow("part of a cluster");
    checkServers([server, { ...server, version: "8.1.0" }, { ...server, version: null }], { cluster: false });
    expect(evicting([server, { ...server, policy: null }])).toBe(null);
    expect(evicting([server, { ...server, policy: "volatile-lru" }])).toBe("volatile-lru");
  });
});

test("what is no client, or cannot be, is refused at once", () => {
  for (const wrong of [null, "redis://x", {}, { sendCommand() {} }]) {
    expect(() => redis(wrong as never)).toThrow("takes a client of node-redis");
  }
  const client = { call: () => Promise.resolve(), duplicate() {}, on() {}, removeListener() {} } as never;
  expect(() => redis(client, { waitReplicas: -1 })).toThrow("waitReplicas must be");
  expect(() => redis(client, { timeLimitMs: 0.5 })).toThrow("timeLimitMs must be");
  const prefixed = { ...(client as object), options: { keyPrefix: "x:" } } as never;
  expect(() => redis(prefixed)).toThrow("keyPrefix");
});
