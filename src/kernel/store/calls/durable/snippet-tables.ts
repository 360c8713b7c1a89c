import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { DurableAnswer, DurableStep, StoredSnippet } from "./durable-step.ts";

/** Maximum snippets of one tenant, and of all: an engine has room for 10,000 tools. */
export const SNIPPETS_OF_TENANT = 200;
export const SNIPPETS_MAX = 1_000;
/** Maximum length of all texts, in UTF-16 units: they are read at once. */
export const SNIPPETS_CHARS = 8 * 1024 * 1024;

/**
 * Programs that are tools of one tenant each. `revision` changes with each, so that other processes read them again.
 */
export const SNIPPETS_SQL = `
  CREATE TABLE snippet (tenant TEXT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (tenant, name)) STRICT;
  CREATE TABLE snippet_revision (id INTEGER PRIMARY KEY CHECK (id = 1), revision TEXT NOT NULL) STRICT;
  INSERT INTO snippet_revision VALUES (1, '');
`;

export type SnippetStep = Extract<DurableStep, { readonly kind: "save" | "drop" | "snippets" }>;

/** Snippets in a database of calls. */
export class SnippetTables {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  take(step: SnippetStep): DurableAnswer {
    switch (step.kind) {
      case "save": {
        const { tenant, name, text } = step.snippet;
        const bound = this.#boundOf(tenant, name, text.length);
        if (bound !== null) return { kind: "full", bound };
        this.#sql("INSERT OR REPLACE INTO snippet VALUES (?, ?, ?)").run(tenant, name, text);
        return this.#changed(step.revision);
      }
      case "drop": {
        const { changes } = this.#sql("DELETE FROM snippet WHERE tenant = ? AND name = ?").run(step.tenant, step.name);
        return changes === 0 ? { kind: "missing" } : this.#changed(step.revision);
      }
      case "snippets": {
        const row = this.#sql("SELECT revision FROM snippet_revision").get();
        const { revision } = row as { readonly revision: string };
        if (revision === step.known) return { kind: "snippets", revision, snippets: null };
        const snippets = this.#sql(
          "SELECT tenant, name, text FROM snippet",
        ).all() as unknown as readonly StoredSnippet[];
        return { kind: "snippets", revision, snippets };
      }
    }
  }

  #boundOf(tenant: string, name: string, length: number): string | null {
    const sql = `SELECT count(*) AS snippets, coalesce(sum(tenant = ?1), 0) AS own, coalesce(sum(length(text)), 0) AS chars
      FROM snippet WHERE tenant <> ?1 OR name <> ?2`;
    const { snippets, own, chars } = this.#sql(sql).get(tenant, name) as {
      readonly snippets: number;
      readonly own: number;
      readonly chars: number;
    };
    return boundOf({ snippets, own, chars: chars + length });
  }

  #changed(revision: string): DurableAnswer {
    this.#sql("UPDATE snippet_revision SET revision = ?").run(revision);
    return { kind: "done", call: null };
  }

  /** Prepares a statement each time: snippets are saved by people, so few are run. */
  #sql(sql: string): StatementSync {
    return this.#database.prepare(sql);
  }
}

/** The limit that one more snippet would exceed, in words. `chars`: including its own. */
export function boundOf(held: {
  readonly snippets: number;
  readonly own: number;
  readonly chars: number;
}): string | null {
  if (held.own >= SNIPPETS_OF_TENANT) return `a tenant may have ${SNIPPETS_OF_TENANT} snippets`;
  if (held.snippets >= SNIPPETS_MAX) return `a store may have ${SNIPPETS_MAX} snippets`;
  return held.chars > SNIPPETS_CHARS ? `the snippets of a store may have ${SNIPPETS_CHARS} characters` : null;
}
