/**
 * A running server: settings → store, engine, routes, socket; and back again at shutdown.
 *
 * @module
 */
import { Lull, type LullOptions, memory, type Store } from "lull";
import { createApp } from "./app/index.ts";
import { checkExposure } from "./auth.ts";
import { type Bots, createBots, debounceOf } from "./bots/index.ts";
import { type Channels, createChannels } from "./channels/index.ts";
import { ConfigError } from "./config.ts";
import { engines } from "./engines.ts";
import { createHealth } from "./health/index.ts";
import { type Listener, openListener, type Place } from "./listener.ts";
import { createLogger, type Logger } from "./log.ts";
import { createMetrics } from "./metrics.ts";
import { createSchemas } from "./schemas.ts";
import type { Config } from "./settings.ts";
import { openStore, storeProblem } from "./store.ts";
import { createSurveys } from "./survey.ts";
import { troubleWatcher } from "./troubles.ts";
import { createDrafts, type Drafts } from "./visitors/drafts.ts";
import { chatSettings } from "./visitors/settings.ts";

export interface Server {
  /** For example `http://127.0.0.1:8080`; the port is the real one. */
  url: string;
  /** The same for operators, if there is a second port. */
  adminUrl: string | null;
  /** Chat platforms that are listened on, and where their webhooks go. */
  channels: { title: string; url: string }[];
  /** The store and its durability, for people. */
  store: string;
  /** The engine of the newest settings. */
  readonly lull: Lull;
  log: Logger;
  /**
   * Takes on other settings, whole or not at all: what is new follows them, and turns that run end as they began.
   * @throws ConfigError naming everything that is wrong, or that only a restart can change; then nothing has changed
   */
  reload(config: Config): Promise<void>;
  /**
   * Takes no more requests, lets running answers finish, hands leases back, closes the store: all of it within
   * `stopTimeoutMs` as far as the store answers.
   */
  stop(): Promise<void>;
}

