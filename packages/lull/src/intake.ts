/**
 * What callers hand in, checked and turned into the protocol's words. Everything wrong is refused here,
 * before anything is stored, with an error that names the field.
 *
 * @module
 */
import { LullError } from "./errors.ts";
import type { Backlog, Content, Json, JsonObject, Part } from "./model.ts";
import type { Settings } from "./options.ts";

/** A message as it arrives. Give `text` or `parts`. */
export interface Incoming {
  /** The platform's id: the same message handed in twice is one message. Without it see `sentAt`. */
  id?: string;
  text?: string;
  parts?: (string | Part)[];
  /** Who wrote it; opaque. */
  author?: string;
  /**
   * The platform's time of the message: a Date, an RFC 3339 string or milliseconds since 1970. A message
   * without `id` but with `sentAt` is recognised by a digest of conversation, author, time and content;
   * without either it is always new.
   */
  sentAt?: Date | string | number;
  replyTo?: string;
  /** Where and how to reply; handed to the channel as it is. */
  address?: Json;
  metadata?: JsonObject;
  /** Trace context of the caller (W3C `traceparent`); `lull/otel` sets it. */
  trace?: string;
  /** This message's own quiet target; 0 = answer now. */
  quietMs?: number;
  /** More of it is on the way; complete it with `edit`. */
  incomplete?: boolean;
  /** Not for the bot: context of later turns, never answered itself, and disturbs nobody. */
  context?: boolean;
}

/** What became of one message. A repeated id gets the answer of the first time, with `status: "duplicate"`. */
export type Received =
  | {
      status: "accepted" | "duplicate";
      id: string;
      version: number;
      seq: number;
      startAtMs: number | null;
      quietAtMs: number | null;
    }
  | { status: "rejected"; id: string; reason: "full"; retryAfterMs: number };

/** What became of an edit or a retraction. */
export interface Changed {
  /**
   * `accepted`: the turn sees it · `duplicate` · `unchanged`: identical content · `ignored`: its target was
   * answered (kept as context) · `rejected`: too much is waiting.
   */
  status: "accepted" | "duplicate" | "unchanged" | "ignored" | "rejected";
  id: string;
  version: number;
}

export interface OutgoingMessage {
  /** Makes the call repeatable. Default: a new id. */
  id?: string;
  text?: string;
  parts?: (string | Part)[];
  address?: Json;
  metadata?: JsonObject;
}

export interface OperatorCall {
  /** Makes the call repeatable. Default: a new id. */
  id?: string;
  /** Who does it, for the log. */
  by?: string;
}

export interface HandoffCall extends OperatorCall {
  /** Default and ceiling: `limits.maxHandoffMs`. */
  forMs?: number;
  /** What its end does with messages that waited. Default "answer". */
  backlog?: Backlog;
}

export interface HumanReplyCall extends OperatorCall {
  text?: string;
  parts?: (string | Part)[];
  author?: string;
  metadata?: JsonObject;
  /** The newest message the human had seen: its version or its id. Default: all. */
  upTo?: number | string;
}

function invalid(field: string, rule: string): never {
  throw new LullError("invalid-argument", `${field} ${rule}`, { details: { field } });
}

const bytes = new TextEncoder();
export function byteLength(text: string): number {
  return bytes.encode(text).length;
}

/** No character of a string takes more than three bytes: most texts need not be encoded to be measured. */
function exceeds(text: string, mostBytes: number): boolean {
  return text.length * 3 > mostBytes && byteLength(text) > mostBytes;
}

/** An id: any Unicode but NUL and lone surrogates (no two stores agree on those), not empty, bounded. */
export function checkId(field: string, value: unknown, settings: Settings): string {
  if (typeof value !== "string") invalid(field, `must be a string; got ${value === null ? "null" : typeof value}.`);
  if (value === "") invalid(field, "must not be empty.");
  if (value.includes("\0")) invalid(field, "must not contain NUL.");
  if (!value.isWellFormed()) invalid(field, "must not contain lone surrogates.");
  if (exceeds(value, settings.maxIdBytes))
    invalid(field, `must be at most ${settings.maxIdBytes} bytes (limits.maxIdBytes).`);
  return value;
}

