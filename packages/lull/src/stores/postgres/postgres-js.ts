/**
 * Postgres through the `sql` of postgres (Postgres.js). Prepared statements are used unless the client was made with
 * `prepare: false`; without them it asks for the types first, which is a second round trip.
 *
 * It cannot throw a single connection away: one that hangs is lost until the operating system gives it up.
 *
 * @module
 */
import type { Driver, PostgresJs, Row, Trip } from "./driver.ts";

/** It sends several statements along one connection without waiting; more than a few would only queue there. */
const perConnection = 8;

interface Query extends Promise<unknown> {
  values(): Promise<Row[]>;
  cancel(): unknown;
  readonly active: boolean;
  readonly state: unknown;
}

export function postgresJsDriver(sql: PostgresJs): Driver {
  const { max } = sql.options as { max?: number };

  function run<T>(query: Query, result: (query: Query) => Promise<T>, trip: Trip): Promise<T> {
    // One that waits for a connection is taken back. One under way is left alone: its cancelling is a connection of
    // its own whose failure nobody could catch.
    trip.onOver = () => {
      if (!query.active && query.state === null) query.cancel();
    };
    return result(query).finally(() => {
      trip.onOver = null;
    });
  }

  return {
    concurrency: (max ?? 10) * perConnection,
    inMemory: false,
    query: (text, values, trip) =>
      run(sql.unsafe(text, [...values()], { prepare: true }) as Query, (query) => query.values(), trip),
    script: (text, trip) => run(sql.unsafe(text) as Query, async (query) => void (await query), trip),
    async listen(channel, onNotify) {
      // It listens on a connection of its own, and again by itself whenever that breaks.
      const { unlisten } = await sql.listen(channel, onNotify);
      return unlisten;
    },
    end: () => sql.end({ timeout: 5 }),
    leave: () => {},
  };
}
