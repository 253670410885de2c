/**
 * Runs the embedded statements by name, each prepared once.
 *
 * @module
 */
import type { SqliteLike, SqliteParameters, SqliteStatement } from "./driver.ts";
import { statements } from "./statements.ts";

export type StatementName = keyof typeof statements;

export interface Sql {
  /** @returns the number of changed rows */
  run(name: StatementName, parameters: SqliteParameters): number;
  get<Row>(name: StatementName, parameters: SqliteParameters): Row | undefined;
  all<Row>(name: StatementName, parameters: SqliteParameters): Row[];
}

export function sqlOf(db: SqliteLike): Sql {
  const prepared = new Map<StatementName, SqliteStatement>();
  const statement = (name: StatementName): SqliteStatement => {
    const known = prepared.get(name) ?? db.prepare(statements[name]);
    prepared.set(name, known);
    return known;
  };
  return {
    run: (name, parameters) => Number(statement(name).run(parameters).changes),
    get: <Row>(name: StatementName, parameters: SqliteParameters) => statement(name).get(parameters) as Row | undefined,
    all: <Row>(name: StatementName, parameters: SqliteParameters) => statement(name).all(parameters) as Row[],
  };
}