/** Replaces lone surrogates, which no channel and no database takes. */
function clean(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

/** Deeper values would overflow the stack of whoever walks them. */
const mostNesting = 64;

/** True when arrays and objects nest deeper than `most`; works on the JSON text, so it cannot overflow itself. */
function nestsDeeper(json: string, most: number): boolean {
  let depth = 0;
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[{\]}]/g)) {
    if (token === "[" || token === "{") depth += 1;
    else if (token === "]" || token === "}") depth -= 1;
    if (depth > most) return true;
  }
  return false;
}

/** A JSON value without functions, cycles, NaN or undefined. */
export function checkJson(field: string, value: unknown, mostBytes: number): Json {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new LullError("invalid-argument", `${field} must be JSON.`, { cause, details: { field } });
  }
  if (text === undefined) invalid(field, "must be JSON.");
  if (exceeds(text, mostBytes))
    throw new LullError("too-large", `${field} must be at most ${mostBytes} bytes of JSON; got ${byteLength(text)}.`, {
      details: { field },
    });
  if (nestsDeeper(text, mostNesting)) invalid(field, `must not nest deeper than ${mostNesting} levels.`);
  // In JSON text a lone surrogate stands as its escape.
  return JSON.parse(
    text.replace(/\\(?:u(d[89a-f][0-9a-f]{2})|.)/g, (found, lone) => (lone ? "\ufffd" : found)),
  ) as Json;
}

export function checkObject(field: string, value: unknown, mostBytes: number): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) invalid(field, "must be an object.");
  const json = checkJson(field, value, mostBytes);
  // A Date, for one, is an object that becomes a string.
  if (typeof json !== "object" || json === null || Array.isArray(json)) invalid(field, "must be an object.");
  return json;
}

/** Parts from `text` or `parts`: exactly one of them, not empty, bounded. */
export function checkParts(field: string, given: { text?: unknown; parts?: unknown }, settings: Settings): Part[] {
  if (given.text !== undefined && given.parts !== undefined) invalid(`${field}text`, "and parts exclude each other.");
  if (given.parts === undefined && given.text === undefined) invalid(`${field}text`, "or parts is required.");
  const list = given.parts === undefined ? [given.text] : given.parts;
  if (!Array.isArray(list)) invalid(`${field}parts`, "must be an array.");
  if (list.length === 0) invalid(`${field}parts`, "must not be empty.");
  if (list.length > settings.limits.maxParts)
    invalid(`${field}parts`, `must be at most ${settings.limits.maxParts} (limits.maxParts).`);
  const name = given.parts === undefined ? `${field}text` : `${field}parts`;
  const parts = list.map((part, index) => checkPart(given.parts === undefined ? name : `${name}[${index}]`, part));
  const json = JSON.stringify(parts);
  if (exceeds(json, settings.maxTextBytes))
    throw new LullError(
      "too-large",
      `${name} must be at most ${settings.maxTextBytes} bytes (limits.maxTextBytes); got ${byteLength(json)}.`,
      {
        details: { field: name },
      },
    );
  return parts;
}

/** One part; a string is a text part. */
export function checkPart(field: string, part: unknown): Part {
  if (typeof part === "string") return { type: "text", text: clean(part) };
  if (typeof part !== "object" || part === null) invalid(field, "must be a string or a part object.");
  const given = part as Record<string, unknown>;
  switch (given["type"]) {
    case "text":
      if (typeof given["text"] !== "string") invalid(`${field}.text`, "must be a string.");
      return { type: "text", text: clean(given["text"]) };
    case "file": {
      if (typeof given["mediaType"] !== "string") invalid(`${field}.mediaType`, "must be a string such as image/png.");
      if (given["url"] === undefined && given["ref"] === undefined) invalid(`${field}.url`, "or ref is required.");
      if (given["url"] !== undefined && typeof given["url"] !== "string") invalid(`${field}.url`, "must be a string.");
      if (given["filename"] !== undefined && typeof given["filename"] !== "string")
        invalid(`${field}.filename`, "must be a string.");
      return {
        type: "file",
        mediaType: clean(given["mediaType"]),
        ...(given["url"] === undefined ? {} : { url: clean(given["url"]) }),
        ...(given["ref"] === undefined ? {} : { ref: checkJson(`${field}.ref`, given["ref"], 65_536) }),
        ...(given["filename"] === undefined ? {} : { filename: clean(given["filename"]) }),
      };
    }
    case "data":
      return { type: "data", data: checkJson(`${field}.data`, given["data"], 1_048_576) };
    default:
      return invalid(`${field}.type`, "must be text, file or data.");
  }
}

