/**
 * What lull promises, shown through real server processes on one SQLite file: killed, frozen, stopped, and
 * talked to by one local program that is both model and channel. README's promises point here by letter.
 */
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sqliteDriver } from "../src/driver.ts";
import { newSecret } from "../src/webhook.ts";
import {
  type Entry,
  eventually,
  naming,
  openScene,
  post,
  type Scene,
  type SceneOptions,
  type ServerProcess,
  sleep,
  taken,
  tookMs,
} from "./support/processes.ts";
import { type Behaviour, type Call, type Program, summary } from "./support/program.ts";

const quietMs = 800;
const leaseMs = 2_000;
/** A crash may delay an answer by one lease, and the search for what dead processes left behind. */
const searchMs = 2_000;
/** What a busy machine may add where the exact time is not the point. */
const slackMs = 1_500;

/** How long after a kill the next model call or delivery attempt began, by the place of the kill. */
const recoveries = new Map<string, number[]>();

/** `readyAtMs`: when the process that goes on was started, if it did not run before. */
function recovered(place: string, killedAtMs: number, call: Call, readyAtMs = 0): void {
  recoveries.set(place, [...(recoveries.get(place) ?? []), call.atMs - killedAtMs]);
  expect(call.atMs).toBeGreaterThan(killedAtMs);
  const fromMs = Math.max(killedAtMs + leaseMs, readyAtMs);
  expect(tookMs(fromMs, call.atMs), `${place}: ${summary(call)}`).toBeLessThanOrEqual(searchMs);
}

afterAll(() => {
  for (const [place, all] of [...recoveries].sort()) {
    const sorted = all.toSorted((a, b) => a - b).map(Math.round);
    const median = sorted[Math.floor(sorted.length / 2)];
    console.log(`recovery after kill -9 ${place}: median ${median} ms, worst ${sorted.at(-1)} ms, of ${sorted.length}`);
  }
});

/** Runs `body` in a scene of its own, and tells on failure what was seen. */
function gate(name: string, options: SceneOptions, body: (scene: Scene) => Promise<void>): void {
  test.concurrent(name, async () => {
    const scene = await openScene(options);
    try {
      await body(scene);
      expect(scene.program.faults).toEqual([]);
    } catch (error) {
      console.error(`${name}\n${scene.program.calls.map(summary).join("\n")}\n${scene.saidByAll()}`);
      throw error;
    } finally {
      await scene.close();
    }
  });
}

/** One answer, sent once, covering exactly these messages. */
function expectOneAnswer(program: Program, conversation: string, covers: string[]): Call {
  const deliveries = program.deliveries(conversation);
  expect(deliveries.map((call) => call.covers)).toEqual([covers]);
  const [delivery] = deliveries as [Call];
  expect(delivery).toMatchObject({ text: `answer to ${covers.join(" ")}`, overtaken: false, answered: 200 });
  return delivery;
}

function replies(log: readonly Entry[]): Entry[] {
  return log.filter((entry) => entry.kind === "reply");
}

/** Every part has one key and one `sent` receipt, and parts went out in order. Resolves to the requests of each key. */
function expectPartsOnce(program: Program, conversation: string, log: readonly Entry[], parts: number): Call[][] {
  const [reply, ...more] = replies(log);
  expect(more).toEqual([]);
  const deliveries = program.deliveries(conversation);
  const byKey = [...new Set(deliveries.map(({ key }) => key))].map((key) =>
    deliveries.filter((call) => call.key === key),
  );
  expect(byKey.map(([call]) => call?.index)).toEqual(Array.from({ length: parts }, (_, index) => index));
  for (const [index, calls] of byKey.entries()) {
    expect(calls.every((call) => call.index === index)).toBe(true);
    const sent = log.filter((entry) => entry.kind === "receipt" && entry.index === index && entry.state === "sent");
    expect(sent.map(({ replyId }) => replyId)).toEqual([reply?.replyId]);
  }
  const order = deliveries.map(({ index }) => index);
  expect(order).toEqual(order.toSorted());
  return byKey;
}

