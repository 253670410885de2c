/**
 * What may be seen by somebody who must not read what people and bots write: the same record, entry or event, with
 * everything replaced by its length that is not known to be a number, a word of ours, or an id. Pure.
 *
 * @module
 */

/** Fields whose strings are ours, or name something in the conversation. Whatever is not listed here is hidden. */
const plain = new Set([
  // Our words
  "kind",
  "type",
  "state",
  "outcome",
  "cause",
  "when",
  "backlog",
  "aside",
  "purpose",
  "ending",
  "whenBusy",
  // Ids
  "conversation",
  "id",
  "target",
  "replyTo",
  "replyId",
  "draftId",
  "covers",
  "owner",
  "claimId",
  "revision",
]);
/** Why something waited is a word of ours; why something failed is not. */
const reasons = new Set([
  "setting",
  "restarts",
  "typing",
  "incomplete",
  "cap",
  "message",
  "flush",
  "pace",
  "question",
  "judged",
]);
/** Fields that are hidden whole, whatever is in them: they belong to people, to channels, and to the bot's author. */
const opaque = new Set(["address", "metadata", "value", "details", "data", "ref"]);

/** What is shown instead: how long it is, in UTF-16 units; of what is no string, how long its JSON is. */
export function hidden(value: unknown): string {
  const { length } = typeof value === "string" ? value : JSON.stringify(value);
  return `⟨${length} character${length === 1 ? "" : "s"}⟩`;
}

/** How long it was, told from what stands instead; null for what is none. */
export function hiddenLength(text: string): number | null {
  const length = /^⟨(\d+) characters?⟩$/.exec(text)?.[1];
  return length === undefined ? null : Number(length);
}

/**
 * A copy in which texts, files, values, addresses, metadata, errors, reasons, names of people and keys of effects are
 * replaced by their lengths (`⟨12 characters⟩`). Numbers, instants, our own words and ids stay: of conversations, messages
 * and replies. Of data that is hidden whole a string stands where an object was.
 */
export function redacted<T>(value: T): T {
  return copy(value, "") as T;
}

function copy(value: unknown, field: string): unknown {
  if (value === null || value === undefined) return value;
  if (opaque.has(field)) return hidden(value);
  if (typeof value === "string")
    return plain.has(field) || (field === "reason" && reasons.has(value)) ? value : hidden(value);
  if (typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((item) => copy(item, field));
  const names = new Set<string>();
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [field === "effects" ? unused(name, names) : name, copy(item, name)]),
  );
}

/** Keys of effects are the author's; two of the same length are told apart. */
function unused(name: string, taken: Set<string>): string {
  const shown = hidden(name);
  let free = shown;
  for (let n = 2; taken.has(free); n += 1) free = `${shown} ${n}`;
  taken.add(free);
  return free;
}
