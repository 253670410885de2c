// One process of a bot: receives over HTTP, answers with the model double, delivers to the channel double. Started,
// frozen and killed by the supervisor. Everything in here is what any bot would do.
import { Agent, createServer, request } from "node:http";
import { pathToFileURL } from "node:url";
import { sleep } from "./random.mjs";
import { stores } from "./stores/index.mjs";

const {
  name,
  dist,
  store: kind,
  place,
  doubles,
  leaseMs,
  debounce,
  turnTimeoutMs,
  maxFailures,
} = JSON.parse(process.argv[2] ?? "{}");
const lib = (/** @type {string} */ path) => pathToFileURL(`${dist}/${path}`).href;
const { Lull } = await import(lib("index.js"));

// A worker without its supervisor has nothing to do.
process.on("disconnect", () => process.exit(1));

// A connection of its own for every call: what was sent on it is then what this call sent.
const agent = new Agent({ keepAlive: false });

/** @param {string} path @param {unknown} body @param {AbortSignal} [signal] @returns {Promise<import("node:http").IncomingMessage>} */
function post(path, body, signal) {
  return new Promise((resolve, reject) => {
    const call = request(`${doubles}${path}`, { method: "POST", agent, ...(signal && { signal }) }, resolve);
    call.on("error", reject);
    call.end(JSON.stringify(body));
  });
}

/** @param {import("node:http").IncomingMessage} response */
async function textOf(response) {
  let text = "";
  response.setEncoding("utf8");
  for await (const chunk of response) text += chunk;
  return text;
}

/** @param {any} turn */
async function* ask(turn) {
  const { conversation, messages, signal } = turn;
  const texts = messages.map((/** @type {any} */ message) => message.parts[0].text);
  const streams = conversation.includes("stream");
  const response = await post("/model", { conversation, process: name, texts, streams }, signal);
  if (response.statusCode !== 200) {
    response.resume();
    throw new Error(`the model answered ${response.statusCode}`);
  }
  // A stream that breaks off throws here, so that half an answer is an error and not an answer.
  let rest = "";
  response.setEncoding("utf8");
  for await (const chunk of response) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line);
  }
}

/** @param {any} turn */
async function respond(turn) {
  if (turn.conversation.includes("stream")) return ask(turn);
  const parts = [];
  for await (const part of ask(turn)) parts.push(part);
  return parts;
}

/** @param {any} part @param {any} context @param {string} channel */
function letter(part, context, channel) {
  const { conversation, idempotencyKey: key, replyId, index, count, covers, overtaken } = context;
  const text = part?.text ?? "";
  return { conversation, channel, process: name, key, replyId, index, count, covers, overtaken, text };
}

/** @param {string} channel */
const deliver = (channel) => async (/** @type {any} */ part, /** @type {any} */ context) => {
  const response = await post("/channel", letter(part, context, channel), context.signal);
  const text = await textOf(response);
  if (response.statusCode === 200) return { status: "sent", id: JSON.parse(text).id };
  const wish = Number(response.headers["retry-after"]);
  const retryAfterMs = wish > 0 ? { retryAfterMs: wish * 1_000 } : {};
  return { status: "failed", error: `the channel answered ${response.statusCode}`, retry: true, ...retryAfterMs };
};

/** @param {any} context */
async function find(context) {
  const { conversation, idempotencyKey: key, signal } = context;
  const response = await post("/find", { conversation, process: name, key }, signal);
  const text = await textOf(response);
  return response.statusCode === 200 ? { status: "sent", id: JSON.parse(text).id } : null;
}

const store = /** @type {any} */ (await (await stores[kind]?.())?.open(place, lib));
const timeoutMs = 1_500;
const lull = new Lull({
  store,
  respond,
  channels: [
    { name: "keyed", idempotent: true, timeoutMs, deliver: deliver("keyed") },
    { name: "asked", idempotent: false, timeoutMs, deliver: deliver("asked"), find },
    { name: "plain", idempotent: false, timeoutMs, deliver: deliver("plain") },
  ],
  debounce,
  lease: { leaseMs, turnTimeoutMs },
  // Two processes a second die or freeze here: five crashes in a row are chance, not a poisoned message.
  limits: { maxFailures, repliesPerHour: 1_000_000 },
  backoff: { firstMs: 100, maxMs: 1_000 },
  deliverBackoff: { firstMs: 100, maxMs: 1_000 },
  owner: name,
});

/** @param {any} asked */
async function handle({ op, conversation, id, edit, text, sentAt, address, page }) {
  switch (op) {
    case "message":
      return lull.receive(conversation, { id, text, sentAt, address });
    case "edit":
      return lull.edit(conversation, id, { id: edit, text });
    case "retract":
      return lull.retract(conversation, id);
    case "stats":
      return lull.stats();
    case "log":
      return {
        log: await lull.log(conversation, { limit: 1_000, ...page }),
        record: (await store.load(conversation)).record,
      };
    default:
      throw new Error(`no such call: ${op}`);
  }
}

const server = createServer((incoming, response) => {
  response.on("error", () => {});
  textOf(incoming)
    .then(async (text) => {
      const answer = await handle(JSON.parse(text));
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
    })
    .catch((error) => {
      if (!response.headersSent) response.writeHead(503);
      response.end(String(error?.code ?? error));
    });
});
server.listen(0, "127.0.0.1", async () => {
  // The store may be away at this very moment: `start` says so, and is asked again.
  for (;;) {
    try {
      await lull.start();
      break;
    } catch {
      await sleep(100);
    }
  }
  process.send?.({ ready: /** @type {import("node:net").AddressInfo} */ (server.address()).port });
});