describe("two processes on one file", () => {
  let scene: Scene;
  let program: Program;
  let a: ServerProcess;
  let b: ServerProcess;
  const behaviours = new Map<string, { model?: Behaviour; delivery?: Behaviour }>();

  beforeAll(async () => {
    scene = await openScene({
      model: (call) => (behaviours.get(call.conversation)?.model ?? naming)(call),
      delivery: (call) => (behaviours.get(call.conversation)?.delivery ?? taken)(call),
    });
    program = scene.program;
    [a, b] = await Promise.all([scene.start("a"), scene.start("b")]);
  });
  afterAll(async () => {
    await scene.close();
  });

  interface Burst {
    conversation: string;
    lastMs: number;
  }

  /**
   * Three messages 300 ms apart, to the given servers in turn. On a machine so busy that one of them was not stored
   * before the one before it was quiet for long enough, nothing follows from it, and it is tried again elsewhere.
   */
  async function burst(name: string, servers: ServerProcess[], behaviour: { model?: Behaviour } = {}): Promise<Burst> {
    for (let tries = 1; tries <= 20; tries++) {
      const conversation = `${name}-${tries}`;
      behaviours.set(conversation, behaviour);
      let lastMs = Number.POSITIVE_INFINITY;
      let isBurst = true;
      for (const [at, id] of ["m1", "m2", "m3"].entries()) {
        if (at > 0) await sleep(300);
        const { sentAtMs } = await scene.write(servers[at % servers.length] as ServerProcess, conversation, id);
        isBurst &&= performance.now() - lastMs < quietMs;
        lastMs = sentAtMs;
      }
      if (isBurst) return { conversation, lastMs };
    }
    throw new Error("This machine is too busy for three messages in a row.");
  }

  async function answeredOnce(conversation: string, covers: string[]): Promise<Call> {
    await program.until(`delivery in ${conversation}`, () => program.deliveries(conversation).length > 0);
    expect(replies(await scene.rested(b, conversation)).length).toBe(1);
    return expectOneAnswer(program, conversation, covers);
  }

  for (const [letter, who] of [
    ["a", "one process"],
    ["d", "two processes in turn"],
  ] as const) {
    test.concurrent(`(${letter}) three messages 300 ms apart to ${who} are one model call and one answer`, async () => {
      const { conversation, lastMs } = await burst(`three-${letter}`, letter === "a" ? [a] : [a, b]);
      const delivery = await answeredOnce(conversation, ["m1", "m2", "m3"]);
      expect(program.models(conversation).map(({ covers }) => covers)).toEqual([["m1", "m2", "m3"]]);
      // Not before the user was quiet; clocks are read in whole milliseconds.
      expect(delivery.atMs - lastMs).toBeGreaterThan(quietMs - 5);
    });
  }

  for (const [letter, who] of [
    ["b", "the process that answers"],
    ["d", "the other process"],
  ] as const) {
    test.concurrent(`(${letter}) a fourth message to ${who} aborts the model; one answer covers four`, async () => {
      const { conversation } = await burst(`four-${letter}`, letter === "b" ? [a] : [a, b], {
        model: (call) => (call.covers.length < 4 ? null : naming(call)),
      });
      const first = await program.until("model call", () => program.models(conversation)[0]);
      await sleep(200);
      const same = first.from === "a" ? a : b;
      const other = first.from === "a" ? b : a;
      const { sentAtMs } = await scene.write(letter === "b" ? same : other, conversation, "m4");
      await answeredOnce(conversation, ["m1", "m2", "m3", "m4"]);
      expect(program.models(conversation).map(({ covers }) => covers.length)).toEqual([3, 4]);
      // At once where the message arrived; elsewhere the next renewal tells.
      expect(first.answered).toBeNull();
      const renewalMs = letter === "b" ? 0 : leaseMs / 3;
      expect(tookMs(sentAtMs, first.closedAtMs ?? Number.POSITIVE_INFINITY)).toBeLessThan(renewalMs + slackMs);
    });
  }

  test.concurrent("(c) one id ten times at once, to both processes, is one message", async () => {
    const sending = Array.from({ length: 10 }, (_, at) => scene.write(at % 2 === 0 ? a : b, "ten", "m1"));
    const accepted = await Promise.all(sending);
    expect(new Set(accepted.map(({ version }) => version))).toEqual(new Set([1]));
    expect(new Set(accepted.map(({ quietAt }) => quietAt)).size).toBe(1);
    expect(accepted.filter(({ duplicate }) => !duplicate).length).toBe(1);
    await answeredOnce("ten", ["m1"]);
    expect(program.models("ten").length).toBe(1);
    // Long after the answer it is still the same message.
    expect(await scene.write(b, "ten", "m1")).toMatchObject({ version: 1, duplicate: true });
  });

  test.concurrent("a delivery that is answered 429 is repeated when Retry-After says, with the same key", async () => {
    const busy: Behaviour = ({ conversation }) =>
      program.deliveries(conversation).length === 1 ? { status: 429, headers: { "retry-after": "2" } } : {};
    behaviours.set("busy", { delivery: busy });
    await scene.write(a, "busy", "m1");
    const [first, second] = await program.until("repetition", () => {
      const all = program.deliveries("busy");
      return all.length === 2 ? (all as [Call, Call]) : null;
    });
    expect(second.key).toBe(first.key);
    expect(second.headers["webhook-id"]).toBe(first.headers["webhook-id"]);
    expect(second.atMs - first.atMs).toBeGreaterThan(2_000 - 5);
    expect(tookMs(first.atMs, second.atMs)).toBeLessThan(2_000 + slackMs);
    expect(replies(await scene.rested(a, "busy")).length).toBe(1);
    expect(program.models("busy").length).toBe(1);
  });

  test.concurrent("redirects of the model and of the channel are not followed, but tried again", async () => {
    const elsewhere = { status: 307, headers: { location: new URL("/elsewhere", program.model("a")).href } };
    behaviours.set("moved", {
      model: (call) => (call.attempt === 1 ? elsewhere : naming(call)),
      delivery: ({ conversation }) => (program.deliveries(conversation).length === 1 ? elsewhere : {}),
    });
    await scene.write(a, "moved", "m1");
    const log = await scene.rested(b, "moved");
    expect(program.models("moved").map(({ answered }) => answered)).toEqual([307, 200]);
    expect(program.deliveries("moved").map(({ answered }) => answered)).toEqual([307, 200]);
    expectPartsOnce(program, "moved", log, 1);
    expect(program.faults).toEqual([]);
  });

  test.concurrent("while secrets rotate, every request verifies with the old one and with the new one", async () => {
    await scene.write(a, "signed", "m1");
    await program.until("delivery", () => program.deliveries("signed")[0]);
    for (const call of [...program.models("signed"), ...program.deliveries("signed")]) {
      const verify = (secret: string) => new Webhook(secret).verify(call.raw, call.headers as Record<string, string>);
      expect(scene.secrets.length).toBe(2);
      for (const secret of scene.secrets) expect(verify(secret)).toMatchObject({ conversation: "signed" });
      expect(() => verify(newSecret())).toThrow();
    }
    const [{ key, headers }] = program.deliveries("signed") as [Call];
    expect(headers["webhook-id"]).toBe(key);
  });
});

