import { ConfigError, loadConfig, type Sources } from "../config.ts";
import { createLogger } from "../log.ts";
import { createServer, type Server } from "../server.ts";
import type { Config } from "../settings.ts";
import { redacted } from "../webhook.ts";
import { CliError } from "./client.ts";
import { hasColour, paint } from "./terminal.ts";

/** `lull serve`: runs until SIGTERM or SIGINT. */
export async function serve(sources: Sources): Promise<void> {
  const { config, warnings, file } = await loadConfig(sources).catch(refuse);
  const log = createLogger(config.logLevel);
  for (const warning of warnings) log.warn({}, warning);
  const server = await createServer(config, log).catch(refuse);
  announce(server, config, file);
  stopOnSignals(server, config.stopTimeoutMs);
  reloadOnSignal(server, sources);
}

/** SIGHUP: the settings are read again, and taken over whole or not at all. */
function reloadOnSignal(server: Server, sources: Sources): void {
  let last = Promise.resolve();
  process.on("SIGHUP", () => {
    last = last.then(async () => {
      try {
        const { config, warnings } = await loadConfig(sources);
        for (const warning of warnings) server.log.warn({}, warning);
        await server.reload(config);
        const bots = ["", ...Object.keys(config.bots ?? {})];
        server.log.info({ bots }, "settings were read again and are in force; running turns end under the former ones");
      } catch (error) {
        const problems = error instanceof ConfigError ? error.problems : [(error as Error).message];
        server.log.error(
          { problems },
          "the settings were NOT taken over, because of all of this; the former ones stay",
        );
      }
    });
  });
}

/** Settings that cannot work are a person's to repair: said plainly, without a stack. */
function refuse(error: unknown): never {
  if (error instanceof ConfigError)
    throw new CliError(error.problems.map((problem) => `lull: ${problem}`).join("\n"), 2);
  throw error;
}

function announce(server: Server, config: Config, file: string | null): void {
  const { bold, dim, cyan } = paint(hasColour(process.stdout));
  // Scripts read this line to learn the port.
  console.log(`lull-server listening on ${server.url}`);
  const row = (name: string, text: string) => console.log(`  ${dim(name.padEnd(8))} ${text}`);
  if (server.adminUrl !== null) row("admin", server.adminUrl);
  for (const { title, url } of server.channels) row(title.toLowerCase(), `webhook ${url} (signatures are checked)`);
  row("store", server.store);
  row("answers", answersText(config));
  row("replies", repliesText(config));
  row("keys", config.apiKeys.length === 0 ? "none: only this machine is served" : `${config.apiKeys.length}`);
  if (config.bots !== undefined) row("bots", `the server's own, and ${Object.keys(config.bots).join(", ")}`);
  if (file !== null) row("settings", file);
  const key = config.apiKeys.length === 0 ? "" : " -H 'authorization: Bearer YOUR_KEY'";
  console.log(`\n  ${bold("Try it:")} open ${cyan(`${server.url}/`)} and write a few short messages, or`);
  console.log(
    `  ${cyan(`curl '${server.url}/v1/messages?wait=60'${key} -H 'content-type: application/json' -d '{"conversation":"me","text":"hi"}'`)}\n`,
  );
}

function answersText(config: Config): string {
  switch (config.respond) {
    case "demo":
      return "demo responder, no model; set LULL_RESPOND=openai or a webhook to connect one";
    case "openai":
      return `${config.model} (OpenAI-compatible)`;
    case "none":
      return "nobody in this process: it only receives";
    default:
      return `webhook ${redacted(config.respond)}${unsigned(config)}`;
  }
}

function repliesText(config: Config): string {
  return config.deliver === "events"
    ? "read by clients: GET /v1/conversations/{id}/events, or ?wait= when they send"
    : `posted to webhook ${redacted(config.deliver)}${unsigned(config)}`;
}

function unsigned(config: Config): string {
  const signed = config.webhookSecret.length > 0 || config.webhookAuthorization !== undefined;
  return signed ? "" : " (not signed: `lull secret` makes a webhookSecret)";
}

function stopOnSignals(server: Server, stopTimeoutMs: number): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) {
      server.log.warn({ signal }, "stopping at once; leases run out by themselves");
      process.exit(1);
    }
    stopping = true;
    // A store or a program of the author's that does not let go must not outlast the time.
    setTimeout(() => {
      server.log.error({ stopTimeoutMs }, "did not stop in time; what was running is found by its lease");
      process.exit(1);
    }, stopTimeoutMs).unref();
    server.log.info({ signal }, "stopping: no new requests, running answers are finished or handed back");
    server.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        server.log.error({ err: (error as Error).message }, "could not stop cleanly");
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
}
