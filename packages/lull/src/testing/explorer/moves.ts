/**
 * Everything that can happen next. A move is `free` when it needs no budget: it is what a healthy system does by
 * itself, so after the last input and the last fault only free moves are left.
 *
 * @module
 */
import { isIdle, step } from "../../worker.ts";
import type { Trouble } from "./cell.ts";
import { type Answering, deliver } from "./channel.ts";
import type { Act } from "./config.ts";
import { errands, handOn, isForgotten } from "./errands.ts";
import { faults, lost, resolve, thaw, troubled } from "./faults.ts";
import { does, inputs, operations } from "./people.ts";
import * as engine from "./process.ts";
import { lapses } from "./sight.ts";
import { graspsOf, marginMs, nextInstant } from "./time.ts";
import { breaks } from "./violation.ts";
import {
  type Asked,
  fork,
  type Move,
  may,
  own,
  type Process,
  type ProcessMove,
  type SideAsked,
  spend,
  type World,
} from "./world.ts";

/** Is told of every world that may come next, and by which move. */
export type Visit = (label: string, free: boolean, next: World) => void;

/** A move that breaks a promise is visited as what it broke. */
export type Broken = (label: string, error: unknown) => void;

export function moves(world: World, visit: Visit, broken: Broken): void {
  const move = (label: string, free: boolean, act: (next: World) => string | undefined, base = world): void => {
    const next = fork(base);
    let said: string | undefined;
    try {
      said = act(next);
    } catch (error) {
      broken(label, error);
      return;
    }
    visit(said === undefined ? label : `${label}: ${said}`, free, next);
  };
  people(world, move);
  time(world, move);
  errands(world, move);
  world.processes.forEach((_, index) => {
    const from =
      (base: World, before = ""): ProcessMove =>
      (label, free, how) =>
        move(`W${index + 1} ${before}${label}`, free, (next) => how(next, own(next, index)), base);
    const act = from(world);
    // What touches nobody else may as well happen right before the write that follows from it.
    const local: ProcessMove = (label, free, how) => {
      const between = fork(world);
      const mine = own(between, index);
      how(between, mine);
      if (mine.asked === null) return act(label, free, how);
      writes(between, mine, (what, alsoFree, write) => from(between, `${label}, `)(what, free && alsoFree, write));
    };
    ofProcess(world, index, act, local);
  });
}

function ofProcess(world: World, index: number, act: ProcessMove, local: ProcessMove): void {
  const process = world.processes[index] as Process;
  if (process.frozen) return thaw(world, process, act);
  faults(world, process, act);
  if (process.unsure !== null) return resolve(process, act);
  // Free workers are alike: one of them is enough.
  claims(world, process, act, isFirstIdle(world, index));
  writes(world, process, act);
  hints(world, process, act, local);
  author(world, process, act, local);
  tools(world, process, act);
  sends(world, process, act);
}

function people(world: World, move: Move): void {
  const { budget, config } = world;
  if (budget.inputs > 0)
    for (const deed of inputs(world))
      move(deed.what, false, (next) => {
        spend(next, "inputs");
        return does(next, deed);
      });
  if (budget.operations === 0) return;
  for (const deed of operations(world))
    move(deed.what, false, (next) => {
      spend(next, "operations");
      return does(next, deed);
    });
  if (config.operators.includes("stop"))
    world.processes.forEach((process, index) => {
      if (process.worker.lease === null || process.worker.stopping || process.frozen) return;
      move(`W${index + 1} is asked to stop`, false, (next) => {
        spend(next, "operations");
        const mine = own(next, index);
        step(mine.worker, { type: "stop" });
        engine.pump(next, mine);
        return undefined;
      });
    });
}

// --- time

/** On to the next instant at which anything may be decided differently. */
function time(world: World, move: Move): void {
  const atMs = nextInstant(world);
  if (atMs === null) return;
  move(`${(atMs - world.nowMs) / 1_000} s pass`, true, (next) => {
    next.nowMs = atMs;
    // A store that is away for so long is no fault of the lease's.
    const { lease } = next.record ?? { lease: null };
    if (lease !== null && lease.expiresAtMs <= atMs && next.processes.some(({ unsure }) => unsure !== null))
      lapses(next);
    next.processes.forEach((process, index) => {
      if (process.waitMs === null || process.waitMs > atMs || process.frozen || process.unsure !== null) return;
      engine.pump(next, own(next, index));
    });
    return undefined;
  });
}

// --- processes

