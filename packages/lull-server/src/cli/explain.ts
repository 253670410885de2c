import { Client, type ClientOptions } from "./client.ts";
import { plain } from "./terminal.ts";

/** `lull explain`: what a conversation is doing and why, in sentences. */
export async function explain(conversation: string, options: ClientOptions & { json?: boolean }): Promise<void> {
  const answer = await new Client(options).json<{ sentences: string[] }>(
    "GET",
    `${Client.conversation(conversation)}/explain`,
  );
  if (options.json) console.log(JSON.stringify(answer, null, 2));
  else for (const sentence of answer.sentences) console.log(plain(sentence));
}
