/**
 * The command line as users run it: the built program, in processes of its own.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { flagOf, mayBeFile, settings, variableOf } from "../src/settings.ts";

const bin = fileURLToPath(new URL("../dist/cli/bin.js", import.meta.url));

async function start(args: string[], env: Record<string, string> = {}) {
  const cwd = await mkdtemp(join(tmpdir(), "lull-cli-"));
  const child = spawn(process.execPath, [bin, ...args], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { out: "", err: "" };
  child.stdout.on("data", (chunk) => {
    output.out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output.err += chunk;
  });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
    await rm(cwd, { recursive: true, force: true });
  });
  return { child, output, ended };
}

async function run(args: string[], env?: Record<string, string>) {
  const { output, ended } = await start(args, env);
  return { code: await ended, ...output };
}

async function serve(args: string[] = []) {
  const server = await start([
    "serve",
    "--port",
    "0",
    "--store",
    "memory:",
    "--quiet-ms",
    "100",
    "--demo-ms",
    "1",
    ...args,
  ]);
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(server.output.err)), 20_000);
    const look = () => {
      const match = /^lull-server listening on (\S+)$/m.exec(server.output.out);
      if (match?.[1] === undefined) return;
      clearTimeout(timer);
      resolve(match[1]);
    };
    server.child.stdout.on("data", look);
  });
  return { ...server, url };
}

describe("lull", () => {
  test("--help of serve lists every setting with its sources", async () => {
    const { code, out } = await run(["serve", "--help"]);
    expect(code).toBe(0);
    for (const [name, spec] of Object.entries(settings)) {
      expect(out).toContain(`--${flagOf(name)} `);
      expect(out).toContain(variableOf(name));
      if (mayBeFile(spec)) expect(out).toContain(`${variableOf(name)}_FILE`);
    }
  });

  test("without a command it says what there is", async () => {
    const { code, err } = await run([]);
    expect(code).toBe(1);
    for (const command of ["serve", "send", "show", "watch", "explain", "doctor", "demo", "secret"])
      expect(err).toContain(`  ${command}`);
  });

  test("serves, answers and stops at SIGTERM with 0", async () => {
    const server = await serve();
    const env = { LULL_URL: server.url };
    const sent = await run(["send", "me", "hi", "there", "--wait", "20"], env);
    expect(sent).toMatchObject({ code: 0, err: "" });
    expect(sent.out).toContain("1. hi there");
    expect((await run(["show", "me"], env)).out).toMatch(/^me {2}resting$/m);
    expect((await run(["explain", "me"], env)).out).toContain("Now: at rest.");
    expect(await run(["show", "nobody"], env)).toMatchObject({
      code: 1,
      err: expect.stringContaining("no such conversation"),
    });
    const watching = await start(["watch", "me", "--after", "0"], env);
    await new Promise<void>((resolve) => {
      watching.child.stdout.on("data", () => {
        if (watching.output.out.includes("reply.closed")) resolve();
      });
    });
    server.child.kill("SIGTERM");
    expect(await server.ended).toBe(0);
    expect(server.output.out + server.output.err).not.toContain("hi there");
  });

  test("says plainly why it does not start", async () => {
    const exposed = await run(["serve", "--host", "0.0.0.0"]);
    expect(exposed.code).toBe(2);
    expect(exposed.err).toContain("LULL_API_KEYS");
    expect(exposed.err).not.toContain("    at ");
    expect(await run(["serve", "--quiet-ms", "soon"])).toMatchObject({
      code: 2,
      err: expect.stringContaining('got "soon"'),
    });
    expect((await run(["send", "me", "hi"], { LULL_URL: "http://127.0.0.1:1" })).err).toContain("lull serve");
  });

  test("doctor finds what is wrong and what is not", async () => {
    const fine = await run(["doctor", "--store", "memory:", "--port", "0"]);
    expect(fine.code).toBe(0);
    expect(fine.out).toContain("Ready: lull serve");
    const bad = await run(["doctor", "--port", "0", "--respond", "openai", "--deliver", "https://bot.example/hook"], {
      LULL_WEBHOOK_SECRET: "hello",
      LULL_LEASE_MSS: "1",
    });
    expect(bad.code).toBe(1);
    for (const told of ["LULL_MODEL", "must begin with whsec_", "Did you mean LULL_LEASE_MS?"])
      expect(bad.out).toContain(told);
    expect(bad.out).not.toContain("hello");
  });
});