function isFirstIdle(world: World, index: number): boolean {
  const idle = (process: Process) =>
    isIdle(process.worker) &&
    process.unsure === null &&
    process.tools.length === 0 &&
    !process.frozen &&
    !process.worker.stopping &&
    process.sending === null;
  const process = world.processes[index];
  if (process === undefined || !idle(process)) return true;
  return !world.processes.some((other, at) => at < index && idle(other));
}

/** A timer, or the scan of the due index, wakes a free worker. */
function claims(world: World, process: Process, act: ProcessMove, first: boolean): void {
  const { worker } = process;
  if (worker.lease !== null || process.asked !== null || worker.stopping || !first) return;
  if (!isDue(world) && !may(world, "early")) return;
  const go = (trouble: Trouble) => (next: World, mine: Process) => {
    const asked = engine.claim(next, mine);
    return asked === null ? "nothing" : engine.exchange(next, mine, asked, trouble);
  };
  if (!isDue(world))
    return act("claims although nothing is due", false, (next, mine) => {
      spend(next, "faults");
      return go({})(next, mine);
    });
  for (const plan of world.config.programs)
    act(world.config.programs.length > 1 ? `claims (then: ${plan.join(", ")})` : "claims", true, (next, mine) => {
      next.plan = plan;
      const said = go({})(next, mine);
      if (said === "nothing" && next.record === world.record)
        breaks("I5", "the timer is due, and there is nothing to do: it would be asked for again and again");
      return said;
    });
  troubled(world, "claims", act, go);
  lost(world, "claims", act, (next, mine) => engine.claim(next, mine));
}

/** The due index knows of it: every process scans that. */
function isDue(world: World): boolean {
  return world.timerMs !== null && world.timerMs <= world.nowMs;
}

/** The worker's write reaches the store. */
function writes(world: World, process: Process, act: ProcessMove): void {
  const { asked } = process;
  if (asked === null) return;
  const what = describe(asked);
  const go = (trouble: Trouble) => (next: World, mine: Process) => engine.exchange(next, mine, asked, trouble);
  act(what, true, go({}));
  troubled(world, what, act, go);
  lost(world, what, act, () => asked);
}

function describe({ command }: Asked): string {
  switch (command.do) {
    case "commit":
      return command.parts === null ? "commits silence" : command.open ? "commits a first part" : "commits an answer";
    case "discard":
      return command.reason === "superseded" ? "discards" : "hands the turn back";
    case "fail":
      return "reports a failure";
    case "append":
      return `appends part ${command.index}`;
    case "close":
      return "closes the reply";
    case "attempt":
      return `asks to send part ${command.index}`;
    case "settle":
      return `settles part ${command.index} as ${command.receipt.state}`;
    default:
      return command.do;
  }
}

/** A hint or a renewal shows the newest record. */
function hints(world: World, process: Process, act: ProcessMove, local: ProcessMove): void {
  const { worker, asked } = process;
  const { lease } = worker;
  // While it waits for the store's answer that is what it will go by.
  if (lease !== null && asked === null && worker.record?.revision !== world.record?.revision)
    local("sees the newest record", true, (next, mine) => {
      engine.notice(next, mine, next.record);
      return undefined;
    });
  if (lease !== null && asked === null && may(world, "stale") && world.previous !== null && worker.model === "running")
    local("sees a record from before", false, (next, mine) => {
      spend(next, "faults");
      lapses(next);
      engine.notice(next, mine, next.previous);
      return undefined;
    });
  for (const { fence, claimId, deadlineMs, endsMs } of graspsOf(world, process)) {
    const soon = endsMs - marginMs <= world.nowMs;
    const needed = soon && endsMs < Math.min(world.nowMs + world.config.limits.leaseMs, deadlineMs);
    if (!needed && world.budget.renewals === 0) continue;
    act("renews", needed, (next, mine) => {
      if (!needed) spend(next, "renewals");
      const waits = process.run !== null && !process.run.done && process.run.holdUntilMs > world.nowMs;
      const held = waits || worker.says.length > 0 || worker.model === "ended";
      const event = { type: "renew", fence, claimId, held, deadlineMs } as const;
      return engine.sideExchange(next, mine, { side: "renew", event, tool: -1 });
    });
  }
}

