/**
 * Real `lull serve` processes on one SQLite file in a folder of their own, and the local program they talk to.
 * Every process that was started is ended by its own id, whatever becomes of the test.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { newSecret } from "../../src/webhook.ts";
import { type Behaviours, type Call, type Program, startProgram } from "./program.ts";

const bin = fileURLToPath(new URL("../../dist/cli/bin.js", import.meta.url));
/** A start takes half a second; on a machine that is busy with other things, much longer. */
const startMs = 90_000;
const requestMs = 20_000;

export interface ServerProcess {
  name: string;
  url: string;
  /** What it said on stderr. */
  said(): string;
  /** What it told on stdout. */
  told(): string;
  isRunning(): boolean;
  kill(signal: "SIGKILL" | "SIGTERM" | "SIGHUP" | "SIGSTOP" | "SIGCONT"): number;
  exited: Promise<number | null>;
}

export interface Accepted {
  id: string;
  version: number;
  duplicate: boolean;
  quietAt: string;
}

export interface Written extends Accepted {
  /** On the test's clock, like the times of calls. */
  sentAtMs: number;
}

export interface Scene {
  program: Program;
  /** The new one and the old one, as while rotating. */
  secrets: readonly string[];
  /** Path of the SQLite file. */
  database: string;
  /** Starts a server process; the same name again is a restart. */
  start(name: string, settings?: Record<string, string>): Promise<ServerProcess>;
  /** Hands in one message, whose text is its id. */
  write(server: ServerProcess, conversation: string, id: string): Promise<Written>;
  get(server: ServerProcess, path: string): Promise<Seen>;
  /** The log of a conversation, as any server shows it. */
  log(server: ServerProcess, conversation: string): Promise<Entry[]>;
  /** Until nothing is waiting, running or on its way; resolves to the log. */
  rested(server: ServerProcess, conversation: string, withinMs?: number): Promise<Entry[]>;
  /** The end of what each server said on stderr, for a failure's message. */
  saidByAll(): string;
  close(): Promise<void>;
}

/** The JSON of an answer, loosely typed for tests. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
export type Seen = any;
export type Entry = { seq: number; kind: string } & Record<string, Seen>;

export interface SceneOptions {
  /** Settings of all servers. */
  settings?: Record<string, string>;
  model?: Behaviours["model"];
  delivery?: Behaviours["delivery"];
}

/** The answer of a model that says which messages it has seen. */
export function naming(call: Call) {
  return { body: { text: `answer to ${call.covers.join(" ")}` } };
}

export const taken = () => ({ body: {} });

