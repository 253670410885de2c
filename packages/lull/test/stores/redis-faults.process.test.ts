// Servers that forget, fill up, stand still, crash, move their slots or hand over to another: never a hang, nothing
// acknowledged is lost where it was promised not to be, nothing twice, and what is lost elsewhere is told.
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { startProxy } from "../../../../scripts/servers/proxy.mjs";
import {
  type RedisCluster,
  type RedisServer,
  startCluster,
  startRedis,
  startReplica,
  startSentinel,
} from "../../../../scripts/servers/redis.mjs";
import { mendSlots, moveSlot } from "../../../../scripts/servers/slots.mjs";
import { LullError } from "../../src/errors.ts";
import { Lull } from "../../src/index.ts";
import type { ConversationRecord } from "../../src/model.ts";
import type { Store } from "../../src/ports.ts";
import { type RedisOptions, type RedisWarning, redis } from "../../src/stores/redis/index.ts";
import { keysWith, slotOf } from "../../src/stores/redis/keys.ts";
import { startMs, writeAfter } from "../../src/testing/records.ts";
import { clientNames, clients, freshPrefix, testClient, testStore } from "./redis.ts";

const now = () => startMs;
const away = { code: "store-unavailable", retryable: true };
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** What a rejected promise brought; fails the test when it was fulfilled. */
async function errorOf(promise: Promise<unknown>): Promise<LullError> {
  const error = await promise.then(
    () => expect.unreachable("should have been refused"),
    (reason: unknown) => reason,
  );
  if (!LullError.isInstance(error)) throw error;
  return error;
}

async function timed(promise: Promise<unknown>): Promise<{ error: unknown; ms: number }> {
  const start = performance.now();
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  return { error, ms: performance.now() - start };
}

/** A server for one test. */
async function own(make: Promise<RedisServer>): Promise<RedisServer> {
  const server = await make;
  onTestFinished(() => server.end());
  return server;
}

/** Writes one conversation after another until told to stop; every write is repeated until it is known to be there. */
function writer(store: Store, ids: readonly string[]) {
  const acknowledged = new Map<string, number>();
  let going = true;
  let failures = 0;
  const done = Promise.all(
    ids.map(async (id) => {
      let record: ConversationRecord | null = null;
      while (going) {
        const { nowMs } = await store.load(id).catch(() => ({ nowMs: Number.NaN }));
        if (Number.isNaN(nowMs)) {
          failures += 1;
          await pause(50);
          continue;
        }
        const write = writeAfter(record, id, { append: 1, nowMs });
        try {
          const answer = await store.exchange(write);
          if (answer.kind === "conflict") record = answer.record;
          if (answer.kind !== "stored") continue;
        } catch {
          failures += 1;
          await pause(50);
          // Unknown: its revision tells.
          const loaded = await store.load(id).catch(() => null);
          if (loaded !== null) record = loaded.record;
          if (loaded?.record?.revision !== write.next.revision) continue;
        }
        record = write.next;
        acknowledged.set(id, write.next.version);
        await pause(5);
      }
    }),
  );
  return {
    acknowledged,
    failures: () => failures,
    async stop() {
      going = false;
      await done;
    },
  };
}

async function nothingLost(store: Store, acknowledged: ReadonlyMap<string, number>): Promise<void> {
  expect(acknowledged.size).toBeGreaterThan(0);
  for (const [id, version] of acknowledged) {
    const { record, log } = await store.load(id, { logFrom: 1 });
    expect(record?.version, id).toBeGreaterThanOrEqual(version);
    expect(log.length, id).toBe(record?.version);
  }
}

// ---------------------------------------------------------------------------------------------

