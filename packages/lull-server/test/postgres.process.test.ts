/**
 * A server on Postgres, as its operator meets it: the built program, and a database that goes away.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { type PostgresServer, startPostgres } from "../../../scripts/servers/postgres.mjs";

const bin = fileURLToPath(new URL("../dist/cli/bin.js", import.meta.url));
const password = "correct-horse";

let server: PostgresServer;
let store: string;
beforeAll(async () => {
  server = await startPostgres();
  // Trusted anyway, but like any address in the wild it holds a secret.
  store = server.url.replace("postgres@", `postgres:${password}@`);
});
afterAll(() => server?.end());

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

test("lull migrate makes the tables, once, and says so", async () => {
  const env = { LULL_STORE_SCHEMA: "deploy" };
  const first = await run(["migrate"], env);
  expect(first).toMatchObject({
    code: 0,
    out: expect.stringMatching(/schema deploy: brought from version 0 to \d+\n/),
  });
  const again = await run(["migrate"], env);
  expect(again).toMatchObject({ code: 0, out: expect.stringContaining("up to date") });
  const sqlite = await run(["migrate"], { LULL_STORE: "memory:" });
  expect(sqlite).toMatchObject({ code: 0, out: expect.stringContaining("nothing to do") });
  const nowhere = await run(["migrate"], { LULL_STORE: store.replace(/\/postgres$/, "/nowhere") });
  expect(nowhere).toMatchObject({ code: 2, all: expect.stringMatching(/^lull: The store .*"nowhere" does not exist/) });
});

test("lull doctor looks at the database, and shows no password", async () => {
  const { code, out } = await run(["doctor"]);
  expect(code).toBe(0);
  expect(out).toMatch(/store: postgres:\/\/127\.0\.0\.1:\d+\/postgres, schema lull, disk durability, 0 conversations/);
});

test("a start without the database says so in one line", async () => {
  const { code, all } = await run(["serve"], {
    LULL_STORE: "postgres://127.0.0.1:1/none",
    LULL_STORE_TIMEOUT_MS: "500",
  });
  expect(code).toBe(2);
  expect(all).toMatch(/^lull: The store postgres:\/\/127\.0\.0\.1:1\/none, schema lull cannot be used: .*ECONNREFUSED/);
  expect(all.trim().split("\n").length).toBe(1);
});

test("a database that goes away fails readiness and refuses messages, and is back by itself", async () => {
  const { url, output, send } = await serve({ LULL_STORE_TIMEOUT_MS: "1500" });
  await vi.waitFor(() => expect(output.out).toContain('durability "disk"'), 10_000);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect((await send("1", "?wait=10")).status).toBe(200);

  await server.stop("immediate");
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
}, 60_000);

test("two servers share the work, and hear of each other's news", async () => {
  const [one, two] = await Promise.all([serve({ LULL_STORE_HINTS: "on" }), serve({ LULL_STORE_HINTS: "on" })]);
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? one : two).send(`s${index}`, "?wait=15")),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
});
