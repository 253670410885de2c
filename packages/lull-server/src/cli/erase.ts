import { CliError, Client, type ClientOptions } from "./client.ts";
import { plain } from "./terminal.ts";

export interface EraseOptions extends ClientOptions {
  author?: string;
  prefix?: string;
  /** commander's `--no-scrub`. */
  scrub: boolean;
  json?: boolean;
}

/** `lull erase`: one conversation, or what one author wrote; and its traces in the database file. */
export async function erase(conversation: string | undefined, options: EraseOptions): Promise<void> {
  const { author, prefix } = options;
  if ((conversation === undefined) === (author === undefined))
    throw new CliError("Give a conversation, or --author NAME.", 2);
  if (prefix !== undefined && author === undefined) throw new CliError("--prefix goes with --author.", 2);
  const client = new Client(options);
  if (conversation !== undefined) {
    const path = Client.conversation(conversation);
    if (!options.scrub) {
      await client.open("DELETE", path);
      const answer = { erased: true, left: "Traces may stay in the database file until: lull scrub" };
      return tell(options, answer, "Erased.");
    }
    const answer = await client.json<{ erased: boolean; left: string | null }>("DELETE", `${path}?scrub=true`);
    tell(options, answer, answer.erased ? "Erased, without a trace." : "There is no such conversation (any more).");
    if (!answer.erased) throw new CliError("", 3);
    return;
  }
  const query = new URLSearchParams({
    ...(options.scrub ? { scrub: "true" } : {}),
    ...(prefix === undefined ? {} : { prefix }),
  });
  if (author === "" || author === "." || author === "..") throw new CliError("An author must have a name.", 2);
  const answer = await client.json<{ erased: number; rewritten: number; busy: string[]; left: string | null }>(
    "DELETE",
    `/v1/authors/${encodeURIComponent(author as string)}?${query}`,
  );
  tell(
    options,
    answer,
    `${answer.erased} conversations erased whole, ${answer.rewritten} shared ones without the author's words now.`,
  );
  if (answer.busy.length > 0)
    throw new CliError(
      `Busy, repeat in a moment: ${answer.busy.map(plain).join(", ")} (a reply to the author is on its way).`,
      1,
    );
}

function tell(options: EraseOptions, answer: { left: string | null } & object, text: string): void {
  if (options.json) return console.log(JSON.stringify(answer, null, 2));
  console.log(text);
  if (answer.left !== null) console.log(answer.left);
}