describe("one server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server?.end());

  test.each(clientNames)("that has forgotten the scripts is told them again, %s", async (name) => {
    const store = testStore(server, { prefix: freshPrefix(), now }, name);
    const first = writeAfter(null, "c", { append: 1, wakeAtMs: startMs });
    expect((await store.exchange(first)).kind).toBe("stored");
    await server.run("SCRIPT", "FLUSH");
    expect((await store.exchange(writeAfter(first.next, "c", { append: 1, wakeAtMs: startMs }))).kind).toBe("stored");
    await server.run("SCRIPT", "FLUSH");
    expect((await store.due(startMs, 1)).timers.length).toBe(1);
    await server.run("SCRIPT", "FLUSH");
    expect((await store.stats()).conversations).toBe(1);
  });

  test.each(clientNames)("that hangs up costs a repetition at most, %s", async (name) => {
    const store = testStore(server, { prefix: freshPrefix() }, name);
    const work = writer(store, ["a", "b", "c"]);
    for (let round = 0; round < 8; round++) {
      await pause(120);
      await server.run("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    }
    await work.stop();
    await nothingLost(store, work.acknowledged);
  });

  test("that is full refuses to write, nothing is half written, and reading and erasing go on", async () => {
    const small = await own(startRedis());
    const store = testStore(small, { now });
    const first = writeAfter(null, "c", { append: 1, wakeAtMs: startMs });
    await store.exchange(first);
    await store.exchange(writeAfter(null, "gone", { append: 1 }));
    const before = await small.run("DBSIZE");
    await small.run("CONFIG", "SET", "maxmemory", "1mb");
    const second = writeAfter(first.next, "c", { append: 1, seen: [{ key: "k", expiresAtMs: startMs + 1, value: 0 }] });
    const refused = await errorOf(store.exchange(second));
    expect(refused).toMatchObject({ ...away, details: { reply: "OOM" } });
    expect(refused.message).toContain("nothing was written");
    expect(await small.run("DBSIZE")).toBe(before);
    expect(await store.load("c", { logFrom: 1 })).toMatchObject({ record: first.next, log: [{ seq: 1 }] });
    expect((await store.due(startMs, 5)).timers.length).toBe(1);
    expect(await store.erase("gone")).toBe(true);
    await small.run("CONFIG", "SET", "maxmemory", "0");
    expect((await store.exchange(second)).kind).toBe("stored");
  });

  test("that became a replica is not asked, not even for reading; then it is the primary again", async () => {
    const [one, other] = [await own(startRedis()), await own(startRedis())];
    for (const name of clientNames) {
      const store = testStore(one, { prefix: freshPrefix(), now, onWarning: () => {} }, name);
      await store.exchange(writeAfter(null, "c"));
      await one.run("REPLICAOF", "127.0.0.1", String(other.port));
      for (const call of [
        () => store.load("c"),
        () => store.exchange(writeAfter(null, "d")),
        () => store.due(startMs, 1),
        () => store.log("c"),
        () => store.stats(),
        () => store.list(),
      ]) {
        await vi.waitFor(async () => expect(await errorOf(call())).toMatchObject(away), 3_000);
      }
      await one.run("REPLICAOF", "NO", "ONE");
      await vi.waitFor(async () => {
        const { record } = await store.load("c");
        // What the other one did not have is gone.
        expect(record === null || record.id === "c").toBe(true);
      }, 5_000);
    }
  });

  test("with an eviction policy is refused, unless told not to, and then loudly", async () => {
    const evicting = await own(startRedis({ settings: { "maxmemory-policy": "volatile-lru" } }));
    const warnings: RedisWarning[] = [];
    const onWarning = (warning: RedisWarning) => void warnings.push(warning);
    const error = await errorOf(testStore(evicting, { onWarning }).load("c"));
    expect(error).toMatchObject({ code: "invalid-options", details: { policy: "volatile-lru" } });
    expect(error.message).toContain("CONFIG SET maxmemory-policy noeviction");
    const store = testStore(evicting, { onWarning, allowEviction: true });
    expect((await store.load("c")).record).toBe(null);
    expect(warnings).toMatchObject([{ code: "evicts", details: { policy: "volatile-lru" } }]);

    const emitted = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    onTestFinished(() => emitted.mockRestore());
    await testStore(evicting, { allowEviction: true }).load("c");
    expect(emitted).toHaveBeenCalledWith(expect.stringContaining("may vanish"), { code: "LULL_REDIS_EVICTS" });
  });

  test("that forbids CONFIG, as managed services do, is taken at the word of INFO", async () => {
    await server.run("ACL", "SETUSER", "managed", "on", ">x", "~*", "&*", "+@all", "-config");
    const url = server.url.replace("redis://", "redis://managed:x@");
    const store = testStore({ url }, { prefix: freshPrefix() });
    expect((await store.load("c")).record).toBe(null);
    expect(store.durability).toMatchObject({ class: "memory", note: expect.stringContaining("No append-only file") });
  });

  test("with another number of shards, or a newer layout, is refused", async () => {
    const prefix = freshPrefix();
    await testStore(server, { prefix, shards: 8 }).load("c");
    const error = await errorOf(testStore(server, { prefix, shards: 16 }).load("c"));
    expect(error).toMatchObject({ code: "invalid-options", details: { stored: 8, wanted: 16 } });
    expect(error.message).toContain("set shards to 8");
    await server.run("HSET", `${prefix}:{3}:meta`, "layout", "2");
    expect(await errorOf(testStore(server, { prefix, shards: 8 }).load("c"))).toMatchObject({
      code: "store-newer-schema",
      details: { stored: 2, supported: 1 },
    });
  });

  test("any number of processes may start at once on an empty one", async () => {
    const prefix = freshPrefix();
    const stores = Array.from({ length: 8 }, () => testStore(server, { prefix, now }));
    const answers = await Promise.all(stores.map((store, index) => store.exchange(writeAfter(null, `c${index}`))));
    expect(answers.map((answer) => answer.kind)).toEqual(Array(8).fill("stored"));
    expect((await stores[0]?.stats())?.conversations).toBe(8);
  });

  test("a write that was sent twice, by a client that lost the answer, is one", async () => {
    const store = testStore(server, { prefix: freshPrefix(), now });
    const write = writeAfter(null, "c", {
      append: 2,
      logFrom: 1,
      seen: [{ key: "k", expiresAtMs: startMs + 9, value: 1 }],
    });
    const first = await store.exchange(write);
    expect(await store.exchange(write)).toEqual(first);
    expect((await store.load("c", { logFrom: 1 })).log.length).toBe(2);
  });

  test("an unreadable conversation keeps nobody else waiting", async () => {
    const prefix = freshPrefix();
    const keys = keysWith(prefix, 4);
    const damage: LullError[] = [];
    const store = testStore(server, { prefix, shards: 4, now, onDamage: (error) => void damage.push(error) });
    for (let index = 0; index < 9; index++) {
      await store.exchange(writeAfter(null, `c${index}`, { append: 1, wakeAtMs: startMs + index }));
    }
    const stored = (id: string) => server.run("GET", keys.of(id).record) as Promise<string>;
    const set = (id: string, text: string) => server.run("SET", keys.of(id).record, text);
    await set("c0", '1 1 4 "r"\n{');
    await set("c1", (await stored("c1")).replace('"schema":1', '"schema":9'));
    await set("c2", (await stored("c2")).replace('"version":1', '"version":"1"'));
    await set("c3", await stored("c4"));
    await server.run("DEL", keys.of("c4").record);

    const due = async (limit: number) => (await store.due(startMs + 100, limit)).timers.map((timer) => timer.id);
    expect(await due(2)).toEqual(["c5", "c6"]);
    expect(await due(100)).toEqual(["c5", "c6", "c7", "c8"]);
    expect((await store.list({ limit: 2 })).next, "a page of skipped ones is not the last").toBe("c1");
    expect((await store.list()).conversations.map((record) => record.id)).toEqual(["c5", "c6", "c7", "c8"]);
    expect((await store.repair({}, () => null)).repaired).toEqual(["c5", "c6", "c7", "c8"]);
    const pruned = await store.prune({ seenBeforeMs: 0, logBeforeMs: startMs + 1, keepFrom: () => 9 });
    expect(pruned.entries).toBe(4);
    expect(damage.map((error) => [error.code, error.details?.conversation]).sort()).toEqual([
      ["store-damaged", "c0"],
      ["store-damaged", "c2"],
      ["store-damaged", "c3"],
      ["store-damaged", "c4"],
      ["store-newer-schema", "c1"],
    ]);
    expect((await errorOf(store.load("c0"))).code).toBe("store-damaged");
    expect((await errorOf(store.exchange(writeAfter(null, "c1")))).code).toBe("store-newer-schema");
    expect(await store.erase("c0"), "and can be removed").toBe(true);
    expect(await store.erase("c4"), "even what has no record").toBe(true);
    expect((await store.due(startMs + 100, 100)).timers).toEqual([]);
    expect(damage.length, "and is not named again").toBe(5);
  });

  test("a log that somebody shortened, or a key of another kind, is damage and not an overwrite", async () => {
    const prefix = freshPrefix();
    const keys = keysWith(prefix, 64);
    const store = testStore(server, { prefix, now });
    const first = writeAfter(null, "c", { append: 3 });
    await store.exchange(first);
    await server.run("LTRIM", keys.of("c").log, "1", "-1");
    expect(await errorOf(store.exchange(writeAfter(first.next, "c", { append: 1 })))).toMatchObject({
      code: "store-damaged",
      details: { conversation: "c" },
    });
    await server.run("SET", keys.of("d").log, "x");
    expect((await errorOf(store.exchange(writeAfter(null, "d", { append: 1 })))).code).toBe("store-damaged");
    expect((await store.load("d")).record).toBe(null);
  });
});

// ---------------------------------------------------------------------------------------------

describe("a half-open connection", () => {
  let server: RedisServer;
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server?.end());
  beforeEach(async () => {
    proxy = await startProxy(server.port);
  });
  afterEach(() => proxy.end());

  test.each([
    [
      "node-redis",
      () => {
        const socket = { socketTimeout: 900 };
        const client = createClient({ url: `redis://127.0.0.1:${proxy.port}`, socket, pingInterval: 300 });
        return { client, end: () => client.destroy() };
      },
    ],
    [
      "ioredis",
      () => {
        const client = new Redis(proxy.port, "127.0.0.1", { socketTimeout: 900 });
        return { client, end: () => client.disconnect() };
      },
    ],
  ])("costs its time limit, and is replaced, %s", async (_, make) => {
    const { client, end } = make();
    onTestFinished(end);
    const store = redis(client, { prefix: freshPrefix(), now, timeLimitMs: 400 });
    onTestFinished(() => store.close());
    let write = writeAfter(null, "c", { append: 1 });
    await vi.waitFor(async () => expect((await store.exchange(write)).kind).toBe("stored"), 5_000);
    proxy.silence();
    write = writeAfter(write.next, "c", { append: 1 });
    const calls = [store.exchange(write), store.load("c"), store.due(startMs, 1), store.stats(), store.erase("x")];
    for (const { error, ms } of await Promise.all(calls.map(timed))) {
      expect(error).toMatchObject(away);
      expect(ms).toBeLessThan(2_000);
    }
    // The old connection stays as it is: only a new one works.
    proxy.heal();
    await vi.waitFor(
      async () => {
        const { record } = await store.load("c");
        // Unknown outcome: it is there, or it was not written at all.
        expect([1, 2]).toContain(record?.version);
        if (record?.version === 2) expect(record.revision).toBe(write.next.revision);
      },
      { timeout: 10_000, interval: 100 },
    );
  });

  test.each([
    [
      "node-redis",
      () => {
        const client = createClient({ url: `redis://127.0.0.1:${proxy.port}`, disableOfflineQueue: true });
        return { client, end: () => client.destroy() };
      },
    ],
    [
      "ioredis",
      () => {
        const client = new Redis(proxy.port, "127.0.0.1", { maxRetriesPerRequest: 1 });
        return { client, end: () => client.disconnect() };
      },
    ],
  ])("that was made into the silence is not waited for for ever, %s", async (_, make) => {
    proxy.silence();
    const { client, end } = make();
    client.on("error", () => {});
    onTestFinished(end);
    const store = redis(client, { prefix: freshPrefix(), now, timeLimitMs: 400 });
    onTestFinished(() => store.close());
    for (let n = 0; n < 3; n++) {
      const { error, ms } = await timed(store.due(startMs, 1));
      expect(error).toMatchObject(away);
      expect(ms).toBeLessThan(2_000);
    }
    proxy.heal();
    const write = writeAfter(null, "c", { append: 1 });
    await vi.waitFor(async () => expect((await store.exchange(write)).kind).toBe("stored"), {
      timeout: 10_000,
      interval: 100,
    });
  });
});

