// Writes until it is killed, and prints each write once it is acknowledged.
//   node writer.mjs <database>
import { writeSync } from "node:fs";
import { sqlite } from "lull/sqlite";
import { increment, openDatabase } from "./common.mjs";

const store = sqlite(openDatabase(process.argv[2] ?? ""));

/** @param {string} id */
async function writeForever(id) {
  let { record } = await store.load(id);
  for (;;) {
    const write = increment(record, id, "writer");
    const answer = await store.exchange(write);
    if (answer.kind !== "stored") throw new Error(answer.kind);
    record = write.next;
    writeSync(1, `${id} ${record.version}\n`);
  }
}

await Promise.all(["a", "b", "c"].map(writeForever));
