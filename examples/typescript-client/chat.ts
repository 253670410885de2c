// A chat on the command line through the typed client: `npx lull serve` in one terminal, and in another
//   npm install lull-server && npx tsx chat.ts        (on Node 24: node chat.ts)
// Write several lines quickly: there is one answer to all of them. LULL_URL and LULL_KEY say which server, LULL_CONVERSATION which chat.
import { createInterface } from "node:readline";
import { LullProblem, lullClient, type ServerEvent } from "lull-server/client";

const {
  LULL_URL: url = "http://127.0.0.1:8080",
  LULL_KEY: key,
  LULL_CONVERSATION: conversation = "terminal",
} = process.env;
const lull = lullClient({ url, ...(key === undefined ? {} : { key }) });
const left = new AbortController();
let seen = 0;

/** What the bot says, as it becomes durable; goes on where it was when the server comes back. */
async function listen(): Promise<void> {
  for await (const { type, entry, seq } of lull.events(conversation, { signal: left.signal })) {
    seen = seq ?? seen;
    if (type === "reply.committed" || type === "part.added")
      for (const { text } of partsOf(entry)) if (text !== undefined) console.log(`bot: ${text}`);
  }
}

/** A reply has `parts`; what is said while the bot still works comes as one `part`. */
function partsOf(entry: ServerEvent["entry"]): { text?: string }[] {
  return (entry?.parts ?? (entry?.part === undefined ? [] : [entry.part])) as { text?: string }[];
}

async function say(text: string): Promise<void> {
  try {
    // An id of one's own: should the connection break, the same message may be handed in again.
    await lull.receive({ conversation, id: crypto.randomUUID(), text });
  } catch (error) {
    if (!(error instanceof LullProblem)) throw error;
    console.error(`not taken: ${error.code}, ${error.field ?? "no field"}; again in ${error.retryAfter ?? "?"} s`);
  }
}

const listening = listen();
for await (const line of createInterface({ input: process.stdin })) if (line.trim() !== "") await say(line);
// The input has ended: wait until everything is answered and seen, then go.
const where = { params: { path: { id: conversation } } };
for (let isOver = false; !isOver; await new Promise((done) => setTimeout(done, 200))) {
  const { state, seq } = await lull.get("/v1/conversations/{id}", where);
  isOver = state === "resting" && seen >= seq;
}
left.abort();
await listening;