// ---------------------------------------------------------------------------------------------

describe("a server that lost its data", () => {
  function watching(server: RedisServer, options: RedisOptions = {}) {
    const warnings: RedisWarning[] = [];
    const store = testStore(server, { onWarning: (warning) => void warnings.push(warning), ...options });
    return { store, warnings };
  }
  const write = async (store: Store, id: string) => {
    const { record, nowMs } = await store.load(id);
    return (await store.exchange(writeAfter(record, id, { append: 1, nowMs }))).kind;
  };

  test("and had promised nothing is begun anew, and that is told", async () => {
    const server = await own(startRedis());
    const [one, two] = [watching(server), watching(server)];
    await write(one.store, "c");
    await write(two.store, "c");
    await server.stop("kill");
    await server.start();
    for (const { store, warnings } of [one, two]) {
      await vi.waitFor(async () => expect(await write(store, "d")).toBe("stored"), 5_000);
      expect(warnings.map(({ code }) => code)).toEqual(["empty"]);
    }
    expect(await one.store.load("c")).toMatchObject({ record: null });
    expect((await two.store.load("d")).record?.version).toBe(2);
  });

  test("and had promised to keep it is refused until it is restored", async () => {
    const server = await own(startRedis({ settings: { appendonly: "yes", "aof-use-rdb-preamble": "no" } }));
    const { store, warnings } = watching(server);
    await write(store, "c");
    const dump = new Map<string, string>();
    for (const key of (await server.run("KEYS", "*")) as string[]) dump.set(key, await dumped(server, key));
    await server.run("FLUSHALL");
    await vi.waitFor(async () => expect((await errorOf(store.load("c"))).message).toContain("came back empty"), 3_000);
    expect(await errorOf(store.exchange(writeAfter(null, "c")))).toMatchObject(away);
    expect(await errorOf(store.due(startMs, 1))).toMatchObject(away);
    expect(await server.run("DBSIZE"), "nothing is made meanwhile").toBe(0);
    for (const [key, text] of dump) await restored(server, key, text);
    await vi.waitFor(async () => expect((await store.load("c")).record?.version).toBe(1), 5_000);
    expect(warnings).toEqual([]);
  });

  test("of one shard is noticed, too, also by a process that starts later", async () => {
    const server = await own(startRedis({ settings: { appendonly: "yes" } }));
    const first = watching(server);
    await write(first.store, "c");
    await server.run("DEL", ...((await server.run("KEYS", "lull:{18}:*")) as string[]));
    const text = "A part of the store (shards 18) came back empty";
    expect((await errorOf(write(first.store, "c"))).message).toContain(text);
    expect((await errorOf(watching(server).store.load("x"))).message).toContain(text);
    const anew = watching(server, { afterLoss: "begin-anew" });
    expect(await write(anew.store, "c")).toBe("stored");
    expect(anew.warnings).toMatchObject([{ code: "empty", details: { shards: [18] } }]);
    // The shard knows whose it is: the other process goes on without being told.
    await vi.waitFor(async () => expect(await write(first.store, "c")).toBe("stored"), 5_000);
  });

  test("or a part of it, by a failover to a replica that lagged behind, is told, and lull goes on", async () => {
    const primary = await own(startRedis());
    const replica = await own(startReplica(primary));
    const { store, warnings } = watching(primary);
    await write(store, "c");
    await vi.waitFor(async () => expect(await replica.run("DBSIZE")).toBe(await primary.run("DBSIZE")));
    // From here on they do not hear of each other.
    await replica.run("REPLICAOF", "NO", "ONE");
    for (let more = 0; more < 3; more++) await write(store, "c");
    await primary.stop("kill");
    // The same address: what a failover behind a name or a proxy looks like.
    await primary.start();
    await primary.run("REPLICAOF", "127.0.0.1", String(replica.port));
    await vi.waitFor(async () => {
      expect(String(await primary.run("INFO", "replication"))).toContain("master_link_status:up");
    }, 10_000);
    await primary.run("REPLICAOF", "NO", "ONE");
    await vi.waitFor(async () => expect(await write(store, "c")).toBe("stored"), 5_000);
    expect((await store.load("c")).record?.version).toBe(2);
    expect(warnings).toMatchObject([{ code: "older", details: { shard: 18, writes: 3 } }]);
  });
});

