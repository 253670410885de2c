// 8 processes, 400 receives within 2 seconds, one conversation: what compare-and-swap costs where everybody wants the
// same record. Fails unless every version was given once.
//
//   npm run build && node scripts/bench/contention.mjs [--store sqlite|postgres|…] [--processes 8] [--receives 400] [--ms 2000]
import { fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { dice } from "../../torture/random.mjs";
import { stores } from "../../torture/stores/index.mjs";
import { readArgs } from "../args.mjs";

/** @typedef {{ versions: number[], worstTries: number, tries: number, writes: number, ms: number[] }} Work */

const lib = (/** @type {string} */ path) =>
  pathToFileURL(fileURLToPath(new URL(`../../packages/lull/dist/${path}`, import.meta.url))).href;

if (process.send === undefined) await main();
else {
  // Whoever started it has been killed.
  process.on("disconnect", () => process.exit(1));
  await worker(JSON.parse(process.argv[2] ?? "{}"));
}

async function main() {
  const text = /** @type {const} */ ({ type: "string" });
  const values = readArgs(import.meta.url, { store: text, processes: text, receives: text, ms: text });
  const processes = Number(values.processes ?? 8);
  const receives = Number(values.receives ?? 400);
  const ms = Number(values.ms ?? 2_000);
  const names = values.store === undefined ? Object.keys(stores) : values.store.split(",");
  console.log(`${processes} processes, ${receives} receives within ${ms} ms, one conversation`);
  for (const name of names) {
    const adapter = await stores[name]?.();
    if (adapter === undefined) throw new Error(`--store is one of ${Object.keys(stores).join(", ")}; got ${name}.`);
    const folder = mkdtempSync(join(tmpdir(), "lull-contention-"));
    const prepared = await adapter.prepare(folder);
    try {
      const settings = { name, place: prepared.place, receives: receives / processes, ms };
      const children = Array.from({ length: processes }, (_, index) =>
        fork(fileURLToPath(import.meta.url), [JSON.stringify({ ...settings, index })]),
      );
      await Promise.all(children.map(next));
      for (const child of children) child.send("go");
      /** @type {Work[]} */
      const works = await Promise.all(children.map(next));
      const versions = works.flatMap((work) => work.versions).sort((a, b) => a - b);
      const each = versions.every((version, index) => version === index + 1) && versions.length === receives;
      const all = works.flatMap((work) => work.ms).sort((a, b) => a - b);
      const at = (/** @type {number} */ p) =>
        `${Math.round(all[Math.min(all.length - 1, Math.floor(all.length * p))] ?? 0)} ms`;
      const sum = (/** @type {"tries" | "writes"} */ key) => works.reduce((total, work) => total + work[key], 0);
      console.log(
        `${name.padEnd(14)} ${each ? "every version once" : "VERSIONS LOST OR DOUBLED"} · exchanges ${sum("tries")} for ${sum("writes")} writes · most tries of one write ${Math.max(...works.map((work) => work.worstTries))} · receive p50 ${at(0.5)}, p99 ${at(0.99)}`,
      );
      if (!each) process.exitCode = 1;
      for (const child of children) child.kill();
    } finally {
      await prepared.close();
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

/** @param {import("node:child_process").ChildProcess} child @returns {Promise<any>} */
function next(child) {
  return new Promise((resolve, reject) => {
    child.once("message", resolve);
    child.once("exit", (code) => reject(new Error(`a process ended with ${code}`)));
  });
}

/** @param {{ name: string, place: string, receives: number, ms: number, index: number }} settings */
async function worker({ name, place, receives, ms, index }) {
  const adapter = await stores[name]?.();
  const store = /** @type {import("lull").Store} */ (await adapter?.open(place, lib));
  const { Lull } = await import(lib("index.js"));
  /** @type {Work} */
  const work = { versions: [], worstTries: 0, tries: 0, writes: 0, ms: [] };
  let tries = 0;
  /** @type {import("lull").Store["exchange"]} */
  const exchange = async (write) => {
    work.tries += 1;
    tries += 1;
    const answer = await store.exchange(write);
    if (answer.kind !== "stored") return answer;
    work.writes += 1;
    work.worstTries = Math.max(work.worstTries, tries);
    tries = 0;
    return answer;
  };
  const lull = new Lull({ store: { ...store, exchange } });
  await lull.ready();
  await store.stats();
  process.send?.("ready");
  await new Promise((resolve) => process.once("message", resolve));
  const random = dice(index);
  await Promise.all(
    Array.from({ length: receives }, async (_, number) => {
      await new Promise((resolve) => setTimeout(resolve, random.between(0, ms)));
      const start = performance.now();
      const { version } = await lull.receive("one", { id: `${index}.${number}`, text: "hi" });
      work.ms.push(performance.now() - start);
      work.versions.push(version);
    }),
  );
  process.send?.(work);
}
