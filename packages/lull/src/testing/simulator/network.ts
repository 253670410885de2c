/**
 * The way from a process to the store: it takes time, it breaks before or after a call is carried out, and the store
 * itself goes away. Also watches every write: a conversation that is not at rest has a wake-up.
 *
 * @module
 */
import { LullError } from "../../errors.ts";
import type { ConversationRecord, LogEntry } from "../../model.ts";
import type { Store, Write } from "../../ports.ts";
import type { Gate } from "../gate.ts";
import { type Chance, chanceOf } from "./chance.ts";
import type { StepOf } from "./plan.ts";
import { epochMs, type Scene } from "./scene.ts";

/** The store all processes share, and what is wrong with it. */
export interface SharedStore {
  store: Store;
  /** Away until then. */
  awayUntilMs: number;
  /** Whoever wants to hear of writes, in the order they came. */
  listeners: Set<(id: string) => void>;
}

/** One process's connection. */
export interface Connection {
  store: Store;
  /** Faults of its next calls. */
  faults: StepOf<"store">[];
}

const mostAtOnce = 2_000;
const never = () => new Promise<never>(() => {});
const broken = (what: string) => new LullError("store-unavailable", `The store does not answer: ${what}.`);

/** `die`: the process ends at once. */
export function connect(scene: Scene, shared: SharedStore, name: string, gate: Gate, die: () => void): Connection {
  const { clock, wires, figures } = scene;
  const { latencyMs, hints } = scene.plan.profile;
  /** One for each conversation, so that leaving one out leaves the others as they were. */
  const chances = new Map<string, Chance>();
  const chanceFor = (id: string) => {
    const chance = chances.get(id) ?? chanceOf(scene.plan.seed, name, "network", id);
    chances.set(id, chance);
    return chance;
  };
  const faults: StepOf<"store">[] = [];
  let busy = { atMs: -1, calls: 0 };
  /** So many calls while no time passes are a hot loop; it is told of, and stopped. */
  function spinning(): boolean {
    busy = { atMs: scene.ms(), calls: busy.atMs === scene.ms() ? busy.calls + 1 : 0 };
    if (busy.calls === mostAtOnce) scene.violations.push({ rule: "I5", what: `${name} spins at ${busy.atMs}` });
    return busy.calls >= mostAtOnce;
  }
  const away = () => scene.ms() < shared.awayUntilMs;
  const travel = async (id: string) => {
    if (latencyMs > 0) await clock.sleep(chanceFor(id).whole(0, latencyMs));
  };

  async function carry<T>(method: keyof Store, id: string, perform: () => Promise<T>): Promise<T> {
    figures.storeCalls += 1;
    if (spinning()) await never();
    const step = faults.shift();
    const fault = step?.fault;
    if (step !== undefined) {
      scene.count(`store ${step.fault}`);
      scene.say(name, `store.${method}: ${step.fault}${/late|slow/.test(step.fault) ? ` ${step.ms} ms` : ""}`);
    }
    if (fault === "dies-before") {
      die();
      await gate.pass();
    }
    await travel(id);
    if (fault === "slow") await clock.sleep(step?.ms ?? 0);
    if (away() || fault === "refused") {
      await travel(id);
      await gate.pass();
      throw broken("nothing was done");
    }
    // A call that has left is carried out, whatever becomes of the process that made it.
    const answer = wires.run(perform).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    const outcome = await answer;
    if (fault === "dies-after") die();
    if (fault === "late") await clock.sleep(step?.ms ?? 0);
    await travel(id);
    if (method === "exchange") scene.strike(name, "store");
    await gate.pass();
    if (away() || fault === "lost") throw broken("the answer was lost");
    if ("error" in outcome) throw outcome.error;
    return outcome.value;
  }

  async function exchange(write: Write): ReturnType<Store["exchange"]> {
    const answer = await shared.store.exchange(write);
    const { id, next } = write;
    if (answer.kind !== "stored") {
      scene.say("store", `${id} ${name}: ${answer.kind}`);
      return answer;
    }
    figures.transitions += 1;
    const wake = write.wakeAtMs === null ? "at rest" : `wakes ${write.wakeAtMs - epochMs}`;
    scene.say("store", `${id} ${name}: ${(write.append ?? []).map(entryLine).join("; ") || "—"} | ${wake}`);
    if (write.wakeAtMs === null && !atRest(next))
      scene.violations.push({ rule: "I5", what: `${id} is not at rest and has no wake-up (${scene.ms()})` });
    for (const entry of write.append ?? []) {
      if (entry.kind === "ended" && entry.outcome === "superseded") figures.discards += 1;
      if (entry.kind === "reply") figures.replies += 1;
    }
    for (const listener of shared.listeners) listener(id);
    return answer;
  }

  const { store } = shared;
  const connection: Store = {
    name: store.name,
    durability: store.durability,
    load: (id, options) => carry("load", id, () => shared.store.load(id, options)),
    exchange: (write) => carry("exchange", write.id, () => exchange(write)),
    due: (nowMs, limit) => carry("due", "", () => shared.store.due(nowMs, limit)),
    log: (id, page) => carry("log", id, () => shared.store.log(id, page)),
    list: (page, filter) => carry("list", "", () => shared.store.list(page, filter)),
    stats: () => carry("stats", "", () => shared.store.stats()),
    repair: (page, wakeAt) => carry("repair", "", () => shared.store.repair(page, wakeAt)),
    erase: (id) => carry("erase", id, () => shared.store.erase(id)),
    prune: (options) => carry("prune", "", () => shared.store.prune(options)),
    close: () => Promise.resolve(),
    ...(hints && {
      wake(listener: (id: string) => void) {
        const hear = (id: string) => void travel(id).then(() => gate.pass().then(() => listener(id)));
        shared.listeners.add(hear);
        return () => shared.listeners.delete(hear);
      },
    }),
  };
  return { store: connection, faults };
}

export function atRest({ window, lease, outbox, sends }: ConversationRecord): boolean {
  return window === null && lease === null && outbox === null && sends.length === 0;
}

/** A log entry in a few words. */
function entryLine(entry: LogEntry): string {
  const { kind } = entry;
  const range = "from" in entry ? ` ${entry.from}–${entry.to}` : "";
  switch (kind) {
    case "message":
      return `message ${entry.id} v${entry.version}`;
    case "edit":
    case "retraction":
      return `${kind} of ${entry.target} v${entry.version}${entry.aside ? " aside" : ""}`;
    case "attempt":
      return `attempt ${entry.attempt}${range}${entry.sealed ? " sealed" : ""} by ${entry.owner}`;
    case "ended":
      return `attempt ends: ${entry.outcome}`;
    case "reply":
      return `reply ${entry.replyId}${range}${entry.open ? " open" : ""}${entry.overtaken ? " overtaken" : ""} (${entry.cause})`;
    case "part":
      return `part ${entry.replyId}:${entry.index}`;
    case "receipt":
      return `receipt ${entry.replyId}:${entry.index} ${entry.state}`;
    case "closed":
      return `closed ${entry.replyId}${range}: ${entry.outcome}`;
    case "settled":
      return `settled${range}: ${entry.outcome}`;
    case "effect":
      return `effect ${entry.key}${entry.late ? " late" : ""}`;
    case "send":
    case "human":
    case "handoff":
    case "resumed":
    case "reset":
    case "retry":
      return `${kind} ${entry.id}${range}`;
    default:
      return kind;
  }
}
