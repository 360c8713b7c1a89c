import type { DatabaseSync, StatementSync } from "node:sqlite";

/** Statements of a connection, by name. */
export type Statements<Name extends string> = Readonly<Record<Name, StatementSync>>;

/** Prepares statements that are written by name. */
export function prepareAll<Name extends string>(
  database: DatabaseSync,
  texts: Readonly<Record<Name, string>>,
): Statements<Name> {
  const prepared = Object.entries<string>(texts).map(([name, sql]) => [name, database.prepare(sql)] as const);
  return Object.fromEntries(prepared) as Statements<Name>;
}

/** Prepares a statement, each text once. */
export type Prepare = (sql: string) => StatementSync;

/** A `Prepare` on a connection: for few texts, as it keeps all statements. */
export function prepareOnce(database: DatabaseSync): Prepare {
  const prepared = new Map<string, StatementSync>();
  return (sql) => {
    let statement = prepared.get(sql);
    if (statement === undefined) prepared.set(sql, (statement = database.prepare(sql)));
    return statement;
  };
}
