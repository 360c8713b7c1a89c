import MiniSearch from "minisearch";
import { matches, type RecordFilter } from "../shown-record.ts";
import type { SearchedWords, SummarizedRecord } from "../summary.ts";

/** A record to be found. Its members are JSON: only the thread of the index reads them. */
export interface IndexedRecord {
  readonly revision: number;
  /** The tenant that has the record; "" for all tenants. */
  readonly tenant: string;
  /** A `SummarizedRecord`. */
  readonly summary: string;
  /** `SearchedWords`. */
  readonly words: string;
}

/** A record that was found. */
export interface Found {
  readonly revision: number;
  /** Relevance by BM25: higher is better, 0 if no word matches. */
  readonly score: number;
}

export interface Query {
  readonly text: string;
  readonly filter: RecordFilter;
  /** The tenant whose records are searched, in addition to those of all tenants. */
  readonly tenant: string;
  /** Maximum number of records. */
  readonly most: number;
  /** Whether the records in which no word matches follow. */
  readonly withOthers: boolean;
}

/** A message to the thread of the index. All but `forget` are answered, by `id`. */
export type ToThread =
  | { readonly kind: "add"; readonly id: number; readonly records: readonly IndexedRecord[] }
  | { readonly kind: "forget"; readonly id: number; readonly revision: number }
  | { readonly kind: "find"; readonly id: number; readonly query: Query };

export interface FromThread {
  readonly id: number;
  readonly found: readonly Found[];
}

type Document = SearchedWords & { readonly revision: number };
type Facts = Pick<SummarizedRecord, "tool_id" | "tool_tags" | "tool_type" | "tool_sub_type">;

const QUERY_MAX_CHARACTERS = 1_000;
/** Maximum number of a query's terms: each is also searched with misspellings. */
const TERMS_MAX = 32;
/** Terms up to this length are matched exactly: fuzzy or prefix matches of them would match nearly everything. */
const SHORT_CHARACTERS = 3;
const WORD = /[\p{L}\p{N}]+/gu;

/** Full-text index of records. Each tenant has its own: ranks do not reveal the words of others. */
export class RecordIndex {
  readonly #tenants = new Map<string, TenantIndex>();

  add(records: readonly IndexedRecord[]): void {
    for (const record of records) this.#of(record.tenant).add(record);
  }

  /** Removes a record that is no longer in force. */
  forget(revision: number): void {
    for (const [tenant, index] of this.#tenants) {
      if (index.forget(revision) && index.size === 0) this.#tenants.delete(tenant);
    }
  }

  find({ text, filter, tenant, most, withOthers }: Query): readonly Found[] {
    const terms = (text.slice(0, QUERY_MAX_CHARACTERS).match(WORD) ?? []).slice(0, TERMS_MAX);
    const indexes = [...new Set([tenant, ""])].flatMap((one) => this.#tenants.get(one) ?? []);
    const found = terms.length === 0 ? [] : indexes.flatMap((index) => index.find(terms.join(" "), filter));
    found.sort((one, other) => other.score - one.score);
    if (found.length >= most || (terms.length > 0 && !withOthers)) return found.slice(0, most);
    const known = new Set(found.map(({ revision }) => revision));
    const others = indexes.flatMap((index) => index.others(known, filter)).sort((one, other) => one - other);
    return [...found, ...others.map((revision) => ({ revision, score: 0 }))].slice(0, most);
  }

  #of(tenant: string): TenantIndex {
    const index = this.#tenants.get(tenant) ?? new TenantIndex();
    this.#tenants.set(tenant, index);
    return index;
  }
}

class TenantIndex {
  readonly #index = new MiniSearch<Document>({
    idField: "revision",
    fields: ["name", "described", "tags", "types", "fields"],
    tokenize: (text) => text.match(WORD) ?? [],
    searchOptions: {
      boost: { name: 2, tags: 2, types: 1.5 },
      prefix: (term) => term.length > SHORT_CHARACTERS,
      fuzzy: (term) => (term.length > SHORT_CHARACTERS ? 0.2 : false),
    },
  });
  readonly #facts = new Map<number, Facts>();

  get size(): number {
    return this.#facts.size;
  }

  add({ revision, summary, words }: IndexedRecord): void {
    const { tool_id, tool_tags, tool_type, tool_sub_type } = JSON.parse(summary) as Facts;
    this.#facts.set(revision, {
      tool_id,
      tool_tags,
      ...(tool_type === undefined ? {} : { tool_type }),
      ...(tool_sub_type === undefined ? {} : { tool_sub_type }),
    });
    this.#index.add({ revision, ...(JSON.parse(words) as SearchedWords) });
  }

  forget(revision: number): boolean {
    if (!this.#facts.delete(revision)) return false;
    this.#index.discard(revision);
    return true;
  }

  find(terms: string, filter: RecordFilter): Found[] {
    const found = this.#index.search(terms, { filter: ({ id }) => this.#isMeant(Number(id), filter) });
    return found.map(({ id, score }) => ({ revision: Number(id), score }));
  }

  others(known: ReadonlySet<number>, filter: RecordFilter): number[] {
    return [...this.#facts.keys()].filter((revision) => !known.has(revision) && this.#isMeant(revision, filter));
  }

  #isMeant(revision: number, filter: RecordFilter): boolean {
    const facts = this.#facts.get(revision);
    return facts !== undefined && matches(facts, filter);
  }
}
