/**
 * The engine as one bot sees it: its own conversations, under its own ids, and no others.
 *
 * @module
 */
import type { Context } from "hono";
import type { ConversationView, Lull, LullEvent } from "lull";
import { behindMarked, isMarked, joinId, splitId } from "../bots/ids.ts";
import { invalid } from "../problem.ts";
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
  "reply",
] as const;

export type Scoped = Pick<Lull, (typeof named)[number] | "get" | "list" | "events" | "on">;

/** What the caller's bot may see. Where there is one bot, the engine itself. */
export function lullOf(deps: Pick<Deps, "lull" | "config">, c: Context<Env>): Scoped {
  return deps.config.bots === undefined ? deps.lull : scoped(deps.lull, c.get("bot"));
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
      const { conversations, next } = await lull.list(
        { ...page, ...(after === undefined ? {} : { after }) },
        { ...filter, ...(prefix === undefined ? {} : { prefix }) },
      );
      return { conversations: conversations.map(shown), next: next === null ? null : splitId(next).id };
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