describe("kill -9", () => {
  const three = ["c0", "c1", "c2"];

  gate(
    "(e) in the window: the other process answers",
    { settings: { LULL_START_MS: "2000", LULL_QUIET_MS: "2000" } },
    async (scene) => {
      const { program } = scene;
      const [a, b] = await Promise.all([scene.start("a"), scene.start("b")]);
      await Promise.all(three.map((conversation) => scene.write(a, conversation, "m1")));
      await sleep(500);
      const killedAtMs = a.kill("SIGKILL");
      expect(program.calls).toEqual([]);
      for (const conversation of three) {
        recovered("in the window", killedAtMs, await program.until("call", () => program.models(conversation)[0]));
        expectPartsOnce(program, conversation, await scene.rested(b, conversation), 1);
        expectOneAnswer(program, conversation, ["m1"]);
      }
    },
  );

  gate(
    "(e) in the model call: the other process calls again",
    {
      settings: { LULL_START_MS: "300" },
      model: (call) => (call.from === "a" ? null : naming(call)),
    },
    async (scene) => {
      const { program } = scene;
      const a = await scene.start("a");
      // Apart, so that the kill falls into different moments between two renewals.
      for (const conversation of three) {
        await scene.write(a, conversation, "m1");
        await sleep(200);
      }
      for (const conversation of three) await program.until("model call", () => program.models(conversation)[0]);
      const b = await scene.start("b");
      const killedAtMs = a.kill("SIGKILL");
      for (const conversation of three) {
        const next = await program.until("second call", () => program.models(conversation)[1]);
        recovered("in the model call", killedAtMs, next);
        expect(next).toMatchObject({ from: "b", attempt: 2, covers: ["m1"] });
        expectPartsOnce(program, conversation, await scene.rested(b, conversation), 1);
        expectOneAnswer(program, conversation, ["m1"]);
        expect(program.models(conversation).length).toBe(2);
      }
    },
  );

  gate(
    "(e) between commit and settle: the same part with the same key",
    {
      settings: { LULL_START_MS: "300" },
      delivery: (call) => (call.from === "a" ? null : taken()),
    },
    async (scene) => {
      const { program } = scene;
      const a = await scene.start("a");
      for (const conversation of three) {
        await scene.write(a, conversation, "m1");
        await sleep(200);
      }
      for (const conversation of three) await program.until("delivery", () => program.deliveries(conversation)[0]);
      const b = await scene.start("b");
      const killedAtMs = a.kill("SIGKILL");
      for (const conversation of three) {
        const next = await program.until("second delivery", () => program.deliveries(conversation)[1]);
        recovered("between commit and settle", killedAtMs, next);
        // The receiver cannot have answered, so the part is sent again: the one place where a key repeats.
        const [calls] = expectPartsOnce(program, conversation, await scene.rested(b, conversation), 1);
        expect(calls?.map(({ from }) => from)).toEqual(["a", "b"]);
        expect(program.models(conversation).length).toBe(1);
      }
    },
  );

  const twoParts: Behaviour = (call) => ({ body: { parts: [`one of ${call.covers}`, `two of ${call.covers}`] } });

  gate(
    "(e) between two parts: the second follows once, the first is not repeated",
    { settings: { LULL_START_MS: "300" }, model: twoParts },
    async (scene) => {
      const { program } = scene;
      const [a, b] = await Promise.all([scene.start("a"), scene.start("b")]);
      await scene.write(a, "parts", "m1");
      // The first connection after part one was answered is part two's. Nothing of it is read.
      let killedAtMs = 0;
      program.admit = () => {
        const first = program.deliveries("parts")[0];
        if (first?.answered !== 200 || killedAtMs > 0) return true;
        killedAtMs = (first.from === "a" ? a : b).kill("SIGKILL");
        return false;
      };
      const next = await program.until("second part", () => program.deliveries("parts")[1]);
      recovered("between two parts", killedAtMs, next);
      const alive = next.from === "a" ? a : b;
      const [one, two] = expectPartsOnce(program, "parts", await scene.rested(alive, "parts"), 2);
      expect([one?.length, two?.length]).toEqual([1, 1]);
      expect(two?.[0]?.from).not.toBe(one?.[0]?.from);
      expect(program.models("parts").length).toBe(1);
    },
  );

  gate(
    "(e) between two parts, the second refused for now: it follows, the first is not repeated",
    {
      settings: { LULL_START_MS: "300" },
      model: twoParts,
      delivery: (call) =>
        call.index === 1 && call.attempt === 1 ? { status: 503, headers: { "retry-after": "2" } } : {},
    },
    async (scene) => {
      const { program } = scene;
      const [a, b] = await Promise.all([scene.start("a"), scene.start("b")]);
      await scene.write(a, "parts", "m1");
      const [first] = await program.until("refusal", () => {
        const all = program.deliveries("parts");
        return all[1]?.answered === 503 ? all : null;
      });
      const [dies, lives] = first?.from === "a" ? [a, b] : [b, a];
      await eventually("refusal in the log", async () =>
        (await scene.log(lives, "parts")).some((entry) => entry.kind === "receipt" && entry.state === "queued"),
      );
      const killedAtMs = dies.kill("SIGKILL");
      const next = await program.until("third delivery", () => program.deliveries("parts")[2]);
      recovered("between two parts, the second refused", killedAtMs, next);
      const [one, two] = expectPartsOnce(program, "parts", await scene.rested(lives, "parts"), 2);
      expect(one?.map(({ answered }) => answered)).toEqual([200]);
      expect(two?.map(({ answered }) => answered)).toEqual([503, 200]);
      expect(next.from).toBe(lives.name);
    },
  );

  gate(
    "(e) the only process, started again, goes on where it stopped",
    {
      settings: { LULL_START_MS: "300" },
      model: (call) => (call.conversation === "model" && call.from === "first" ? null : naming(call)),
      delivery: (call) => (call.from === "first" ? null : {}),
    },
    async (scene) => {
      const { program } = scene;
      const first = await scene.start("first");
      await scene.write(first, "model", "m1");
      await scene.write(first, "settle", "m1");
      await program.until("model call", () => program.models("model")[0]);
      await program.until("delivery", () => program.deliveries("settle")[0]);
      const killedAtMs = first.kill("SIGKILL");
      const again = await scene.start("again");
      const readyAtMs = performance.now();
      const call = await program.until("second call", () => program.models("model")[1]);
      recovered("of the only process, restarted", killedAtMs, call, readyAtMs);
      const delivery = await program.until("second delivery", () => program.deliveries("settle")[1]);
      recovered("of the only process, restarted", killedAtMs, delivery, readyAtMs);
      const [once] = expectPartsOnce(program, "model", await scene.rested(again, "model"), 1);
      expect(once?.length).toBe(1);
      const [twice] = expectPartsOnce(program, "settle", await scene.rested(again, "settle"), 1);
      expect(twice?.length).toBe(2);
    },
  );

  gate(
    "(e) at whatever instant: twelve conversations in every phase, both processes at work",
    {
      settings: { LULL_START_MS: "300" },
      model: async (call) => {
        await sleep(400);
        return twoParts(call);
      },
      delivery: async () => {
        await sleep(100);
        return {};
      },
    },
    async (scene) => {
      const { program } = scene;
      const [a, b] = await Promise.all([scene.start("a"), scene.start("b")]);
      const conversations = Array.from({ length: 12 }, (_, at) => `c${at}`);
      for (const conversation of conversations) {
        await scene.write(a, conversation, "m1");
        await sleep(110);
      }
      const killedAtMs = a.kill("SIGKILL");
      for (const conversation of conversations) {
        const log = await scene.rested(b, conversation);
        for (const calls of expectPartsOnce(program, conversation, log, 2)) {
          expect(calls.length).toBeLessThanOrEqual(2);
          if (calls.length === 1) continue;
          // In doubt, because the process died before it could write down what came of it.
          expect(calls.map(({ from }) => from)).toEqual(["a", "b"]);
        }
        // Some had ended before the kill, some were looked after by the process that lived.
        const all = program.calls.filter((call) => call.conversation === conversation);
        const next = all[all.findLastIndex(({ from }) => from === "a") + 1];
        if (next !== undefined && next !== all[0]) recovered("at whatever instant", killedAtMs, next);
      }
    },
  );
});

