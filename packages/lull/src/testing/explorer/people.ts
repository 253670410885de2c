/**
 * What people do: users write, change their minds and type; operators and colleagues step in; the bot speaks of its
 * own accord. A web process without a worker takes it in: a worker learns of it when it writes, or by a hint.
 *
 * @module
 */
import type { LogEntry, Part, ProtocolEvent } from "../../model.ts";
import { type Eventful, perform } from "./cell.ts";
import type { InputKind, OperatorKind } from "./config.ts";
import { pending } from "./ledger.ts";
import { newId, type World } from "./world.ts";

const text = (words: string): Part[] => [{ type: "text", text: words }];
const web = { process: null, claimId: "" };

export interface Deed {
  what: string;
  event: Eventful;
}

export function inputs(world: World): Deed[] {
  return world.config.kinds.flatMap((kind) => ofKind(world, kind));
}

function ofKind(world: World, kind: InputKind): Deed[] {
  const { notes } = world.ledger;
  const n = notes.length + 1;
  const messages = notes.filter((note) => note.kind === "message" && !note.gone);
  const message = (more: object): ProtocolEvent => ({ type: "receive", id: `m${n}`, parts: text(`m${n}`), ...more });
  switch (kind) {
    case "message":
      return [{ what: `user writes m${n}`, event: message({}) }];
    case "now":
      return [{ what: `user presses a button (m${n})`, event: message({ quietMs: 0 }) }];
    case "incomplete":
      return [{ what: `user begins an album (m${n})`, event: message({ incomplete: true }) }];
    case "typing":
      return world.record?.window ? [{ what: "user types", event: { type: "typing", on: true } }] : [];
    case "edit":
      return messages.map(({ id, incomplete }) => {
        const completes = incomplete && !notes.some((note) => note.kind === "edit" && note.id === id);
        const change = { id: `e${n}`, target: id, parts: text(`e${n}`), completes } as const;
        const { editAfterAnswer: afterAnswer } = world.config;
        const event = (log: readonly LogEntry[]) => ({ type: "edit", ...change, afterAnswer, log }) as const;
        return { what: `user edits ${id} to e${n}`, event };
      });
    case "retraction":
      return messages.map(({ id }) => {
        const event = (log: readonly LogEntry[]) => ({ type: "retract", id: `d${n}`, target: id, log }) as const;
        return { what: `user deletes ${id}`, event };
      });
  }
}

export function operations(world: World): Deed[] {
  return world.config.operators.flatMap((kind) => (kind === "stop" ? [] : operation(world, kind)));
}

function operation(world: World, kind: Exclude<OperatorKind, "stop">): Deed[] {
  const { record, ledger } = world;
  if (record === null) return [];
  const id = `o${world.budget.operations}`;
  const human = (upTo: number | null): Deed[] => {
    const event = (log: readonly LogEntry[]) => ({ type: "humanReply", id, upTo, parts: text("human"), log }) as const;
    return [{ what: `a human answers what came up to ${upTo ?? "now"}`, event }];
  };
  switch (kind) {
    case "handoff":
    case "handoff-context": {
      const backlog = kind === "handoff" ? "answer" : "context";
      return [{ what: `hand-off (backlog: ${backlog})`, event: { type: "handoff", id, forMs: 5_000, backlog } }];
    }
    case "resume":
      if (record.handoff === null) return [];
      return [{ what: "the bot resumes", event: { type: "resume", id, backlog: "answer" } }];
    case "human":
      return human(null);
    case "human-late":
      return ledger.notes.some((note) => pending(note) || note.reply !== null) ? human(ledger.version - 1) : [];
    case "reset":
      return [{ what: "reset", event: { type: "reset", id, forget: false } }];
    case "retry":
      if (record.parked === null && record.last === null) return [];
      return [{ what: "retry what was given up", event: { type: "retry", id } }];
    case "flush":
      return record.window === null ? [] : [{ what: "flush", event: { type: "flush" } }];
    case "send":
    case "send-if-quiet": {
      const when = kind === "send" ? "after-turn" : "if-quiet";
      const replyId = newId(world, "send");
      return [{ what: `the bot speaks up (${when})`, event: { type: "send", id, replyId, parts: text("news"), when } }];
    }
  }
}

export function does(world: World, { event }: Deed): string {
  return perform(world, web, event).outcome.is;
}
