/**
 * Draws a world from a seed: its profile, what its people type, what its operators do, what goes wrong.
 *
 * @module
 */
import { typingParameters } from "../typing.ts";
import { type Chance, chanceOf } from "./chance.ts";
import type {
  ChannelFault,
  Family,
  ModelFault,
  Moment,
  Operation,
  Plan,
  Profile,
  Step,
  StoreFault,
  Style,
} from "./plan.ts";

const families: readonly Family[] = [
  "crash",
  "freeze",
  "deploy",
  "store",
  "outage",
  "jump",
  "model",
  "channel",
  "webhook",
];
const modelFaults: readonly ModelFault[] = [
  "throws",
  "throws-later",
  "retry-after",
  "empty",
  "hangs",
  "hangs-deaf",
  "slow",
  "effect-throws",
  "effect-hangs",
];
const channelFaults: readonly ChannelFault[] = [
  "busy",
  "busy",
  "error",
  "error",
  "refused",
  "timeout-shown",
  "timeout-lost",
  "broken-shown",
  "broken-lost",
];
const storeFaults: readonly StoreFault[] = ["refused", "lost", "lost", "late", "slow", "dies-before", "dies-after"];
const moments: readonly Moment[] = ["now", "store", "model", "model", "send"];
const operations: readonly Operation[] = ["handoff", "humanReply", "resume", "reset", "retry", "send", "send", "flush"];
const styles: readonly Style[] = ["parts", "stream", "say", "once", "read-once", "seal", "absorb", "silent", "draft"];

/** `change`: settings that are not drawn. */
export function draw(seed: number, change: Partial<Profile> = {}): Plan {
  const profile = { ...profileOf(seed), ...change };
  const operated = chanceOf(seed, "operated").is(profile.families.length === 0 ? 0.25 : 0.4);
  const steps: Step[] = [];
  const count = chanceOf(seed, "conversations").pick([1, 1, 2, 2, 3, 4]);
  for (let n = 1; n <= count; n += 1) steps.push(...conversationOf(seed, `c${n}`, operated, profile));
  const endMs = Math.max(...steps.map(({ atMs }) => atMs)) + 20_000;
  for (const family of profile.families) steps.push(...faultsOf(seed, family, endMs, profile, count));
  steps.sort((a, b) => a.atMs - b.atMs);
  return { seed, profile, steps };
}

/**
 * A lease outlasts so many of the slowest calls of the store: renewals stand in line with other writes of their
 * conversation, and repeat what others came before. An assumption: see docs/proof.md.
 */
const callsInLease = 10;

function profileOf(seed: number): Profile {
  const chance = chanceOf(seed, "profile");
  const calm = chance.is(0.25);
  const quietMs = chance.pick([1_000, 3_000, 6_000, 6_000, 10_000]);
  const maxWaitMs = Math.max(quietMs, chance.pick([4_000, 8_000, 20_000, 45_000]));
  const startMs = chance.is(0.2) ? quietMs : Math.min(quietMs, chance.pick([200, 1_000, 1_000, 2_500]));
  const processes = chance.pick([1, 2, 2, 3, 4]);
  const latencyMs = calm || chance.is(0.2) ? 0 : chance.pick([5, 20, 80, 400]);
  return {
    processes,
    latencyMs,
    hints: calm || chance.is(0.5),
    families: calm ? [] : families.filter(() => chance.is(0.35)),
    whenBusy: chance.pick(["interrupt", "interrupt", "interrupt", "queue", "steer"]),
    debounce: { quietMs, startMs, maxWaitMs },
    leaseMs: Math.max(chance.pick([3_000, 10_000, 30_000]), callsInLease * 2 * latencyMs),
    turnTimeoutMs: calm ? 60_000 : chance.pick([15_000, 30_000, 60_000]),
    scanMs: chance.pick([750, 3_000, 10_000]),
    maxRestarts: chance.pick([0, 1, 3, 3]),
    maxFailures: chance.pick([2, 3, 5, 5]),
    maxPending: chance.pick([3, 1_000, 1_000, 1_000]),
    fallback: chance.is(0.5),
    editAfterAnswer: chance.pick(["ignore", "new-input"]),
    channel: chance.pick(["idempotent", "searchable", "at-least-once", "at-least-once", "at-most-once"]),
    sendMs: chance.pick([0, 0, 100, 1_500]),
    channelTimeoutMs: chance.pick([2_000, 5_000, 10_000]),
    thinkMs: chance.pick([300, 2_000, 2_000, 6_000, 12_000]),
    deaf: chance.pick([0, 0, 0.3, 1]),
    styles: [
      ...(["plain", "plain"] as const),
      ...(chance.is(0.5) ? styles.filter(() => chance.is(0.4)) : []),
      ...(!calm && chanceOf(seed, "elsewhere").is(0.25) ? (["elsewhere", "elsewhere-once"] as const) : []),
    ],
    skewMs: chance.pick([0, 0, 3_000, 3_600_000]),
    drift: calm || chance.is(0.7) ? 0 : chance.pick([0.0005, 0.01]),
  };
}

