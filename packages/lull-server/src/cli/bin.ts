#!/usr/bin/env node
/**
 * The command line of `lull` and `lull-server` (the same program; the latter serves when told nothing else).
 *
 * @module
 */
import { basename } from "node:path";
import { Command, CommanderError, Option } from "commander";
import type { Sources } from "../config.ts";
import { version } from "../openapi.ts";
import { defaultText, flagOf, mayBeFile, type SettingSpec, settingNames, settings, variableOf } from "../settings.ts";
import { CliError } from "./client.ts";

function withSettings(command: Command): Command {
  command.option(
    "--config <path>",
    "settings file (LULL_CONFIG); default: lull.config.{json,js,mjs} here, if there is one",
  );
  for (const name of settingNames) {
    const spec: SettingSpec = settings[name];
    const value =
      spec.kind === "integer"
        ? [name.endsWith("Ms") ? "ms" : "n", ...(spec.choices ?? [])].join("|")
        : spec.kind === "choice"
          ? (spec.choices ?? []).join("|")
          : spec.kind;
    const option = new Option(
      `--${flagOf(name)} <${value}>`,
      `${spec.doc} (default: ${defaultText(spec)}) [${sourcesOf(name, spec)}]`,
    );
    command.addOption(option.helpGroup(`${spec.group}:`));
    if (spec.formerly !== undefined) command.addOption(new Option(`--${flagOf(spec.formerly)} <${value}>`).hideHelp());
  }
  return command;
}

function sourcesOf(name: string, spec: SettingSpec): string {
  const variable = variableOf(name);
  return [variable, ...(mayBeFile(spec) ? [`${variable}_FILE`] : []), ...(spec.also ?? [])].join(", ");
}

function sourcesFrom(options: Record<string, string | undefined>): Sources {
  const { config, ...flags } = options;
  return { flags, ...(config === undefined ? {} : { file: config }) };
}

/** Secrets on a command line are visible to every user of the machine; flags for them work, with a word of warning in the help. */
const secretNote =
  "\nSettings are read in this order: flag, environment, file, default. Prefer variables or …_FILE for secrets: command lines are visible to others.";

function withServer(command: Command): Command {
  return command
    .addOption(new Option("--url <address>", "the running server").env("LULL_URL").default("http://127.0.0.1:8080"))
    .addOption(new Option("--key <secret>", "one of its keys").env("LULL_KEY"))
    .addOption(new Option("--bot <name>", "whose conversations, where a server has several bots").env("LULL_BOT"))
    .option("--json", "print JSON");
}

const program = new Command()
  .name("lull")
  .description("Makes a chat bot hear the user out and then answer once.")
  .version(version)
  .showHelpAfterError("(--help shows what there is)")
  .exitOverride();

const serve = withSettings(
  program.command("serve", { isDefault: basename(process.argv[1] ?? "").startsWith("lull-server") }),
)
  .description("run the server")
  .addHelpText("after", secretNote)
  .action(async (options) => (await import("./serve.ts")).serve(sourcesFrom(options)));

withServer(program.command("send <conversation> <text...>"))
  .description('hand in a message; "-" reads it from standard input')
  .option("--id <id>", "the message's own id: the same one twice is one message")
  .option("--author <name>", "who wrote it")
  .option("--wait <seconds>", "wait for the answer")
  .action(async (conversation, text, options) => (await import("./send.ts")).send(conversation, text, options));

withServer(program.command("show <conversation>"))
  .description("where a conversation stands")
  .option("--log <n>", "log entries to show", "20")
  .action(async (conversation, options) => (await import("./show.ts")).show(conversation, options));

withServer(program.command("watch [conversation]"))
  .description("events as they happen, of one conversation or of all")
  .option("--after <seq>", "begin after this event; default: now")
  .action(async (conversation, options) => (await import("./watch.ts")).watch(conversation, options));

