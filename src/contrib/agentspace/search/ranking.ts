import { within } from "../../../kernel/base/deadline.ts";
import type { RecordFilter, ShownRecord } from "../shown-record.ts";

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
  /** The tenant whose tools are searched, in addition to those of all tenants. Default: only those. */
  readonly tenant?: string;
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

const RANK_DEFAULT_MS = 30_000;

/** Hits in a ranking's order; `undefined` if it failed or timed out. */
export async function choose(
  rank: Ranking,
  query: string,
  candidates: readonly SearchHit[],
  rankMs = RANK_DEFAULT_MS,
): Promise<readonly SearchHit[] | undefined> {
  const controller = new AbortController();
  let ids: unknown;
  // A ranking is the embedder's code or a model's output: it may throw, never end, or return any value.
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
