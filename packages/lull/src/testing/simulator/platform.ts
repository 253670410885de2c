/**
 * The platform people write on: posts webhooks until they are acknowledged, shows what the bot sends, and fails in
 * the ways platforms fail. It goes on whatever becomes of the process it talks to.
 *
 * @module
 */
import { enough } from "../../clock.ts";
import type { Part } from "../../model.ts";
import type { Channel, Delivery, Receipt } from "../../ports.ts";
import { textOf } from "../../turn.ts";
import type { Gate } from "../gate.ts";
import { chanceOf } from "./chance.ts";
import type { Shown } from "./ledger.ts";
import { type Scene, take } from "./scene.ts";

const never = () => new Promise<never>(() => {});

/** The channel as a process sees it. */
export function channelOf(scene: Scene, process: string, gate: Gate): Channel {
  const { profile, seed } = scene.plan;
  const { facts, clock, figures } = scene;
  const idempotent = profile.channel === "idempotent";
  const seen = (key: string) => facts.shown.some((other) => other.key === key && other.shownAtMs !== null);

  function show(shown: Shown): void {
    if (idempotent && seen(shown.key)) {
      shown.reaction = "repeated";
      return;
    }
    shown.shownAtMs = scene.ms();
    figures.parts += 1;
    scene.say("screen", `${shown.conversation} shows "${shown.text}"`);
  }

  async function deliver(part: Part, delivery: Delivery): Promise<Receipt> {
    const { conversation, idempotencyKey: key, replyId, index, attempt, cause, overtaken, covers, signal } = delivery;
    const fault = take(scene.waiting.channel, conversation);
    const shown: Shown = {
      ...scene.place(conversation),
      key,
      replyId,
      index,
      process,
      text: textOf([part]),
      cause,
      overtaken,
      covers,
      reaction: fault?.fault ?? "sent",
      shownAtMs: null,
      endedAtMs: null,
    };
    facts.shown.push(shown);
    if (fault !== undefined) scene.count(`channel ${fault.fault}`);
    scene.say(process, `${conversation} sends ${key} try ${attempt}${fault ? ` (${fault.fault})` : ""}`);
    const end = () => {
      shown.endedAtMs ??= scene.ms();
    };
    signal.addEventListener("abort", end);
    const chance = chanceOf(seed, conversation, textOf([part]), attempt);
    const sendMs = chance.whole(0, profile.sendMs);
    const thereMs = chance.whole(0, sendMs);
    if (thereMs > 0) await clock.sleep(thereMs);
    const visible = fault === undefined || fault.fault.endsWith("-shown");
    if (visible) show(shown);
    scene.strike(process, "send");
    if (sendMs > thereMs) await clock.sleep(sendMs - thereMs);
    if (fault?.fault.startsWith("timeout")) await never();
    await gate.pass();
    end();
    if (fault?.fault.startsWith("broken")) throw new Error("connection reset");
    if (fault?.fault === "busy") return { status: "failed", error: "429", retry: true, retryAfterMs: fault.ms };
    if (fault?.fault === "error") return { status: "failed", error: "503", retry: true };
    if (fault?.fault === "refused") return { status: "failed", error: "403" };
    return { status: "sent", id: key };
  }

  return {
    name: "double",
    idempotent,
    deliver,
    timeoutMs: profile.channelTimeoutMs,
    ...(profile.channel === "searchable" && {
      async find({ idempotencyKey }) {
        await gate.pass();
        return seen(idempotencyKey) ? { status: "sent" as const } : null;
      },
    }),
    ...(profile.channel === "at-most-once" && { whenInDoubt: "at-most-once" as const }),
  };
}

/** A platform waits so long for an acknowledgement, then posts again. */
const patienceMs = 5_000;

/** Posts something until it is acknowledged. `post` rejects, or never answers, when it was not. */
export async function insist(scene: Scene, post: (nth: number) => Promise<boolean>): Promise<void> {
  for (let nth = 0; ; nth += 1) {
    const timer = new AbortController();
    const late = scene.clock.sleep(patienceMs, timer.signal).then(() => false);
    const done = await Promise.race([post(nth).catch(() => false), late]);
    timer.abort(enough);
    if (done) return;
    // As platforms do: less and less often, or many at once would keep a slow store busy for ever.
    await scene.clock.sleep(Math.min(120_000, 500 * 2 ** nth));
  }
}
