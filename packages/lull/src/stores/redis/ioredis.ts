/**
 * Redis through the clients of ioredis.
 *
 * @module
 */
import { LullError } from "../../errors.ts";
import type { Connection, Driver, IoRedis, IoRedisCluster } from "./driver.ts";
import { hostAndPort } from "./driver.ts";

const ignore = () => {};

function heard<Client extends { on(event: string, listener: () => void): unknown }>(client: Client): Client {
  client.on("error", ignore);
  return client;
}

/** One TCP connection: no reconnecting, no waiting for one, nothing sent twice. */
async function connectOnce(client: IoRedis, change: Record<string, unknown> = {}): Promise<Connection> {
  const own = heard(
    client.duplicate({
      ...change,
      lazyConnect: true,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      retryStrategy: null,
      reconnectOnError: null,
      readOnly: false,
    }),
  );
  await own.connect();
  return {
    batch: (commands) => Promise.all(commands.map(([name = "", ...args]) => own.call(name, ...args))),
    end: () => own.disconnect(),
  };
}

/** @throws LullError `invalid-options` */
function checkOptions({ options = {} }: { options?: { keyPrefix?: string } }): void {
  if (!options.keyPrefix) return;
  throw new LullError(
    "invalid-options",
    "A client with a keyPrefix cannot be used; give lull its own `prefix` instead.",
  );
}

export function ioredisDriver(client: IoRedis): Driver {
  checkOptions(client as object);
  heard(client);
  const call = (command: readonly string[]) => {
    const [name = "", ...args] = command;
    return client.call(name, ...args);
  };
  return {
    cluster: false,
    // It connects by itself, at the latest when something is asked.
    connect: () => Promise.resolve(),
    call: (_key, command) => call(command),
    everywhere: async (command) => [await call(command)],
    addresses: () => [],
    dedicated: () => connectOnce(client),
    reconnect: () => client.disconnect(true),
    async listen(channels, onMessage) {
      const own = heard(client.duplicate());
      own.on("message", (_channel: string, message: string) => onMessage(message));
      await own.subscribe(...channels);
      return async () => own.disconnect();
    },
    end: async () => {
      await client.quit();
    },
    leave: () => client.removeListener("error", ignore),
  };
}

export function ioredisClusterDriver(client: IoRedisCluster): Driver {
  checkOptions(client as object);
  heard(client);
  const nodes = (): (IoRedis & { options: { host?: string; port?: number } })[] => client.nodes("master");
  const addressOf = ({ options }: { options: { host?: string; port?: number } }) => `${options.host}:${options.port}`;
  return {
    cluster: true,
    connect: () => Promise.resolve(),
    call: (_key, [name = "", ...args]) => client.call(name, ...args),
    async everywhere([name = "", ...args]) {
      // Nobody knows the nodes before the first answer.
      if (nodes().length === 0) await client.call("PING").catch(ignore);
      return Promise.all(nodes().map((node) => node.call(name, ...args)));
    },
    addresses: () => nodes().map(addressOf),
    async dedicated(address) {
      const known = client.nodes("all").find((node) => addressOf(node) === address);
      const node = known ?? nodes()[0];
      if (node === undefined) throw new Error("no node of the cluster is known");
      return connectOnce(node, hostAndPort(address));
    },
    async listen(channels, onMessage) {
      const own = heard(client.duplicate([], { shardedSubscribers: true, lazyConnect: false }));
      own.on("smessage", (_channel: string, message: string) => onMessage(message));
      await Promise.all(channels.map((channel) => own.ssubscribe(channel)));
      return async () => own.disconnect();
    },
    end: async () => {
      await client.quit();
    },
    leave: () => client.removeListener("error", ignore),
  };
}
