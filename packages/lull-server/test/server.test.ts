import { mkdtemp, rm, stat } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { streamed } from "../src/cli/client.ts";
import { ConfigError, loadConfig } from "../src/config.ts";
import { silent } from "../src/log.ts";
import { createServer } from "../src/server.ts";
import { placeOf } from "../src/store.ts";

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "lull-server-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function serve(flags: Record<string, string>) {
  const { config } = await loadConfig({
    env: {},
    cwd: import.meta.dirname,
    flags: { port: "0", quietMs: "80", startMs: "0", demoMs: "20", store: "memory:", ...flags },
  });
  const server = await createServer(config, silent);
  onTestFinished(() => server.stop());
  return server;
}

function post(url: string, body: object): Promise<Response> {
  return fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}

describe("a server", () => {
  test("keeps conversations in SQLite over a restart", async () => {
    const path = join(await folder(), "deep", "lull.db");
    const first = await serve({ store: `sqlite:${path}` });
    expect(first.store).toContain('durability "disk"');
    const answer = await post(`${first.url}/v1/messages?wait=10`, { conversation: "c", id: "m1", text: "hi" });
    expect(answer.status).toBe(200);
    expect((await stat(join(path, ".."))).mode & 0o077).toBe(0);
    await first.stop();
    const second = await serve({ store: `sqlite:${path}` });
    const again = await post(`${second.url}/v1/messages?wait=10`, { conversation: "c", id: "m1", text: "hi" });
    expect(await again.json()).toMatchObject({ ...((await answer.json()) as object), duplicate: true });
  });

  test("ends streams and waits at once when it stops, and takes nothing more", async () => {
    const server = await serve({ quietMs: "60000", startMs: "60000", maxWaitMs: "60000" });
    const stream = await fetch(`${server.url}/v1/conversations/c/events`);
    const waiting = post(`${server.url}/v1/messages?wait=60`, { conversation: "c", text: "hi" });
    await vi.waitFor(async () => expect(await server.lull.get("c")).not.toBeNull());
    const began = performance.now();
    const [, , answer] = await Promise.all([server.stop(), stream.text(), waiting]);
    expect(answer.status).toBe(202);
    expect(performance.now() - began).toBeLessThan(2_000);
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
  });

  test("a client that leaves ends its stream", async () => {
    const server = await serve({ maxStreams: "1", apiKeys: "" });
    const leave = new AbortController();
    const stream = await fetch(`${server.url}/v1/events`, { signal: leave.signal });
    expect(stream.status).toBe(200);
    expect((await fetch(`${server.url}/v1/events`)).status).toBe(503);
    leave.abort();
    await vi.waitFor(async () => {
      const next = new AbortController();
      const { status } = await fetch(`${server.url}/v1/events`, { signal: next.signal });
      next.abort();
      expect(status).toBe(200);
    }, 5_000);
  });

  test("a reader that does not read costs no memory and loses nothing", async () => {
    const server = await serve({ respond: "none" });
    const slow = await new Promise<http.IncomingMessage>((resolve, reject) => {
      http.get(`${server.url}/v1/conversations/c/events?after=0`, resolve).on("error", reject);
    });
    slow.pause();
    const text = "x".repeat(20_000);
    const count = 300;
    for (let sent = 0; sent < count; sent += 50)
      await post(
        `${server.url}/v1/messages`,
        Array.from({ length: 50 }, () => ({ conversation: "c", text })) as object,
      );
    const seqs: number[] = [];
    for await (const { id, data } of streamed(new Response(slow as unknown as ReadableStream))) {
      if (id !== null && data !== null) seqs.push(Number(id));
      if (seqs.length === count) break;
    }
    expect(seqs).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  }, 20_000);
});

describe("a start that cannot work", () => {
  test.each([
    [{ host: "0.0.0.0" }, "no keys are set"],
    [{ store: "mysql://u:secret@h/db" }, "a mysql: address, which this version cannot open"],
    [{ store: "postgres://u:secret@h:port/db" }, "no valid address"],
    [{ store: "lull.db" }, "store must be sqlite:PATH, postgres://"],
    [{ quietMs: "10", startMs: "20" }, "startMs"],
    [{ leaseMs: "1000", renewMs: "900" }, "renewMs"],
    [{ apiKeys: "a:send:short" }, "at least 16 characters"],
    [{ store: "sqlite:/dev/null/x.db" }, "cannot be opened"],
  ])("%o", async (flags, told) => {
    const started = serve(flags as Record<string, string>);
    await expect(started).rejects.toThrow(ConfigError);
    await expect(started).rejects.toThrow(told);
    await expect(started).rejects.not.toThrow("secret@");
  });

  test("a port in use is told", async () => {
    const { url } = await serve({});
    await expect(serve({ port: new URL(url).port })).rejects.toThrow("in use already");
  });
});

test("store addresses", () => {
  expect(placeOf("memory:")).toEqual({ kind: "memory" });
  expect(placeOf("sqlite::memory:")).toEqual({ kind: "memory" });
  expect(placeOf("sqlite:/a/b.db")).toEqual({ kind: "sqlite", path: "/a/b.db" });
  expect(placeOf("sqlite:///a/b.db")).toEqual({ kind: "sqlite", path: "/a/b.db" });
  expect(placeOf("file:///a/b.db")).toEqual({ kind: "sqlite", path: "/a/b.db" });
  expect(placeOf("sqlite:./b.db")).toEqual({ kind: "sqlite", path: join(process.cwd(), "b.db") });
});
