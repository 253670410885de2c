/**
 * One process: the real worker, and what `run.ts` does for it. Commands that touch nobody else are performed at
 * once; a write, a send and the author's code wait for a move of their own, so that everything else may come first.
 *
 * @module
 */
import type { ConversationRecord, LogEntry, Part, PartReceipt, ProtocolEvent } from "../../model.ts";
import { inputsOf, quietAt } from "../../window.ts";
import { decide, type Exchange, step } from "../../worker.ts";
import { askAgain, perform, type Trouble, type Writer } from "./cell.ts";
import { granted, runs, served } from "./sight.ts";
import { type Asked, newId, type Performed, type Process, type SideAsked, type World } from "./world.ts";

const text = (words: string): Part => ({ type: "text", text: words });

/** Performs what the worker decides, as far as nobody else is touched. `run.ts`: `pump`. */
export function pump(world: World, process: Process, log: readonly LogEntry[] = []): void {
  const { worker } = process;
  process.waitMs = null;
  for (;;) {
    // A free worker claims in a move of its own: claiming now or when somebody wakes it later is the same.
    const ends = worker.ending !== null && worker.model === "running" && !worker.aborted;
    if (worker.lease === null && !ends) break;
    const command = decide(worker, world.nowMs);
    if (command === null) break;
    if (command.do === "wait") {
      process.waitMs = command.untilMs;
      break;
    }
    if (command.do === "abort") abort(process);
    else if (command.do === "respond") respond(world, process, log);
    else if (command.do === "send") {
      const { index, tries, doubt } = command;
      const replyId = worker.record?.outbox?.replyId ?? "";
      process.sending = { fence: worker.lease?.fence ?? 0, replyId, index, tries, doubt, begun: false };
    } else process.asked = ask(world, process, command);
  }
  if (worker.lease === null) {
    worker.wake = false;
    process.run = null;
  }
}

function ask(world: World, process: Process, command: Exchange): Asked {
  const claimId = newId(world, "claim");
  return { command, claimId, event: eventFor(world, process, command, claimId) };
}

function eventFor(world: World, { worker }: Process, command: Exchange, claimId: string): ProtocolEvent {
  const { lease, record } = worker;
  const held = { fence: lease?.fence ?? 0, claimId: lease?.claimId ?? "" };
  const replyId = record?.outbox?.replyId ?? "";
  const fallback = world.config.fallback ? { replyId: newId(world, "fallback"), parts: [text("sorry")] } : null;
  switch (command.do) {
    case "claim":
      return { type: "claim", owner: "w", claimId, random: 0, fallback, seals: world.config.queues };
    case "discard":
      return { type: "discard", reason: command.reason, ...held };
    case "fail":
      return { type: "fail", error: command.error, random: 0, fallback, ...held };
    case "commit":
      return { type: "commit", replyId: newId(world, "reply"), parts: command.parts, open: command.open, ...held };
    case "append":
      return { type: "append", replyId, index: command.index, part: command.part, ...held };
    case "close":
      return { type: "close", replyId, ...held };
    case "attempt": {
      const inDoubt = world.config.channel === "at-most-once" ? "give-up" : "retry";
      return { type: "attempt", replyId, index: command.index, inDoubt, ...held };
    }
    case "settle":
      return { type: "settle", replyId, index: command.index, receipt: command.receipt, random: 0, ...held };
  }
}

/** `run.ts`: `answer`. The author's code is given what the claim read. */
function respond(world: World, process: Process, log: readonly LogEntry[]): void {
  const { lease } = process.worker;
  if (lease === null) return;
  const { fence, claimId, from, version, deadlineMs } = lease;
  const inputs = inputsOf(log, from, version);
  const empty = { program: world.plan, at: 0, holdUntilMs: 0, waits: null, done: false } as const;
  const span = world.ledger.span;
  process.run = { fence, claimId, from, deadlineMs, span, saw: given(inputs), ...empty };
  if (inputs.length > 0) return;
  process.run.done = true;
  step(process.worker, { type: "answered", parts: null });
}

export function given(inputs: ReturnType<typeof inputsOf>): string {
  const words = (parts: Part[]) => parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  return inputs.map((input) => `${input.editOf ?? input.id}=${words(input.parts)}`).join(" ");
}

/** The author's code is told to stop, and does. */
function abort(process: Process): void {
  const { run, worker } = process;
  if (run === null || run.done) return;
  run.done = true;
  if (worker.lease?.fence === run.fence) step(worker, { type: "threw", error: "aborted" });
}

// --- writes

/** The worker's write reaches the store, and its answer the worker. */
export function exchange(world: World, process: Process, asked: Asked, trouble: Trouble = {}): string {
  return hear(world, process, asked, perform(world, by(process, asked), asked.event, trouble));
}

export function by(process: Process, asked: Asked | SideAsked): Writer {
  const { event } = asked;
  return { process, claimId: "claimId" in event ? event.claimId : "" };
}

export function isSide(asked: Asked | SideAsked): asked is SideAsked {
  return "side" in asked;
}

