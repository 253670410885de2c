/**
 * The HTTP application over a real engine on the memory store, without a socket.
 *
 * @module
 */
import { Lull, type LullOptions, memory, type Respond } from "lull";
import { onTestFinished } from "vitest";
import { createApp } from "../../src/app/index.ts";
import { parseKeys } from "../../src/auth.ts";
import { loadConfig } from "../../src/config.ts";
import { createHealth } from "../../src/health/index.ts";
import { silent } from "../../src/log.ts";
import { createMetrics } from "../../src/metrics.ts";
import { createSchemas } from "../../src/schemas.ts";
import { lullOptions } from "../../src/server.ts";

export interface TestAppOptions {
  /** Settings as flags. Defaults here: quiet 60 ms. */
  flags?: Record<string, string>;
  respond?: Respond | null;
  deliver?: LullOptions["deliver"];
  /** The folder with the built pages. */
  web?: string;
  /** Stands in for the engine. */
  lull?: Partial<Lull>;
}

export async function testApp(options: TestAppOptions = {}) {
  const { config } = await loadConfig({
    env: {},
    cwd: import.meta.dirname,
    flags: { quietMs: "60", startMs: "0", scanMs: "50", store: "memory:", ...options.flags },
  });
  const respond: Respond = (turn) => `answer to ${turn.messages.length}`;
  const store = memory();
  const lull =
    (options.lull as Lull | undefined) ??
    new Lull({
      store,
      ...lullOptions(config),
      ...(options.respond === null ? {} : { respond: options.respond ?? respond }),
      deliver: options.deliver ?? (async () => ({ status: "sent" })),
    });
  const closing = new AbortController();
  const metrics = createMetrics({
    on: lull.on?.bind(lull) ?? (() => () => {}),
    stats: lull.stats?.bind(lull) ?? (() => store.stats()),
    list: lull.list?.bind(lull) ?? (async () => ({ conversations: [], next: null, nowMs: 0 })),
    paused: false,
    working: 0,
  });
  const health = createHealth(
    { on: lull.on?.bind(lull) ?? (() => () => {}), stats: async () => lull.stats(), working: 0, current: lull },
    async () => null,
  );
  const app = createApp({
    lull,
    config,
    health,
    keys: parseKeys(config.apiKeys),
    metrics,
    log: silent,
    schemas: createSchemas(config),
    closing: closing.signal,
    scrub: async () => null,
    adminElsewhere: false,
    ...(options.web === undefined ? {} : { web: options.web }),
  });
  await lull.start?.();
  onTestFinished(async () => {
    closing.abort();
    metrics.stop();
    health.stop();
    await lull.stop?.({ timeoutMs: 0 });
  });
  const request = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    app.request(path, {
      method,
      headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    }) as Promise<Response>;
  return { app, lull, config, store, closing, request };
}

/** The JSON of a response, loosely typed for tests. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
export async function json(response: Response): Promise<any> {
  return response.json();
}
