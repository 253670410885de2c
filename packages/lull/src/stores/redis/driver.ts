/**
 * What lull needs of a Redis client, and how it uses the two it knows. Structural, so that no client is a dependency:
 * those of node-redis (`createClient`, `createCluster`, `createSentinel`) and ioredis (`Redis`, also with sentinels, and
 * `Cluster`).
 *
 * @module
 */
import { LullError } from "../../errors.ts";
import { ioredisClusterDriver, ioredisDriver } from "./ioredis.ts";
import { nodeRedisClusterDriver, nodeRedisDriver, nodeRedisSentinelDriver } from "./node-redis.ts";

/** `Redis` of ioredis. */
export interface IoRedis {
  // biome-ignore lint/suspicious/noExplicitAny: the real method has a dozen overloads
  call(command: string, ...args: any[]): Promise<unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: its own options
  duplicate(override?: any): any;
  disconnect(reconnect?: boolean): void;
  quit(): Promise<unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: the signatures of emitters differ between versions of the types
  on(event: string, listener: (...args: any[]) => void): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  removeListener(event: string, listener: (...args: any[]) => void): unknown;
  readonly status: string;
}

/** `Cluster` of ioredis. */
export interface IoRedisCluster {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  call(command: string, ...args: any[]): Promise<unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  nodes(role?: any): any[];
  // biome-ignore lint/suspicious/noExplicitAny: as above
  duplicate(nodes?: any, options?: any): any;
  refreshSlotsCache(): void;
  disconnect(reconnect?: boolean): void;
  quit(): Promise<unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  on(event: string, listener: (...args: any[]) => void): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  removeListener(event: string, listener: (...args: any[]) => void): unknown;
  readonly isCluster: boolean;
}

/** What `createClient` of node-redis makes. */
export interface NodeRedis {
  sendCommand(args: string[]): Promise<unknown>;
  connect(): Promise<unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: its own options
  duplicate(overrides?: any): any;
  close(): Promise<unknown> | unknown;
  destroy(): void;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  on(event: string, listener: (...args: any[]) => void): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  off(event: string, listener: (...args: any[]) => void): unknown;
  readonly isOpen: boolean;
  readonly options?: unknown;
}

/** What `createCluster` of node-redis makes. */
export interface NodeRedisCluster {
  sendCommand(firstKey: string | undefined, isReadonly: boolean | undefined, args: string[]): Promise<unknown>;
  connect(): Promise<unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: its own options
  duplicate(overrides?: any): any;
  // biome-ignore lint/suspicious/noExplicitAny: its own type of a node
  nodeClient(node: any): any;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly masters: readonly any[];
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly slots: readonly any[];
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly nodeByAddress: ReadonlyMap<string, any>;
  close(): Promise<unknown> | unknown;
  destroy(): void;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  on(event: string, listener: (...args: any[]) => void): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  off(event: string, listener: (...args: any[]) => void): unknown;
  readonly isOpen: boolean;
}

/** What `createSentinel` of node-redis makes. */
export interface NodeRedisSentinel {
  sendCommand(isReadonly: boolean | undefined, args: string[]): Promise<unknown>;
  connect(): Promise<unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: its own options
  duplicate(overrides?: any): any;
  acquire(): Promise<{
    sendCommand(isReadonly: boolean | undefined, args: string[]): Promise<unknown>;
    release(): Promise<unknown> | unknown;
  }>;
  close(): Promise<unknown> | unknown;
  destroy(): void;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  on(event: string, listener: (...args: any[]) => void): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  off(event: string, listener: (...args: any[]) => void): unknown;
  readonly isOpen: boolean;
}

export type RedisClient = IoRedis | IoRedisCluster | NodeRedis | NodeRedisCluster | NodeRedisSentinel;

/** A connection that nobody else uses. It is never mended: when it breaks, all its calls fail. */
export interface Connection {
  /** Sends commands together, to be run in this order with nothing in between. Rejects with the first error. */
  batch(commands: readonly (readonly string[])[]): Promise<unknown[]>;
  /** At once, whatever is under way. */
  end(): void;
}

export interface Driver {
  /** The keys of one call must be in one slot. */
  readonly cluster: boolean;
  /** Connects the client if nobody has. */
  connect(): Promise<void>;
  /** One command, to the primary that has `key`. */
  call(key: string, command: readonly string[]): Promise<unknown>;
  /** One command, without keys, to every primary. */
  everywhere(command: readonly string[]): Promise<unknown[]>;
  /** A cluster's primaries as `host:port`, as far as the client knows them. */
  addresses(): string[];
  /** A connection of its own; in a cluster to the node at `address`. `most`: how many there will be at once. */
  dedicated(address: string, most: number): Promise<Connection>;
  /**
   * Connects anew, where the client does not do so by itself: the server at the other end is no primary any more, or
   * nothing has come from it for long. `key`: of the call that showed it.
   */
  reconnect?(key: string): void;
  /**
   * Hears channels, on a connection of its own that mends itself, until told to stop. In a cluster every channel is a
   * sharded one.
   */
  listen(channels: readonly string[], onMessage: (message: string) => void): Promise<() => Promise<void>>;
  /** Closes the client. */
  end(): Promise<void>;
  /** Lets go of the client without closing it. */
  leave(): void;
}

/** @throws LullError `invalid-options` for anything else */
export function driverOf(client: RedisClient): Driver {
  if (typeof client === "object" && client !== null && typeof client.duplicate === "function") {
    if ("call" in client && typeof client.call === "function") {
      if ("isCluster" in client && client.isCluster) return ioredisClusterDriver(client);
      return ioredisDriver(client as IoRedis);
    }
    if ("sendCommand" in client && typeof client.sendCommand === "function") {
      if ("nodeByAddress" in client) return nodeRedisClusterDriver(client);
      if ("acquire" in client && "use" in client) return nodeRedisSentinelDriver(client);
      return nodeRedisDriver(client as NodeRedis);
    }
  }
  throw new LullError(
    "invalid-options",
    "redis(client) takes a client of node-redis (createClient, createCluster, createSentinel) or of ioredis (Redis, Cluster).",
  );
}

/** `host:port`, also of an IPv6 host. */
export function hostAndPort(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(":");
  return { host: address.slice(0, colon).replace(/^\[(.*)\]$/, "$1"), port: Number(address.slice(colon + 1)) };
}