export async function openScene(options: SceneOptions = {}): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), "lull-gates-"));
  const secrets = [newSecret(), newSecret()];
  const program = await startProgram({ secrets, model: options.model ?? naming, delivery: options.delivery ?? taken });
  const database = join(folder, "lull.db");
  const children: ChildProcess[] = [];
  const servers: ServerProcess[] = [];

  const settings = {
    LULL_STORE: `sqlite:${database}`,
    LULL_PORT: "0",
    LULL_QUIET_MS: "800",
    LULL_LEASE_MS: "2000",
    LULL_WEBHOOK_SECRET: secrets.join(","),
    // Deliveries are held for as long as it takes to start another process.
    LULL_DELIVER_TIMEOUT_MS: "120000",
    LULL_LOG_LEVEL: "info",
    ...options.settings,
  };
  // Nothing of the developer's own settings gets in.
  const clean = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(LULL_|OPENAI_|PORT$|NODE_OPTIONS$|VITEST)/.test(name)),
  );

  async function start(name: string, own: Record<string, string> = {}): Promise<ServerProcess> {
    const child = spawn(process.execPath, [bin, "serve"], {
      cwd: folder,
      env: {
        ...clean,
        LULL_OWNER: name,
        LULL_RESPOND: program.model(name),
        LULL_DELIVER: program.delivery(name),
        ...settings,
        ...own,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    children.push(child);
    let said = "";
    let told = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-20_000);
    });
    const exited = once(child, "exit").then(([code]) => code as number | null);
    const url = await new Promise<string>((resolve, reject) => {
      const fail = (why: string) => reject(new Error(`Server ${name} ${why}. It said:\n${told}${said}`));
      const timer = setTimeout(() => fail(`did not start within ${startMs} ms`), startMs);
      void exited.then((code) => fail(`ended with code ${code}`));
      child.stdout?.setEncoding("utf8").on("data", (text: string) => {
        told += text;
        const address = /listening on (http:\S+)/.exec(told)?.[1];
        if (address === undefined) return;
        clearTimeout(timer);
        resolve(address);
      });
    });
    const server: ServerProcess = {
      name,
      url,
      said: () => said,
      told: () => told,
      isRunning: () => child.exitCode === null && child.signalCode === null,
      kill(signal) {
        const atMs = performance.now();
        child.kill(signal);
        return atMs;
      },
      exited,
    };
    servers.push(server);
    return server;
  }

  async function get(server: ServerProcess, path: string): Promise<Seen> {
    const response = await fetch(server.url + path, { signal: AbortSignal.timeout(requestMs) });
    if (!response.ok) throw new Error(`GET ${path} answered ${response.status}: ${await response.text()}`);
    return response.json();
  }

  async function log(server: ServerProcess, conversation: string): Promise<Entry[]> {
    const { entries } = await get(
      server,
      `/v1/conversations/${encodeURIComponent(conversation)}/log?from=1&limit=1000`,
    );
    return entries;
  }

  return {
    program,
    secrets,
    database,
    start,
    get,
    log,
    async write(server, conversation, id) {
      const sentAtMs = performance.now();
      const response = await post(server, "/v1/messages", { conversation, id, text: id });
      if (response.status !== 202) throw new Error(`${id} was answered ${response.status}: ${await response.text()}`);
      return { ...((await response.json()) as Accepted), sentAtMs };
    },
    async rested(server, conversation, withinMs = 20_000) {
      const path = `/v1/conversations/${encodeURIComponent(conversation)}`;
      const shown = await eventually(
        `rest in ${conversation}`,
        async () => {
          const now = await get(server, path);
          return now.state === "resting" || now.state === "parked" ? now : null;
        },
        withinMs,
      );
      const entries = await log(server, conversation);
      if (entries.length !== shown.seq) throw new Error(`The log of ${conversation} has gaps.`);
      return entries;
    },
    saidByAll: () => servers.map((server) => `${server.name}: ${server.said().slice(-4_000)}`).join("\n"),
    async close() {
      for (const child of children) child.kill("SIGKILL");
      await Promise.all(
        children.map((child) => (child.exitCode === null && child.signalCode === null ? once(child, "exit") : null)),
      );
      await program.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function post(server: ServerProcess, path: string, body: unknown): Promise<Response> {
  return fetch(server.url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(requestMs),
  });
}

/** Asks again and again until the answer is truthy. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | null | false>,
  withinMs = 20_000,
): Promise<T> {
  const endMs = performance.now() + withinMs;
  for (;;) {
    const value = await look();
    if (value) return value;
    if (performance.now() > endMs) throw new Error(`Within ${withinMs} ms there was no ${what}.`);
    await sleep(50);
  }
}

const beatMs = 20;
/** When our own timer was late, and by how much: the machine was busy with something else. */
const stalls: { atMs: number; lateMs: number }[] = [];
let lastBeatMs = performance.now();
function beat(): void {
  const nowMs = performance.now();
  const lateMs = nowMs - lastBeatMs - beatMs;
  if (lateMs > beatMs / 2) stalls.push({ atMs: nowMs, lateMs });
  lastBeatMs = nowMs;
}
setInterval(beat, beatMs).unref();

/** The time between two moments, without what this machine did not even give to our own timer. */
export function tookMs(fromMs: number, toMs: number): number {
  beat();
  const stalled = stalls.reduce((sum, { atMs, lateMs }) => {
    const overlap = Math.min(atMs, toMs) - Math.max(atMs - lateMs, fromMs);
    return sum + Math.max(0, overlap);
  }, 0);
  return toMs - fromMs - stalled;
}

export { sleep };
