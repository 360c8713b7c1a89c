import MiniSearch from "minisearch";
import type { RegistrationRecord } from "../../tool/contracts/agentspace-record.ts";
import { within } from "../../base/deadline.ts";
import { matches, type RecordFilter, type ShownRecord } from "./shown-record.ts";

/** A tool that matches a search. */
export interface SearchHit {
  readonly tool_id: string;
  /** Relevance by BM25: higher is better, 0 if no word matches. */
  readonly score: number;
  readonly record: ShownRecord;
}

/**
 * Ranks tools, for example with a language model: returns ids, best first. Omitted ids are dropped; ids that are not
 * among the candidates are ignored.
 */
export type Ranking = (
  query: string,
  candidates: readonly SearchHit[],
  signal: AbortSignal,
) => readonly string[] | Promise<readonly string[]>;

export interface SearchOptions extends RecordFilter {
  /** Maximum number of hits. Default 10, at most 100. */
  readonly limit?: number;
  /** Default: BM25 order, and only tools with a matching word. */
  readonly rank?: Ranking;
  /** Timeout of `rank`, in milliseconds: default 30,000. */
  readonly rankMs?: number;
}

export interface SearchAnswer {
  readonly hits: readonly SearchHit[];
  /** `words` if there is no ranking, or it failed or timed out: the order is then BM25's. */
  readonly rankedBy: "words" | "ranking";
}

interface Words {
  readonly id: string;
  readonly name: string;
  readonly described: string;
  readonly tags: string;
  readonly types: string;
  readonly fields: string;
}

const QUERY_MAX_CHARACTERS = 1_000;
/** Maximum number of a query's terms: each is also searched with misspellings. */
const TERMS_MAX = 32;
const LIMIT_DEFAULT = 10;
const LIMIT_MAX = 100;
/** Maximum number of candidates for a ranking. */
const CANDIDATES_MAX = 100;
const RANK_DEFAULT_MS = 30_000;
/** Terms up to this length are matched exactly: fuzzy or prefix matches of them would match nearly everything. */
const SHORT_CHARACTERS = 3;
const WORD = /[\p{L}\p{N}]+/gu;

/** Full-text index of records. */
export class RecordIndex {
  readonly #index = new MiniSearch<Words>({
    fields: ["name", "described", "tags", "types", "fields"],
    tokenize: (text) => text.match(WORD) ?? [],
    searchOptions: {
      boost: { name: 2, tags: 2, types: 1.5 },
      prefix: (term) => term.length > SHORT_CHARACTERS,
      fuzzy: (term) => (term.length > SHORT_CHARACTERS ? 0.2 : false),
    },
  });
  readonly #records: ReadonlyMap<string, ShownRecord>;

  constructor(records: readonly ShownRecord[]) {
    this.#records = new Map(records.map((record) => [record.tool_id, record]));
    this.#index.addAll(records.map(wordsOf));
  }

  async search(query: string, options: SearchOptions = {}): Promise<SearchAnswer> {
    const limit = Math.min(Math.max(1, Math.floor(options.limit ?? LIMIT_DEFAULT)), LIMIT_MAX);
    const terms = (query.slice(0, QUERY_MAX_CHARACTERS).match(WORD) ?? []).slice(0, TERMS_MAX);
    const hits = this.#find(terms.join(" "), options);
    const { rank } = options;
    const chosen = rank && (await choose(rank, query, this.#candidates(hits, options), options.rankMs));
    if (chosen !== undefined) return { hits: chosen.slice(0, limit), rankedBy: "ranking" };
    return { hits: hits.slice(0, limit), rankedBy: "words" };
  }

  #find(query: string, filter: RecordFilter): readonly SearchHit[] {
    if (query === "") return this.#others(new Set(), filter);
    const found = this.#index.search(query).map(({ id, score }) => this.#hit(String(id), score));
    return found.filter((hit) => hit !== undefined).filter(({ record }) => matches(record, filter));
  }

  /** Hits first, then all other records: a ranking may know synonyms. */
  #candidates(found: readonly SearchHit[], filter: RecordFilter): readonly SearchHit[] {
    const ids = new Set(found.map((hit) => hit.tool_id));
    return [...found, ...this.#others(ids, filter)].slice(0, CANDIDATES_MAX);
  }

  #others(ids: ReadonlySet<string>, filter: RecordFilter): readonly SearchHit[] {
    const others = [...this.#records.values()].filter((record) => !ids.has(record.tool_id) && matches(record, filter));
    return others.map((record) => ({ tool_id: record.tool_id, score: 0, record }));
  }

  #hit(id: string, score: number): SearchHit | undefined {
    const record = this.#records.get(id);
    return record && { tool_id: id, score, record };
  }
}

/** Hits in a ranking's order; `undefined` if it failed or timed out. */
async function choose(
  rank: Ranking,
  query: string,
  candidates: readonly SearchHit[],
  rankMs = RANK_DEFAULT_MS,
): Promise<readonly SearchHit[] | undefined> {
  const controller = new AbortController();
  let ids: unknown;
  // A ranking is the embedder's code or a model's output: it may throw, never end, or return anything.
  const ranking = (async () => {
    ids = await rank(query, candidates, controller.signal);
  })().catch(() => undefined);
  await within(rankMs, ranking);
  controller.abort();
  if (!Array.isArray(ids)) return undefined;
  const left = new Map(candidates.map((hit) => [hit.tool_id, hit]));
  const chosen: SearchHit[] = [];
  for (const id of ids as readonly unknown[]) {
    const hit = typeof id === "string" ? left.get(id) : undefined;
    if (hit === undefined) continue;
    left.delete(hit.tool_id);
    chosen.push(hit);
  }
  return chosen;
}

function wordsOf(record: Omit<RegistrationRecord, "tool_data">): Words {
  const { tool_id: id, tool_metadata: metadata, tools_api_spec: spec } = record;
  const fields = [...Object.entries(spec.input), ...Object.entries(spec.output)];
  return {
    id,
    name: id,
    described: `${record.tool_search_description ?? ""} ${metadata?.description ?? ""}`,
    tags: record.tool_tags?.join(" ") ?? "",
    types: `${record.tool_type ?? ""} ${record.tool_sub_type ?? ""}`,
    fields: fields.map(([name, { description = "" }]) => `${name} ${description}`).join(" "),
  };
}