async function dumped(server: RedisServer, key: string): Promise<string> {
  const client = new Redis(server.port);
  const dump = await client.dumpBuffer(key);
  client.disconnect();
  return (dump as Buffer).toString("base64");
}

async function restored(server: RedisServer, key: string, text: string): Promise<void> {
  const client = new Redis(server.port);
  await client.restore(key, 0, Buffer.from(text, "base64"));
  client.disconnect();
}

// ---------------------------------------------------------------------------------------------

describe("waiting for replicas", () => {
  test.each(clientNames)("a write that only the primary has is not acknowledged, %s", async (name) => {
    const primary = await own(startRedis());
    const replica = await own(startReplica(primary));
    const store = testStore(primary, { now, waitReplicas: 1, waitMs: 500 }, name);
    const first = writeAfter(null, "c", { append: 1 });
    // A replica on a busy machine may take longer to be there.
    await vi.waitFor(async () => expect((await store.exchange(first)).kind).toBe("stored"), 10_000);
    expect(store.durability).toMatchObject({ class: "replicated" });

    replica.pause();
    const keys = [{ key: "m2", expiresAtMs: startMs + 1_000, value: "first" }];
    const second = writeAfter(first.next, "c", { append: 1, seen: keys });
    const refused = await errorOf(store.exchange(second));
    expect(refused).toMatchObject({ ...away, details: { reached: 0, wanted: 1, waitedMs: 500 } });
    // It is there, but nobody is told so before a replica has it: not who looks, nor who repeats it.
    expect(await errorOf(store.load("c"))).toMatchObject(away);
    const again = writeAfter(first.next, "c", { append: 1, seen: keys });
    expect(await errorOf(store.exchange(again))).toMatchObject(away);
    replica.resume();
    await vi.waitFor(async () => {
      expect(await store.exchange(again)).toMatchObject({ kind: "duplicate", seen: [{ value: "first" }] });
    }, 5_000);
    expect((await store.load("c")).record).toEqual(second.next);
  });

  test("is done for many writes at once, each on a connection of its own", async () => {
    const primary = await own(startRedis());
    await own(startReplica(primary));
    const connections = async () =>
      Number(/connected_clients:(\d+)/.exec(String(await primary.run("INFO", "clients")))?.[1]);
    const before = await connections();
    const store = testStore(primary, { now, waitReplicas: 1, waitMs: 5_000, waitConnections: 3 });
    const writes = Array.from({ length: 200 }, (_, index) => store.exchange(writeAfter(null, `c${index}`)));
    expect((await Promise.all(writes)).every(({ kind }) => kind === "stored")).toBe(true);
    expect((await connections()) - before, "its own, and the client's").toBe(3 + 1);
    await primary.run("CLIENT", "KILL", "TYPE", "normal");
    await vi.waitFor(async () => expect((await store.load("c0")).record?.id).toBe("c0"), 3_000);
  });
});

