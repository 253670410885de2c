// Messages at a steady rate through HTTP to real servers on one store, as people write them: in bursts of three. In the
// middle one server gets SIGTERM and comes back. Whoever is refused, or gets no answer, sends the same message again, as a
// platform does. In the end every message that was acknowledged must be covered by a delivered reply, exactly once.
//
//   npm run build && node scripts/bench/load.mjs --store sqlite [--rate 500] [--seconds 300] [--conversations 5000] [--servers 2]
//   … --store postgres     a private server; needs Debian's package postgresql (docs/hacking.md)
//
// Sender, servers and database share this machine, so the numbers are for all of them together. Exit code 1: a message
// unanswered or answered twice, or memory that grows by more than a quarter between the second and the last fifth.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readArgs } from "../args.mjs";

const text = /** @type {const} */ ({ type: "string" });
const values = readArgs(import.meta.url, {
  store: text,
  rate: text,
  seconds: text,
  conversations: text,
  servers: text,
});
const storeName = values.store ?? "sqlite";
const rate = Number(values.rate ?? 500);
const seconds = Number(values.seconds ?? 300);
const conversations = Number(values.conversations ?? 5_000);
/** With one, whoever writes while it restarts has to try again. */
const howMany = Number(values.servers ?? 2);
const burst = 3;
/** Between two messages of a burst; the window is longer. */
const gapMs = 400;
const quietMs = 1_500;
/** Everything must be answered so long after the last message. */
const restMs = 120_000;

const bin = fileURLToPath(new URL("../../packages/lull-server/dist/cli/bin.js", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "lull-load-"));

/** @typedef {{ name: string, url: string, child: import("node:child_process").ChildProcess, rss: number[], stopping: boolean }} Server */

/** @param {string} name @param {string} store @returns {Promise<Server>} */
async function startServer(name, store) {
  const env = {
    PATH: process.env.PATH,
    LULL_STORE: store,
    LULL_PORT: "0",
    LULL_OWNER: name,
    LULL_QUIET_MS: String(quietMs),
    LULL_START_MS: String(quietMs),
    LULL_RESPOND: "demo",
    LULL_DEMO_MS: "200",
    LULL_CONCURRENCY: "2000",
    LULL_STOP_TIMEOUT_MS: "10000",
    LULL_LOG_LEVEL: "warn",
  };
  const child = spawn(process.execPath, [bin, "serve"], { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
  let told = "";
  const url = await new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`server ${name} ended with ${code}`)));
    child.stdout.on("data", (chunk) => {
      told += chunk;
      const address = /listening on (http:\S+)/.exec(told)?.[1];
      if (address !== undefined) resolve(address);
    });
  });
  return { name, url: String(url), child, rss: [], stopping: false };
}

