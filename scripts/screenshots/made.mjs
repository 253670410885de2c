// What the pictures show: conversations made by the real engine on virtual time, so that they are the same every time, and the
// figures of an hour.
import { Lull } from "lull";
import { sqlite } from "lull/sqlite";
import { virtualClock } from "lull/testing";

const { sqliteDriver } = await import(new URL("../../packages/lull-server/dist/driver.js", import.meta.url).href);

const startMs = Date.parse("2026-11-30T12:00:00Z");

/** The conversation whose pictures are taken: interrupted twice, and a crash in its second turn. */
export const conversation = "web:order-1234";

/**
 * Fills a new SQLite file.
 * @param {string} path
 * @returns {Promise<number>} when the last of it happened
 */
export async function makeConversations(path) {
  const clock = virtualClock({ startMs });
  const driver = await sqliteDriver();
  const store = sqlite(driver.open(path), { now: clock.now });
  let alive = true;
  /** A process that was killed writes nothing any more, and is answered nothing. */
  const mortal = new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (/** @type {unknown[]} */ ...args) => (alive ? value.apply(target, args) : new Promise(() => {}));
    },
  });
  const process = (/** @type {string} */ owner, /** @type {typeof store} */ on) =>
    new Lull({ store: on, clock, owner, respond, deliver, lease: { leaseMs: 9_000 }, limits: { maxFailures: 2 } });
  const first = process("web-1", mortal);
  const second = process("web-2", store);
  await first.start();

  /** @param {import("lull").Turn} turn */
  async function respond(turn) {
    if (turn.conversation === "web:no-model") throw new Error("the model answered 503");
    if (turn.text.includes("#1234"))
      await turn.once("look-up-order", async () => ({ order: 1234, state: "on its way" }), { readOnly: true });
    await clock.sleep(turn.text.includes("invoice") ? 60_000 : 2_400, turn.signal);
    if (turn.text.includes("address")) return "Of course. Which address should it go to?";
    if (turn.text.includes("#1234"))
      return { parts: ["Sorry about the delay!", "Order #1234 is on its way: it arrives tomorrow before noon."] };
    return "Hello! What can I do for you?";
  }

  async function deliver() {
    await clock.sleep(180);
    return { status: /** @type {const} */ ("sent") };
  }

  let ids = 0;
  const say = async (/** @type {string} */ to, /** @type {string} */ text, /** @type {string} */ author, more = {}) => {
    ids += 1;
    await (alive ? first : second).receive(to, { id: `m${ids}`, text, author, ...more });
  };
  const wait = (/** @type {number} */ ms) => clock.advance(ms);

  // Everyday ones, for the list.
  for (const [index, name] of ["telegram:70211", "telegram:81460", "slack:C042:ada", "whatsapp:4915100"].entries()) {
    await say(name, "hi", `user ${index + 1}`);
    await wait(1_300);
    await say(name, "are you open on Sunday?", `user ${index + 1}`);
    await wait(9_000);
  }
  await say("web:no-model", "hello?", "grace");
  await wait(60_000);

  await say(conversation, "hi", "ada");
  await wait(2_300);
  await say(conversation, "my order is late", "ada");
  await wait(2_100);
  await first.typing(conversation);
  await wait(900);
  await say(conversation, "it's #1234", "ada");
  await wait(14_000);
  await say(conversation, "thanks! can I still change the address?", "ada");
  await wait(2_000);
  alive = false;
  await second.start();
  await wait(22_000);

  await say("web:handed-over", "I want to talk to a human", "alan");
  await wait(1_500);
  await second.handoff("web:handed-over", { forMs: 3_600_000, by: "kay" });
  await say("web:invoice-88", "where is my invoice?", "barbara");
  await wait(2_500);
  await say("web:guest-5", "hi", "edsger");
  await wait(700);
  return clock.now();
}

/** The figures of an hour of one process, as `GET v1/health` gives them. @param {number} nowMs */
export function health(nowMs) {
  const bucketSeconds = 60;
  const buckets = Array.from({ length: 60 }, (_, index) => {
    // A quiet lunch hour that gets busier; nothing random, so that pictures are the same.
    const busy = 0.55 + 0.3 * Math.sin(index / 9) + 0.12 * Math.sin(index / 2.3);
    const answers = Math.round(34 * busy);
    const slow = index > 38 && index < 46 ? 1.9 : 1;
    const pair = (/** @type {number} */ p50, /** @type {number} */ p95) => [Math.round(p50), Math.round(p95)];
    const model = pair(2_100 * slow + 300 * busy, 4_300 * slow + 700 * busy);
    return {
      at: new Date(nowMs - (60 - index) * bucketSeconds * 1_000).toISOString(),
      answers,
      silent: index % 11 === 0 ? 1 : 0,
      superseded: Math.round(answers * 0.22),
      failed: slow > 1 && index % 2 === 0 ? 1 : 0,
      expired: index === 41 ? 2 : 0,
      crossed: Math.round(answers * 0.05),
      duplicates: index % 7 === 0 ? 2 : 0,
      parked: index === 43 ? 1 : 0,
      tokens: answers * 610,
      wasteTokens: Math.round(answers * 610 * 0.11),
      wait: {
        window: pair(6_000, 7_400 + 500 * busy),
        queue: pair(20 + 30 * busy, 120 * slow),
        model,
        delivery: pair(160, 340 + 60 * busy),
        total: pair(6_900 + 400 * slow, 9_300 * (0.9 + slow / 10)),
      },
      dueLagMs: Math.round(18 + 25 * busy * slow),
    };
  });
  return {
    owner: "web-1",
    sinceAt: new Date(nowMs - 7_200_000).toISOString(),
    bucketSeconds,
    states: { waiting: 12, answering: 4, delivering: 1, "handed-off": 2, parked: 1, resting: 18_240 },
    stats: { conversations: 18_260 },
    buckets,
  };
}
