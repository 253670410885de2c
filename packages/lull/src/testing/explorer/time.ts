/**
 * Time stands still until somebody lets it go on to the next instant that matters. A healthy process renews what it
 * holds in time, so time does not pass the end of its lease unless something went wrong with it.
 *
 * @module
 */
import { capAt, quietAt } from "../../window.ts";
import type { Process, World } from "./world.ts";

/** How long before its end a lease is renewed when something waits for longer. */
export const marginMs = 1_000;

/** The next instant at which anything may be decided differently; null when time changes nothing. */
export function nextInstant(world: World): number | null {
  const { record, nowMs, config, processes, budget } = world;
  if (record === null) return null;
  const { window, lease, outbox } = record;
  let best = Number.POSITIVE_INFINITY;
  const at = (instant: number | null | undefined) => {
    if (instant !== null && instant !== undefined && instant > nowMs && instant < best) best = instant;
  };
  const limit = Math.min(...processes.map((process) => renewBy(world, process)), doneBy(world));
  // What is renewed in time does not end.
  if (world.timerMs !== limit) at(world.timerMs);
  for (const process of processes) {
    at(process.waitMs);
    if (process.run !== null && !process.run.done) at(process.run.holdUntilMs);
  }
  for (const errand of world.errands) at(errand.holdUntilMs);
  if (window !== null) {
    at(quietAt(window, config.limits));
    at(capAt(window, config.limits));
    // Input that comes later than that discards no answer.
    if (budget.inputs > 0 && lease?.purpose === "respond" && !lease.sealed) at(capAt(window, config.limits) + 1_000);
  }
  if (budget.inputs > 0 && outbox?.window && !outbox.sealed) {
    at(capAt(outbox.window, config.limits));
    at(capAt(outbox.window, config.limits) + 1_000);
  }
  if (record.handoff !== null && window !== null) at(record.handoff.untilMs);
  if (best < limit) return best;
  return best < Number.POSITIVE_INFINITY && limit - marginMs > nowMs ? limit - marginMs : null;
}

interface Grasp {
  fence: number;
  claimId: string;
  deadlineMs: number;
  /** When the lease, or the mark of a side effect under it, runs out unless it is renewed. */
  endsMs: number;
}

/** What a process keeps alive: its lease, and the side effects of attempts that have lost theirs. */
export function graspsOf({ record }: World, { worker, tools }: Process): Grasp[] {
  const grasps: Grasp[] = [];
  const add = ({ fence, claimId, deadlineMs }: Omit<Grasp, "endsMs">, endsMs: number): void => {
    const known = grasps.find((grasp) => grasp.fence === fence);
    if (known === undefined) grasps.push({ fence, claimId, deadlineMs, endsMs });
    else known.endsMs = Math.min(known.endsMs, endsMs);
  };
  const { lease } = worker;
  const mine = lease !== null && record?.lease?.claimId === lease.claimId ? record.lease : null;
  if (lease !== null)
    add({ ...lease, deadlineMs: (mine ?? lease).deadlineMs }, mine?.expiresAtMs ?? Number.POSITIVE_INFINITY);
  for (const tool of tools) {
    add(tool, Number.POSITIVE_INFINITY);
    for (const effect of Object.values({ ...record?.effects, ...record?.outbox?.effects }))
      if (effect.state === "begun" && effect.fence === tool.fence) add(tool, effect.untilMs);
  }
  return grasps;
}

/** Whoever is outside ends its side effect in time, or renews its mark. */
function doneBy({ record, errands }: World): number {
  let first = Number.POSITIVE_INFINITY;
  for (const effect of Object.values({ ...record?.effects, ...record?.outbox?.effects }))
    if (effect.state === "begun" && errands.some(({ tool, fence }) => tool !== null && fence === effect.fence))
      first = Math.min(first, effect.untilMs);
  return first;
}

/** A healthy holder renews in time, and so does whoever runs a side effect. */
function renewBy(world: World, process: Process): number {
  if (process.frozen || process.unsure !== null) return Number.POSITIVE_INFINITY;
  return Math.min(...graspsOf(world, process).map(({ endsMs }) => endsMs));
}
