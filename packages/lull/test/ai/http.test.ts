// Gate: real HTTP streams, in real time, from a model server that is slow, refuses, breaks off and is aborted.
import { type AttemptUsage, aiResponder, usageOf } from "lull/ai";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type LogEntry, Lull, type LullOptions, memory } from "../../src/index.ts";
import { type Screen, screen } from "../support/screen.ts";
import { type Served, served } from "./support/server.ts";

const long = "The quick brown fox jumps over the lazy dog, again and again, until the night comes and all is quiet.";

let server: Served;
let lull: Lull;
let on: Screen;
let usage: AttemptUsage[];

beforeEach(async () => {
  server = await served();
  usage = [];
});
afterEach(async () => {
  await lull.stop({ timeoutMs: 100 });
  await server.stop();
});

async function start(options: Partial<LullOptions> = {}): Promise<void> {
  const began = performance.now();
  on = screen({ now: () => Math.round(performance.now() - began) });
  lull = new Lull({
    store: memory(),
    respond: aiResponder({ model: server.model, onUsage: (told) => void usage.push(told) }),
    deliver: { ...on.channel, draftMs: 40 },
    debounce: { quietMs: 100, startMs: 50, maxWaitMs: 60_000 },
    scanMs: 100,
    backoff: { firstMs: 50, maxMs: 100 },
    ...options,
  });
  await lull.start();
}

async function until(what: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_000 && !(await what()); tries += 1) await new Promise((go) => setTimeout(go, 20));
  if (!(await what()))
    throw new Error(
      `it did not come about\n${on.steps.join("\n")}\n${JSON.stringify(usage)}\n${JSON.stringify(await log())}`,
    );
}
const resting = async () => (await lull.get("c"))?.state === "resting";
const log = (): Promise<LogEntry[]> => lull.log("c", { limit: 1_000 });

describe("a model behind HTTP", () => {
  it("streams: the draft grows, and newer input takes it back; the aborted call's tokens are counted", async () => {
    server.mock.on({ userMessage: /wait/ }, { content: "All right." });
    server.mock.on({ userMessage: /tell/ }, { content: long }, { latency: 40, chunkSize: 4 });
    await start();
    await lull.receive("c", { id: "m1", text: "tell me a story" });
    await until(() => (on.bubbles[0]?.text.length ?? 0) > 20);
    expect(long.startsWith(on.bubbles[0]?.text ?? "-")).toBe(true);
    expect(on.bubbles[0]?.draft).toBe(true);
    await lull.receive("c", { id: "m2", text: "wait, stop" });
    await until(() => on.steps.some((step) => step.endsWith("takes back b1")));
    await until(async () => (await resting()) && usage.length === 2);
    expect(on.bubbles).toMatchObject([{ id: "b2", text: "All right.", draft: false }]);

    const [discarded, committed] = usage;
    expect(discarded).toMatchObject({ outcome: "discarded", why: "superseded", calls: 1 });
    expect(discarded?.outputTokens).toBeGreaterThanOrEqual(5);
    expect(discarded?.estimatedTokens).toBe((discarded?.inputTokens ?? 0) + (discarded?.outputTokens ?? 0));
    expect(committed).toMatchObject({ outcome: "committed", why: "committed", calls: 1, estimatedTokens: 0 });
    expect(committed?.inputTokens).toBeGreaterThan(0);
    const spent = usageOf(await log());
    expect(spent.discarded).toMatchObject({ calls: 1, outputTokens: discarded?.outputTokens });
    expect(spent.committed).toMatchObject({ calls: 1, outputTokens: committed?.outputTokens });
    // The second prompt knows nothing of the first answer.
    expect(JSON.stringify(server.bodies().at(-1))).not.toContain("quick brown");
  });

  it("refuses for now: tried again when it says so, and a refused call costs nothing", async () => {
    server.mock.onMessage(/hi/, { content: "Hello." });
    server.mock.nextRequestError(429, { message: "slow down" });
    await start();
    await lull.receive("c", { id: "m1", text: "hi" });
    await until(resting);
    expect(on.bubbles).toMatchObject([{ text: "Hello." }]);
    expect(usage.map(({ outcome, inputTokens, outputTokens }) => [outcome, inputTokens + outputTokens > 0])).toEqual([
      ["discarded", false],
      ["committed", true],
    ]);
  });

  it("breaks off in mid-stream: half a text is no answer; the draft is finished by the next attempt", async () => {
    let tries = 0;
    const half = { content: long };
    server.mock.prependFixture({
      match: { predicate: () => ++tries === 1 },
      response: half,
      latency: 30,
      chunkSize: 4,
      truncateAfterChunks: 12,
    });
    server.mock.onMessage(/tell/, half, { latency: 5, chunkSize: 20 });
    await start();
    await lull.receive("c", { id: "m1", text: "tell me a story" });
    await until(resting);
    expect(on.bubbles).toMatchObject([{ id: "b1", text: long, draft: false }]);
    const failed = (await log()).filter((entry) => entry.kind === "ended");
    expect(failed).toHaveLength(1);
    const [cut] = usage;
    expect(cut).toMatchObject({ outcome: "discarded", why: "failed", calls: 1 });
    expect(cut?.estimatedTokens).toBeGreaterThan(8);
  });

  it("is shown pictures: their bytes are in the request", async () => {
    const bytes = Buffer.from("these are the bytes of a picture");
    server.mock.onMessage(/.*/, { content: "A picture." });
    await start();
    const url = `data:image/png;base64,${bytes.toString("base64")}`;
    await lull.receive("c", {
      id: "m1",
      parts: ["what is this?", { type: "file", mediaType: "image/png", url, filename: "a.png" }],
    });
    await until(resting);
    expect(JSON.stringify(server.bodies()[0]?.messages)).toContain(bytes.toString("base64"));
    expect(server.bodies()[0]?.messages).toMatchObject([
      { role: "user", content: [{ type: "text" }, { type: "image_url", image_url: { url } }] },
    ]);
  });
});
