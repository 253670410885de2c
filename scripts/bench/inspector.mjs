// What the inspector asks of a server, at its limits: lists of a store with very many conversations, by every filter, through
// HTTP; and very many open streams on one process while messages come in.
//
//   npm run build && node scripts/bench/inspector.mjs [--conversations 1000000] [--store sqlite,postgres] [--rounds 15]
//     [--streams 1000] [--rate 200] [--seconds 180] [--slow 5] [--only lists|streams]
//
// Lists: of 1,000 conversations 8 wait, 2 are being answered, 1 is being delivered, 1 is parked, 1 is with a human, the rest
// rest; every ten-thousandth is overdue. Reported are median and longest of the rounds; the mark is 200 ms.
// Streams: one conversation each, and each must see its numbers without a gap. Some read nothing for a while and are sent large
// messages: the server must let them go (after a minute and a heartbeat of 15 s: `--seconds` 120 or more), and they resume where
// they were. Reported is by how much the process grew, from the load alone to the load with its streams; the mark is 60 MB.
//
// Client, server and whatever else runs share this machine: times are for all of them together. Exit code 1: a gap, a number
// that came twice, or a slow reader that was not let go.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Lull, memory, systemClock } from "lull";
import { postgres } from "lull/postgres";
import { sqlite } from "lull/sqlite";
import { readArgs } from "../args.mjs";
import { postgresMissing, startPostgres } from "../servers/postgres.mjs";

const text = /** @type {const} */ ({ type: "string" });
const values = readArgs(import.meta.url, {
  conversations: text,
  store: text,
  rounds: text,
  streams: text,
  rate: text,
  seconds: text,
  slow: text,
  only: text,
});
const many = Number(values.conversations ?? 1_000_000);
const stores = (values.store ?? "sqlite,postgres").split(",");
const rounds = Number(values.rounds ?? 15);
const streams = Number(values.streams ?? 1_000);
const rate = Number(values.rate ?? 200);
const seconds = Number(values.seconds ?? 180);
const slow = Number(values.slow ?? 5);

const built = (/** @type {string} */ path) => new URL(`../../packages/lull-server/dist/${path}`, import.meta.url);
/** @type {typeof import("../../packages/lull-server/src/driver.ts")} */
const { sqliteDriver } = await import(built("driver.js").href);
const driver = await sqliteDriver();
const bin = fileURLToPath(built("cli/bin.js"));
const folder = mkdtempSync(join(tmpdir(), "lull-inspector-"));
let failed = false;

// ---------------------------------------------------------------------------------------------
// A server

/** @param {Record<string, string>} settings */
async function serve(settings) {
  const child = spawn(process.execPath, [bin, "serve"], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      LULL_PORT: "0",
      LULL_LOG_LEVEL: "error",
      // What is in the store is to be looked at, not to be worked off.
      LULL_RESPOND: "none",
      LULL_MAX_REQUESTS_PER_MINUTE: "1000000",
      LULL_MAX_REQUESTS_AT_ONCE: "10000",
      LULL_MAX_CONNECTIONS: "10000",
      ...settings,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let told = "";
  /** @type {string} */
  const url = await new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    child.stdout.on("data", (chunk) => {
      told += chunk;
      const address = /listening on (http:\S+)/.exec(told)?.[1];
      if (address !== undefined) resolve(address);
    });
  });
  return {
    url,
    residentMb: () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? 0) / 1_024,
    async end() {
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
}

// ---------------------------------------------------------------------------------------------
// Lists

/** @typedef {{ state: string, record: string, seq: number, revision: string, parked: number, handedOff: number, wakeAtMs: number | null, entry: string }} Template */

/**
 * A conversation in each state, as the engine writes them, at a time that is so far off.
 * @param {number} shiftMs @returns {Promise<Record<string, Template>>}
 */
async function templates(shiftMs) {
  const now = () => Date.now() + shiftMs;
  const never = new Promise(() => {});
  const store = memory({ now });
  const lull = new Lull({
    store,
    clock: { ...systemClock(), now },
    debounce: { quietMs: 3_600_000, startMs: 3_600_000, maxWaitMs: 3_600_000 },
    limits: { maxFailures: 1 },
    async respond({ text }) {
      if (text === "parked") throw new Error("away");
      return text === "answering" ? /** @type {any} */ (never) : "ok";
    },
    deliver: (_part, { conversation }) => (conversation === "delivering" ? /** @type {any} */ (never) : undefined),
  });
  await lull.start();
  for (const state of ["waiting", "answering", "delivering", "parked", "handed-off", "resting"]) {
    if (state === "handed-off") await lull.handoff(state);
    const more = state === "waiting" || state === "handed-off" ? {} : { quietMs: 0 };
    await lull.receive(state, { id: "m1", text: state, author: "AUTHOR", address: { chat: 123_456_789 }, ...more });
  }
  await sleep(1_000);
  /** @type {Record<string, Template>} */
  const made = {};
  for (const { id, state, record, wakeAtMs } of (await lull.list()).conversations) {
    if (id !== state) throw new Error(`the conversation that was to be ${id} is ${state}`);
    const entry = (await lull.log(id)).find(({ kind }) => kind === "message");
    made[state] = {
      state,
      record: JSON.stringify({ ...record, id: "ID" }),
      seq: record.seq,
      revision: record.revision,
      parked: record.parked === null ? 0 : 1,
      handedOff: record.handoff === null ? 0 : 1,
      wakeAtMs,
      entry: JSON.stringify({ ...entry, seq: 1 }),
    };
  }
  return made;
}

