/**
 * A running server: settings → store, engine, routes, socket; and back again at shutdown.
 *
 * @module
 */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener, RequestError } from "@hono/node-server";
import { Lull, type LullOptions } from "lull";
import { createApp } from "./app/index.ts";
import { checkExposure, isLoopback, parseKeys } from "./auth.ts";
import { ConfigError } from "./config.ts";
import { createChannel } from "./deliver/index.ts";
import { createLogger, type Logger } from "./log.ts";
import { createMetrics } from "./metrics.ts";
import { Problem, problemBody, problemOf, problemResponse } from "./problem.ts";
import { createRespond } from "./respond/index.ts";
import { createSchemas } from "./schemas.ts";
import type { Config } from "./settings.ts";
import { openStore, storeProblem } from "./store.ts";

export interface Server {
  /** For example `http://127.0.0.1:8080`; the port is the real one. */
  url: string;
  /** The store and its durability, for people. */
  store: string;
  lull: Lull;
  log: Logger;
  /** Takes no more requests, lets running answers finish within `stopTimeoutMs`, hands leases back, closes the store. */
  stop(): Promise<void>;
}

/** The engine's options from the server's settings. Pure. */
export function lullOptions(config: Config): Omit<LullOptions, "store" | "respond" | "deliver" | "logger"> {
  const given = <K extends string, V>(key: K, value: V | undefined) =>
    value === undefined ? {} : ({ [key]: value } as { [P in K]: V });
  return {
    debounce: { quietMs: config.quietMs, ...given("startMs", config.startMs), ...given("maxWaitMs", config.maxWaitMs) },
    whenBusy: config.whenBusy,
    lease: { leaseMs: config.leaseMs, turnTimeoutMs: config.turnTimeoutMs, ...given("renewMs", config.renewMs) },
    limits: {
      typingMs: config.typingMs,
      incompleteMs: config.incompleteMs,
      maxPending: config.maxPending,
      maxTextBytes: config.maxTextBytes,
      maxParts: config.maxParts,
      maxSends: config.maxSends,
      maxRestarts: config.maxRestarts,
      maxFailures: config.maxFailures,
      maxHandoffMs: config.maxHandoffMs,
      deliverMaxMs: config.deliverMaxMs,
      repliesPerHour: config.repliesPerHour,
      seenMs: config.seenMs,
    },
    commands: { stop: config.stopWords, reset: config.resetWords },
    editAfterAnswer: config.editAfterAnswer,
    backoff: { firstMs: config.backoffFirstMs, maxMs: config.backoffMaxMs },
    deliverBackoff: { firstMs: config.deliverBackoffFirstMs, maxMs: config.deliverBackoffMaxMs },
    scanMs: config.scanMs,
    concurrency: config.concurrency,
    ...(config.backlogMaxAgeMs === undefined
      ? {}
      : // biome-ignore lint/suspicious/noThenProperty: a word, not a function; the object is never awaited
        { backlog: { maxAgeMs: config.backlogMaxAgeMs, then: config.backlogThen } }),
    ...given("history", historyOf(config)),
    ...given("fallback", config.fallback),
    ...given("owner", config.owner),
  };
}

const day = 86_400_000;

function historyOf({ historyKeepMs, historyDays }: Config): { keepMs: number } | undefined {
  const keepMs = historyKeepMs ?? (historyDays === undefined ? undefined : historyDays * day);
  return keepMs === undefined ? undefined : { keepMs };
}

/**
 * Starts everything. Nothing listens before the store answers.
 * @throws ConfigError for settings that cannot work, with what to do about it.
 */
export async function createServer(config: Config, log: Logger = createLogger(config.logLevel)): Promise<Server> {
  const keys = parseKeys(config.apiKeys);
  checkExposure(config.host, keys);
  const respond = createRespond(config);
  const deliver = createChannel(config, log);
  const { store, title } = await openStore(config, log);
  let lull: Lull;
  try {
    lull = new Lull({
      store,
      deliver,
      logger: log,
      ...(respond === undefined ? {} : { respond }),
      ...lullOptions(config),
    });
    await lull.ready();
  } catch (error) {
    await store.close();
    if ((error as { code?: unknown }).code === "invalid-options") throw new ConfigError([(error as Error).message]);
    throw storeProblem(error, title);
  }

  const closing = new AbortController();
  const metrics = createMetrics(lull);
  const app = createApp({ lull, config, keys, metrics, log, schemas: createSchemas(config), closing: closing.signal });
  const listener = http.createServer(
    getRequestListener(app.fetch, {
      overrideGlobalObjects: false,
      // Only what never reaches the application: a host or a target that is no address.
      errorHandler: (error) =>
        problemResponse(
          error instanceof RequestError
            ? new Problem(400, "invalid-argument", "The request line or its host is malformed.", { field: "path" })
            : problemOf(error),
        ),
    }),
  );
  listener.on("clientError", answerClientError);

  try {
    await lull.start();
    await listen(listener, config);
  } catch (error) {
    metrics.stop();
    await lull.stop({ timeoutMs: 0 });
    await store.close();
    throw error;
  }
  const { port } = listener.address() as AddressInfo;
  const shown =
    isLoopback(config.host) || (config.host !== "0.0.0.0" && config.host !== "::") ? config.host : "localhost";

  let stopping: Promise<void> | null = null;
  const stop = async () => {
    const closed = new Promise<void>((resolve) => {
      listener.close(() => resolve());
    });
    closing.abort();
    // Kept connections become idle one by one, as their last answer ends.
    const idle = setInterval(() => listener.closeIdleConnections(), 50);
    await lull.stop({ timeoutMs: config.stopTimeoutMs });
    const slow = setTimeout(() => listener.closeAllConnections(), 2_000);
    await closed;
    clearTimeout(slow);
    clearInterval(idle);
    metrics.stop();
    await store.close();
  };
  return {
    url: `http://${shown.includes(":") && !shown.startsWith("[") ? `[${shown}]` : shown}:${port}`,
    store: `${title}, durability "${store.durability.class}": ${store.durability.note}`,
    lull,
    log,
    stop: () => (stopping ??= stop()),
  };
}

function listen(listener: http.Server, config: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => {
      const why =
        error.code === "EADDRINUSE"
          ? `Port ${config.port} is in use already. Stop the other program, or choose another port: --port 0 takes a free one.`
          : error.code === "EACCES"
            ? `Port ${config.port} needs more rights than this process has; ports from 1024 on do not.`
            : `Cannot listen on ${config.host}:${config.port}: ${error.message}.`;
      reject(new ConfigError([why]));
    };
    listener.once("error", fail);
    listener.listen(config.port, config.host.replace(/^\[(.*)\]$/, "$1"), () => {
      listener.off("error", fail);
      resolve();
    });
  });
}

/** Bytes that are no HTTP: still a problem, by hand, because there is no request to answer. */
function answerClientError(error: NodeJS.ErrnoException, socket: import("node:stream").Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = error.code === "HPE_HEADER_OVERFLOW" ? 431 : 400;
  const body = JSON.stringify(
    problemBody(new Problem(status, "invalid-argument", "The request is not valid HTTP.", { field: "request" })),
  );
  socket.end(
    `HTTP/1.1 ${status} ${status === 431 ? "Request Header Fields Too Large" : "Bad Request"}\r\ncontent-type: application/problem+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
