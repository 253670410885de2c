/**
 * Redis through the clients of node-redis.
 *
 * @module
 */
import type { Connection, Driver, NodeRedis, NodeRedisCluster, NodeRedisSentinel } from "./driver.ts";
import { hostAndPort } from "./driver.ts";
import { slotOf } from "./keys.ts";

const ignore = () => {};

/** A client that breaks tells so by an event; unheard, that would end the process. */
function heard<Client extends { on(event: string, listener: () => void): unknown }>(client: Client): Client {
  client.on("error", ignore);
  return client;
}

/** One TCP connection: no reconnecting, no waiting for one. */
async function connectOnce(client: NodeRedis, change: Record<string, unknown> = {}): Promise<Connection> {
  const { socket } = (client.options ?? {}) as { socket?: object };
  const own = heard(
    client.duplicate({
      disableOfflineQueue: true,
      socket: { ...socket, ...change, reconnectStrategy: false },
    }) as NodeRedis,
  );
  await own.connect();
  return {
    batch: (commands) => Promise.all(commands.map((command) => own.sendCommand([...command]))),
    end() {
      if (own.isOpen) own.destroy();
    },
  };
}

/**
 * Hangs up and connects again. node-redis does not notice a connection on which nothing comes back any more: its
 * `socketTimeout` begins anew with everything that is sent. (What waits for an answer is rejected.)
 */
function revived(client: NodeRedis): void {
  if (client.isOpen) client.destroy();
  client.connect().catch(ignore);
}

interface Connecting {
  connect(): Promise<void>;
  /** Somebody waits for it. */
  readonly underWay: boolean;
  /** Of a node that says nothing the greeting is waited for for ever: hangs up, and begins anew. */
  giveUp(): void;
}

/** Connects for all who ask at the same time. */
function connecting(client: { readonly isOpen: boolean; connect(): Promise<unknown>; destroy(): void }): Connecting {
  let current: Promise<unknown> | null = null;
  async function connect(): Promise<void> {
    // It is open from when it begins to connect.
    if (client.isOpen && current === null) return;
    current ??= client.connect();
    const mine = current;
    try {
      await mine;
    } finally {
      if (current === mine) current = null;
    }
  }
  return {
    connect,
    get underWay() {
      return current !== null;
    },
    giveUp() {
      current = null;
      if (client.isOpen) client.destroy();
      connect().catch(ignore);
    },
  };
}

export function nodeRedisDriver(client: NodeRedis): Driver {
  heard(client);
  const link = connecting(client);
  /** It was us who hung up. */
  let revive = false;
  return {
    cluster: false,
    connect: link.connect,
    async call(_key, command) {
      // Behind a connection that never comes calls are to wait, not to fail at once: waiting is what is noticed.
      if (revive) await link.connect();
      return client.sendCommand([...command]);
    },
    everywhere: async (command) => [await client.sendCommand([...command])],
    addresses: () => [],
    dedicated: () => connectOnce(client),
    reconnect() {
      revive = true;
      link.giveUp();
    },
    async listen(channels, onMessage) {
      const own = heard(client.duplicate());
      await own.connect();
      await own.subscribe(channels, onMessage);
      return async () => own.destroy();
    },
    async end() {
      if (client.isOpen) await client.close();
    },
    leave: () => client.off("error", ignore),
  };
}

export function nodeRedisClusterDriver(client: NodeRedisCluster): Driver {
  heard(client);
  const nodes = () => client.masters;
  const clientOf = (node: unknown): Promise<NodeRedis> => Promise.resolve(client.nodeClient(node));
  const link = connecting(client);
  return {
    cluster: true,
    connect: link.connect,
    call: (key, command) => client.sendCommand(key, false, [...command]),
    everywhere: (command) => Promise.all(nodes().map(async (node) => (await clientOf(node)).sendCommand([...command]))),
    addresses: () => nodes().map((node) => (node as { address: string }).address),
    async dedicated(address) {
      const known = client.nodeByAddress.get(address) as { master?: unknown } | undefined;
      if (known !== undefined) return connectOnce(await clientOf(known.master ?? known));
      // A node that the client has not heard of yet: reached the way the others are.
      const [any] = nodes();
      return connectOnce(await clientOf(any), hostAndPort(address));
    },
    reconnect(key) {
      // It waits for the greeting of a node that says nothing.
      if (link.underWay) return link.giveUp();
      const owner = client.slots[slotOf(key)] as { master?: unknown } | undefined;
      if (owner?.master !== undefined) clientOf(owner.master).then(revived).catch(ignore);
    },
    async listen(channels, onMessage) {
      const own = heard(client.duplicate());
      await own.connect();
      await Promise.all(channels.map((channel) => own.sSubscribe(channel, onMessage)));
      return async () => own.destroy();
    },
    async end() {
      if (client.isOpen) await client.close();
    },
    leave: () => client.off("error", ignore),
  };
}

export function nodeRedisSentinelDriver(client: NodeRedisSentinel): Driver {
  heard(client);
  const link = connecting(client);
  /** Its clients are leased one by one, and follow the primary. */
  let pool: Promise<NodeRedisSentinel> | null = null;
  async function pooled(most: number): Promise<NodeRedisSentinel> {
    const own = heard(client.duplicate({ masterPoolSize: most }) as NodeRedisSentinel);
    await own.connect();
    return own;
  }
  return {
    cluster: false,
    connect: link.connect,
    call: (_key, command) => client.sendCommand(false, [...command]),
    everywhere: async (command) => [await client.sendCommand(false, [...command])],
    addresses: () => [],
    reconnect() {
      // The client itself follows the primary; only its first connection may hang.
      if (link.underWay) link.giveUp();
    },
    async dedicated(_address, most) {
      pool ??= pooled(most).catch((error: unknown) => {
        pool = null;
        throw error;
      });
      const own = await pool;
      // Kept: each lease of its own costs node-redis some 50 ms, one after the other.
      const lease = await own.acquire();
      return {
        async batch(commands) {
          const sent = await Promise.allSettled(commands.map((command) => lease.sendCommand(false, [...command])));
          const failed = sent.find((one) => one.status === "rejected");
          if (failed !== undefined) throw failed.reason;
          return sent.map((one) => (one as PromiseFulfilledResult<unknown>).value);
        },
        end: () => void Promise.resolve(lease.release()).catch(ignore),
      };
    },
    async listen(channels, onMessage) {
      const own = heard(client.duplicate());
      await own.connect();
      await own.subscribe(channels, onMessage);
      return async () => own.destroy();
    },
    async end() {
      if (client.isOpen) await client.close();
    },
    leave() {
      client.off("error", ignore);
      pool?.then((own) => own.close()).catch(ignore);
      pool = null;
    },
  };
}