// ---------------------------------------------------------------------------------------------

describe("a cluster", () => {
  test("whose first node says nothing is not waited for for ever", async () => {
    const cluster = await startCluster();
    onTestFinished(() => cluster.end());
    const proxy = await startProxy(cluster.nodes[0]?.port ?? 0);
    onTestFinished(() => proxy.end());
    proxy.silence();
    const ofNode = createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${proxy.port}` }] });
    onTestFinished(() => ofNode.destroy());
    const ofIo = new Cluster([{ host: "127.0.0.1", port: proxy.port }], { slotsRefreshTimeout: 500 });
    onTestFinished(() => ofIo.disconnect());
    ofIo.on("error", () => {});
    const stores = [ofNode, ofIo].map((client) =>
      redis(client, { prefix: freshPrefix(), now, timeLimitMs: 1_000, shards: 4 }),
    );
    for (const store of stores) onTestFinished(() => store.close());
    for (let n = 0; n < 2; n++)
      for (const { error } of await Promise.all(stores.map((store) => timed(store.due(startMs, 1)))))
        expect(error).toMatchObject(away);
    proxy.heal();
    const write = writeAfter(null, "c", { append: 1 });
    for (const store of stores)
      await vi.waitFor(async () => expect((await store.exchange(write)).kind).toBe("stored"), {
        timeout: 15_000,
        interval: 100,
      });
  });

  test.each(clientNames)("moves its slots under way, %s", async (name) => {
    const cluster = await startCluster();
    onTestFinished(() => cluster.end());
    const store = testStore(cluster, { shards: 4 }, name);
    const ids = Array.from({ length: 12 }, (_, index) => `c${index}`);
    const work = writer(store, ids);
    await pause(500);
    for (const shard of [0, 1]) await moveSlot(cluster, slotOf(`{${shard}}`), await elsewhere(cluster, shard));
    await pause(500);
    await work.stop();
    await nothingLost(store, work.acknowledged);
    expect(work.acknowledged.size).toBe(ids.length);
    expect((await store.stats()).conversations).toBe(ids.length);
  });

  describe("whose slot is half moved", () => {
    let cluster: RedisCluster;
    beforeAll(async () => {
      cluster = await startCluster({ settings: { appendonly: "yes" } });
    });
    afterAll(() => cluster?.end());

    test.each(clientNames.flatMap((name) => (["go on", "come back"] as const).map((end) => ({ name, end }))))(
      "refuses for now, and nothing is half written; with a node killed in the middle the keys $end, $name",
      async ({ name, end }) => {
        const store = testStore(cluster, { shards: 1, prefix: freshPrefix(), now }, name);
        let write = writeAfter(null, "c", { append: 2 });
        expect((await store.exchange(write)).kind).toBe("stored");
        const slot = slotOf("{0}");
        const to = await elsewhere(cluster, 0);
        write = writeAfter(write.next, "c", { append: 1 });
        let refused: unknown;
        const open = async () => {
          refused = (await timed(store.exchange(write))).error;
          await to.stop("kill");
        };
        await expect(moveSlot(cluster, slot, to, { open })).rejects.toThrow();
        await to.start();
        // ioredis goes to and fro between both nodes; any word may be the last.
        const reply = expect.stringMatching(/^(TRYAGAIN|ASK|MOVED)$/);
        expect(refused).toMatchObject({ ...away, details: { reply } });
        expect((refused as LullError).message).toContain("nothing was written");
        await cluster.healthy();
        expect(await mendSlots(cluster, { back: end === "come back" })).toBe(1);
        expect((await cluster.ownerOf(slot)) === to).toBe(end === "go on");
        await vi.waitFor(async () => expect((await store.exchange(write)).kind).toBe("stored"), 5_000);
        expect(await store.load("c", { logFrom: 1 })).toMatchObject({ record: write.next, log: [{}, {}, {}] });
      },
    );
  });

  test.each(clientNames)("fails over, and what was acknowledged is there, %s", async (name) => {
    const cluster: RedisCluster = await startCluster({ replicas: 1 });
    onTestFinished(() => cluster.end());
    const warnings: RedisWarning[] = [];
    const onWarning = (warning: RedisWarning) => void warnings.push(warning);
    const options: RedisOptions = { waitReplicas: 1, waitMs: 500, timeLimitMs: 3_000, onWarning };
    const store = testStore(cluster, options, name);
    await vi.waitFor(() => store.stats(), 5_000);
    const ids = Array.from({ length: 24 }, (_, index) => `c${index}`);
    const work = writer(store, ids);
    await pause(700);
    const [victim] = cluster.nodes;
    await victim?.stop("kill");
    // What the other nodes have goes on meanwhile.
    const others = ids.filter((id) => slotOf(keysWith("lull", 64).of(id).record) >= 16_384 / 3);
    const before = others.map((id) => work.acknowledged.get(id) ?? 0);
    await pause(800);
    expect(others.some((id, index) => (work.acknowledged.get(id) ?? 0) > (before[index] ?? 0))).toBe(true);
    expect((await store.due(startMs, 10)).timers, "what is due elsewhere is seen").toEqual([]);
    await pause(3_000);
    await victim?.start();
    await cluster.healthy();
    const counts = new Map(work.acknowledged);
    await vi.waitFor(() => {
      for (const id of ids) expect(work.acknowledged.get(id) ?? 0).toBeGreaterThan(counts.get(id) ?? 0);
    }, 10_000);
    await work.stop();
    await nothingLost(store, work.acknowledged);
    expect(warnings).toEqual([]);
  });
});

/** A primary that does not have the shard. */
async function elsewhere(cluster: RedisCluster, shard: number): Promise<RedisServer> {
  const owner = await cluster.ownerOf(slotOf(`{${shard}}`));
  return (await cluster.primaries()).find((node) => node !== owner) as RedisServer;
}

// ---------------------------------------------------------------------------------------------

test("a sentinel's failover: the new primary is found, and what was acknowledged is there, ioredis", async () => {
  const primary = await own(startRedis());
  await own(startReplica(primary));
  await own(startReplica(primary));
  const sentinel = await startSentinel(primary);
  onTestFinished(() => sentinel.end());
  const client = new Redis({ sentinels: [{ host: "127.0.0.1", port: sentinel.port }], name: sentinel.name });
  client.on("error", () => {});
  onTestFinished(() => client.disconnect());
  const warnings: RedisWarning[] = [];
  const onWarning = (warning: RedisWarning) => void warnings.push(warning);
  // Both replicas are waited for: whichever takes over has everything.
  const options = { waitMs: 500, timeLimitMs: 3_000, hints: true, onWarning };
  const store = redis(client, { ...options, waitReplicas: 2 });
  onTestFinished(() => store.close());
  await vi.waitFor(() => store.stats(), 20_000);
  expect(store.durability).toMatchObject({ class: "replicated" });
  const work = writer(store, ["a", "b", "c", "d"]);
  await vi.waitFor(() => expect(work.acknowledged.size).toBe(4), 10_000);
  await primary.stop("kill");
  const at = new Map(work.acknowledged);
  // Back as a replica, as soon as the sentinel sees it: then two have what is written again.
  await vi.waitFor(async () => {
    const [, port] = (await sentinel.run("SENTINEL", "GET-MASTER-ADDR-BY-NAME", sentinel.name)) as string[];
    expect(Number(port)).not.toBe(primary.port);
  }, 20_000);
  await primary.start();
  await vi.waitFor(() => {
    for (const [id, version] of work.acknowledged) expect(version).toBeGreaterThan(at.get(id) ?? 0);
  }, 30_000);
  await work.stop();
  await nothingLost(store, work.acknowledged);
  expect(warnings).toEqual([]);
});

// ---------------------------------------------------------------------------------------------

test.each(clientNames)(
  "two processes on a server that crashes answer every message, and each once, %s",
  async (name) => {
    // With `everysec` a kill in the middle of a slow sync may take acknowledged writes with it (docs/stores.md).
    const server = await own(startRedis({ settings: { appendonly: "yes", appendfsync: "always" } }));
    const sent = new Map<string, string[]>();
    const bots = ["one", "two"].map((owner) => {
      const { client, end } = clients[name](server);
      const store = redis(client, { timeLimitMs: 2_000, hints: true });
      const lull = new Lull({
        store,
        owner,
        debounce: { quietMs: 60, startMs: 20, maxWaitMs: 1_000 },
        lease: { leaseMs: 1_500, turnTimeoutMs: 1_000 },
        scanMs: 200,
        respond: async (turn) => {
          await pause(30);
          return turn.messages.map(({ id }) => id).join(" ");
        },
        deliver: async (part, { idempotencyKey }) => {
          // The same part under the same key is one message to a platform that knows the key.
          sent.set(idempotencyKey, part.type === "text" ? part.text.split(" ") : []);
          return { status: "sent" };
        },
      });
      return { lull, store, end };
    });
    for (const { lull } of bots) await lull.start();

    const accepted: string[] = [];
    let crashing = true;
    const users = Array.from({ length: 12 }, async (_, user) => {
      for (let count = 0; crashing || count < 15; count++) {
        const id = `${user}.${count}`;
        const bot = bots[count % 2];
        for (;;) {
          try {
            // The platform repeats what was not acknowledged, perhaps to another process.
            await bot?.lull.receive(`user ${user}`, { id, text: id });
            accepted.push(id);
            break;
          } catch {
            await pause(50);
          }
        }
        await pause(20 + 13 * (user % 5));
      }
    });
    for (let crash = 0; crash < 3; crash++) {
      await pause(700);
      await server.stop("kill");
      await pause(100);
      await server.start();
    }
    crashing = false;
    await Promise.all(users);
    await vi.waitFor(
      async () => {
        const { active } = await (bots[0] as (typeof bots)[0]).store.stats();
        expect(active).toBe(0);
      },
      { timeout: 30_000, interval: 200 },
    );
    const { conversations } = await (bots[0] as (typeof bots)[0]).store.list({}, { parked: true });
    expect(conversations.map(({ id, parked }) => [id, parked])).toEqual([]);
    for (const { lull, store, end } of bots) {
      await lull.stop();
      await store.close();
      await end();
    }
    const answered = [...sent.values()].flat();
    expect(answered.toSorted()).toEqual(accepted.toSorted());
    expect(new Set(answered).size).toBe(answered.length);
  },
  120_000,
);

test("a client that somebody closed is an error, not a hang", async () => {
  const server = await own(startRedis());
  const client = testClient("ioredis", server) as Redis;
  const store = redis(client, { now });
  await store.load("c");
  client.disconnect();
  expect(await errorOf(store.load("c"))).toMatchObject(away);
  await store.close();
});
