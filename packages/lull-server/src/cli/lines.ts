/**
 * Log entries and events as lines a person reads.
 *
 * @module
 */
import type { Paint } from "./terminal.ts";
import { plain } from "./terminal.ts";

type Fields = Record<string, unknown>;

/** `12:03:04.567` in local time. */
export function clock(at: unknown): string {
  const date = new Date(String(at));
  if (Number.isNaN(date.getTime())) return "            ";
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

function texts(parts: unknown): string {
  if (!Array.isArray(parts)) return "";
  return parts
    .map((part: Fields) =>
      part.type === "text" ? String(part.text) : `[${part.filename ?? part.mediaType ?? "data"}]`,
    )
    .join(" | ");
}

const inputs = (from: unknown, to: unknown) =>
  Number(from) + 1 === Number(to) ? `input ${to}` : `inputs ${Number(from) + 1}–${to}`;

/** What an entry says, without its kind. */
export function details(entry: Fields): string {
  switch (entry.kind) {
    case "message":
      return `#${entry.version} ${texts(entry.parts)}`;
    case "edit":
      return `#${entry.version} of ${entry.target}: ${texts(entry.parts)}`;
    case "retraction":
      return `of ${entry.target}`;
    case "attempt":
      return `${inputs(entry.from, entry.to)}, attempt ${entry.attempt}${entry.sealed ? ", sealed" : ""}`;
    case "ended":
      return `${entry.outcome}${entry.error === undefined ? "" : `: ${entry.error}`}`;
    case "reply":
      return `covers ${inputs(entry.from, entry.to)}${entry.overtaken ? ", overtaken" : ""}: ${texts(entry.parts)}`;
    case "part":
      return texts([entry.part]);
    case "receipt":
      return `part ${Number(entry.index) + 1} ${entry.state}${entry.error === undefined ? "" : `: ${entry.error}`}`;
    case "closed":
      return String(entry.outcome);
    case "settled":
      return `${inputs(entry.from, entry.to)} ${entry.outcome}${entry.reason === undefined ? "" : `: ${entry.reason}`}`;
    case "effect":
    case "effect-unknown":
      return String(entry.key);
    case "human":
    case "send":
      return texts(entry.parts);
    case "handoff":
      return `until ${entry.untilAt}${entry.by === undefined ? "" : ` by ${entry.by}`}`;
    default:
      return "";
  }
}

export function logLine(entry: Fields, paint: Paint): string {
  return `${paint.dim(String(entry.seq).padStart(5))} ${paint.dim(clock(entry.at))} ${String(entry.kind).padEnd(11)} ${plain(details(entry))}`;
}

const loud = /superseded|failed|parked|withdrawn|expired|unknown/;

export function eventLine(event: Fields, paint: Paint, withConversation: boolean): string {
  const type = String(event.type);
  const shown = loud.test(type)
    ? paint.yellow(type.padEnd(20))
    : type === "reply.committed" || type === "part.sent"
      ? paint.green(type.padEnd(20))
      : type.padEnd(20);
  const entry = event.entry as Fields | undefined;
  const more =
    entry !== undefined
      ? details(entry)
      : type === "window.armed"
        ? `answer not before ${clock(event.quietAt)}`
        : type === "typing"
          ? event.on
            ? "shown"
            : "hidden"
          : type === "draft"
            ? texts([event.part])
            : "";
  const place = event.seq === undefined ? "    ·" : String(event.seq).padStart(5);
  return `${paint.dim(place)} ${paint.dim(clock(event.at))} ${withConversation ? `${plain(String(event.conversation)).padEnd(16)} ` : ""}${shown} ${plain(more)}`.trimEnd();
}
