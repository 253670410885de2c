/**
 * The embedded statements, in the schema they are to work in.
 *
 * @module
 */
import { LullError } from "../../errors.ts";
import { statements } from "./statements.ts";

export type StatementName = keyof typeof statements;
export type Statements = Readonly<Record<StatementName, string>>;

/** The files name the schema "lull", so that they can be read and run as they are. */
export function inSchema(text: string, schema: string): string {
  return text.replace(/\blull\.(?=lull_)/g, `"${schema}".`);
}

export function statementsIn(schema: string): Statements {
  const entries = Object.entries(statements).map(([name, text]) => [name, inSchema(text, schema)]);
  return Object.fromEntries(entries) as Statements;
}

/** @throws LullError `invalid-options` */
export function checkSchema(schema: string): void {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) return;
  throw new LullError(
    "invalid-options",
    `schema must be a name of lower-case letters, digits and underscores, at most 63; got ${JSON.stringify(schema)}.`,
  );
}