/** The author's code takes its next step. */
function author(world: World, process: Process, act: ProcessMove, local: ProcessMove): void {
  const { run, worker } = process;
  if (run === null || run.done || worker.lease?.fence !== run.fence || run.waits === "tool") return;
  if (may(world, "throw") && run.waits === null)
    local("'s respond() throws", false, (next, mine) => {
      spend(next, "faults");
      engine.threw(mine, "boom");
      engine.pump(next, mine);
      return undefined;
    });
  // Nobody will answer any more: the deadline comes by itself.
  const alone = run.waits === "away" && isForgotten(world, run.fence);
  if (may(world, "hang") || alone)
    local("'s respond() takes too long", alone, (next, mine) => {
      if (!alone) spend(next, "faults");
      step(mine.worker, { type: "timed-out" });
      engine.pump(next, mine);
      return undefined;
    });
  const { fence, claimId } = run;
  const absorb: SideAsked = { side: "absorb", event: { type: "absorb", fence, claimId }, tool: -1 };
  const lease = world.record?.lease ?? null;
  if (worker.steers && lease?.claimId === claimId && (world.record?.version ?? 0) > lease.version)
    sideMove(world, "absorbs", act, absorb);
  if (run.waits !== null || run.holdUntilMs > world.nowMs) return;
  const now: Act = run.program[run.at] ?? "answer";
  switch (now) {
    case "once":
    case "look": {
      const event = { type: "begin", key: "k", readOnly: now === "look", fence, claimId } as const;
      return sideMove(world, "begins its side effect", act, { side: "begin", event, tool: -1 });
    }
    case "away":
    case "share":
      return local("'s respond() hands the turn on", true, (next, mine) => {
        handOn(next, mine);
        if (mine.run === null) return undefined;
        if (now === "away") mine.run.waits = "away";
        else mine.run.at += 1;
        return undefined;
      });
    case "seal":
      return sideMove(world, "seals", act, { side: "seal", event: { type: "seal", fence, claimId }, tool: -1 });
    case "say":
      return local("'s respond() says a part", true, (next, mine) => {
        if (mine.run === null) return undefined;
        mine.run.at += 1;
        mine.run.waits = "say";
        step(mine.worker, { type: "said", part: { type: "text", text: `part ${mine.run.at}` } });
        engine.pump(next, mine);
        return undefined;
      });
    default:
      return local(now === "silent" ? "'s respond() stays silent" : "'s respond() answers", true, (next, mine) => {
        if (mine.run === null) return undefined;
        mine.run.done = true;
        const spoke = run.program.includes("say");
        const count = spoke ? 0 : world.config.parts;
        const parts = Array.from({ length: count }, () => ({ type: "text" as const, text: "answer" }));
        step(mine.worker, { type: "answered", parts: now === "silent" ? null : parts });
        engine.pump(next, mine);
        return undefined;
      });
  }
}

/** A write of the author's code waits while the lane is taken. */
function sideMove(world: World, what: string, act: ProcessMove, asked: SideAsked): void {
  const go = (trouble: Trouble) => (next: World, mine: Process) => engine.sideExchange(next, mine, asked, trouble);
  act(what, true, go({}));
  troubled(world, what, act, go);
  lost(world, what, act, () => asked);
}

/** Side effects under way go on, whatever became of the attempt that began them. */
function tools(world: World, process: Process, act: ProcessMove): void {
  process.tools.forEach(({ fence, span }, at) => {
    const end = (result: { value: number } | null): SideAsked => {
      const event = { type: "end", fence, span, key: "k", result } as const;
      return { side: "end", event, tool: at };
    };
    sideMove(world, "'s side effect is done, and recorded", act, end({ value: 1 }));
    if (!may(world, "throw")) return;
    act("'s side effect throws", false, (next, mine) => {
      spend(next, "faults");
      return engine.sideExchange(next, mine, end(null));
    });
  });
}

function sends(world: World, process: Process, act: ProcessMove): void {
  const { sending } = process;
  if (sending === null) return;
  const sends = (how: Answering, free: boolean) =>
    act(`sends part ${sending.index} (${how})`, free, (next, mine) => {
      if (!free) spend(next, "faults");
      deliver(next, mine, how);
      return undefined;
    });
  if (!sending.begun && world.nowMs >= (process.worker.record?.lease?.expiresAtMs ?? 0))
    return act("finds that its lease ran out before it sent", true, (next, mine) => {
      engine.receive(next, mine, { state: "refused", error: "too late" });
      return undefined;
    });
  sends("ok", true);
  if (may(world, "refuse")) sends("refused", false);
  if (may(world, "fail")) sends("failed", false);
  if (!may(world, "unknown")) return;
  sends("unknown, delivered", false);
  sends("unknown, not delivered", false);
}
