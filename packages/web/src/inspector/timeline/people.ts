/**
 * What people wrote, changed and took back.
 *
 * @module
 */
import type { EntryOf } from "../../shared/shapes.ts";
import { clockTime, excerpt, lasting } from "../words.ts";
import type { Board } from "./board.ts";
import { fact } from "./item.ts";

export function wrote(board: Board, entry: EntryOf<"message" | "edit">, at: number): void {
  const { aside, author, version } = entry;
  const name = entry.kind === "message" ? "Message" : "Edit";
  const text = excerpt(entry.parts);
  const item = board.mark(
    "people",
    entry.kind,
    { at, seq: entry.seq },
    {
      tone: aside === undefined ? "plain" : "warn",
      label: entry.kind === "edit" ? "edit" : "",
      text,
      title: `${name} ${version}${author ? ` from ${author}` : ""}${aside ? `, set aside as ${aside}` : ""}: ${text}`,
    },
  );
  fact(item, name, entry.id);
  fact(item, "Version", String(version));
  fact(item, "Author", author);
  if (entry.kind === "edit") fact(item, "Edits", entry.target);
  fact(item, "Set aside", aside);
  if (entry.quietMs !== undefined) fact(item, "Asks for quiet", lasting(entry.quietMs));
  if (entry.incomplete) fact(item, "Incomplete", "more of it is on the way");
  if (entry.sentAt !== undefined) {
    const sentAt = Date.parse(entry.sentAt);
    fact(item, "Sent by the platform's clock", clockTime(sentAt));
    if (at - sentAt >= 1_000) fact(item, "On its way for", lasting(at - sentAt));
  }
  fact(item, "Text", text);
}

export function tookBack(board: Board, { target, aside, version, seq }: EntryOf<"retraction">, at: number): void {
  board.mark(
    "people",
    "retraction",
    { at, seq },
    {
      tone: "warn",
      label: "taken back",
      title: `The author took message ${target} back${aside ? ", after it was answered" : ""}`,
      facts: [
        { name: "Takes back", value: target },
        { name: "Version", value: String(version) },
      ],
    },
  );
}