/** The engine's options from the server's settings. Pure. */
export function lullOptions(config: Config): Omit<LullOptions, "store" | "respond" | "deliver" | "logger"> {
  const given = <K extends string, V>(key: K, value: V | undefined) =>
    value === undefined ? {} : ({ [key]: value } as { [P in K]: V });
  return {
    debounce: debounceOf(config),
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
  const channels = await createChannels(config, log);
  const drafts = createDrafts();
  const first = prepare(config, log, channels, drafts);
  const { store, title, scrub } = await openStore(config, log);
  let running: ReturnType<typeof engines>;
  try {
    running = engines(store, first.engine);
    await running.current.ready();
  } catch (error) {
    await store.close();
    throw storeProblem(error, title);
  }

  channels.bind(() => running.current);
  const closing = new AbortController();
  const surveys = createSurveys(running);
  const metrics = createMetrics(running, surveys);
  const health = createHealth(running, surveys);
  running.on(troubleWatcher(log));
  let replaced = new AbortController();
  /** One for each port. */
  const apps: { adminElsewhere: boolean; app: ReturnType<typeof createApp> }[] = [];
  const appOf = (config: Config, { keys }: Bots, adminElsewhere: boolean) => {
    const signals = { closing: closing.signal, replaced: replaced.signal };
    const { current: lull } = running;
    return createApp({
      lull,
      config,
      keys,
      metrics,
      health,
      log,
      schemas: createSchemas(config),
      scrub,
      channels,
      drafts,
      adminElsewhere,
      ...signals,
    });
  };
  const listeners: Listener[] = [];
  const close = () => Promise.all(listeners.map((listener) => listener.close()));
  const cut = () => {
    for (const listener of listeners) listener.cut();
  };

  try {
    // Before anything is claimed.
    if (config.startPaused === "on") await running.current.pauseAll({ by: "startPaused" });
    await running.current.start();
    const { host, port, adminHost, adminPort } = config;
    const open = async (place: Place, adminElsewhere: boolean) => {
      const served = { adminElsewhere, app: appOf(config, first.bots, adminElsewhere) };
      apps.push(served);
      // Looked up for each request: other settings have another application.
      const fetch = (...request: Parameters<typeof served.app.fetch>) => served.app.fetch(...request);
      listeners.push(await openListener({ fetch }, place, config));
    };
    await open({ setting: "port", host, port }, adminPort !== undefined);
    if (adminPort !== undefined) await open({ setting: "adminPort", host: adminHost, port: adminPort }, false);
    void channels.start();
  } catch (error) {
    metrics.stop();
    health.stop();
    cut();
    await close();
    await running.stop({ timeoutMs: 0 });
    await store.close();
    throw error;
  }

  let inForce = config;
  let stopping: Promise<void> | null = null;
  const stop = async () => {
    closing.abort();
    const { drainMs, settleMs, closeMs } = stopTimes(config.stopTimeoutMs);
    const closed = close();
    await running.stop({ timeoutMs: drainMs, settleMs });
    const slow = setTimeout(cut, closeMs);
    await closed;
    clearTimeout(slow);
    metrics.stop();
    health.stop();
    await channels.close();
    await store.close();
  };
  return {
    url: (listeners[0] as Listener).url,
    adminUrl: listeners[1]?.url ?? null,
    channels: channels.names.map(({ name, title }) => ({
      title,
      url: `${(listeners[0] as Listener).url}/channels/${name}`,
    })),
    store: `${title}, durability "${store.durability.class}": ${store.durability.note}`,
    get lull() {
      return running.current;
    },
    log,
    async reload(next) {
      if (stopping !== null) return;
      const problems = fixed
        .filter((name) => String(next[name]) !== String(inForce[name]))
        .map((name) => `${name} cannot be changed while the server runs: restart it.`);
      let prepared: ReturnType<typeof prepare> | undefined;
      try {
        prepared = prepare(next, log, channels, drafts);
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        problems.push(...error.problems);
      }
      if (problems.length > 0 || prepared === undefined) throw new ConfigError(problems);
      const { bots, engine } = prepared;
      const lull = engine(running.storeFor());
      await lull.start();
      running.replace(lull);
      inForce = next;
      const before = replaced;
      replaced = new AbortController();
      for (const served of apps) served.app = appOf(next, bots, served.adminElsewhere);
      before.abort();
    },
    stop: () => (stopping ??= stop()),
  };
}

/** What was opened at the start: a store, ports, the log. */
const fixed = [
  "port",
  "host",
  "adminPort",
  "adminHost",
  "store",
  "storeSchema",
  "storeConnections",
  "storeTimeoutMs",
  "storeHints",
  "maxHeaderBytes",
  "requestTimeoutMs",
  "maxConnections",
  "stopTimeoutMs",
  "owner",
  "logLevel",
  "channels",
] as const satisfies readonly (keyof Config)[];

/**
 * Everything that follows from settings alone, made before anything changes.
 * @throws ConfigError with everything that is wrong
 */
function prepare(
  config: Config,
  log: Logger,
  channels: Channels,
  drafts: Drafts,
): { bots: Bots; engine(store: Store): Lull } {
  const options = lullOptions(config);
  // A platform's message keeps the platform's own JSON beside it.
  if (channels.names.length > 0) options.limits = { ...options.limits, maxAddressBytes: 262_144 };
  const bots = createBots(config, log, options.limits ?? {});
  checkExposure(config.host, bots.keys);
  if (config.adminPort !== undefined) checkExposure(config.adminHost, bots.keys);
  chatSettings(config);
  const { respond, deliver } = bots;
  const engine = (store: Store) =>
    new Lull({
      store,
      deliver: drafts.with(channels.with(deliver)),
      logger: log,
      ...(respond === undefined ? {} : { respond: channels.fitting(respond) }),
      ...options,
      ...bots.options,
    });
  try {
    engine(memory());
  } catch (error) {
    if ((error as { code?: unknown }).code === "invalid-options") throw new ConfigError([(error as Error).message]);
    throw error;
  }
  return { bots, engine };
}

/** How the time to stop is spent: answers finish, receipts come in, connections close. Pure. */
export function stopTimes(stopTimeoutMs: number): { drainMs: number; settleMs: number; closeMs: number } {
  const closeMs = Math.min(1_000, Math.floor(stopTimeoutMs / 10));
  // Most answers that can be finished are finished soon; a part on its way is worth some of the time in any case.
  const settleMs = Math.min(5_000, Math.floor(stopTimeoutMs / 4));
  return { drainMs: stopTimeoutMs - settleMs - closeMs, settleMs, closeMs };
}
