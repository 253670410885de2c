import { CliError, Client, type ClientOptions } from "./client.ts";
import { plain } from "./terminal.ts";

export interface RetryOptions extends ClientOptions {
  parked?: boolean;
  prefix?: string;
  by?: string;
  json?: boolean;
}

interface Page {
  conversations: { id: string }[];
  next: string | null;
}

/** `lull retry`: brings what was given up back to be answered, in one conversation or in all. */
export async function retry(conversation: string | undefined, options: RetryOptions): Promise<void> {
  if ((conversation === undefined) !== (options.parked === true))
    throw new CliError("Give a conversation, or --parked for all that were given up.", 2);
  const client = new Client(options);
  const call = options.by === undefined ? {} : { by: options.by };
  const revived: { conversation: string; revived: number }[] = [];
  const one = async (id: string) => {
    const answer = await client.json<{ revived: number }>("POST", `${Client.conversation(id)}/retry`, call);
    revived.push({ conversation: id, revived: answer.revived });
  };
  if (conversation !== undefined) await one(conversation);
  else
    for (let after: string | null = ""; after !== null; ) {
      const query = new URLSearchParams({
        parked: "true",
        limit: "200",
        ...(after === "" ? {} : { after }),
        ...(options.prefix === undefined ? {} : { prefix: options.prefix }),
      });
      const page: Page = await client.json<Page>("GET", `/v1/conversations?${query}`);
      for (const { id } of page.conversations) await one(id);
      after = page.next;
    }
  if (options.json) return console.log(JSON.stringify(revived, null, 2));
  for (const { conversation: id, revived: count } of revived) console.log(`${plain(id)}: ${count} messages`);
  console.log(`${revived.length} conversations are to be answered again.`);
}
