import type { DatabaseSync } from "node:sqlite";
import { type Seal, SealError } from "../../seal.ts";
import type { DurableAnswer, StoredSnippet } from "../durable/durable-step.ts";
import { type SnippetStep, SnippetTables } from "../durable/snippet-tables.ts";

/** Snippets in a database of calls, each sealed for its tenant and name, which are digests. */
export class SealedSnippets {
  readonly #tables: SnippetTables;
  readonly #seal: Seal;

  constructor(database: DatabaseSync, seal: Seal) {
    this.#tables = new SnippetTables(database);
    this.#seal = seal;
  }

  take(step: SnippetStep): DurableAnswer {
    switch (step.kind) {
      case "save": {
        const named = this.#namedBy(step.snippet);
        const text = this.#seal.close(JSON.stringify(step.snippet), aboutOf(named));
        return this.#tables.take({ ...step, snippet: { ...named, text } });
      }
      case "drop":
        return this.#tables.take({ ...step, ...this.#namedBy(step) });
      case "snippets": {
        const answer = this.#tables.take(step);
        if (answer.kind !== "snippets" || answer.snippets === null) return answer;
        return { ...answer, snippets: answer.snippets.flatMap((one) => this.#open(one)) };
      }
    }
  }

  /** Skips a snippet that was changed. */
  #open(sealed: StoredSnippet): readonly StoredSnippet[] {
    try {
      return [JSON.parse(this.#seal.open(sealed.text, aboutOf(sealed))) as StoredSnippet];
    } catch (error) {
      if (error instanceof SealError) return [];
      throw error;
    }
  }

  #namedBy({ tenant, name }: Pick<StoredSnippet, "tenant" | "name">): Pick<StoredSnippet, "tenant" | "name"> {
    const digest = (text: string): string => this.#seal.shortDigest(text);
    return { tenant: digest(`snippets of ${tenant}`), name: digest(`snippet ${JSON.stringify([tenant, name])}`) };
  }
}

function aboutOf({ tenant, name }: Pick<StoredSnippet, "tenant" | "name">): string {
  return `glovebox calls:snippet:${tenant}${name}`;
}
