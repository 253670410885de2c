/**
 * The simulator: real engines, virtual time, and everything that goes wrong in production, from a seed.
 *
 * @module
 */
import { memory } from "../../stores/memory/index.ts";
import { draw } from "./draw.ts";
import type { Plan, Profile } from "./plan.ts";
import { shrink } from "./shrink.ts";
import { carryOut, type MakeStore, type RestartStore, type Simulated } from "./world.ts";

export type { Plan, Profile, Step } from "./plan.ts";
export { report } from "./report.ts";
export type { Figures, Violation } from "./scene.ts";
export type { MakeStore, RestartStore, Simulated } from "./world.ts";

export interface SimulateOptions {
  /** Default: the memory store. */
  store?: MakeStore;
  /** Called at the end of every outage. Default: the store was merely out of reach. */
  restart?: RestartStore;
  /** Settings that are not drawn from the seed. */
  profile?: Partial<Profile>;
  /** Keep the trace's lines. Default false. */
  lines?: boolean;
}

/**
 * Simulates one seed: its people, operators and faults against a bot of several processes, on virtual time. The same
 * seed gives the same trace, on every store.
 *
 * @example
 * const { violations, hash } = await simulate(42);
 */
export function simulate(seed: number, options: SimulateOptions = {}): Promise<Simulated> {
  return simulatePlan(draw(seed, options.profile), options);
}

/** The same for a plan of one's own. */
export function simulatePlan(plan: Plan, options: Omit<SimulateOptions, "profile"> = {}): Promise<Simulated> {
  const store = options.store ?? (({ now }) => memory({ now }));
  return carryOut(plan, { store, restart: options.restart, lines: options.lines ?? false });
}

/** The smallest world found that breaks the same promise (the first that was broken), with its trace. */
export async function shrinkFailure(
  failed: Simulated,
  options: Omit<SimulateOptions, "profile" | "lines"> & { tries?: number } = {},
): Promise<Simulated> {
  const broken = failed.violations[0]?.rule;
  const fails = async (plan: Plan) =>
    (await simulatePlan(plan, options)).violations.some(({ rule }) => rule === broken);
  const { tries } = options;
  const smallest = await shrink(failed.plan, { fails, ...(tries !== undefined && { tries }) });
  return simulatePlan(smallest, { ...options, lines: true });
}