function checkTime(field: string, value: unknown): number {
  const ms = value instanceof Date ? value.getTime() : typeof value === "string" ? Date.parse(value) : value;
  if (typeof ms !== "number" || !Number.isFinite(ms))
    invalid(field, "must be a Date, an RFC 3339 time or milliseconds since 1970.");
  if (ms < 0 || ms > 8.64e15) invalid(field, "must not be negative or beyond the year 275760.");
  return Math.floor(ms);
}

function checkDuration(field: string, value: unknown, most: number): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > most)
    invalid(field, `must be a whole number of milliseconds from 0 to ${most}.`);
  return value;
}

function checkText(field: string, value: unknown, settings: Settings): string {
  return checkId(field, value, settings);
}

const incomingKeys = [
  "id",
  "text",
  "parts",
  "author",
  "sentAt",
  "replyTo",
  "address",
  "metadata",
  "trace",
  "quietMs",
  "incomplete",
  "context",
];

/** The checked form of an {@link Incoming}. `id` is undefined when the caller gave none. */
export interface Checked extends Content {
  id?: string;
  quietMs?: number;
  incomplete?: true;
  context?: true;
  address?: Json;
}

/**
 * Checks a message.
 * @throws LullError `invalid-argument` or `too-large`, `details.field` names the field.
 */
export function checkIncoming(given: Incoming, settings: Settings, prefix = ""): Checked {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    invalid(prefix || "message", "must be an object.");
  for (const key of Object.keys(given))
    if (!incomingKeys.includes(key)) invalid(`${prefix}${key}`, "is not a known field.");
  const limits = settings.limits;
  return {
    parts: checkParts(prefix, given, settings),
    ...(given.id === undefined ? {} : { id: checkId(`${prefix}id`, given.id, settings) }),
    ...(given.author === undefined ? {} : { author: checkText(`${prefix}author`, given.author, settings) }),
    ...(given.sentAt === undefined ? {} : { sentAtMs: checkTime(`${prefix}sentAt`, given.sentAt) }),
    ...(given.replyTo === undefined ? {} : { replyTo: checkText(`${prefix}replyTo`, given.replyTo, settings) }),
    ...(given.address === undefined
      ? {}
      : { address: checkJson(`${prefix}address`, given.address, settings.maxAddressBytes) }),
    ...(given.metadata === undefined
      ? {}
      : { metadata: checkObject(`${prefix}metadata`, given.metadata, settings.maxAddressBytes) }),
    ...(given.trace === undefined ? {} : { trace: checkId(`${prefix}trace`, given.trace, settings) }),
    ...(given.quietMs === undefined
      ? {}
      : { quietMs: checkDuration(`${prefix}quietMs`, given.quietMs, limits.maxWaitMs) }),
    ...(given.incomplete === undefined
      ? {}
      : typeof given.incomplete === "boolean"
        ? given.incomplete
          ? { incomplete: true as const }
          : {}
        : invalid(`${prefix}incomplete`, "must be true or false.")),
    ...(given.context === undefined
      ? {}
      : typeof given.context === "boolean"
        ? given.context
          ? { context: true as const }
          : {}
        : invalid(`${prefix}context`, "must be true or false.")),
  };
}

/** What makes two messages without id the same: everything a person could have meant differently. */
export function digestOf(content: Content): string {
  return JSON.stringify([content.author ?? null, content.sentAtMs ?? null, content.replyTo ?? null, content.parts]);
}
