/**
 * The store for many machines that keeps everything in memory: Redis 7.0 or newer, or Valkey; single, with Sentinel, or a
 * Cluster.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { LullError } from "../../errors.ts";
import type { ConversationId, ConversationRecord } from "../../model.ts";
import type { Clock, DueTimer, Durability, ListFilter, Pause, Store } from "../../ports.ts";
import { decodeRecord } from "../codec.ts";
import { watch } from "../watch.ts";
import { checkId, checkList, checkPause, checkRewrite, checkWrite, logBounds, pageSize } from "../write.ts";
import { calls } from "./calls.ts";
import { confirm } from "./confirm.ts";
import { driverOf, type RedisClient } from "./driver.ts";
import { type Answer, answerOf, encodeWrite, entriesOf, outcomeOf, recordOf, splitRecord } from "./exchange.ts";
import { isReadOnly } from "./faults.ts";
import { hints } from "./hints.ts";
import { keysWith, usualShards } from "./keys.ts";
import { ledger } from "./ledger.ts";
import { type Opened, openShards, type RedisWarning } from "./open.ts";
import { runScript, type ScriptName } from "./scripts.ts";
import { eraseConversation, type Peeked, pruneLogs, pruneSeen, repairIds, rewriteLog } from "./upkeep.ts";
import { compareIds, firstIds, soonest, type Timer, walkedSet } from "./walk.ts";

export type {
  IoRedis,
  IoRedisCluster,
  NodeRedis,
  NodeRedisCluster,
  NodeRedisSentinel,
  RedisClient,
} from "./driver.ts";
export type { RedisWarning } from "./open.ts";

export interface RedisOptions {
  /** Every key begins with it. Two stores on one server have two prefixes. Default "lull". */
  prefix?: string;
  /**
   * Into how many parts the keys are divided; a cluster moves whole parts. Fixed when the store is made: a store that
   * has another number is refused. Default 64.
   */
  shards?: number;
  /**
   * A write counts only once so many replicas have it; one that does not get there in time is a retryable error, so that
   * the platform sends its message again. Default 0: the primary alone.
   */
  waitReplicas?: number;
  /** How long replicas are waited for. Default 1 000. */
  waitMs?: number;
  /** With `waitReplicas`: connections (to each node) on which that is waited for. Default 8. */
  waitConnections?: number;
  /** Every call ends within this time, whatever the connection does. Default 10 000. */
  timeLimitMs?: number;
  /**
   * True: other processes hear within some 50 ms that a conversation changed, on a connection of its own. Default false:
   * they learn of it when they renew their lease.
   */
  hints?: boolean;
  /** True: a server that evicts keys when it is full is warned of, not refused. Default false. */
  allowEviction?: boolean;
  /**
   * When the server came back without its data. `refuse`: every call fails until the data is restored. `begin-anew`: lull
   * goes on with what is there, and warns. Default "auto": begin anew where nothing was promised to be kept
   * (durability class `memory`), else refuse.
   */
  afterLoss?: "auto" | "refuse" | "begin-anew";
  /** Hears what somebody should know of; see {@link RedisWarning}. Default: a warning of the process, on stderr. */
  onWarning?: (warning: RedisWarning) => void;
  /** Hears, once per conversation, of records that `due`, `list`, `repair` and `prune` skip. */
  onDamage?: (error: LullError) => void;
  /** Default "redis". */
  name?: string;
  /** True: `store.close()` closes the client too. Default false: who made it closes it. */
  closeClient?: boolean;
  /** The store's clock in place of the server's, for tests. */
  now?: () => number;
  /** For time limits and pauses. Default: the machine's. */
  clock?: Clock;
}

/** What a store's own reports of damage remember, so that each conversation is named once. */
const maxReported = 10_000;
/** Ids that one call of a list looks at. */
const listBudget = 5_000;
/** Records fetched by one call. */
const peekedTogether = 200;
/** Time limits that an opening may take, at most, before its connection is given up. */
const mostPatience = 4;
/** A connection is replaced at most this often. */
const reconnectMs = 1_000;
/** A store that is refused is looked at again after so long. */
const refusedMs = 1_000;

