// What must hold with many at once and with much stored: every write once, one round trip, scans that cost the same
// however much there is.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { type RedisServer, startCluster, startRedis } from "../../../../scripts/servers/redis.mjs";
import { Lull } from "../../src/index.ts";
import type { Store } from "../../src/ports.ts";
import { startMs, writeAfter } from "../../src/testing/records.ts";
import { clientNames, freshPrefix, testStore } from "./redis.ts";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server?.end());

const now = () => startMs;
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Calls of a command since the server's statistics began anew. */
async function callsOf(...names: string[]): Promise<number> {
  const info = String(await server.run("INFO", "commandstats"));
  return names.reduce((sum, name) => {
    return sum + Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(info)?.[1] ?? 0);
  }, 0);
}

test.each(["a single server", "a cluster"])(
  "8 processes, 400 receives in 2 s on one conversation of %s: every version once",
  async (kind) => {
    let place = server.url;
    if (kind === "a cluster") {
      const cluster = await startCluster();
      onTestFinished(() => cluster.end());
      place = JSON.stringify(cluster.addresses);
    }
    const script = fileURLToPath(new URL("processes/receiver.mjs", import.meta.url));
    const processes = Array.from({ length: 8 }, (_, index) => {
      const child = spawn(process.execPath, [script, place, `p${index}`, "50", "2000"], {
        stdio: ["pipe", "pipe", "inherit"],
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
    });
    for (const { lines } of processes) expect((await lines.next()).value).toBe("ready");
    for (const { child } of processes) child.stdin.write("go\n");
    const works = await Promise.all(
      processes.map(
        async ({ lines }) => JSON.parse((await lines.next()).value as string) as { versions: number[]; most: number },
      ),
    );
    const versions = works.flatMap((work) => work.versions).sort((a, b) => a - b);
    expect(versions).toEqual(Array.from({ length: 400 }, (_, index) => index + 1));
    console.log(`${kind}: at most ${Math.max(...works.map(({ most }) => most))} exchanges for one write`);
  },
  120_000,
);

test("8 processes on few conversations for 3 s: every write counts once, whatever else goes on", async () => {
  const prefix = freshPrefix();
  const stores = Array.from({ length: 8 }, (_, index) =>
    testStore(server, { prefix, shards: 4, now }, clientNames[index % 2]),
  );
  const ids = Array.from({ length: 6 }, (_, index) => `c${index}`);
  const stored = new Map(ids.map((id) => [id, 0]));
  const until = performance.now() + 3_000;
  let operations = 0;
  let draws = 1;
  const draw = (most: number) => {
    draws = (draws * 48_271) % 2_147_483_647;
    return draws % most;
  };
  await Promise.all(
    stores.flatMap((store, which) => [
      (async () => {
        while (performance.now() < until) {
          const id = ids[draw(ids.length)] as string;
          const { record } = await store.load(id);
          const wakeAtMs = draw(3) === 0 ? null : startMs + draw(1000);
          const seen = [{ key: `k${draw(50)}`, expiresAtMs: startMs - 1 + draw(2), value: null }];
          const answer = await store.exchange(writeAfter(record, id, { append: 1 + draw(2), wakeAtMs, seen }));
          if (answer.kind === "stored") stored.set(id, (stored.get(id) ?? 0) + 1);
          operations++;
        }
      })(),
      (async () => {
        while (performance.now() < until) {
          const call = [
            () => store.due(startMs + draw(1000), 100),
            () => store.repair({}, (record) => (record.version % 2 === 0 ? startMs : null)),
            () => store.prune({ seenBeforeMs: startMs, logBeforeMs: 0, keepFrom: () => 1 }),
            () => store.list({}, { active: true }),
            () => store.erase(`other${draw(3)}`),
            () => store.exchange(writeAfter(null, `other${draw(3)}`, { append: 1, wakeAtMs: startMs })),
          ][(which + draw(6)) % 6];
          await call?.();
          operations++;
        }
      })(),
    ]),
  );
  const [store] = stores as [Store];
  for (const id of ids) {
    const { record, log } = await store.load(id, { logFrom: 1 });
    expect(record?.version).toBe(log.length);
    expect(log.map((entry) => entry.seq)).toEqual(Array.from({ length: log.length }, (_, index) => index + 1));
    expect(stored.get(id)).toBeGreaterThan(0);
  }
  expect(operations).toBeGreaterThan(100);
  // What the lists say is what the records say.
  const { conversations } = await store.list({ limit: 100 });
  const due = (await store.due(Number.MAX_SAFE_INTEGER, 100)).timers.map(({ id }) => id).sort();
  const active = (await store.list({ limit: 100 }, { active: true })).conversations.map(({ id }) => id);
  expect(active).toEqual(due);
  expect((await store.stats()).conversations).toBe(conversations.length);
}, 60_000);

test.each(clientNames)(
  "a warm receive is one round trip; an answer alone takes three more, %s",
  async (name) => {
    const store = testStore(server, { prefix: freshPrefix() }, name);
    const lull = new Lull({
      store,
      debounce: { quietMs: 2_000, startMs: 2_000 },
      // No renewal and no scan in between.
      scanMs: 600_000,
      respond: () => "yes",
      deliver: async () => ({ status: "sent" }),
    });
    await lull.start();
    await lull.receive("c", { id: "1", text: "hi" });
    await pause(300); // The start's own look at what is due is over.
    await server.run("CONFIG", "RESETSTAT");
    await lull.receive("c", { id: "2", text: "are you there?" });
    expect(await callsOf("evalsha", "eval"), "a receive").toBe(1);
    await vi.waitFor(async () => expect(await callsOf("hincrby"), "receive, claim, commit, settle").toBe(4), {
      timeout: 10_000,
      interval: 200,
    });
    await pause(200); // For what should not come.
    expect(await callsOf("evalsha", "eval"), "calls in all").toBe(4);
    await lull.stop();
  },
  30_000,
);

describe("with 100 000 timers among 300 000 conversations", () => {
  const prefix = freshPrefix();
  let store: Store;
  beforeAll(async () => {
    const { createClient } = await import("redis");
    const { keysWith } = await import("../../src/stores/redis/keys.ts");
    const { redis } = await import("../../src/stores/redis/index.ts");
    const client = createClient({ url: server.url });
    await client.connect();
    const keys = keysWith(prefix, 64);
    const fill = `for index = 1, #ARGV, 2 do
      redis.call('ZADD', KEYS[1], 0, ARGV[index])
      if ARGV[index + 1] ~= '' then redis.call('ZADD', KEYS[2], ARGV[index + 1], ARGV[index]) end
    end`;
    const groups = new Map<number, string[]>();
    for (let number = 0; number < 300_000; number++) {
      const id = `c${number}`;
      const { shard } = keys.of(id);
      const group = groups.get(shard) ?? [];
      group.push(id, number < 100_000 ? String(startMs + number) : "");
      groups.set(shard, group);
    }
    store = redis(client, { prefix, now, closeClient: true, onDamage: () => {} });
    await store.stats();
    for (const [shard, group] of groups) {
      const { ids, due } = keys.shard(shard);
      await client.sendCommand(["EVAL", fill, "2", ids, due, ...group]);
    }
  }, 120_000);
  afterAll(() => store.close());

  test("a look for work is one short script, however much there is", async () => {
    await store.due(0, 100);
    await server.run("CONFIG", "RESETSTAT");
    for (let round = 0; round < 20; round++) expect((await store.due(startMs - 1, 100)).timers).toEqual([]);
    expect(await callsOf("evalsha", "eval")).toBe(20);
    const info = String(await server.run("INFO", "commandstats"));
    const microseconds = Number(/cmdstat_evalsha:.*usec_per_call=([\d.]+)/.exec(info)?.[1]);
    // A walk through the timers takes a hundred times that.
    expect(microseconds).toBeLessThan(5_000);
  });

  test("lists and statistics do not walk it either", async () => {
    expect(await store.stats()).toMatchObject({ conversations: 300_000, active: 100_000, oldestDueAtMs: startMs });
    await server.run("CONFIG", "RESETSTAT");
    await store.list({ after: "c2", limit: 10 });
    expect(await callsOf("zrangebylex")).toBeLessThanOrEqual(64);
  });
});
