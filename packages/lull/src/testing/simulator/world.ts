/**
 * Carries out a plan: real engines on virtual time, one store, a platform, and everything that goes wrong. Then the
 * faults stop, and everything has to come to rest.
 *
 * @module
 */
import type { Clock, Store } from "../../ports.ts";
import { virtualClock } from "../clock.ts";
import { wires } from "../wires.ts";
import { chanceOf, hashOf } from "./chance.ts";
import { check } from "./checker.ts";
import type { SharedStore } from "./network.ts";
import type { Plan, Step, StepOf } from "./plan.ts";
import { insist } from "./platform.ts";
import { launch, type Process } from "./process.ts";
import { epochMs, type Figures, scene, type Violation } from "./scene.ts";

/** Makes an empty store on the given clock; it is closed in the end. */
export type MakeStore = (options: { now: () => number; clock: Clock }) => Store;

export interface Simulated {
  plan: Plan;
  violations: Violation[];
  figures: Figures;
  /** SHA-256 over the trace: the same for the same seed and commit, on every store. */
  hash: string;
  /** What happened, a line a step, when asked for. */
  lines: string[];
}

/** Closes the store and opens it again, as its server's restart would. */
export type RestartStore = (store: Store, options: { now: () => number; clock: Clock }) => Promise<Store>;

export interface CarryOutOptions {
  store: MakeStore;
  restart?: RestartStore | undefined;
  /** Keep the trace's lines. */
  lines: boolean;
}

