// Connections that break or hang, servers that crash, move or have no room: never a hang, nothing lost, nothing twice.
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { Pool } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type PostgresServer, startPostgres } from "../../../../scripts/servers/postgres.mjs";
import { fillDisk, mayMount } from "../../../../scripts/servers/process.mjs";
import { startProxy } from "../../../../scripts/servers/proxy.mjs";
import { Lull } from "../../src/index.ts";
import { migrate, type PostgresClient, postgres } from "../../src/stores/postgres/index.ts";
import { messageEntry, startMs, writeAfter } from "../../src/testing/records.ts";
import { closing, errorOf, freshSchema, pause, testPool, testSql, testStore } from "./postgres.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server?.end());

const now = () => startMs;
const away = { code: "store-unavailable", retryable: true };

/** How long a promise took to settle. */
async function timed(promise: Promise<unknown>): Promise<{ error: unknown; ms: number }> {
  const start = performance.now();
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  return { error, ms: performance.now() - start };
}

/** An ErrorResponse of the server's, see https://www.postgresql.org/docs/current/protocol-error-fields.html */
function fatal(state: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${state}\0M${message}\0\0`);
  const head = Buffer.alloc(5, "E");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

describe("a half-open connection", () => {
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  beforeEach(async () => {
    proxy = await startProxy(server.port);
  });
  afterEach(() => proxy.end());
  const url = () => server.url.replace(String(server.port), String(proxy.port));

  async function goSilent(client: PostgresClient) {
    const store = closing(postgres(client, { schema: freshSchema(), now, timeLimitMs: 400 }));
    let write = writeAfter(null, "c", { append: 1 });
    await vi.waitFor(async () => expect((await store.exchange(write)).kind).toBe("stored"));
    proxy.silence();
    write = writeAfter(write.next, "c", { append: 1 });
    const calls: Promise<unknown>[] = [
      store.exchange(write),
      store.load("c"),
      store.due(startMs, 1),
      store.stats(),
      store.erase("x"),
      // More than there are connections: these wait in line.
      ...Array.from({ length: 20 }, () => store.load("c")),
    ];
    for (const { error, ms } of await Promise.all(calls.map(timed))) {
      expect(error).toMatchObject(away);
      expect(ms).toBeGreaterThan(300);
      expect(ms).toBeLessThan(2_000);
    }
    return { store, write };
  }

  test("costs its time limit, and is thrown away, with pg", async () => {
    const { store, write } = await goSilent(
      testPool({ connectionString: url(), max: 3, connectionTimeoutMillis: 300 }),
    );
    // The old connections stay as they are: only new ones work.
    proxy.heal();
    await vi.waitFor(async () => {
      const { record } = await store.load("c");
      // Unknown outcome: it is there, or it was not written at all.
      expect([1, 2]).toContain(record?.version);
      if (record?.version === 2) expect(record.revision).toBe(write.next.revision);
    }, 5_000);
  });

  test("costs its time limit with postgres.js, which goes on when the connections break", async () => {
    const { store } = await goSilent(testSql(url(), { max: 3, connect_timeout: 1 }) as PostgresClient);
    proxy.heal();
    proxy.breakAll();
    await vi.waitFor(async () => expect((await store.load("c")).record?.version).toBeLessThanOrEqual(2), 10_000);
  });

  test("at the very start is no different", async () => {
    proxy.silence();
    const pool = testPool({ connectionString: url(), max: 2, connectionTimeoutMillis: 300 });
    const store = closing(postgres(pool, { schema: freshSchema(), now, timeLimitMs: 500 }));
    const { error, ms } = await timed(store.load("c"));
    expect(error).toMatchObject(away);
    expect(ms).toBeLessThan(2_000);
    proxy.heal();
    await vi.waitFor(async () => expect((await store.load("c")).record).toBe(null), 5_000);
  });
});

describe("a pool that others use up", () => {
  test("costs the time limit, and nothing is left behind", async () => {
    const pool = testPool({ connectionString: server.url, max: 1 });
    const store = closing(postgres(pool, { schema: freshSchema(), now, timeLimitMs: 400 }));
    await store.stats();
    const taken = await pool.connect();
    expect(await errorOf(store.load("c"))).toMatchObject(away);
    expect(await errorOf(store.exchange(writeAfter(null, "c")))).toMatchObject(away);
    taken.release();
    expect((await store.load("c")).record, "what nobody waited for was not sent").toBe(null);
    expect((await store.exchange(writeAfter(null, "c"))).kind).toBe("stored");
    expect(pool.waitingCount).toBe(0);
    expect(pool.totalCount).toBe(1);
  });

  test("makes no caller's clock look wrong", async () => {
    const pool = testPool({ connectionString: server.url, max: 1 });
    const store = closing(postgres(pool, { schema: freshSchema() }));
    const { nowMs } = await store.stats();
    const taken = await pool.connect();
    const answers = ["a", "b"].map((id) => store.exchange(writeAfter(null, id, { nowMs })));
    await pause(2_500);
    taken.release();
    expect((await Promise.all(answers)).map((answer) => answer.kind)).toEqual(["stored", "stored"]);
  });
});

describe("a server", () => {
  test("that ends connections, refuses or is away is an error to be repeated", async () => {
    const schema = freshSchema();
    const store = testStore(server, { schema, now, timeLimitMs: 3_000 }, { max: 2 });
    await store.stats();
    await server.run("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()");
    // Idle ones are replaced in silence; at worst one call fails.
    await vi.waitFor(() => store.stats());
    const waiting = store.exchange(writeAfter(null, "c")).catch(() => {});
    await server.stop("immediate");
    await waiting;
    expect(await errorOf(store.exchange(writeAfter(null, "d")))).toMatchObject(away);
    expect(await errorOf(store.load("c"))).toMatchObject(away);
    await server.start();
    await vi.waitFor(async () => expect((await store.exchange(writeAfter(null, "e"))).kind).toBe("stored"), 10_000);
  });

  test("that ends a connection in the packet in which it becomes ready ends no process", async () => {
    // As pg_terminate_backend does now and then; here always, for the first two connections.
    let ended = 0;
    const proxy = createServer((near) => {
      const far = connect(server.port, "127.0.0.1");
      for (const socket of [near, far]) socket.on("error", () => {});
      near.pipe(far);
      let isReady = false;
      far.on("data", (chunk) => {
        const becomesReady = !isReady && chunk.subarray(-6).equals(Buffer.from("5a0000000549", "hex"));
        isReady ||= becomesReady;
        if (!becomesReady || ended >= 2) return near.write(chunk);
        ended += 1;
        near.end(Buffer.concat([chunk, fatal("57P01", "terminating connection due to administrator command")]));
        return far.destroy();
      });
      near.on("close", () => far.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => new Promise((resolve) => proxy.close(() => resolve())));
    const { port } = proxy.address() as AddressInfo;
    const pool = testPool(server.url.replace(String(server.port), String(port)));
    const store = closing(postgres(pool, { schema: freshSchema(), now }));
    await vi.waitFor(() => store.stats(), { timeout: 20_000 });
    expect(ended).toBe(2);
  });

  test("that became a standby is not asked, not even for reading, until it is the primary again", async () => {
    const schema = freshSchema();
    const store = testStore(server, { schema, now });
    await store.exchange(writeAfter(null, "c"));
    await server.stop();
    writeFileSync(`${server.data}/standby.signal`, "");
    await server.start();
    for (const call of [
      () => store.load("c"),
      () => store.exchange(writeAfter(null, "d")),
      () => store.due(startMs, 1),
      () => store.list(),
    ]) {
      // The first may only find out that its connection is gone.
      await vi.waitFor(async () => expect((await errorOf(call())).message).toContain("standby"), 5_000);
      expect(await errorOf(call())).toMatchObject(away);
    }
    await server.run("select pg_promote()");
    await vi.waitFor(async () => expect((await store.load("c")).record?.id).toBe("c"), 10_000);
    expect((await store.exchange(writeAfter(null, "d"))).kind).toBe("stored");
  });

  test.each([
    ["no such database", "/nowhere", false],
    ["no such user", "nobody@", false],
  ])("with %s is an error that waiting does not mend", async (_, part, retryable) => {
    const url = part.endsWith("@") ? server.url.replace("postgres@", part) : server.url.replace(/\/postgres$/, part);
    expect(await errorOf(closing(postgres(testPool(url))).load("c"))).toMatchObject({
      code: "store-unavailable",
      retryable,
    });
  });

  test("that reads repeatably by default is as safe", async () => {
    const schema = freshSchema();
    const options = "-c default_transaction_isolation=repeatable\\ read";
    const store = testStore(server, { schema, now }, { options, max: 10 });
    const first = writeAfter(null, "c", { append: 1 });
    await store.exchange(first);
    const writes = Array.from({ length: 30 }, () => writeAfter(first.next, "c", { append: 1 }));
    const results = await Promise.allSettled(writes.map((write) => store.exchange(write)));
    const kinds = results.map((result) => (result.status === "fulfilled" ? result.value.kind : "error"));
    expect(kinds.filter((kind) => kind === "stored").length).toBe(1);
    for (const result of results) if (result.status === "rejected") expect(result.reason).toMatchObject(away);
    expect((await store.load("c", { logFrom: 1 })).log.length).toBe(2);
  });
});

test("a full disk refuses what does not fit, loses nothing, and goes on once there is room", async () => {
  expect(mayMount(), "this test gives the server a small disk of its own, which takes root").toBe(true);
  // Room for the write-ahead log, so that it is the tables that do not fit: a log that does not is a crash (above).
  const small = await startPostgres({ diskMegabytes: 192, settings: { max_wal_size: "64MB", shared_buffers: "16MB" } });
  try {
    const schema = freshSchema();
    const store = testStore(small, { schema, now });
    const acknowledged: string[] = [];
    const write = async (id: string) => {
      // Nothing that compresses.
      const entry = messageEntry(1, randomBytes(100_000).toString("base64"));
      const { kind } = await store.exchange(writeAfter(null, id, { append: [entry] }));
      expect(kind).toBe("stored");
      acknowledged.push(id);
    };
    await write("before");
    const filler = fillDisk(small.disk);
    let refused: unknown = null;
    for (let count = 0; refused === null && count < 500; count += 1) {
      refused = await write(`full ${count}`).then(
        () => null,
        (error: unknown) => error,
      );
    }
    expect(refused).toMatchObject(away);
    filler.free();
    await vi.waitFor(() => write("after"), { timeout: 30_000, interval: 200 });
    for (const id of acknowledged) {
      const { record, log } = await store.load(id, { logFrom: 1 });
      expect([id, record?.version, log.length]).toEqual([id, 1, 1]);
    }
  } finally {
    await small.end();
  }
}, 120_000);

test("two processes on a server that crashes answer every message, and each once", async () => {
  const schema = freshSchema();
  await migrate(testPool(server.url), { schema });
  const sent = new Map<string, string[]>();
  const bots = ["one", "two"].map((owner) => {
    const pool = new Pool({ connectionString: server.url, max: 5, connectionTimeoutMillis: 2_000 });
    const store = postgres(pool, { schema, closeClient: true, timeLimitMs: 2_000, hints: true });
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
    return { lull, store };
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
    await server.stop("immediate");
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
  for (const { lull, store } of bots) {
    await lull.stop();
    await store.close();
  }
  const answered = [...sent.values()].flat();
  expect(answered.toSorted()).toEqual(accepted.toSorted());
  expect(new Set(answered).size).toBe(answered.length);
}, 120_000);
