/**
 * Tools that act once for a turn, however often the model is run for it. Every call goes through `turn.once`: a later
 * attempt that calls the same tool gets the recorded result.
 *
 * What makes two calls the same:
 * - an unmarked tool, and one that only reads: its name and its arguments, and the how-manieth such call it is in the
 *   attempt (a model may well roll a die twice);
 * - an irreversible tool: the key its author names, since a model words its arguments anew each time.
 *
 * @module
 */
import type { InferToolInput, InferToolOutput, Tool, ToolSet } from "ai";
import { LullError } from "../errors.ts";
import type { Json } from "../model.ts";
import type { OnceContext, Turn } from "../turn.ts";
import { type CallRecord, isCallRecord } from "./facts.ts";

type AnyTool = ToolSet[string];
export interface Irreversible<INPUT, OUTPUT = unknown> {
  /**
   * Names what is done, whatever words the model uses: an order number, a room and a date. The same key in one turn is
   * the same deed.
   */
  key: (input: INPUT) => string;
  /**
   * Asks whether an earlier call, whose end nobody saw, took effect; undefined: it did not. Without it such a call is made
   * again, with the same idempotency key.
   */
  find?: (input: INPUT, context: OnceContext) => Promise<OUTPUT | undefined> | OUTPUT | undefined;
  /** From the call on newer messages no longer discard the attempt; they are answered next. Default false. */
  seals?: boolean;
}

type Mark = { kind: "read-only" } | ({ kind: "irreversible" } & Irreversible<never>);

/** Shared by all copies of the package. */
const mark = Symbol.for("lull.tool");
const context = Symbol.for("lull.once");

/** Marks a tool that only reads: it need not wait until the user has been quiet. */
export function readOnly<T extends Tool>(tool: T): T {
  return marked(tool, { kind: "read-only" });
}

/**
 * Marks a tool whose effect cannot be taken back: a payment, a booking, a message to somebody else. When its `execute`
 * throws, nobody knows what happened: that is recorded, told to the model and to later attempts, and it is not called
 * again. An error with `notDone: true` says that certainly nothing was done.
 *
 * @example
 * irreversible(tool({ inputSchema, execute: (booking, options) => book(booking, onceContext(options).idempotencyKey) }), {
 *   key: ({ room, date }) => `${room}/${date}`,
 * });
 */
export function irreversible<T extends Tool>(tool: T, how: Irreversible<InferToolInput<T>, InferToolOutput<T>>): T {
  if (typeof how?.key !== "function") {
    const advice = "It names what is done, because a model words its arguments anew each time.";
    throw new LullError("invalid-argument", `irreversible(tool, { key }) needs key(input). ${advice}`);
  }
  return marked(tool, { kind: "irreversible", ...(how as Irreversible<never>) });
}

function marked<T extends Tool>(tool: T, how: Mark): T {
  return Object.assign(Object.create(Object.getPrototypeOf(tool) as object), tool, { [mark]: how }) as T;
}

/**
 * The idempotency key of a call, and whether an earlier run of it is in doubt: for `execute`, from its second argument.
 * @throws LullError `invalid-argument` when the tool did not come from `onceTools`.
 */
export function onceContext(options: unknown): OnceContext {
  const found = (options as Record<symbol, unknown> | null | undefined)?.[context];
  if (found === undefined)
    throw new LullError("invalid-argument", "onceContext() is for tools that went through onceTools(turn, tools).");
  return found as OnceContext;
}

/** The same tools, acting once for this turn. Tools without `execute` are left as they are. */
export function onceTools<T extends ToolSet>(turn: Turn, tools: T): T {
  const counts = new Map<string, number>();
  const nth = (call: string): number => {
    counts.set(call, (counts.get(call) ?? 0) + 1);
    return counts.get(call) ?? 1;
  };
  const entries = Object.entries(tools).map(([name, tool]) => [name, once(turn, name, tool, nth)]);
  return Object.fromEntries(entries) as T;
}

function once(turn: Turn, name: string, tool: AnyTool, nth: (call: string) => number): AnyTool {
  const how = (tool as { [mark]?: Mark })[mark];
  // biome-ignore lint/complexity/noBannedTypes: the SDK's own type differs between its majors
  const execute = tool.execute as Function | undefined;
  if (execute === undefined) return tool;
  const irrevocable = how?.kind === "irreversible" ? how : null;
  const keyOf = (input: unknown): string => {
    if (irrevocable === null) {
      const call = `${name}(${stable(input)})`;
      return `${name}#${digest(call)}:${nth(call)}`;
    }
    const key: unknown = irrevocable.key(input as never);
    if (typeof key !== "string" || key === "")
      throw new LullError("invalid-argument", `key() of the tool ${name} must return a string that is not empty.`);
    return `${name}(${key.slice(0, 400)})`;
  };
  const act = async (input: unknown, options: object, of: OnceContext): Promise<CallRecord> => {
    const said = { tool: name, input: jsonOf(input) };
    try {
      const found = of.inDoubt ? await irrevocable?.find?.(input as never, of) : undefined;
      const output = found ?? (await lastOf(execute.call(tool, input, { ...options, [context]: of })));
      return { ...said, output: jsonOf(output), ...(how?.kind === "read-only" && { readOnly: true as const }) };
    } catch (error) {
      const certain = irrevocable === null || (error as { notDone?: unknown } | null)?.notDone === true;
      if (certain) throw error;
      return { ...said, unknown: error instanceof Error ? error.message : String(error) };
    }
  };
  const run = async (input: unknown, options: object): Promise<unknown> => {
    if (irrevocable?.seals) await turn.seal();
    const record: unknown = await turn.once(keyOf(input), (of) => act(input, options, of) as Promise<Json>, {
      readOnly: how?.kind === "read-only",
    });
    if (!isCallRecord(record)) return record;
    if (!("unknown" in record)) return record.output;
    // An error of the tool: the model hears of it, and must not try again.
    throw new Error(
      `It is not known whether ${name} was done: ${record.unknown}. It is not done again. Say so, or find out by other means.`,
    );
  };
  return Object.assign(Object.create(Object.getPrototypeOf(tool) as object), tool, { execute: run }) as AnyTool;
}

/** Tools may give preliminary results; the last one counts. */
async function lastOf(result: unknown): Promise<unknown> {
  const settled: unknown = await result;
  if (typeof settled !== "object" || settled === null || !(Symbol.asyncIterator in settled)) return settled;
  let last: unknown;
  for await (const one of settled as AsyncIterable<unknown>) last = one;
  return last;
}

/** What remains of a value in JSON; nothing becomes null. */
function jsonOf(value: unknown): Json {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value) ?? "null") as Json);
}

/** JSON whose keys are in order: a model does not always write arguments in the same one. */
function stable(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) =>
    typeof one === "object" && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}

/** FNV-1a, 64 bits: tells a turn's calls apart, guards nothing. */
function digest(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text))
    hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  return hash.toString(16).padStart(16, "0");
}
