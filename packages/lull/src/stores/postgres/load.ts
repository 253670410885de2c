/**
 * A conversation as it is read: the question, and the rows that come back as its answer.
 *
 * @module
 */
import { LullError } from "../../errors.ts";
import type { ConversationId, Seq } from "../../model.ts";
import type { Loaded } from "../../ports.ts";
import { decodeRecord } from "../codec.ts";
import type { Row } from "./driver.ts";
import { entryOf } from "./exchange.ts";
import { integer } from "./rows.ts";

export interface Question {
  id: ConversationId;
  /** Null: no log. */
  logFrom: Seq | null;
  /** Null: the server's own. */
  clockMs: number | null;
}

/** @throws LullError `store-damaged`, `store-newer-schema` */
export function answerOfLoad({ id }: Question, rows: Row[]): Loaded {
  const loaded: Loaded = { record: null, log: [], nowMs: integer(rows[0]?.[0]) };
  for (const [, seq, text] of rows) if (seq !== null) add(loaded, id, seq, text);
  return loaded;
}

/** An answer for each question of load-many.sql, or why it cannot be read. */
export function answersOfLoads(questions: readonly Question[], [head, ...rest]: Row[]): (Loaded | LullError)[] {
  const nowMs = integer(head?.[1]);
  const answers = questions.map((): Loaded | LullError => ({ record: null, log: [], nowMs }));
  for (const [number, , seq, text] of rest) {
    const index = integer(number) - 1;
    const [question, answer] = [questions[index], answers[index]];
    if (question === undefined || answer === undefined || LullError.isInstance(answer)) continue;
    try {
      add(answer as Loaded, question.id, seq, text);
    } catch (error) {
      answers[index] = error as LullError;
    }
  }
  return answers;
}

/** The record stands as the entry 0. */
function add(loaded: Loaded, id: ConversationId, seq: unknown, text: unknown): void {
  if (integer(seq) === 0) loaded.record = decodeRecord(id, String(text));
  else loaded.log.push(entryOf(id, seq, text));
}
