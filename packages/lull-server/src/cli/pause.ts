import { CliError, Client, type ClientOptions } from "./client.ts";
import { plain } from "./terminal.ts";

interface Pause {
  sinceAt: string;
  by?: string;
  reason?: string;
}

export interface PauseOptions extends ClientOptions {
  reason?: string;
  by?: string;
  json?: boolean;
}

/** `lull pause`: every process on the server's store. */
export async function pause(options: PauseOptions): Promise<void> {
  const { reason, by } = options;
  const answer = await new Client(options).json<{ paused: Pause; working: number }>("POST", "/v1/pause", {
    ...(reason === undefined ? {} : { reason }),
    ...(by === undefined ? {} : { by }),
  });
  if (options.json) return console.log(JSON.stringify(answer, null, 2));
  const { sinceAt, by: whose, reason: why } = answer.paused;
  console.log(`Paused since ${sinceAt}${whose ? ` by ${plain(whose)}` : ""}${why ? `: ${plain(why)}` : ""}.`);
  console.log("Messages are still taken in; answers and deliveries wait for: lull unpause");
  if (answer.working > 0) console.log(`${answer.working} running in that process may finish.`);
}

export interface UnpauseOptions extends ClientOptions {
  by?: string;
  dropWaiting?: boolean;
  json?: boolean;
}

/** `lull unpause`. */
export async function unpause(options: UnpauseOptions): Promise<void> {
  const { by, dropWaiting } = options;
  const answer = await new Client(options).json<{ was: Pause | null; dropped: string[] }>("POST", "/v1/unpause", {
    ...(by === undefined ? {} : { by }),
    ...(dropWaiting ? { waiting: "drop" } : {}),
  });
  if (options.json) return console.log(JSON.stringify(answer, null, 2));
  if (answer.was === null) throw new CliError("It was not paused.", 3);
  console.log(`Goes on; it had been paused since ${answer.was.sinceAt}.`);
  if (dropWaiting)
    console.log(`${answer.dropped.length} conversations had waited since before: not answered${list(answer.dropped)}`);
}

function list(ids: readonly string[]): string {
  return ids.length === 0 ? "." : `:\n${ids.map((id) => `  ${plain(id)}`).join("\n")}`;
}
