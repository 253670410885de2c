import { setTimeout as sleep } from "node:timers/promises";
import { CliError, Client, type ClientOptions } from "./client.ts";
import { plain } from "./terminal.ts";

export interface SendOptions extends ClientOptions {
  id?: string;
  author?: string;
  wait?: string;
  json?: boolean;
}

interface Answered {
  id: string;
  version: number;
  duplicate: boolean;
  status: string;
  quietAt?: string | null;
  covers?: string[];
  parts?: { type: string; text?: string }[];
}

/** `lull send`: hands in a message and, if asked, waits for its answer. */
export async function send(conversation: string, words: string[], options: SendOptions): Promise<void> {
  Client.conversation(conversation);
  const text = words.length === 1 && words[0] === "-" ? (await readInput()).replace(/\n$/, "") : words.join(" ");
  const client = new Client(options);
  const wait = options.wait === undefined ? 0 : Number(options.wait);
  if (!Number.isInteger(wait) || wait < 0 || wait > 300)
    throw new CliError("--wait takes whole seconds from 0 to 300.", 2);
  const message = {
    conversation,
    text,
    ...(options.id === undefined ? {} : { id: options.id }),
    ...(options.author === undefined ? {} : { author: options.author }),
  };
  const answer = await client.json<Answered>("POST", `/v1/messages${wait > 0 ? `?wait=${wait}` : ""}`, message);
  if (options.json) {
    console.log(JSON.stringify(answer, null, 2));
    return;
  }
  if (answer.parts !== undefined) {
    for (const part of answer.parts)
      console.log(part.type === "text" ? (part.text ?? "").split("\n").map(plain).join("\n") : `[${part.type}]`);
    if (answer.parts.length === 0) console.log(`No reply: ${answer.status}.`);
  } else {
    console.log(
      `${answer.duplicate ? "Known already" : "Taken"}: ${plain(answer.id)}, version ${answer.version}${answer.quietAt ? `, answer from ${answer.quietAt} on` : ""}.`,
    );
    if (wait > 0) {
      // Let stdout drain before a script reads the exit code.
      await sleep(0);
      throw new CliError(
        `No reply within ${wait} s; it will still come. Watch: lull watch ${JSON.stringify(conversation)}`,
        3,
      );
    }
  }
}

async function readInput(): Promise<string> {
  let text = "";
  process.stdin.setEncoding("utf8");
  for await (const chunk of process.stdin) text += chunk;
  return text;
}
