/**
 * Conversations of several bots in one store: the same id under two bots is two conversations. The bot that has no
 * name keeps its ids as they are; another's are marked with its name, between characters that no id begins with.
 *
 * @module
 */

const mark = "\u0001";

/** What is wrong with a bot's name, or null. */
export function botNameFault(name: string): string | null {
  if (name === "default") return 'must not be "default": that is the bot without a name';
  return /^[a-z0-9][a-z0-9_-]{0,31}$/.test(name)
    ? null
    : "must be 1 to 32 of a-z, 0-9, - and _, and begin with a letter or digit";
}

/** Bytes that a bot's name adds to an id, at most. */
export const mostMarkBytes = 34;

/** The engine's id of a bot's conversation. `bot`: "" for the one without a name. */
export function joinId(bot: string, id: string): string {
  return bot === "" ? id : `${mark}${bot}${mark}${id}`;
}

/** Whose conversation it is, and what that bot calls it. */
export function splitId(conversation: string): { bot: string; id: string } {
  const end = conversation.indexOf(mark, 1);
  if (!conversation.startsWith(mark) || end < 0) return { bot: "", id: conversation };
  return { bot: conversation.slice(1, end), id: conversation.slice(end + 1) };
}

/** An id that looks like another bot's. */
export function isMarked(id: string): boolean {
  return id.startsWith(mark);
}

/** Marked ids sort before all others: whoever lists the others begins behind this. */
export const behindMarked = `${mark}\u{10ffff}`;
