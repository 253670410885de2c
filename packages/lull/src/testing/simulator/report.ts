/**
 * A failing seed, told so that a person can follow it: what was planned, what happened, what should not have.
 *
 * @module
 */
import { type Plan, stepLine } from "./plan.ts";
import type { Simulated } from "./world.ts";

/** Plan, trace and verdict, a line a step. */
export function report({ plan, lines, violations }: Simulated): string[] {
  return [
    `seed ${plan.seed}: ${profileLine(plan)}`,
    "",
    "What was planned (ms, what):",
    ...plan.steps.map(stepLine),
    "",
    "What happened (ms, who, what):",
    ...lines.map((line) => line.replace(/^\d+/, (ms) => ms.padStart(7))),
    "",
    "What should not have:",
    ...violations.map(({ rule, what }) => `  ${rule}: ${what}`),
  ];
}

function profileLine({ profile }: Plan): string {
  return Object.entries(profile)
    .map(([name, value]) => `${name}=${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(" ");
}
