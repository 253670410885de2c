// Private PostgreSQL servers and PgBouncers for tests and benches.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import pg from "pg";
import { freePort, serverFolder, startProgram, untilReady, userFor } from "./process.mjs";

/** Debian keeps each version's programs off the PATH. */
const debian = "/usr/lib/postgresql";

/** The folder with the newest `initdb` and `postgres` of this machine, or null. */
export function postgresPrograms() {
  const folders = [
    ...(process.env.LULL_TEST_POSTGRES_BIN ?? "").split(delimiter),
    ...(existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []).map((version) =>
      join(debian, version, "bin"),
    ),
    ...(process.env.PATH ?? "").split(delimiter),
  ];
  const programs = ["initdb", "postgres"];
  const complete = (/** @type {string} */ folder) => programs.every((name) => existsSync(join(folder, name)));
  return folders.find((folder) => folder !== "" && complete(folder)) ?? null;
}

/** Why tests with PostgreSQL cannot run here, or null. */
export function postgresMissing() {
  if (postgresPrograms() === null) return "no PostgreSQL server on this machine (Debian: apt-get install postgresql)";
  if (userFor("postgres") === null) return "PostgreSQL does not run as root, and there is no user postgres";
  if (bouncerProgram() === null) return "no PgBouncer on this machine (Debian: apt-get install pgbouncer)";
  return null;
}

function bouncerProgram() {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin"];
  return folders.map((folder) => join(folder, "pgbouncer")).find((path) => existsSync(path)) ?? null;
}

/**
 * @typedef {object} PostgresServer
 * @property {string} url of a database named postgres; no password
 * @property {number} port
 * @property {string} data its folder
 * @property {string} disk the folder above it: all of the disk, if it has one of its own
 * @property {number} pid
 * @property {(sql: string) => Promise<Record<string, unknown>[]>} run a statement, on a connection of its own
 * @property {(mode?: "fast" | "immediate") => Promise<void>} stop "immediate" is a crash
 * @property {() => Promise<void>} start after `stop`
 * @property {() => Promise<void>} end stops it and removes its files
 */

/**
 * A new server with nothing in it. Without `settings` it syncs as PostgreSQL does by default. `diskMegabytes`: on a disk
 * of its own, in memory and so small (only root may do so: see `mayMount`).
 * @param {{ settings?: Record<string, string | number>, diskMegabytes?: number }} [options]
 * @returns {Promise<PostgresServer>}
 */
export async function startPostgres({ settings = {}, diskMegabytes } = {}) {
  const programs = postgresPrograms();
  const user = userFor("postgres");
  if (programs === null || user === null) throw new Error(postgresMissing() ?? "no PostgreSQL");
  const folder = serverFolder("postgres", user, diskMegabytes);
  const data = join(folder.path, "data");
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const env = { PATH: process.env.PATH ?? "", LC_ALL: "C" };
  execFileSync(
    join(programs, "initdb"),
    ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
    { ...user, env, cwd: folder.path, stdio: "pipe" },
  );
  /** @type {Record<string, string | number>} */
  const all = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    max_connections: 200,
    shared_buffers: "128MB",
    ...settings,
  };
  const args = ["-D", data, ...Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
  /** @type {ReturnType<typeof startProgram>} */
  let program;
  const as = user;

  /** @param {string} sql */
  async function run(sql) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
    client.on("error", () => {});
    await client.connect();
    try {
      const results = await client.query(sql);
      return [results].flat().at(-1)?.rows ?? [];
    } finally {
      await client.end().catch(() => {});
    }
  }

  async function start() {
    program = startProgram(join(programs ?? "", "postgres"), args, { user: as, cwd: folder.path });
    await untilReady(program, () => run("select 1"));
  }

  /** @param {"fast" | "immediate"} mode */
  async function stop(mode = "fast") {
    program.child.kill(mode === "fast" ? "SIGINT" : "SIGQUIT");
    await program.ended;
  }

  await start();
  return {
    url,
    port,
    data,
    disk: folder.path,
    get pid() {
      return program.child.pid ?? 0;
    },
    run,
    stop,
    start,
    async end() {
      await stop("immediate");
      folder.remove();
    },
  };
}

/**
 * A PgBouncer in transaction mode before a server.
 * @param {{ port: number }} server
 * @param {{ poolSize?: number }} [options]
 */
export async function startPgBouncer(server, { poolSize = 5 } = {}) {
  const path = bouncerProgram();
  const user = userFor("postgres");
  if (path === null || user === null) throw new Error(postgresMissing() ?? "no PgBouncer");
  const folder = serverFolder("pgbouncer", user);
  const port = await freePort();
  const settings = join(folder.path, "pgbouncer.ini");
  writeFileSync(
    settings,
    `[databases]
postgres = host=127.0.0.1 port=${server.port} dbname=postgres user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 500
ignore_startup_parameters = extra_float_digits
`,
    { mode: 0o644 },
  );
  const program = startProgram(path, [settings], { user, cwd: folder.path });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await untilReady(program, async () => {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
    client.on("error", () => {});
    await client.connect();
    await client.query("select 1");
    await client.end();
  });
  return {
    url,
    port,
    async end() {
      program.child.kill("SIGKILL");
      await program.ended;
      folder.remove();
    },
  };
}