/** `run.ts`: `exchange`. Whatever this process wrote is noticed before the answer is looked at. */
export function hear(world: World, process: Process, asked: Asked, result: Performed): string {
  const { worker } = process;
  const { outcome, record, wrote } = result;
  process.asked = null;
  if (wrote !== null) notice(world, process, wrote);
  const { command, claimId } = asked;
  const mine = worker.lease?.claimId ?? claimId;
  step(worker, { type: "exchanged", command, outcome: outcome as never, record, claimId });
  const tried = command.do === "settle" || (command.do === "attempt" && outcome.is === "settled");
  if (tried && process.run?.waits === "say" && worker.says.length === 0) process.run.waits = null;
  if (worker.grant !== null && (command.do === "attempt" || command.do === "commit"))
    granted(world, mine, "send a part");
  if (command.do === "claim" && worker.lease !== null) granted(world, claimId, "work");
  pump(world, process, result.log);
  return outcome.is;
}

/** The record has changed: the worker sees it, and so does what waits for a quiet that came sooner. */
export function notice(world: World, process: Process, record: ConversationRecord | null): void {
  step(process.worker, { type: "noticed", record });
  pump(world, process);
  const { run } = process;
  if (run !== null && record?.window && quietAt(record.window, world.config.limits) < run.holdUntilMs)
    run.holdUntilMs = 0;
}

/** A free worker is woken, and claims. */
export function claim(world: World, process: Process): Asked | null {
  step(process.worker, { type: "wake" });
  const command = decide(process.worker, world.nowMs);
  return command?.do === "claim" ? ask(world, process, command) : null;
}

/** A write of the author's code, or a renewal. `run.ts`: `sideExchange`. */
export function sideExchange(world: World, process: Process, asked: SideAsked, trouble: Trouble = {}): string {
  return hearSide(world, process, asked, perform(world, by(process, asked), asked.event, trouble));
}

export function hearSide(world: World, process: Process, asked: SideAsked, result: Performed): string {
  const { outcome, record, wrote } = result;
  const { worker } = process;
  if (wrote !== null) notice(world, process, wrote);
  if (asked.side !== "renew" || worker.lease?.claimId === by(process, asked).claimId) notice(world, process, record);
  follow(world, process, asked, result);
  pump(world, process);
  return outcome.is;
}

/** `turn.ts`: what the author's code does with the answer. */
function follow(world: World, process: Process, { side, event, tool }: SideAsked, result: Performed): void {
  const { run, worker } = process;
  if (side === "end") {
    const ended = process.tools[tool];
    process.tools = process.tools.filter((_, at) => at !== tool);
    if (run === null || run.done || ended === undefined || run.fence !== ended.fence) return;
    run.waits = null;
    if (event.type === "end" && event.result === null) return threw(process, "the tool failed");
    run.at += 1;
    return;
  }
  if (side === "renew" || run === null || run.done || worker.lease?.fence !== run.fence) return;
  const outcome = result.outcome as {
    is: string;
    atMs?: number;
    untilMs?: number;
    span?: number;
    inDoubt?: boolean;
    version?: number;
  };
  switch (outcome.is) {
    case "done":
      served(world, run.span);
      run.at += 1;
      return;
    case "sealed":
      if (side === "seal") run.at += 1;
      return;
    case "early":
      run.holdUntilMs = outcome.atMs ?? 0;
      return;
    case "busy":
      run.holdUntilMs = outcome.untilMs ?? 0;
      return;
    case "absorbed": {
      const { version = 0 } = outcome;
      run.saw = given(inputsOf(result.log, run.from, version));
      return;
    }
    case "run": {
      const span = outcome.span ?? 0;
      runs(world, span, run.span, outcome.inDoubt === true);
      const { fence, claimId, deadlineMs } = run;
      const started = { fence, claimId, deadlineMs, span, ledgerSpan: run.span };
      process.tools = [...process.tools, started];
      run.waits = "tool";
      return;
    }
    default:
      return threw(process, outcome.is === "full" ? "full" : `${event.type}: ${outcome.is}`);
  }
}

/** The author's code ends with an error. */
export function threw(process: Process, error: string): void {
  if (process.run === null) return;
  process.run.done = true;
  step(process.worker, { type: "threw", error });
}

/** The answer was lost: the process asks again. */
export function again(world: World, process: Process): string {
  const { unsure } = process;
  if (unsure === null) return "";
  const { asked, tried } = unsure;
  process.unsure = null;
  const found = askAgain(world, process, tried);
  const result = found ?? perform(world, by(process, asked), asked.event);
  const is = isSide(asked) ? hearSide(world, process, asked, result) : hear(world, process, asked, result);
  return found === null ? is : `${is} (its own write is there)`;
}

/** The channel has answered, or not. */
export function receive(world: World, process: Process, receipt: PartReceipt): void {
  const { sending, worker } = process;
  process.sending = null;
  if (sending !== null && worker.lease?.fence === sending.fence) {
    step(worker, { type: "sent", receipt });
    pump(world, process);
  }
}
