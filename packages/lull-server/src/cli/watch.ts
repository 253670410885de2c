import { setTimeout as sleep } from "node:timers/promises";
import { CliError, Client, type ClientOptions, streamed } from "./client.ts";
import { eventLine } from "./lines.ts";
import { hasColour, paint } from "./terminal.ts";

export interface WatchOptions extends ClientOptions {
  after?: string;
  json?: boolean;
}

/** `lull watch`: events as they happen. One conversation's are resumed after a lost connection; all others' are live only. */
export async function watch(conversation: string | undefined, options: WatchOptions): Promise<void> {
  const client = new Client(options);
  const colours = paint(hasColour(process.stdout));
  const path = conversation === undefined ? "/v1/events" : `${Client.conversation(conversation)}/events`;
  if (options.after !== undefined && !/^\d+$/.test(options.after))
    throw new CliError("--after takes the seq of an event.", 2);
  if (options.after !== undefined && conversation === undefined) throw new CliError("--after needs a conversation.", 2);
  let last = options.after;
  let isFirst = true;
  for (;;) {
    try {
      const response = await client.open("GET", path, undefined, last === undefined ? {} : { "last-event-id": last });
      isFirst = false;
      for await (const { id, data } of streamed(response)) {
        if (data !== null)
          console.log(
            options.json
              ? JSON.stringify(data)
              : eventLine(data as Record<string, unknown>, colours, conversation === undefined),
          );
        // After printing: what is counted as seen has been shown.
        if (id !== null) last = id;
      }
    } catch (error) {
      if (isFirst) throw error;
    }
    await sleep(1_000);
  }
}