/** One person writes in turns, at a pace of their own; now and then something is changed, and somebody operates. */
function conversationOf(seed: number, conversation: string, operated: boolean, profile: Profile): Step[] {
  const chance = chanceOf(seed, conversation);
  const corpus = typingParameters[chance.pick(["tangrams", "meetup", "irc"] as const)];
  /** Some go on and on, some are in a hurry: what is rare in real life is what breaks. */
  const chatty = chance.is(0.25);
  const hurry = chance.pick([1, 1, 0.5, 0.2]);
  /** How much more than others this person goes on. */
  const person = chance.beta(corpus.person) / (corpus.person.a / (corpus.person.a + corpus.person.b));
  const plain = chance.is(0.4);
  const late = profile.families.includes("webhook");
  const delay = () => (late && chance.is(0.3) ? chance.whole(1, 8_000) : 0);
  const steps: Step[] = [];
  let atMs = chance.whole(0, 3_000);
  let written = 0;
  const turns = chance.whole(1, 5);
  for (let turn = 0; turn < turns; turn += 1) {
    for (let index = 0; index < 12; index += 1) {
      written += 1;
      const id = `m${written}`;
      const length = Math.min(400, Math.round(chance.lognormal(corpus.length)));
      const write: Step = { atMs, do: "write", conversation, id, text: filler(length), delayMs: delay(), again: [] };
      if (late && chance.is(0.3)) write.again.push(chance.whole(0, 10_000));
      if (!plain && chance.is(0.05)) write.quietMs = chance.pick([0, 500, 2_000]);
      if (!plain && chance.is(0.05)) write.incomplete = true;
      steps.push(write);
      if (!plain) steps.push(...changesOf(write, chance, delay));
      const more = corpus.continues[Math.min(index, 3)] as number;
      if (!chance.is(chatty ? 0.85 : Math.min(0.9, more * person))) break;
      atMs += Math.max(200, Math.round(1_000 * hurry * Math.min(60, chance.lognormal(corpus.gapSeconds))));
      if (!plain && chance.is(0.3))
        steps.push({ atMs: Math.max(0, atMs - 1_500), do: "typing", conversation, on: true });
    }
    atMs += chance.pick([chance.whole(100, 8_000), chance.whole(5_000, 40_000)]);
  }
  if (operated) steps.push(...operationsOf(conversation, atMs, written, chance));
  return steps;
}

function changesOf(write: Step & { do: "write" }, chance: Chance, delay: () => number): Step[] {
  const { conversation, id, atMs } = write;
  const soon = () => atMs + chance.pick([chance.whole(50, 3_000), chance.whole(1_000, 30_000)]);
  const steps: Step[] = [];
  const edits = chance.pick([0, 0, 0, 0, 0, 0, 1, 2]);
  for (let nth = 1; nth <= edits; nth += 1)
    steps.push({ atMs: soon(), do: "edit", conversation, id, nth, text: filler(20), delayMs: delay() });
  if (write.incomplete && chance.is(0.8)) {
    const nth = edits + 1;
    steps.push({ atMs: soon(), do: "edit", conversation, id, nth, text: filler(40), delayMs: 0, completes: true });
  }
  if (chance.is(0.06)) steps.push({ atMs: soon(), do: "retract", conversation, id, delayMs: delay() });
  return steps;
}