/** Which template the conversation with the number `n` is made from: SQL for both databases. */
const choice = `case when n % 10000 = 0 then 'overdue' when n % 1000 < 8 then 'waiting' when n % 1000 < 10 then 'answering'
  when n % 1000 = 10 then 'delivering' when n % 1000 = 11 then 'parked' when n % 1000 = 12 then 'handed-off' else 'resting' end`;
const fourYears = 4 * 365 * 86_400_000;

/** @returns {Promise<Template[]>} */
async function kinds() {
  const [later, before] = [await templates(fourYears), await templates(-86_400_000)];
  const overdue = before.waiting;
  if (overdue === undefined) throw new Error("nobody waits");
  return [...Object.values(later), { ...overdue, state: "overdue" }];
}

/** @type {Record<string, () => Promise<{ url: string, end: () => Promise<void> } | string>>} */
const places = {
  async sqlite() {
    const path = join(folder, "lists.db");
    const db = driver.open(path);
    await sqlite(db).stats();
    db.exec(`pragma synchronous = off;
      create temp table kind (state text primary key, record text, seq int, revision text, parked int, handed_off int, wake_at_ms int, entry text)`);
    const insert = db.prepare(
      "insert into kind values (:state, :record, :seq, :revision, :parked, :handedOff, :wakeAtMs, :entry)",
    );
    for (const kind of await kinds()) insert.run({ ...kind });
    db.exec(`begin;
      create temp table made as
        with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${many})
        select n, printf('c%08d', n) as id, ${choice} as state from numbers;
      insert into lull_record (id, revision, seq, parked, handed_off, record)
        select id, revision, seq, parked, handed_off, replace(record, '"ID"', '"' || id || '"') from made join kind using (state) order by n;
      insert into lull_log (conversation, seq, at_ms, entry)
        select id, 1, 0, replace(entry, 'AUTHOR', 'a' || n % 1000) from made join kind using (state) order by n;
      insert into lull_timer (conversation, wake_at_ms, revision)
        select id, wake_at_ms, revision from made join kind using (state) where wake_at_ms is not null order by n;
      commit`);
    db.close?.();
    return { url: `sqlite:${path}`, end: async () => {} };
  },
  async postgres() {
    const missing = postgresMissing();
    if (missing !== null) return missing;
    const server = await startPostgres({ settings: { fsync: "off" } });
    const { default: pg } = await import("pg");
    const pool = new pg.Pool({ connectionString: server.url });
    await postgres(pool).stats();
    await pool.end();
    const quoted = (/** @type {string} */ value) => `'${value.replaceAll("'", "''")}'`;
    const rows = (await kinds()).map(
      ({ state, record, seq, revision, parked, handedOff, wakeAtMs, entry }) =>
        `(${quoted(state)}, ${quoted(record)}, ${seq}, ${quoted(revision)}, ${parked + 2 * handedOff}, ${wakeAtMs}::bigint, ${quoted(entry)})`,
    );
    await server.run(`
      create temp table kind (state text primary key, record text, seq bigint, revision text, status smallint, wake_at_ms bigint, entry text);
      insert into kind values ${rows.join()};
      create temp table made as select n, 'c' || lpad(n::text, 8, '0') as id, ${choice} as state from generate_series(1, ${many}) n;
      insert into lull.lull_record (id, revision, seq, status, record)
        select id, revision, seq, status, replace(record, '"ID"', '"' || id || '"') from made join kind using (state) order by n;
      insert into lull.lull_log (conversation, seq, at_ms, entry)
        select id, 1, 0, replace(entry, 'AUTHOR', 'a' || n % 1000) from made join kind using (state) order by n;
      insert into lull.lull_timer (conversation, wake_at_ms, revision)
        select id, wake_at_ms, revision from made join kind using (state) where wake_at_ms is not null order by n;
      analyze lull.lull_record; analyze lull.lull_log; analyze lull.lull_timer`);
    return { url: server.url, end: server.end };
  },
};