/** Something that waits until the test lets it go. */
function latch(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe("frozen, stopped, endless, broken", () => {
  const frozen = latch();
  const woken = latch();
  const stopping = latch();

  gate(
    "(f) a process that sleeps past its lease and wakes sends nothing stale",
    {
      settings: { LULL_START_MS: "300" },
      model: async (call) => {
        // Answered while the process is frozen: it finds the answer when it wakes.
        if (call.conversation !== "deliver" && call.from === "a") await frozen.opened;
        // Still thinking when the other wakes: only the fence tells whose lease it is.
        if (call.conversation === "race" && call.from === "b") await woken.opened;
        return naming(call);
      },
      delivery: async (call) => {
        if (call.conversation === "deliver" && call.from === "a") await frozen.opened;
        return {};
      },
    },
    async (scene) => {
      const { program } = scene;
      const a = await scene.start("a");
      await scene.write(a, "deliver", "m1");
      const sent = await program.until("delivery", () => program.deliveries("deliver")[0]);
      for (const conversation of ["model", "race"]) {
        await scene.write(a, conversation, "m1");
        await program.until("model call", () => program.models(conversation)[0]);
      }
      const b = await scene.start("b");
      await freeze(a, scene.database);
      frozen.open();
      for (const conversation of ["model", "race", "deliver"]) await scene.write(b, conversation, "m2");
      await program.until("answer", () => program.deliveries("model")[0]);
      await program.until("next answer", () => program.deliveries("deliver").some(({ covers }) => covers[0] === "m2"));
      await program.until("call by the other", () => program.models("race")[1]);
      await scene.rested(b, "deliver");
      a.kill("SIGCONT");
      // Awake again, and given the time to do something wrong.
      await eventually("sign of life", async () => (await post(a, "/v1/conversations/none/flush", {})).ok);
      await sleep(leaseMs);
      expect(program.deliveries("race")).toEqual([]);
      woken.open();
      await program.until("answer of the other", () => program.deliveries("race")[0]);
      expect(replies(await scene.rested(a, "race")).length).toBe(1);
      expect(expectOneAnswer(program, "race", ["m1", "m2"]).from).toBe("b");
      const log = await scene.rested(a, "model");
      expect(replies(log).length).toBe(1);
      expect(expectOneAnswer(program, "model", ["m1", "m2"]).from).toBe("b");
      expect(log.filter((entry) => entry.kind === "ended").map(({ outcome }) => outcome)).toEqual(["expired"]);
      // A part that was on its way is repeated with its key; what follows comes after it.
      const keys = program.deliveries("deliver").map(({ key }) => key);
      expect(keys.length).toBe(3);
      expect(keys.slice(0, 2)).toEqual([sent.key, sent.key]);
      expect(keys[2]).not.toBe(sent.key);
      expect(program.deliveries("deliver").map(({ covers }) => covers)).toEqual([["m1"], ["m1"], ["m2"]]);
      // And it is as good as before.
      await scene.write(a, "after", "m1");
      await program.until("answer after", () => program.deliveries("after")[0]);
    },
  );

  const modelMs = 700;
  const maxWaitMs = 3_000;

  gate(
    "(g) a user who never pauses gets answers, each within the stated worst wait",
    {
      settings: { LULL_START_MS: "300", LULL_MAX_WAIT_MS: String(maxWaitMs) },
      model: async (call) => {
        await sleep(modelMs);
        return naming(call);
      },
    },
    async (scene) => {
      const { program } = scene;
      const [a, b] = await Promise.all([scene.start("a"), scene.start("b")]);
      const talkers: [conversation: string, servers: ServerProcess[], renewalMs: number][] = [
        ["one", [a], 0],
        ["two", [a, b], leaseMs / 3],
      ];
      const sentAtMs = new Map<string, number>();
      const beganMs = performance.now();
      const ids: string[] = [];
      for (let at = 0; at * 300 < 10_000; at++) {
        ids.push(`m${at}`);
        await sleep(Math.max(0, beganMs + at * 300 - performance.now()));
        await Promise.all(
          talkers.map(async ([conversation, servers]) => {
            const server = servers[at % servers.length] as ServerProcess;
            sentAtMs.set(`${conversation} m${at}`, (await scene.write(server, conversation, `m${at}`)).sentAtMs);
          }),
        );
      }
      const endedMs = performance.now();
      for (const [conversation, , renewalMs] of talkers) {
        await scene.rested(a, conversation);
        const deliveries = program.deliveries(conversation);
        // All of them, each once, in order.
        expect(deliveries.flatMap(({ covers }) => covers)).toEqual(ids);
        expect(deliveries.filter(({ atMs }) => atMs < endedMs).length).toBeGreaterThanOrEqual(2);
        const worstMs = modelMs + Math.max(maxWaitMs, modelMs) + renewalMs + slackMs;
        for (const { covers, atMs } of deliveries)
          expect(tookMs(sentAtMs.get(`${conversation} ${covers[0]}`) ?? 0, atMs), `${covers}`).toBeLessThan(worstMs);
      }
    },
  );

  gate(
    "(h) a model that fails three times, one that never returns, one that always fails; others do not notice",
    {
      settings: {
        LULL_START_MS: "300",
        LULL_TURN_TIMEOUT_MS: "2500",
        LULL_MAX_FAILURES: "5",
        LULL_BACKOFF_FIRST_MS: "200",
      },
      model: (call) => {
        if (call.conversation === "always") return { status: 500 };
        if (call.conversation === "thrice" && call.attempt <= 3) return { status: 500 };
        if (call.conversation === "never" && call.attempt === 1) return null;
        return naming(call);
      },
    },
    async (scene) => {
      const { program } = scene;
      const [a, b] = await Promise.all([scene.start("a"), scene.start("b")]);
      for (const conversation of ["always", "thrice", "never"]) await scene.write(a, conversation, "m1");
      for (let at = 0; at < 4; at++) {
        const { sentAtMs } = await scene.write(at % 2 === 0 ? a : b, `other${at}`, "m1");
        const { atMs } = await program.until("other answer", () => program.deliveries(`other${at}`)[0]);
        expect(tookMs(sentAtMs, atMs)).toBeLessThan(quietMs + slackMs);
      }

      await scene.rested(b, "thrice");
      expect(program.models("thrice").map(({ attempt, answered }) => [attempt, answered])).toEqual([
        [1, 500],
        [2, 500],
        [3, 500],
        [4, 200],
      ]);
      expectOneAnswer(program, "thrice", ["m1"]);

      const log = await scene.rested(b, "never");
      const [hung, next] = program.models("never") as [Call, Call];
      expect(hung.answered).toBeNull();
      expect(hung.closedAtMs).not.toBeNull();
      // The time counts from the claim, a little before the call arrives.
      expect(next.atMs - hung.atMs).toBeGreaterThan(1_500);
      expect(tookMs(hung.atMs, next.atMs)).toBeLessThan(2_500 + 200 + leaseMs + slackMs);
      // The lease ends with the time, so it may be the other process that notices first.
      const [ended] = log.filter((entry) => entry.kind === "ended");
      expect(["failed", "expired"]).toContain(ended?.outcome);
      expectOneAnswer(program, "never", ["m1"]);

      const given = await scene.rested(b, "always");
      expect(program.models("always").length).toBe(5);
      expect(program.deliveries("always")).toEqual([]);
      expect(given.filter((entry) => entry.kind === "settled")).toMatchObject([{ outcome: "parked", from: 0, to: 1 }]);
      expect(await scene.get(b, "/v1/conversations/always")).toMatchObject({
        state: "parked",
        pending: 0,
        wakeAt: null,
        parked: { from: 0, to: 1, reason: expect.stringContaining("500") },
      });
      const { conversations } = await scene.get(b, "/v1/conversations?parked=true");
      expect(conversations.map(({ id }: { id: string }) => id)).toEqual(["always"]);
    },
  );

  gate(
    "SIGTERM: what can be finished is finished, the rest is handed back long before the lease ends",
    {
      settings: { LULL_START_MS: "300", LULL_LEASE_MS: "20000", LULL_STOP_TIMEOUT_MS: "1500" },
      model: async (call) => {
        if (call.from === "a" && call.conversation === "hangs") return null;
        if (call.from === "a") await stopping.opened;
        return naming(call);
      },
    },
    async (scene) => {
      const { program } = scene;
      const a = await scene.start("a");
      for (const conversation of ["hangs", "ends"]) await scene.write(a, conversation, "m1");
      for (const conversation of ["hangs", "ends"]) await program.until("call", () => program.models(conversation)[0]);
      const b = await scene.start("b");
      await scene.write(a, "waits", "m1");
      const stoppedAtMs = a.kill("SIGTERM");
      await sleep(300);
      stopping.open();
      const next = await program.until("second call", () => program.models("hangs")[1]);
      expect(next).toMatchObject({ from: "b", attempt: 2 });
      expect(tookMs(stoppedAtMs, next.atMs)).toBeLessThan(1_500 + searchMs + slackMs);
      expect(program.models("hangs")[0]?.closedAtMs).not.toBeNull();
      const log = await scene.rested(b, "hangs");
      expect(log.filter((entry) => entry.kind === "ended")).toMatchObject([{ outcome: "handed-back" }]);
      expectOneAnswer(program, "hangs", ["m1"]);
      await scene.rested(b, "ends");
      expect(program.models("ends").length).toBe(1);
      expect(expectOneAnswer(program, "ends", ["m1"]).from).toBe("a");
      await scene.rested(b, "waits");
      expectOneAnswer(program, "waits", ["m1"]);
      expect(await a.exited).toBe(0);
    },
  );

  gate(
    "SIGTERM: a process with nothing more to do ends at once",
    {
      settings: { LULL_START_MS: "300", LULL_STOP_TIMEOUT_MS: "20000" },
      model: async (call) => {
        await sleep(1_000);
        return naming(call);
      },
    },
    async (scene) => {
      const a = await scene.start("a");
      await scene.write(a, "done", "m1");
      await scene.rested(a, "done");
      await scene.write(a, "running", "m1");
      await scene.program.until("call", () => scene.program.models("running")[0]);
      const stoppedAtMs = a.kill("SIGTERM");
      expect(await a.exited).toBe(0);
      expect(tookMs(stoppedAtMs, performance.now())).toBeLessThan(1_000 + 2_000 + slackMs);
      expectOneAnswer(scene.program, "running", ["m1"]);
    },
  );

  gate("?wait= is answered by a process that only receives", { settings: { LULL_START_MS: "300" } }, async (scene) => {
    const { program } = scene;
    const [web, bot] = await Promise.all([scene.start("web", { LULL_RESPOND: "none" }), scene.start("bot")]);
    const ask = (server: ServerProcess, id: string) =>
      post(server, "/v1/messages?wait=15", { conversation: "waits", id, text: id });
    const [first, second, again] = await Promise.all([ask(web, "m1"), ask(web, "m2"), ask(bot, "m1")]);
    for (const response of [first, second, again]) {
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({
        status: "delivered",
        covers: expect.arrayContaining(["m1", "m2"]),
        parts: [{ type: "text", text: expect.stringContaining("answer to") }],
        overtaken: false,
      });
    }
    expect(program.deliveries("waits").length).toBe(1);
    // Long after: the same answer, at once.
    const late = await ask(web, "m1");
    expect(late.status).toBe(200);
    expect(await late.json()).toMatchObject({ duplicate: true, covers: expect.arrayContaining(["m1", "m2"]) });
    const early = await post(web, "/v1/messages?wait=1", {
      conversation: "waits",
      id: "m3",
      text: "m3",
      quietMs: 5_000,
    });
    expect(early.status).toBe(202);
  });

  gate(
    "events resumed across a killed server: nothing lost, nothing doubled",
    {
      settings: { LULL_START_MS: "300" },
      model: async (call) => {
        await sleep(500);
        return naming(call);
      },
    },
    async (scene) => {
      const { program } = scene;
      const [a, b] = await Promise.all([scene.start("a"), scene.start("b")]);
      await scene.write(b, "watched", "m1");
      const seen: number[] = [];
      const watching = watch(a, "watched", seen, 0);
      await program.until("answer", () => program.deliveries("watched")[0]);
      await scene.write(b, "watched", "m2");
      await program.until("second call", () => program.models("watched")[1]);
      // It may be the one that answers, too.
      a.kill("SIGKILL");
      await watching;
      expect(seen.length).toBeGreaterThan(0);
      await scene.write(b, "watched", "m3");
      const log = await scene.rested(b, "watched");
      const resumed = new AbortController();
      const rest = watch(b, "watched", seen, seen.at(-1) ?? 0, resumed.signal);
      await scene.write(b, "watched", "m4");
      await program.until("last answer", () =>
        program.deliveries("watched").some(({ covers }) => covers.includes("m4")),
      );
      const all = await scene.rested(b, "watched");
      expect(all.length).toBeGreaterThan(log.length);
      await eventually("last event", async () => (seen.at(-1) ?? 0) >= all.length);
      resumed.abort();
      await rest;
      expect(seen).toEqual(all.map(({ seq }) => seq));
    },
  );

  gate(
    "410 disables the delivery webhook, loudly, and the conversation says so",
    { settings: { LULL_START_MS: "300" }, delivery: () => ({ status: 410 }) },
    async (scene) => {
      const { program } = scene;
      const a = await scene.start("a");
      await scene.write(a, "gone", "m1");
      const log = await scene.rested(a, "gone");
      expect(log.filter((entry) => entry.kind === "receipt")).toMatchObject([{ state: "failed" }]);
      expect(a.said()).toContain("DISABLED");
      await scene.write(a, "later", "m1");
      const later = await scene.rested(a, "later");
      expect(later.filter((entry) => entry.kind === "receipt")).toMatchObject([
        { state: "failed", error: expect.stringContaining("disabled") },
      ]);
      expect(await scene.get(a, "/v1/conversations/later")).toMatchObject({ state: "parked" });
      expect(program.calls.filter(({ kind }) => kind === "delivery").length).toBe(1);
    },
  );
});

/**
 * Stops a process, but not in the middle of a write: then SQLite's lock would stay taken for as long as it sleeps.
 * Nobody else may be busy writing.
 */
async function freeze(server: ServerProcess, path: string): Promise<void> {
  const db = (await sqliteDriver()).open(path);
  try {
    for (let tries = 0; tries < 20; tries++) {
      server.kill("SIGSTOP");
      for (let looks = 0; looks < 10; looks++) {
        await sleep(20);
        try {
          db.exec("begin immediate");
          db.exec("rollback");
          return;
        } catch {
          // Somebody holds the lock. If it is still held at the last look, it is the sleeper.
        }
      }
      server.kill("SIGCONT");
      await sleep(20);
    }
  } finally {
    db.close?.();
  }
  throw new Error(`${server.name} was always found writing.`);
}

/** Collects the numbers of a conversation's events until the stream ends. */
async function watch(
  server: ServerProcess,
  conversation: string,
  seen: number[],
  after: number,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  try {
    const response = await fetch(`${server.url}/v1/conversations/${conversation}/events`, {
      headers: { "last-event-id": String(after) },
      signal: AbortSignal.any([signal, AbortSignal.timeout(60_000)]),
    });
    expect(response.status).toBe(200);
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      const frames = text.split("\n\n");
      text = frames.pop() ?? "";
      for (const frame of frames) {
        const id = /^id: (\d+)$/m.exec(frame)?.[1];
        // An id without data only moves the place to resume from.
        if (id !== undefined && /^data: /m.test(frame)) seen.push(Number(id));
      }
    }
  } catch (error) {
    // The server was killed, or we have seen enough.
    if (!(error instanceof TypeError) && (error as Error).name !== "AbortError") throw error;
  }
}