function operationsOf(conversation: string, endMs: number, written: number, chance: Chance): Step[] {
  return Array.from({ length: chance.whole(1, 4) }, (_, index): Step => {
    const what = chance.pick(operations);
    const step = {
      atMs: chance.whole(0, endMs + 10_000),
      do: "operate" as const,
      conversation,
      id: `o${index + 1}`,
      what,
    };
    switch (what) {
      case "handoff":
        return { ...step, forMs: chance.whole(1_000, 60_000), backlog: chance.pick(["answer", "context"]) };
      case "resume":
        return { ...step, backlog: chance.pick(["answer", "context"]) };
      case "humanReply":
        return chance.is(0.5) ? step : { ...step, upTo: `m${chance.whole(1, written)}` };
      case "send":
        return { ...step, when: chance.pick(["after-turn", "after-turn", "if-quiet"]) };
      default:
        return step;
    }
  });
}

function faultsOf(seed: number, family: Family, endMs: number, profile: Profile, conversations: number): Step[] {
  const chance = chanceOf(seed, "faults", family);
  const process = () => chance.whole(0, profile.processes - 1);
  const conversation = () => `c${chance.whole(1, conversations)}`;
  const leases = (least: number, most: number) =>
    Math.round(profile.leaseMs * (least + chance.next() * (most - least)));
  const struck = (atMs: number) => ({ atMs, process: process(), when: chance.pick(moments) });
  const many: Record<Family, number> = {
    crash: chance.whole(1, 5),
    freeze: chance.whole(1, 4),
    deploy: chance.whole(1, 3),
    store: chance.whole(2, 30),
    outage: chance.whole(1, 2),
    jump: 1,
    model: chance.whole(1, 8),
    channel: chance.whole(1, 10),
    webhook: 0,
  };
  return Array.from({ length: many[family] }, (): Step => {
    const atMs = chance.whole(0, endMs);
    switch (family) {
      case "crash":
        return { ...struck(atMs), do: "crash", downMs: chance.pick([0, chance.whole(100, 30_000)]) };
      case "freeze":
        return { ...struck(atMs), do: "freeze", forMs: leases(0.05, 2.5), suspends: chance.is(0.2) };
      case "deploy":
        return chance.is(0.3)
          ? { atMs, do: "pause", process: process(), forMs: chance.whole(100, 20_000) }
          : {
              atMs,
              do: "deploy",
              process: process(),
              graceMs: chance.pick([0, 2_000, 10_000]),
              downMs: chance.whole(0, 3_000),
            };
      case "store": {
        const ms = chance.is(0.7) ? chance.whole(10, 2_000) : leases(0.3, 1.5);
        return { atMs, do: "store", process: process(), fault: chance.pick(storeFaults), ms };
      }
      case "outage":
        return { atMs, do: "outage", forMs: chance.pick([chance.whole(100, 5_000), leases(0.5, 2)]) };
      case "jump":
        return { atMs, do: "jump", byMs: chance.pick([1, -1]) * chance.whole(100, 60_000) };
      case "model":
        return {
          atMs,
          do: "model",
          conversation: conversation(),
          fault: chance.pick(modelFaults),
          ms: chance.whole(100, 20_000),
        };
      default:
        return {
          atMs,
          do: "channel",
          conversation: conversation(),
          fault: chance.pick(channelFaults),
          ms: chance.whole(0, 8_000),
        };
    }
  });
}

const letters = "the quick brown fox jumps over the lazy dog and asks where its order is ";

function filler(length: number): string {
  return letters
    .repeat(Math.ceil(length / letters.length))
    .slice(0, length)
    .trim();
}