withServer(program.command("explain <conversation>"))
  .description("what a conversation is doing and why")
  .action(async (conversation, options) => (await import("./explain.ts")).explain(conversation, options));

withSettings(program.command("doctor"))
  .description("check settings, store, port, webhooks, without starting")
  .action(async (options) => (await import("./doctor.ts")).doctor(sourcesFrom(options)));

withServer(program.command("pause"))
  .description("every process on the store takes no new turn and delivers nothing anew; receiving goes on")
  .option("--reason <text>", "why, for whoever looks")
  .option("--by <name>", "who does it")
  .action(async (options) => (await import("./pause.ts")).pause(options));

withServer(program.command("unpause"))
  .description("lift that pause")
  .option("--drop-waiting", "what had waited when the pause began is not answered: after a restored backup")
  .option("--by <name>", "who does it")
  .action(async (options) => (await import("./pause.ts")).unpause(options));

withServer(program.command("retry [conversation]"))
  .description("bring turns that were given up back to be answered")
  .option("--parked", "in all conversations")
  .option("--prefix <text>", "with --parked: only in those whose ids begin so")
  .option("--by <name>", "who does it")
  .action(async (conversation, options) => (await import("./retry.ts")).retry(conversation, options));

withServer(program.command("erase [conversation]"))
  .description("remove a conversation, or all that one author wrote, and every trace in the database file")
  .option("--author <name>", "what this author wrote, in all conversations")
  .option("--prefix <text>", "with --author: only in those whose ids begin so")
  .option("--no-scrub", "leave traces in the file for a later `lull scrub`")
  .action(async (conversation, options) => (await import("./erase.ts")).erase(conversation, options));

withSettings(program.command("backup [file]"))
  .description("copy the SQLite database while servers use it")
  .action(async (file, options) => (await import("./backup.ts")).backup(file, sourcesFrom(options)));

withSettings(program.command("restore <file>"))
  .description("put a backup where servers look for their database; it starts paused")
  .option("--replace", "set aside the database that is there")
  .action(async (file, { replace, ...options }) =>
    (await import("./restore.ts")).restore(file, { replace }, sourcesFrom(options)),
  );

withSettings(program.command("scrub"))
  .description("leave no trace of what was erased or pruned in the SQLite file")
  .action(async (options) => (await import("./scrub.ts")).scrub(sourcesFrom(options)));

program
  .command("check-store <module>")
  .description("check a store of your own against the published contract")
  .action(async (module) => (await import("./check-store.ts")).checkStore(module));

withSettings(program.command("migrate"))
  .description("make the store's tables, or bring them up to date, before servers start")
  .action(async (options) => (await import("./migrate.ts")).migrate(sourcesFrom(options)));

program
  .command("demo")
  .description("20 seconds that show the problem and the cure, offline")
  .action(async () => (await import("./demo.ts")).demo());

withSettings(program.command("token <visitor>"))
  .description("make a token for a visitor of the web chat, as your site's backend would; for tests")
  .option("--conversation <id>", "default: web:VISITOR")
  .option("--bot <name>", "of a server with several")
  .option("--name <text>", "what the bot may call the visitor")
  .action(async (visitor, { conversation, bot, name, ...options }) =>
    (await import("./token.ts")).token(
      visitor,
      JSON.parse(JSON.stringify({ conversation, bot, name })),
      sourcesFrom(options),
    ),
  );

program
  .command("secret")
  .description("make a secret that signs webhooks")
  .action(async () => (await import("./secret.ts")).secret());

program.addHelpText("after", () => `\nSettings of serve, doctor and migrate: lull serve --help`);
for (const command of [program, serve]) command.configureHelp({ sortSubcommands: false });

// `lull watch | head`: the reader has seen enough.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode;
  else if (error instanceof CliError) {
    if (error.message !== "") console.error(error.message);
    process.exitCode = error.exitCode;
  } else throw error;
}
