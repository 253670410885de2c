/**
 * A socket that serves the application: what a client may send, for how long, and how it is let go.
 *
 * @module
 */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener, RequestError } from "@hono/node-server";
import type { Hono } from "hono";
import type { Env } from "./app/deps.ts";
import { isLoopback } from "./auth.ts";
import { ConfigError } from "./config.ts";
import { Problem, problemBody, problemOf, problemResponse } from "./problem.ts";
import type { Config } from "./settings.ts";

export interface Listener {
  /** For example `http://127.0.0.1:8080`; the port is the real one. */
  url: string;
  /** Takes no more connections; those that are open end with their last answer. Resolves when all have. */
  close(): Promise<void>;
  /** Ends those that are left. */
  cut(): void;
}

export interface Place {
  /** Names of the two settings, for messages. */
  setting: "port" | "adminPort";
  host: string;
  port: number;
}

/** Headers are short: whoever needs longer for them holds a connection open on purpose. */
const headersMs = 10_000;
/** Longer than proxies keep idle connections (60 s, nginx and most load balancers): so they close first, never we. */
const keepAliveMs = 65_000;

/**
 * Listens. Node's parser refuses what proxies and servers could read differently (two lengths, a length beside chunks,
 * bare line feeds, spaces before colons): it is told to be strict, whatever NODE_OPTIONS say.
 * @throws ConfigError naming the setting when the place cannot be had
 */
export async function openListener(app: Pick<Hono<Env>, "fetch">, place: Place, config: Config): Promise<Listener> {
  const server = http.createServer(
    {
      insecureHTTPParser: false,
      requireHostHeader: true,
      maxHeaderSize: config.maxHeaderBytes,
      headersTimeout: Math.min(headersMs, config.requestTimeoutMs),
      requestTimeout: config.requestTimeoutMs,
      connectionsCheckingInterval: Math.min(1_000, config.requestTimeoutMs),
      keepAliveTimeout: keepAliveMs,
    },
    getRequestListener((request, env) => app.fetch(request, env), {
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
  server.maxConnections = config.maxConnections;
  server.on("clientError", answerClientError);
  await listen(server, place);
  const { port } = server.address() as AddressInfo;
  const { host } = place;
  const shown = isLoopback(host) || (host !== "0.0.0.0" && host !== "::") ? host : "localhost";
  return {
    url: `http://${shown.includes(":") && !shown.startsWith("[") ? `[${shown}]` : shown}:${port}`,
    async close() {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      // Kept connections become idle one by one, as their last answer ends.
      const idle = setInterval(() => server.closeIdleConnections(), 50);
      await closed;
      clearInterval(idle);
    },
    cut: () => server.closeAllConnections(),
  };
}

function listen(listener: http.Server, { setting, host, port }: Place): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => {
      const why =
        error.code === "EADDRINUSE"
          ? `Port ${port} (${setting}) is in use already. Stop the other program, or choose another port: 0 takes a free one.`
          : error.code === "EACCES"
            ? `Port ${port} needs more rights than this process has; ports from 1024 on do not.`
            : `Cannot listen on ${host}:${port}: ${error.message}.`;
      reject(new ConfigError([why]));
    };
    listener.once("error", fail);
    listener.listen(port, host.replace(/^\[(.*)\]$/, "$1"), () => {
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
