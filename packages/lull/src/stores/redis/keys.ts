/**
 * Where things are. A conversation lives in one of a fixed number of shards, and all keys of a shard carry its number as
 * their hash tag: so they are in one slot of a cluster, one script can write them, and the shards spread over the nodes.
 *
 * @module
 */
import { LullError } from "../../errors.ts";
import type { ConversationId } from "../../model.ts";

/** Version of the layout described in docs/stores.md. */
export const layout = 1;
export const usualShards = 64;
const mostShards = 4_096;

/** The keys of one shard that are no conversation's own. */
export interface ShardKeys {
  /** Hash: identity of the store, number of shards, layout, and counts of writes. */
  meta: string;
  /** Sorted sets of ids. By their bytes: `ids` (all), `active` (with a timer), `parked`, `handed` (handed off). */
  ids: string;
  active: string;
  parked: string;
  handed: string;
  /** By time: of the wake-up, of the oldest log entry, of the first expiry of a seen key. */
  due: string;
  logs: string;
  expiries: string;
}

export interface ConversationKeys {
  shard: number;
  /** String: a line about the record, then the record. */
  record: string;
  /** List: `<time> <entry>`, oldest first. */
  log: string;
  /** Hash: key → `<expiry> <value>`. */
  seen: string;
}

export interface Keys {
  readonly shards: number;
  shard(number: number): ShardKeys;
  of(id: ConversationId): ConversationKeys;
  /** Channel of the hints: one for each shard where `number` is given. */
  channel(number?: number): string;
}

/** @throws LullError `invalid-options` */
export function keysWith(prefix: string, shards: number): Keys {
  if (typeof prefix !== "string" || prefix === "" || /[{}\s]/.test(prefix)) {
    const text = `prefix must be a non-empty string without braces and spaces; got ${JSON.stringify(prefix)}.`;
    throw new LullError("invalid-options", text);
  }
  if (!Number.isInteger(shards) || shards < 1 || shards > mostShards) {
    throw new LullError("invalid-options", `shards must be a whole number from 1 to ${mostShards}; got ${shards}.`);
  }
  const made = Array.from({ length: shards }, (_, number): ShardKeys => {
    const key = (name: string) => `${prefix}:{${number}}:${name}`;
    return {
      meta: key("meta"),
      ids: key("ids"),
      active: key("active"),
      parked: key("parked"),
      handed: key("handed"),
      due: key("due"),
      logs: key("logs"),
      expiries: key("expiries"),
    };
  });
  return {
    shards,
    shard: (number) => made[number] as ShardKeys,
    of(id) {
      const shard = shardOf(id, shards);
      const key = (name: string) => `${prefix}:{${shard}}:${name}:${id}`;
      return { shard, record: key("r"), log: key("l"), seen: key("s") };
    },
    channel: (number) => (number === undefined ? `${prefix}:hints` : `${prefix}:{${number}}:hints`),
  };
}

const bytes = new TextEncoder();

/** FNV-1a of the id's UTF-8. Stored conversations depend on it: it never changes. */
export function shardOf(id: ConversationId, shards: number): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes.encode(id)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0) % shards;
}

/** The cluster's slot of a key: CRC16 (XMODEM) of its hash tag. */
export function slotOf(key: string): number {
  const open = key.indexOf("{");
  const close = open < 0 ? -1 : key.indexOf("}", open);
  const tag = close > open + 1 ? key.slice(open + 1, close) : key;
  let crc = 0;
  for (const byte of bytes.encode(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc % 16_384;
}
