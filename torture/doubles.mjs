// The model and the channel, as HTTP services of the supervisor: what they see and do goes into the ledger.
import { once } from "node:events";
import { createServer } from "node:http";
import { answerOf, tokensIn } from "./ledger.mjs";
import { sleep } from "./random.mjs";

/** A hanging answer is given up by the double itself after so long; workers give up much earlier. */
const longestMs = 20_000;

/**
 * @param {{ ledger: import("./ledger.mjs").Ledger, random: import("./random.mjs").Dice, modelMs: number,
 *   calm: () => boolean }} options  `calm`: the run is being wound up, nothing fails any more
 */
export async function doubles({ ledger, random, modelMs, calm }) {
  let calls = 0;
  /** Keys the channel has shown, per key-taking or askable conversation. @type {Map<string, string>} */
  const shown = new Map();
  /** Mishaps end with the run. */
  const mishap = (/** @type {number} */ p) => !calm() && random.chance(p);

  const server = createServer((request, response) => {
    request.on("error", () => {});
    response.on("error", () => {});
    answer(request, response).catch((error) => {
      console.error(error);
      response.destroy();
    });
  });
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());

  /** @param {import("node:http").IncomingMessage} request @param {import("node:http").ServerResponse} response */
  async function answer(request, response) {
    let body = "";
    request.setEncoding("utf8");
    try {
      for await (const chunk of request) body += chunk;
    } catch {
      return; // Killed in the middle of its request: never arrived.
    }
    const asked = JSON.parse(body);
    if (request.url === "/model") await model(asked, response);
    else if (request.url === "/channel") await channel(asked, response);
    else find(asked, response);
  }

  /** @param {any} asked @param {import("node:http").ServerResponse} response */
  async function model({ conversation, process, texts, streams }, response) {
    const call = `call${++calls}`;
    const seen = /** @type {string[]} */ (texts).flatMap(tokensIn);
    ledger.note({ is: "called", call, conversation, process, seen, streams });
    let left = false;
    response.on("close", () => {
      if (response.writableFinished || left) return;
      left = true;
      ledger.note({ is: "left", call, conversation });
    });
    if (mishap(0.015)) return void setTimeout(() => response.destroy(), longestMs).unref();
    await sleep(modelMs * random.between(0.5, 1.5));
    if (left) return;
    if (mishap(0.03)) {
      ledger.note({ is: "refused", call, conversation });
      return void response.writeHead(503).end();
    }
    const parts = Array.from({ length: random.pick([1, 1, 2, 2, 3]) }, (_, index) => answerOf(call, index, seen));
    ledger.note({ is: "answered", call, conversation });
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    for (const [index, part] of parts.entries()) {
      if (streams && index > 0) await sleep(modelMs * random.between(0.1, 0.5));
      if (left) return;
      response.write(`${JSON.stringify(part)}\n`);
    }
    response.end();
  }

  /** @param {any} asked @param {import("node:http").ServerResponse} response */
  async function channel(asked, response) {
    const { conversation, channel: name, process, key, replyId, index, count, covers, overtaken, text } = asked;
    const arrival = { conversation, channel: name, process, key, replyId, index, count, covers, overtaken, text };
    /** @param {"took" | "known" | "refused"} outcome @param {"answer" | "nothing"} told */
    const arrived = (outcome, told) => {
      const event = /** @type {import("./ledger.mjs").Arrived} */ (
        ledger.note({ is: "arrived", ...arrival, outcome, told })
      );
      // The sender did not wait for the answer, or is no more; or this process was too slow to give one.
      response.once("close", () => {
        if (!response.writableFinished) event.told = "nothing";
      });
    };
    if (mishap(0.03)) {
      arrived("refused", "answer");
      return void response.writeHead(429, { "retry-after": String(random.pick([0, 0, 1])) }).end();
    }
    if (mishap(0.02)) {
      arrived("refused", "answer");
      return void response.writeHead(503).end();
    }
    if (mishap(0.01)) {
      arrived("refused", "nothing");
      return void response.destroy();
    }
    const known = name === "keyed" && shown.has(key);
    shown.set(key, text);
    const outcome = known ? "known" : "took";
    if (mishap(0.02)) {
      arrived(outcome, "nothing");
      // Shown to the user, and nobody told the sender; sometimes at once, sometimes by saying nothing at all.
      if (random.chance(0.7)) return void response.destroy();
      return void setTimeout(() => response.destroy(), longestMs).unref();
    }
    arrived(outcome, "answer");
    await sleep(random.between(2, 30));
    response.writeHead(200).end(JSON.stringify({ id: `at-${key}` }));
  }

  /** @param {any} asked @param {import("node:http").ServerResponse} response */
  function find({ conversation, process, key }, response) {
    ledger.note({ is: "asked", conversation, process, key });
    if (shown.has(key)) response.writeHead(200).end(JSON.stringify({ id: `at-${key}` }));
    else response.writeHead(404).end();
  }

  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
