/**
 * A turn as the messages of a prompt that every model takes: user and assistant alternate, a user's message comes first
 * and last, no text is blank, no tool call is without a result (there are none: what tools did is told in words), and
 * files have the shape that reaches the model.
 *
 * @module
 */
import type { FilePart, ModelMessage, TextPart } from "ai";
import type { Input, Json, Part } from "../model.ts";
import type { EffectView, Turn } from "../turn.ts";
import { factsOf } from "./facts.ts";
import { type FileOptions, fileFor, wordsFor } from "./files.ts";
import { historyOf, type Said } from "./history.ts";

export interface MessageOptions extends FileOptions {
  /** Messages of the history, newest kept. Default 50; 0: none. */
  history?: number;
  /** Puts who wrote it before each text: `true`, or how to name somebody. Default: nobody is named. */
  authors?: boolean | ((author: string) => string);
  /** Puts when it was written before each text, as UTC, or as you format it. Default: no times. */
  times?: boolean | ((atMs: number) => string);
  /**
   * Which files are shown to the model: those of this turn (default), those of the history too, or none. Others are named
   * in words: a link in an old message has often expired, and a prompt with a dead link fails every time.
   */
  files?: "turn" | "all" | "none";
  /** Words for a data part; null leaves it out. Default: its JSON in brackets. */
  data?: (data: Json) => string | null;
  /** Tells the model what earlier attempts of this turn already did. Default: in words, at the end; null: nothing. */
  facts?: (effects: readonly EffectView[]) => string | null;
}

/** Log entries read per message wanted: a turn leaves about six (message, attempt, reply, receipts, closed). */
const entriesPerMessage = 8;
/** The log is read in pages of this size. */
const pageEntries = 1_000;

/** Stands for what has no words: a sticker whose data part is left out, a blank line. */
const wordless = "[a message without text]";
/** Some models refuse a prompt that the assistant begins. */
const opening = "[the conversation begins with the assistant]";

/**
 * The prompt for a turn: what was said before, everything unanswered, and what was already done.
 *
 * @example
 * const messages = await toModelMessages(turn);
 * return generateText({ model, messages, abortSignal: turn.signal });
 */
export async function toModelMessages(turn: Turn, options: MessageOptions = {}): Promise<ModelMessage[]> {
  return promptOf(turn, turn.messages, options);
}

/** The same for some of the turn's messages. */
export async function promptOf(turn: Turn, inputs: readonly Input[], options: MessageOptions): Promise<ModelMessage[]> {
  const before = await historyFor(turn, options.history ?? 50);
  const { files = "turn" } = options;
  const old = await Promise.all(before.map((said) => contentOf(said, files === "all", options, turn.signal)));
  const facts = (options.facts ?? factsOf)(turn.effects);
  return merged([
    ...before.map(({ role }, at) => ({ role, content: old[at] ?? [] })),
    ...(await userMessages(turn, inputs, options)),
    { role: "user", content: facts === null ? [] : [{ type: "text", text: facts }] },
  ]);
}

/** The turn's messages, unmerged. */
export async function userMessages(turn: Turn, inputs: readonly Input[], options: MessageOptions): Promise<Spoken[]> {
  const { files = "turn" } = options;
  const said = inputs.map(({ parts, author, sentAtMs, receivedAtMs }): Said => {
    const who = author === undefined ? {} : { author };
    return { role: "user", by: "user", parts, atMs: sentAtMs ?? receivedAtMs, ...who };
  });
  return Promise.all(
    said.map(async (one): Promise<Spoken> => {
      const content = await contentOf(one, files !== "none", options, turn.signal);
      return { role: "user", content: content.length > 0 ? content : [{ type: "text", text: wordless }] };
    }),
  );
}

/** A message on its way into a prompt. */
export interface Spoken {
  role: "user" | "assistant";
  content: (TextPart | FilePart)[];
}

async function historyFor(turn: Turn, most: number): Promise<Said[]> {
  if (most <= 0) return [];
  for (let entries = Math.min(pageEntries, most * entriesPerMessage); ; entries *= 4) {
    const log = await turn.log(entries);
    const said = historyOf(log);
    if (said.length >= most || log.length < entries) return said.slice(-most);
  }
}

async function contentOf(
  said: Said,
  withFiles: boolean,
  options: MessageOptions,
  signal: AbortSignal,
): Promise<Spoken["content"]> {
  const content: Spoken["content"] = [];
  for (const part of said.parts) {
    const one = await partFor(part, withFiles && said.role === "user", options, signal);
    if (one !== null && (one.type !== "text" || one.text.trim() !== "")) content.push(one);
  }
  const [first] = content;
  const prefix = said.role === "user" ? prefixOf(said, options) : "";
  if (prefix === "" || first === undefined) return content;
  return first.type === "text"
    ? [{ type: "text", text: `${prefix}${first.text}` }, ...content.slice(1)]
    : [{ type: "text", text: prefix.trim() }, ...content];
}

function prefixOf({ author, atMs }: Said, { authors = false, times = false }: MessageOptions): string {
  const when =
    times === false
      ? ""
      : `[${times === true ? new Date(atMs).toISOString().slice(0, 16).replace("T", " ") : times(atMs)}] `;
  const who = authors === false || author === undefined ? "" : `${authors === true ? author : authors(author)}: `;
  return when + who;
}

async function partFor(
  part: Part,
  withFiles: boolean,
  options: MessageOptions,
  signal: AbortSignal,
): Promise<TextPart | FilePart | null> {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "file":
      return withFiles ? fileFor(part, options, signal) : wordsFor(part);
    case "data": {
      const words = options.data === undefined ? `[data: ${JSON.stringify(part.data)}]` : options.data(part.data);
      return words === null ? null : { type: "text", text: words };
    }
  }
}

/** Neighbours of one role become one, texts one text: models want user and assistant to alternate. */
export function merged(messages: readonly Spoken[]): ModelMessage[] {
  const turns: Spoken[] = [];
  for (const { role, content } of messages) {
    if (content.length === 0) continue;
    const last = turns.at(-1);
    if (last?.role === role) last.content = joined([...last.content, ...content]);
    else turns.push({ role, content: joined(content) });
  }
  if (turns[0]?.role === "assistant") turns.unshift({ role: "user", content: [{ type: "text", text: opening }] });
  return turns.map(({ role, content }): ModelMessage => {
    const [first] = content;
    const text = content.length === 1 && first?.type === "text" ? first.text : null;
    // Some refuse white space at the end of what the assistant said.
    if (role === "assistant") return { role, content: (text ?? content.map(words).join("\n")).trimEnd() };
    return { role, content: text ?? content };
  });
}

function joined(content: Spoken["content"]): Spoken["content"] {
  const out: Spoken["content"] = [];
  for (const part of content) {
    const last = out.at(-1);
    if (part.type === "text" && last?.type === "text")
      out[out.length - 1] = { type: "text", text: `${last.text}\n${part.text}` };
    else out.push(part);
  }
  return out;
}

function words(part: TextPart | FilePart): string {
  return part.type === "text" ? part.text : "";
}