/** @param {string} name */
async function lists(name) {
  const make = places[name];
  if (make === undefined) throw new Error(`--store is some of ${Object.keys(places).join(", ")}; got ${name}.`);
  const began = performance.now();
  const place = await make();
  if (typeof place === "string") {
    console.log(`${name}: left out, ${place}`);
    return;
  }
  const server = await serve({ LULL_STORE: place.url });
  try {
    console.log(
      `${name}: ${many.toLocaleString("en")} conversations, made in ${Math.round((performance.now() - began) / 1e3)} s; load ${loadavg()[0]?.toFixed(1)}`,
    );
    const middle = `c${String(Math.floor(many / 2)).padStart(8, "0")}`;
    const states = ["waiting", "answering", "delivering", "parked", "handed-off", "overdue", "resting"];
    const queries = [
      "",
      `after=${middle}`,
      `prefix=${middle.slice(0, 7)}`,
      "active=true",
      ...states.map((state) => `state=${state}`),
      `state=answering&after=${middle}`,
      `state=overdue&after=${middle}`,
      "author=a7",
      "author=nobody",
      "prefix=nobody",
    ];
    let worst = 0;
    for (const query of queries) {
      /** @type {number[]} */
      const times = [];
      let told = "";
      for (let round = 0; round < rounds; round += 1) {
        const start = performance.now();
        const response = await fetch(`${server.url}/v1/conversations?${query}`);
        /** @type {any} */
        const page = await response.json();
        times.push(performance.now() - start);
        if (response.status !== 200) throw new Error(`${query}: ${JSON.stringify(page)}`);
        told = `${page.conversations.length} found${page.scanned === undefined ? "" : `, ${page.scanned} looked at`}${page.next === null ? "" : ", goes on"}`;
      }
      times.sort((a, b) => a - b);
      const [p50 = 0, most = 0] = [times[times.length >> 1], times.at(-1)];
      worst = Math.max(worst, p50);
      console.log(
        `  ${(query || "(first page)").padEnd(34)} p50 ${p50.toFixed(1).padStart(6)} ms, longest ${most.toFixed(1).padStart(6)} ms  ${told}`,
      );
    }
    console.log(`  the slowest filter: ${worst.toFixed(1)} ms, ${worst <= 200 ? "within" : "BEYOND"} 200 ms`);
  } finally {
    await server.end();
    await place.end();
  }
}

// ---------------------------------------------------------------------------------------------
// Streams

/** @typedef {{ id: string, last: number, gaps: number, twice: number, cuts: number, response: http.IncomingMessage | null, ended: boolean }} Reader */

/** Reads a conversation's stream, again and again, from where it was. @param {string} url @param {Reader} reader */
function read(url, reader) {
  const headers = { "last-event-id": String(reader.last) };
  const request = http.get(`${url}/v1/conversations/${reader.id}/events`, { headers, agent: false }, (response) => {
    reader.response = response;
    response.setEncoding("utf8");
    let rest = "";
    response.on("data", (/** @type {string} */ chunk) => {
      rest += chunk;
      for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
        const frame = rest.slice(0, end);
        rest = rest.slice(end + 2);
        const seq = Number(/^id: (\d+)$/m.exec(frame)?.[1] ?? -1);
        // An id without data says where the stream begins.
        if (seq < 0 || !frame.includes("\ndata: ")) continue;
        if (seq <= reader.last) reader.twice += 1;
        else if (seq > reader.last + 1) reader.gaps += 1;
        reader.last = Math.max(reader.last, seq);
      }
    });
    response.on("close", () => {
      reader.response = null;
      if (reader.ended) return;
      reader.cuts += 1;
      setTimeout(() => read(url, reader), 1_000);
    });
  });
  request.on("error", () => {
    if (!reader.ended) setTimeout(() => read(url, reader), 1_000);
  });
}

