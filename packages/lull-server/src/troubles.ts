/**
 * What whoever runs the server should hear of without asking: attempts that fail, turns given up, parts that do not
 * arrive. Ids only: an error's own text may quote what users wrote, and is in the conversation's log.
 *
 * @module
 */
import type { EventType, LullEvent } from "lull";
import { splitId } from "./bots/ids.ts";
import type { Logger } from "./log.ts";

const troubles: Partial<Record<EventType, string>> = {
  "attempt.failed": "an attempt to answer failed; `lull explain` says why",
  "inputs.parked": "a turn was given up; `lull explain` says why, `lull retry` brings it back",
  "part.retrying": "a part of a reply was not delivered, and is tried again; `lull explain` says why",
  "part.failed": "a part of a reply was not delivered; `lull explain` says why",
  "part.unknown": "nobody knows whether a part of a reply was delivered; `lull explain` says why",
};

/** A line of one kind at most this often: an outage concerns every conversation. */
const everyMs = 1_000;

/** Takes in events; warns of those that are troubles. `more`: how many of the kind went unmentioned since its last line. */
export function troubleWatcher(log: Logger): (event: LullEvent) => void {
  const told = new Map<EventType, { atMs: number; more: number }>();
  return ({ type, conversation: marked, atMs }) => {
    const text = troubles[type];
    if (text === undefined) return;
    const last = told.get(type);
    if (last !== undefined && Math.abs(atMs - last.atMs) < everyMs) {
      last.more += 1;
      return;
    }
    told.set(type, { atMs, more: 0 });
    const { bot, id: conversation } = splitId(marked);
    const more = last?.more ?? 0;
    log.warn({ event: type, conversation, ...(bot === "" ? {} : { bot }), ...(more === 0 ? {} : { more }) }, text);
  };
}
