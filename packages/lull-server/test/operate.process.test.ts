/**
 * Running it, through real processes: backup while serving, a restored copy that is paused, erasure without a trace, a
 * pause that every process keeps, keys that are rotated, a second port.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  eventually,
  openScene,
  post,
  type Scene,
  type SceneOptions,
  type ServerProcess,
  sleep,
} from "./support/processes.ts";

const bin = fileURLToPath(new URL("../dist/cli/bin.js", import.meta.url));

async function scene(options: SceneOptions = {}): Promise<Scene> {
  const opened = await openScene(options);
  onTestFinished(() => opened.close());
  return opened;
}

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** One command of the command line, in the scene's folder. */
async function lull(place: Scene, args: string[], env: Record<string, string> = {}): Promise<Ended> {
  const child = spawn(process.execPath, [bin, ...args], {
    cwd: dirname(place.database),
    env: { PATH: process.env.PATH, LULL_STORE: `sqlite:${place.database}`, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended: Ended = { code: null, out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    ended.out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    ended.err += text;
  });
  [ended.code] = (await once(child, "close")) as [number | null];
  return ended;
}

const at = (server: ServerProcess) => ({ LULL_URL: server.url });

async function handIn(server: ServerProcess, message: Record<string, unknown>): Promise<void> {
  const response = await post(server, "/v1/messages", message);
  expect(response.status, await response.clone().text()).toBe(202);
}

/** Every file beside the database, as bytes. */
function bytesOf(place: Scene): Buffer {
  const folder = dirname(place.database);
  return Buffer.concat(
    readdirSync(folder)
      .filter((name) => name.startsWith("lull.db"))
      .map((name) => readFileSync(join(folder, name))),
  );
}

describe("backup and restore", () => {
  test("backup while serving → restore paused → resume: what was answered since is not answered again", async () => {
    const place = await scene({ settings: { LULL_START_MS: "100", LULL_SCAN_MS: "300" } });
    const { program } = place;
    const first = await place.start("first", { LULL_QUIET_MS: "4000" });
    await place.write(first, "before", "m1");
    await place.rested(first, "before");
    await place.write(first, "waiting", "m1");
    await place.write(first, "both", "m1");
    const busy = setInterval(() => void place.write(first, "busy", `b${performance.now()}`).catch(() => {}), 20);
    const copied = await lull(place, ["backup", "copy.db"]);
    clearInterval(busy);
    expect(copied).toMatchObject({ code: 0, err: "" });
    expect(await lull(place, ["backup", "copy.db"])).toMatchObject({ code: 1, err: expect.stringContaining("exists") });
    // The original goes on, and answers.
    for (const conversation of ["waiting", "both", "busy"]) await place.rested(first, conversation);
    expect(program.deliveries("waiting")).toHaveLength(1);

    expect(await lull(place, ["restore", "copy.db"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("exists"),
    });
    expect(await lull(place, ["restore", "--replace", "copy.db"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("in use"),
    });
    first.kill("SIGTERM");
    expect(await first.exited).toBe(0);
    const restored = await lull(place, ["restore", "--replace", "copy.db"]);
    expect(restored).toMatchObject({ code: 0, err: "" });
    expect(restored.out).toContain("lull unpause --drop-waiting");

    const calls = program.calls.length;
    const second = await place.start("second");
    expect(await place.get(second, "/v1/pause")).toMatchObject({ paused: { by: "lull restore" } });
    await place.write(second, "both", "m2");
    await place.write(second, "new", "m1");
    await sleep(2_500);
    expect(program.calls.length, "a restored copy answers nothing").toBe(calls);
    expect((await place.get(second, "/v1/conversations/waiting")).pending).toBe(1);

    const resumed = await lull(place, ["unpause", "--drop-waiting", "--by", "ada"], at(second));
    expect(resumed).toMatchObject({ code: 0, err: "" });
    expect(resumed.out).toMatch(/^ {2}waiting$/m);
    await place.rested(second, "new");
    await place.rested(second, "both");
    expect(program.deliveries("new").map(({ covers }) => covers)).toEqual([["m1"]]);
    expect(program.deliveries("both").at(-1)?.covers).toEqual(["m1", "m2"]);
    expect((await place.rested(second, "waiting")).map(({ kind }) => kind)).toContain("reset");
    expect(program.deliveries("waiting"), "answered once, before").toHaveLength(1);
    expect(await lull(place, ["unpause"], at(second))).toMatchObject({ code: 3 });
  });

  test("what is no database, and a store without a file, are refused with advice", async () => {
    const place = await scene();
    expect(await lull(place, ["backup"], { LULL_STORE: "postgres://db/x" })).toMatchObject({
      code: 2,
      err: expect.stringContaining("pg_dump"),
    });
    for (const [command, told] of [
      ["backup", "BGSAVE"],
      ["scrub", "BGREWRITEAOF"],
    ] as const)
      expect(await lull(place, [command], { LULL_STORE: "redis://db" })).toMatchObject({
        code: 2,
        err: expect.stringContaining(told),
      });
    expect(await lull(place, ["backup"], { LULL_STORE: "memory:" })).toMatchObject({ code: 2 });
    expect(await lull(place, ["backup"])).toMatchObject({ code: 1, err: expect.stringContaining("no database") });
    expect(await lull(place, ["restore", bin])).toMatchObject({ code: 1, err: expect.stringContaining("no intact") });
    expect(existsSync(place.database)).toBe(false);
  });
});

describe("erase", () => {
  test("no trace of the text in the database file, its log included, while two processes serve", async () => {
    const place = await scene({ settings: { LULL_QUIET_MS: "300", LULL_START_MS: "0" } });
    const [a, b] = await Promise.all([place.start("a"), place.start("b")]);
    const secret = (n: number) => `SECRET-${n}-${"x".repeat(n % 7 === 0 ? 5_000 : n * 13)}`;
    for (let n = 1; n <= 40; n++) {
      await handIn(n % 2 ? a : b, { conversation: "gone", id: `m${n}`, text: secret(n) });
      await handIn(a, { conversation: `stays-${n % 5}`, id: `m${n}`, text: `kept ${n} ${"y".repeat(n * 31)}` });
    }
    for (const conversation of ["gone", "stays-0", "stays-1"]) await place.rested(a, conversation);
    expect(bytesOf(place).includes("SECRET-")).toBe(true);
    const erased = await lull(place, ["erase", "gone"], at(a));
    expect(erased).toMatchObject({ code: 0, err: "" });
    const bytes = bytesOf(place);
    expect(bytes.includes("SECRET-")).toBe(false);
    expect(bytes.includes("kept 1 ")).toBe(true);
    // Both go on with the file.
    for (const server of [a, b]) await handIn(server, { conversation: "later", text: "still here" });
    expect((await place.rested(b, "later")).length).toBeGreaterThan(0);
    expect((await fetch(`${b.url}/v1/conversations/gone`)).status).toBe(404);
    expect(await lull(place, ["erase", "gone"], at(b))).toMatchObject({ code: 3 });
  });

  test("an author: private conversations whole, a group's words alone, no trace of either", async () => {
    const place = await scene({ settings: { LULL_QUIET_MS: "300", LULL_START_MS: "0" } });
    const server = await place.start("a");
    await handIn(server, { conversation: "dm", author: "ann", text: "SECRET-dm" });
    await handIn(server, {
      conversation: "group",
      author: "ann",
      text: "SECRET-group",
      metadata: { name: "SECRET-name" },
    });
    await handIn(server, { conversation: "group", author: "bob", text: "kept by bob" });
    for (const conversation of ["dm", "group"]) await place.rested(server, conversation);
    const erased = await lull(place, ["erase", "--author", "ann", "--json"], at(server));
    expect(erased).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(erased.out)).toEqual({ erased: 1, rewritten: 1, busy: [], left: null });
    const bytes = bytesOf(place);
    expect(bytes.includes("SECRET-")).toBe(false);
    expect(bytes.includes("kept by bob")).toBe(true);
    expect((await lull(place, ["erase"], at(server))).code).toBe(2);
  });

  test("scrub alone: beside a running server", async () => {
    const place = await scene({ settings: { LULL_QUIET_MS: "300" } });
    const server = await place.start("a");
    await handIn(server, { conversation: "gone", text: "SECRET-one" });
    expect(await lull(place, ["erase", "--no-scrub", "gone"], at(server))).toMatchObject({ code: 0 });
    const scrubbed = await lull(place, ["scrub"]);
    expect(scrubbed).toMatchObject({ code: 0, err: "" });
    expect(bytesOf(place).includes("SECRET-")).toBe(false);
    await handIn(server, { conversation: "later", text: "still here" });
  });
});

describe("pause", () => {
  test("every process keeps it, one that starts later too; retry --parked brings back what was given up", async () => {
    let isBroken = true;
    const place = await scene({
      settings: { LULL_QUIET_MS: "100", LULL_SCAN_MS: "300", LULL_MAX_FAILURES: "1" },
      model: (call) => (isBroken ? { status: 500 } : { body: { text: `answer to ${call.covers}` } }),
    });
    const { program } = place;
    const [a, b] = await Promise.all([place.start("a"), place.start("b")]);
    for (const conversation of ["p1", "p2"]) await place.write(a, conversation, "m1");
    for (const conversation of ["p1", "p2"]) await place.rested(a, conversation);
    isBroken = false;
    const paused = await lull(place, ["pause", "--reason", "odd\u001b[31m answers", "--by", "ada"], at(a));
    expect(paused).toMatchObject({ code: 0, err: "" });
    expect(paused.out).not.toContain("\u001b");
    await eventually("pause", async () => (await place.get(b, "/v1/pause")).paused);
    await sleep(600);
    const calls = program.calls.length;
    const c = await place.start("c");
    for (const server of [a, b, c]) await place.write(server, `on-${server.name}`, "m1");
    const retried = await lull(place, ["retry", "--parked"], at(b));
    expect(retried.out).toMatch(/^p1: 1 messages\np2: 1 messages$/m);
    await sleep(1_500);
    expect(program.calls.length).toBe(calls);
    expect(await lull(place, ["unpause"], at(c))).toMatchObject({ code: 0 });
    for (const conversation of ["on-a", "on-b", "on-c", "p1", "p2"]) await place.rested(a, conversation);
    for (const conversation of ["on-a", "on-b", "on-c", "p1", "p2"])
      expect(program.deliveries(conversation)).toHaveLength(1);
    expect((await lull(place, ["retry", "p1", "--parked"], at(a))).code).toBe(2);
  });

  test("LULL_START_PAUSED pauses before anything is claimed", async () => {
    const place = await scene({ settings: { LULL_QUIET_MS: "100" } });
    const receiver = await place.start("receiver", { LULL_RESPOND: "none" });
    await place.write(receiver, "c", "m1");
    await sleep(500);
    const server = await place.start("a", { LULL_START_PAUSED: "on" });
    await sleep(1_500);
    expect(place.program.calls).toEqual([]);
    await lull(place, ["unpause"], at(server));
    await place.rested(server, "c");
    expect(place.program.deliveries("c")).toHaveLength(1);
  });
});

describe("keys", () => {
  test("roles; and rotation: two secrets valid at once, the old one gone after a restart", async () => {
    const place = await scene();
    const [old, fresh] = ["web-0123456789abcdef-old", "web-0123456789abcdef-new"];
    const ops = "ops-0123456789abcdef";
    const status = async (server: ServerProcess, secret: string, method: string, path: string, body?: unknown) =>
      (
        await fetch(server.url + path, {
          method,
          headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
      ).status;
    const send = (server: ServerProcess, secret: string) =>
      status(server, secret, "POST", "/v1/messages", { conversation: "c", text: "hi" });
    const rotating = await place.start("a", { LULL_API_KEYS: `web:send:${old},web:send:${fresh},ops:operate:${ops}` });
    expect([await send(rotating, old), await send(rotating, fresh), await send(rotating, "wrong")]).toEqual([
      202, 202, 401,
    ]);
    expect(await status(rotating, fresh, "GET", "/v1/conversations/c")).toBe(403);
    expect(await status(rotating, fresh, "POST", "/v1/pause", {})).toBe(403);
    expect(await status(rotating, ops, "GET", "/v1/conversations/c")).toBe(200);
    expect(await status(rotating, ops, "POST", "/v1/pause", {})).toBe(200);
    expect(await status(rotating, ops, "GET", "/v1/pause")).toBe(200);
    expect((await lull(place, ["unpause", "--key", ops], at(rotating))).code).toBe(0);
    expect(await lull(place, ["unpause", "--key", fresh], at(rotating))).toMatchObject({
      code: 1,
      err: expect.stringContaining("forbidden"),
    });
    rotating.kill("SIGTERM");
    await rotating.exited;
    const rotated = await place.start("a", { LULL_API_KEYS: `web:send:${fresh},ops:operate:${ops}` });
    expect([await send(rotated, old), await send(rotated, fresh)]).toEqual([401, 202]);
    for (const secret of [old, fresh, ops]) expect(place.saidByAll()).not.toContain(secret);
  });

  test("with a second port, the first serves neither metrics nor what operators do", async () => {
    const place = await scene();
    const server = await place.start("a", { LULL_ADMIN_PORT: "0" });
    const admin = await eventually("admin address", async () => /admin\s+(http:\S+)/.exec(server.told())?.[1] ?? null);
    const statuses = async (base: string) => {
      const found: Record<string, number> = {};
      for (const path of ["/healthz", "/readyz", "/metrics", "/v1/pause", "/v1/conversations"])
        found[path] = (await fetch(base + path)).status;
      const reset = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
      found.reset = (await fetch(`${base}/v1/conversations/c/reset`, reset)).status;
      return found;
    };
    const health = { "/healthz": 200, "/readyz": 200, "/v1/conversations": 200 };
    expect(await statuses(server.url)).toEqual({ ...health, "/metrics": 404, "/v1/pause": 404, reset: 404 });
    expect(await statuses(admin)).toEqual({ ...health, "/metrics": 200, "/v1/pause": 200, reset: 204 });
    server.kill("SIGTERM");
    expect(await server.exited).toBe(0);
  });
});

describe("stopping", () => {
  test("SIGTERM ends the process within LULL_STOP_TIMEOUT_MS, whatever hangs", async () => {
    const place = await scene({
      settings: { LULL_QUIET_MS: "100", LULL_START_MS: "0", LULL_STOP_TIMEOUT_MS: "2000" },
      model: (call) => (call.conversation === "model" ? null : { body: { text: "x" } }),
      delivery: () => null,
    });
    const { program } = place;
    const server = await place.start("a");
    for (const conversation of ["model", "delivery"]) await place.write(server, conversation, "m1");
    await program.until("model", () => program.models("model")[0]);
    await program.until("delivery", () => program.deliveries("delivery")[0]);
    const waiting = fetch(`${server.url}/v1/messages?wait=60`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ conversation: "model", id: "m2", text: "m2" }),
    });
    await sleep(300);
    const began = server.kill("SIGTERM");
    expect((await waiting).status).toBe(202);
    await server.exited;
    // With what a busy machine takes to end a process.
    expect(performance.now() - began).toBeLessThan(2_000 + 1_500);
  });
});