async function watched() {
  const server = await serve({
    // On disk, so that what the process grows by is the streams and not the messages.
    LULL_STORE: `sqlite:${join(folder, "streams.db")}`,
    LULL_MAX_STREAMS: String(streams + 100),
    LULL_MAX_PENDING: "100000",
    LULL_HISTORY_DAYS: "1",
  });
  const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
  const sent = new Map();
  let count = 0;
  /** @param {{ conversation: string, id: string, text: string }[]} messages */
  const post = (messages) => {
    const body = JSON.stringify(messages);
    return new Promise((resolve, reject) => {
      const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
      const request = http.request(`${server.url}/v1/messages`, { method: "POST", agent, headers }, (response) => {
        response.resume();
        response.on("end", () => {
          if (response.statusCode !== 202) reject(new Error(`a message was answered ${response.statusCode}`));
          for (const { conversation: id } of messages) sent.set(id, (sent.get(id) ?? 0) + 1);
          resolve(undefined);
        });
      });
      request.on("error", reject);
      request.end(body);
    });
  };
  const send = () => {
    count += 1;
    return post([
      { conversation: `c${count % (streams - slow)}`, id: `m${count}`, text: "a message of usual length, say" },
    ]);
  };
  /** More than connections hold back: 16 MB. @param {string} conversation */
  const flood = async (conversation) => {
    const text = "x".repeat(8_000);
    for (let n = 0; n < 2_000; n += 100)
      await post(Array.from({ length: 100 }, (_, k) => ({ conversation, id: `l${n + k}`, text })));
  };
  /** Messages at the rate for so long; what cannot be sent in time is sent late. @param {number} ms */
  const load = async (ms) => {
    const began = performance.now();
    /** @type {Promise<unknown>[]} */
    const under = [];
    for (let n = 0; performance.now() - began < ms; n += 1) {
      const early = began + (n * 1e3) / rate - performance.now();
      if (early > 1) await sleep(early);
      under.push(send());
      if (under.length >= 500) await Promise.all(under.splice(0));
    }
    await Promise.all(under);
  };

  console.log(
    `streams: ${streams} open, ${slow} of them slow, ${rate} messages/s for ${seconds} s; load ${loadavg()[0]?.toFixed(1)}`,
  );
  // The same as later, for nobody's eyes: what the process grows by is then the streams.
  for (let n = 0; n < slow; n += 1) await flood(`unread ${n}`);
  await load(Math.min(20, seconds / 3) * 1e3);
  const before = server.residentMb();
  /** @type {Reader[]} */
  const readers = Array.from({ length: streams }, (_, n) => ({
    id: n < slow ? `slow ${n}` : `c${n - slow}`,
    last: 0,
    gaps: 0,
    twice: 0,
    cuts: 0,
    response: null,
    ended: false,
  }));
  for (const [n, reader] of readers.entries()) {
    read(server.url, reader);
    if (n % 50 === 49) await sleep(20);
  }
  await sleep(1_000);
  const opened = server.residentMb();
  for (const reader of readers.slice(0, slow)) {
    reader.response?.pause();
    await flood(reader.id);
  }
  const first = count;
  const began = performance.now();
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, server.residentMb());
  }, 1_000);
  const half = (seconds * 1e3) / 2;
  await load(half);
  const during = server.residentMb();
  await load(half);
  const reached = (count - first) / ((performance.now() - began) / 1e3);
  // Who was let go finds out by reading on, and comes back.
  for (const reader of readers.slice(0, slow)) reader.response?.resume();
  const behind = () => readers.filter(({ id, last }) => last < (sent.get(id) ?? 0)).length;
  for (let tries = 0; tries < 60 && behind() > 0; tries += 1) await sleep(500);
  clearInterval(watch);
  const after = server.residentMb();
  for (const reader of readers) {
    reader.ended = true;
    reader.response?.destroy();
  }
  const sum = (/** @type {"gaps" | "twice" | "cuts"} */ name, /** @type {Reader[]} */ of) =>
    of.reduce((all, reader) => all + reader[name], 0);
  const [gaps, twice, late] = [sum("gaps", readers), sum("twice", readers), behind()];
  const dropped = readers.slice(0, slow).filter(({ cuts }) => cuts > 0).length;
  const mb = (/** @type {number} */ value) => `${value.toFixed(0)} MB`;
  console.log(
    `  ${reached.toFixed(0)} messages/s; ${gaps} gaps, ${twice} numbers twice, ${late} streams behind in the end, ${sum("cuts", readers.slice(slow))} others cut off`,
  );
  console.log(
    `  resident: ${mb(before)} under the load alone, ${mb(opened)} with streams, ${mb(during)} half-way, ${mb(after)} in the end (most ${mb(most)}): ${mb(after - before)} more, ${after - before <= 60 ? "within" : "BEYOND"} 60 MB`,
  );
  if (slow > 0 && seconds < 120)
    console.log("  slow readers are let go after a minute: they need --seconds 120 or more");
  else if (slow > 0)
    console.log(`  slow readers: ${dropped} of ${slow} let go, all resumed without a gap: ${gaps === 0}`);
  failed ||= gaps > 0 || twice > 0 || late > 0 || (seconds >= 120 && dropped < slow);
  agent.destroy();
  await server.end();
}

// ---------------------------------------------------------------------------------------------

try {
  if (values.only !== "streams") for (const name of stores) await lists(name);
  if (values.only !== "lists") await watched();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);
