/**
 * A bot's own `respond`, in its author's own test runner, against people who type fast, change their minds and
 * interrupt, and processes that die: on virtual time, with the real engine.
 *
 * @module
 */
import { LullError } from "../../errors.ts";
import { Lull } from "../../lull.ts";
import type { LullOptions } from "../../options.ts";
import { memory } from "../../stores/memory/index.ts";
import { dice, settled, virtualClock } from "../clock.ts";
import { clockBehind, type Gate, gate, storeBehind } from "../gate.ts";
import { type BurstStep, isMessage, stepText, type Timed, timed } from "./script.ts";
import { type BenchRespond, type ReplayedAttempt, type ReplayedEffect, type ReplayedReply, stage } from "./stage.ts";
import { watch } from "./watch.ts";

export type { BurstStep } from "./script.ts";
export type { Bench, BenchRespond, ReplayedAttempt, ReplayedEffect, ReplayedReply } from "./stage.ts";

type BotOptions =
  | "debounce"
  | "whenBusy"
  | "lease"
  | "limits"
  | "commands"
  | "backlog"
  | "editAfterAnswer"
  | "fallback"
  | "backoff";

/** How the bot is set up, as in `new Lull`, and how it is replayed. */
export interface ReplayOptions extends Pick<LullOptions, BotOptions> {
  /** Between steps that have no time of their own. Default 800. */
  gapMs?: number;
  /** An answer takes at least so long, on virtual time. Default 2,000. 0: `respond` takes its time with `bench.sleep`. */
  modelMs?: number;
  /** How long `respond` may work in real time, without a word, before virtual time goes on. Default 50. */
  realMs?: number;
  /** Virtual time after which a conversation that does not come to rest is left. Default one hour. */
  limitMs?: number;
}

export interface Replay {
  /** What `respond` was given, run by run: the texts of its messages. */
  prompts: string[][];
  attempts: ReplayedAttempt[];
  effects: ReplayedEffect[];
  /** What the user saw. */
  replies: ReplayedReply[];
  /** All of it, a line a step: worth printing when a test fails. */
  timeline: string[];
  /** Everything was answered, or ended otherwise, within `limitMs`. */
  resting: boolean;
  /** Messages were given up: `respond` failed too often. */
  parked: boolean;
}

interface Process {
  lull: Lull;
  door: Gate;
}

const conversation = "burst";
const epochMs = 1_750_000_000_000;

/**
 * Plays a script against `respond`, and tells what came of it. Messages are called m1, m2, m3 … in their order.
 *
 * @example
 * const { prompts, replies } = await replayBurst(respond, ["hi", "my order is late", "#1234"]);
 * expect(replies).toHaveLength(1);
 * expect(prompts.at(-1)).toEqual(["hi", "my order is late", "#1234"]);
 */
export async function replayBurst(
  respond: BenchRespond,
  script: readonly BurstStep[],
  options: ReplayOptions = {},
): Promise<Replay> {
  const { gapMs = 800, modelMs = 2_000, realMs = 50, limitMs = 3_600_000, ...bot } = options;
  const watched = watch(realMs);
  const clock = virtualClock({ startMs: epochMs, settle: watched.settle });
  const store = memory({ now: clock.now });
  const now = () => clock.now() - epochMs;
  const seen = stage(watched, now);
  let lives = 0;
  let process = start();

  function start(): Process {
    lives += 1;
    const life = lives;
    const door = gate(settled);
    let ids = 0;
    const local = clockBehind(door, clock, { random: dice(life), id: () => `${life}-${++ids}` });
    const lull = new Lull({
      ...bot,
      store: storeBehind(door, store),
      clock: local,
      owner: `process ${life}`,
      respond: seen.respondWith(respond, local, modelMs),
      async deliver(part, delivery) {
        seen.show(part, delivery);
        return { status: "sent" };
      },
    });
    void lull.start();
    return { lull, door };
  }

  async function perform({ step }: Timed): Promise<void> {
    seen.say(isMessage(step) ? "user" : "world", stepText(step));
    if ("crash" in step) {
      process.door.die();
      void clock.sleep(step.crash).then(() => {
        process = start();
      });
      return;
    }
    if ("freeze" in step) {
      const { door } = process;
      door.freeze();
      void clock.sleep(step.freeze).then(() => watched.hold(door.thaw()));
      return;
    }
    // Platforms try again until somebody hears them.
    while (process.door.state === "dead") await clock.sleep(100);
    await process.door.pass();
    const { lull } = process;
    if (isMessage(step)) {
      const { atMs: _, ...message } = step;
      await lull.receive(conversation, message);
    } else if ("edit" in step) {
      const { edit, text, incomplete } = step;
      await lull.edit(conversation, edit, { text, ...(incomplete === undefined ? {} : { incomplete }) });
    } else if ("retract" in step) await lull.retract(conversation, step.retract);
    else if ("typing" in step) await lull.typing(conversation, { on: step.typing });
    else if ("handoff" in step) await lull.handoff(conversation, { forMs: step.handoff });
    else if ("human" in step) await lull.humanReply(conversation, { text: step.human });
    else if ("resume" in step) await lull.resume(conversation);
    else if ("flush" in step) await lull.flush(conversation);
    else if ("reset" in step) await lull.reset(conversation);
    else if ("retry" in step) await lull.retry(conversation);
    else if ("send" in step) await lull.send(conversation, { text: step.send });
    else throw new LullError("invalid-argument", `This is no step of a burst: ${JSON.stringify(step)}.`);
  }

  let heard = 0;
  let refused: unknown;
  const steps = timed(script, gapMs);
  for (const step of steps) {
    await clock.advance(step.atMs - now());
    perform(step).then(
      () => {
        heard += 1;
      },
      (error: unknown) => {
        refused ??= error;
      },
    );
  }
  const endMs = clock.now() + limitMs;
  let resting = false;
  while (!resting && refused === undefined && clock.now() < endMs) {
    await clock.advance(500);
    resting = heard === steps.length && (await store.list({}, { active: true })).conversations.length === 0;
  }
  if (refused !== undefined) throw refused;
  const { record } = await store.load(conversation);
  process.door.die();
  return {
    prompts: seen.attempts.map(({ prompt }) => prompt),
    attempts: seen.attempts,
    effects: [...seen.effects.values()],
    replies: [...seen.replies.values()],
    timeline: seen.timeline,
    resting,
    parked: record !== null && record.parked !== null,
  };
}