export async function carryOut(plan: Plan, options: CarryOutOptions): Promise<Simulated> {
  const { profile, seed } = plan;
  const lines = wires();
  /** Processes that go on, one held-up thing after the other; no time passes meanwhile. */
  const thaws = new Set<Promise<void>>();
  const settle = async () => {
    do {
      await lines.settle();
      await Promise.all(thaws);
    } while (thaws.size > 0);
  };
  const clock = virtualClock({ startMs: epochMs, seed: hashOf(seed, "world"), settle });
  const world = scene(plan, clock, lines, options);
  const { facts } = world;
  /** How far the store's clock was set. */
  let jumpedMs = 0;
  const ofStore = { now: () => clock.now() + jumpedMs, clock };
  const shared: SharedStore = { store: options.store(ofStore), awayUntilMs: 0, listeners: new Set() };
  const slots: { process: Process | null; life: number; deploying: boolean }[] = Array.from(
    { length: profile.processes },
    () => ({ process: null, life: 0, deploying: false }),
  );
  /** Strikes that wait for their moment. */
  const struck: StepOf<"crash" | "freeze">[] = [];
  /** Posts that were not acknowledged yet. */
  let posts = 0;

  function start(slot: number): void {
    const place = slots[slot];
    if (place === undefined || place.process !== null) return;
    place.life += 1;
    const process = launch(world, shared, slot, place.life, () => crash(slot, process, 1_000));
    place.process = process;
    void begin(process);
  }

  /** A process that finds no store starts anew, as its supervisor would make it. */
  async function begin(process: Process): Promise<void> {
    while (process.gate.state !== "dead") {
      try {
        return await process.lull.start();
      } catch {
        await clock.sleep(500);
      }
    }
  }

  function crash(slot: number, process: Process | null, downMs: number): void {
    const place = slots[slot];
    if (place === undefined || process === null || place.process !== process) return;
    world.count("crash");
    world.say(process.name, "dies");
    process.gate.die();
    place.process = null;
    void clock.sleep(downMs).then(() => start(slot));
  }

  /** Whoever the load balancer chooses; a process that is down refuses the connection. */
  async function reach(...labels: (string | number)[]): Promise<Process> {
    const slot = chanceOf(seed, ...labels).whole(0, profile.processes - 1);
    const process = slots[slot]?.process ?? null;
    if (process === null) throw new Error("connection refused");
    await process.gate.pass();
    return process;
  }

  /** Hands something to the bot until it says that it has it. */
  async function post(delayMs: number, again: number[], call: (nth: number) => Promise<boolean>): Promise<void> {
    for (const ms of again) void clock.sleep(delayMs + ms).then(() => call(1_000 + ms).catch(() => {}));
    posts += 1;
    if (delayMs > 0) await clock.sleep(delayMs);
    await insist(world, call);
    posts -= 1;
  }

  async function write(step: StepOf<"write">, nth: number): Promise<boolean> {
    const { conversation, id, text, atMs, quietMs, incomplete } = step;
    const process = await reach("post", conversation, id, nth);
    const more = { ...(quietMs !== undefined && { quietMs }), ...(incomplete && { incomplete }) };
    const message = { id, text: `${id} ${text}`, author: "somebody", sentAt: epochMs + atMs, ...more };
    const received = await process.lull.receive(conversation, message);
    world.say(process.name, `${conversation} acknowledges ${id}: ${received.status}`);
    if (received.status === "rejected") return false;
    if (!facts.acked.some((acked) => acked.conversation === conversation && acked.id === id && acked.nth === 0)) {
      const { status, version } = received;
      facts.acked.push({ ...world.place(conversation), kind: "message", id, nth: 0, status, version });
    }
    return true;
  }

  async function edit(step: StepOf<"edit">, nth: number): Promise<boolean> {
    const { conversation, id, text, completes } = step;
    const process = await reach("edit", conversation, id, step.nth, nth);
    const change = {
      id: `${id}~${step.nth}`,
      text: `${id}~${step.nth} ${text}`,
      ...(completes && { incomplete: false }),
    };
    const { status, version } = await process.lull.edit(conversation, id, change);
    world.say(process.name, `${conversation} acknowledges edit ${change.id}: ${status}`);
    if (status === "rejected") return false;
    facts.acked.push({ ...world.place(conversation), kind: "edit", id, nth: step.nth, status, version });
    return true;
  }

  async function retract(step: StepOf<"retract">, nth: number): Promise<boolean> {
    const { conversation, id } = step;
    const process = await reach("retract", conversation, id, nth);
    const { status, version } = await process.lull.retract(conversation, id);
    world.say(process.name, `${conversation} acknowledges retraction of ${id}: ${status}`);
    if (status === "rejected") return false;
    facts.acked.push({ ...world.place(conversation), kind: "retraction", id, nth: 0, status, version });
    return true;
  }

  async function operate(step: StepOf<"operate">, nth: number): Promise<boolean> {
    const { conversation, id, what, forMs, backlog, upTo, when } = step;
    const process = await reach("operate", conversation, id, nth);
    const { lull } = process;
    const call = { id, by: "operator" };
    let answer = "";
    if (what === "handoff")
      await lull.handoff(conversation, { ...call, ...(forMs && { forMs }), ...(backlog && { backlog }) });
    else if (what === "humanReply")
      await lull.humanReply(conversation, { ...call, text: "human", ...(upTo !== undefined && { upTo }) });
    else if (what === "resume") await lull.resume(conversation, { ...call, ...(backlog && { backlog }) });
    else if (what === "reset") await lull.reset(conversation, call);
    else if (what === "retry") answer = String((await lull.retry(conversation, call)).revived);
    else if (what === "send")
      answer = (await lull.send(conversation, { id, text: `send ${id}`, ...(when && { when }) })).status;
    else await lull.flush(conversation);
    world.say(process.name, `${conversation} acknowledges ${what} ${id} ${answer}`);
    facts.operated.push({ ...world.place(conversation), what, id, answer });
    return true;
  }

  async function perform(step: Step): Promise<void> {
    const process = "process" in step ? (slots[step.process]?.process ?? null) : null;
    switch (step.do) {
      case "write":
        return void post(step.delayMs, step.again, (nth) => write(step, nth));
      case "edit":
        return void post(step.delayMs, [], (nth) => edit(step, nth));
      case "retract":
        return void post(step.delayMs, [], (nth) => retract(step, nth));
      case "typing":
        // Nobody repeats a typing event.
        return void reach("typing", step.conversation, step.atMs)
          .then(({ lull }) => lull.typing(step.conversation, { on: step.on }))
          .catch(() => {});
      case "operate":
        facts.begun.push({ conversation: step.conversation, what: step.what });
        return void post(0, [], (nth) => operate(step, nth));
      case "crash":
      case "freeze":
        if (step.when === "now") strike(step, process);
        else struck.push(step);
        return;
      case "deploy":
        return process === null ? undefined : void deploy(step.process, process, step);
      case "pause":
        if (process === null) return;
        world.count("pause");
        world.say(process.name, "is paused");
        process.lull.pause();
        return void clock.sleep(step.forMs).then(() => process.lull.unpause());
      case "store":
        process?.connection.faults.push(step);
        return;
      case "outage":
        world.count("outage");
        world.say("store", `is away for ${step.forMs} ms`);
        shared.awayUntilMs = Math.max(shared.awayUntilMs, world.ms() + step.forMs);
        return void clock.sleep(step.forMs).then(() => lines.run(reopen));
      case "jump":
        world.count("jump");
        world.say("store", `sets its clock by ${step.byMs} ms`);
        jumpedMs += step.byMs;
        return;
      case "model":
        return void world.waiting.model.push(step);
      case "channel":
        return void world.waiting.channel.push(step);
    }
  }

  async function reopen(): Promise<void> {
    if (options.restart !== undefined) shared.store = await options.restart(shared.store, ofStore);
  }

  function strike(step: StepOf<"crash" | "freeze">, process: Process | null): void {
    if (process === null) return;
    if (step.do === "crash") crash(step.process, process, step.downMs);
    else freeze(process, step);
  }

  world.reach = reach;
  world.strike = (name, moment) => {
    const at = struck.findIndex((step) => step.when === moment && slots[step.process]?.process?.name === name);
    const [step] = at < 0 ? [] : struck.splice(at, 1);
    if (step !== undefined) strike(step, slots[step.process]?.process ?? null);
  };

  function freeze(process: Process, { forMs, suspends }: StepOf<"freeze">): void {
    if (process.gate.state !== "running") return;
    world.count(suspends ? "suspend" : "freeze");
    world.say(process.name, `freezes for ${forMs} ms`);
    process.gate.freeze();
    void clock.sleep(forMs).then(() => thaw(process, suspends ? forMs : 0));
  }

  function thaw(process: Process, suspendedMs: number): void {
    if (process.gate.state !== "frozen") return;
    process.suspended(suspendedMs);
    world.say(process.name, "thaws");
    const thaw = process.gate.thaw().then(() => void thaws.delete(thaw));
    thaws.add(thaw);
  }

  async function deploy(slot: number, process: Process, { graceMs, downMs }: StepOf<"deploy">): Promise<void> {
    const place = slots[slot];
    if (place === undefined || place.deploying) return;
    place.deploying = true;
    world.count("deploy");
    world.say(process.name, "is told to stop");
    const killed = clock.sleep(graceMs + 30_000);
    await Promise.race([process.lull.stop({ timeoutMs: graceMs }), killed]);
    place.deploying = false;
    if (place.process !== process) return;
    world.say(process.name, "has stopped");
    process.gate.die();
    place.process = null;
    await clock.sleep(downMs);
    start(slot);
  }

  /** The faults are over: who is frozen thaws, who is down starts, and the rest is up to the protocol. */
  function heal(): void {
    world.say("world", "heals");
    shared.awayUntilMs = 0;
    world.waiting.model.length = 0;
    world.waiting.channel.length = 0;
    struck.length = 0;
    for (const [slot, { process }] of slots.entries()) {
      if (process === null) start(slot);
      else {
        process.connection.faults.length = 0;
        thaw(process, 0);
      }
    }
  }

  async function resting(): Promise<boolean> {
    if (posts > 0) return false;
    return (await shared.store.list({ limit: 1 }, { active: true })).conversations.length === 0;
  }

  for (let slot = 0; slot < slots.length; slot += 1) start(slot);
  for (const step of plan.steps) {
    await clock.advance(step.atMs - world.ms());
    await perform(step);
    await settle();
  }
  heal();
  const healedMs = world.ms();
  const limitMs = restLimitMs(plan);
  while (!(await resting()) && world.ms() - healedMs < limitMs) await clock.advance(2_000);
  world.say("world", (await resting()) ? "rests" : "does not come to rest");
  world.figures.virtualMs = world.ms();
  await check(world, shared.store, healedMs);
  for (const { process } of slots) process?.gate.die();
  await lines.settle();
  await shared.store.close();
  return {
    plan,
    violations: world.violations,
    figures: world.figures,
    hash: world.trace.hash.digest("hex"),
    lines: world.trace.lines,
  };
}

/** How long coming to rest may take once the faults are over: generous, finite, and the same for every seed's kind. */
function restLimitMs({ profile, steps }: Plan): number {
  const { turnTimeoutMs, leaseMs, maxFailures, debounce, channelTimeoutMs } = profile;
  const handoffs = steps.map((step) => (step.do === "operate" ? (step.forMs ?? 0) : 0));
  const jumps = steps.map((step) => (step.do === "jump" ? Math.abs(step.byMs) : 0));
  const stalls = steps.map((step) => (step.do === "store" ? step.ms : 0));
  const once = debounce.maxWaitMs + 2 * turnTimeoutMs + leaseMs + 10 * channelTimeoutMs + 15_000;
  return (maxFailures + 4) * once + Math.max(0, ...handoffs) + Math.max(0, ...jumps) + Math.max(0, ...stalls);
}
