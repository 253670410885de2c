/**
 * A server on Redis, as its operator meets it: the built program, and a Redis that goes away.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import {
  type RedisCluster,
  type RedisServer,
  startCluster,
  startRedis,
  startReplica,
  startSentinel,
} from "../../../scripts/servers/redis.mjs";

const bin = fileURLToPath(new URL("../dist/cli/bin.js", import.meta.url));
const password = "correct-horse";

let server: RedisServer;
let store: string;
beforeAll(async () => {
  server = await startRedis({ settings: { appendonly: "yes", appendfsync: "everysec", user: userLine } });
  store = `redis://bot:${password}@127.0.0.1:${server.port}`;
});
afterAll(() => server?.end());

/** What docs/stores.md says a user needs. */
const userLine = `bot on >${password} ~lull:* ~other:* &lull:* &other:* -@all +@read +@write +@scripting +@connection +info +config|get +wait +publish +subscribe +time`;

function start(args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [bin, ...args], {
    env: { PATH: process.env.PATH, LULL_STORE: store, LULL_PORT: "0", LULL_QUIET_MS: "100", LULL_DEMO_MS: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { out: "", all: "" };
  child.stdout.on("data", (chunk) => {
    output.out += chunk;
    output.all += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output.all += chunk;
  });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
    expect(output.all).not.toContain(password);
  });
  return { output, ended };
}

async function run(args: string[], env: Record<string, string> = {}) {
  const { output, ended } = start(args, env);
  return { code: await ended, ...output };
}

async function serve(env: Record<string, string> = {}) {
  const { output } = start(["serve"], env);
  const url = await vi.waitFor(
    () => {
      const match = /^lull-server listening on (\S+)$/m.exec(output.out);
      if (match?.[1] === undefined) throw new Error(output.all);
      return match[1];
    },
    { timeout: 20_000 },
  );
  const send = (id: string, wait = "") =>
    fetch(`${url}/v1/messages${wait}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ conversation: "c", id, text: "hi" }),
    });
  return { url, output, send };
}

test("lull doctor looks at the server, and shows no password", async () => {
  const { code, out } = await run(["doctor"]);
  expect(code, out).toBe(0);
  expect(out).toMatch(/store: redis:\/\/127\.0\.0\.1:\d+, prefix lull, bounded durability, 0 conversations/);
});

test.each([
  ["nobody listens", { LULL_STORE: "redis://127.0.0.1:1" }, /cannot be used: .*ECONNREFUSED/],
  ["the password is wrong", { LULL_STORE: "redis://bot:wrong@127.0.0.1:PORT" }, /cannot be used: .*password/],
  ["the number of shards is another", { LULL_STORE_SHARDS: "3" }, /made with 64 shards/],
])("a start where %s says so in one line", async (_, env, words) => {
  const all: Record<string, string> = { LULL_STORE_TIMEOUT_MS: "1500", ...env };
  if (all.LULL_STORE) all.LULL_STORE = all.LULL_STORE.replace("PORT", String(server.port));
  await run(["doctor"]); // So that there is a store.
  const { code, all: text } = await run(["serve"], all);
  expect(code).toBe(2);
  expect(text).toMatch(words);
  expect(text.trim().split("\n").length, text).toBe(1);
});

test("a server that evicts is refused, or warned of", async () => {
  await server.run("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
  onTestFinished(async () => void (await server.run("CONFIG", "SET", "maxmemory-policy", "noeviction")));
  const refused = await run(["serve"]);
  expect(refused).toMatchObject({ code: 2, all: expect.stringContaining("maxmemory-policy is allkeys-lru") });
  const { output } = await serve({ LULL_STORE_EVICTION: "allow" });
  expect(output.all).toContain('"code":"evicts"');
});

test("a Redis that goes away fails readiness and refuses messages, and is back by itself", async () => {
  const { url, output, send } = await serve({ LULL_STORE_TIMEOUT_MS: "1500" });
  expect(output.out).toMatch(/durability "bounded": .*last second.*failover/);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect((await send("1", "?wait=10")).status).toBe(200);

  await server.stop("kill");
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
  expect((await fetch(`${url}/healthz`)).status, "a restart would not help").toBe(200);
  const refused = await send("2");
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);

  await server.start();
  await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200), 10_000);
  // The platform repeats what was refused.
  const again = await send("2", "?wait=10");
  expect(again.status).toBe(200);
  expect(await (await send("2")).json()).toMatchObject({ duplicate: true });
  expect(await (await send("1")).json(), "killed, not lost").toMatchObject({ duplicate: true });
}, 60_000);

test("a Redis that stands still is no different", async () => {
  const { url, send } = await serve({ LULL_STORE_TIMEOUT_MS: "1500" });
  expect((await send("3", "?wait=10")).status).toBe(200);
  server.pause();
  try {
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    expect((await send("4")).status).toBe(503);
  } finally {
    server.resume();
  }
  await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200), 10_000);
  expect((await send("4", "?wait=10")).status).toBe(200);
}, 60_000);

test("two servers share the work, and hear of each other's news", async () => {
  const [one, two] = await Promise.all([serve({ LULL_STORE_HINTS: "on" }), serve({ LULL_STORE_HINTS: "on" })]);
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? one : two).send(`s${index}`, "?wait=15")),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
});

test("a cluster is an address of several", async () => {
  const cluster: RedisCluster = await startCluster();
  onTestFinished(() => cluster.end());
  const nodes = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join();
  const { send, output } = await serve({ LULL_STORE: `redis+cluster://${nodes}`, LULL_STORE_HINTS: "on" });
  expect(output.out).toContain(`redis+cluster://${nodes}, prefix lull, durability "memory"`);
  expect((await send("1", "?wait=10")).status).toBe(200);
  const alone = await run(["serve"], { LULL_STORE: `redis://127.0.0.1:${cluster.nodes[0]?.port}` });
  expect(alone).toMatchObject({ code: 2, all: expect.stringContaining("part of a cluster") });
}, 60_000);

test("with a sentinel it follows the primary, and loses nothing that a replica had", async () => {
  const primary = await startRedis();
  onTestFinished(() => primary.end());
  const replica = await startReplica(primary);
  onTestFinished(() => replica.end());
  const sentinel = await startSentinel(primary);
  onTestFinished(() => sentinel.end());
  const { url, send, output } = await serve({
    LULL_STORE: `redis+sentinel://127.0.0.1:${sentinel.port}/bots`,
    LULL_STORE_REPLICAS: "1",
    LULL_STORE_TIMEOUT_MS: "2000",
  });
  expect(output.out).toContain('durability "replicated"');
  expect((await send("1", "?wait=10")).status).toBe(200);
  await primary.stop("kill");
  expect((await send("2")).status).toBe(503);
  await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200), {
    timeout: 20_000,
    interval: 200,
  });
  expect((await send("1")).status, "nothing counts that only one server has").toBe(503);
  // The old primary comes back as a replica.
  await primary.start();
  await vi.waitFor(async () => expect(await (await send("1")).json()).toMatchObject({ duplicate: true }), {
    timeout: 20_000,
    interval: 300,
  });
  expect((await send("2", "?wait=15")).status).toBe(200);
}, 90_000);
