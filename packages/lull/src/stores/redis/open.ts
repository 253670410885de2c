/**
 * Opening: makes the store's shards, or finds them and checks that they are the ones it knew. A shard without its `meta`
 * key is a shard whose data is gone.
 *
 * @module
 */
import { LullError } from "../../errors.ts";
import type { Durability } from "../../ports.ts";
import type { Driver } from "./driver.ts";
import { type Keys, layout } from "./keys.ts";
import type { ScriptName } from "./scripts.ts";
import { checkServers, durabilityOf, evicting, servers } from "./server.ts";

export interface RedisWarning {
  /**
   * - `evicts`: the server may throw conversations away when it is full.
   * - `policy-unknown`: it does not say whether it may.
   * - `older`: acknowledged writes are gone (a failover, a restored backup).
   * - `empty`: a shard, or all of them, came back empty, and lull begins anew.
   */
  code: "evicts" | "policy-unknown" | "older" | "empty";
  message: string;
  /** Which shards, how many writes, …: numbers and names, never a user's text. */
  details: Record<string, unknown>;
}

export interface Opened {
  identity: string;
  durability: Durability;
}

export interface OpenOptions {
  driver: Driver;
  keys: Keys;
  waitReplicas: number;
  allowEviction: boolean;
  /** What to do with a store that lost its data; "auto": what its durability class lets one expect. */
  afterLoss: "auto" | "refuse" | "begin-anew";
  /** Runs a script that writes, and comes back when it counts. */
  write(name: ScriptName, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** A new id. */
  id: () => string;
  warn(warning: RedisWarning): void;
}

interface Meta {
  identity: string | null;
  shards: string | null;
  layout: string | null;
  ready: string | null;
}

/** @throws LullError `invalid-options`, `store-newer-schema`, `store-unavailable` */
export async function openShards(options: OpenOptions, previous: string | null): Promise<Opened> {
  const { driver, keys, warn } = options;
  await driver.connect();
  const found = await servers(driver);
  checkServers(found, driver);
  const policy = evicting(found);
  if (policy !== null && !options.allowEviction) {
    const text =
      `The server's maxmemory-policy is ${policy}: when it is full it throws away what lull must keep. Set it to ` +
      "noeviction (CONFIG SET maxmemory-policy noeviction, or the parameter group of a managed service).";
    throw new LullError("invalid-options", text, { details: { policy } });
  }
  if (previous === null) {
    if (policy !== null) {
      const message = `The server's maxmemory-policy is ${policy}: when it is full, conversations and inputs may vanish.`;
      warn({ code: "evicts", message, details: { policy } });
    }
    if (found.some((server) => server.policy === null)) {
      const message = "The server does not tell its maxmemory-policy; make sure that it is noeviction.";
      warn({ code: "policy-unknown", message, details: {} });
    }
  }
  const durability = durabilityOf(found, options.waitReplicas);

  const metas = await Promise.all(everyShard(keys, (shard) => readMeta(driver, keys.shard(shard).meta)));
  const there = metas.filter(({ identity }) => identity !== null);
  for (const meta of there) checkMeta(meta, keys);
  const identities = new Set(there.map(({ identity }) => identity as string));
  if (identities.size > 1) {
    const text =
      "The shards belong to different stores: a part of it was restored from elsewhere, or came back empty and was " +
      "begun anew. Restore all of it from one backup.";
    throw new LullError("store-unavailable", text, { details: { identities: identities.size } });
  }
  const [stored = null] = identities;
  const missing = everyShard(keys, (shard) => shard).filter((shard) => metas[shard]?.identity === null);
  const complete = metas.some(({ ready }) => ready === "1");
  const lost = complete ? missing : previous === null ? [] : missing;
  const replaced = previous !== null && stored !== null && stored !== previous;
  if (lost.length > 0 || replaced) {
    const what = lost.length === keys.shards || replaced ? "The store" : `A part of the store (shards ${lost.join()})`;
    const details = { shards: lost, replaced };
    const goOn = options.afterLoss === "begin-anew" || (options.afterLoss === "auto" && durability.class === "memory");
    if (!goOn) {
      const text =
        `${what} came back ${replaced ? "as another one" : "empty"}. Restore its data, and lull goes on by itself. To ` +
        'begin anew with what is there, set afterLoss to "begin-anew" (LULL_STORE_AFTER_LOSS).';
      throw new LullError("store-unavailable", text, { details });
    }
    const message = `${what} came back ${replaced ? "as another one" : "empty"}: lull begins anew with what is there.`;
    warn({ code: "empty", message, details });
  }

  let identity = stored ?? options.id();
  if (missing.length > 0 || !complete) {
    // The first shard decides between processes that make a store at the same moment.
    const first = missing[0] ?? 0;
    identity = (await create(options, first, identity)).identity ?? identity;
    // All of them, so that none is called ready that only its primary has.
    const made = await Promise.all(everyShard(keys, (shard) => create(options, shard, identity)));
    for (const meta of made) {
      checkMeta(meta, keys);
      if (meta.identity !== identity) {
        throw new LullError("store-unavailable", "Another process is making this store at the same moment.");
      }
    }
    await Promise.all(everyShard(keys, (shard) => create(options, shard, identity, "1")));
  }
  return { identity, durability };
}

function everyShard<T>(keys: Keys, of: (shard: number) => T): T[] {
  return Array.from({ length: keys.shards }, (_, shard) => of(shard));
}

async function readMeta(driver: Driver, key: string): Promise<Meta> {
  const fields = ["identity", "shards", "layout", "ready"];
  return metaOf(await driver.call(key, ["HMGET", key, ...fields]));
}

async function create({ keys, write }: OpenOptions, shard: number, identity: string, mark = ""): Promise<Meta> {
  const args = [identity, String(keys.shards), String(layout), mark];
  return metaOf(await write("create", [keys.shard(shard).meta], args));
}

function metaOf(reply: unknown): Meta {
  const [identity = null, shards = null, stored = null, ready = null] = reply as (string | null)[];
  return { identity, shards, layout: stored, ready };
}

function checkMeta({ shards, layout: stored }: Meta, keys: Keys): void {
  if (Number(stored) > layout) {
    const text = `The store has layout ${stored}; this release of lull knows up to ${layout}. Upgrade lull in this process.`;
    throw new LullError("store-newer-schema", text, { details: { stored: Number(stored), supported: layout } });
  }
  if (Number(shards) === keys.shards) return;
  const text =
    `The store was made with ${shards} shards, and this process is set to ${keys.shards}. The number is fixed for the ` +
    `life of a store: set shards to ${shards}.`;
  throw new LullError("invalid-options", text, { details: { stored: Number(shards), wanted: keys.shards } });
}
