/**
 * The engine as a caller sees it: one bot's own conversations, under its own ids, and no others; and no texts, where the
 * caller's key may not see them.
 *
 * @module
 */
import type { Context } from "hono";
import { type ConversationView, type Lull, type LullEvent, redacted } from "lull";
import { behindMarked, isMarked, joinId, splitId } from "../bots/ids.ts";
import { invalid, Problem } from "../problem.ts";
import type { Deps, Env } from "./deps.ts";

const named = [
  "receive",
  "edit",
  "retract",
  "typing",
  "flush",
  "send",
  "handoff",
  "humanReply",
  "resume",
  "reset",
  "retry",
  "tune",
  "erase",
  "log",
  "explain",
  "report",
  "reply",
] as const;

export type Scoped = Pick<Lull, (typeof named)[number] | "get" | "list" | "events" | "on">;

/** What the caller's bot may see, and the caller's key. Where there is one bot, the engine itself. */
export function lullOf(deps: Pick<Deps, "lull" | "config">, c: Context<Env>): Scoped {
  const lull = deps.config.bots === undefined ? deps.lull : scoped(deps.lull, c.get("bot"));
  return c.get("texts") ? lull : withoutTexts(lull);
}

export function scoped(lull: Lull, bot: string): Scoped {
  const inside = (id: string): string => {
    if (bot === "" && isMarked(id)) throw invalid("conversation", "conversation must not begin with U+0001.");
    return joinId(bot, id);
  };
  const isOurs = (conversation: string) => splitId(conversation).bot === bot;
  const shown = (view: ConversationView): ConversationView => {
    const { id } = splitId(view.id);
    return { ...view, id, record: { ...view.record, id } };
  };
  const told = (event: LullEvent): LullEvent => ({ ...event, conversation: splitId(event.conversation).id });
  const plain = Object.fromEntries(
    named.map((name) => {
      const method = lull[name].bind(lull) as (id: string, ...rest: unknown[]) => Promise<unknown>;
      return [name, async (id: string, ...rest: unknown[]) => method(inside(id), ...rest)];
    }),
  ) as unknown as Pick<Lull, (typeof named)[number]>;
  return {
    ...plain,
    async get(id) {
      const view = await lull.get(inside(id));
      return view && shown(view);
    },
    async list(page = {}, filter = {}) {
      const prefix = bot === "" ? filter.prefix : joinId(bot, filter.prefix ?? "");
      const from = page.after === undefined ? undefined : inside(page.after);
      const after = bot === "" ? (from ?? behindMarked) : from;
      const { conversations, next, nowMs } = await lull.list(
        { ...page, ...(after === undefined ? {} : { after }) },
        { ...filter, ...(prefix === undefined ? {} : { prefix }) },
      );
      return { conversations: conversations.map(shown), next: next === null ? null : splitId(next).id, nowMs };
    },
    async *events(id, options) {
      for await (const event of lull.events(inside(id), options)) yield told(event);
    },
    on: (listener) =>
      lull.on((event) => {
        if (isOurs(event.conversation)) listener(told(event));
      }),
  };
}

/**
 * The engine as a key with the role `inspect` sees it: what can be read, without what people and bots write, and nothing
 * that changes anything. The only place where that is decided: routes ask `lullOf` and cannot forget it.
 */
export function withoutTexts(lull: Scoped): Scoped {
  const refuse = async () => {
    throw new Problem(403, "forbidden", "This key may look, and nothing else.", { field: "authorization" });
  };
  return {
    ...(Object.fromEntries(named.map((name) => [name, refuse])) as unknown as Scoped),
    get: async (id) => redacted(await lull.get(id)),
    list: async (page, filter) => redacted(await lull.list(page, filter)),
    log: async (id, page) => redacted(await lull.log(id, page)),
    explain: (id, options) => lull.explain(id, { ...options, texts: false }),
    // Made for strangers anyway.
    report: (id, options) => lull.report(id, options),
    async *events(id, options) {
      for await (const event of lull.events(id, options)) yield redacted(event);
    },
    on: (listener) => lull.on((event) => listener(redacted(event))),
  };
}
