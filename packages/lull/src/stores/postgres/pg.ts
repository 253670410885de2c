/**
 * Postgres through a `Pool` of pg.
 *
 * @module
 */
import type { Driver, PgPool, PgPoolClient, Row, Trip } from "./driver.ts";
import { isReadOnly } from "./faults.ts";

const ignore = () => {};

export function pgDriver(pool: PgPool, { prepare }: { prepare: boolean }): Driver {
  const { max } = (pool.options ?? {}) as { max?: number };
  const names = new Map<string, string>();
  // An idle connection that breaks is no error of anybody's; unheard, it would end the process.
  pool.on?.("error", ignore);

  /**
   * By callback: a promise resolves a moment later, and the server may end a connection in the same packet in which it
   * is ready. An error that nobody listens for ends the process.
   */
  function connect(): Promise<PgPoolClient> {
    return new Promise((resolve, reject) => {
      pool.connect((error: unknown, client: PgPoolClient | undefined) => {
        if (client === undefined) return reject(error);
        client.on("error", ignore);
        resolve(client);
      });
    });
  }

  /** Connections are taken by hand, because only so can one that hangs be thrown away. */
  async function withClient<T>(trip: Trip, use: (client: PgPoolClient) => Promise<T>): Promise<T> {
    const client = await connect();
    let released = false;
    const release = (destroy: boolean) => {
      if (released) return;
      released = true;
      trip.onOver = null;
      client.release(destroy);
      // Kept listening when destroyed: it may break once more while it closes.
      if (!destroy) client.removeListener("error", ignore);
    };
    if (trip.over !== null) {
      release(false);
      throw trip.over;
    }
    trip.onOver = () => release(true);
    try {
      const result = await use(client);
      release(false);
      return result;
    } catch (error) {
      // After a failover the old primary may be a standby: the next connection finds the new one.
      release(isReadOnly(error));
      throw error;
    }
  }

  function nameOf(text: string): string {
    const name = names.get(text) ?? `lull_${digest(text)}`;
    names.set(text, name);
    return name;
  }

  return {
    concurrency: max ?? 10,
    inMemory: false,
    query: (text, values, trip) =>
      withClient(trip, async (client) => {
        const config = { text, values: [...values()], rowMode: "array", ...(prepare ? { name: nameOf(text) } : {}) };
        const { rows } = (await client.query(config)) as { rows: Row[] };
        return rows;
      }),
    script: (text, trip) => withClient(trip, (client) => client.query(text) as Promise<void>),
    async listen(channel, onNotify, onLost) {
      const { Client } = pool as { Client?: new (options: unknown) => PgClient };
      if (Client === undefined) throw new Error("the pool has no Client to make a connection for hints");
      const client = new Client(pool.options);
      let left = false;
      const lost = () => {
        if (!left) onLost();
        left = true;
      };
      client.on("error", lost);
      client.on("end", lost);
      client.on("notification", (message) => {
        if (message.payload !== undefined) onNotify(message.payload);
      });
      const leave = async () => {
        left = true;
        await client.end();
      };
      try {
        await client.connect();
        await client.query(`listen "${channel}"`);
      } catch (error) {
        await leave().catch(ignore);
        throw error;
      }
      return leave;
    },
    end: () => pool.end(),
    leave: () => pool.removeListener?.("error", ignore),
  };
}

/** The same for the same text, whichever store on the pool asks: a name stands for one statement per connection. */
function digest(text: string): string {
  let [high, low] = [0xdeadbeef, 0x41c6ce57];
  for (let index = 0; index < text.length; index++) {
    high = Math.imul(high ^ text.charCodeAt(index), 2654435761);
    low = Math.imul(low ^ text.charCodeAt(index), 1597334677);
  }
  return [high, low].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
}

interface PgClient {
  connect(): Promise<unknown>;
  query(text: string): Promise<unknown>;
  end(): Promise<void>;
  on(event: "error" | "end", listener: () => void): unknown;
  on(event: "notification", listener: (message: { payload?: string | undefined }) => void): unknown;
}
