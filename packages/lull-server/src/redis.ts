/**
 * Redis as an address: which servers, and a client for them.
 *
 * @module
 */
import { createClient, createCluster, createSentinel } from "@redis/client";
import type { RedisClient } from "lull/redis";
import { ConfigError } from "./config.ts";
import type { Logger } from "./log.ts";

export interface RedisPlace {
  kind: "redis";
  mode: "single" | "cluster" | "sentinel";
  tls: boolean;
  username: string | null;
  password: string | null;
  nodes: { host: string; port: number }[];
  /** Sentinel: the name of the primary. */
  primary: string | null;
  database: number;
}

const shapes =
  "redis://HOST:PORT/DATABASE, redis+cluster://HOST:PORT,HOST:PORT or redis+sentinel://HOST:PORT,HOST:PORT/NAME " +
  "(rediss… for TLS), with USER:PASSWORD@ before the first host";

/**
 * Null when it is no address of a Redis.
 * @throws ConfigError; the address itself is not shown, it may hold a password.
 */
export function redisPlace(text: string): RedisPlace | null {
  const match = /^(rediss?)(?:\+(cluster|sentinel))?:\/\/(?:([^@/]*)@)?([^/@?#]*)(?:\/([^?#]*))?$/is.exec(text);
  if (!/^rediss?(\+\w*)?:/i.test(text)) return null;
  const [, scheme = "", kind, login, hosts = "", path = ""] = match ?? [];
  const mode = (kind?.toLowerCase() ?? "single") as RedisPlace["mode"];
  try {
    if (match === null) throw new Error();
    const [username = "", ...rest] = (login ?? "").split(":");
    const nodes = hosts.split(",").map((host) => nodeOf(host, mode === "sentinel" ? 26_379 : 6_379));
    const [primary = "", number = ""] = mode === "sentinel" ? path.split("/") : ["", path];
    const database = number === "" ? 0 : Number(number);
    if (mode === "single" && nodes.length > 1) throw new Error();
    if (mode === "sentinel" && primary === "") throw new Error();
    if (!/^\d*$/.test(number) || (mode === "cluster" && database !== 0)) throw new Error();
    return {
      kind: "redis",
      mode,
      tls: scheme.toLowerCase() === "rediss",
      username: username === "" ? null : decodeURIComponent(username),
      password: rest.length === 0 ? null : decodeURIComponent(rest.join(":")),
      nodes,
      primary: primary === "" ? null : decodeURIComponent(primary),
      database,
    };
  } catch {
    throw new ConfigError([`store is no valid address of a Redis. It is ${shapes}; a password may need %-encoding.`]);
  }
}

function nodeOf(text: string, usualPort: number): { host: string; port: number } {
  const match = /^(\[[0-9a-f:.]+\]|[^:\s[\]]+)(?::(\d{1,5}))?$/i.exec(text);
  const port = Number(match?.[2] ?? usualPort);
  if (match?.[1] === undefined || port < 1 || port > 65_535) throw new Error();
  return { host: match[1].replace(/^\[(.*)\]$/, "$1"), port };
}

/** As people may see it: without user and password. */
export function redisTitle({ mode, tls, nodes, primary, database }: RedisPlace, prefix: string): string {
  const hosts = nodes.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`).join();
  const scheme = `${tls ? "rediss" : "redis"}${mode === "single" ? "" : `+${mode}`}`;
  const path = [primary, database === 0 ? null : database].filter((part) => part !== null).join("/");
  return `${scheme}://${hosts}${path === "" ? "" : `/${path}`}, prefix ${prefix}`;
}

/** A start may be waiting for a server that starts too; a call that hangs must not hold its place for ever. */
const connectMs = 5_000;

/** A client that fails at once while its server is away, and connects again by itself. */
export function redisClient(place: RedisPlace, timeLimitMs: number, log: Logger): RedisClient {
  // A connection on which nothing comes back any more is noticed by a ping that stays unanswered.
  const pingInterval = Math.max(50, Math.min(5_000, Math.floor(timeLimitMs / 3)));
  let wasUp = false;
  const options = {
    ...(place.username === null ? {} : { username: place.username }),
    ...(place.password === null ? {} : { password: place.password }),
    name: "lull",
    disableOfflineQueue: true,
    pingInterval,
    commandOptions: { timeout: timeLimitMs },
    socket: {
      connectTimeout: Math.min(connectMs, timeLimitMs),
      socketTimeout: 2 * pingInterval + 1_000,
      ...(place.tls ? { tls: true as const } : {}),
      // The first try says what is wrong; later ones go on until it is mended, and not all processes at once.
      reconnectStrategy: (retries: number, cause: Error) =>
        wasUp ? Math.min(50 * 2 ** Math.min(retries, 6), 2_000) * (0.5 + Math.random()) : cause,
    },
  };
  const [first = { host: "127.0.0.1", port: 6_379 }] = place.nodes;
  const client =
    place.mode === "cluster"
      ? createCluster({
          rootNodes: place.nodes.map((node) => ({ socket: node })),
          defaults: options,
          // A node that does not come back has been replaced: the others know by whom.
          topologyRefreshOnReconnectionAttemptStrategy: 1_000,
        })
      : place.mode === "sentinel"
        ? createSentinel({
            name: place.primary ?? "",
            sentinelRootNodes: place.nodes,
            nodeClientOptions: { ...options, database: place.database },
            sentinelClientOptions: { socket: { connectTimeout: options.socket.connectTimeout } },
          })
        : createClient({ ...options, database: place.database, socket: { ...options.socket, ...first } });
  client.on("ready", () => {
    wasUp = true;
  });
  client.on("connect", () => {
    if (place.mode !== "single") wasUp = true;
  });
  client.on("error", (error: Error) => log.debug({ err: error.message }, "a connection to Redis broke"));
  return client;
}
