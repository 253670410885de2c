// A bot on one database whose first answer blocks the event loop for longer than the lease.
//   node blocked.mjs <database> <owner> <block ms>
import { writeSync } from "node:fs";
import { Lull } from "lull";
import { sqlite } from "lull/sqlite";
import { openDatabase } from "./common.mjs";

const [path = "", owner = "", blockMs = "0"] = process.argv.slice(2);
/** @param {string} line */
const say = (line) => writeSync(1, `${owner} ${line}\n`);

let blocked = false;
const lull = new Lull({
  store: sqlite(openDatabase(path)),
  owner,
  debounce: { quietMs: 50, startMs: 50 },
  lease: { leaseMs: 1_000, turnTimeoutMs: 60_000 },
  scanMs: 100,
  respond: ({ attempt, text }) => {
    say(`attempt ${attempt} at ${text}`);
    // Nothing of this process goes on meanwhile: no renewal, no timer, no socket.
    if (!blocked && Number(blockMs) > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(blockMs));
    blocked = true;
    return text;
  },
  deliver: async (part) => {
    say(`sends ${part.type === "text" ? part.text : ""}`);
    return { status: "sent" };
  },
});
await lull.start();
say("ready");
process.stdin.on("data", async (data) => {
  const id = String(data).trim();
  await lull.receive("c", { id, text: id });
  say(`accepted ${id}`);
});
