/**
 * What lull needs of a Postgres client, and how it uses the three it knows. Structural, so that no client is a
 * dependency: a `Pool` of pg, a `sql` of postgres, a PGlite.
 *
 * Values go out as texts and numbers only and rows come back as arrays, because that is what all three agree on:
 * they differ in how they encode arrays, what they make of a bigint, and whether they rename columns.
 *
 * @module
 */
import { LullError } from "../../errors.ts";
import { pgDriver } from "./pg.ts";
import { pgliteDriver } from "./pglite.ts";
import { postgresJsDriver } from "./postgres-js.ts";

export type Value = string | number | null;
export type Row = readonly unknown[];

/** A `Pool` of pg (or one that behaves the same, as those of Neon and Vercel). */
export interface PgPool {
  // biome-ignore lint/suspicious/noExplicitAny: its types of clients are its own
  connect(callback: (error: any, client: any) => void): void;
  query: unknown;
  end(): Promise<void>;
  // biome-ignore lint/suspicious/noExplicitAny: the signatures of emitters differ between versions of the types
  on?(event: "error", listener: (error: any) => void): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  removeListener?(event: "error", listener: (error: any) => void): unknown;
  readonly options?: unknown;
}
export interface PgPoolClient {
  // biome-ignore lint/suspicious/noExplicitAny: the real method has a dozen overloads
  query(config: any): any;
  release(destroy?: boolean): void;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  on(event: "error", listener: (error: any) => void): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  removeListener(event: "error", listener: (error: any) => void): unknown;
}

/** The `sql` of postgres (Postgres.js). */
export interface PostgresJs {
  // biome-ignore lint/suspicious/noExplicitAny: its types of values and rows are its own
  unsafe(text: string, values?: any[], options?: any): any;
  listen(channel: string, onNotify: (payload: string) => void): Promise<{ unlisten(): Promise<void> }>;
  end(options?: { timeout?: number }): Promise<void>;
  readonly options: unknown;
}

export interface PGliteLike {
  // biome-ignore lint/suspicious/noExplicitAny: its types of values and rows are its own
  query(text: string, values?: any[], options?: any): Promise<{ rows: any[] }>;
  exec(text: string): Promise<unknown>;
  listen(channel: string, onNotify: (payload: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
  readonly dataDir?: string | undefined;
}

export type PostgresClient = PgPool | PostgresJs | PGliteLike;

/** One trip to the server, as a driver sees it. */
export interface Trip {
  /** Why nobody waits for it any more; null while somebody does. */
  readonly over: Error | null;
  /** The driver's, called at that moment: the connection is not to be trusted. */
  onOver: (() => void) | null;
}

export interface Driver {
  /** Calls that may be under way at once; more wait in lull, where their time limit is kept. */
  readonly concurrency: number;
  /** True when the data lives and dies with this process. */
  readonly inMemory: boolean;
  /** Runs one statement; asks for its values when there is a connection to send them on. */
  query(text: string, values: () => readonly Value[], trip: Trip): Promise<Row[]>;
  /** Runs several statements, without values, in one transaction. */
  script(text: string, trip: Trip): Promise<void>;
  /** Hears notifications, on a connection of its own, until told to stop; `onLost` when it hears no more. */
  listen(channel: string, onNotify: (payload: string) => void, onLost: () => void): Promise<() => Promise<void>>;
  /** Closes the client. */
  end(): Promise<void>;
  /** Lets go of the client without closing it. */
  leave(): void;
}

/** @throws LullError `invalid-options` for anything else */
export function driverOf(client: PostgresClient, options: { prepare: boolean }): Driver {
  if (typeof client === "function" && typeof (client as PostgresJs).unsafe === "function") {
    return postgresJsDriver(client as PostgresJs);
  }
  if (typeof client === "object" && client !== null) {
    if (typeof (client as PGliteLike).exec === "function" && typeof (client as PGliteLike).query === "function") {
      return pgliteDriver(client as PGliteLike);
    }
    // A single Client of pg has both methods too.
    const pooled = "options" in client && !("connectionParameters" in client);
    if (pooled && typeof (client as PgPool).connect === "function") return pgDriver(client as PgPool, options);
  }
  throw new LullError(
    "invalid-options",
    "postgres(client) takes a Pool of pg (not a single Client), the sql of postgres, or a PGlite.",
  );
}
