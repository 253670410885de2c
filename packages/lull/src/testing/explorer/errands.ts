/**
 * Answers from outside: the author's code has handed its turn on, and what it does comes through a process that holds
 * nothing. It knows only the attempt's fence, and lives on whatever becomes of the process that called it.
 *
 * @module
 */
import { answerEvents, claimOf, sayEvents } from "../../elsewhere.ts";
import type { ProtocolEvent } from "../../model.ts";
import { perform } from "./cell.ts";
import { runs, served } from "./sight.ts";
import { type Errand, type Move, may, type Process, spend, type World } from "./world.ts";

/** The author's code hands its turn on: from here on somebody outside follows the program. */
export function handOn(world: World, { run }: Process): void {
  if (run === null) return;
  const { fence, claimId, program, at, span, saw } = run;
  world.errands = [...world.errands, { fence, claimId, program, at: at + 1, span, saw, holdUntilMs: 0, tool: null }];
}

/** Nobody outside will answer for this attempt any more. */
export function isForgotten({ errands }: World, fence: number): boolean {
  return !errands.some((errand) => errand.fence === fence);
}

export function errands(world: World, move: Move): void {
  world.errands.forEach((errand, index) => {
    const change = (next: World, how: Partial<Errand> | null): void => {
      next.errands = next.errands.flatMap((other, at) =>
        at !== index ? [other] : how === null ? [] : [{ ...other, ...how }],
      );
    };
    if (may(world, "crash"))
      move("outside: whoever answers dies", false, (next) => {
        spend(next, "faults");
        change(next, null);
        return undefined;
      });
    if (errand.holdUntilMs > world.nowMs) return;
    const [what, make] = next(world, errand);
    move(`outside: ${what}`, true, (after) => {
      const event = make(after);
      if (event === undefined) {
        change(after, null);
        return "refused";
      }
      const { outcome } = perform(after, { process: null, claimId: claimIdOf(after, errand), saw: errand.saw }, event);
      change(after, follow(after, errand, outcome));
      return outcome.is;
    });
  });
}

function claimIdOf({ record }: World, { fence }: Errand): string {
  return (record && claimOf(record, fence)?.claimId) ?? "";
}

type Step = readonly [what: string, make: (world: World) => ProtocolEvent | undefined];

function next({ config }: World, { fence, program, at, tool }: Errand): Step {
  if (tool !== null)
    return [
      "the side effect is done, and recorded",
      () => ({ type: "end", fence, span: tool, key: "k", result: { value: 1 } }),
    ];
  switch (program[at] ?? "answer") {
    case "once":
      return [
        "begins its side effect",
        ({ record }) => {
          const held = record && claimOf(record, fence);
          return held ? { type: "begin", key: "k", readOnly: false, elsewhere: true, ...held } : undefined;
        },
      ];
    case "say":
      return [
        "says a part",
        ({ record }) => (record ? sayEvents(record, fence, { type: "text", text: `part ${at}` })[0] : undefined),
      ];
    case "silent":
      return ["stays silent", ({ record }) => (record ? answerEvents(record, fence, { parts: null })[0] : undefined)];
    default: {
      const spoke = program.includes("say");
      const parts = Array.from({ length: config.parts }, () => ({ type: "text" as const, text: "answer" }));
      const answer = { parts: spoke ? null : parts };
      return [
        spoke ? "has said all" : "answers",
        ({ record }) => (record ? answerEvents(record, fence, answer)[0] : undefined),
      ];
    }
  }
}

/** What whoever is outside does with the answer; null: it is done, or knows that it is not wanted. */
function follow(world: World, errand: Errand, outcome: { is: string }): Partial<Errand> | null {
  const { is, atMs, untilMs, span, inDoubt } = outcome as {
    is: string;
    atMs?: number;
    untilMs?: number;
    span?: number;
    inDoubt?: boolean;
  };
  const goesOn = errand.tool !== null || errand.program[errand.at] === "say";
  switch (is) {
    case "early":
      return { holdUntilMs: atMs ?? 0 };
    case "busy":
      return { holdUntilMs: untilMs ?? 0 };
    case "run":
      runs(world, span ?? 0, errand.span, inDoubt === true);
      return { tool: span ?? 0 };
    case "done":
      served(world, errand.span);
      return { at: errand.at + 1 };
    case "committed":
    case "appended":
    case "recorded":
    case "late":
      return goesOn ? { at: errand.at + 1, tool: null } : null;
    default:
      return null;
  }
}
