/**
 * What goes wrong, and how a process gets over it.
 *
 * @module
 */
import { isIdle, step } from "../../worker.ts";
import { canRollBack, perform, rollback, type Trouble } from "./cell.ts";
import * as engine from "./process.ts";
import { lapses } from "./sight.ts";
import {
  type Asked,
  may,
  newProcess,
  type Process,
  type ProcessMove,
  type SideAsked,
  spend,
  type World,
} from "./world.ts";

/** The same write with a clock that is off, or after a read from before the last write. */
export function troubled(
  world: World,
  what: string,
  act: ProcessMove,
  go: (trouble: Trouble) => (next: World, mine: Process) => string,
): void {
  if (may(world, "clock"))
    for (const skewMs of [-1_000, 1_000, -world.config.limits.leaseMs - 5_000, world.config.limits.leaseMs + 5_000])
      act(`${what} (its clock is ${skewMs / 1_000} s off)`, false, (next, mine) => {
        spend(next, "faults");
        lapses(next);
        return go({ skewMs })(next, mine);
      });
  if (may(world, "stale") && world.previous !== null)
    act(`${what} (after a read from before)`, false, (next, mine) => {
      spend(next, "faults");
      lapses(next);
      return go({ stale: true })(next, mine);
    });
}

/** The store's answer does not arrive. */
export function lost(
  world: World,
  what: string,
  act: ProcessMove,
  of: (next: World, mine: Process) => Asked | SideAsked | null,
): void {
  if (!may(world, "lost")) return;
  act(`${what} (the answer is lost)`, false, (next, mine) => {
    spend(next, "faults");
    const asked = of(next, mine);
    if (asked === null) return "nothing";
    const tried = perform(next, engine.by(mine, asked), asked.event);
    if (!engine.isSide(asked)) mine.asked = null;
    mine.unsure = { asked, tried };
    return tried.wrote === null ? "nothing was written" : `written (${tried.outcome.is})`;
  });
  act(`${what} (it never reaches the store)`, false, (next, mine) => {
    spend(next, "faults");
    const asked = of(next, mine);
    if (asked === null) return "nothing";
    if (!engine.isSide(asked)) mine.asked = null;
    mine.unsure = { asked, tried: null };
    return undefined;
  });
}

/** What a process does that does not know whether its write was done. */
export function resolve(process: Process, act: ProcessMove): void {
  act("asks the store again", true, (next, mine) => engine.again(next, mine));
  const { unsure } = process;
  if (unsure === null || engine.isSide(unsure.asked) || unsure.asked.command.do !== "claim") return;
  act("gives up asking", true, (next, mine) => {
    mine.unsure = null;
    mine.cache = undefined;
    lapses(next);
    step(mine.worker, { type: "unanswered" });
    engine.pump(next, mine);
    return undefined;
  });
}

/** What may happen to a process. */
export function faults(world: World, process: Process, act: ProcessMove): void {
  const { worker } = process;
  const atWork =
    worker.lease !== null || process.unsure !== null || process.tools.length > 0 || process.sending !== null;
  if (worker.stopping && isIdle(worker) && process.tools.length === 0 && process.unsure === null)
    act("has stopped; a new process starts", true, (next, mine) => {
      next.processes[next.processes.indexOf(mine)] = newProcess(world.config);
      return undefined;
    });
  if (!atWork) return;
  if (may(world, "crash"))
    act("crashes", false, (next, mine) => {
      spend(next, "faults");
      next.timerKept = false;
      lapses(next);
      next.processes[next.processes.indexOf(mine)] = newProcess(world.config);
      return undefined;
    });
  if (may(world, "freeze") && process.unsure === null)
    act("freezes", false, (next, mine) => {
      spend(next, "faults");
      mine.frozen = true;
      lapses(next);
      if (mine.sending !== null) mine.sending = { ...mine.sending, begun: true };
      return undefined;
    });
  if (may(world, "rollback") && canRollBack(world))
    act("'s write is lost: the store comes back as it was before", false, (next) => {
      spend(next, "faults");
      rollback(next);
      lapses(next);
      return undefined;
    });
}

/** Once its lease has passed it goes on where it stood. */
export function thaw(world: World, process: Process, act: ProcessMove): void {
  const lease = world.record?.lease ?? null;
  const mine = process.worker.lease ?? process.tools[0] ?? null;
  const passed = lease === null || lease.claimId !== mine?.claimId || lease.expiresAtMs <= world.nowMs;
  if (passed)
    act("thaws", true, (next, thawed) => {
      thawed.frozen = false;
      engine.pump(next, thawed);
      return undefined;
    });
}
