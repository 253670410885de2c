// Writes to one database as fast as it can for a while, then prints what it managed.
//   node hammer.mjs <database> <name> <ms>
import { sqlite } from "lull/sqlite";
import { increment, openDatabase } from "./common.mjs";

const [path = "", name = "", forMs = "0"] = process.argv.slice(2);
const store = sqlite(openDatabase(path));
const work = { name, hot: 0, own: 0, conflicts: 0, errors: /** @type {string[]} */ ([]), longestBlockMs: 0 };

await store.stats();
process.stdout.write("ready\n");
await new Promise((resolve) => process.stdin.once("data", resolve));

const until = performance.now() + Number(forMs);
let last = performance.now();
const watch = setInterval(() => {
  work.longestBlockMs = Math.max(work.longestBlockMs, performance.now() - last - 5);
  last = performance.now();
}, 5);

/** @param {string} id @param {"hot" | "own"} kind */
async function hammer(id, kind) {
  let { record } = await store.load(id);
  while (performance.now() < until) {
    const write = increment(record, id, name);
    const answer = await store.exchange(write);
    if (answer.kind === "stored") {
      work[kind]++;
      record = write.next;
    } else if (answer.kind === "conflict") {
      work.conflicts++;
      record = answer.record;
    } else {
      throw new Error(answer.kind);
    }
  }
}

const results = await Promise.allSettled([
  ...Array.from({ length: 4 }, () => hammer("hot", "hot")),
  ...Array.from({ length: 4 }, (_, index) => hammer(`${name}${index}`, "own")),
]);
for (const result of results) if (result.status === "rejected") work.errors.push(String(result.reason));
clearInterval(watch);
await store.close();
process.stdin.destroy();
process.stdout.write(`${JSON.stringify(work)}\n`);
