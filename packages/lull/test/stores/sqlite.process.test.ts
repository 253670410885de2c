import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sqlite } from "../../src/stores/sqlite/index.ts";
import { openDatabase, temporaryFolder } from "./database.ts";

interface Work {
  name: string;
  hot: number;
  own: number;
  conflicts: number;
  errors: string[];
  longestBlockMs: number;
}

let folder: ReturnType<typeof temporaryFolder>;
let children: ChildProcess[];
beforeEach(() => {
  folder = temporaryFolder();
  children = [];
});
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  folder.remove();
});

function start(script: string, ...args: string[]): ChildProcess & { lines: AsyncIterator<string> } {
  const path = fileURLToPath(new URL(`processes/${script}`, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  children.push(child);
  if (!child.stdout) throw new Error("no output");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return Object.assign(child, { lines });
}

for (const count of [2, 4]) {
  test(`${count} processes on one file count every write once, and none starves`, async () => {
    const path = folder.path("lull.db");
    const processes = Array.from({ length: count }, (_, index) => start("hammer.mjs", path, `p${index}`, "3000"));
    for (const { lines } of processes) expect((await lines.next()).value).toBe("ready");
    for (const { stdin } of processes) stdin?.write("go\n");
    const works = await Promise.all(
      processes.map(async ({ lines }) => JSON.parse((await lines.next()).value as string) as Work),
    );

    const store = sqlite(openDatabase(path), { closeDatabase: true });
    const hot = works.reduce((sum, work) => sum + work.hot, 0);
    const total = works.reduce((sum, work) => sum + work.own, hot);
    for (const work of works) {
      expect(work.errors).toEqual([]);
      expect((work.hot + work.own) / total, JSON.stringify(works)).toBeGreaterThan(0.2 / count);
      // Also where all want the same conversation.
      expect(work.hot / hot, JSON.stringify(works)).toBeGreaterThan(0.1 / count);
      // Milliseconds on an idle machine; a driver that waits for its lock takes seconds.
      expect(work.longestBlockMs).toBeLessThan(1000);
    }
    const { record, log } = await store.load("hot", { logFrom: 1 });
    expect(record?.version).toBe(hot);
    expect(log.map((entry) => entry.seq)).toEqual(Array.from({ length: hot }, (_, index) => index + 1));
    await store.close();
  });
}

test("a process killed in the middle loses nothing that it acknowledged", async () => {
  const path = folder.path("lull.db");
  const acknowledged = new Map<string, number>();
  for (let round = 1; round <= 4; round++) {
    const writer = start("writer.mjs", path);
    const killAfter = 40 * round + 7;
    for (let count = 0; ; count++) {
      const { value, done } = await writer.lines.next();
      if (done) break;
      const [id = "", version] = value.split(" ");
      acknowledged.set(id, Number(version));
      if (count === killAfter) writer.kill("SIGKILL");
    }
    if (writer.exitCode === null && writer.signalCode === null) await once(writer, "exit");
    expect(writer.signalCode).toBe("SIGKILL");

    const db = openDatabase(path);
    expect(db.prepare("pragma integrity_check").all({})).toEqual([{ integrity_check: "ok" }]);
    const store = sqlite(db);
    const { timers } = await store.due(Number.MAX_SAFE_INTEGER, 10);
    for (const [id, version] of acknowledged) {
      const { record, log } = await store.load(id, { logFrom: 1 });
      expect(record?.version ?? 0).toBeGreaterThanOrEqual(version);
      // All four areas are those of the same write.
      expect(log.map((entry) => entry.seq)).toEqual(Array.from({ length: record?.seq ?? 0 }, (_, index) => index + 1));
      expect(timers.find((timer) => timer.id === id)?.revision).toBe(record?.revision);
      const seen = db.prepare("select count(*) as count from lull_seen where conversation = :id").get({ id });
      expect(seen).toEqual({ count: record?.version });
    }
    expect(acknowledged.size).toBe(3);
    await store.close();
    db.close();
  }
});