/** Resident memory in MB. @param {Server} server */
function residentMb(server) {
  try {
    const status = readFileSync(`/proc/${server.child.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024;
  } catch {
    return 0;
  }
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });

/** @param {string} method @param {string} url @param {unknown} [body] @returns {Promise<{ status: number, body: string }>} */
function request(method, url, body) {
  return new Promise((resolve, reject) => {
    const content = body === undefined ? undefined : JSON.stringify(body);
    const headers =
      content === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(content) };
    const sent = http.request(url, { method, agent, headers, timeout: 15_000 }, (response) => {
      let told = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => {
        told += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: told }));
      response.on("error", reject);
    });
    sent.on("timeout", () => sent.destroy(new Error("timeout")));
    sent.on("error", reject);
    sent.end(content);
  });
}

/** @param {number[]} sorted @param {number} share */
const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
/** @param {number[]} list */
const median = (list) =>
  quantile(
    [...list].sort((a, b) => a - b),
    0.5,
  );

const database = storeName === "postgres" ? await (await import("../servers/postgres.mjs")).startPostgres() : null;
if (storeName !== "sqlite" && storeName !== "postgres")
  throw new Error(`--store is sqlite or postgres; got ${storeName}.`);
const store = database?.url ?? `sqlite:${join(folder, "lull.db")}`;

/** @type {Server[]} */
const servers = [];
/** Of every try that was acknowledged, in milliseconds. @type {number[]} */
const acks = [];
/** Message ids by conversation. @type {Map<string, Set<string>>} */
const acknowledged = new Map();
let repeated = 0;
let turn = 0;

/** One message until it is acknowledged, from whichever server takes it. @param {string} conversation @param {string} id */
async function write(conversation, id) {
  for (let tries = 0; tries < 200; tries++) {
    const open = servers.filter(({ stopping }) => !stopping);
    const server = open[turn++ % open.length];
    const began = performance.now();
    try {
      if (server === undefined) throw new Error("no server");
      const { status } = await request("POST", `${server.url}/v1/messages`, {
        conversation,
        id,
        text: `${id}: hello there`,
      });
      if (status === 202) {
        acks.push(performance.now() - began);
        const ids = acknowledged.get(conversation) ?? new Set();
        acknowledged.set(conversation, ids.add(id));
        return;
      }
      if (status !== 429 && status !== 503) throw new Error(`answered ${status}`);
    } catch {
      // Sent again with the same id: it may have been stored.
    }
    repeated += 1;
    // As platforms do: ever later, and not all at once.
    await sleep(Math.min(5_000, 100 * 2 ** Math.min(tries, 6)) * (0.5 + Math.random()));
  }
  throw new Error(`${id} was never acknowledged`);
}

/** @type {Promise<void>[]} */
const bursts = [];
/** @type {Set<string>} */
const inBurst = new Set();
let number = 0;
/** Half of the people at most write at the same time: who would be one too many comes later. */
const mostAtOnce = Math.floor(conversations / 2);

function startBurst() {
  let conversation = "";
  do conversation = `c${Math.floor(Math.random() * conversations)}`;
  while (inBurst.has(conversation));
  inBurst.add(conversation);
  const ids = Array.from({ length: burst }, () => `m${number++}`);
  bursts.push(
    (async () => {
      const writes = [];
      for (const id of ids) {
        writes.push(write(conversation, id));
        await sleep(gapMs);
      }
      await Promise.all(writes);
      inBurst.delete(conversation);
    })(),
  );
}

/** What every acknowledged message came to. */
async function verify() {
  const counts = { answered: 0, unanswered: 0, twice: 0, replies: 0 };
  const url = servers.find(({ stopping }) => !stopping)?.url;
  for (const [conversation, ids] of acknowledged) {
    /** @type {Record<string, any>[]} */
    const log = [];
    for (;;) {
      const from = (log.at(-1)?.seq ?? 0) + 1;
      const { body } = await request("GET", `${url}/v1/conversations/${conversation}/log?from=${from}&limit=1000`);
      const { entries } = JSON.parse(body);
      log.push(...entries);
      if (entries.length < 1_000) break;
    }
    const versions = new Map(log.filter(({ kind }) => kind === "message").map(({ id, version }) => [id, version]));
    const delivered = log.filter(({ kind, outcome }) => kind === "closed" && outcome === "delivered");
    counts.replies += delivered.length;
    for (const id of ids) {
      const version = versions.get(id);
      const covers = delivered.filter(
        ({ from, to }) => version !== undefined && version > from && version <= to,
      ).length;
      if (covers === 1) counts.answered += 1;
      else if (covers > 1) counts.twice += 1;
      else counts.unanswered += 1;
    }
  }
  return counts;
}

let failed = false;
try {
  for (let index = 0; index < howMany; index++) servers.push(await startServer(String.fromCharCode(97 + index), store));
  console.log(
    `${rate} messages/s for ${seconds} s in bursts of ${burst}, ${conversations} conversations, ${howMany} servers on ${storeName}`,
  );
  const began = performance.now();
  const sampling = setInterval(() => {
    for (const server of servers) if (!server.stopping) server.rss.push(residentMb(server));
  }, 1_000);

  const restart = sleep((seconds * 1_000) / 2).then(async () => {
    const [old] = /** @type {[Server]} */ (/** @type {unknown} */ (servers));
    const ended = new Promise((resolve) => old.child.once("exit", resolve));
    old.child.kill("SIGTERM");
    old.stopping = true;
    const killedAt = performance.now();
    const code = await ended;
    console.log(
      `SIGTERM to a after ${Math.round(seconds / 2)} s: ended with ${code} after ${Math.round(performance.now() - killedAt)} ms`,
    );
    servers.push(await startServer("a2", store));
  });

  // A steady rate, whatever the answers: what is late is started late, and then made up for.
  let toldAt = 0;
  for (let started = 0; ; ) {
    const elapsed = (performance.now() - began) / 1_000;
    if (elapsed >= seconds) break;
    for (const due = Math.floor((elapsed * rate) / burst); started < due && inBurst.size < mostAtOnce; started++)
      startBurst();
    if (elapsed > toldAt + 15) {
      toldAt = elapsed;
      console.log(
        `${elapsed.toFixed(0)} s: ${acks.length} acknowledged (${Math.round(acks.length / elapsed)}/s), ${inBurst.size} people writing, ${repeated} sent again`,
      );
    }
    await sleep(5);
  }
  await Promise.all(bursts);
  await restart;
  const sentMs = performance.now() - began;

  const deadline = performance.now() + restMs;
  let active = -1;
  while (active !== 0 && performance.now() < deadline) {
    await sleep(500);
    const { body } = await request("GET", `${servers.at(-1)?.url}/metrics`);
    active = Number(/lull_conversations\{state="active"\} (\d+)/.exec(body)?.[1] ?? -1);
  }
  const restedMs = performance.now() - began - sentMs;
  clearInterval(sampling);
  const counts = await verify();

  acks.sort((a, b) => a - b);
  const ms = (/** @type {number} */ value) => `${value.toFixed(1)} ms`;
  console.log(
    `sent: ${acks.length} in ${(sentMs / 1_000).toFixed(1)} s (${Math.round(acks.length / (sentMs / 1_000))}/s), ${repeated} sent again`,
  );
  console.log(`ack: p50 ${ms(quantile(acks, 0.5))}, p99 ${ms(quantile(acks, 0.99))}, worst ${ms(acks.at(-1) ?? 0)}`);
  console.log(
    `answers: ${counts.replies} replies; ${counts.answered} messages answered once, ${counts.twice} twice, ${counts.unanswered} not; at rest ${(restedMs / 1_000).toFixed(1)} s after the last (${active} active)`,
  );
  failed ||= counts.unanswered > 0 || counts.twice > 0 || active !== 0;
  for (const { name, rss } of servers) {
    const fifth = Math.floor(rss.length / 5);
    const [early, late] = [median(rss.slice(fifth, 2 * fifth)), median(rss.slice(-fifth))];
    // Of a server that lived shortly nothing can be said.
    const judged = fifth >= 10;
    const grown = early === 0 ? 0 : late / early - 1;
    console.log(
      `memory of ${name}: ${early.toFixed(0)} MB in the second fifth, ${late.toFixed(0)} MB in the last (${(100 * grown).toFixed(0)} %)${judged ? "" : ", too short to judge"}`,
    );
    failed ||= judged && grown > 0.25;
  }
} finally {
  for (const { child } of servers) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), 15_000);
    await ended;
    clearTimeout(late);
  }
  agent.destroy();
  await database?.end();
  rmSync(folder, { recursive: true, force: true });
}
console.log(failed ? "FAIL" : "ok");
process.exitCode = failed ? 1 : 0;
