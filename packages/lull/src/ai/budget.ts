/**
 * Token budgets, for a conversation and for a whole bot.
 *
 * The rule: before each model call what was spent in the running period is compared with the budget. When it is spent, no
 * call is made; the turn is answered with `whenSpent`, once in a period for each conversation, and with silence after
 * that. A call under way is never stopped for its cost, so a budget can be exceeded by what the calls under way at that
 * moment cost. Discarded attempts and aborted calls count: they were paid for. Periods have fixed bounds, counted from
 * 1970 UTC, so a day's budget begins anew at midnight UTC.
 *
 * @module
 */
import { systemClock } from "../clock.ts";
import { LullError } from "../errors.ts";
import { blank, type LogEntry } from "../model.ts";
import { settle } from "../options.ts";
import type { Store } from "../ports.ts";
import { apply } from "../protocol.ts";
import type { Answer, Turn } from "../turn.ts";

export interface Budget {
  /** Tokens, in and out, per period. */
  tokens: number;
  /** The period. Default a day. */
  everyMs?: number;
}

export interface Budgets {
  perConversation?: Budget;
  /** Of all conversations that share the ledger. */
  perBot?: Budget & { ledger: Ledger };
  /** The answer when a budget is spent. Default: silence. */
  whenSpent?: string | ((turn: Turn, which: "conversation" | "bot") => Answer | Promise<Answer>);
}

/** A sum that all processes share. */
export interface Ledger {
  /** Adds to the running period and resolves to its sum; 0 only asks. */
  spend(tokens: number, everyMs: number): Promise<number>;
}

const day = 86_400_000;
/** A hot ledger is tried again so often. */
const mostConflicts = 100;

/**
 * A ledger in a store, under a conversation id of its own, which `list()` shows like any other. One write for each model
 * call of the bot.
 * @example budget: { perBot: { tokens: 2_000_000, ledger: ledgerIn(store, "ledger:support") } }
 */
export function ledgerIn(store: Store, id: string): Ledger {
  const { limits } = settle({ store });
  const clock = systemClock();
  return {
    async spend(tokens, everyMs) {
      let { record, nowMs } = await store.load(id);
      for (let tries = 0; tries < mostConflicts; tries += 1) {
        const before = record ?? blank(id, nowMs);
        const { next, entries, outcome } = apply(before, { type: "spend", fence: 0, tokens, everyMs }, nowMs, limits);
        if (next === null) return outcome.tokens;
        next.revision = `${id}:${nowMs}:${clock.id()}`;
        const write = { id, next, expected: record?.revision ?? null, wakeAtMs: null, append: entries, nowMs };
        const answer = await store.exchange(write);
        nowMs = answer.nowMs;
        if (answer.kind === "stored") return outcome.tokens;
        if (answer.kind !== "skewed") record = answer.record;
      }
      throw new LullError("store-busy", `The ledger ${id} is written to by too many at once.`);
    },
  };
}

/** A ledger of one process, gone with it: for tests, and for bots of one process. */
export function ledgerInMemory(now: () => number): Ledger {
  let [sinceMs, sum] = [0, 0];
  return {
    spend(tokens, everyMs) {
      const start = now() - (now() % everyMs);
      if (start !== sinceMs) [sinceMs, sum] = [start, 0];
      sum += tokens;
      return Promise.resolve(sum);
    },
  };
}

/** Thrown before a call that nothing is left for. */
export class BudgetSpent extends Error {
  override readonly name = "BudgetSpent";
  readonly which: "conversation" | "bot";
  readonly sinceMs: number;

  constructor(which: "conversation" | "bot", sinceMs: number) {
    super(`The token budget of the ${which} is spent for this period.`);
    this.which = which;
    this.sinceMs = sinceMs;
  }
}

export function checkBudgets(budgets: Budgets): void {
  for (const [name, budget] of Object.entries({ perConversation: budgets.perConversation, perBot: budgets.perBot })) {
    if (budget === undefined) continue;
    const { tokens, everyMs = day } = budget;
    if (!Number.isSafeInteger(tokens) || tokens < 0)
      throw new LullError(
        "invalid-options",
        `budget.${name}.tokens must be a whole number, not negative; got ${tokens}.`,
      );
    if (!Number.isSafeInteger(everyMs) || everyMs < 1)
      throw new LullError(
        "invalid-options",
        `budget.${name}.everyMs must be a whole number of at least 1; got ${everyMs}.`,
      );
  }
  if (budgets.perBot !== undefined && typeof budgets.perBot.ledger?.spend !== "function")
    throw new LullError("invalid-options", "budget.perBot.ledger must be a ledger such as ledgerIn(store, id).");
}

/** @throws BudgetSpent when nothing is left. */
export async function checkSpent(turn: Turn, { perConversation, perBot }: Budgets): Promise<void> {
  if (perConversation !== undefined) {
    const { sinceMs, tokens } = await turn.spend(0, { everyMs: perConversation.everyMs ?? day });
    if (tokens >= perConversation.tokens) throw new BudgetSpent("conversation", sinceMs);
  }
  if (perBot !== undefined) {
    const everyMs = perBot.everyMs ?? day;
    const sum = await perBot.ledger.spend(0, everyMs);
    const { sinceMs } = await turn.spend(0, { everyMs });
    if (sum >= perBot.tokens) throw new BudgetSpent("bot", sinceMs);
  }
}

/** The answer of a turn whose budget is spent: said once in a period, then silence. */
export async function answerWhenSpent(turn: Turn, budgets: Budgets, { which, sinceMs }: BudgetSpent): Promise<Answer> {
  const { whenSpent } = budgets;
  if (whenSpent === undefined) return null;
  const log = await turn.log(1_000);
  if (log.some((entry) => entry.atMs >= sinceMs && saysSpent(entry))) return null;
  const answer = typeof whenSpent === "string" ? whenSpent : await whenSpent(turn, which);
  const metadata = { budget: which };
  if (typeof answer === "string") return { text: answer, metadata };
  if (Array.isArray(answer)) return { parts: answer, metadata };
  if (answer === null || typeof answer !== "object") return answer;
  if ("type" in answer) return { parts: [answer], metadata };
  return { ...answer, metadata: { ...answer.metadata, ...metadata } };
}

function saysSpent(entry: LogEntry): boolean {
  return entry.kind === "reply" && entry.metadata?.budget !== undefined;
}
