// One system, one way of loading it, in a process of its own. Prints one line of JSON.
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { systems } from "./systems/index.mjs";

// Whoever started it has been killed.
process.on("disconnect", () => process.exit(1));

/**
 * @typedef {object} Job
 * @property {string} system
 * @property {"full" | "paced" | "idle"} mode
 * @property {string} url
 * @property {string} folder
 * @property {number} conversations
 * @property {number} perMinute   paced: bursts
 */

const windowMs = 500;
const thinkMs = 50;
const inFlight = 64;
/** A burst's messages are at most that far apart in the order of all. */
const spread = 190;

process.once("message", async (/** @type {Job} */ job) => {
  try {
    process.send?.({ result: await run(job) }, () => process.exit(0));
  } catch (error) {
    process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }, () =>
      process.exit(1),
    );
  }
});

/** @param {Job} job */
async function run({ system: name, mode, url, folder, conversations, perMinute }) {
  const system = systems.find((one) => one.name === name);
  if (system === undefined) throw new Error(`no system ${name}`);
  /** @type {Map<string, { arrived: number[], acks: number, replies: { atMs: number, ids: string[] }[] }>} */
  const bursts = new Map();
  let replied = 0;
  const { create } =
    /** @type {{ create(world: import("./systems/index.mjs").World, name: string): Promise<import("./systems/index.mjs").Running> }} */ (
      await import(`./systems/${system.file}.mjs`)
    );
  const running = await create(
    {
      url,
      folder,
      windowMs,
      async handler(conversation, ids) {
        await sleep(thinkMs);
        const burst = bursts.get(conversation);
        if (burst === undefined) throw new Error(`an answer for ${conversation}, who has said nothing`);
        burst.replies.push({ atMs: performance.now(), ids });
        if (burst.replies.length === 1) replied += 1;
      },
    },
    name,
  );
  /** @type {number[]} */
  const acks = [];
  /** @param {string} conversation @param {number} index */
  async function say(conversation, index) {
    const burst = bursts.get(conversation) ?? { arrived: [], acks: 0, replies: [] };
    bursts.set(conversation, burst);
    const beganMs = performance.now();
    burst.arrived[index] = beganMs;
    await running.accept(conversation, `${conversation}-${index}`);
    burst.acks += 1;
    acks.push(performance.now() - beganMs);
  }

  await sleep(300);
  const cpu = process.cpuUsage();
  process.send?.({ begins: true });
  await new Promise((resolve) => process.once("message", resolve));
  const beganMs = performance.now();
  if (mode === "full") await full(conversations, say);
  else if (mode === "paced") await paced(conversations, perMinute, say);
  else await sleep(5_000);
  const acceptedMs = performance.now() - beganMs;
  const count = mode === "idle" ? 0 : conversations;
  const untilMs = performance.now() + 30_000;
  while (replied < count && performance.now() < untilMs) await sleep(20);
  // Second answers, where there are any.
  if (mode !== "idle") await sleep(700);
  const used = process.cpuUsage(cpu);
  process.send?.({ ends: true });
  await new Promise((resolve) => process.once("message", resolve));
  const rssBytes = process.memoryUsage().rss;
  await Promise.race([running.stop(), sleep(5_000)]);
  return { ...figures(), acceptedMs, messages: count * 3, cpuSeconds: (used.user + used.system) / 1e6, rssBytes };

  function figures() {
    const all = [...bursts.values()];
    const excess = all.flatMap(({ arrived, replies }) => {
      const last = replies.at(-1);
      return last === undefined ? [] : [last.atMs - (Math.max(...arrived) + windowMs + thinkMs)];
    });
    const share = (/** @type {(burst: (typeof all)[number]) => boolean} */ test) =>
      all.filter(test).length / (all.length || 1);
    return {
      acks: quantiles(acks),
      excess: quantiles(excess),
      repliesPerBurst: all.reduce((sum, { replies }) => sum + replies.length, 0) / (all.length || 1),
      once: share(({ replies }) => replies.length === 1),
      sawAll: share(({ replies }) => replies.some(({ ids }) => new Set(ids).size === 3)),
      answered: share(({ replies }) => replies.length > 0),
    };
  }
}

/** @param {number[]} values */
function quantiles(values) {
  const sorted = Float64Array.from(values).sort();
  const at = (/** @type {number} */ p) =>
    sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/** As fast as it takes them. @param {number} conversations @param {(conversation: string, index: number) => Promise<void>} say */
async function full(conversations, say) {
  const places = Array.from({ length: conversations }, (_, n) =>
    [0, 1, 2].map((index) => ({ conversation: `c${n}`, index, at: n * 3 + (index * spread) / 2 })),
  ).flat();
  places.sort((a, b) => a.at - b.at);
  let next = 0;
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      for (let place = places[next++]; place !== undefined; place = places[next++])
        await say(place.conversation, place.index);
    }),
  );
}

/** As people write: gaps of 100 to 300 ms. @param {number} conversations @param {number} perMinute @param {(conversation: string, index: number) => Promise<void>} say */
async function paced(conversations, perMinute, say) {
  const everyMs = 60_000 / perMinute;
  /** @type {Promise<void>[]} */
  const said = [];
  await Promise.all(
    Array.from({ length: conversations }, async (_, n) => {
      await sleep(n * everyMs);
      for (const index of [0, 1, 2]) {
        if (index > 0) await sleep(100 + ((n * 7 + index * 13) % 201));
        // People do not wait for an acknowledgement.
        said.push(say(`p${n}`, index));
      }
    }),
  );
  await Promise.all(said);
}
