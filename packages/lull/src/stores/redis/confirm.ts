/**
 * Writes that count only once replicas have them. WAIT speaks of the connection it comes on and makes everything behind
 * it wait: so each write and its WAIT go together, as one round trip, on a connection that does nothing else meanwhile.
 *
 * @module
 */
import { enough } from "../../clock.ts";
import { LullError } from "../../errors.ts";
import type { Clock } from "../../ports.ts";
import { type Connection, type Driver, hostAndPort } from "./driver.ts";
import { notReplicated, tooLate, wordOf } from "./faults.ts";
import { slotOf } from "./keys.ts";
import { runScript, type ScriptName } from "./scripts.ts";

export interface Confirm {
  /**
   * Calls a script that writes, and waits until enough replicas have it. `args` is asked for them when there is a
   * connection, with the time spent waiting for one; not at all when `signal` has aborted.
   *
   * @throws LullError `store-unavailable` when too few replicas had it in time; it is written all the same
   */
  call(
    name: ScriptName,
    keys: readonly string[],
    args: (waitedMs: number) => readonly string[],
    signal: AbortSignal,
  ): Promise<unknown>;
  close(): void;
}

export interface ConfirmOptions {
  driver: Driver;
  clock: Clock;
  replicas: number;
  waitMs: number;
  connections: number;
  /** How long a connection that stays silent is waited for. */
  limitMs: number;
}

const mostRedirections = 8;

export function confirm({ driver, clock, replicas, waitMs, connections, limitMs }: ConfirmOptions): Confirm {
  const lanes = new Map<string, Lanes>();
  /** Slot → address, as the cluster's own answers say. */
  const owners = new Map<number, string>();
  let closed = false;

  function lanesTo(address: string): Lanes {
    const there = lanes.get(address) ?? lanesOf(() => opened(address), connections);
    lanes.set(address, there);
    return there;
  }

  /** Connecting may hang, too. */
  async function opened(address: string): Promise<Connection> {
    const done = new AbortController();
    const opening = driver.dedicated(address, connections);
    const late = clock.sleep(limitMs, done.signal).then(() => {
      if (done.signal.aborted) return new Promise<never>(() => {});
      opening.then((connection) => connection.end()).catch(() => {});
      throw tooLate(limitMs);
    });
    try {
      return await Promise.race([opening, late]);
    } finally {
      done.abort(enough);
    }
  }

  /** Any primary will do: one that does not have the slot says who does. */
  function guess(): string {
    if (!driver.cluster) return "";
    const known = driver.addresses();
    const address = known[Math.floor(clock.random() * known.length)];
    if (address === undefined) throw new Error("no node of the cluster is known");
    return address;
  }

  async function together(connection: Connection, command: readonly string[], asking: boolean): Promise<unknown> {
    const wait = ["WAIT", String(replicas), String(waitMs)];
    const all = asking ? [["ASKING"], command, wait] : [command, wait];
    const replies = await connection.batch(all);
    const reached = Number(replies.at(-1));
    if (!(reached >= replicas)) throw notReplicated(reached, replicas, waitMs);
    return replies.at(-2);
  }

  return {
    async call(name, keys, args, signal) {
      const startedAt = clock.monotonic();
      const slot = slotOf(keys[0] ?? "");
      let address = owners.get(slot) ?? guess();
      let asking = false;
      for (let redirections = 0; ; redirections++) {
        const there = lanesTo(address);
        const connection = await there.enter().catch((error: unknown) => {
          owners.delete(slot);
          throw error;
        });
        if (signal.aborted) {
          there.leave(connection, closed);
          throw signal.reason;
        }
        let broken = true;
        const cut = new AbortController();
        // A connection that hangs would keep its lane for ever.
        void clock.sleep(limitMs, cut.signal).then(() => {
          if (!cut.signal.aborted) connection.end();
        });
        try {
          const waited = () => args(Math.round(clock.monotonic() - startedAt));
          const reply = await runScript(name, keys, waited, (command) => together(connection, command, asking));
          broken = false;
          return reply;
        } catch (error) {
          const word = wordOf(error);
          broken = word === null && !LullError.isInstance(error);
          const redirected = /^(MOVED|ASK) (\d+) (\S+)$/.exec(error instanceof Error ? error.message : "");
          if (redirected?.[3] === undefined || redirections === mostRedirections) {
            // Whoever took over will be found by asking any other.
            if (broken || word === "READONLY" || word === "CLUSTERDOWN") owners.delete(slot);
            if (word === "READONLY") broken = true;
            throw error;
          }
          asking = redirected[1] === "ASK";
          address = withHost(redirected[3], address);
          if (!asking) owners.set(slot, address);
        } finally {
          cut.abort(enough);
          there.leave(connection, broken || closed);
        }
      }
    },
    close() {
      closed = true;
      for (const there of lanes.values()) there.close();
    },
  };
}

/** A node may leave out its host: it is the one that was asked. */
function withHost(to: string, asked: string): string {
  return to.startsWith(":") ? `${hostAndPort(asked).host}${to}` : to;
}

interface Lanes {
  enter(): Promise<Connection>;
  leave(connection: Connection, broken: boolean): void;
  close(): void;
}

/** At most so many connections, opened when they are needed; more callers stand in line. */
function lanesOf(open: () => Promise<Connection>, most: number): Lanes {
  const idle: Connection[] = [];
  const line: (() => void)[] = [];
  let taken = 0;

  function free(): void {
    taken -= 1;
    line.shift()?.();
  }

  return {
    async enter() {
      while (taken >= most) await new Promise<void>((resolve) => line.push(resolve));
      taken += 1;
      const connection = idle.pop();
      if (connection !== undefined) return connection;
      try {
        return await open();
      } catch (error) {
        free();
        throw error;
      }
    },
    leave(connection, broken) {
      if (broken) connection.end();
      else idle.push(connection);
      free();
    },
    close() {
      for (const connection of idle.splice(0)) connection.end();
    },
  };
}