const unknown: Durability = {
  class: "bounded",
  note: "Not known before the first call: it depends on the server's settings.",
};

/**
 * Takes a client that stays yours: of node-redis (`createClient`, `createCluster`, `createSentinel`) or of ioredis
 * (`Redis`, `Cluster`). The store is made at first use. Each exchange is one call of one script.
 *
 * @example
 * import { createClient } from "redis";
 * import { redis } from "lull/redis";
 *
 * const client = createClient({ url: process.env.REDIS_URL, socket: { socketTimeout: 15_000 }, pingInterval: 5_000 });
 * const store = redis(client, { waitReplicas: 1 });
 *
 * @throws LullError `invalid-options` when `client` is none of these, or an option cannot be
 */
export function redis(client: RedisClient, options: RedisOptions = {}): Store {
  const { timeLimitMs = 10_000, waitReplicas = 0, waitMs = 1_000, waitConnections = 8 } = options;
  const keys = keysWith(options.prefix ?? "lull", options.shards ?? usualShards);
  for (const [name, value, least] of [
    ["waitReplicas", waitReplicas, 0],
    ["waitMs", waitMs, 1],
    ["waitConnections", waitConnections, 1],
    ["timeLimitMs", timeLimitMs, 1],
  ] as const) {
    if (Number.isInteger(value) && value >= least) continue;
    throw new LullError("invalid-options", `${name} must be a whole number from ${least} on; got ${value}.`);
  }
  const driver = driverOf(client);
  const clock = options.clock ?? systemClock({ unref: true });
  const limits = watch(clock);
  const trips = calls(timeLimitMs, limits);
  const counted = ledger(clock.random);
  const confirmed =
    waitReplicas === 0
      ? null
      : confirm({
          driver,
          clock,
          replicas: waitReplicas,
          waitMs,
          connections: waitConnections,
          limitMs: Math.max(timeLimitMs, waitMs + 1_000),
        });
  const touch = confirmed === null ? "0" : "1";
  const hinting = options.hints ? hints(driver, keys, clock) : null;
  const everyShard = Array.from({ length: keys.shards }, (_, shard) => shard);
  const reported = new Set<ConversationId>();
  let durability = unknown;
  /** The identity that this process has worked with. */
  let known: string | null = null;
  let opening: Promise<Opened> | null = null;
  /** Time limits that the next opening may take. */
  let patience = 1;
  let refused: { error: unknown; atMs: number } | null = null;
  let reconnectedAtMs = Number.NEGATIVE_INFINITY;
  /** Something came back. */
  let answeredAtMs = Number.NEGATIVE_INFINITY;
  let closing: Promise<void> | null = null;

  function open(): void {
    if (closing) throw new LullError("store-closed", "The store was closed.");
  }

  function warn(warning: RedisWarning): void {
    if (options.onWarning) options.onWarning(warning);
    else process.emitWarning(`lull/redis: ${warning.message}`, { code: `LULL_REDIS_${warning.code.toUpperCase()}` });
  }

  /** "": the server's own clock. */
  function clockText(): string {
    return options.now ? String(options.now()) : "";
  }

  async function ready(): Promise<string> {
    if (opening === null) {
      if (refused !== null && clock.monotonic() - refused.atMs < refusedMs) throw refused.error;
      opening = openShards(
        {
          driver,
          keys,
          waitReplicas,
          allowEviction: options.allowEviction ?? false,
          afterLoss: options.afterLoss ?? "auto",
          write: (name, own, args) =>
            confirmed === null
              ? runOn(name, own, () => args)
              : confirmed.call(name, own, () => args, new AbortController().signal),
          id: clock.id,
          warn,
        },
        known,
      );
      const mine = opening;
      // A client that connects while the network is silent may wait for the greeting for ever, and all calls behind it. One
      // that is only slow gets there the next time, or the one after.
      const limit = limits.add(Math.floor(timeLimitMs * 0.9 * patience), () => {
        if (opening !== mine) return;
        opening = null;
        patience = Math.min(2 * patience, mostPatience);
        connectAnew("");
      });
      mine
        .then(
          (opened) => {
            durability = opened.durability;
            known = opened.identity;
            patience = 1;
          },
          (error: unknown) => {
            if (opening === mine) opening = null; // A later call tries again.
            if (LullError.isInstance(error)) refused = { error, atMs: clock.monotonic() };
          },
        )
        .finally(() => limits.remove(limit));
    }
    return (await opening).identity;
  }

  /** Calls with the store's identity; once more after "lost", when lull goes on all the same. */
  async function knowing<T>(call: (identity: string) => Promise<T | "lost">): Promise<T> {
    for (let tries = 0; tries < 3; tries++) {
      const identity = await ready();
      const reply = await call(identity);
      if (reply !== "lost") return reply;
      if (known !== identity) continue;
      opening = null;
      for (const shard of everyShard) counted.forget(shard);
    }
    throw new LullError("store-unavailable", "The store is being made anew at this moment.");
  }

  /** For connections that lead nowhere, or to the wrong server. */
  function connectAnew(key: string): void {
    if (driver.reconnect === undefined || clock.monotonic() - reconnectedAtMs < reconnectMs) return;
    reconnectedAtMs = clock.monotonic();
    driver.reconnect(key);
  }

  function refusal(error: unknown, key: string): unknown {
    // An address may lead to another server by now; the client holds on to the old one.
    if (isReadOnly(error)) connectAnew(key);
    return error;
  }

  async function send(key: string, command: readonly string[]): Promise<unknown> {
    const sentAtMs = clock.monotonic();
    // In time for whoever tries again after the time limit. In a cluster, others' answers came from other nodes.
    const limit = limits.add(Math.floor(timeLimitMs * 0.9), () => {
      if (driver.cluster || answeredAtMs < sentAtMs) connectAnew(key);
    });
    try {
      const reply = await driver.call(key, command);
      answeredAtMs = clock.monotonic();
      return reply;
    } catch (error) {
      throw refusal(error, key);
    } finally {
      limits.remove(limit);
    }
  }

  const command = (key: string, parts: readonly string[]) => trips.run(() => ready().then(() => send(key, parts)));

  const runOn = (name: ScriptName, scriptKeys: readonly string[], args: () => readonly string[]) =>
    runScript(name, scriptKeys, args, (parts) => send(scriptKeys[0] ?? "", parts));

  const run = (name: ScriptName, scriptKeys: readonly string[], args: readonly string[]) =>
    trips.run(async (over) => {
      await ready();
      // What was promised to be gone must not come back with a failover.
      const promised = name === "erase" || name === "rewrite";
      if (confirmed !== null && promised) return confirmed.call(name, scriptKeys, () => args, over.signal);
      return runOn(name, scriptKeys, () => args);
    });

  /** Tells of writes that are gone. */
  function notice(mark: ReturnType<typeof counted.before>, count: number, wrote: boolean): void {
    const gone = counted.after(mark, count, wrote);
    if (gone === 0) return;
    const message =
      `At least ${gone} acknowledged write${gone === 1 ? " is" : "s are"} missing in shard ${mark.shard}: the server failed ` +
      "over to a replica that lacked them, or was restored (or one that was replaced still answers). Inputs in them are " +
      "lost unless their senders repeat them.";
    warn({ code: "older", message, details: { shard: mark.shard, writes: gone } });
  }

  /** A script about one conversation. `args` come after identity, bucket and clock. */
  function ask(
    name: "load" | "exchange" | "log",
    shard: number,
    scriptKeys: readonly string[],
    args: (waitedMs: number) => readonly string[],
  ): Promise<Answer> {
    return trips.run((over) =>
      knowing(async (identity) => {
        const mark = counted.before(shard);
        const all = (waitedMs: number) => [identity, counted.bucket, clockText(), ...args(waitedMs)];
        const reply =
          confirmed === null || name === "log"
            ? await runOn(name, scriptKeys, () => all(0))
            : await confirmed.call(name, scriptKeys, all, over.signal);
        const answer = answerOf(reply);
        if (answer.kind === "lost") return "lost";
        notice(mark, answer.count, answer.kind === "stored" && answer.text === "");
        return answer;
      }),
    );
  }

  /** Null, and a report, for what this release cannot read: other conversations must not wait for it. */
  function readable(id: ConversationId, text: string): ConversationRecord | null {
    try {
      if (text !== "") return decodeRecord(id, text);
      throw new LullError("store-damaged", `Conversation ${JSON.stringify(id)} has a timer but no record.`, {
        details: { conversation: id },
      });
    } catch (error) {
      if (!LullError.isInstance(error)) throw error;
      if (reported.size >= maxReported) reported.clear();
      if (!reported.has(id)) options.onDamage?.(error);
      reported.add(id);
      return null;
    }
  }

  /** Timers and stored records, each conversation's as of one moment. */
  async function peek(ids: readonly ConversationId[]): Promise<Peeked[]> {
    const groups = new Map<number, ConversationId[]>();
    for (const id of ids) {
      const group = driver.cluster ? keys.of(id).shard : 0;
      groups.set(group, [...(groups.get(group) ?? []), id]);
    }
    const found = new Map<ConversationId, Peeked>();
    const pieces = [...groups.values()].flatMap((all) =>
      Array.from({ length: Math.ceil(all.length / peekedTogether) }, (_, piece) =>
        all.slice(piece * peekedTogether, (piece + 1) * peekedTogether),
      ),
    );
    await Promise.all(
      pieces.map(async (piece) => {
        const own = piece.flatMap((id) => [keys.shard(keys.of(id).shard).due, keys.of(id).record]);
        const reply = (await run("peek", own, piece)) as string[];
        piece.forEach((id, index) => {
          found.set(id, { id, wakeAt: reply[2 * index] ?? "", stored: reply[2 * index + 1] ?? "" });
        });
      }),
    );
    return ids.map((id) => found.get(id) as Peeked);
  }

  /** Outside a cluster one call reaches all shards. */
  function together<T>(shards: readonly T[]): (readonly T[])[] {
    return driver.cluster ? shards.map((shard) => [shard]) : [shards];
  }

  /** What is due, shard by shard. A node of a cluster that is away must not hide what is due elsewhere. */
  async function dueIn(
    wanted: readonly { shard: number; skip: number }[],
    untilMs: number,
    most: number,
  ): Promise<{ timers: Map<number, Timer[]>; paused: Pause | null; nowMs: number }> {
    const timers = new Map<number, Timer[]>();
    /** Every shard has it, so that one that is away does not hide it. */
    const pauses: { shard: number; text: string }[] = [];
    let nowMs: number | null = null;
    // Each call looks closely at its first shard, so another one is the first each time.
    const start = Math.floor(clock.random() * wanted.length);
    const answers = await Promise.allSettled(
      together([...wanted.slice(start), ...wanted.slice(0, start)]).map((some) =>
        trips.run(() =>
          knowing(async (identity) => {
            const [first = { shard: 0 }] = some;
            const mark = counted.before(first.shard);
            const own = [keys.shard(first.shard).meta, ...some.map(({ shard }) => keys.shard(shard).due)];
            const skips = some.map(({ skip }) => String(skip));
            const args = [identity, counted.bucket, clockText(), String(untilMs), String(most), ...skips];
            const reply = (await runOn("due", own, () => args)) as [string, string, number, string, ...DuePart[]];
            const [kind, now, count, pause, ...parts] = reply;
            if (kind === "lost") return "lost";
            notice(mark, Number(count), false);
            pauses.push({ shard: first.shard, text: pause });
            nowMs = Number(now);
            for (const { shard } of some) timers.set(shard, []);
            for (const [place, ...rest] of parts) timers.set(some[Number(place)]?.shard ?? 0, timersOf(rest));
            return null;
          }),
        ),
      ),
    );
    if (nowMs === null) throw answers.find((answer) => answer.status === "rejected")?.reason;
    // Being set or lifted at this moment, it may differ from shard to shard; then the lowest one says.
    const [pause] = pauses.sort((a, b) => a.shard - b.shard);
    return { timers, paused: pause?.text ? (JSON.parse(pause.text) as Pause) : null, nowMs };
  }

  /** Ids of all shards that pass a filter, in their order. */
  function idsBehind(after: ConversationId, most: number, filter: ListFilter): Promise<ConversationId[]> {
    const { prefix = "" } = filter;
    const start = after !== "" && compareIds(after, prefix) >= 0 ? after : "";
    return firstIds(
      async (shard, from, limit) => {
        const { active, parked, handed } = keys.shard(shard);
        const flags = [filter.active, filter.parked, filter.handedOff].map(bit);
        const args = [from, prefix, ...flags, String(limit), String(listBudget)];
        const reply = await run("list", [walkedSet(keys, shard, filter), active, parked, handed], args);
        const [more = "", ...ids] = reply as string[];
        return { ids, more };
      },
      keys.shards,
      start,
      most,
    );
  }

  /** The store's clock. */
  async function now(): Promise<number> {
    return options.now?.() ?? (await dueIn([{ shard: 0, skip: 0 }], 0, 1)).nowMs;
  }

  return {
    name: options.name ?? "redis",

    get durability() {
      return durability;
    },

    async load(id, { logFrom } = {}) {
      open();
      checkId(id);
      const own = keys.of(id);
      const { meta } = keys.shard(own.shard);
      const from = logFrom === undefined ? "" : String(logFrom);
      const answer = await ask("load", own.shard, [meta, own.record, own.log], () => [touch, from]);
      const log = entriesOf(id, answer.number, answer.rest);
      return { record: recordOf(id, answer.text), log, nowMs: answer.nowMs };
    },

    async exchange(wanted) {
      open();
      checkWrite(wanted);
      const write = encodeWrite(wanted);
      const own = keys.of(write.id);
      const { meta, ids, due, active, parked, handed, logs, expiries } = keys.shard(own.shard);
      const scriptKeys = [meta, own.record, own.log, own.seen, ids, due, active, parked, handed, logs, expiries];
      const answer = await ask("exchange", own.shard, scriptKeys, (waitedMs) => [
        touch,
        // Time spent waiting for a connection is no fault of the caller's clock.
        String(options.now ? write.nowMs : write.nowMs + waitedMs),
        ...write.args,
      ]);
      const outcome = outcomeOf(write, answer);
      if (outcome.kind === "stored") hinting?.send(write.id);
      return outcome;
    },

    async due(untilMs, limit) {
      open();
      const most = pageSize(limit, limit);
      let nowMs = 0;
      let paused: Pause | null | undefined;
      const stream = soonest(
        async (shards, each) => {
          const answer = await dueIn(shards, untilMs, each);
          nowMs = answer.nowMs;
          // The first round asks all shards.
          if (paused === undefined) paused = answer.paused;
          return answer.timers;
        },
        keys.shards,
        most,
      );
      const timers: DueTimer[] = [];
      // More rounds only to make up for what was skipped.
      for (let more = true; more && timers.length < most; ) {
        const some: Timer[] = [];
        while (more && some.length < most - timers.length) {
          const next = await stream.next();
          if (next.done) more = false;
          else some.push(next.value);
        }
        if (some.length === 0) break;
        for (const { id, wakeAt, stored } of await peek(some.map((timer) => timer.id))) {
          // Moved or erased meanwhile.
          if (wakeAt === "" || Number(wakeAt) > untilMs) continue;
          const { revision, text } = stored === "" ? { revision: "", text: "" } : splitRecord(stored);
          if (readable(id, text)) timers.push({ id, wakeAtMs: Number(wakeAt), revision });
        }
      }
      return { timers, paused: paused ?? null, nowMs };
    },

    async log(id, page = {}) {
      open();
      checkId(id);
      const { from, before, limit, newest } = logBounds(page);
      const own = keys.of(id);
      const { meta } = keys.shard(own.shard);
      const args = [String(from), before === null ? "" : String(before), String(limit), newest ? "1" : "0"];
      const answer = await ask("log", own.shard, [meta, own.record, own.log], () => args);
      return { entries: entriesOf(id, answer.number, answer.rest), nowMs: answer.nowMs };
    },

    async list(page = {}, filter = {}) {
      open();
      checkList(page, filter);
      const limit = pageSize(page.limit, 50);
      const ids = await idsBehind(page.after ?? "", limit + 1, filter);
      const conversations: ConversationRecord[] = [];
      for (const { id, stored } of await peek(ids.slice(0, limit))) {
        // Erased meanwhile.
        if (stored === "") continue;
        const record = readable(id, splitRecord(stored).text);
        if (record) conversations.push(record);
      }
      const next = ids.length > limit ? (ids[limit - 1] ?? null) : null;
      return { conversations, next, nowMs: await now() };
    },

    async stats() {
      open();
      const parts = await Promise.all(
        together(everyShard).map((some) =>
          trips.run(() =>
            knowing(async (identity) => {
              const own = some.flatMap((shard) => {
                const { meta, ids, due, parked, handed } = keys.shard(shard);
                return [meta, ids, due, parked, handed];
              });
              const reply = (await runOn("stats", own, () => [identity, clockText()])) as [string, ...unknown[]];
              return reply[0] === "lost" ? "lost" : reply;
            }),
          ),
        ),
      );
      const sum = (at: number) => parts.reduce((total, part) => total + Number(part[at]), 0);
      const soonestAt = parts.map((part) => part[5]).filter((text) => text !== "");
      return {
        conversations: sum(2),
        active: sum(3),
        due: sum(4),
        oldestDueAtMs: soonestAt.length === 0 ? null : Math.min(...soonestAt.map(Number)),
        parked: sum(6),
        handedOff: sum(7),
        nowMs: Math.max(...parts.map((part) => Number(part[1]))),
      };
    },

    async repair(page, wakeAt) {
      open();
      checkList(page, {});
      const limit = pageSize(page.limit, 50);
      const ids = await idsBehind(page.after ?? "", limit + 1, {});
      const repaired = await repairIds({ run, peek, readable, keys }, ids.slice(0, limit), wakeAt);
      return { repaired, next: ids.length > limit ? (ids[limit - 1] ?? null) : null };
    },

    async erase(id) {
      open();
      checkId(id);
      return eraseConversation(run, keys, id);
    },

    async rewrite(id, expected, entries) {
      open();
      checkRewrite(id, entries);
      return rewriteLog(run, keys, id, expected, entries);
    },

    async setPause(pause) {
      open();
      checkPause(pause);
      const text = pause === null ? "" : JSON.stringify(pause);
      const times = await Promise.all(
        together(everyShard).map((some) =>
          trips.run((over) =>
            knowing(async (identity) => {
              const metas = some.map((shard) => keys.shard(shard).meta);
              const args = () => [identity, counted.bucket, clockText(), text];
              const reply = await (confirmed?.call("pause", metas, args, over.signal) ?? runOn("pause", metas, args));
              const [kind, now] = reply as [string, string];
              return kind === "lost" ? "lost" : Number(now);
            }),
          ),
        ),
      );
      return { nowMs: Math.max(...times) };
    },

    async prune({ seenBeforeMs, logBeforeMs, keepFrom, limit }) {
      open();
      const most = pageSize(limit, 1000, Number.MAX_SAFE_INTEGER);
      const seen = await pruneSeen({ run, command, keys }, { clock: clockText(), untilMs: seenBeforeMs, most });
      const entries =
        logBeforeMs === undefined
          ? 0
          : await pruneLogs({ run, command, peek, readable, keys }, { beforeMs: logBeforeMs, keepFrom, most });
      return { seen, entries };
    },

    close() {
      closing ??= finish();
      return closing;
    },

    ...(hinting ? { wake: hinting.listen } : {}),
  };

  async function finish(): Promise<void> {
    await trips.idle();
    limits.stop();
    await hinting?.close();
    confirmed?.close();
    // A client that is broken is gone either way.
    if (options.closeClient) await driver.end().catch(() => {});
    driver.leave();
  }
}

/** The place of a shard among those that were asked, then id and time of each timer. */
type DuePart = [number, ...string[]];

function timersOf(flat: readonly string[]): Timer[] {
  const timers: Timer[] = [];
  for (let at = 0; at < flat.length; at += 2) timers.push({ id: String(flat[at]), wakeAtMs: Number(flat[at + 1]) });
  return timers;
}

function bit(flag: boolean | undefined): "" | "0" | "1" {
  return flag === undefined ? "" : flag ? "1" : "0";
}
