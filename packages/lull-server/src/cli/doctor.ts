import { createServer } from "node:net";
import { Lull, memory } from "lull";
import { checkExposure, isLoopback, parseKeys } from "../auth.ts";
import { createBots } from "../bots/index.ts";
import { ConfigError, loadConfig, type Sources } from "../config.ts";
import { createChannel } from "../deliver/index.ts";
import { sqliteDriver } from "../driver.ts";
import { silent } from "../log.ts";
import { createRespond } from "../respond/index.ts";
import { lullOptions } from "../server.ts";
import { type Config, type SettingName, settingNames, settings } from "../settings.ts";
import { openStore, placeOf, placeTitle } from "../store.ts";
import { CliError } from "./client.ts";
import { hasColour, paint, plain } from "./terminal.ts";

type Verdict = "ok" | "warn" | "bad";

/** `lull doctor`: tries everything a start needs, without starting, and says what to do. */
export async function doctor(sources: Sources): Promise<void> {
  const { green, yellow, red, dim } = paint(hasColour(process.stdout));
  const marks = { ok: green("ok  "), warn: yellow("look"), bad: red("BAD ") };
  let failures = 0;
  const tell = (verdict: Verdict, text: string) => {
    if (verdict === "bad") failures += 1;
    console.log(`${marks[verdict]}  ${plain(text)}`);
  };
  /** Runs a check; a ConfigError is what to tell, anything else too. */
  const attempt = async (check: () => Promise<string> | string): Promise<void> => {
    try {
      tell("ok", await check());
    } catch (error) {
      for (const problem of error instanceof ConfigError ? error.problems : [(error as Error).message])
        tell("bad", problem);
    }
  };

  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  tell(
    major > 20 || (major === 20 && minor >= 15) ? "ok" : "bad",
    `Node ${process.versions.node}; 20.15 or newer is needed`,
  );

  let config: Config;
  try {
    const loaded = await loadConfig(sources);
    config = loaded.config;
    for (const warning of loaded.warnings) tell("warn", warning);
    const set = settingNames.filter((name) => loaded.origins[name] !== undefined);
    tell("ok", `settings: ${loaded.file ?? "no configuration file"}; ${set.length} set, the rest are defaults`);
    for (const name of set)
      console.log(dim(`        ${name} = ${shown(name, config)}  (${plain(loaded.origins[name] ?? "")})`));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const problem of error.problems) tell("bad", problem);
    throw new CliError(`${failures} thing${failures === 1 ? "" : "s"} to repair.`);
  }

  await attempt(() => {
    new Lull({ store: memory(), ...lullOptions(config) });
    return `times and limits fit together: quiet ${config.quietMs} ms, lease ${config.leaseMs} ms`;
  });
  await attempt(() => {
    const keys = parseKeys(config.apiKeys);
    checkExposure(config.host, keys);
    if (config.adminPort !== undefined) checkExposure(config.adminHost, keys);
    return keys.length === 0
      ? "no keys: only this machine is served"
      : `keys: ${keys.map((key) => `${key.name} (${[...key.roles].join("+")})`).join(", ")}`;
  });
  await attempt(async () => {
    const place = placeOf(config.store);
    if (place.kind === "sqlite") tell("ok", `SQLite driver: ${(await sqliteDriver()).name}`);
    const { store, title } = await openStore(config, silent);
    try {
      const { conversations } = await store.stats();
      if (store.durability.class === "memory")
        tell("warn", "the store is memory: everything is lost when the server stops");
      return `store: ${title}, ${store.durability.class} durability, ${conversations} conversations`;
    } finally {
      await store.close();
    }
  });
  if (config.bots !== undefined)
    await attempt(() => {
      createBots(config, silent, {});
      return `bots: the server's own, and ${Object.keys(config.bots ?? {}).join(", ")}`;
    });
  await attempt(async () => portText(config));
  await attempt(() => {
    createRespond(config);
    warnPlainHttp(config, "respond", tell);
    return config.respond === "demo"
      ? "answers: demo (no model)"
      : `answers: ${config.respond === "openai" ? config.model : config.respond === "none" ? "none" : "webhook"}`;
  });
  await attempt(() => {
    createChannel(config, silent);
    warnPlainHttp(config, "deliver", tell);
    return `delivery: ${config.deliver === "events" ? "events" : "webhook"}`;
  });

  if (failures > 0) throw new CliError(`${failures} thing${failures === 1 ? "" : "s"} to repair.`);
  console.log("\nReady: lull serve");
}

function shown(name: SettingName, config: Config): string {
  const spec = settings[name] as { secret?: true };
  if (spec.secret) return "(secret)";
  if (name === "store") return placeTitle(placeOf(config.store), config);
  const value = config[name];
  return plain(Array.isArray(value) ? value.join(", ") : String(value)).slice(0, 80);
}

function portText(config: Config): Promise<string> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", (error: NodeJS.ErrnoException) => {
      reject(
        new ConfigError([
          error.code === "EADDRINUSE"
            ? `port ${config.port} is in use: a server may be running already. Otherwise choose another with --port.`
            : `cannot listen on ${config.host}:${config.port}: ${error.message}`,
        ]),
      );
    });
    probe.listen(config.port, config.host, () =>
      probe.close(() => resolve(config.port === 0 ? "port: a free one will be taken" : `port ${config.port} is free`)),
    );
  });
}

function warnPlainHttp(
  config: Config,
  name: "respond" | "deliver",
  tell: (verdict: Verdict, text: string) => void,
): void {
  const text = config[name];
  if (!/^http:/i.test(text)) return;
  const { hostname } = new URL(text);
  if (!isLoopback(hostname))
    tell(
      "warn",
      `${name}: http:// to ${hostname} sends messages unencrypted; use https:// unless the network is yours`,
    );
  else if (config.webhookSecret.length === 0)
    tell("warn", `${name}: calls are not signed; fine on this machine, set webhookSecret elsewhere`);
}
