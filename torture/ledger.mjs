// What happened, as seen from outside: by the people who type, by the model, by the channel, and by whoever pulls
// the plugs. One clock, one process, one list. The checker reads this and nothing else.

/**
 * A piece of content: message `id` as it read after its `rev`-th edit.
 * @typedef {{ id: string, rev: number }} Token
 *
 * What people did. `op` is the message itself, an edit of it to `rev`, or its retraction.
 * @typedef {{ at: number, is: "sent" | "acked", conversation: string, op: "message" | "edit" | "retract", id: string,
 *   rev: number, process: string, status?: string }} Input
 *
 * What the model double saw and did. `answered` is when it began to answer: nothing can have been committed before.
 * @typedef {{ at: number, is: "called", call: string, conversation: string, process: string, seen: Token[],
 *   streams: boolean }} Called
 * @typedef {{ at: number, is: "answered" | "refused" | "left", call: string, conversation: string }} Answered
 *
 * What the channel double got. `took`: it shows the part to the user now. `known`: it had shown it before and takes
 * keys, so it shows nothing. `refused`: for certain not shown. `told`: what the sender heard.
 * @typedef {{ at: number, is: "arrived", conversation: string, channel: string, process: string, key: string,
 *   replyId: string, index: number, count: number, covers: string[], overtaken: boolean, text: string,
 *   outcome: "took" | "known" | "refused", told: "answer" | "nothing" }} Arrived
 * A sender in doubt asks whether the channel has shown a part.
 * @typedef {{ at: number, is: "asked", conversation: string, process: string, key: string }} Asked
 *
 * What was done to the processes and to the store.
 * @typedef {{ at: number, is: "ready" | "killed" | "frozen" | "thawed" | "died", process: string }} Plug
 * @typedef {{ at: number, is: "outage" | "restored" }} Outage
 *
 * @typedef {Input | Called | Answered | Arrived | Asked | Plug | Outage} Event
 */

/** @typedef {Event extends infer E ? E extends Event ? Omit<E, "at"> : never : never} NewEvent */

export function ledger() {
  const began = performance.now();
  const wallMs = Date.now();
  /** @type {Event[]} */
  const events = [];
  /** @type {((event: Event) => void)[]} */
  const listeners = [];
  return {
    events,
    /** The wall clock at the ledger's zero. */
    wallMs,
    now: () => performance.now() - began,
    /** @param {NewEvent} event */
    note(event) {
      const noted = /** @type {Event} */ ({ at: performance.now() - began, ...event });
      events.push(noted);
      for (const listener of listeners) listener(noted);
      return noted;
    },
    /** @param {(event: Event) => void} listener */
    on: (listener) => void listeners.push(listener),
  };
}

/** @typedef {ReturnType<typeof ledger>} Ledger */

/** The text people send: it names its content, so that whoever sees the text knows what was seen. */
export const textOf = (/** @type {Token} */ { id, rev }) => `<${id} r${rev}>`;

/** All contents named in a text. @returns {Token[]} */
export function tokensIn(/** @type {string} */ text) {
  return [...text.matchAll(/<([^ <>]+) r(\d+)>/g)].map(([, id, rev]) => ({ id: String(id), rev: Number(rev) }));
}

/** The text the model answers: it names the call, and everything the call saw. */
export const answerOf = (/** @type {string} */ call, /** @type {number} */ index, /** @type {Token[]} */ seen) =>
  `[${call}.${index}] to ${seen.map(textOf).join(" ")}`;

export function callIn(/** @type {string} */ text) {
  const match = /^\[([^\]]+)\.(\d+)\] to /.exec(text);
  return match === null ? null : { call: String(match[1]), index: Number(match[2]), seen: tokensIn(text) };
}
