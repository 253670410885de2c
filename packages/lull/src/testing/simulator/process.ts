/**
 * One process of the bot: the real engine behind a clock, a connection and a gate of its own.
 *
 * @module
 */
import { Lull } from "../../lull.ts";
import { dice } from "../clock.ts";
import { clockBehind, type Gate, gate } from "../gate.ts";
import { botIn } from "./bot.ts";
import { chanceOf, hashOf } from "./chance.ts";
import { type Connection, connect, type SharedStore } from "./network.ts";
import type { Profile } from "./plan.ts";
import { channelOf } from "./platform.ts";
import type { Scene } from "./scene.ts";

export interface Process {
  readonly name: string;
  readonly lull: Lull;
  readonly gate: Gate;
  readonly connection: Connection;
  /** Its monotonic clock stood still for so long. */
  suspended(ms: number): void;
}

/** `life`: 1 for the first process of a slot, one more after every crash. */
export function launch(scene: Scene, shared: SharedStore, slot: number, life: number, die: () => void): Process {
  const { plan } = scene;
  const { profile, seed } = plan;
  const name = `p${slot + 1}${life === 1 ? "" : `.${life}`}`;
  const door = gate(scene.wires.settle);
  const chance = chanceOf(seed, name, "clock");
  const off = { skewMs: chance.whole(-profile.skewMs, profile.skewMs), drift: (2 * chance.next() - 1) * profile.drift };
  let ids = 0;
  const own = { random: dice(hashOf(seed, name, "random")), id: () => `${name}-${++ids}` };
  const clock = clockBehind(door, scene.clock, own, off);
  const connection = connect(scene, shared, name, door, die);
  const lull = new Lull({
    store: connection.store,
    clock,
    owner: name,
    respond: botIn(scene, name, clock),
    channels: [channelOf(scene, name, door)],
    ...optionsOf(profile),
  });
  scene.say(name, "starts");
  return { name, lull, gate: door, connection, suspended: clock.suspended };
}

/** The bot's options; the same for every process. */
export function optionsOf(profile: Profile) {
  const { debounce, whenBusy, leaseMs, turnTimeoutMs, scanMs, editAfterAnswer, fallback } = profile;
  const { maxRestarts, maxFailures, maxPending } = profile;
  return {
    debounce,
    whenBusy,
    lease: { leaseMs, turnTimeoutMs },
    scanMs,
    editAfterAnswer,
    backoff: { firstMs: 500, maxMs: 5_000 },
    deliverBackoff: { firstMs: 500, maxMs: 5_000 },
    limits: { maxRestarts, maxFailures, maxPending, repliesPerHour: 100_000 },
    ...(fallback && { fallback: "fallback" }),
  };
}
