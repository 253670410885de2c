/**
 * Breadth first through every world that can be reached, so that the first trace found is a shortest one. Every world
 * is checked as it is made (ledger.ts); here is what concerns several: nothing gets stuck, nothing goes round for ever.
 *
 * Liveness. Free moves are what a healthy system does by itself once inputs and faults have ended. If every world has
 * a free move unless it is at rest with everything settled, and no free moves form a cycle, then from every reachable
 * world *every* run of free moves ends at rest: no fairness is needed, and no reachable world is a dead end.
 *
 * @module
 */
import type { Config } from "./config.ts";
import { nameOf } from "./form.ts";
import { moves } from "./moves.ts";
import { Violation } from "./violation.ts";
import { Row, Visited } from "./visited.ts";
import { beginningMs, newWorld, type World } from "./world.ts";

export interface Found {
  /** The promise that is broken: I1 … I10, or `error` where the code threw. */
  invariant: string;
  message: string;
  /** What happened, a line a step. */
  trace: string[];
}

export interface Explored {
  config: string;
  states: number;
  transitions: number;
  /** The longest of the shortest ways to a state. */
  depth: number;
  /** False when a bound ended it before everything was seen. */
  complete: boolean;
  /** States at rest with everything settled. */
  rests: number;
  found: Found[];
}

export interface Bounds {
  /** Asked now and then; true ends the exploration. */
  stop?: () => boolean;
  /** At most so many states. */
  limit?: number;
  /** Stops at the first violation. Default true. */
  first?: boolean;
  /** Told now and then how far it is. */
  progress?: (states: number, depth: number, waiting: number) => void;
}

export function explore(config: Config, bounds: Bounds = {}): Explored {
  const { limit = Number.POSITIVE_INFINITY, first = true, progress, stop } = bounds;
  const visited = new Visited();
  const parent = new Row();
  /** Which of its parent's moves led here: the way is walked again to tell it. */
  const choice = new Row();
  const from = new Row();
  const to = new Row();
  const name: [number, number] = [0, 0];
  const found = new Map<string, Found>();
  let transitions = 0;
  let rests = 0;
  let depth = 0;
  let complete = true;

  const start = newWorld(config);
  nameOf(start, name);
  visited.add(name[0], name[1]);
  parent.push(-1);
  choice.push(-1);
  let layer: World[] = [start];
  let layerFrom = 0;

  const report = (state: number, last: string | null, error: unknown): void => {
    const broken = error instanceof Violation ? error : null;
    const invariant = broken?.invariant ?? "error";
    const message = broken?.message ?? `the code threw: ${String(error instanceof Error ? error.stack : error)}`;
    const kind = message.replace(/\d+/g, "#");
    if (found.has(kind)) return;
    const trace = tell(config, wayTo(parent, choice, state));
    found.set(kind, { invariant, message, trace: last === null ? trace : [...trace, last] });
  };

  search: while (layer.length > 0) {
    const next: World[] = [];
    for (let at = 0; at < layer.length; at += 1) {
      const world = layer[at] as World;
      const number = layerFrom + at;
      let free = 0;
      let move = 0;
      moves(
        world,
        (_, isFree, after) => {
          transitions += 1;
          nameOf(after, name);
          const known = visited.size;
          const mine = visited.add(name[0], name[1]);
          if (mine === known) {
            parent.push(number);
            choice.push(move);
            next.push(after);
          }
          if (isFree && mine !== number) {
            free += 1;
            from.push(number);
            to.push(mine);
          }
          move += 1;
        },
        (label, error) => {
          free += 1;
          report(number, `${clock(world)} ${label}`, error);
          move += 1;
        },
      );
      if (free === 0) {
        const why = unrest(world);
        if (why === null) rests += 1;
        else report(number, null, new Violation("I5", why));
      }
      if (first && found.size > 0) {
        complete = false;
        break search;
      }
      // A world that was looked at is only its number.
      layer[at] = start;
      if ((number & 63) !== 0) continue;
      progress?.(visited.size, depth, next.length + layer.length - at);
      if (visited.size >= limit || stop?.() === true) {
        complete = false;
        break search;
      }
    }
    layerFrom += layer.length;
    layer = next;
    depth += 1;
  }

  const loop = cycle(visited.size, from, to);
  const [onLoop] = loop;
  if (onLoop !== undefined) {
    const trace = tell(config, wayTo(parent, choice, onLoop), visited, loop);
    const message = `it can go round for ever, using nothing up: the last ${loop.length} steps again and again`;
    found.set("cycle", { invariant: "I5", message, trace });
  }
  return { config: config.name, states: visited.size, transitions, depth, complete, rests, found: [...found.values()] };
}

