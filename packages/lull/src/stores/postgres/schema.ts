/**
 * The tables and functions: what the database has, what this release needs, and the way from one to the other. Safe
 * when several processes start at once: the row that names a migration is written first, so whoever comes second
 * waits for the first and then finds it done.
 *
 * @module
 */
import { LullError } from "../../errors.ts";
import type { Durability } from "../../ports.ts";
import type { Row, Value } from "./driver.ts";
import { isForbidden, isRace, toStoreError } from "./faults.ts";
import { integer } from "./rows.ts";
import { inSchema, type Statements } from "./sql.ts";

/** Releases that do not know these migrations cannot work with a database that has them. */
const breaking: ReadonlySet<number> = new Set([1, 2]);

export interface SchemaPlan {
  schema: string;
  /** Migration n stands at index n - 1. */
  migrations: readonly string[];
  breaking?: ReadonlySet<number>;
}

export interface Found {
  durability: Durability;
  /** The newest migration that the database had, and that it has now. */
  from: number;
  to: number;
}

/** Trips to the server, each with its own time limit. */
export interface Trips {
  ask(text: string, values?: readonly Value[]): Promise<Row[]>;
  script(text: string): Promise<void>;
}

/** Tries to migrate at the same moment as others; each try lets one of them win. */
const mostTries = 20;

/**
 * Looks at the server and brings its schema up to date.
 *
 * @throws LullError `store-newer-schema`, `invalid-options`, `store-unavailable`
 */
export async function prepareSchema(
  { ask, script }: Trips,
  sql: Statements,
  plan: SchemaPlan,
  { inMemory, nowMs }: { inMemory: boolean; nowMs: number },
): Promise<Found> {
  let from: number | null = null;
  for (let attempt = 1; ; attempt++) {
    const server = serverOf(await ask(sql.server, [plan.schema]));
    if (server.encoding !== "UTF8") {
      throw new LullError("invalid-options", `lull needs a database in UTF8; this one has ${server.encoding}.`);
    }
    const version = server.hasTable ? versionOf(await ask(sql.schemaVersion), plan.migrations.length) : 0;
    from ??= version;
    if (version >= plan.migrations.length) {
      return { durability: durabilityOf(server, inMemory), from, to: version };
    }
    const text = [
      ...(server.hasSchema ? [] : [`create schema "${plan.schema}"`]),
      ...(server.hasTable ? [] : [sql.schemaCreate.replace(/;$/, "")]),
      statementFor(plan, version + 1, nowMs),
      inSchema(plan.migrations[version] ?? "", plan.schema),
    ].join(";\n");
    try {
      await script(text);
    } catch (error) {
      // Somebody else may have done it at the same moment.
      if (!isRace(causeOf(error)) || attempt === mostTries) throw refusal(error, plan.schema);
    }
  }
}

function causeOf(error: unknown): unknown {
  return LullError.isInstance(error) ? (error as LullError).cause : error;
}

function statementFor({ schema, breaking: marked = breaking }: SchemaPlan, version: number, nowMs: number): string {
  const readableBy = Math.max(0, ...[...marked].filter((number) => number <= version));
  const values = [version, readableBy, nowMs].join(", ");
  return `insert into "${schema}".lull_schema (version, readable_by, applied_at_ms) values (${values})`;
}

function refusal(error: unknown, schema: string): LullError {
  if (isForbidden(causeOf(error))) {
    const text =
      `The tables in schema "${schema}" have to be made or brought up to date, and this role may not. ` +
      "Run `lull migrate`, or migrate(client), once with a role that may.";
    return new LullError("store-unavailable", text, { cause: error, retryable: false });
  }
  const { message, details = {} } = toStoreError(error);
  const text = `lull could not make its tables. ${message}`;
  // What the server refuses once it will refuse again; a connection that broke is another matter.
  return new LullError("store-unavailable", text, { cause: error, retryable: !("state" in details), details });
}

function versionOf([row]: Row[], supported: number): number {
  const version = integer(row?.[0]);
  if (version <= supported || integer(row?.[1]) <= supported) return version;
  throw new LullError(
    "store-newer-schema",
    `The database has schema ${version}; this release of lull knows up to ${supported}. Upgrade lull in this ` +
      "process: an older release cannot use a database that a newer one has changed in this way.",
    { details: { stored: version, supported } },
  );
}

interface Server {
  encoding: string;
  fsync: boolean;
  synchronousCommit: string;
  standbys: string;
  hasSchema: boolean;
  hasTable: boolean;
}

function serverOf([row]: Row[]): Server {
  const [, encoding, fsync, , synchronousCommit, standbys, hasSchema, hasTable] = row ?? [];
  return {
    encoding: String(encoding),
    fsync: fsync === "on",
    synchronousCommit: String(synchronousCommit),
    standbys: String(standbys).trim(),
    hasSchema: integer(hasSchema) === 1,
    hasTable: integer(hasTable) === 1,
  };
}

/** What the server's settings, as they were when the store was opened, promise of an acknowledged write. */
function durabilityOf({ fsync, synchronousCommit, standbys }: Server, inMemory: boolean): Durability {
  if (inMemory) return { class: "memory", note: "A Postgres inside this process, in memory; gone when it ends." };
  if (!fsync) {
    const note = "fsync is off: a crash of the operating system may lose or damage everything.";
    return { class: "memory", note };
  }
  if (synchronousCommit === "off") {
    const note = "synchronous_commit is off: a crash of the server may lose the last second or so, never more.";
    return { class: "bounded", note };
  }
  if (synchronousCommit !== "local" && standbys !== "") {
    const where = synchronousCommit === "remote_write" ? "in the memory" : "on the disk";
    const note = `Acknowledged once on the primary's disk and ${where} of the standbys it waits for (${standbys}).`;
    return { class: "replicated", note };
  }
  const note =
    "Every acknowledged write is synced to the primary's disk. It waits for no standby: a failover to one may lose " +
    "the last moments.";
  return { class: "disk", note };
}
