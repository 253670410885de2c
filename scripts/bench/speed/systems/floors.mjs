// What each store can do at all: the fewest writes that keep a message, its version and a timer, and nothing else. A timer
// in the process fires, a claim takes the messages; no lease, no fence, no discard, no outbox, no duplicates seen.
import { join } from "node:path";

/** Not in the types of the oldest Node that lull runs on. */
const nodeSqlite = /** @type {string} */ ("node:sqlite");

/** @param {import("./index.mjs").World} world @param {string} name @returns {Promise<import("./index.mjs").Running>} */
export async function create(world, name) {
  const { put, take, close } = await placeOf(name, world);
  /** @type {Map<string, NodeJS.Timeout>} */
  const timers = new Map();
  /** @param {string} conversation */
  function arm(conversation) {
    clearTimeout(timers.get(conversation));
    timers.set(
      conversation,
      setTimeout(async () => {
        timers.delete(conversation);
        const ids = await take(conversation);
        if (ids.length > 0) await world.handler(conversation, ids);
      }, world.windowMs),
    );
  }
  return {
    async accept(conversation, id) {
      await put(conversation, id);
      arm(conversation);
    },
    async stop() {
      for (const timer of timers.values()) clearTimeout(timer);
      await close();
    },
  };
}

/**
 * @param {string} name
 * @param {import("./index.mjs").World} world
 * @returns {Promise<{ put(conversation: string, id: string): Promise<unknown>, take(conversation: string): Promise<string[]>, close(): Promise<unknown> }>}
 */
async function placeOf(name, { url, folder, windowMs }) {
  if (name === "floor redis") {
    const { Redis } = await import("ioredis");
    const client = new Redis(url);
    const put = await client.script(
      "LOAD",
      "local v = redis.call('INCR', KEYS[1]); redis.call('RPUSH', KEYS[2], ARGV[1]); redis.call('ZADD', KEYS[3], ARGV[2], ARGV[3]); return v",
    );
    const take = await client.script(
      "LOAD",
      "local m = redis.call('LRANGE', KEYS[1], 0, -1); redis.call('DEL', KEYS[1]); redis.call('ZREM', KEYS[2], ARGV[1]); return m",
    );
    return {
      put: (conversation, id) =>
        client.evalsha(
          String(put),
          3,
          `v:${conversation}`,
          `m:${conversation}`,
          "due",
          `message ${id}\n${id}`,
          Date.now() + windowMs,
          conversation,
        ),
      take: async (conversation) => {
        const found = /** @type {string[]} */ (
          await client.evalsha(String(take), 2, `m:${conversation}`, "due", conversation)
        );
        return found.map((text) => text.split("\n")[1] ?? "");
      },
      close: () => client.quit(),
    };
  }
  if (name === "floor postgres") {
    const { default: pg } = await import("pg");
    const pool = new pg.Pool({ connectionString: url, max: 20 });
    await pool.query(`create table conversation (id text primary key, version bigint not null);
      create table message (conversation text, version bigint, id text, body text, primary key (conversation, version));
      create table timer (conversation text primary key, at timestamptz not null); create index on timer (at)`);
    const put = `with c as (insert into conversation values ($1, 1) on conflict (id) do update set version = conversation.version + 1 returning version),
      m as (insert into message select $1, version, $2, $3 from c)
      insert into timer values ($1, now() + $4 * interval '1 ms') on conflict (conversation) do update set at = excluded.at`;
    const take =
      "with t as (delete from timer where conversation = $1) delete from message where conversation = $1 returning version, id";
    return {
      put: (conversation, id) =>
        pool.query({ name: "put", text: put, values: [conversation, id, `message ${id}`, windowMs] }),
      take: async (conversation) => {
        const { rows } = await pool.query({ name: "take", text: take, values: [conversation] });
        return rows.sort((a, b) => Number(a.version) - Number(b.version)).map(({ id }) => id);
      },
      close: () => pool.end(),
    };
  }
  const { DatabaseSync } = await import(nodeSqlite);
  const db = new DatabaseSync(join(folder, "floor.db"));
  db.exec(`pragma journal_mode = wal; pragma synchronous = full;
    create table conversation (id text primary key, version integer not null) without rowid;
    create table message (conversation text, version integer, id text, body text, primary key (conversation, version)) without rowid;
    create table timer (conversation text primary key, at integer not null) without rowid; create index timer_at on timer (at)`);
  const bump = db.prepare(
    "insert into conversation values (?, 1) on conflict (id) do update set version = version + 1 returning version",
  );
  const add = db.prepare("insert into message values (?, ?, ?, ?)");
  const arm = db.prepare("insert into timer values (?, ?) on conflict (conversation) do update set at = excluded.at");
  const read = db.prepare("select id from message where conversation = ? order by version");
  const drop = db.prepare("delete from message where conversation = ?");
  const disarm = db.prepare("delete from timer where conversation = ?");
  /** @type {{ work: () => unknown, done: (value: any) => void }[]} */
  let queue = [];
  /** One commit per turn of the event loop. @template T @param {() => T} work @returns {Promise<T>} */
  const commit = (work) =>
    new Promise((done) => {
      if (queue.push({ work, done }) > 1) return;
      setImmediate(() => {
        const batch = queue;
        queue = [];
        db.exec("begin immediate");
        const values = batch.map((each) => each.work());
        db.exec("commit");
        for (const [index, each] of batch.entries()) each.done(values[index]);
      });
    });
  return {
    put: (conversation, id) =>
      commit(() => {
        const row = /** @type {{ version: number }} */ (bump.get(conversation));
        add.run(conversation, row.version, id, `message ${id}`);
        arm.run(conversation, Date.now() + windowMs);
      }),
    take: (conversation) =>
      commit(() => {
        const ids = read.all(conversation).map((/** @type {{ id: unknown }} */ row) => String(row.id));
        drop.run(conversation);
        disarm.run(conversation);
        return ids;
      }),
    close: async () => db.close(),
  };
}
