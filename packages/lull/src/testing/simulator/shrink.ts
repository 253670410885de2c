/**
 * Makes a failing plan smaller as long as it fails: fewer conversations, faults, messages and processes, a plainer
 * world.
 *
 * @module
 */
import type { Plan, Profile, Step } from "./plan.ts";

export interface ShrinkOptions {
  /** Does this plan still fail, in the same way? */
  fails: (plan: Plan) => Promise<boolean>;
  /** Plans tried, at most. Default 1,500. */
  tries?: number;
}

/** Settings without which a failure is easier to understand, most telling first. */
const plainer: readonly Partial<Profile>[] = [
  { latencyMs: 0 },
  { drift: 0 },
  { skewMs: 0 },
  { sendMs: 0 },
  { deaf: 0 },
  { styles: ["plain"] },
  { hints: false },
  { channel: "idempotent" },
  { whenBusy: "interrupt" },
  { fallback: false },
  { maxPending: 1_000 },
  { maxRestarts: 3 },
  { families: [] },
];

/** `plan` fails; so does what comes back. */
export async function shrink(plan: Plan, { fails, tries = 1_500 }: ShrinkOptions): Promise<Plan> {
  let best = plan;
  let left = tries;

  /** Takes the smaller plan if it fails as well. */
  async function take(smaller: Plan): Promise<boolean> {
    if (left <= 0) return false;
    left -= 1;
    if (!(await fails(smaller))) return false;
    best = smaller;
    return true;
  }

  const without = (drop: (step: Step) => boolean) => {
    const steps = best.steps.filter((step) => !drop(step));
    return steps.length === best.steps.length ? Promise.resolve(false) : take({ ...best, steps });
  };

  for (let before = Number.POSITIVE_INFINITY; size(best) < before && left > 0; ) {
    before = size(best);
    for (const name of new Set(best.steps.flatMap((step) => ("conversation" in step ? [step.conversation] : []))))
      await without((step) => "conversation" in step && step.conversation === name);
    for (const kind of new Set(best.steps.map((step) => step.do))) await without((step) => step.do === kind);
    // Halves, quarters … single steps; from the end, which seldom matters.
    for (let length = best.steps.length >> 1; length >= 1; length >>= 1)
      for (let from = best.steps.length - length; from > -length && left > 0; from -= length) {
        const gone = new Set(best.steps.slice(Math.max(0, from), from + length));
        await without((step) => gone.has(step));
      }
    for (const change of plainer)
      if (JSON.stringify({ ...best.profile, ...change }) !== JSON.stringify(best.profile))
        await take({ ...best, profile: { ...best.profile, ...change } });
    while (best.profile.processes > 1 && (await take(withProcesses(best, best.profile.processes - 1))));
  }
  return best;
}

function size({ steps, profile }: Plan): number {
  const settings = plainer.filter((change) => JSON.stringify({ ...profile, ...change }) !== JSON.stringify(profile));
  return steps.length + profile.processes + settings.length;
}

function withProcesses(plan: Plan, processes: number): Plan {
  const steps = plan.steps.map((step) => ("process" in step ? { ...step, process: step.process % processes } : step));
  return { ...plan, profile: { ...plan.profile, processes }, steps };
}
