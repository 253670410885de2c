// What `lull/ai` costs: `node scripts/bench/ai.mjs` (after `npm run build`). Medians of several rounds; CPU of this process.
import { generateText } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { Lull, memory } from "lull";
import { aiResponder, toModelMessages } from "lull/ai";

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const model = new MockLanguageModelV3({
  doGenerate: async () => ({
    content: [{ type: "text", text: "fine" }],
    usage,
    finishReason: { unified: "stop", raw: "stop" },
    warnings: [],
  }),
});

/** @param {number[]} values */
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;

/**
 * CPU in ms per attempt, over `count` conversations of one message.
 * @param {import("lull").Respond} respond
 */
async function perAttempt(respond, count = 1_000) {
  const lull = new Lull({ store: memory(), respond, debounce: { quietMs: 0, startMs: 0 }, concurrency: 1_000 });
  await lull.start();
  const before = process.cpuUsage();
  for (let n = 0; n < count; n += 1) await lull.receive(`c${n}`, { id: "m", text: "hello" });
  await Promise.all(Array.from({ length: count }, (_, n) => lull.reply(`c${n}`, 1)));
  const { user, system } = process.cpuUsage(before);
  await lull.stop();
  return (user + system) / 1_000 / count;
}

/** @type {Record<string, import("lull").Respond>} */
const kinds = {
  "no model": () => "fine",
  "generateText alone": async (turn) =>
    (await generateText({ model, prompt: turn.text, abortSignal: turn.signal })).text,
  "aiResponder, stream: false": aiResponder({ model, stream: false }),
};
for (const respond of Object.values(kinds)) await perAttempt(respond, 200);
for (const [name, respond] of Object.entries(kinds)) {
  const rounds = [];
  for (let round = 0; round < 5; round += 1) rounds.push(await perAttempt(respond));
  console.log(`${name.padEnd(28)} ${median(rounds).toFixed(2)} ms CPU an attempt`);
}

/** @type {import("lull").LogEntry[]} */
const log = [];
for (let n = 1; log.length < 10_000; n += 1) {
  const reply = { replyId: `r${n}`, from: n - 1, to: n };
  const parts = [{ type: /** @type {const} */ ("text"), text: `answer ${n}` }];
  const bodies = /** @type {const} */ ([
    { kind: "message", id: `m${n}`, version: n, parts },
    { kind: "attempt", fence: n, owner: "a", from: n - 1, to: n, attempt: 1, sealed: false },
    { kind: "usage", fence: n, tokens: 15 },
    { kind: "reply", ...reply, fence: n, parts, open: false, overtaken: false, cause: "turn", address: null },
    { kind: "receipt", replyId: `r${n}`, index: 0, state: "sent" },
    { kind: "closed", ...reply, outcome: "delivered" },
  ]);
  for (const body of bodies) log.push(/** @type {any} */ ({ ...body, seq: log.length + 1, atMs: n }));
}
const message = { id: "m", version: 1, seq: 1, receivedAtMs: 1, edited: false, incomplete: false };
const turn = /** @type {any} */ ({
  messages: [{ ...message, parts: [{ type: "text", text: "now" }] }],
  effects: [],
  signal: new AbortController().signal,
  log: async (/** @type {number} */ n) => log.slice(-n),
});
for (const history of [50, 500, 10_000]) {
  const rounds = [];
  let messages = 0;
  for (let round = 0; round < 15; round += 1) {
    const began = performance.now();
    messages = (await toModelMessages(turn, { history })).length;
    rounds.push(performance.now() - began);
  }
  console.log(
    `prompt of ${String(messages).padStart(4)} messages out of a log of ${log.length}: ${median(rounds).toFixed(1)} ms`,
  );
}