/** Why a world in which nothing more happens by itself is not at rest. */
function unrest({ record, processes, ledger }: World): string | null {
  if (record === null) return null;
  for (const process of processes)
    if (process.worker.lease !== null || process.asked !== null || process.unsure !== null || process.tools.length > 0)
      return "a worker is stuck: it holds something, and nothing happens by itself any more";
  if (record.window !== null || record.lease !== null || record.outbox !== null || record.sends.length > 0)
    return "the conversation is stuck: not at rest, and nothing happens by itself any more";
  const open = ledger.notes.find(
    (note) => note.label === null && !note.aside && !note.gone && note.kind !== "retraction",
  );
  return open === undefined || open.kind === "retry"
    ? null
    : `at rest, and version ${open.version} has come to nothing`;
}

function wayTo(parent: Row, choice: Row, state: number): number[] {
  const way: number[] = [];
  for (let at = state; parent.at(at) >= 0; at = parent.at(at)) way.push(choice.at(at));
  return way.reverse();
}

/** Walks a way again, and then through the given states, and says what happened. */
function tell(config: Config, way: readonly number[], visited?: Visited, through: readonly number[] = []): string[] {
  const trace: string[] = [];
  let world = newWorld(config);
  const go = (is: (move: number, after: World, free: boolean) => boolean): void => {
    let move = 0;
    let gone = false;
    const before = world;
    moves(
      before,
      (label, free, after) => {
        if (!gone && is(move, after, free)) {
          gone = true;
          trace.push(`${clock(before)} ${label}`);
          world = after;
        }
        move += 1;
      },
      () => {
        move += 1;
      },
    );
  };
  for (const wanted of way) go((move) => move === wanted);
  const name: [number, number] = [0, 0];
  for (const state of [...through.slice(1), ...through.slice(0, 1)])
    go((_, after, free) => {
      nameOf(after, name);
      return free && visited?.add(name[0], name[1]) === state;
    });
  return trace;
}

function clock({ nowMs }: World): string {
  return `+${((nowMs - beginningMs) / 1_000).toFixed(1)} s`.padStart(9);
}

/** States through which free moves lead round; none when there is no such way. */
function cycle(states: number, from: Row, to: Row): number[] {
  const into = edgesBy(states, to);
  const out = new Int32Array(states);
  for (let edge = 0; edge < from.length; edge += 1) out[from.at(edge)] = (out[from.at(edge)] as number) + 1;
  // Whoever has no free move left is taken away, again and again; a cycle never is.
  const ends: number[] = [];
  for (let state = 0; state < states; state += 1) if (out[state] === 0) ends.push(state);
  let left = states;
  for (let state = ends.pop(); state !== undefined; state = ends.pop()) {
    left -= 1;
    for (const edge of into(state)) {
      const source = from.at(edge);
      out[source] = (out[source] as number) - 1;
      if (out[source] === 0) ends.push(source);
    }
  }
  if (left === 0) return [];
  // Whoever is left has a free move to somebody who is left: a walk among them comes round.
  const next = edgesBy(states, from);
  const walk: number[] = [];
  let state = out.findIndex((count) => count > 0);
  for (const seen = new Set<number>(); !seen.has(state); ) {
    seen.add(state);
    walk.push(state);
    for (const edge of next(state))
      if ((out[to.at(edge)] as number) > 0) {
        state = to.at(edge);
        break;
      }
  }
  return walk.slice(walk.indexOf(state));
}

/** For each state the numbers of its edges. */
function edgesBy(states: number, end: Row): (state: number) => Int32Array {
  const first = new Int32Array(states + 1);
  for (let edge = 0; edge < end.length; edge += 1) first[end.at(edge) + 1] = (first[end.at(edge) + 1] as number) + 1;
  for (let state = 0; state < states; state += 1)
    first[state + 1] = (first[state + 1] as number) + (first[state] as number);
  const edges = new Int32Array(end.length);
  const place = first.slice();
  for (let edge = 0; edge < end.length; edge += 1) {
    const state = end.at(edge);
    edges[place[state] as number] = edge;
    place[state] = (place[state] as number) + 1;
  }
  return (state) => edges.subarray(first[state], first[state + 1]);
}
