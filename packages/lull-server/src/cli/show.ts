import { CliError, Client, type ClientOptions } from "./client.ts";
import { clock, logLine } from "./lines.ts";
import { hasColour, paint, plain } from "./terminal.ts";

export interface ShowOptions extends ClientOptions {
  log?: string;
  json?: boolean;
}

type Fields = Record<string, unknown>;

/** `lull show`: where a conversation stands, and the end of its log. */
export async function show(conversation: string, options: ShowOptions): Promise<void> {
  const client = new Client(options);
  const limit = Number(options.log ?? "20");
  if (!Number.isInteger(limit) || limit < 0 || limit > 1_000)
    throw new CliError("--log takes a number from 0 to 1000.", 2);
  const path = Client.conversation(conversation);
  const found = await client.json<Fields>("GET", path);
  const before = Number(found.seq) + 1;
  const { entries } =
    limit === 0
      ? { entries: [] }
      : await client.json<{ entries: Fields[] }>("GET", `${path}/log?before=${before}&limit=${limit}`);
  if (options.json) {
    console.log(JSON.stringify({ conversation: found, log: entries }, null, 2));
    return;
  }
  const colours = paint(hasColour(process.stdout));
  console.log(`${colours.bold(plain(conversation))}  ${found.state}`);
  console.log(`  ${found.version} inputs, ${found.answered} of them ended, ${found.seq} log entries`);
  if (typeof found.quietAt === "string") console.log(`  answer not before ${clock(found.quietAt)}`);
  if (entries.length > 0) console.log(`\n${entries.map((entry) => logLine(entry, colours)).join("\n")}`);
}
