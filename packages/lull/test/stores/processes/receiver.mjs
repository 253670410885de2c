// Receives messages for one conversation at random moments, as one of several processes; then prints the versions they
// were given and the most tries that one of them took.
//   node receiver.mjs <address: a URL, or nodes as JSON> <name> <messages> <ms>
import { Cluster, Redis } from "ioredis";
import { Lull } from "lull";
import { redis } from "lull/redis";

const [place = "", name = "", count = "0", ms = "0"] = process.argv.slice(2);
const client = place.startsWith("[") ? new Cluster(JSON.parse(place)) : new Redis(place);
client.on("error", () => {});
const store = redis(/** @type {any} */ (client));
let most = 0;
let tries = 0;
/** @type {import("lull").Store["exchange"]} */
const exchange = async (write) => {
  tries += 1;
  const answer = await store.exchange(write);
  most = Math.max(most, tries);
  if (answer.kind === "stored") tries = 0;
  return answer;
};
const lull = new Lull({ store: { ...store, exchange } });
await lull.ready();
process.stdout.write("ready\n");
await new Promise((resolve) => process.stdin.once("data", resolve));

const versions = await Promise.all(
  Array.from({ length: Number(count) }, async (_, number) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * Number(ms)));
    for (;;) {
      try {
        const received = await lull.receive("one", { id: `${name}.${number}`, text: "hi" });
        if (received.status !== "rejected") return received.version;
      } catch (error) {
        // What a platform does with a 503.
        if (!(/** @type {{ retryable?: boolean }} */ (error).retryable)) throw error;
      }
    }
  }),
);
await lull.stop();
await store.close();
client.disconnect();
process.stdin.destroy();
process.stdout.write(`${JSON.stringify({ versions, most })}\n`);
