// Gate: kill -9 in the middle of a stream. The half message on the screen is finished by the next process, not left and
// not repeated.
import { type ChildProcess, spawn } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { LLMock } from "@copilotkit/aimock";
import { usageOf } from "lull/ai";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Part } from "../../src/index.ts";
import { sqlite } from "../../src/stores/sqlite/index.ts";
import { openDatabase, temporaryFolder } from "../stores/database.ts";
import { type Screen, screen } from "../support/screen.ts";

const long = "The quick brown fox jumps over the lazy dog, again and again, until the night comes and all is quiet.";

let folder: ReturnType<typeof temporaryFolder>;
let children: ChildProcess[];
let mock: LLMock;
let platform: Server;
let on: Screen;

beforeEach(async () => {
  folder = temporaryFolder();
  children = [];
  mock = new LLMock({ port: 0, host: "127.0.0.1" });
  mock.onMessage(/tell/, { content: long }, { latency: 40, chunkSize: 4 });
  await mock.start();
  on = screen({ now: () => Math.round(performance.now()) });
  platform = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { part, ...rest } = JSON.parse(Buffer.concat(chunks).toString()) as { part: Part; key: string };
    const result =
      request.url === "/draft"
        ? await on.channel.draft?.(part, rest as never)
        : await on.channel.deliver(part, { ...rest, idempotencyKey: rest.key } as never);
    response.end(JSON.stringify(result ?? {}));
  });
  await new Promise<void>((resolve) => platform.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  platform.close();
  await mock.stop();
  folder.remove();
});

async function bot(owner: string): Promise<ChildProcess> {
  const script = fileURLToPath(new URL("processes/bot.mjs", import.meta.url));
  const url = `http://127.0.0.1:${(platform.address() as AddressInfo).port}`;
  const child = spawn(process.execPath, [script, folder.path("lull.db"), owner, mock.url, url], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  await new Promise((resolve) => child.stdout?.once("data", resolve));
  return child;
}

async function until(what: () => boolean): Promise<void> {
  for (let tries = 0; tries < 2_000 && !what(); tries += 1) await new Promise((go) => setTimeout(go, 20));
  if (!what()) throw new Error(`it did not come about\n${on.steps.join("\n")}`);
}

test("a half message is finished by the next process", async () => {
  const first = await bot("first");
  first.stdin?.write("m1\n");
  await until(() => (on.bubbles[0]?.text.length ?? 0) > 20);
  first.kill("SIGKILL");
  await new Promise((resolve) => first.once("exit", resolve));
  const half = on.bubbles[0]?.text ?? "";
  expect(half.length).toBeLessThan(long.length);
  expect(on.bubbles).toMatchObject([{ id: "b1", draft: true }]);
  await bot("second");
  await until(() => on.bubbles.some(({ draft }) => !draft));
  expect(on.bubbles).toMatchObject([{ id: "b1", text: long, draft: false }]);

  const store = sqlite(openDatabase(folder.path("lull.db")), { closeDatabase: true });
  const recorded = async () => (await store.load("c", { logFrom: 1 })).log;
  for (let tries = 0; tries < 100 && !(await recorded()).some(({ kind }) => kind === "closed"); tries += 1)
    await new Promise((go) => setTimeout(go, 20));
  const log = await recorded();
  expect(log.flatMap((entry) => (entry.kind === "draft" ? [entry.state] : []))).toEqual(["shown", "replaced"]);
  expect(usageOf(log).committed).toMatchObject({ calls: 1 });
  await store.close();
});
